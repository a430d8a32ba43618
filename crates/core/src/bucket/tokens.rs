//! A token bucket in whole nanoseconds: what it gives never depends on rounding.

use std::time::{Duration, Instant};

use super::rate::Rate;
use crate::mutant::{self, Mutant};

/// Tokens, held as the time that earned them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tokens {
    rate: Rate,
    /// Time that earns one token, in nanoseconds.
    interval: u64,
    /// Most time that is held.
    most: u64,
    /// Time that is held.
    held: u64,
    at: Option<Instant>,
}

impl Tokens {
    /// A full bucket.
    pub(super) fn full(rate: Rate) -> Self {
        let (interval, most) = measures(rate);
        Self {
            rate,
            interval,
            most,
            held: most,
            at: None,
        }
    }

    /// A bucket that holds one token from now on.
    pub(super) fn one(rate: Rate, now: Instant) -> Self {
        let mut tokens = Self::full(rate);
        tokens.held = tokens.interval;
        tokens.at = Some(now);
        tokens
    }

    /// Changes the rate; the number of tokens stays, as far as it fits.
    pub(super) fn set_rate(&mut self, rate: Rate, now: Instant) {
        if rate == self.rate {
            return;
        }
        self.refill(now);
        let (interval, most) = measures(rate);
        let held = u128::from(self.held) * u128::from(interval) / u128::from(self.interval);
        self.held = u64::try_from(held).unwrap_or(most).min(most);
        (self.rate, self.interval, self.most) = (rate, interval, most);
    }

    /// Whole tokens.
    pub(super) fn whole(&mut self, now: Instant) -> u64 {
        self.refill(now);
        self.held / self.interval
    }

    /// Time until there is a token.
    pub(super) fn wait(&mut self, now: Instant) -> Duration {
        self.refill(now);
        Duration::from_nanos(self.interval.saturating_sub(self.held))
    }

    /// Spends one token, if there is one.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        self.refill(now);
        let left = self.held.checked_sub(self.interval);
        self.held = left.unwrap_or(self.held);
        left.is_some()
    }

    fn refill(&mut self, now: Instant) {
        let at = *self.at.get_or_insert(now);
        let passed = now.saturating_duration_since(at);
        if !passed.is_zero() {
            let passed = u64::try_from(passed.as_nanos()).unwrap_or(u64::MAX);
            let passed = if mutant::is(Mutant::TokensComeTwiceAsFast) {
                passed.saturating_mul(2)
            } else {
                passed
            };
            self.held = self.held.saturating_add(passed).min(self.most);
            self.at = Some(now);
        }
    }
}

/// The interval of a rate and what its burst comes to, in nanoseconds.
fn measures(rate: Rate) -> (u64, u64) {
    let interval = u64::try_from(rate.interval().as_nanos()).unwrap_or(u64::MAX);
    let burst = if rate.burst.is_nan() {
        1.0
    } else {
        rate.burst.max(1.0)
    };
    // A cast of a float stops at the largest number. Rounded down, so that it is never too many; a
    // whole burst stays whole.
    let most = if burst.fract() == 0.0 {
        interval.saturating_mul(burst as u64)
    } else {
        (interval as f64 * burst) as u64
    };
    let more = if mutant::is(Mutant::BurstIsOneMore) {
        interval
    } else {
        0
    };
    (interval, most.saturating_add(more))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::now::tests::origin;
    use proptest::prelude::*;

    const NANO: Duration = Duration::from_nanos(1);
    const EVM: Rate = Rate {
        rps: 1.5,
        burst: 3.0,
    };

    fn take_all(tokens: &mut Tokens, now: Instant) -> u32 {
        let mut taken = 0;
        while tokens.take(now) {
            taken += 1;
        }
        taken
    }

    //
    #[test]
    fn starts_full_and_earns_by_the_clock() {
        let start = origin();
        let mut tokens = Tokens::full(EVM);
        assert_eq!(tokens.whole(start), 3);
        assert_eq!(take_all(&mut tokens, start), 3);
        let wait = tokens.wait(start);
        assert_eq!(wait, Duration::from_nanos(666_666_667));
        assert!(!tokens.take(start + wait - NANO));
        assert_eq!(tokens.wait(start + wait - NANO), NANO);
        assert_eq!(tokens.wait(start + wait), Duration::ZERO);
        assert_eq!(take_all(&mut tokens, start + wait), 1);
    }

    //
    #[test]
    fn holds_no_more_than_the_burst_after_any_rest() {
        let start = origin();
        let mut tokens = Tokens::full(EVM);
        take_all(&mut tokens, start);
        let later = start + Duration::from_secs(86_400);
        assert_eq!(take_all(&mut tokens, later), 3);
    }

    //
    #[test]
    fn earns_nothing_while_the_clock_stands_or_runs_backward() {
        let start = origin() + Duration::from_secs(9);
        let mut tokens = Tokens::full(EVM);
        take_all(&mut tokens, start);
        assert!(!tokens.take(start - Duration::from_secs(9)));
        assert!(!tokens.take(start));
    }

    //
    #[test]
    fn keeps_the_number_of_tokens_when_the_rate_changes() {
        let start = origin();
        let mut tokens = Tokens::full(Rate::of(10.0));
        for _ in 0..5 {
            assert!(tokens.take(start));
        }
        tokens.set_rate(Rate::of(100.0), start);
        assert_eq!(tokens.whole(start), 15);
        tokens.set_rate(Rate::of(1.0), start);
        assert_eq!(tokens.whole(start), 2);
        let mut one = Tokens::one(Rate::of(10.0), start);
        assert_eq!(take_all(&mut one, start), 1);
    }

    //
    #[test]
    fn holds_a_part_of_a_token_where_the_burst_has_one() {
        let start = origin();
        let mut tokens = Tokens::full(Rate {
            rps: 1.0,
            burst: 1.5,
        });
        assert_eq!(take_all(&mut tokens, start), 1);
        assert_eq!(tokens.wait(start), Duration::from_millis(500));
    }

    proptest! {
        // R-26, hardening D5: in no window more than the burst and what the window earns.
        #[test]
        fn never_gives_too_many_in_any_window(
            rps in 0.1_f64..200.0,
            burst in 1.0_f64..50.0,
            steps in prop::collection::vec((0_u64..400_000_000, 0_usize..40), 1..80),
        ) {
            let mut now = origin();
            let mut tokens = Tokens::full(Rate { rps, burst });
            let mut given: Vec<Instant> = Vec::new();
            for (passed, wanted) in steps {
                now += Duration::from_nanos(passed);
                for _ in 0..wanted {
                    if tokens.take(now) {
                        given.push(now);
                    }
                }
            }
            for (first, from) in given.iter().enumerate() {
                for (last, to) in given.iter().enumerate().skip(first) {
                    let window = to.saturating_duration_since(*from).as_secs_f64();
                    let most = burst + rps * window;
                    prop_assert!((last - first + 1) as f64 <= most + 1e-6);
                }
            }
        }

        // the wait is exact, neither too short nor too long.
        #[test]
        fn has_a_token_exactly_when_the_wait_is_over(
            rps in 0.1_f64..5_000.0,
            passes in prop::collection::vec(0_u64..900_000_000, 0..20),
        ) {
            let mut now = origin();
            let mut tokens = Tokens::full(Rate::of(rps));
            take_all(&mut tokens, now);
            for pass in passes {
                now += Duration::from_nanos(pass);
                tokens.take(now);
            }
            let wait = tokens.wait(now);
            if wait.is_zero() {
                prop_assert!(tokens.take(now));
            } else {
                prop_assert!(!tokens.take(now + wait - NANO));
                prop_assert!(tokens.take(now + wait));
            }
        }
    }
}
