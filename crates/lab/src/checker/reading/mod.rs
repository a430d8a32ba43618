//! Reads that are pinned, shared and kept (P-1 to P-17).
//!
//! | file | what it looks at |
//! |---|---|
//! | here | what holds, and what of it a scenario lets anybody keep |
//! | `shown` | heads and headers that endpoints have told, by time |
//! | `floor` | nobody is taken back |
//! | `pinned` | one number for one call, and only where it is known to be held |
//! | `branch` | nothing from a block that left the chain |
//! | `gone` | nothing that was shown by its hash is null later |
//! | `truth` | an answer is what its block holds |
//!
//! It knows what each endpoint could see, so it tells an answer of an endpoint that is late from one
//! that should not have been kept.

mod branch;
mod floor;
mod gone;
mod pinned;
mod shown;
mod truth;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use highwater_core::settings::Settings;

use super::ledger::{Answer, Entry, Ledger};
use super::promises::longest;
use super::question::{self, Block};
use super::{Promises, Violation};
use crate::chain::{Branch, Chain};
use crate::history::Got;
use crate::node::{Fault, Profile, Sees, What, view};
use crate::scenario::Scenario;
use shown::Shown;

/// Blocks by which a lie may become smaller while the chain grows.
const MARGIN: u64 = 64;

/// What reads are held to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// What goes wrong with each endpoint: what it sees of the chain follows from that.
    pub faults: Vec<Vec<Fault>>,
    /// Endpoints that answer every request in time, and whose view only moves on. What two of them
    /// have told is known to whoever stands between.
    pub firm: Vec<usize>,
    /// Endpoints that claim no block that does not exist.
    pub honest: Vec<usize>,
    /// Most blocks that a read at `latest` may be behind what two firm endpoints have told: an
    /// endpoint may be so far behind and still set the pin (P-2), or so far from memory (P-11).
    pub stale_blocks: u64,
    /// Longest time that an answer at `latest` is kept (P-11).
    pub max_age: Duration,
    /// Blocks that an endpoint may lead the others and be believed.
    pub max_ahead: u64,
    /// How long a head counts, and after what time without anybody at it a floor falls (P-8).
    pub stale: Duration,
    /// Longest time from the moment at which the last endpoint left a branch to a header of the new
    /// one: the next block, a probe that finds it, and the header.
    pub notice: Duration,
}

impl Reading {
    /// What holds for a scenario, where reads go through a pool with these settings.
    #[must_use]
    pub fn of(scenario: &Scenario, settings: &Settings) -> Self {
        let heads = settings.heads.clone().unwrap_or_default();
        let cache = settings.reads.cache.unwrap_or_default();
        let probe = settings.probe.unwrap_or_default();
        let block_time = scenario.chain.block_time;
        // The block time is measured, and half too short in the worst case.
        let pace = (block_time / 2).as_nanos().max(1);
        let in_time = heads.max_lag_time.as_nanos() / pace;
        let max_lag = heads
            .max_lag
            .max(u64::try_from(in_time).unwrap_or(u64::MAX));
        let nodes = || (0..).zip(&scenario.nodes);
        let is_firm = |profile: &Profile| {
            let prompt = longest(profile) * 2 <= scenario.router.attempt;
            let moves_on = |fault: &Fault| {
                let always = fault.from.is_zero() && fault.until.is_none();
                always && matches!(fault.what, What::Sees(Sees::Lag(_) | Sees::Delayed(_)))
            };
            prompt && profile.faults.iter().all(moves_on)
        };
        let lies = |fault: &Fault| matches!(fault.what, What::Sees(Sees::Ahead(_)));
        Self {
            faults: nodes().map(|(_, (node, _))| node.faults.clone()).collect(),
            firm: nodes()
                .filter(|(_, (node, budget))| budget.is_none() && is_firm(node))
                .map(|(place, _)| place)
                .collect(),
            honest: nodes()
                .filter(|(_, (node, _))| !node.faults.iter().any(lies))
                .map(|(place, _)| place)
                .collect(),
            stale_blocks: max_lag.max(cache.max_stale_blocks),
            max_age: cache.max_age,
            max_ahead: heads.max_ahead,
            stale: heads.stale,
            notice: block_time
                + probe.interval.mul_f64(1.0 + probe.jitter)
                + scenario.router.attempt * 2,
        }
    }

    /// Whether two endpoints tell the truth and are always there, liars are less than half, and no two
    /// of them lie by so little that each could be believed: two that are believed are a reference
    /// . Where that is not so, nobody can know what the newest block is.
    fn is_sure(&self) -> bool {
        let plausible = |fault: &&Fault| match fault.what {
            What::Sees(Sees::Ahead(blocks)) => blocks <= self.max_ahead + MARGIN,
            What::Sees(_) | What::Says(_) | What::Carries(_) => false,
        };
        let lies = self
            .faults
            .iter()
            .filter(|faults| faults.iter().any(|f| plausible(&f)));
        self.firm.len() >= 2 && self.honest.len() * 2 > self.faults.len() && lies.count() < 2
    }

    /// Whether any endpoint had a block on its chain at some moment between these two.
    fn in_sight(&self, chain: &Chain, spot: Spot, from: Duration, to: Duration) -> bool {
        self.faults.iter().any(|faults| {
            moments(chain, faults, from, to).any(|at| {
                let view = view(faults, at);
                chain.head(&view) >= spot.height && chain.branch(&view, spot.height) == spot.branch
            })
        })
    }
}

/// The moments between two at which the view of an endpoint may be another than just before, and the
/// moments just before them.
fn moments<'a>(
    chain: &'a Chain,
    faults: &'a [Fault],
    from: Duration,
    to: Duration,
) -> impl Iterator<Item = Duration> + 'a {
    let mut changes = Vec::new();
    let mut delays = vec![Duration::ZERO];
    for fault in faults {
        let mut at = from;
        while let Some(next) = fault.next_change(at).filter(|next| *next <= to) {
            changes.push(next);
            at = next;
        }
        if let What::Sees(Sees::Delayed(late)) = fault.what {
            let both: Vec<Duration> = delays.iter().map(|delay| *delay + late).collect();
            delays.extend(both);
        }
    }
    for fork in &chain.spec().forks {
        changes.extend(delays.iter().map(|delay| fork.at + *delay));
    }
    let just_before = |at: Duration| at.saturating_sub(Duration::from_nanos(1));
    let changes = changes
        .into_iter()
        .filter(move |at| (from..=to).contains(at));
    [from, to]
        .into_iter()
        .chain(changes.flat_map(move |at| [at, just_before(at)]))
}

/// A block by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spot {
    height: u64,
    branch: Branch,
}

/// What of an answer is looked at, once for all.
struct Read<'l, 'a> {
    entry: &'l Entry<'a>,
    answer: &'l Answer<'a>,
    /// The result as it came.
    text: &'a str,
    /// The block it shows: of a state read the one it was read at, of a list that of its last element.
    spot: Option<Spot>,
    /// The height it names; of an `eth_blockNumber` there is no more than that.
    height: Option<u64>,
    /// It asked for the newest block.
    newest: bool,
    /// Nobody served this after the call: it is from memory. When it was last served.
    kept: Option<Duration>,
    /// When an endpoint was first asked for it, where it is not from memory.
    asked: Duration,
    /// Another call asked the same and was not answered yet.
    beside: bool,
    /// Some endpoint got the tag as it was written (P-2).
    passed: bool,
}

pub(super) fn check(
    ledger: &Ledger<'_>,
    chain: &Arc<Chain>,
    promises: &Promises,
    found: &mut Vec<Violation>,
) {
    let Some(reading) = &promises.reading else {
        return;
    };
    let shown = Shown::new(ledger, chain);
    let reads = reads(ledger, chain);
    floor::check(&reads, (reading, &shown), chain, found);
    pinned::check(ledger, &reads, &shown, found);
    branch::check(&reads, (reading, &shown), chain, found);
    gone::check(ledger, (reading, &shown), chain, found);
    truth::check(&reads, chain, found);
}

/// When some answer was served: its place, the moment, and that at which it was asked for.
type Given = (usize, Duration, Duration);

/// Every answer that was served, by method and text.
fn given<'a>(ledger: &Ledger<'a>) -> HashMap<(&'a str, &'a str), Vec<Given>> {
    let mut asked: HashMap<(usize, &str), Duration> = HashMap::new();
    for one in &ledger.reached {
        if let Some(id) = one.id {
            asked.entry((one.node, id)).or_insert(one.at);
        }
    }
    let mut given: HashMap<_, Vec<Given>> = HashMap::new();
    for one in &ledger.served {
        for (method, reply) in one.sound() {
            let Some(result) = reply.result else { continue };
            let id = reply.id.map(|id| id.trim_matches('"'));
            let asked = id.and_then(|id| asked.get(&(one.node, id)));
            let times = given.entry((method, result)).or_default();
            times.push((one.place, one.at, asked.copied().unwrap_or(one.at)));
        }
    }
    given
}

/// The same of log queries, by the hash of each block that has logs in the answer: what a pool puts
/// together, nobody gave as a whole.
fn given_logs<'a>(ledger: &Ledger<'a>) -> HashMap<&'a str, Vec<Given>> {
    let mut given: HashMap<_, Vec<Given>> = HashMap::new();
    for ((method, result), times) in self::given(ledger) {
        if method != "eth_getLogs" {
            continue;
        }
        let mut hashes: Vec<&str> = truth::hashes_of(result).collect();
        hashes.dedup();
        for hash in hashes {
            given.entry(hash).or_default().extend(&times);
        }
    }
    for times in given.values_mut() {
        times.sort_unstable();
        times.dedup();
    }
    given
}

/// The answered reads in the order of calling.
fn reads<'l, 'a>(ledger: &'l Ledger<'a>, chain: &Chain) -> Vec<Read<'l, 'a>> {
    let given = given(ledger);
    let given_logs = given_logs(ledger);
    let mut reached: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
    for one in &ledger.reached {
        let places = reached.entry((one.method, one.params)).or_default();
        places.push(one.place);
    }
    // Until when the same question was open.
    let mut open: HashMap<(&str, &str), usize> = HashMap::new();
    let mut reads = Vec::new();
    for (entry, answer, result) in ledger.results() {
        let Got::Result(text) = answer.got else {
            continue;
        };
        let spot = truth::spot(entry.method, result, text, chain);
        let is_number = entry.method == "eth_blockNumber";
        let height = if is_number {
            question::height(entry.method, result)
        } else {
            spot.map(|spot| spot.height)
        };
        let times = match entry.method {
            "eth_getLogs" => truth::last_of(text).and_then(|hash| given_logs.get(&*hash)),
            method => given.get(&(method, text.as_str())),
        };
        let times = times.map_or(&[][..], Vec::as_slice);
        // What was served at the moment of the call may be that of a request that it still could share.
        let is_before = |one: &Given| one.0 <= entry.place && one.1 < entry.called;
        let (before, after) = times.split_at(times.partition_point(is_before));
        let during = after.iter().take_while(|one| one.0 < answer.place);
        let asked = during.map(|one| one.2).min();
        let places = reached.get(&(entry.method, entry.raw));
        let passed = !is_number
            && places.is_some_and(|places| {
                let next = places.partition_point(|place| *place <= entry.place);
                places.get(next).is_some_and(|place| *place < answer.place)
            });
        let until = open.entry((entry.method, entry.raw)).or_default();
        let beside = *until > entry.place;
        *until = answer.place.max(*until);
        reads.push(Read {
            entry,
            answer,
            text,
            spot,
            height,
            newest: is_number
                || question::block(entry) == Some(Block::Latest)
                || truth::is_newest_logs(entry),
            kept: before.last().filter(|_| asked.is_none()).map(|one| one.1),
            asked: asked.unwrap_or(entry.called).min(entry.called),
            beside,
            passed,
        });
    }
    reads
}
