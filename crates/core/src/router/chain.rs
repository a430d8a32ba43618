//! Chain ids: checks and quarantine.

use super::{Identity, Router};
use crate::{
    ChainId, EndpointId, Now,
    breaker::Meaning,
    classify::{Class, Verdict},
    event::Event,
    identity::Check,
    method::lookup,
};
use std::time::Duration;

/// A check that was begun so lately may still be answered.
const LATELY: Duration = Duration::from_millis(500);

impl Router {
    /// What is known about an endpoint's chain.
    #[must_use]
    pub fn identity(&self, endpoint: EndpointId) -> Identity {
        self.endpoints
            .get(endpoint.index())
            .map_or(Identity::Unchecked, |e| e.check.identity())
    }

    /// Whether its chain must be asked before its next call.
    #[must_use]
    pub fn needs_check(&self, endpoint: EndpointId) -> bool {
        self.endpoints
            .get(endpoint.index())
            .is_some_and(|e| e.check.needs_check())
    }

    /// Endpoints on another chain.
    pub fn quarantined(&self) -> impl Iterator<Item = EndpointId> {
        let is = |id: &EndpointId| matches!(self.identity(*id), Identity::Quarantined { .. });
        self.ids().filter(is)
    }

    /// A check is sent: it spends a token. `None`: there is none, and nothing is sent.
    pub fn begin_check(&mut self, endpoint: EndpointId, now: Now) -> Option<Check> {
        let row = lookup("eth_chainId");
        if !self.begin_aside(endpoint, row, now) {
            return None;
        }
        let known = self.endpoints.get_mut(endpoint.index())?;
        known.check_began = Some(now.mono);
        Some(known.check.begin())
    }

    /// Records the id that an endpoint answered to its check. A quarantine is never lifted
    /// by a later answer; `0` is "not ready", never a wrong id.
    pub fn on_chain_id(&mut self, endpoint: EndpointId, check: Check, found: ChainId) -> Identity {
        let Some(known) = self.endpoints.get_mut(endpoint.index()) else {
            return Identity::Unchecked;
        };
        let before = known.check.identity();
        let after = known.check.on_answer(check, &mut self.expected, found);
        known.counters.good(lookup("eth_chainId").id);
        if before != after {
            self.operations.change();
        }
        if before != after && matches!(after, Identity::Quarantined { .. }) {
            self.events.push(|| Event::Quarantine { endpoint, found });
        }
        after
    }

    /// A check told nothing: it counts toward the breaker, and the next call asks again.
    pub fn on_check_failed(
        &mut self,
        endpoint: EndpointId,
        verdict: &Verdict,
        meaning: Meaning,
        now: Now,
    ) {
        let Some(known) = self.endpoints.get_mut(endpoint.index()) else {
            return;
        };
        known.counters.fail(lookup("eth_chainId").id, verdict.class);
        if verdict.class == Class::RateLimited {
            known.profile.account.on_rate_limited(now.mono, now.mono);
        }
        self.on_aside_failed(endpoint, meaning, now);
    }

    /// Its connection was made anew: the next call asks its chain again, and what it said of
    /// itself may be another node's. A transport without connections of its own, as HTTP is, need not
    /// tell: there an endpoint that could not be reached counts as one, and its failed requests say
    /// so themselves.
    pub fn on_reconnected(&mut self, endpoint: EndpointId) {
        if let Some(known) = self.endpoints.get_mut(endpoint.index()) {
            known.unreachable();
            known.learned.on_reconnected();
        }
    }

    /// Whether a check of its chain could be started now, or was lately: its answer may come soon.
    pub(crate) fn is_worth_a_check(&self, endpoint: EndpointId, now: Now) -> bool {
        self.endpoints.get(endpoint.index()).is_some_and(|known| {
            let began = known.check_began;
            let lately = began.is_some_and(|at| now.mono.saturating_duration_since(at) < LATELY);
            lately || !known.is_warming(now.mono)
        })
    }

    /// A check beside the calls, or a look at the head, is worth starting: none was within this time.
    pub(crate) fn may_warm(&mut self, endpoint: EndpointId, timeout: Duration, now: Now) -> bool {
        let needs = self.needs_check(endpoint) || self.wants_head(endpoint, now);
        let Some(known) = self.endpoints.get_mut(endpoint.index()) else {
            return false;
        };
        if !needs || known.is_warming(now.mono) {
            return false;
        }
        known.warm_until = now.mono.checked_add(timeout);
        true
    }
}
