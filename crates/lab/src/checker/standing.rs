//! Who was asked how often: endpoints that are out, that asked for a pause, that are a reserve, or
//! that are worse than others.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::Duration;

use super::ledger::{Ledger, Reached, Served};
use super::{Breach, Promises, Violation};

/// An endpoint that fails every request from some moment on, while another one fails nobody.
#[derive(Clone, Debug, PartialEq)]
pub struct Dead {
    /// Which.
    pub node: usize,
    /// From when on it fails, and until when.
    pub during: Range<Duration>,
    /// The time after which a failure has surely been noticed.
    pub notice: Duration,
}

/// An endpoint that says, or makes plain, for how long it is not to be asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Pause {
    /// Which.
    pub node: usize,
    /// The answers that say so.
    pub said: Said,
    /// For how long.
    pub wait: Duration,
}

/// An answer after which an endpoint is left alone.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// One with this HTTP status.
    Status(u16),
    /// That it does not know this method; it is left alone with this method.
    Unknown(String),
}

impl Said {
    fn heard(&self, served: &Served<'_>) -> bool {
        match self {
            Self::Status(status) => served.status == *status,
            Self::Unknown(method) => {
                let mut errors = served.replies.iter().filter_map(|reply| reply.error);
                served.methods.contains(method)
                    && errors.any(|error| error.contains(r#""code":-32601"#))
            }
        }
    }

    fn is_of_all(&self) -> bool {
        match self {
            Self::Status(_) => true,
            Self::Unknown(_) => false,
        }
    }

    fn concerns(&self, reached: &Reached<'_>) -> bool {
        match self {
            Self::Status(_) => true,
            Self::Unknown(method) => reached.method == method,
        }
    }
}

/// The share of the reads that an endpoint may get, and must get, once all are known.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// Which.
    pub node: usize,
    /// From when on it is counted.
    pub from: Duration,
    /// The least share.
    pub least: f64,
    /// The most.
    pub most: f64,
    /// Of fewer reads than these it is not taken.
    pub fewest: usize,
}

/// An endpoint that fails everything for a time and then nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Return {
    /// Which.
    pub node: usize,
    /// While it fails.
    pub during: Range<Duration>,
    /// The time by which every ejection is over.
    pub tried: Duration,
}

/// Failures in a row after which an endpoint is out.
const THRESHOLD: usize = 3;
/// First ejection, and the longest.
const LADDER: (u64, u64) = (5, 60);
/// Time without calls after which probes stop, and the longest time between two.
const IDLE: Duration = Duration::from_secs(60 + 5);
/// Time in which a head is probed twice.
const PROBED: Duration = Duration::from_secs(10);
/// An ejection after which the chain is asked again (R-19).
const LONG: Duration = Duration::from_secs(60);

pub(super) fn check(ledger: &Ledger<'_>, promises: &Promises, found: &mut Vec<Violation>) {
    for dead in &promises.dead {
        crowded(ledger, dead, found);
    }
    for pause in &promises.pauses {
        hasty(ledger, pause, promises.chain_id.is_some(), found);
    }
    for node in &promises.reserve {
        let reached = ledger.reached.iter().find(|reached| reached.node == *node);
        if let Some(reached) = reached {
            let detail = format!("endpoint {node} is a reserve and got {}", reached.method);
            found.push(violation(Breach::OutOfTier, reached.at, detail));
        }
    }
    for share in &promises.shares {
        misrouted(ledger, share, found);
    }
    for back in &promises.returns {
        forgotten(ledger, back, promises, found);
    }
    for node in &promises.probed {
        unprobed(ledger, *node, found);
    }
    if promises.probes {
        restless(ledger, promises, found);
    }
}

fn violation(breach: Breach, at: Duration, detail: String) -> Violation {
    Violation {
        breach,
        at,
        call: None,
        detail,
    }
}

/// Methods whose failures are counted together.
fn lane(method: &str) -> Option<&'static str> {
    Some(match method {
        "eth_getBalance" | "eth_call" | "eth_getStorageAt" => "state",
        "eth_getLogs" => "range",
        "eth_getBlockByNumber" | "eth_getTransactionReceipt" | "eth_newFilter" => "light",
        "eth_sendRawTransaction" => "write",
        // Asked beside the calls, too.
        "eth_chainId" | "eth_blockNumber" => "aside",
        _ => return None,
    })
}

/// How many trials fit into a time: one after each ejection, each of which is twice as long as the
/// one before.
fn trials(time: Duration) -> usize {
    let (mut over, mut rung, mut count) = (0, LADDER.0, 0);
    while over + rung <= time.as_secs() {
        over += rung;
        rung = (rung * 2).min(LADDER.1);
        count += 1;
    }
    count
}

/// More requests to an endpoint that is out than trials.
fn crowded(ledger: &Ledger<'_>, dead: &Dead, found: &mut Vec<Violation>) {
    let mut lanes: BTreeMap<&str, Vec<&Reached<'_>>> = BTreeMap::new();
    for reached in &ledger.reached {
        if reached.node == dead.node
            && dead.during.contains(&reached.at)
            && let Some(lane) = lane(reached.method)
        {
            lanes.entry(lane).or_default().push(reached);
        }
    }
    for (lane, requests) in lanes {
        // Strikes that came close together are not forgotten in between.
        let mut runs = requests.windows(THRESHOLD);
        let Some(run) = runs.find(|run| close(run)) else {
            continue;
        };
        let noticed = run[THRESHOLD - 1].at.saturating_add(dead.notice);
        let later: Vec<_> = requests.iter().filter(|r| r.at > noticed).collect();
        let trials = trials(dead.during.end.saturating_sub(noticed));
        // A chain check, a probe and a call may all find the ejection over.
        let most = if lane == "aside" {
            trials * 3 + 4
        } else {
            trials + 2
        };
        if let Some(one) = later.get(most) {
            let detail = format!(
                "endpoint {} failed every {lane} request, and got {} more instead of {most} at most",
                dead.node,
                later.len()
            );
            found.push(violation(Breach::Crowded, one.at, detail));
        }
        // A trial may be lost, so it is only what may be repeated.
        let once = later
            .iter()
            .find(|r| r.method == "eth_newFilter" || lane == "write");
        if let Some(one) = once {
            let detail = format!("endpoint {} is out and got {}", dead.node, one.method);
            found.push(violation(Breach::Crowded, one.at, detail));
        }
    }
}

fn close(run: &[&Reached<'_>]) -> bool {
    let (first, last) = (run.first(), run.last());
    let (Some(first), Some(last)) = (first, last) else {
        return false;
    };
    last.at.saturating_sub(first.at) <= Duration::from_secs(30)
}

/// Requests to an endpoint before the time is over that it asked for.
fn hasty(ledger: &Ledger<'_>, pause: &Pause, verified: bool, found: &mut Vec<Violation>) {
    let served = ledger.served.iter();
    let said = served.filter(|served| served.node == pause.node && pause.said.heard(served));
    let mut said: Vec<_> = said.collect();
    said.reverse();
    let mut until = Duration::ZERO;
    let own = |r: &&Reached<'_>| r.node == pause.node && pause.said.concerns(r);
    // Whether the chain is to be asked again before anything else.
    let mut due = false;
    for reached in ledger.reached.iter().filter(own) {
        while let Some(heard) = said.pop_if(|heard| heard.place < reached.place) {
            until = until.max(heard.at.saturating_add(pause.wait));
            due = verified && pause.said.is_of_all() && pause.wait >= LONG;
        }
        if reached.at < until {
            let detail = format!(
                "endpoint {} asked for a pause of {:?} and got {} {:?} too early",
                pause.node,
                pause.wait,
                reached.method,
                until.saturating_sub(reached.at)
            );
            found.push(violation(Breach::Hasty, reached.at, detail));
            return;
        }
        if due && reached.method != "eth_chainId" {
            let detail = format!(
                "endpoint {} was out for {:?} and got {} before its chain was asked again",
                pause.node, pause.wait, reached.method
            );
            found.push(violation(Breach::Unchecked, reached.at, detail));
            return;
        }
        due = false;
    }
}

/// A read of state at `latest`, which any endpoint may get.
fn is_read_of_now(method: &str, params: &str) -> bool {
    lane(method) == Some("state") && params.contains("\"latest\"")
}

/// No request to an endpoint that works again, though every ejection is over and calls came.
fn forgotten(ledger: &Ledger<'_>, back: &Return, promises: &Promises, found: &mut Vec<Violation>) {
    let reads = ledger
        .reached
        .iter()
        .filter(|reached| reached.node == back.node && lane(reached.method) == Some("state"));
    let reads: Vec<_> = reads.collect();
    let failed: Vec<_> = reads
        .iter()
        .copied()
        .filter(|r| back.during.contains(&r.at))
        .collect();
    // Whoever was never thrown out may be left alone for being worse.
    if !failed.windows(THRESHOLD).any(close) {
        return;
    }
    let calls = ledger
        .entries
        .iter()
        .filter(|entry| entry.called >= back.tried && is_read_of_now(entry.method, entry.raw));
    // Others may be tried before it.
    let Some(last) = calls.clone().nth(promises.budgets.len()) else {
        return;
    };
    let end = last.answer.as_ref().map_or(last.called, |answer| answer.at);
    if !reads
        .iter()
        .any(|r| (back.during.end..=end).contains(&r.at))
    {
        let detail = format!(
            "endpoint {} works since {:?} and was not tried until {end:?}",
            back.node, back.during.end
        );
        found.push(violation(Breach::Forgotten, end, detail));
    }
}

/// No request for the head of an endpoint for a long time, though calls came.
fn unprobed(ledger: &Ledger<'_>, node: usize, found: &mut Vec<Violation>) {
    let (Some(first), Some(last)) = (ledger.entries.first(), ledger.entries.last()) else {
        return;
    };
    let probes = ledger.reached.iter();
    let probes = probes.filter(|r| r.node == node && r.method == "eth_blockNumber");
    let mut before = first.called;
    for at in probes.map(|probe| probe.at).chain([last.called]) {
        if at.saturating_sub(before) > PROBED {
            let detail = format!("the head of endpoint {node} was not asked for since {before:?}");
            found.push(violation(Breach::Unprobed, at, detail));
            return;
        }
        before = at;
    }
}

/// More or fewer reads than the endpoint deserves.
fn misrouted(ledger: &Ledger<'_>, share: &Share, found: &mut Vec<Violation>) {
    let reads = ledger.reached.iter().filter(|reached| {
        // Only some hold the blocks that others name.
        is_read_of_now(reached.method, reached.params) && reached.at >= share.from
    });
    let (mut all, mut own) = (0_usize, 0_usize);
    let mut last = Duration::ZERO;
    for read in reads {
        all += 1;
        own += usize::from(read.node == share.node);
        last = read.at;
    }
    if all < share.fewest {
        return;
    }
    let got = own as f64 / all as f64;
    if got < share.least || got > share.most {
        let detail = format!(
            "endpoint {} got {:.0} % of the reads, due are {:.0} to {:.0} %",
            share.node,
            got * 100.0,
            share.least * 100.0,
            share.most * 100.0
        );
        found.push(violation(Breach::Misrouted, last, detail));
    }
}

/// Requests long after the last call.
fn restless(ledger: &Ledger<'_>, promises: &Promises, found: &mut Vec<Violation>) {
    let calls: BTreeSet<Duration> = ledger.entries.iter().map(|entry| entry.called).collect();
    let quiet = IDLE.saturating_add(promises.deadline.unwrap_or_default());
    for reached in &ledger.reached {
        let last = calls.range(..=reached.at).next_back().copied();
        let since = reached.at.saturating_sub(last.unwrap_or_default());
        if since > quiet {
            let detail = format!(
                "endpoint {} was asked {since:?} after the last call",
                reached.node
            );
            found.push(violation(Breach::Restless, reached.at, detail));
            return;
        }
    }
}
