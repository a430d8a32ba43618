//! What a scripted node is told: rules, connection faults, and honest answers for the rest.

use super::answer::{Answer, play_batch, play_single};
use super::record::Received;
use super::rules::Rules;
use super::wire::{HttpRequest, Step};
use crate::call::Call;

/// What happens to a connection instead of being served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionFault {
    /// Reset right after it was accepted, before a byte is read.
    Reset,
    /// Closed in order right after it was accepted.
    Close,
    /// Never read and never answered, until the node stops.
    Ignore,
}

/// The state behind a node's rules.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) rules: Rules,
    pub(super) connection_faults: Vec<(ConnectionFault, Option<usize>)>,
    pub(super) reversed: bool,
    pub(super) chain_id: u64,
    pub(super) head: u64,
}

impl Script {
    pub(super) fn new() -> Self {
        Self {
            rules: Rules::default(),
            connection_faults: Vec::new(),
            reversed: false,
            chain_id: 1,
            head: 100,
        }
    }

    /// The fault of the next connection, using it up.
    pub(super) fn take_connection_fault(&mut self) -> Option<ConnectionFault> {
        let (fault, left) = self
            .connection_faults
            .iter_mut()
            .find(|(_, left)| *left != Some(0))?;
        if let Some(left) = left {
            *left -= 1;
        }
        Some(*fault)
    }

    /// The steps that answer one request, using up the rules they come from.
    pub(super) fn steps(&mut self, received: &Received) -> Vec<Step> {
        let nothing = Call {
            method: String::new(),
            id: None,
            params: None,
            raw: String::new(),
        };
        let first = received.calls.first().unwrap_or(&nothing);
        if let Some(answer) = self.rules.for_request(first, received.batch) {
            return play_single(&answer, first.id.as_deref());
        }
        if received.calls.is_empty() {
            return play_single(&refuse(&received.http), Some("null"));
        }
        if received.batch {
            let answers: Vec<_> = received
                .calls
                .iter()
                .map(|call| (self.answer(call), call.id.clone()))
                .collect();
            return play_batch(&answers, self.reversed);
        }
        let answer = self.answer(first);
        play_single(&answer, first.id.as_deref())
    }

    fn answer(&mut self, call: &Call) -> Answer {
        self.rules
            .for_call(call)
            .unwrap_or_else(|| honest(&call.method, self.chain_id, self.head))
    }
}

fn refuse(http: &HttpRequest) -> Answer {
    if http.method == "POST" {
        Answer::error(-32700, "parse error")
    } else {
        Answer::body(405, "").header("allow", "POST")
    }
}

fn honest(method: &str, chain_id: u64, head: u64) -> Answer {
    match method {
        "eth_chainId" => Answer::result(format!("\"{chain_id:#x}\"")),
        "net_version" => Answer::result(format!("\"{chain_id}\"")),
        "eth_blockNumber" => Answer::result(format!("\"{head:#x}\"")),
        "web3_clientVersion" => Answer::result("\"Geth/v1.17.0-lab/linux-amd64/go1.26\""),
        "eth_syncing" => Answer::result("false"),
        "eth_gasPrice" => Answer::result("\"0x3b9aca00\""),
        "eth_getBalance" => Answer::result("\"0xde0b6b3a7640000\""),
        _ => Answer::error(
            -32601,
            &format!("the method {method} does not exist/is not available"),
        ),
    }
}
