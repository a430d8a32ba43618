//! How the endpoints of a chain stand, as JSON (R-25, P-28). Labels and hosts, never a URL.

use highwater::{EndpointSnapshot, MethodCounters, Snapshot};
use highwater_core::{
    breaker::{GateView, MethodReason, Stand},
    bucket::AccountView,
    method::Lane,
    router::Identity,
};
use serde::Serialize;
use std::{collections::BTreeMap, time::Duration};

/// What the health details show of each endpoint.
pub(super) fn health(snapshot: &Snapshot) -> Vec<EndpointHealth> {
    let health = |endpoint: &EndpointSnapshot| EndpointHealth {
        label: endpoint.label.clone(),
        host: endpoint.host.clone(),
        check: Check::of(endpoint.identity),
        gate: Gate::of(&endpoint.circuit.endpoint),
        tokens: endpoint.tokens,
        head: head(endpoint),
        lag: lag(endpoint, snapshot),
    };
    snapshot.endpoints.iter().map(health).collect()
}

/// Everything about each endpoint.
pub(super) fn endpoints(snapshot: &Snapshot) -> Vec<EndpointDetails> {
    let details = |endpoint| details(endpoint, snapshot);
    snapshot.endpoints.iter().map(details).collect()
}

fn details(endpoint: &EndpointSnapshot, snapshot: &Snapshot) -> EndpointDetails {
    let whole = &endpoint.circuit.endpoint;
    let lanes = endpoint.circuit.lanes.iter();
    let lanes = lanes.filter(|(_, gate)| gate != whole);
    let methods = endpoint.circuit.methods.iter();
    EndpointDetails {
        label: endpoint.label.clone(),
        host: endpoint.host.clone(),
        tier: endpoint.tier,
        weight: endpoint.weight,
        check: Check::of(endpoint.identity),
        gate: Gate::of(whole),
        strikes: whole.strikes,
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
            })
            .collect(),
        in_flight: endpoint.in_flight,
        account: AccountDetails::of(&endpoint.account),
        tokens: endpoint.tokens,
        head: head(endpoint),
        head_age_ms: endpoint.head.and_then(|head| head.age).map(millis),
        lag: lag(endpoint, snapshot),
        excess_lag: endpoint.excess_lag,
        latency_ms: endpoint.latency_ms,
        tail_ms: endpoint.tail_ms,
        error_rate: endpoint.error,
        requests: Requests {
            sent: endpoint.counters.sent,
            good: endpoint.counters.good,
            cancelled: endpoint.counters.cancelled,
            failed: endpoint.counters.failed.clone(),
            methods: endpoint
                .counters
                .methods
                .iter()
                .map(|(method, count)| (*method, MethodRequests::of(count)))
                .collect(),
        },
        max_log_range: endpoint.max_log_range,
    }
}

/// The last height that was read, however old.
fn head(endpoint: &EndpointSnapshot) -> Option<u64> {
    endpoint.head?.height
}

/// Blocks between an endpoint's head and the one that the pool believes.
fn lag(endpoint: &EndpointSnapshot, snapshot: &Snapshot) -> Option<u64> {
    Some(snapshot.reference_head?.saturating_sub(head(endpoint)?))
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
    account: AccountDetails,
    tokens: Option<u64>,
    head: Option<u64>,
    head_age_ms: Option<u64>,
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
}

#[derive(Serialize)]
struct Requests {
    sent: u64,
    good: u64,
    cancelled: u64,
    /// By class.
    failed: BTreeMap<&'static str, u64>,
    methods: BTreeMap<&'static str, MethodRequests>,
}

#[derive(Serialize)]
struct MethodRequests {
    sent: u64,
    good: u64,
    failed: u64,
}

impl MethodRequests {
    const fn of(count: &MethodCounters) -> Self {
        Self {
            sent: count.sent,
            good: count.good,
            failed: count.failed,
        }
    }
}

/// Whose budget it spends, and what is left of it.
#[derive(Serialize)]
struct AccountDetails {
    /// None: the endpoint's own.
    name: Option<String>,
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
            name: Some(account.name.clone()).filter(|name| !name.is_empty()),
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

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
