//! Heights, forks, receipts, and whose answer it was.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::ledger::{Answer, Entry, Ledger};
use super::question::{self, Block};
use super::{Breach, Promises, Violation};
use crate::chain::{Chain, View};

/// For every client, the highest head it had been told, by time.
type Told = BTreeMap<u64, Vec<(Duration, u64)>>;

/// When each client first had a receipt, a transaction that is mined, or a block by its hash.
type Receipts<'a> = BTreeMap<(u64, &'a str, &'a str), Duration>;

/// Methods that ask for what a client was shown, by its hash.
const NAMED_BY_HASH: [&str; 3] = [
    "eth_getTransactionReceipt",
    "eth_getTransactionByHash",
    "eth_getBlockByHash",
];

pub(super) fn check(
    ledger: &Ledger<'_>,
    chain: &Arc<Chain>,
    promises: &Promises,
    found: &mut Vec<Violation>,
) {
    let told = told(ledger);
    let shown = shown(ledger);
    for (entry, answer, result) in ledger.results() {
        let mut report = |breach, detail: String| {
            found.push(Violation {
                breach,
                at: answer.at,
                call: Some(entry.call),
                detail,
            });
        };
        if let Some(detail) = other_question(entry, result) {
            report(Breach::WrongCaller, detail);
            continue;
        }
        if let Some(height) = question::height(entry.method, result) {
            let newest =
                entry.method == "eth_blockNumber" || question::block(entry) == Some(Block::Latest);
            if newest && promises.reading.is_none() {
                newest_read(
                    entry,
                    height,
                    (&told, &shown),
                    (chain, promises),
                    &mut report,
                );
            }
            if let Some(Block::Height(asked)) = question::block(entry)
                && asked != height
            {
                let detail = format!("asked for block {asked}, answered from {height}");
                report(Breach::WrongHeight, detail);
            }
        }
        if promises.reading.is_none()
            && let Some(detail) = orphaned(entry, answer, result, chain)
        {
            report(Breach::Orphaned, detail);
        }
    }
    if promises.reading.is_none() {
        found.extend(vanished(ledger, chain).map(|(violation, ..)| violation));
    }
}

/// Answers with null about what their caller was shown before and the chain has.
pub(super) fn vanished<'l, 'a>(
    ledger: &'l Ledger<'a>,
    chain: &Chain,
) -> impl Iterator<Item = (Violation, &'l Entry<'a>, &'l Answer<'a>)> {
    let receipts = receipts(ledger);
    ledger.results().filter_map(move |(entry, answer, _)| {
        let violation = Violation {
            breach: Breach::ReceiptVanished,
            at: answer.at,
            call: Some(entry.call),
            detail: has_vanished(&receipts, entry, answer, chain)?,
        };
        Some((violation, entry, answer))
    })
}

fn told(ledger: &Ledger<'_>) -> Told {
    let mut told = Told::new();
    for (entry, answer, result) in ledger.results() {
        let newest =
            entry.method == "eth_blockNumber" || question::block(entry) == Some(Block::Latest);
        if newest && let Some(height) = question::height(entry.method, result) {
            let heads = told.entry(entry.client).or_default();
            heads.push((answer.at, height));
        }
    }
    for heads in told.values_mut() {
        heads.sort_unstable();
        let mut highest = 0;
        for (_, height) in heads {
            highest = highest.max(*height);
            *height = highest;
        }
    }
    told
}

fn receipts<'a>(ledger: &'a Ledger<'_>) -> Receipts<'a> {
    let mut receipts = Receipts::new();
    for (entry, answer, result) in ledger.results() {
        let asked = entry.params.first().and_then(Value::as_str);
        let mined = entry.method != "eth_getTransactionByHash" || !result["blockHash"].is_null();
        if let (Some(asked), false) = (asked, result.is_null())
            && mined
            && NAMED_BY_HASH.contains(&entry.method)
        {
            let key = (entry.client, entry.method, asked);
            let first = receipts.entry(key).or_insert(answer.at);
            *first = answer.at.min(*first);
        }
    }
    receipts
}

/// The figure that held at a moment, in a list ordered by time.
fn at(list: &[(Duration, u64)], moment: Duration) -> u64 {
    let after = list.partition_point(|(at, _)| *at <= moment);
    after.checked_sub(1).map_or(0, |last| list[last].1)
}

/// Heights that endpoints have shown, highest so far, by time.
fn shown(ledger: &Ledger<'_>) -> Vec<(Duration, u64)> {
    let mut highest = 0;
    let mut shown = Vec::new();
    for served in &ledger.served {
        for (method, reply) in served.methods.iter().zip(&served.replies) {
            if let Some(height) = reply
                .result
                .and_then(|raw| question::raw_height(method, raw))
            {
                highest = highest.max(height);
            }
        }
        shown.push((served.at, highest));
    }
    shown
}

fn newest_read(
    entry: &Entry<'_>,
    height: u64,
    (told, shown): (&Told, &[(Duration, u64)]),
    (chain, promises): (&Chain, &Promises),
    report: &mut impl FnMut(Breach, String),
) {
    let floor = told
        .get(&entry.client)
        .map_or(0, |told| at(told, entry.called));
    if height < floor {
        let detail = format!("told {height} after {floor}");
        report(Breach::WentBack, detail);
    }
    // An endpoint may claim blocks that do not exist; the chain knows better.
    let reference = at(shown, entry.called);
    let reference = reference.min(chain.spec().head_at(entry.called));
    if height.saturating_add(promises.stale_blocks) < reference {
        let detail = format!("answered from {height} when endpoints had shown {reference}");
        report(Breach::TooStale, detail);
    }
}

/// Whether the network's chain held the block of an answer at any moment of the call.
fn orphaned(
    entry: &Entry<'_>,
    answer: &Answer<'_>,
    result: &Value,
    chain: &Chain,
) -> Option<String> {
    // Who asks for a block by its hash wants that block, orphan or not.
    if matches!(question::block(entry)?, Block::Hash(_)) {
        return None;
    }
    let height = question::height(entry.method, result)?;
    let held = |at: Duration| {
        let view = View::healthy(at);
        match question::place(entry.method, result) {
            Some(place) => place.branch == chain.branch(&view, height),
            None => chain
                .block(&view, height)
                .is_some_and(|block| result["hash"] == block.hash.to_string()),
        }
    };
    let during = entry.called..=answer.at;
    let forks = chain.spec().forks.iter().map(|fork| fork.at);
    let mut before = forks
        .filter(|at| during.contains(at))
        .map(|at| at.saturating_sub(Duration::from_nanos(1)));
    if held(entry.called) || held(answer.at) || before.any(held) {
        return None;
    }
    Some(format!("block {height} of the answer is on another fork"))
}

/// Whether an answer names something else than the question did.
fn other_question(entry: &Entry<'_>, result: &Value) -> Option<String> {
    let asked = entry.params.first().and_then(Value::as_str);
    let member = match entry.method {
        "eth_getTransactionReceipt" => "transactionHash",
        "eth_getTransactionByHash" | "eth_getBlockByHash" => "hash",
        _ => {
            let place = question::place(entry.method, result)?;
            let due = question::tag(entry)?;
            return (place.tag != due).then(|| {
                let method = entry.method;
                format!("{method} got the answer to other params")
            });
        }
    };
    let named = result.get(member)?.as_str()?;
    let same = asked.is_some_and(|asked| asked.eq_ignore_ascii_case(named));
    (!same).then(|| format!("asked for {}, got {named}", asked.unwrap_or("nothing")))
}

fn has_vanished(
    receipts: &Receipts<'_>,
    entry: &Entry<'_>,
    answer: &Answer<'_>,
    chain: &Chain,
) -> Option<String> {
    if !NAMED_BY_HASH.contains(&entry.method) || !answer.result.as_ref()?.is_null() {
        return None;
    }
    let asked = entry.params.first()?.as_str()?;
    let seen = receipts.get(&(entry.client, entry.method, asked));
    let seen = seen.is_some_and(|at| *at <= entry.called);
    let hash = asked.parse().ok()?;
    let there = |at| {
        let view = View::healthy(at);
        if entry.method == "eth_getBlockByHash" {
            let found = chain.by_hash(&view, hash);
            return found.is_some_and(|found| found.canonical);
        }
        chain.transaction(&view, hash).is_some()
    };
    (seen && there(entry.called) && there(answer.at)).then(|| {
        format!(
            "{} of {asked} was seen before and is null now",
            entry.method
        )
    })
}
