//! What was known to be wrong before it was used: endpoints of another chain, nulls against which
//! somebody had spoken, and replies that answer nothing.

use std::collections::{BTreeMap, BTreeSet};
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
        unchecked(ledger, found);
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

/// Requests to an endpoint before it said which chain it serves.
fn unchecked(ledger: &Ledger<'_>, found: &mut Vec<Violation>) {
    let checked = ledger.checked();
    let early = ledger.reached.iter().find(|reached| {
        let known = checked.get(&reached.node);
        reached.method != "eth_chainId" && known.is_none_or(|place| reached.place < *place)
    });
    if let Some(early) = early {
        found.push(Violation {
            breach: Breach::Unchecked,
            at: early.at,
            call: None,
            detail: format!(
                "endpoint {} was asked {} before it said which chain it serves",
                early.node, early.method
            ),
        });
    }
}

/// What went on behind one call.
#[derive(Default)]
struct Told {
    /// Endpoints that were asked the same while it was open.
    asked: BTreeSet<usize>,
    /// An endpoint that had answered with a value, and sees the chain as it is.
    valued: Option<usize>,
}

/// Nulls that were given although somebody had answered otherwise, or although nobody else was
/// asked: null says "not here" and needs a second endpoint.
fn nulls(ledger: &Ledger<'_>, chain: &Arc<Chain>, promises: &Promises, found: &mut Vec<Violation>) {
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
        if !is_weak(entry.method) {
            continue;
        }
        let told = told(ledger, entry, answer.place, promises);
        if let Some(node) = told.valued {
            report(format!("endpoint {node} had answered with a value"));
            continue;
        }
        let alone = told.asked.len() <= 1;
        let other = promises
            .confirming
            .iter()
            .find(|node| !told.asked.contains(node));
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

/// What endpoints were asked and said about the question of a call while it was open. Other calls
/// may ask the same; whichever of them this one was, it is held to what all of them were told.
fn told(ledger: &Ledger<'_>, entry: &Entry<'_>, until: usize, promises: &Promises) -> Told {
    let mut told = Told::default();
    // By id: who answered with null, and who with a value.
    let mut said: BTreeMap<Option<&str>, (bool, Option<usize>)> = BTreeMap::new();
    for reached in &ledger.reached {
        if reached.at >= entry.called
            && reached.place < until
            && reached.method == entry.method
            && reached.params == entry.raw
        {
            told.asked.insert(reached.node);
            said.entry(reached.id).or_default();
        }
    }
    for served in ledger.served.iter().filter(|served| served.place < until) {
        for (method, id) in served.methods.iter().zip(served.ids) {
            let Some((null, value)) = said.get_mut(&id.as_deref()) else {
                continue;
            };
            if method != entry.method {
                continue;
            }
            let sound = served
                .replies
                .iter()
                .find(|reply| reply.answers(id.as_deref()));
            match sound.and_then(|reply| reply.result) {
                Some("null") => *null = true,
                Some(_) if promises.sighted.contains(&served.node) => *value = Some(served.node),
                Some(_) | None => {}
            }
        }
    }
    let mut nulls = said.values().filter(|(null, _)| *null);
    told.valued = nulls
        .next()
        .and_then(|(_, value)| *value)
        .filter(|_| nulls.all(|(_, value)| value.is_some()));
    told
}

/// Whether null says no more than "not here": of points of the chain, and in place of state.
fn is_weak(method: &str) -> bool {
    const METHODS: [&str; 8] = [
        "eth_getTransactionReceipt",
        "eth_getTransactionByHash",
        "eth_getBlockByNumber",
        "eth_getBlockByHash",
        "eth_getBalance",
        "eth_call",
        "eth_getStorageAt",
        "eth_getCode",
    ];
    METHODS.contains(&method)
}
