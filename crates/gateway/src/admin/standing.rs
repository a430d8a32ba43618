//! How the endpoints of a chain stand, as JSON (R-25, P-28). Labels and hosts, never a URL.

use crate::state::Chain;
use highwater_core::{
    EndpointId, Now,
    breaker::{GateView, MethodReason, Stand},
    bucket::AccountView,
    method::Lane,
    router::{EndpointView, Identity},
};
use serde::Serialize;
use std::{collections::BTreeMap, time::Duration};

/// What is known of a chain at one moment.
pub(super) struct Standing {
    pub(super) names: Vec<Name>,
    pub(super) reference: Option<u64>,
    views: Vec<EndpointView>,
    accounts: Vec<AccountView>,
    now: Now,
}

/// The only names under which an endpoint is shown.
#[derive(Clone)]
pub(super) struct Name {
    pub(super) label: String,
    pub(super) host: String,
}

impl Standing {
    pub(super) fn of(chain: &Chain) -> Self {
        let (views, reference, now) = chain
            .pool
            .with_router(|router, now| (router.views(now), router.reference_head(now), now));
        Self {
            names: names(chain),
            reference,
            views,
            accounts: chain.accounts.iter().map(|one| one.view(now)).collect(),
            now,
        }
    }

    fn named(&self) -> impl Iterator<Item = (Name, &EndpointView)> {
        let name = |view: &EndpointView| name(&self.names, view.endpoint);
        self.views.iter().map(move |view| (name(view), view))
    }

    /// What the health details show of each endpoint.
    pub(super) fn health(&self) -> Vec<EndpointHealth> {
        let health = |(name, view): (Name, &EndpointView)| EndpointHealth {
            label: name.label,
            host: name.host,
            check: Check::of(view.identity),
            gate: Gate::of(&view.circuit.endpoint),
            tokens: view.tokens,
            head: view.head,
            lag: lag(view, self.reference),
        };
        self.named().map(health).collect()
    }

    /// Everything about each endpoint.
    pub(super) fn endpoints(&self) -> Vec<EndpointDetails> {
        let details = |(name, view): (Name, &EndpointView)| self.details(name, view);
        self.named().map(details).collect()
    }

    fn details(&self, name: Name, view: &EndpointView) -> EndpointDetails {
        let endpoint = &view.circuit.endpoint;
        let lanes = view.circuit.lanes.iter();
        let lanes = lanes.filter(|(_, gate)| gate != endpoint);
        let methods = view.circuit.methods.iter();
        EndpointDetails {
            label: name.label,
            host: name.host,
            tier: view.tier,
            weight: view.weight,
            check: Check::of(view.identity),
            gate: Gate::of(endpoint),
            strikes: endpoint.strikes,
            lanes: lanes
                .map(|(lane, gate)| LaneGate {
                    lane: lane_name(*lane),
                    strikes: gate.strikes,
                    gate: Gate::of(gate),
                })
                .collect(),
            methods_off: methods
                .map(|off| MethodOff {
                    method: off.method.row().descriptor().map_or("*", |row| row.name),
                    reason: method_reason(off.reason),
                    left_ms: millis(off.until.saturating_duration_since(self.now.mono)),
                })
                .collect(),
            in_flight: view.in_flight,
            account: self
                .accounts
                .get(view.endpoint.index())
                .map(AccountDetails::of),
            tokens: view.tokens,
            head: view.head,
            lag: lag(view, self.reference),
            excess_lag: view.excess_lag,
            latency_ms: view.latency_ms,
            tail_ms: view.tail_ms,
            error_rate: view.error,
            requests: Requests {
                sent: view.counters.sent,
                good: view.counters.good,
                cancelled: view.counters.cancelled,
                failed: view.counters.failed.clone(),
            },
            max_log_range: view.max_log_range,
        }
    }
}

/// The names of a chain's endpoints, in order.
pub(super) fn names(chain: &Chain) -> Vec<Name> {
    let endpoints = chain.pool.snapshot().endpoints.into_iter();
    let name = |endpoint: highwater::EndpointSnapshot| Name {
        label: endpoint.label,
        host: endpoint.host,
    };
    endpoints.map(name).collect()
}

/// The name of one endpoint.
pub(super) fn name(names: &[Name], endpoint: EndpointId) -> Name {
    names.get(endpoint.index()).cloned().unwrap_or(Name {
        label: String::new(),
        host: String::new(),
    })
}

/// Blocks between an endpoint's head and the one that the pool believes.
fn lag(view: &EndpointView, reference: Option<u64>) -> Option<u64> {
    Some(reference?.saturating_sub(view.head?))
}

#[derive(Serialize)]
pub(super) struct EndpointHealth {
    label: String,
    host: String,
    #[serde(flatten)]
    check: Check,
    #[serde(flatten)]
    gate: Gate,
    tokens: Option<u64>,
    head: Option<u64>,
    lag: Option<u64>,
}

#[derive(Serialize)]
pub(super) struct EndpointDetails {
    label: String,
    host: String,
    tier: u8,
    weight: f64,
    #[serde(flatten)]
    check: Check,
    #[serde(flatten)]
    gate: Gate,
    strikes: u32,
    lanes: Vec<LaneGate>,
    methods_off: Vec<MethodOff>,
    in_flight: u32,
    account: Option<AccountDetails>,
    tokens: Option<u64>,
    head: Option<u64>,
    lag: Option<u64>,
    excess_lag: Option<u64>,
    latency_ms: Option<f64>,
    tail_ms: Option<f64>,
    error_rate: f64,
    requests: Requests,
    max_log_range: Option<u64>,
}

/// What is known of its chain.
#[derive(Serialize)]
struct Check {
    chain_check: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    found_chain: Option<u64>,
}

impl Check {
    const fn of(identity: Identity) -> Self {
        let (chain_check, found_chain) = match identity {
            Identity::Unchecked => ("unchecked", None),
            Identity::Verified => ("verified", None),
            Identity::Quarantined { found } => ("wrong_chain", Some(found.0)),
        };
        Self {
            chain_check,
            found_chain,
        }
    }
}

/// A breaker.
#[derive(Serialize)]
struct Gate {
    breaker: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    cooldown_left_ms: u64,
    /// Share of its calls that it gets after it came back.
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<f64>,
}

impl Gate {
    fn of(gate: &GateView) -> Self {
        let (breaker, reason, share) = match gate.stand {
            Stand::Closed { share } => ("closed", None, Some(share).filter(|share| *share < 1.0)),
            Stand::HalfOpen => ("half_open", None, None),
            Stand::Trial => ("trial", None, None),
            Stand::Open { reason, .. } => ("open", Some(reason.name()), None),
            Stand::MethodOff { reason, .. } => ("method_off", Some(method_reason(reason)), None),
            Stand::Excluded { reason, .. } => ("excluded", Some(reason.name()), None),
        };
        Self {
            breaker,
            reason,
            cooldown_left_ms: millis(gate.left),
            share,
        }
    }
}

#[derive(Serialize)]
struct LaneGate {
    lane: &'static str,
    strikes: u32,
    #[serde(flatten)]
    gate: Gate,
}

#[derive(Serialize)]
struct MethodOff {
    method: &'static str,
    reason: &'static str,
    left_ms: u64,
}

#[derive(Serialize)]
struct Requests {
    sent: u64,
    good: u64,
    cancelled: u64,
    failed: BTreeMap<&'static str, u64>,
}

/// Whose budget it spends, and what is left of it.
#[derive(Serialize)]
struct AccountDetails {
    name: String,
    rps: Option<f64>,
    burst: Option<f64>,
    learned_rps: Option<f64>,
    spent: Vec<Spent>,
}

#[derive(Serialize)]
struct Spent {
    every: highwater_core::bucket::Every,
    units: u64,
    limit: Option<u64>,
}

impl AccountDetails {
    fn of(account: &AccountView) -> Self {
        let spent = account.spent.iter().map(|spent| Spent {
            every: spent.every,
            units: spent.units,
            limit: spent.limit,
        });
        Self {
            name: account.name.clone(),
            rps: account.rate.map(|rate| rate.rps),
            burst: account.rate.map(|rate| rate.burst),
            learned_rps: account.learned_rps,
            spent: spent.collect(),
        }
    }
}

const fn lane_name(lane: Lane) -> &'static str {
    match lane {
        Lane::Light => "light",
        Lane::State => "state",
        Lane::Range => "range",
        Lane::Trace => "trace",
        Lane::Write => "write",
        Lane::Stream => "stream",
        Lane::Denied => "denied",
    }
}

const fn method_reason(reason: MethodReason) -> &'static str {
    match reason {
        MethodReason::Unsupported => "unsupported",
        MethodReason::Blocked => "blocked",
        MethodReason::Range => "range",
        MethodReason::Subscriptions => "subscriptions",
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
