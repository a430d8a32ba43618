//! What is known of a pool at one moment (R-25, P-28).

use crate::{EndpointName, event::method_name, inner::State};
use highwater_core::{
    ChainId, EndpointId, Now,
    breaker::CircuitView,
    bucket::AccountView,
    heads::HeadView,
    router::{EndpointView, Identity},
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// What is known of a pool at one moment. It never changes, and names nothing that is secret.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The chain, once known.
    pub chain: Option<ChainId>,
    /// The head that the pool believes; `None` while none is known or heads are off.
    pub reference_head: Option<u64>,
    /// The chain's block time, measured or as configured.
    pub block_time: Option<Duration>,
    /// Blocks behind the reference head that cost nothing, at the chain's pace.
    pub max_lag: Option<u64>,
    /// The endpoints in order.
    pub endpoints: Vec<EndpointSnapshot>,
}

/// What is known of one endpoint. Names it by label and host only.
#[derive(Clone, Debug)]
pub struct EndpointSnapshot {
    /// The label.
    pub label: String,
    /// The bare host name; empty for a transport of the caller's own.
    pub host: String,
    /// Its tier.
    pub tier: u8,
    /// Its weight.
    pub weight: f64,
    /// Price of a compute unit, where it is stated.
    pub price: Option<f64>,
    /// What is known of its chain.
    pub identity: Identity,
    /// Its circuits: state, streaks, cooldown left, reason; the methods that are off.
    pub circuit: CircuitView,
    /// Requests of calls under way.
    pub in_flight: u32,
    /// Operations that are pinned to it (L-5).
    pub operations: u32,
    /// Whole tokens left; `None`: no limit.
    pub tokens: Option<u64>,
    /// The budget that its requests spend, with what was spent of it.
    pub account: AccountView,
    /// What is known of its head; `None` where heads are off.
    pub head: Option<HeadView>,
    /// Blocks by which it lags past what is allowed; `None`: not at all, or unknown.
    pub excess_lag: Option<u64>,
    /// Latency over all methods, in milliseconds; `None` while nothing was measured.
    pub latency_ms: Option<f64>,
    /// The same, of the slow ones.
    pub tail_ms: Option<f64>,
    /// Share of failures, recent ones counting more: 0 to 1.
    pub error: f64,
    /// Most blocks of one `eth_getLogs`, declared or learned.
    pub max_log_range: Option<u64>,
    /// How many requests ended how.
    pub counters: Counters,
}

/// How many requests of one endpoint ended how, since it is in the pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Requests that went there, chain checks and probes included.
    pub sent: u64,
    /// Good answers, errors of the chain included.
    pub good: u64,
    /// Failures by class.
    pub failed: BTreeMap<&'static str, u64>,
    /// Attempts that were given up and say nothing about the endpoint.
    pub cancelled: u64,
    /// Compute units of the requests that went there, as the method table weighs their methods.
    pub units: u64,
    /// The same by method, as the method table names them.
    pub methods: BTreeMap<&'static str, MethodCounters>,
}

/// How many requests about one method ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MethodCounters {
    /// Requests that went there.
    pub sent: u64,
    /// Good answers, errors of the chain included.
    pub good: u64,
    /// Failures.
    pub failed: u64,
}

impl Counters {
    fn named(counters: highwater_core::router::Counters) -> Self {
        let units = counters.methods.iter().map(|count| {
            let row = count.method.descriptor();
            count
                .sent
                .saturating_mul(row.map_or(0, |row| row.weight.into()))
        });
        let units = units.sum();
        let methods = counters.methods.into_iter().map(|count| {
            let own = MethodCounters {
                sent: count.sent,
                good: count.good,
                failed: count.failed,
            };
            (method_name(count.method), own)
        });
        Self {
            sent: counters.sent,
            good: counters.good,
            failed: counters.failed,
            cancelled: counters.cancelled,
            units,
            methods: methods.collect(),
        }
    }
}

impl State {
    /// The name of the endpoint at a place.
    pub(crate) fn name(&self, endpoint: EndpointId) -> EndpointName {
        let node = self.nodes.get(endpoint.index());
        EndpointName {
            chain: self.router.chain(),
            number: endpoint.index(),
            label: node.map_or_else(|| "".into(), |node| Arc::clone(&node.label)),
            host: node.map_or_else(|| "".into(), |node| Arc::clone(&node.host)),
        }
    }

    pub(crate) fn snapshot(&mut self, now: Now) -> Snapshot {
        let heads = self.router.heads_view(now);
        let views = self.router.views(now);
        let head = |view: &EndpointView| {
            let heads = &heads.as_ref()?.endpoints;
            heads.get(view.endpoint.index()).copied()
        };
        let endpoints = views.into_iter().zip(&*self.nodes).map(|(view, node)| {
            let head = head(&view);
            EndpointSnapshot {
                label: node.label.to_string(),
                host: node.host.to_string(),
                tier: view.tier,
                weight: view.weight,
                price: view.price,
                identity: view.identity,
                circuit: view.circuit,
                in_flight: view.in_flight,
                operations: view.operations,
                tokens: view.tokens,
                account: view.account,
                head,
                excess_lag: view.excess_lag,
                latency_ms: view.latency_ms,
                tail_ms: view.tail_ms,
                error: view.error,
                max_log_range: view.max_log_range,
                counters: Counters::named(view.counters),
            }
        });
        Snapshot {
            endpoints: endpoints.collect(),
            chain: self.router.chain(),
            reference_head: heads.as_ref().and_then(|heads| heads.reference),
            block_time: heads.as_ref().and_then(|heads| heads.block_time),
            max_lag: heads.as_ref().map(|heads| heads.max_lag),
        }
    }
}
