//! Nobody is taken back in time, and nobody is kept behind (P-2, P-7 to P-9, P-11).
//!
//! Whatever a client was told that names a block binds what it is told after. What binds ends in two
//! ways, and only so is a lower block excused (P-8):
//!
//! - the block was told before the last endpoint had left a branch that the network left: the floor
//!   may be the height that two endpoints had told since then, without those that go back;
//! - the client was told nothing at that height or above for `stale`.
//!
//! A block that is further ahead of the chain than any is believed, told by a liar who was the first to
//! say anything, binds nobody.
//!
//! A read that an endpoint got with its tag as written is outside the promise (P-2).

use std::collections::BTreeMap;
use std::time::Duration;

use super::shown::Shown;
use super::{Read, Reading, question};
use crate::chain::{Chain, Fork, Reach, View};
use crate::checker::{Breach, Violation};
use crate::node::{Fault, Sees, What, view};
use serde_json::Value;

/// What one client was told, by time.
type Told = Vec<(Duration, u64)>;

/// Whose promise: a client's, and which tag's.
type Party<'a> = (u64, Option<&'a str>);

pub(super) fn check(
    reads: &[Read<'_, '_>],
    (reading, shown): (&Reading, &Shown),
    chain: &Chain,
    found: &mut Vec<Violation>,
) {
    let told = told(reads);
    let goes_back = |node: &usize| {
        let back = |fault: &Fault| matches!(fault.what, What::Sees(Sees::Backwards { .. }));
        reading.faults[*node].iter().any(back)
    };
    let steady = reading.honest.iter().copied();
    let steady: Vec<usize> = steady.filter(|node| !goes_back(node)).collect();
    let floors = Floors {
        reading,
        agreed: [&reading.honest, &steady].map(|nodes| shown.agreed(nodes, reading.stale)),
        chain,
        left: left(reading, chain),
    };
    for read in reads {
        let (entry, answer) = (read.entry, read.answer);
        let mut report = |breach, detail: String| {
            found.push(Violation {
                breach,
                at: answer.at,
                call: Some(entry.call),
                detail,
            });
        };
        let tag = watermark(read);
        let Some(height) = read.height.filter(|_| read.newest || tag.is_some()) else {
            continue;
        };
        if read.passed && tag.is_none() {
            if reading.is_sure()
                && !read.beside
                && let Some(head) = shown.of_two(&reading.firm, entry.called, reading.stale)
            {
                let detail = format!("`latest` went out as a tag when two had told {head}");
                report(Breach::Unpinned, detail);
            }
            continue;
        }
        let before = told.get(&(entry.client, tag));
        if let Some(floor) = before.and_then(|told| floors.broken(told, read, height)) {
            report(Breach::WentBack, format!("told {height} after {floor}"));
        }
        if tag.is_some() || !reading.is_sure() {
            continue;
        }
        let newest = shown.of_two(&reading.firm, entry.called, reading.stale);
        let reached = newest.and_then(|_| shown.truly(chain, answer.place));
        // What was told once, when nobody knew better, is told again.
        let again = before.is_some_and(|told| {
            let told = told.iter().take_while(|(at, _)| *at <= entry.called);
            // What is answered in the moment of the call is among them itself.
            let own = usize::from(answer.at == entry.called);
            told.filter(|(_, told)| *told >= height).count() > own
        });
        if let Some(reached) = reached.filter(|reached| height > *reached && !again) {
            report(
                Breach::Unfounded,
                format!("told {height} when {reached} was the highest that is true"),
            );
        }
        if let Some(newest) = newest.filter(|newest| height + reading.stale_blocks < *newest) {
            let detail = format!("answered from {height} when two endpoints had told {newest}");
            report(Breach::TooStale, detail);
        }
    }
}

/// The tag whose block an answer is, where that is neither the newest nor a number.
fn watermark<'a>(read: &Read<'_, 'a>) -> Option<&'a str> {
    if read.entry.method != "eth_getBlockByNumber" {
        return None;
    }
    ["safe", "finalized"]
        .into_iter()
        .find(|tag| read.entry.params.first().and_then(Value::as_str) == Some(tag))
}

/// What each client was told of each, in the order of time.
fn told<'a>(reads: &[Read<'_, 'a>]) -> BTreeMap<Party<'a>, Told> {
    let mut told: BTreeMap<Party<'a>, Told> = BTreeMap::new();
    for read in reads {
        let Some(height) = read.height else { continue };
        let at = (read.answer.at, height);
        let client = read.entry.client;
        if let Some(tag) = watermark(read) {
            told.entry((client, Some(tag))).or_default().push(at);
        }
        // The answer of a state read names no block: what it shows is known only where `latest` was
        // made a number.
        let is_state = question::position(read.entry.method).is_some()
            && !read.entry.method.starts_with("eth_getBlock");
        if !is_state || (read.newest && !read.passed) {
            told.entry((client, None)).or_default().push(at);
        }
    }
    for list in told.values_mut() {
        list.sort_unstable();
    }
    told
}

/// For each fork of the network, the moment at which the last endpoint had left the branch before.
fn left(reading: &Reading, chain: &Chain) -> Vec<(Fork, Duration)> {
    let spec = chain.spec();
    let common = spec
        .forks
        .iter()
        .filter(|fork| fork.reach == Reach::Everyone);
    let all = common.map(|fork| {
        let gone = reading.faults.iter().map(|faults| {
            let is_on = |at| view(faults, at).at >= fork.at;
            let end = fork.at + reading.notice * 100;
            let mut moments: Vec<_> = super::moments(chain, faults, fork.at, end).collect();
            moments.sort_unstable();
            let last_off = moments.into_iter().rfind(|at| !is_on(*at));
            last_off.unwrap_or(fork.at)
        });
        let gone = gone.max().unwrap_or(fork.at);
        (*fork, gone)
    });
    all.collect()
}

struct Floors<'a> {
    reading: &'a Reading,
    /// What two honest endpoints had told, by time, and what two had that never go back: one that does
    /// may say so in an error too, and then its head counts no more.
    agreed: [Vec<(Duration, u64)>; 2],
    chain: &'a Chain,
    left: Vec<(Fork, Duration)>,
}

impl Floors<'_> {
    /// The highest block told before that an answer at this height breaks.
    fn broken(&self, told: &Told, read: &Read<'_, '_>, height: u64) -> Option<u64> {
        let called = read.entry.called;
        let before = told.partition_point(|(at, _)| *at <= called);
        let before = &told[..before];
        let highest = |at| self.chain.head(&View::healthy(at)) + self.reading.max_ahead;
        let above = before
            .iter()
            .filter(|(at, told)| *told > height && *told <= highest(*at));
        above
            .filter(|(at, told)| {
                let last = before.iter().rfind(|(_, other)| other >= told);
                let last = last.map_or(*at, |(at, _)| *at);
                let unserved = read.answer.at.saturating_sub(last) >= self.reading.stale;
                !unserved && !self.fell((*at, *told), height, called)
            })
            .map(|(_, told)| *told)
            .max()
    }

    /// Whether a floor may have fallen to a height because the chain that it was told of was left.
    fn fell(&self, (told_at, told): (Duration, u64), height: u64, called: Duration) -> bool {
        let healthy = View::healthy;
        self.left.iter().any(|(fork, gone)| {
            let split = self
                .chain
                .head(&healthy(fork.at))
                .saturating_sub(fork.depth);
            let of_old =
                told > split && told_at <= *gone + self.reading.notice && fork.at <= called;
            let lowest = |agreed: &Vec<(Duration, u64)>| {
                let since = agreed.partition_point(|(at, _)| *at < fork.at);
                let since = agreed[since.saturating_sub(1)..].iter();
                let agreed = since.take_while(|(at, _)| *at <= called);
                agreed.map(|(_, height)| *height).min()
            };
            let lowest = || self.agreed.iter().filter_map(lowest).min();
            of_old && lowest().is_none_or(|lowest| height >= lowest)
        })
    }
}
