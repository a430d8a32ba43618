//! What a history is held to, and what of it a scenario lets anybody keep.

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

use highwater_core::settings::Settings;

use super::{Breach, Course, Dead, Pause, Reading, Return, Sends, Share};
use crate::node::{Carries, Dialect, Fault, Latency, Profile, Says, Sees, What};
use crate::scenario::{Ask, Budget, Choice, Retries, Routing, Scenario, Writes, Writing};

/// What a history is held to.
#[derive(Clone, Debug, Default)]
pub struct Promises {
    /// Blocks by which an answer at `latest` may be behind what endpoints have shown.
    pub stale_blocks: u64,
    /// Budget of each endpoint.
    pub budgets: Vec<Option<Budget>>,
    /// Methods of which one call may reach one endpoint only.
    pub once: Vec<String>,
    /// Methods that may be answered without an endpoint.
    pub local: Vec<String>,
    /// Breaches that nobody could avoid under these faults.
    pub exempt: BTreeSet<Breach>,
    /// The chain: an endpoint that said that it serves another one gets nothing more.
    pub chain_id: Option<u64>,
    /// Longest time from a call to its answer.
    pub deadline: Option<Duration>,
    /// Most requests for one call, told by the id they carry; one more where it may be told that
    /// something is not there.
    pub most_requests: Option<u64>,
    /// Whether endpoints say null in place of values.
    pub nulls: bool,
    /// What holds for raw transactions.
    pub sends: Option<Sends>,
    /// What holds for reads that are pinned, shared and kept, in place of what holds for any.
    pub reading: Option<Reading>,
    /// What holds for the requests of one call.
    pub course: Option<Course>,
    /// Times in which every endpoint fails whatever it is asked, and what a router may spend then.
    pub outages: Vec<Outage>,
    /// Endpoints that do nothing wrong from the beginning to the end, where one of them is enough to
    /// answer every read.
    pub steady: Vec<usize>,
    /// Those of them that can confirm what another one says: they are of the lowest tier.
    pub confirming: Vec<usize>,
    /// Endpoints that see the chain as it is, whatever else they do.
    pub sighted: Vec<usize>,
    /// Endpoints that fail everything from some moment on.
    pub dead: Vec<Dead>,
    /// Endpoints that say for how long they are not to be asked.
    pub pauses: Vec<Pause>,
    /// Endpoints that are not needed.
    pub reserve: Vec<usize>,
    /// What endpoints deserve of the reads.
    pub shares: Vec<Share>,
    /// Whether heads are probed while calls come, and not when none do.
    pub probes: bool,
    /// Endpoints whose heads must be probed while calls come.
    pub probed: Vec<usize>,
    /// Endpoints that fail everything for a time and then nothing.
    pub returns: Vec<Return>,
}

/// A time in which every endpoint fails.
#[derive(Clone, Debug, PartialEq)]
pub struct Outage {
    /// From when on every endpoint is known to fail, and until when.
    pub during: Range<Duration>,
    /// Requests of each call before anything counts as repeated.
    pub first: u64,
    /// Share of the calls that may be repeated besides.
    pub share: f64,
    /// What may be repeated besides, per second.
    pub per_second: f64,
    /// What may be sent to find out whether an endpoint is back, in all.
    pub trials: f64,
}

/// Methods that no node may see twice.
const ONCE: [&str; 8] = [
    "eth_sendTransaction",
    "eth_sendUserOperation",
    "eth_newFilter",
    "eth_newBlockFilter",
    "eth_newPendingTransactionFilter",
    "eth_sign",
    "eth_signTransaction",
    "personal_sendTransaction",
];

/// The method that sends a raw transaction.
const RAW: &str = "eth_sendRawTransaction";

/// What a send may take beyond its attempt: 2 s, and 3 s for a look-up.
const BEYOND: Duration = Duration::from_secs(5);

/// How long a router may believe in an endpoint after its last good answer.
const GRACE: Duration = Duration::from_secs(10);

impl Promises {
    /// The promises of a scenario to clients, whatever stands between them and the nodes.
    #[must_use]
    pub fn of(scenario: &Scenario) -> Self {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Self {
            stale_blocks: scenario.stale_blocks,
            budgets: scenario.nodes.iter().map(|(_, budget)| *budget).collect(),
            once: names(&ONCE),
            local: names(&[
                "eth_chainId",
                "net_version",
                "web3_clientVersion",
                "eth_blockNumber",
            ]),
            ..Self::default()
        }
    }

    /// What the routing engine promises besides, less what no routing can keep under these faults:
    /// an endpoint that lies about what it holds is found out by asking others, which is the cache's
    /// and the pin's business, not the engine's.
    #[must_use]
    pub fn routed(scenario: &Scenario) -> Self {
        let router = &scenario.router;
        let mut promises = Self::of(scenario);
        promises.local.clear();
        // `once` is what the engine does with a transaction.
        promises.once.push(RAW.to_owned());
        promises.exempt = exempt(scenario);
        promises.chain_id = router.verify.then_some(scenario.chain.chain_id);
        promises.deadline = Some(router.deadline);
        promises.most_requests = most_requests(router);
        promises.outages = outages(scenario);
        promises.steady = steady(scenario);
        let lowest = router.seats.iter().map(|seat| seat.tier).min();
        let is_lowest = |node: &usize| router.seats.get(*node).map(|seat| seat.tier) == lowest;
        promises.confirming = promises.steady.iter().copied().filter(is_lowest).collect();
        let sees = |fault: &Fault| matches!(fault.what, What::Sees(_));
        let nodes = scenario.nodes.iter().enumerate();
        let sighted = nodes.filter(|(_, (node, _))| !node.faults.iter().any(sees));
        promises.sighted = sighted.map(|(index, _)| index).collect();
        promises.probes = router.probes;
        let null = |fault: &Fault| matches!(fault.what, What::Says(Says::Null));
        // Besu says it of a block that it has not reached.
        let besu = |(node, _): &(Profile, _)| node.dialect == Dialect::Besu;
        promises.nulls = faults(scenario).any(null) || scenario.nodes.iter().any(besu);
        let flawless = flawless(scenario);
        let others: Vec<usize> = flawless.iter().copied().filter(is_lowest).collect();
        // Whoever calls seldom may find that nobody probes any more.
        let busy = scenario.load.every <= Duration::from_secs(30);
        if router.probes && busy {
            promises.probed.clone_from(&others);
        }
        promises.course = Some(Course {
            width: match router.strategy {
                Choice::Shuffle => 1,
                Choice::Adaptive
                | Choice::WeightedSum
                | Choice::RoundRobin
                | Choice::Random
                | Choice::Weighted
                | Choice::LeastLoaded => usize::from(router.race.max(1)),
            },
            copied_after: router.hedge,
            flawless,
            others,
            verify: router.verify,
        });
        promises.stand(scenario);
        if let Some(writing) = router.writes {
            promises.send(scenario, writing);
        }
        promises
    }

    /// The promises of a pool with these settings to its clients: what holds for any, and what it
    /// does with reads (P-1 to P-17).
    #[must_use]
    pub fn pooled(scenario: &Scenario, settings: &Settings) -> Self {
        Self {
            chain_id: settings.verify_chain_id.then_some(scenario.chain.chain_id),
            reading: Some(Reading::of(scenario, settings)),
            ..Self::of(scenario)
        }
    }

    /// What holds where raw transactions go by a policy. They are not counted and timed as reads are.
    fn send(&mut self, scenario: &Scenario, writing: Writing) {
        let router = &scenario.router;
        if writing.to != Writes::Once {
            self.once.retain(|method| method != RAW);
        }
        // "Already known" becomes the hash, which then nobody said.
        self.local.push(RAW.to_owned());
        let all = router.attempt.saturating_add(BEYOND);
        self.deadline = self.deadline.map(|deadline| deadline.max(all));
        self.course = None;
        self.most_requests = None;
        self.outages.clear();
        // A transaction is looked up at somebody who was not sent it, of whatever tier.
        self.reserve.clear();
        let seats = router.seats.iter().enumerate();
        let private = seats.filter(|(_, seat)| seat.private);
        self.sends = Some(Sends {
            private: private.map(|(node, _)| node).collect(),
            secret: writing.private,
            patient: scenario.load.timeout > all,
        });
    }
}

fn faults(scenario: &Scenario) -> impl Iterator<Item = &Fault> {
    scenario.nodes.iter().flat_map(|(node, _)| &node.faults)
}

fn exempt(scenario: &Scenario) -> BTreeSet<Breach> {
    let mut exempt = BTreeSet::new();
    let sees = |fault: &Fault| matches!(fault.what, What::Sees(_));
    let clamps = scenario
        .nodes
        .iter()
        .any(|(node, _)| node.dialect.clamps_logs());
    if clamps && faults(scenario).any(sees) {
        // A range past its head is answered with what there is, as if there were no more.
        exempt.extend([Breach::LogsMissing, Breach::WrongHeight]);
    }
    for fault in faults(scenario) {
        match &fault.what {
            What::Sees(
                Sees::Lag(_)
                | Sees::Stuck
                | Sees::Delayed(_)
                | Sees::Backwards { .. }
                | Sees::Ahead(_),
            )
            | What::Says(Says::Older(_)) => {
                exempt.extend([
                    Breach::WentBack,
                    Breach::TooStale,
                    Breach::ReceiptVanished,
                    // On a fork that the network left since.
                    Breach::Orphaned,
                ]);
                if !scenario.chain.forks.is_empty() {
                    exempt.insert(Breach::LogsMissing);
                }
            }
            What::Sees(Sees::Strayed(_)) => exempt.extend([
                Breach::WentBack,
                Breach::TooStale,
                Breach::ReceiptVanished,
                Breach::Orphaned,
                Breach::LogsMissing,
            ]),
            What::Sees(Sees::ShortLogs(_)) => exempt.extend([Breach::LogsMissing]),
            What::Sees(Sees::PrunedBlocks(_) | Sees::LateReceipts(_)) | What::Says(Says::Null) => {
                exempt.extend([Breach::ReceiptVanished]);
            }
            What::Sees(
                Sees::WrongChain(_)
                | Sees::PrunedState(_)
                | Sees::NoTags
                | Sees::LogLimit { .. }
                | Sees::NoMethod
                | Sees::Forgets,
            )
            | What::Says(
                Says::Error { .. }
                | Says::WrongId
                | Says::StringId
                | Says::MissingId
                | Says::Twice
                | Says::Omitted
                | Says::Both
                | Says::Neither
                | Says::LostSend,
            )
            | What::Carries(_) => {}
        }
    }
    exempt
}

/// Attempts, of which a race is one, and one more for a higher tier.
fn most_requests(router: &Routing) -> Option<u64> {
    match router.retries {
        Retries::Times(times) => {
            let attempts = u64::from(times) + u64::from(router.race.max(1));
            let tiers: BTreeSet<u8> = router.seats.iter().map(|seat| seat.tier).collect();
            let step = u64::from(tiers.len() > 1);
            Some(attempts + step)
        }
        Retries::Deadline => None,
    }
}

/// Whether a request that this fault strikes comes to nothing, whatever it asks.
pub(super) fn is_fatal(fault: &Fault) -> bool {
    let all = fault.share >= 1.0 && fault.methods.is_empty();
    all && match &fault.what {
        What::Carries(
            Carries::Hang | Carries::Close | Carries::Reset | Carries::InvalidJson | Carries::Down,
        )
        | What::Says(Says::Neither | Says::WrongId | Says::Both) => true,
        What::Carries(Carries::Page { status, .. }) => *status >= 500,
        What::Carries(_) | What::Says(_) | What::Sees(_) => false,
    }
}

/// The time in which every node fails, less the time that it takes to notice.
fn outages(scenario: &Scenario) -> Vec<Outage> {
    let out = |profile: &Profile| {
        let fatal = profile.faults.iter().filter(|fault| is_fatal(fault));
        let times = fatal.map(|fault| (fault.from, fault.until.unwrap_or(Duration::MAX)));
        times.max_by_key(|(from, until)| until.saturating_sub(*from))
    };
    let times: Option<Vec<_>> = scenario.nodes.iter().map(|(node, _)| out(node)).collect();
    let Some(times) = times else {
        return Vec::new();
    };
    let from = times
        .iter()
        .map(|(from, _)| *from)
        .max()
        .unwrap_or_default();
    let until = times.iter().map(|(_, until)| *until).min();
    let until = until.unwrap_or_default().min(scenario.duration);
    let from = from
        .saturating_add(GRACE)
        .saturating_add(scenario.router.attempt);
    if from >= until {
        return Vec::new();
    }
    let nodes = scenario.nodes.len() as f64;
    let seconds = until.saturating_sub(from).as_secs_f64();
    vec![Outage {
        during: from..until,
        first: u64::from(scenario.router.race.max(1)),
        share: 0.1,
        per_second: 10.0,
        // Probes of closed circuits every 4 s, a trial and a chain check after each ejection of 5 s.
        trials: nodes * (seconds * (1.0 / 3.6 + 2.0 / 5.0) + 3.0),
    }]
}

/// Whether the tier above the lowest one is steady throughout: with all attempts spent below it, one
/// more goes there.
fn is_next_tier(router: &Routing, steady: &[usize]) -> bool {
    let tiers: BTreeSet<u8> = router.seats.iter().map(|seat| seat.tier).collect();
    let next = tiers.iter().nth(1);
    let mut of_next = (0..)
        .zip(&router.seats)
        .filter(|(_, seat)| Some(&seat.tier) == next);
    next.is_some() && of_next.all(|(node, _)| steady.contains(&node))
}

/// The longest time that an answer takes.
pub(super) fn longest(profile: &Profile) -> Duration {
    match profile.latency {
        Latency::Constant(time) => time,
        Latency::Bimodal { fast, slow, .. } => fast.max(slow),
        // Nobody draws six deviations in a few thousand requests.
        Latency::LogNormal { median, sigma } => median.mul_f64((6.0 * sigma).exp()),
    }
}

/// The nodes without any fault or limit that answer well within the time of an attempt.
fn flawless(scenario: &Scenario) -> Vec<usize> {
    let nodes = scenario.nodes.iter().enumerate();
    let sends = scenario.load.asks.contains(&Ask::Send);
    let flawless = nodes.filter(|(_, (node, budget))| {
        let prompt = longest(node) * 2 <= scenario.router.attempt;
        // A send may take as long as a block.
        let waits = sends && node.dialect.sends_into_a_block();
        node.faults.is_empty() && budget.is_none() && prompt && !waits
    });
    flawless.map(|(index, _)| index).collect()
}

/// The flawless nodes, where the router has time and attempts enough to come to one of them whatever
/// the others do.
fn steady(scenario: &Scenario) -> Vec<usize> {
    let router = &scenario.router;
    // Without heads, "invalid params" from a node that is behind reads as the chain's answer.
    let behind = |fault: &Fault| {
        matches!(
            fault.what,
            What::Sees(Sees::Lag(_) | Sees::Stuck | Sees::Delayed(_) | Sees::Backwards { .. })
        )
    };
    if !router.heads && faults(scenario).any(behind) {
        return Vec::new();
    }
    let steady = flawless(scenario);
    let times = steady.iter().map(|node| longest(&scenario.nodes[*node].0));
    let longest = times.max().unwrap_or_default();
    let others = scenario.nodes.len() - steady.len();
    let attempts = match router.retries {
        Retries::Times(times) => {
            scenario.nodes.len() <= usize::from(times) + 1 || is_next_tier(router, &steady)
        }
        Retries::Deadline => true,
    };
    // Each of the others costs a chain check and an attempt.
    let others = u32::try_from(others).unwrap_or(u32::MAX);
    let needed = router.attempt.saturating_mul(2 * others) + longest * 2;
    let time = needed <= router.deadline.min(scenario.load.timeout);
    if attempts && time { steady } else { Vec::new() }
}
