//! Log answers held against a node that does nothing wrong.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

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
    let mut perfect = Perfect::new(chain);
    for (entry, answer, result) in ledger.results() {
        let (true, true, Got::Result(text)) =
            (entry.method == "eth_getLogs", result.is_array(), answer.got)
        else {
            continue;
        };
        // Where it is known what each endpoint sees, a list is held to its own blocks.
        let explicit = explicit(entry) && promises.reading.is_none();
        // A reorg or a block may fall between the call and its answer: either side of it is right.
        let mut due = Vec::new();
        if explicit {
            due.push(perfect.result(entry.called, entry.method, entry.raw));
            if due[0].as_ref() == Some(text) {
                continue;
            }
            due.push(perfect.result(answer.at, entry.method, entry.raw));
        }
        let got: Vec<Value> = serde_json::from_str(text).unwrap_or_default();
        let mut report = |breach, detail| {
            found.push(Violation {
                breach,
                at: answer.at,
                call: Some(entry.call),
                detail,
            });
        };
        let places: Vec<_> = got.iter().filter_map(place).collect();
        let unique: BTreeSet<_> = places.iter().cloned().collect();
        if unique.len() < places.len() {
            let doubled = places.len() - unique.len();
            report(Breach::LogsDoubled, format!("{doubled} logs came twice"));
        }
        let order = |place: &Place| (place.height, place.index);
        if !places
            .windows(2)
            .all(|two| order(&two[0]) <= order(&two[1]))
        {
            let detail = "logs are not in the order of blocks and indices".to_owned();
            report(Breach::LogsDisordered, detail);
        }
        if !explicit {
            continue;
        }
        let due = [0, 1].map(|index: usize| places_of(due.get(index)?.as_deref()?));
        let [Some(before), Some(after)] = due else {
            let both_refused = due.iter().all(Option::is_none);
            if both_refused {
                let detail = "a range that ends above the head was answered".to_owned();
                report(Breach::WrongHeight, detail);
            }
            continue;
        };
        let missing = |due: &BTreeSet<Place>| due.difference(&unique).count();
        let foreign = |due: &BTreeSet<Place>| unique.difference(due).count();
        let (lost, odd) = (
            missing(&before).min(missing(&after)),
            foreign(&before).min(foreign(&after)),
        );
        if lost > 0 {
            report(Breach::LogsMissing, format!("{lost} logs are missing"));
        }
        if odd > 0 {
            let detail = format!("{odd} logs are from no block of the chain");
            report(Breach::Orphaned, detail);
        }
    }
}

/// Where a log is, and in which block.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    height: u64,
    index: u64,
    hash: String,
}

fn place(log: &Value) -> Option<Place> {
    Some(Place {
        height: quantity(log.get("blockNumber")?.as_str()?)?,
        index: quantity(log.get("logIndex")?.as_str()?)?,
        hash: log.get("blockHash")?.as_str()?.to_owned(),
    })
}

/// Whether the filter names its blocks by number or hash. Tags move while a call is on its way.
fn explicit(entry: &Entry<'_>) -> bool {
    let Some(filter) = entry.params.first() else {
        return false;
    };
    let hex = |name: &str| {
        let bound = filter.get(name).and_then(Value::as_str);
        bound.is_some_and(|bound| bound.starts_with("0x"))
    };
    hex("blockHash") || (hex("fromBlock") && hex("toBlock"))
}

/// The places of the logs in a result.
fn places_of(result: &str) -> Option<BTreeSet<Place>> {
    let logs: Vec<Value> = serde_json::from_str(result).ok()?;
    Some(logs.iter().filter_map(place).collect())
}
