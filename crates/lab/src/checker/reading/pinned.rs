//! One call asks for one block, and only those who are known to hold it (P-2, P-3).
//!
//! All requests of a call carry one id, so its attempts, racers and copies are known by that. A
//! request for a number that no client wrote was made of `latest`.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use super::shown::Shown;
use super::{Read, question};
use crate::checker::ledger::{Ledger, Reached};
use crate::checker::question::quantity;
use crate::checker::{Breach, Violation};

pub(super) fn check(
    ledger: &Ledger<'_>,
    reads: &[Read<'_, '_>],
    shown: &Shown,
    found: &mut Vec<Violation>,
) {
    one_number(ledger, found);
    let written: HashSet<(&str, &str)> = ledger
        .entries
        .iter()
        .map(|entry| (entry.method, entry.raw))
        .collect();
    let made = ledger
        .reached
        .iter()
        .filter(|reached| !written.contains(&(reached.method, reached.params)));
    let mut asked: HashSet<(&str, u64)> = HashSet::new();
    for reached in made {
        let Some(block) = number(reached) else {
            continue;
        };
        asked.insert((reached.method, block));
        let head = shown.highest(reached.node, reached.place);
        if head.is_none_or(|head| head < block) {
            found.push(Violation {
                breach: Breach::NotHeld,
                at: reached.at,
                call: None,
                detail: format!(
                    "endpoint {} was asked {} at block {block}, and had told {head:?}",
                    reached.node, reached.method
                ),
            });
        }
    }
    for entry in &ledger.entries {
        if let Some(block) = entry_number(entry) {
            asked.insert((entry.method, block));
        }
    }
    // What nobody could pin may be kept at the block that it was read at.
    for read in reads.iter().filter(|read| read.passed) {
        asked.extend(read.height.map(|height| (read.entry.method, height)));
    }
    for read in reads {
        let is_local = read.entry.method == "eth_blockNumber";
        let (true, false, Some(height)) = (read.newest && !read.passed, is_local, read.height)
        else {
            continue;
        };
        if !asked.contains(&(read.entry.method, height)) {
            found.push(Violation {
                breach: Breach::WrongHeight,
                at: read.answer.at,
                call: Some(read.entry.call),
                detail: format!(
                    "answered from {height}, and nobody was asked {} there",
                    read.entry.method
                ),
            });
        }
    }
}

/// Every request of a call is the same to the byte.
fn one_number(ledger: &Ledger<'_>, found: &mut Vec<Violation>) {
    let mut first: BTreeMap<&str, &Reached<'_>> = BTreeMap::new();
    for reached in &ledger.reached {
        let Some(id) = reached.id else { continue };
        let known = first.entry(id).or_insert(reached);
        if (known.method, known.params) != (reached.method, reached.params) {
            found.push(Violation {
                breach: Breach::OtherPin,
                at: reached.at,
                call: None,
                detail: format!(
                    "endpoint {} was asked {} {}, endpoint {} {} {} for the same call",
                    known.node,
                    known.method,
                    known.params,
                    reached.node,
                    reached.method,
                    reached.params
                ),
            });
        }
    }
}

/// The number in a request of a method that asks for a block, or the end of its range.
fn number(reached: &Reached<'_>) -> Option<u64> {
    let params: Vec<Value> = serde_json::from_str(reached.params).ok()?;
    of_params(reached.method, &params)
}

fn entry_number(entry: &super::Entry<'_>) -> Option<u64> {
    of_params(entry.method, &entry.params)
}

fn of_params(method: &str, params: &[Value]) -> Option<u64> {
    if method == "eth_getLogs" {
        return quantity(params.first()?.get("toBlock")?.as_str()?);
    }
    let block = params.get(question::position(method)?)?;
    let block = block.get("blockNumber").unwrap_or(block);
    let text = block.as_str().filter(|text| text.len() < 66)?;
    quantity(text)
}
