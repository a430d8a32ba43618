//! Chain ids: checks and quarantine.

use super::{Identity, Router};
use crate::{
    ChainId, EndpointId, Now,
    breaker::Fault,
    classify::Verdict,
    event::Event,
};
use std::time::Duration;

impl Router {
    /// What is known about an endpoint's chain.
    #[must_use]
    pub fn identity(&self, endpoint: EndpointId) -> Identity {
        self.endpoints
            .get(endpoint.index())
            .map_or(Identity::Unchecked, |e| e.identity)
    }

    /// Whether its chain must be asked before its next call.
    #[must_use]
    pub fn needs_check(&self, endpoint: EndpointId) -> bool {
        self.endpoints
            .get(endpoint.index())
            .is_some_and(|e| match e.identity {
                Identity::Unchecked => true,
                Identity::Verified => e.check.is_due(),
                Identity::Quarantined { .. } => false,
            })
    }

    /// Endpoints on another chain.
    pub fn quarantined(&self) -> impl Iterator<Item = EndpointId> {
        let is = |id: &EndpointId| matches!(self.identity(*id), Identity::Quarantined { .. });
        self.ids().filter(is)
    }

    /// Records the id that an endpoint answered to its check. A quarantine is never lifted
    /// by a later answer; `0` is "not ready", never a wrong id.
    pub fn on_chain_id(&mut self, endpoint: EndpointId, found: ChainId) -> Identity {
        if found.0 != 0 && self.expected.is_none() {
            self.expected = Some(found);
        }
        let expected = self.expected;
        let Some(known) = self.endpoints.get_mut(endpoint.index()) else {
            return Identity::Unchecked;
        };
        let before = known.identity;
        if let (Identity::Unchecked | Identity::Verified, true) = (before, found.0 != 0) {
            known.identity = if expected == Some(found) {
                known.check.passed();
                Identity::Verified
            } else {
                Identity::Quarantined { found }
            };
        }
        let after = known.identity;
        if before != after && matches!(after, Identity::Quarantined { .. }) {
            self.events.push(|| Event::Quarantine { endpoint, found });
        }
        after
    }

    /// A check told nothing: it counts toward the breaker, and the next call asks again.
    pub fn on_check_failed(&mut self, endpoint: EndpointId, verdict: &Verdict, now: Now) {
        let Some(known) = self.endpoints.get_mut(endpoint.index()) else {
            return;
        };
        known.counters.fail(verdict.class);
        let Some(fault) = Fault::of(verdict) else {
            return;
        };
        let change = known.circuit.on_probe_fault(&fault, now.mono);
        self.tell_change(endpoint, change);
    }

    /// The next call asks its chain again: its connection was made anew.
    pub fn on_reconnected(&mut self, endpoint: EndpointId) {
        if let Some(known) = self.endpoints.get_mut(endpoint.index()) {
            known.check.invalidate();
        }
    }

    /// A check beside the calls is worth starting: none was within this time.
    pub(crate) fn may_warm(&mut self, endpoint: EndpointId, timeout: Duration, now: Now) -> bool {
        let needs = self.needs_check(endpoint);
        let Some(known) = self.endpoints.get_mut(endpoint.index()) else {
            return false;
        };
        if !needs || known.warm_until.is_some_and(|until| now.mono < until) {
            return false;
        }
        known.warm_until = now.mono.checked_add(timeout);
        true
    }
}
