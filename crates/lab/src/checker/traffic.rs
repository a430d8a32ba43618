//! Ids, budgets, requests that reached too many endpoints, and answers from nowhere.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{Hash as _, Hasher as _};
use std::time::Duration;

use serde_json::Value;

use super::ledger::{Entry, Ledger};
use super::{Breach, Promises, Violation};
use crate::history::Got;

pub(super) fn check(ledger: &Ledger<'_>, promises: &Promises, found: &mut Vec<Violation>) {
    ids(ledger, found);
    once(ledger, promises, found);
    budgets(ledger, promises, found);
    invented(ledger, promises, found);
}

fn ids(ledger: &Ledger<'_>, found: &mut Vec<Violation>) {
    for entry in &ledger.entries {
        let Some(answer) = &entry.answer else {
            continue;
        };
        let is_reply = match answer.got {
            Got::Result(_) | Got::Error(_) => true,
            Got::Nothing(_) => false,
        };
        if is_reply && answer.id != Some(entry.id) {
            found.push(Violation {
                breach: Breach::WrongId,
                at: answer.at,
                call: Some(entry.call),
                detail: format!(
                    "asked with id {}, answered with {}",
                    entry.id,
                    answer.id.unwrap_or("none")
                ),
            });
        }
    }
}

fn once(ledger: &Ledger<'_>, promises: &Promises, found: &mut Vec<Violation>) {
    let mut nodes: BTreeMap<(&str, String), Vec<(Duration, usize)>> = BTreeMap::new();
    for reached in &ledger.reached {
        if promises.once.iter().any(|method| method == reached.method) {
            let params = serde_json::from_str::<Value>(reached.params).unwrap_or_default();
            let key = (reached.method, params.to_string());
            nodes
                .entry(key)
                .or_default()
                .push((reached.at, reached.node));
        }
    }
    for ((method, params), seen) in nodes {
        let same = |entry: &&Entry<'_>| {
            let own = Value::from(entry.params.clone()).to_string();
            entry.method == method && own == params
        };
        let asked: Vec<&Entry<'_>> = ledger.entries.iter().filter(same).collect();
        let distinct: BTreeSet<usize> = seen.iter().map(|(_, node)| *node).collect();
        // As many calls as endpoints can each have gone to its own.
        if distinct.len() > asked.len().max(1) {
            found.push(Violation {
                breach: Breach::SentTwice,
                at: seen.last().map_or(Duration::ZERO, |(at, _)| *at),
                call: asked.last().map(|entry| entry.call),
                detail: format!(
                    "{method} called {} times reached {} endpoints",
                    asked.len(),
                    distinct.len()
                ),
            });
        }
    }
}

fn budgets(ledger: &Ledger<'_>, promises: &Promises, found: &mut Vec<Violation>) {
    for (node, budget) in promises.budgets.iter().enumerate() {
        let Some(budget) = budget else { continue };
        let (mut tokens, mut filled) = (budget.burst, Duration::ZERO);
        for reached in ledger.reached.iter().filter(|reached| reached.node == node) {
            let passed = reached.at.saturating_sub(filled).as_secs_f64();
            tokens = (tokens + passed * budget.rps).min(budget.burst);
            filled = reached.at;
            tokens -= 1.0;
            // Rounding of a refill must not count as a request too many.
            if tokens < -1e-6 {
                found.push(Violation {
                    breach: Breach::OverBudget,
                    at: reached.at,
                    call: None,
                    detail: format!(
                        "endpoint {node} was asked more than {} a second after {} at once",
                        budget.rps, budget.burst
                    ),
                });
                tokens = 0.0;
            }
        }
    }
}

fn invented(ledger: &Ledger<'_>, promises: &Promises, found: &mut Vec<Violation>) {
    let mut served = HashSet::new();
    let mut parts = HashSet::new();
    let mut next = ledger.served.iter().peekable();
    let mut answers: Vec<_> = ledger.results().collect();
    answers.sort_by_key(|(entry, answer, _)| (answer.at, entry.call));
    for (entry, answer, result) in answers {
        while let Some(given) = next.next_if(|given| given.at <= answer.at) {
            for result in &given.results {
                served.insert(fingerprint(result));
                for part in result.as_array().into_iter().flatten() {
                    parts.insert(fingerprint(part));
                }
            }
        }
        if promises.local.iter().any(|method| method == entry.method) {
            continue;
        }
        // A list may be put together from lists; every element must still be an endpoint's.
        let whole = served.contains(&fingerprint(result));
        let joined = result
            .as_array()
            .is_some_and(|list| list.iter().all(|part| parts.contains(&fingerprint(part))));
        if !whole && !joined {
            found.push(Violation {
                breach: Breach::Invented,
                at: answer.at,
                call: Some(entry.call),
                detail: format!("no endpoint gave this answer to {}", entry.method),
            });
        }
    }
}

/// Sixty-four bits in place of an answer: a long history serves gigabytes, and no one chooses
/// answers here so that two collide.
fn fingerprint(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.to_string().hash(&mut hasher);
    hasher.finish()
}
