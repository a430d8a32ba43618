//! What endpoints deserve under a scenario: who is out, who is a reserve, who is worse than others.

use std::time::Duration;

use super::promises::{Promises, is_fatal, longest};
use super::{Dead, Pause, Return, Said, Share};
use crate::node::{Carries, Fault, Latency, Says, Sees, What};
use crate::scenario::{Ask, Choice, Scenario, Seat};

/// Time in which heads and latencies of all endpoints are known.
const KNOWN: Duration = Duration::from_secs(10);
/// How much slower than another an endpoint must be to be worse.
const SLOWER: u32 = 3;
/// Blocks by which an endpoint must lag to be worse, at any pace.
const LAG: u64 = 200;
/// What a worse endpoint may get all the same.
const LITTLE: f64 = 0.25;
/// Fewest reads of which a share says anything, and fewest of which a draw does.
const FEWEST: usize = 60;
const DRAWS: usize = 120;
/// Longest stated wait that is obeyed, in seconds.
const STATED: u64 = 60;
/// Time that an endpoint without quota is left alone at first.
const QUOTA: Duration = Duration::from_secs(120);
/// Time that a method is left alone where it is not known.
const METHOD: Duration = Duration::from_secs(3_600);
/// The longest ejection.
const LONGEST: Duration = Duration::from_secs(60);
/// Time after which an endpoint that is far behind is out, whenever its head was first read.
const DRIFTED: Duration = Duration::from_secs(90);
/// Primary selections of which one explores.
const EXPLORES: f64 = 20.0;
/// Longer than any scenario.
const EVER: Duration = Duration::from_secs(1 << 32);

impl Promises {
    /// Fills in what the steady endpoints make possible. They must be known.
    pub(super) fn stand(&mut self, scenario: &Scenario) {
        let router = &scenario.router;
        let patient = scenario.load.timeout >= router.deadline;
        // Whoever alone keeps filters is asked for them, out or not.
        let replaced = self
            .steady
            .iter()
            .any(|node| keeps_filters(scenario, *node));
        if router.breaker && replaced && router.hedge.is_none() && patient {
            self.dead = dead(scenario);
            self.pauses = pauses(scenario);
            self.returns = returns(scenario);
        }
        self.reserve = reserve(scenario, &self.steady);
        self.shares = shares(scenario, &self.steady);
    }
}

/// Whether an endpoint keeps filters, or nobody asks for one.
fn keeps_filters(scenario: &Scenario, node: usize) -> bool {
    let asked = scenario.load.asks.contains(&Ask::Filter);
    !asked || scenario.nodes[node].0.dialect.has_filters()
}

/// The endpoints that fail everything from some moment to the end.
fn dead(scenario: &Scenario) -> Vec<Dead> {
    let nodes = scenario.nodes.iter().enumerate();
    let dead = nodes.filter_map(|(node, (profile, budget))| {
        let mut faults = profile.faults.iter();
        // One fault only: another one may answer in its place.
        let (Some(fault), None, None) = (faults.next(), faults.next(), budget) else {
            return None;
        };
        let lasts = fault.until.is_none_or(|until| until >= scenario.duration);
        let end = fault.until.unwrap_or(Duration::MAX).min(scenario.duration);
        (is_fatal(fault) && lasts).then(|| Dead {
            node,
            during: fault.from..end,
            // Whatever was under way has failed, and its answers came.
            notice: scenario.router.attempt * 2 + longest(profile),
        })
    });
    dead.collect()
}

/// The endpoints of the lowest tier that fail everything for a time, and then nothing for so long
/// that they must be tried again.
fn returns(scenario: &Scenario) -> Vec<Return> {
    let seats = &scenario.router.seats;
    let lowest = seats.iter().map(|seat| seat.tier).min();
    let nodes = scenario.nodes.iter().enumerate();
    let returns = nodes.filter_map(|(node, (profile, budget))| {
        let ([fault], None) = (profile.faults.as_slice(), budget) else {
            return None;
        };
        let until = fault.until?;
        let long = until.saturating_add(LONGEST) < scenario.duration;
        let found = is_fatal(fault) && long && Some(seats[node].tier) == lowest;
        // It may have been thrown out anew by what was under way.
        let notice = scenario.router.attempt * 4 + longest(profile);
        found.then(|| Return {
            node,
            during: fault.from..until,
            tried: until.saturating_add(LONGEST).saturating_add(notice),
        })
    });
    returns.collect()
}

/// The endpoints that say for how long they are left alone.
fn pauses(scenario: &Scenario) -> Vec<Pause> {
    let nodes = scenario.nodes.iter().enumerate();
    let pauses = nodes.filter_map(|(node, (profile, _))| {
        let [fault] = profile.faults.as_slice() else {
            return None;
        };
        let (said, wait) = pause(fault)?;
        Some(Pause { node, said, wait })
    });
    pauses.collect()
}

fn pause(fault: &Fault) -> Option<(Said, Duration)> {
    // Zero asks for the default wait.
    let stated = |wait: &Option<u64>| {
        let wait = wait.filter(|wait| *wait > 0)?;
        Some(Duration::from_secs(wait.min(STATED)))
    };
    Some(match &fault.what {
        What::Carries(Carries::RateLimit { retry_after, .. }) => {
            (Said::Status(429), stated(retry_after)?)
        }
        What::Carries(Carries::Page {
            status,
            retry_after,
            ..
        }) if *status != 200 => (Said::Status(*status), stated(retry_after)?),
        What::Carries(Carries::Quota(_)) => (Said::Status(402), QUOTA),
        // In words, a refused credential is refused until somebody changes it.
        What::Says(Says::Error {
            status: 401,
            message,
            ..
        }) if message == "invalid API key" => (Said::Status(401), EVER),
        What::Sees(Sees::NoMethod) => match fault.methods.as_slice() {
            [method] if method.starts_with("eth_get") || method == "eth_call" => {
                (Said::Unknown(method.clone()), METHOD)
            }
            _ => return None,
        },
        What::Carries(_) | What::Says(_) | What::Sees(_) => return None,
    })
}

/// The endpoints above a lowest tier of which every endpoint is steady.
fn reserve(scenario: &Scenario, steady: &[usize]) -> Vec<usize> {
    let seats = &scenario.router.seats;
    let Some(lowest) = seats.iter().map(|seat| seat.tier).min() else {
        return Vec::new();
    };
    let in_lowest = |seat: &Seat| seat.tier == lowest;
    if !steady
        .iter()
        .any(|node| in_lowest(&seats[*node]) && keeps_filters(scenario, *node))
    {
        return Vec::new();
    }
    let mut nodes = seats.iter().enumerate();
    if nodes.any(|(node, seat)| in_lowest(seat) && !steady.contains(&node)) {
        return Vec::new();
    }
    let nodes = seats.iter().enumerate();
    let above = nodes.filter(|(_, seat)| !in_lowest(seat));
    above.map(|(node, _)| node).collect()
}

/// Shares of the reads at `latest`, where one endpoint is worse than another in one way, or all are as
/// good as each other.
fn shares(scenario: &Scenario, steady: &[usize]) -> Vec<Share> {
    let router = &scenario.router;
    let seats = &router.seats;
    let alike = |seat: &Seat| seat.tier == seats[0].tier && seat.group.is_none();
    let one = router.race < 2 && router.hedge.is_none();
    if !seats.iter().all(alike) || !one || scenario.duration < KNOWN * 2 {
        return Vec::new();
    }
    let even = seats.iter().all(|seat| (seat.weight - 1.0).abs() < 1e-9);
    match router.strategy {
        Choice::Weighted if all_serve(scenario) => by_weight(seats),
        // Whoever is far behind is out, whatever the strategy makes of it.
        Choice::RoundRobin | Choice::Random | Choice::Shuffle
            if drifts(scenario, steady).is_some() =>
        {
            let late = drifts(scenario, steady).into_iter();
            late.map(|node| share((node, DRIFTED), 0.0, LITTLE))
                .collect()
        }
        Choice::RoundRobin | Choice::Random | Choice::Shuffle if all_serve(scenario) => {
            let alike: Vec<_> = seats.iter().map(|_| 1.0).collect();
            by_share(&alike)
        }
        Choice::LeastLoaded if all_serve(scenario) => {
            let others = (seats.len() - 1).max(1) as f64;
            let nodes = 0..seats.len();
            nodes
                .map(|node| Share {
                    fewest: 400,
                    ..share((node, Duration::ZERO), 0.6 / EXPLORES / others, 1.0)
                })
                .collect()
        }
        Choice::Adaptive if even => worse(scenario, steady),
        Choice::Adaptive
        | Choice::Weighted
        | Choice::WeightedSum
        | Choice::RoundRobin
        | Choice::Random
        | Choice::LeastLoaded
        | Choice::Shuffle => Vec::new(),
    }
}

fn share((node, from): (usize, Duration), least: f64, most: f64) -> Share {
    Share {
        node,
        from,
        least,
        most,
        fewest: FEWEST,
    }
}

/// Whether every endpoint answers every read, be it that the call reverts.
fn all_serve(scenario: &Scenario) -> bool {
    scenario.nodes.iter().all(|(profile, budget)| {
        let revert = |fault: &Fault| matches!(fault.what, What::Says(Says::Error { code: 3, .. }));
        let swift = longest(profile) * 2 <= scenario.router.attempt;
        swift && budget.is_none() && profile.faults.iter().all(revert)
    })
}

/// The one endpoint that is far behind all the while and otherwise as good as the others, where they
/// are steady and time enough passes to see what becomes of it.
fn drifts(scenario: &Scenario, steady: &[usize]) -> Option<usize> {
    let router = &scenario.router;
    let seen = router.breaker && router.heads && router.probes;
    let mut late = (0..scenario.nodes.len()).filter(|node| !steady.contains(node));
    let (Some(node), None, true) = (late.next(), late.next(), seen && steady.len() >= 2) else {
        return None;
    };
    let (profile, budget) = &scenario.nodes[node];
    let [fault] = profile.faults.as_slice() else {
        return None;
    };
    let always = fault.from.is_zero() && fault.until.is_none() && budget.is_none();
    let far = matches!(fault.what, What::Sees(Sees::Lag(blocks)) if blocks >= LAG);
    (always && far && scenario.duration >= DRIFTED * 2).then_some(node)
}

fn worse(scenario: &Scenario, steady: &[usize]) -> Vec<Share> {
    let calls = scenario.load.clients as f64 / scenario.load.every.as_secs_f64();
    let constant = |node: &usize| match scenario.nodes[*node].0.latency {
        Latency::Constant(time) if time > Duration::ZERO => Some(time),
        Latency::Constant(_) | Latency::Bimodal { .. } | Latency::LogNormal { .. } => None,
    };
    let Some(best) = steady.iter().filter_map(constant).min() else {
        return Vec::new();
    };
    // Calls that overlap make the best one worse.
    if calls * best.as_secs_f64() > 0.3 {
        return Vec::new();
    }
    let nodes = 0..scenario.nodes.len();
    let worse = nodes.filter_map(|node| {
        let from = worse_from(scenario, steady, node, best)?;
        Some(share((node, from.saturating_add(KNOWN)), 0.0, LITTLE))
    });
    worse.collect()
}

fn by_weight(seats: &[Seat]) -> Vec<Share> {
    let weights: Vec<f64> = seats.iter().map(|seat| seat.weight).collect();
    by_share(&weights)
}

fn by_share(weights: &[f64]) -> Vec<Share> {
    let all: f64 = weights.iter().sum();
    let shares = weights.iter().enumerate().map(|(node, weight)| {
        let due = weight / all;
        // Five deviations of the fewest draws.
        let slack = 5.0 * (due * (1.0 - due) / DRAWS as f64).sqrt();
        Share {
            fewest: DRAWS,
            ..share((node, Duration::ZERO), due - slack, due + slack)
        }
    });
    shares.collect()
}

/// From when on an endpoint is worse than the best steady one, in one way and no other.
fn worse_from(
    scenario: &Scenario,
    steady: &[usize],
    node: usize,
    best: Duration,
) -> Option<Duration> {
    let (profile, _) = &scenario.nodes[node];
    let Latency::Constant(time) = profile.latency else {
        return None;
    };
    let slower = time >= best * SLOWER;
    let router = &scenario.router;
    let fault = match profile.faults.as_slice() {
        [] => return slower.then_some(Duration::ZERO),
        [fault] if fault.until.is_none() && time >= best => fault,
        _ => return None,
    };
    let from_the_beginning = fault.from.is_zero();
    let heads = router.heads && router.probes && steady.len() >= 2 && from_the_beginning;
    let worse = match &fault.what {
        What::Sees(Sees::Lag(blocks)) => heads && *blocks >= LAG,
        What::Sees(Sees::Ahead(_)) => heads && slower,
        // "internal error" and its kin.
        What::Says(Says::Error { code: -32603, .. }) => {
            (0.3..1.0).contains(&fault.share) && fault.methods.is_empty()
        }
        What::Sees(_) | What::Says(_) | What::Carries(_) => false,
    };
    worse.then_some(fault.from)
}
