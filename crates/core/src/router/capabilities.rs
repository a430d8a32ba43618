//! What endpoints say of themselves with `eth_capabilities` (semantics §7 row 4).

use super::{Identity, Router};
use crate::{
    EndpointId, Now,
    breaker::{MethodKey, Stand},
    heads::Source,
    learn::capabilities,
    method::lookup,
};

/// The method that tells.
const METHOD: &str = "eth_capabilities";

impl Router {
    /// Whether to ask an endpoint what it keeps: once for each connection that is made anew, and
    /// again when what it said is forgotten. Its chain is known by then, it has a token, and whoever
    /// does not know the method is left alone for as long.
    #[must_use]
    pub fn wants_capabilities(&self, endpoint: EndpointId, now: Now) -> bool {
        let Some(known) = self.endpoints.get(endpoint.index()) else {
            return false;
        };
        let (row, key) = (lookup(METHOD), MethodKey::of(METHOD));
        let serves = match known.circuit.stand(row.lane, key, now.mono) {
            Stand::Closed { .. } => true,
            Stand::HalfOpen
            | Stand::Trial
            | Stand::Open { .. }
            | Stand::MethodOff { .. }
            | Stand::Excluded { .. } => false,
        };
        serves
            && known.check.identity() == Identity::Verified
            && known.profile.methods.allows(METHOD)
            && known.profile.account.available(now)
            && known.learned.wants_capabilities(now.mono)
    }

    /// It answered with this `result`: what it keeps, and its head. An answer that says nothing of
    /// either counts as not knowing the method.
    pub fn on_capabilities(&mut self, endpoint: EndpointId, result: &str, now: Now) {
        let Some(known) = self.endpoints.get_mut(endpoint.index()) else {
            return;
        };
        known.counters.good(lookup(METHOD).id);
        match capabilities::parse(result) {
            Some(said) => {
                known.learned.on_capabilities(&said, now.mono);
                if let Some(height) = said.head {
                    self.on_head(endpoint, Source::Capabilities, height, now);
                }
            }
            None => known.learned.on_no_capabilities(now.mono),
        }
    }

    /// It does not know the method, or the question failed: no strike, whatever it was (lessons P5).
    pub fn on_no_capabilities(&mut self, endpoint: EndpointId, now: Now) {
        if let Some(known) = self.endpoints.get_mut(endpoint.index()) {
            known.learned.on_no_capabilities(now.mono);
        }
    }
}
