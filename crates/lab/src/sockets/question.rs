//! Questions that can be told apart wherever they are seen, and whose right answers are known.
//!
//! A question is about an account whose address holds the question's number. Whoever sees the
//! params, in whatever envelope, knows which question it is; and state values of the lab's chain
//! name what they were read from (see [`crate::chain::state`]), so an answer to another question
//! shows itself.

use alloy_primitives::{Address, B256, U256};

use crate::chain::state;
use crate::history::Got;
use crate::world::read_reply;

/// The first twelve bytes of every address that is asked about, as they stand in a body.
const PREFIX: &str = "0x1ab0000000000000000000ab";

/// One question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    number: u64,
    method: &'static str,
    params: String,
    body: String,
    tag: u64,
}

impl Question {
    /// The question of this number: a balance, a call or a storage word, at the latest block.
    #[must_use]
    pub fn numbered(number: u64) -> Self {
        let account = format!("{PREFIX}{number:016x}");
        let address: Address = account
            .parse()
            .expect("invariant: twelve bytes and eight make an address");
        let (method, params, tag) = match number % 3 {
            0 => (
                "eth_getBalance",
                format!(r#"["{account}","latest"]"#),
                state::balance_tag(address),
            ),
            1 => (
                "eth_call",
                format!(r#"[{{"to":"{account}","data":"0x18160ddd"}},"latest"]"#),
                state::call_tag(address, &[0x18, 0x16, 0x0d, 0xdd]),
            ),
            _ => (
                "eth_getStorageAt",
                format!(r#"["{account}","{}","latest"]"#, B256::ZERO),
                state::storage_tag(address, U256::ZERO),
            ),
        };
        let body =
            format!(r#"{{"jsonrpc":"2.0","id":{number},"method":"{method}","params":{params}}}"#);
        Self {
            number,
            method,
            params,
            body,
            tag,
        }
    }

    /// Its number.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Its method.
    #[must_use]
    pub fn method(&self) -> &'static str {
        self.method
    }

    /// Its params, as JSON.
    #[must_use]
    pub fn params(&self) -> &str {
        &self.params
    }

    /// The JSON-RPC request.
    #[must_use]
    pub fn body(&self) -> &str {
        &self.body
    }

    /// The number of the question that a request holds, if it is one of these.
    #[must_use]
    pub fn number_in(request: &[u8]) -> Option<u64> {
        let prefix = PREFIX.as_bytes();
        let at = request
            .windows(prefix.len())
            .position(|window| window == prefix)?;
        let digits = request.get(at + prefix.len()..)?.get(..16)?;
        u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    }

    /// The height that an HTTP answer was read at, if it is the right one.
    ///
    /// # Errors
    ///
    /// What it is instead, in a few words without anything of this question alone, so that equal
    /// mistakes read alike.
    pub fn judge(&self, status: u16, body: &[u8]) -> Result<u64, String> {
        if status != 200 {
            return Err(format!("HTTP {status}"));
        }
        let (id, got) = read_reply(body);
        match got {
            Got::Error(error) => Err(format!("error {error}")),
            Got::Nothing(why) => Err(why),
            Got::Result(_) if id != Some(self.number.to_string()) => {
                Err("the answer has another id".to_owned())
            }
            Got::Result(result) => {
                let read = state::read_at(result.trim_matches('"'));
                let read = read.filter(|read| read.tag == self.tag);
                read.map(|read| read.height)
                    .ok_or_else(|| "the answer belongs to another question".to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Question;
    use crate::node::{Node, Seen};
    use crate::scenario::Scenario;

    fn node() -> Node {
        let text = "name = 't'\nduration = '1s'\nchain = { start = 3 }\nnodes = [{ name = 'a' }]";
        let (_, mut nodes) = Scenario::parse(text, None).unwrap().build();
        nodes.remove(0)
    }

    fn answer(node: &mut Node, body: &str) -> String {
        let exchange = node.ask(Duration::ZERO, "", body.as_bytes());
        match exchange.seen() {
            Some((_, Seen::Complete { body, .. })) => String::from_utf8(body.to_vec()).unwrap(),
            other => panic!("an honest node answers: {other:?}"),
        }
    }

    // B-4
    #[test]
    fn knows_its_own_answer_and_no_other() {
        let node = &mut node();
        for number in 0..6 {
            let question = Question::numbered(number);
            let right = answer(node, question.body());
            assert_eq!(question.judge(200, right.as_bytes()), Ok(3), "{right}");
            // A question of the same kind, and an answer to it under this question's id.
            let other = answer(node, Question::numbered(number + 3).body());
            let id = |number| format!("\"id\":{number},");
            let swapped = other.replace(&id(number + 3), &id(number));
            for (status, body, expected) in [
                (200, other.as_str(), "the answer has another id"),
                (
                    200,
                    swapped.as_str(),
                    "the answer belongs to another question",
                ),
                (502, right.as_str(), "HTTP 502"),
                (200, "<html>", "no JSON-RPC answer"),
                (200, r#"{"id":1,"error":{"code":1}}"#, r#"error {"code":1}"#),
            ] {
                assert_eq!(
                    question.judge(status, body.as_bytes()),
                    Err(expected.to_owned())
                );
            }
        }
    }

    #[test]
    fn is_recognised_by_its_params_alone() {
        for number in [0, 1, 2, 77, u64::MAX] {
            let question = Question::numbered(number);
            let (_, params) = question.body().split_once("params").unwrap();
            assert_eq!(Question::number_in(params.as_bytes()), Some(number));
        }
        let other = br#"{"method":"eth_getBalance","params":["0x1ab0"]}"#;
        assert_eq!(Question::number_in(other), None);
    }
}
