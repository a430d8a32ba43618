//! The state of the endpoints of one chain.
//!
//! One router per chain, behind one lock that is held for nanoseconds and never across an await.
//! Its methods are the only way to change what is known of an endpoint.

use crate::{ChainId, EndpointId};

pub use crate::identity::Identity;

/// The endpoints of one chain, in the order of the configuration.
#[derive(Debug)]
pub struct Router {
    expected: Option<ChainId>,
    endpoints: Vec<EndpointState>,
}

#[derive(Clone, Debug)]
struct EndpointState {
    identity: Identity,
}

impl Router {
    /// A router over `count` endpoints, none of them checked. Without an expected chain id the
    /// first endpoint that answers its check sets it.
    #[must_use]
    pub fn new(expected: Option<ChainId>, count: usize) -> Self {
        Self {
            expected,
            endpoints: vec![
                EndpointState {
                    identity: Identity::Unchecked
                };
                count
            ],
        }
    }

    /// A router that asks nobody: `verify_chain_id = false`, where unchecked counts as passed
    ///
    #[must_use]
    pub fn unverified(expected: Option<ChainId>, count: usize) -> Self {
        Self {
            expected,
            endpoints: vec![
                EndpointState {
                    identity: Identity::Verified
                };
                count
            ],
        }
    }

    /// The chain that all endpoints must serve, once known.
    #[must_use]
    pub const fn chain(&self) -> Option<ChainId> {
        self.expected
    }

    /// Number of endpoints.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.endpoints.len()
    }

    /// Whether there is no endpoint at all.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.endpoints.is_empty()
    }

    /// All endpoints in order.
    pub fn ids(&self) -> impl Iterator<Item = EndpointId> + use<> {
        let count = u16::try_from(self.endpoints.len()).unwrap_or(u16::MAX);
        (0..count).map(EndpointId)
    }

    /// What is known about an endpoint's chain.
    #[must_use]
    pub fn identity(&self, endpoint: EndpointId) -> Identity {
        self.endpoints
            .get(endpoint.index())
            .map_or(Identity::Unchecked, |e| e.identity)
    }

    /// Records the id that an endpoint answered to its check. A quarantine is never lifted
    /// by a later answer; `0` is "not ready", never a wrong id.
    pub fn on_chain_id(&mut self, endpoint: EndpointId, found: ChainId) -> Identity {
        if found.0 != 0 && self.expected.is_none() {
            self.expected = Some(found);
        }
        let expected = self.expected;
        let Some(state) = self.endpoints.get_mut(endpoint.index()) else {
            return Identity::Unchecked;
        };
        if let (Identity::Unchecked | Identity::Verified, true) = (state.identity, found.0 != 0) {
            state.identity = if expected == Some(found) {
                Identity::Verified
            } else {
                Identity::Quarantined { found }
            };
        }
        state.identity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: EndpointId = EndpointId(0);
    const B: EndpointId = EndpointId(1);

    //
    #[test]
    fn quarantines_an_endpoint_on_another_chain() {
        let mut router = Router::new(Some(ChainId(1)), 2);
        assert_eq!(router.on_chain_id(A, ChainId(1)), Identity::Verified);
        assert_eq!(
            router.on_chain_id(B, ChainId(10)),
            Identity::Quarantined { found: ChainId(10) }
        );
        assert_eq!(router.identity(A), Identity::Verified);
    }

    //
    #[test]
    fn never_lifts_a_quarantine_because_of_a_later_answer() {
        let mut router = Router::new(Some(ChainId(1)), 1);
        router.on_chain_id(A, ChainId(10));
        assert_eq!(
            router.on_chain_id(A, ChainId(1)),
            Identity::Quarantined { found: ChainId(10) }
        );
    }

    //
    #[test]
    fn quarantines_an_endpoint_that_changes_its_chain_later() {
        let mut router = Router::new(Some(ChainId(1)), 1);
        router.on_chain_id(A, ChainId(1));
        assert_eq!(
            router.on_chain_id(A, ChainId(5)),
            Identity::Quarantined { found: ChainId(5) }
        );
    }

    //
    #[test]
    fn takes_zero_for_not_ready_and_never_for_a_wrong_chain() {
        let mut router = Router::new(Some(ChainId(1)), 1);
        assert_eq!(router.on_chain_id(A, ChainId(0)), Identity::Unchecked);
        router.on_chain_id(A, ChainId(1));
        assert_eq!(router.on_chain_id(A, ChainId(0)), Identity::Verified);
    }

    //
    #[test]
    fn learns_the_chain_from_the_first_endpoint_that_answers() {
        let mut router = Router::new(None, 2);
        assert_eq!(router.chain(), None);
        router.on_chain_id(B, ChainId(0));
        assert_eq!(router.chain(), None);
        router.on_chain_id(B, ChainId(137));
        assert_eq!(router.chain(), Some(ChainId(137)));
        assert_eq!(
            router.on_chain_id(A, ChainId(1)),
            Identity::Quarantined { found: ChainId(1) }
        );
    }

    //
    #[test]
    fn counts_unchecked_as_passed_where_checks_are_off() {
        let router = Router::unverified(None, 2);
        assert_eq!(router.identity(A), Identity::Verified);
        assert_eq!(router.identity(B), Identity::Verified);
        assert_eq!(router.chain(), None);
    }

    #[test]
    fn ignores_an_endpoint_that_it_does_not_have() {
        let mut router = Router::new(Some(ChainId(1)), 1);
        assert_eq!(router.on_chain_id(B, ChainId(10)), Identity::Unchecked);
        assert_eq!(router.identity(B), Identity::Unchecked);
        assert_eq!(router.ids().collect::<Vec<_>>(), [A]);
        assert!(!router.is_empty());
    }
}
