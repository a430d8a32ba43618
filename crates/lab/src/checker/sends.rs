//! What callers were told of their transactions, against what endpoints took.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{hex, keccak256};
use serde_json::Value;

use super::ledger::{Entry, Ledger};
use super::{Breach, Promises, Violation};
use crate::history::{Event, Got, History};

/// What holds for raw transactions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sends {
    /// The private endpoints.
    pub private: Vec<usize>,
    /// Whether raw transactions, and questions after them, are for private endpoints alone.
    pub secret: bool,
    /// Whether callers wait for the end that they are told, so that a failure is the router's word.
    pub patient: bool,
}

/// How the sends of a history ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Calls that sent a raw transaction.
    pub sends: u64,
    /// Ended with the hash.
    pub accepted: u64,
    /// Ended with the error of an endpoint that judged the transaction, or with none at all.
    pub failed: u64,
    /// Ended with the typed error that says that nobody knows.
    pub ambiguous: u64,
}

/// What a caller was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// The network has it.
    Accepted,
    /// The network has another one.
    Other,
    /// Nobody knows.
    Ambiguous,
    /// It was not taken.
    Failed,
}

/// Counts how the sends of a history ended.
#[must_use]
pub fn tally(history: &History) -> Tally {
    let mut tally = Tally::default();
    let mut hashes = BTreeMap::new();
    for event in history.events() {
        match event {
            Event::Called {
                call,
                method,
                params,
                ..
            } if sends(method) => {
                tally.sends += 1;
                let params: Value = serde_json::from_str(params).unwrap_or_default();
                hashes.insert(*call, hash(params.get(0)).unwrap_or_default());
            }
            Event::Answered { call, got, .. } => {
                let Some(hash) = hashes.get(call) else {
                    continue;
                };
                match told(got, hash) {
                    Told::Accepted | Told::Other => tally.accepted += 1,
                    Told::Ambiguous => tally.ambiguous += 1,
                    Told::Failed => tally.failed += 1,
                }
            }
            Event::Called { .. }
            | Event::Received { .. }
            | Event::Took { .. }
            | Event::Served { .. } => {}
        }
    }
    tally
}

pub(super) fn check(ledger: &Ledger<'_>, promises: &Promises, found: &mut Vec<Violation>) {
    let Some(sends) = &promises.sends else {
        return;
    };
    let ends = ends(ledger);
    for (hash, calls) in &ends {
        of_one(ledger, sends, (hash, calls), found);
    }
    exposed(ledger, sends, &ends, found);
}

/// The calls that sent each transaction, by its hash.
fn ends<'l, 'a>(ledger: &'l Ledger<'a>) -> BTreeMap<String, Vec<&'l Entry<'a>>> {
    let mut ends: BTreeMap<String, Vec<&Entry<'_>>> = BTreeMap::new();
    for entry in ledger.entries.iter().filter(|entry| sends(entry.method)) {
        if let Some(hash) = hash(entry.params.first()) {
            ends.entry(hash).or_default().push(entry);
        }
    }
    ends
}

/// The ends of the calls that sent one transaction.
fn of_one(
    ledger: &Ledger<'_>,
    sends: &Sends,
    (hash, calls): (&str, &[&Entry<'_>]),
    found: &mut Vec<Violation>,
) {
    let took = ledger.took.iter().filter(|took| took.hash == hash);
    let took: Vec<_> = took.collect();
    let ended = |entry: &&Entry<'_>| {
        let answer = entry.answer.as_ref()?;
        Some((answer.place, told(answer.got, hash)))
    };
    for entry in calls {
        let (Some(answer), Some((place, told))) = (&entry.answer, ended(entry)) else {
            continue;
        };
        let mut report = |breach, detail| {
            found.push(Violation {
                breach,
                at: answer.at,
                call: Some(entry.call),
                detail,
            });
        };
        match told {
            Told::Other => report(
                Breach::FalseSuccess,
                format!("{hash} was sent, the answer is of another transaction"),
            ),
            Told::Accepted if took.iter().all(|took| took.place > place) => report(
                Breach::FalseSuccess,
                format!("{hash} was called accepted, and no endpoint had it"),
            ),
            Told::Failed if sends.patient => {
                // Of calls that send the same at the same time, one is enough that knows it.
                let open = |took: usize| {
                    let open = calls.iter().filter(move |other| {
                        let end = ended(other).map_or(usize::MAX, |(place, _)| place);
                        other.place < took && took < end
                    });
                    open.map(|other| ended(other).map(|(_, told)| told))
                };
                let own = took.iter().find(|took| {
                    let within = entry.place < took.place && took.place < place;
                    within && open(took.place).all(|told| told == Some(Told::Failed))
                });
                if let Some(own) = own {
                    report(
                        Breach::FalseFailure,
                        format!("{hash} failed, and endpoint {} has it", own.node),
                    );
                }
            }
            Told::Accepted | Told::Ambiguous | Told::Failed => {}
        }
    }
}

/// Public endpoints that saw what is for private ones.
fn exposed(
    ledger: &Ledger<'_>,
    promises: &Sends,
    ends: &BTreeMap<String, Vec<&Entry<'_>>>,
    found: &mut Vec<Violation>,
) {
    // A caller may ask anybody for a hash that it knows.
    let asked = ledger.entries.iter().filter(|entry| looks(entry.method));
    let asked: BTreeSet<&str> = asked.map(|entry| entry.raw).collect();
    for reached in &ledger.reached {
        if promises.private.contains(&reached.node) {
            continue;
        }
        let ours = || {
            let params: Value = serde_json::from_str(reached.params).unwrap_or_default();
            let hash = params.get(0).and_then(Value::as_str);
            hash.is_some_and(|hash| ends.contains_key(hash)) && !asked.contains(reached.params)
        };
        let secret = is_builders(reached.method)
            || promises.secret && (sends(reached.method) || looks(reached.method) && ours());
        if secret {
            found.push(Violation {
                breach: Breach::Exposed,
                at: reached.at,
                call: None,
                detail: format!(
                    "endpoint {} is public and was asked {} {}",
                    reached.node, reached.method, reached.params
                ),
            });
        }
    }
}

fn sends(method: &str) -> bool {
    matches!(
        method,
        "eth_sendRawTransaction"
            | "eth_sendRawTransactionSync"
            | "eth_sendRawTransactionConditional"
    )
}

fn looks(method: &str) -> bool {
    matches!(
        method,
        "eth_getTransactionByHash" | "eth_getTransactionReceipt"
    )
}

/// Methods of builders and relays.
fn is_builders(method: &str) -> bool {
    method == "eth_sendBundle"
        || ["eth_sendPrivate", "mev_", "flashbots_"]
            .iter()
            .any(|prefix| method.starts_with(prefix))
}

/// The hash of a raw transaction; the lab makes none with blobs, whose bytes hold more than is hashed.
fn hash(raw: Option<&Value>) -> Option<String> {
    let bytes = hex::decode(raw?.as_str()?).ok()?;
    Some(keccak256(bytes).to_string())
}

fn told(got: &Got, hash: &str) -> Told {
    let is_ours = |value: &Value| value.as_str() == Some(hash);
    match got {
        Got::Nothing(_) => Told::Failed,
        Got::Result(text) => {
            let result: Value = serde_json::from_str(text).unwrap_or_default();
            if is_ours(&result) || is_ours(&result["transactionHash"]) {
                Told::Accepted
            } else {
                Told::Other
            }
        }
        Got::Error(text) => {
            let error: Value = serde_json::from_str(text).unwrap_or_default();
            let data = &error["data"];
            let named = is_ours(&data["hash"]);
            match data["reason"].as_str() {
                Some("ambiguous") if named => Told::Ambiguous,
                Some("output_lost") if named => Told::Accepted,
                _ if error["code"] == 4 && is_ours(data) => Told::Accepted,
                _ => Told::Failed,
            }
        }
    }
}
