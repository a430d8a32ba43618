//! Which chain an endpoint serves, and when to ask it again.

use crate::ChainId;

/// What is known about the chain that an endpoint serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// Nobody asked yet, or the last check failed without telling.
    Unchecked,
    /// It serves the expected chain.
    Verified,
    /// It serves another chain: no call goes there until its URL changes.
    Quarantined {
        /// The id it answered.
        found: ChainId,
    },
}

/// One check of an endpoint's chain, taken out by [`ChainCheck::begin`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Check(u32);

/// What is known of one endpoint's chain and whether it must be asked.
#[derive(Clone, Copy, Debug)]
pub struct ChainCheck {
    identity: Identity,
    verify: bool,
    /// How often what was known was dropped: a check that began before says nothing about now.
    generation: u32,
}

impl ChainCheck {
    /// An endpoint that nobody asked. With `verify` off nobody will, and unchecked counts as passed:
    /// `verify_chain_id = false`, or a method list without `eth_chainId`.
    #[must_use]
    pub const fn new(verify: bool) -> Self {
        Self {
            identity: if verify {
                Identity::Unchecked
            } else {
                Identity::Verified
            },
            verify,
            generation: 0,
        }
    }

    /// Whether it is to be asked at all, from now on. A quarantine stays either way.
    pub fn set_verify(&mut self, verify: bool) {
        if verify != self.verify && !matches!(self.identity, Identity::Quarantined { .. }) {
            self.identity = Self::new(verify).identity;
        }
        self.verify = verify;
    }

    /// What is known.
    #[must_use]
    pub const fn identity(&self) -> Identity {
        self.identity
    }

    /// Whether one `eth_chainId` goes before the next call, hedge, race or probe.
    #[must_use]
    pub const fn needs_check(&self) -> bool {
        matches!(self.identity, Identity::Unchecked)
    }

    /// A check begins.
    #[must_use]
    pub const fn begin(&self) -> Check {
        Check(self.generation)
    }

    /// A reason to ask again came up: a new connection, a long ejection
    /// ([`crate::breaker::Circuit::take_recheck`]), an error text about the chain. A quarantine stays, and a running check no longer verifies.
    pub fn invalidate(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        if let (Identity::Verified, true) = (self.identity, self.verify) {
            self.identity = Identity::Unchecked;
        }
    }

    /// A check ended with an id. `expected` is the chain of the pool; where it is not known yet,
    /// the first id that is not 0 becomes it. 0 is "not ready" and never a wrong id; a quarantine
    /// is never lifted by a later answer. A check that ended without an id changes nothing.
    pub fn on_answer(
        &mut self,
        check: Check,
        expected: &mut Option<ChainId>,
        found: ChainId,
    ) -> Identity {
        if found.0 == 0 {
            return self.identity;
        }
        let expected = *expected.get_or_insert(found);
        match self.identity {
            Identity::Quarantined { .. } => {}
            Identity::Unchecked | Identity::Verified if expected != found => {
                self.identity = Identity::Quarantined { found };
            }
            Identity::Unchecked if check.0 == self.generation => {
                self.identity = Identity::Verified;
            }
            Identity::Unchecked | Identity::Verified => {}
        }
        self.identity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAINNET: ChainId = ChainId(1);
    const OTHER: ChainId = ChainId(10);

    fn answered(check: &mut ChainCheck, found: ChainId) -> Identity {
        check.on_answer(check.begin(), &mut Some(MAINNET), found)
    }

    //
    #[test]
    fn asks_before_the_first_call_and_not_again() {
        let mut check = ChainCheck::new(true);
        assert!(check.needs_check());
        assert_eq!(answered(&mut check, MAINNET), Identity::Verified);
        assert!(!check.needs_check());
    }

    //
    #[test]
    fn takes_zero_for_not_ready_and_asks_on_the_next_call() {
        let mut check = ChainCheck::new(true);
        let mut expected = None;
        assert_eq!(
            check.on_answer(check.begin(), &mut expected, ChainId(0)),
            Identity::Unchecked
        );
        assert_eq!(expected, None);
        assert!(check.needs_check());
        answered(&mut check, MAINNET);
        assert_eq!(answered(&mut check, ChainId(0)), Identity::Verified);
    }

    //
    #[test]
    fn never_lifts_a_quarantine() {
        let mut check = ChainCheck::new(true);
        let quarantined = Identity::Quarantined { found: OTHER };
        assert_eq!(answered(&mut check, OTHER), quarantined);
        check.invalidate();
        assert!(!check.needs_check());
        assert_eq!(answered(&mut check, MAINNET), quarantined);
    }

    //
    #[test]
    fn asks_again_after_a_reconnect_and_quarantines_what_changed() {
        let mut check = ChainCheck::new(true);
        answered(&mut check, MAINNET);
        check.invalidate();
        assert!(check.needs_check());
        assert_eq!(check.identity(), Identity::Unchecked);
        assert_eq!(
            answered(&mut check, OTHER),
            Identity::Quarantined { found: OTHER }
        );
    }

    //
    #[test]
    fn is_not_verified_by_a_check_from_before_the_reconnect() {
        let mut check = ChainCheck::new(true);
        let old = check.begin();
        check.invalidate();
        let mut expected = Some(MAINNET);
        assert_eq!(
            check.on_answer(old, &mut expected, MAINNET),
            Identity::Unchecked
        );
        assert_eq!(
            check.on_answer(old, &mut expected, OTHER),
            Identity::Quarantined { found: OTHER }
        );
    }

    //
    #[test]
    fn learns_the_chain_of_the_pool_from_the_first_id() {
        let mut expected = None;
        let mut check = ChainCheck::new(true);
        assert_eq!(
            check.on_answer(check.begin(), &mut expected, OTHER),
            Identity::Verified
        );
        assert_eq!(expected, Some(OTHER));
    }

    // R-19, L-10
    #[test]
    fn is_turned_on_and_off_at_run_time_and_keeps_a_quarantine() {
        let mut check = ChainCheck::new(true);
        check.set_verify(false);
        assert!(!check.needs_check());
        check.set_verify(true);
        assert!(check.needs_check());
        answered(&mut check, MAINNET);
        check.set_verify(true);
        assert_eq!(check.identity(), Identity::Verified);
        check.invalidate();
        answered(&mut check, OTHER);
        check.set_verify(false);
        assert_eq!(check.identity(), Identity::Quarantined { found: OTHER });
    }

    //
    #[test]
    fn asks_nobody_where_checks_are_off() {
        let mut check = ChainCheck::new(false);
        assert_eq!(check.identity(), Identity::Verified);
        check.invalidate();
        assert_eq!(check.identity(), Identity::Verified);
        assert!(!check.needs_check());
    }
}
