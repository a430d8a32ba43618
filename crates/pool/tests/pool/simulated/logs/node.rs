//! A node that has logs, and what it does with a query for them.

use super::{
    CHAIN,
    chain::{Chain, Told, Version},
};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use highwater::upstream::{RawReply, SendError, SendErrorKind, Upstream};
use highwater_lab::{call::parse_calls, checker::lists::Place, rng::Rng};
use http::HeaderMap;
use serde_json::Value;
use std::{
    fmt::Write,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::sleep;

/// What a node does.
#[derive(Clone, Debug, Default)]
pub(super) struct Habits {
    /// Most blocks of a range.
    pub(super) limit: Option<u64>,
    /// Most logs, the others left out without a word.
    pub(super) cap: Option<usize>,
    /// Most logs, refused past it.
    pub(super) most: Option<usize>,
    /// It answers a range above its head with what it has.
    pub(super) clamps: bool,
    /// One request in so many fails.
    pub(super) fails: u64,
}

/// One of the chain's nodes.
pub(super) struct Node {
    /// Its place among them.
    pub(super) place: usize,
    pub(super) chain: Arc<Mutex<Chain>>,
    pub(super) habits: Habits,
    pub(super) rng: Mutex<Rng>,
}

impl Upstream for Node {
    fn send(
        &self,
        message: Bytes,
        _timeout: Duration,
    ) -> BoxFuture<'static, Result<RawReply, SendError>> {
        let (_, calls) = parse_calls(&message);
        let call = calls[0].clone();
        let (late, fails) = {
            let mut rng = self.rng.lock().unwrap();
            let fails = self.habits.fails;
            (1 + rng.below(40), fails > 0 && rng.below(fails) == 0)
        };
        let chain = Arc::clone(&self.chain);
        let (habits, place) = (self.habits.clone(), self.place);
        Box::pin(async move {
            sleep(Duration::from_millis(late)).await;
            if fails && call.method == "eth_getLogs" {
                return Err(SendError {
                    kind: SendErrorKind::Reset,
                    delivery: highwater::core::call::Delivery::MaybeSent,
                });
            }
            let mut chain = chain.lock().unwrap();
            let seen = chain.seen_by(place);
            let version = &chain.versions[seen];
            let params: Value =
                serde_json::from_str(call.params.as_deref().unwrap_or("[]")).unwrap();
            let member = match habits.answer(version, &call.method, &params) {
                Ok(result) => format!("\"result\":{result}"),
                Err(error) => format!("\"error\":{error}"),
            };
            let by_number = call.method == "eth_getBlockByNumber";
            let height = quantity(&params[0]).filter(|height| *height <= version.head());
            if let Some(height) = height.filter(|_| by_number) {
                chain.told[place] = Some(Told {
                    height,
                    version: seen,
                    at: chain.start.elapsed(),
                });
            }
            let id = call.id.unwrap();
            Ok(RawReply {
                status: 200,
                headers: HeaderMap::new(),
                body: format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{member}}}").into(),
            })
        })
    }
}

impl Habits {
    fn answer(&self, version: &Version, method: &str, params: &Value) -> Result<String, String> {
        let head = version.head();
        match method {
            "eth_chainId" => Ok(format!("\"{CHAIN:#x}\"")),
            "eth_blockNumber" => Ok(format!("\"{head:#x}\"")),
            "eth_getBlockByNumber" => {
                let number = quantity(&params[0]).unwrap_or(head);
                Ok(block(version, number))
            }
            "eth_getBlockByHash" => {
                let asked = params[0].as_str().unwrap();
                let number = (0..=head).rev().find(|n| version.hash(*n) == asked);
                Ok(number.map_or_else(|| "null".into(), |number| block(version, number)))
            }
            "eth_getLogs" => self.logs(version, &params[0]),
            _ => Err(error(-32601, "the method does not exist/is not available")),
        }
    }

    fn logs(&self, version: &Version, filter: &Value) -> Result<String, String> {
        let head = version.head();
        let bound = |name: &str| quantity(&filter[name]).unwrap_or(head);
        let (from, to) = (bound("fromBlock"), bound("toBlock"));
        if from > to {
            return Err(error(-32602, "invalid block range params"));
        }
        if to > head && !self.clamps {
            let text = "block range extends beyond current head block";
            return Err(error(-32602, text));
        }
        if self.limit.is_some_and(|limit| to - from >= limit) {
            return Err(error(-32602, "Block range limit exceeded."));
        }
        let mut all = version.places(&wanted(filter), from, to);
        if self.most.is_some_and(|most| all.len() > most) {
            return Err(error(-32005, "query returned more than 60 results"));
        }
        all.truncate(self.cap.unwrap_or(usize::MAX));
        let mut text = String::from("[");
        for Place {
            height,
            index,
            hash,
        } in all
        {
            let emitter = version.emitters(height)[usize::try_from(index).unwrap()];
            if text.len() > 1 {
                text.push(',');
            }
            write!(
                text,
                r#"{{"address":"{}","topics":[],"data":"0x","blockNumber":"{height:#x}","blockHash":"{hash}","logIndex":"{index:#x}"}}"#,
                address(emitter)
            )
            .unwrap();
        }
        Ok(text + "]")
    }
}

fn block(version: &Version, number: u64) -> String {
    if number > version.head() {
        return "null".into();
    }
    let (own, parent) = (version.hash(number), version.hash(number.saturating_sub(1)));
    format!(
        r#"{{"number":"{number:#x}","hash":"{own}","parentHash":"{parent}","transactions":["0x1"]}}"#
    )
}

fn quantity(value: &Value) -> Option<u64> {
    u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok()
}

fn error(code: i64, message: &str) -> String {
    format!(r#"{{"code":{code},"message":"{message}"}}"#)
}

pub(super) fn address(emitter: u8) -> String {
    format!("0x{}", format!("{:02x}", emitter + 0xa0).repeat(20))
}

fn wanted(filter: &Value) -> Vec<u8> {
    let of = |text: &Value| u8::from_str_radix(&text.as_str().unwrap()[2..4], 16).unwrap() - 0xa0;
    match &filter["address"] {
        Value::String(_) => vec![of(&filter["address"])],
        Value::Array(all) => all.iter().map(of).collect(),
        _ => Vec::new(),
    }
}
