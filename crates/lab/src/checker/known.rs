//! What was known to be wrong before it was used: endpoints of another chain, nulls against which
//! somebody had spoken, and replies that answer nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ledger::{Entry, Ledger};
use super::perfect::Perfect;
use super::question::quantity;
use super::{Breach, Promises, Violation};
use crate::chain::Chain;
use crate::history::Got;

pub(super) fn check(
    ledger: &Ledger<'_>,
    chain: &Arc<Chain>,
    promises: &Promises,
    found: &mut Vec<Violation>,
) {
    if let Some(id) = promises.chain_id {
        other_chain(ledger, id, found);
        nulls(ledger, chain, promises, found);
    }
}

/// Requests to an endpoint after it said that it serves another chain.
fn other_chain(ledger: &Ledger<'_>, expected: u64, found: &mut Vec<Violation>) {
    let mut said: BTreeMap<usize, (usize, u64)> = BTreeMap::new();
    for served in &ledger.served {
        for (method, reply) in served.sound() {
            let text = reply.result.map(|text| text.trim_matches('"'));
            if method == "eth_chainId"
                && let Some(id) = text.and_then(quantity)
                && id != expected
                && id != 0
            {
                said.entry(served.node).or_insert((served.place, id));
            }
        }
    }
    for reached in &ledger.reached {
        if let Some((place, id)) = said.get(&reached.node)
            && *place < reached.place
        {
            found.push(Violation {
                breach: Breach::OtherChain,
                at: reached.at,
                call: None,
                detail: format!(
                    "endpoint {} was asked {} after it said that it serves chain {id}",
                    reached.node, reached.method
                ),
            });
            said.remove(&reached.node);
        }
    }
}

/// What one call was told behind the scenes: who was asked, and what was said.
#[derive(Default)]
struct Told<'a> {
    /// Endpoints that were asked, and when first.
    asked: Vec<usize>,
    /// Results, with the endpoint and the place among all events.
    said: Vec<(usize, usize, &'a str)>,
}

/// Nulls that were given although somebody had answered otherwise, or although nobody else was
/// asked: null says "not here" and needs a second endpoint, and it is no value of the state.
fn nulls(
    ledger: &Ledger<'_>,
    chain: &Arc<Chain>,
    promises: &Promises,
    found: &mut Vec<Violation>,
) {
    let null = |entry: &&Entry<'_>| {
        let answer = entry.answer.as_ref();
        let is_null = |got: &Got| matches!(got, Got::Result(text) if text == "null");
        answer.is_some_and(|answer| is_null(answer.got))
    };
    let mut perfect = Perfect::new(chain);
    for entry in ledger.entries.iter().filter(null) {
        let Some(answer) = &entry.answer else {
            continue;
        };
        let mut report = |detail: String| {
            found.push(Violation {
                breach: Breach::NullWon,
                at: answer.at,
                call: Some(entry.call),
                detail,
            });
        };
        let Some(may_be_null) = may_be_null(entry.method) else {
            continue;
        };
        if !may_be_null {
            report(format!("{} was answered with null", entry.method));
            continue;
        }
        let told = told(ledger, entry, answer.place);
        if let Some((node, ..)) = told.said.iter().find(|(.., text)| *text != "null") {
            report(format!("endpoint {node} had answered with a value"));
            continue;
        }
        let alone = told.asked.len() <= 1;
        let other = promises.steady.iter().find(|node| !told.asked.contains(node));
        let (true, Some(other)) = (alone, other) else {
            continue;
        };
        // Whoever was never heard of is not waited for.
        let heard = |served: &&super::ledger::Served<'_>| {
            served.node == *other
                && served.at <= entry.called
                && served.methods.iter().any(|method| method == "eth_chainId")
        };
        let there = [entry.called, answer.at].map(|at| {
            let result = perfect.result(at, entry.method, entry.raw);
            result.is_some_and(|result| result != "null")
        });
        if there == [true, true] && ledger.served.iter().any(|served| heard(&served)) {
            report(format!("nobody asked endpoint {other}, which has it"));
        }
    }
}

/// What endpoints were asked and said about the question of a call while it was open, other calls
/// with the same question included.
fn told<'a>(ledger: &Ledger<'a>, entry: &Entry<'_>, until: usize) -> Told<'a> {
    let mut told = Told::default();
    let mut ids = Vec::new();
    for reached in &ledger.reached {
        if reached.at >= entry.called
            && reached.place < until
            && reached.method == entry.method
            && reached.params == entry.raw
        {
            if !told.asked.contains(&reached.node) {
                told.asked.push(reached.node);
            }
            ids.push((reached.node, reached.id));
        }
    }
    for served in &ledger.served {
        let asked = |id: &Option<String>| ids.contains(&(served.node, id.as_deref()));
        if served.place < until && served.ids.iter().any(asked) {
            for (_, reply) in served.sound() {
                if let Some(result) = reply.result {
                    told.said.push((served.node, served.place, result));
                }
            }
        }
    }
    told
}

/// Whether null is an answer to a method at all; `None` for methods that are not looked at.
fn may_be_null(method: &str) -> Option<bool> {
    match method {
        "eth_getTransactionReceipt"
        | "eth_getTransactionByHash"
        | "eth_getBlockByNumber"
        | "eth_getBlockByHash" => Some(true),
        "eth_getBalance" | "eth_call" | "eth_getStorageAt" | "eth_getCode" | "eth_blockNumber" => {
            Some(false)
        }
        _ => None,
    }
}
