//! Ids, budgets, requests that reached too many endpoints, and answers from nowhere.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{Hash as _, Hasher as _};
use std::time::Duration;

use serde_json::Value;

use super::ledger::{Ledger, Served};
use super::{Breach, Promises, Violation};
use crate::history::Got;

/// What an endpoint says that proves that it did not take a transaction.
const UNSENT: [&str; 3] = [
    "publishing transactions not supported by this endpoint",
    "sequencer temporarily not available",
    "txpool is full",
];

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
    let is_once = |method: &str| promises.once.iter().any(|once| once == method);
    let refused = refused(ledger, promises);
    let mut nodes: BTreeMap<(&str, String), Vec<(Duration, usize)>> = BTreeMap::new();
    for reached in &ledger.reached {
        if is_once(reached.method) && !refused.contains(&(reached.node, reached.id)) {
            let params = serde_json::from_str::<Value>(reached.params).unwrap_or_default();
            let key = (reached.method, params.to_string());
            nodes
                .entry(key)
                .or_default()
                .push((reached.at, reached.node));
        }
    }
    let mut asked: BTreeMap<(&str, String), Vec<u64>> = BTreeMap::new();
    for entry in ledger.entries.iter().filter(|entry| is_once(entry.method)) {
        let params = Value::from(entry.params.clone()).to_string();
        let calls = asked.entry((entry.method, params)).or_default();
        calls.push(entry.call);
    }
    for (key, seen) in nodes {
        let calls = asked.get(&key).map_or(&[][..], Vec::as_slice);
        let distinct: BTreeSet<usize> = seen.iter().map(|(_, node)| *node).collect();
        // The same bytes may go to the same endpoint again; everything else has its effect twice.
        let count = if key.0 == "eth_sendRawTransaction" {
            distinct.len()
        } else {
            seen.len()
        };
        // As many calls as endpoints can each have gone to its own.
        if count > calls.len().max(1) {
            found.push(Violation {
                breach: Breach::SentTwice,
                at: seen.last().map_or(Duration::ZERO, |(at, _)| *at),
                call: calls.last().copied(),
                detail: format!(
                    "{} called {} times reached {} endpoints, {} times",
                    key.0,
                    calls.len(),
                    distinct.len(),
                    seen.len(),
                ),
            });
        }
    }
}

/// Requests of which the endpoint's answer proves that they had no effect: it turned them
/// away, does not know the method, or says so.
fn refused<'a>(ledger: &Ledger<'a>, promises: &Promises) -> HashSet<(usize, Option<&'a str>)> {
    let mut refused = HashSet::new();
    for served in &ledger.served {
        let once = |method: &String| promises.once.contains(method);
        if !served.methods.iter().any(once) {
            continue;
        }
        let unknown = |error: &str| {
            let error: Value = serde_json::from_str(error).unwrap_or_default();
            let message = error["message"].as_str().unwrap_or_default();
            error["code"] == -32601 || UNSENT.iter().any(|words| message.contains(words))
        };
        let mut errors = served.replies.iter().filter_map(|reply| reply.error);
        if matches!(served.status, 401..=403 | 413 | 429) || errors.any(unknown) {
            let ids = served.ids.iter().map(|id| (served.node, id.as_deref()));
            refused.extend(ids);
        }
    }
    refused
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

/// Where an answer can have come from. What an endpoint said is known by the hash of its bytes: a
/// long history serves gigabytes, and no one chooses answers here so that two collide.
#[derive(Default)]
struct Sources<'a> {
    sound: HashSet<u64>,
    unsound: HashSet<u64>,
    /// All results so far, and how many of them are in the sets below.
    results: Vec<&'a str>,
    sorted: usize,
    /// Results written in one way, and the elements of those that are lists.
    plain: HashSet<u64>,
    parts: HashSet<u64>,
}

impl<'a> Sources<'a> {
    fn serve(&mut self, served: &Served<'a>) {
        for reply in &served.replies {
            let Some(result) = reply.result else { continue };
            let mut asked = served.ids.iter();
            if asked.any(|id| reply.answers(id.as_deref())) {
                self.sound.insert(hash(result));
                self.results.push(result);
            } else {
                self.unsound.insert(hash(result));
            }
        }
    }

    /// Whether endpoints gave this answer, or all parts of this list, perhaps written otherwise.
    fn gave(&mut self, answer: &str) -> bool {
        if self.sound.contains(&hash(answer)) {
            return true;
        }
        let Ok(result) = serde_json::from_str::<Value>(answer) else {
            return false;
        };
        for given in &self.results[self.sorted..] {
            let Ok(given) = serde_json::from_str::<Value>(given) else {
                continue;
            };
            self.plain.insert(hash(&given.to_string()));
            for part in given.as_array().into_iter().flatten() {
                self.parts.insert(hash(&part.to_string()));
            }
        }
        self.sorted = self.results.len();
        let joined = |list: &Vec<Value>| {
            let mut parts = list.iter();
            parts.all(|part| self.parts.contains(&hash(&part.to_string())))
        };
        self.plain.contains(&hash(&result.to_string())) || result.as_array().is_some_and(joined)
    }
}

fn invented(ledger: &Ledger<'_>, promises: &Promises, found: &mut Vec<Violation>) {
    let mut sources = Sources::default();
    let mut next = ledger.served.iter().peekable();
    let mut answers: Vec<_> = ledger.results().collect();
    answers.sort_by_key(|(_, answer, _)| answer.place);
    for (entry, answer, _) in answers {
        while let Some(given) = next.next_if(|given| given.place < answer.place) {
            sources.serve(given);
        }
        let Got::Result(text) = answer.got else {
            continue;
        };
        if promises.local.iter().any(|method| method == entry.method) || sources.gave(text) {
            continue;
        }
        let (breach, detail) = if sources.unsound.contains(&hash(text)) {
            // An answer with another id is reported as such.
            if answer.id != Some(entry.id) {
                continue;
            }
            let detail = "the answer is from a reply with another id or with an error beside it";
            (Breach::Unsound, detail.to_owned())
        } else {
            let detail = format!("no endpoint gave this answer to {}", entry.method);
            (Breach::Invented, detail)
        };
        found.push(Violation {
            breach,
            at: answer.at,
            call: Some(entry.call),
            detail,
        });
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
