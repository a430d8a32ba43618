//! How much an endpoint takes at once, learned from what it took and what it refused.
//!
//! The number in a refusal is a hint and no fact: some limits count one end of a range, some both,
//! some exclude themselves. What was accepted is a fact (`semantics.md` §7 row 19).

use crate::heads::Holds;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limit {
    accepted: Option<(u64, Instant)>,
    refused: Option<(u64, Instant)>,
    /// What the last refusal said would pass.
    stated: Option<u64>,
}

impl Limit {
    /// `size` was taken. That it was refused before is history: limits are raised too.
    pub(super) fn accept(&mut self, size: u64, forget: Duration, now: Instant) {
        let best = remembered(self.accepted, forget, now).map_or(size, |best| best.max(size));
        self.accepted = Some((best, now));
        if self.refused.is_some_and(|(refused, _)| refused <= size) {
            self.refused = None;
            self.stated = None;
        }
    }

    /// `size` was refused, perhaps with a number that would pass. A single one teaches nothing:
    /// there is no smaller size to use instead.
    pub(super) fn refuse(
        &mut self,
        size: u64,
        stated: Option<u64>,
        forget: Duration,
        now: Instant,
    ) {
        if size <= 1 {
            return;
        }
        let least = remembered(self.refused, forget, now).map_or(size, |least| least.min(size));
        self.refused = Some((least, now));
        self.stated = stated
            .filter(|stated| (1..=size).contains(stated))
            .or(self.stated);
        if self.accepted.is_some_and(|(accepted, _)| accepted >= least) {
            self.accepted = None;
        }
    }

    /// The size to use: None while nothing was refused. As stated, or else half of what was refused,
    /// but never less than what was taken.
    pub(super) fn largest(&self, forget: Duration, now: Instant) -> Option<u64> {
        let refused = remembered(self.refused, forget, now)?;
        let accepted = remembered(self.accepted, forget, now).unwrap_or(1);
        let guess = self.stated.map_or(refused / 2, |s| s.min(refused - 1));
        Some(guess.max(accepted))
    }

    /// Whether this size would be taken.
    pub(super) fn takes(&self, size: u64, forget: Duration, now: Instant) -> Holds {
        if remembered(self.accepted, forget, now).is_some_and(|accepted| size <= accepted) {
            return Holds::Yes;
        }
        let Some(refused) = remembered(self.refused, forget, now) else {
            return Holds::Unknown;
        };
        // One above the stated number may pass: some limits count the distance between the ends.
        let above = self.stated.is_some_and(|s| size > s.saturating_add(1));
        if size >= refused || above {
            Holds::No
        } else {
            Holds::Unknown
        }
    }
}

/// A value that was learned, until it is to be forgotten.
pub(super) fn remembered<T: Copy>(
    learned: Option<(T, Instant)>,
    forget: Duration,
    now: Instant,
) -> Option<T> {
    let (value, at) = learned?;
    (now.saturating_duration_since(at) < forget).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::tests::start;

    const HOUR: Duration = Duration::from_secs(3600);

    // L08: "range 20000 exceeds limit of 10000"
    #[test]
    fn a_stated_limit_is_used_until_it_is_refused_itself() {
        let (mut limit, now) = (Limit::default(), start());
        assert_eq!(limit.largest(HOUR, now), None);
        assert_eq!(limit.takes(20_001, HOUR, now), Holds::Unknown);
        limit.refuse(20_001, Some(10_000), HOUR, now);
        assert_eq!(limit.largest(HOUR, now), Some(10_000));
        assert_eq!(limit.takes(20_001, HOUR, now), Holds::No);
        assert_eq!(limit.takes(10_002, HOUR, now), Holds::No);
        assert_eq!(limit.takes(10_001, HOUR, now), Holds::Unknown);
        // A limit that excludes itself.
        limit.refuse(10_000, Some(10_000), HOUR, now);
        assert_eq!(limit.largest(HOUR, now), Some(9999));
        limit.accept(9999, HOUR, now);
        assert_eq!(limit.takes(9999, HOUR, now), Holds::Yes);
        assert_eq!(limit.largest(HOUR, now), Some(9999));
    }

    // semantics section 7 row 19
    #[test]
    fn without_a_number_the_largest_accepted_size_is_found_by_halves() {
        let (mut limit, now) = (Limit::default(), start());
        limit.accept(10, HOUR, now);
        assert_eq!(limit.takes(10, HOUR, now), Holds::Yes);
        assert_eq!(limit.takes(11, HOUR, now), Holds::Unknown);
        limit.refuse(1000, None, HOUR, now);
        assert_eq!(limit.largest(HOUR, now), Some(500));
        limit.refuse(500, None, HOUR, now);
        limit.accept(250, HOUR, now);
        assert_eq!(limit.largest(HOUR, now), Some(250));
        assert_eq!(limit.takes(499, HOUR, now), Holds::Unknown);
        assert_eq!(limit.takes(500, HOUR, now), Holds::No);
        limit.accept(400, HOUR, now);
        assert_eq!(limit.largest(HOUR, now), Some(400));
    }

    // lessons A2: what only falls has a way up
    #[test]
    fn a_limit_is_lifted_by_an_acceptance_and_by_time() {
        let (mut limit, now) = (Limit::default(), start());
        limit.refuse(1000, Some(100), HOUR, now);
        limit.accept(1000, HOUR, now);
        assert_eq!(limit.largest(HOUR, now), None);
        limit.refuse(500, None, HOUR, now);
        assert_eq!(limit.largest(HOUR, now), Some(250));
        assert_eq!(limit.takes(500, HOUR, now), Holds::No);
        let almost = now + HOUR - Duration::from_nanos(1);
        assert_eq!(limit.largest(HOUR, almost), Some(250));
        assert_eq!(limit.largest(HOUR, now + HOUR), None);
        assert_eq!(limit.takes(500, HOUR, now + HOUR), Holds::Unknown);
    }

    #[test]
    fn sizes_without_sense_teach_nothing() {
        let (mut limit, now) = (Limit::default(), start());
        limit.refuse(1, Some(1), HOUR, now);
        limit.refuse(0, None, HOUR, now);
        assert_eq!(limit.largest(HOUR, now), None);
        // A number that is no smaller than what was refused explains nothing.
        limit.refuse(100, Some(5000), HOUR, now);
        assert_eq!(limit.largest(HOUR, now), Some(50));
        limit.refuse(2, Some(0), HOUR, now);
        assert_eq!(limit.largest(HOUR, now), Some(1));
    }
}
