//! An answer is what its block holds, whoever gave it and however long it was kept.

use std::sync::Arc;

use serde_json::Value;

use super::{Entry, Read, Spot};
use crate::call::members;
use crate::chain::{Chain, TRANSFER, View};
use crate::checker::lists::{self, Place};
use crate::checker::perfect::Perfect;
use crate::checker::question;
use crate::checker::{Breach, Violation};
use crate::node::render;

pub(super) fn check(reads: &[Read<'_, '_>], chain: &Arc<Chain>, found: &mut Vec<Violation>) {
    let mut perfect = Perfect::new(chain);
    for read in reads {
        let entry = read.entry;
        let Some(due) = due(read, chain, &mut perfect) else {
            continue;
        };
        let same = |due: &str| {
            let [due, got] = [due, read.text].map(|text| serde_json::from_str::<Value>(text).ok());
            due.is_some() && due == got
        };
        if due == read.text || same(&due) {
            continue;
        }
        let wrong = match (Place::all(read.text), Place::all(&due)) {
            (Some(got), Some(due)) if entry.method == "eth_getLogs" => lists::compare(&got, &due),
            _ => Vec::new(),
        };
        let wrong = if wrong.is_empty() {
            vec![Breach::Untrue]
        } else {
            wrong
        };
        found.extend(wrong.into_iter().map(|breach| Violation {
            breach,
            at: read.answer.at,
            call: Some(entry.call),
            detail: format!("{} is not what its block holds", entry.method),
        }));
    }
}

/// The block that an answer shows.
pub(super) fn spot(method: &str, result: &Value, text: &str, chain: &Chain) -> Option<Spot> {
    if let Some(place) = question::place(method, result) {
        return Some(Spot {
            height: place.height,
            branch: place.branch,
        });
    }
    let hash = match method {
        "eth_getBlockByNumber" | "eth_getBlockByHash" => result.get("hash")?.as_str()?.to_owned(),
        "eth_getTransactionReceipt" | "eth_getTransactionByHash" => {
            result.get("blockHash")?.as_str()?.to_owned()
        }
        "eth_getLogs" => last_of(text)?,
        _ => return None,
    };
    let block = chain.shown(hash.parse().ok()?)?;
    Some(Spot {
        height: block.height(),
        branch: block.branch,
    })
}

/// The hashes of the blocks of logs, in their order.
pub(super) fn hashes_of(logs: &str) -> impl Iterator<Item = &str> {
    const NAME: &str = "\"blockHash\":\"";
    let places = logs.match_indices(NAME);
    places.filter_map(|(at, _)| logs.get(at + NAME.len()..at + NAME.len() + 66))
}

/// The hash of the block of the last log.
pub(super) fn last_of(logs: &str) -> Option<String> {
    const NAME: &str = "\"blockHash\":\"";
    let at = logs.rfind(NAME)? + NAME.len();
    logs.get(at..at + 66).map(str::to_owned)
}

/// Whether logs of the newest block are asked for, and of no other.
pub(super) fn is_newest_logs(entry: &Entry<'_>) -> bool {
    let bound = |name| {
        let filter = entry.params.first()?;
        Some(filter.get(name)?.as_str()? == "latest")
    };
    entry.method == "eth_getLogs"
        && bound("fromBlock") == Some(true)
        && bound("toBlock") == Some(true)
}

/// The answer that the chain has for the block that an answer shows; `None` where the block is not
/// known by that.
fn due(read: &Read<'_, '_>, chain: &Arc<Chain>, perfect: &mut Perfect) -> Option<String> {
    let (entry, spot) = (read.entry, read.spot?);
    let block_of = |text: &str| {
        let [hash] = members(text, ["hash"])?;
        chain.shown(hash?.trim_matches('"').parse().ok()?)
    };
    match entry.method {
        "eth_getBlockByNumber" | "eth_getBlockByHash" => {
            let full = entry.params.get(1).and_then(Value::as_bool);
            Some(render::block(&*block_of(read.text)?, full.unwrap_or(false)))
        }
        "eth_getTransactionReceipt" | "eth_getTransactionByHash" => {
            let [block, index] = members(read.text, ["blockHash", "transactionIndex"])?;
            let block = chain.shown(block?.trim_matches('"').parse().ok()?)?;
            let index = question::quantity(index?.trim_matches('"'))?;
            let index = usize::try_from(index).ok()?;
            let asked = entry.params.first()?.as_str()?;
            if block.mined.get(index)?.tx.tx_hash().to_string() != asked {
                return Some(String::new());
            }
            Some(match entry.method {
                "eth_getTransactionReceipt" => render::receipt(&block, index),
                _ => render::transaction(&block, index),
            })
        }
        "eth_getLogs" => logs(read, spot, chain, perfect),
        _ => None,
    }
}

/// All logs of the range on the chain of the last one's block.
fn logs(
    read: &Read<'_, '_>,
    spot: Spot,
    chain: &Arc<Chain>,
    perfect: &mut Perfect,
) -> Option<String> {
    let filter = read.entry.params.first()?;
    let bound = |name: &str| question::quantity(filter.get(name)?.as_str()?);
    let (from, to) = match (bound("fromBlock"), bound("toBlock")) {
        (Some(from), Some(to)) => (from, to),
        _ if is_newest_logs(read.entry) => (spot.height, spot.height),
        _ => return None,
    };
    // Above the last one there are none, or the list is cut: known where the network had one branch
    // all the time.
    let top = [read.entry.called, read.answer.at].map(|at| chain.branch(&View::healthy(at), to));
    let is_one = top[0] == top[1] && chain.ancestor(top[0], spot.height) == spot.branch;
    let (tip, last) = if is_one {
        (top[0], to)
    } else {
        (spot.branch, spot.height)
    };
    let mut all = Vec::new();
    for height in from..=last {
        let branch = chain.ancestor(tip, height);
        let block = chain.on(branch, height)?;
        let query = format!(
            r#"[{{"blockHash":"{}","topics":["{TRANSFER}"]}}]"#,
            block.hash
        );
        let found = perfect.result(read.answer.at, "eth_getLogs", &query)?;
        let inside = found.strip_prefix('[')?.strip_suffix(']')?;
        if !inside.is_empty() {
            all.push(inside.to_owned());
        }
    }
    Some(format!("[{}]", all.join(",")))
}
