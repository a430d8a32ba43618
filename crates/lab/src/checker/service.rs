//! Whether calls were answered, in time, and at what cost.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ledger::{Entry, Ledger};
use super::perfect::Perfect;
use super::{Breach, Promises, Violation};
use crate::chain::Chain;
use crate::history::Got;
use crate::scenario::is_answer;

pub(super) fn check(
    ledger: &Ledger<'_>,
    chain: &Arc<Chain>,
    promises: &Promises,
    found: &mut Vec<Violation>,
) {
    late(ledger, promises, found);
    amplified(ledger, promises, found);
    outages(ledger, promises, found);
    if !promises.steady.is_empty() {
        unanswered(ledger, chain, promises, found);
    }
}

/// Calls answered after their deadline, or given up on although it had passed.
fn late(ledger: &Ledger<'_>, promises: &Promises, found: &mut Vec<Violation>) {
    let Some(deadline) = promises.deadline else {
        return;
    };
    for entry in &ledger.entries {
        let Some(answer) = &entry.answer else {
            continue;
        };
        let took = answer.at.saturating_sub(entry.called);
        if took > deadline {
            found.push(Violation {
                breach: Breach::Late,
                at: answer.at,
                call: Some(entry.call),
                detail: format!("answered after {took:?}, due within {deadline:?}"),
            });
        }
    }
}

/// Calls that cost more requests than attempts. All requests of a call carry one id.
fn amplified(ledger: &Ledger<'_>, promises: &Promises, found: &mut Vec<Violation>) {
    let Some(most) = promises.most_requests else {
        return;
    };
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for reached in &ledger.reached {
        let Some(id) = reached.id else { continue };
        let count = counts.entry(id).or_default();
        *count += 1;
        // Whoever is told that something is not there asks one more.
        let confirms = match reached.method {
            "eth_getBlockByNumber" | "eth_getTransactionReceipt" => true,
            "eth_getBalance" | "eth_call" | "eth_getLogs" => promises.nulls,
            _ => false,
        };
        let most = most + u64::from(confirms);
        if *count == most + 1 {
            found.push(Violation {
                breach: Breach::Amplified,
                at: reached.at,
                call: None,
                detail: format!(
                    "a call of {} cost more than {most} requests",
                    reached.method
                ),
            });
        }
    }
}

/// What all calls cost together while every endpoint fails.
fn outages(ledger: &Ledger<'_>, promises: &Promises, found: &mut Vec<Violation>) {
    for outage in &promises.outages {
        let during = &outage.during;
        let patience = promises.deadline.unwrap_or_default();
        let begun = during.start.saturating_sub(patience);
        let calls = ledger.entries.iter();
        let calls = calls.filter(|entry| (begun..during.end).contains(&entry.called));
        let calls = calls.count() as u64;
        let reached = ledger.reached.iter();
        let reached = reached.filter(|reached| during.contains(&reached.at));
        let requests = reached.count() as u64;
        let seconds = during.end.saturating_sub(during.start).as_secs_f64();
        let most = (calls * outage.first) as f64
            + (calls as f64) * outage.share
            + seconds * outage.per_second
            + outage.trials
            + 1.0;
        if requests as f64 > most {
            found.push(Violation {
                breach: Breach::Amplified,
                at: during.end,
                call: None,
                detail: format!(
                    "{calls} calls cost {requests} requests while every endpoint failed, at most \
                     {most:.0} are allowed"
                ),
            });
        }
    }
}

/// Reads that failed though an endpoint was there that fails nobody.
fn unanswered(
    ledger: &Ledger<'_>,
    chain: &Arc<Chain>,
    promises: &Promises,
    found: &mut Vec<Violation>,
) {
    let mut perfect = Perfect::new(chain);
    for entry in &ledger.entries {
        let Some(answer) = &entry.answer else {
            continue;
        };
        let why = match answer.got {
            Got::Result(_) => continue,
            // The chain's own answer, whoever said so.
            Got::Error(error) if is_answer(entry.method, error) => continue,
            Got::Error(error) => error,
            Got::Nothing(why) => why,
        };
        if !is_read(entry) {
            continue;
        }
        let due = [entry.called, answer.at].map(|at| perfect.result(at, entry.method, entry.raw));
        if due.iter().all(Option::is_some) {
            found.push(Violation {
                breach: Breach::Unanswered,
                at: answer.at,
                call: Some(entry.call),
                detail: format!(
                    "{} failed ({why}) though endpoint {} was there for it",
                    entry.method, promises.steady[0]
                ),
            });
        }
    }
}

fn is_read(entry: &Entry<'_>) -> bool {
    entry.method.starts_with("eth_get") && !entry.method.contains("Filter")
        || matches!(entry.method, "eth_blockNumber" | "eth_call")
}
