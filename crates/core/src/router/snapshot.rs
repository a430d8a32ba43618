//! Everything known of an endpoint, to be shown (R-25, P-28).

use super::{Counters, Identity, Router};
use crate::{
    EndpointId, Now,
    breaker::CircuitView,
    bucket::{Account, AccountView},
    call::Plan,
    learn::Size,
    method::Descriptor,
};
use std::{sync::Arc, time::Duration};

/// What is known of one endpoint at one moment. Names nothing that is secret.
#[derive(Clone, Debug, PartialEq)]
pub struct EndpointView {
    /// Which.
    pub endpoint: EndpointId,
    /// Its tier.
    pub tier: u8,
    /// Its weight.
    pub weight: f64,
    /// Price of a compute unit, where it is stated.
    pub price: Option<f64>,
    /// What is known of its chain.
    pub identity: Identity,
    /// Its circuits: state, streaks, cooldown left, reason.
    pub circuit: CircuitView,
    /// Requests under way.
    pub in_flight: u32,
    /// Operations that are pinned to it (L-5).
    pub operations: u32,
    /// Whole tokens left; `None`: no limit.
    pub tokens: Option<u64>,
    /// The budget that its requests spend.
    pub account: AccountView,
    /// Its head while that is fresh.
    pub head: Option<u64>,
    /// Blocks by which it lags past what is allowed; `None`: not at all, or unknown.
    pub excess_lag: Option<u64>,
    /// Latency over all methods, in milliseconds; `None` while nothing was measured.
    pub latency_ms: Option<f64>,
    /// The same, of the slow ones.
    pub tail_ms: Option<f64>,
    /// Share of failures, recent ones counting more: 0 to 1.
    pub error: f64,
    /// How many requests ended how.
    pub counters: Counters,
    /// Most blocks of one `eth_getLogs`, declared or learned.
    pub max_log_range: Option<u64>,
}

impl Router {
    /// What is known of every endpoint now.
    pub fn views(&mut self, now: Now) -> Vec<EndpointView> {
        let views = self.ids().map(|endpoint| {
            let (head, excess_lag) = match &self.heads {
                Some(heads) => (
                    heads.head(endpoint, now.mono),
                    heads.excess_lag(endpoint, now.mono),
                ),
                None => (None, None),
            };
            let known = &mut self.endpoints[endpoint.index()];
            let global = known.books.global();
            let account = known.profile.account.view(now);
            EndpointView {
                endpoint,
                tier: known.profile.tier,
                weight: known.profile.weight,
                price: known.profile.price,
                identity: known.check.identity(),
                circuit: known.circuit.view(now.mono),
                in_flight: known.in_flight.count(now.mono),
                operations: known.operations.active,
                tokens: account.tokens,
                account,
                head,
                excess_lag,
                latency_ms: global.latency_ms(),
                tail_ms: global.tail_ms(),
                error: global.error(),
                counters: known.counters.clone(),
                max_log_range: known.learned.largest(Size::LogRange, now.mono),
            }
        });
        views.collect()
    }

    /// The budget that an endpoint's requests spend.
    #[must_use]
    pub fn account(&self, endpoint: EndpointId) -> Option<&Arc<Account>> {
        let known = self.endpoints.get(endpoint.index())?;
        Some(&known.profile.account)
    }

    /// A plan to ask [`Router::explain`] about: a call of this method now.
    #[must_use]
    pub fn plan_for(&self, row: &'static Descriptor, method: &str, now: Now) -> Plan {
        let deadline = now.mono.checked_add(Duration::from_secs(1));
        let mut plan = Plan::new(
            row,
            method,
            deadline.unwrap_or(now.mono),
            Duration::from_secs(1),
        );
        plan.allowed = self.allowed(method);
        plan
    }
}
