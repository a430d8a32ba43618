//! Rounds, backoffs and waits of one call.

use crate::mutant::{self, Mutant};
use crate::{
    rng::Rng,
    router::{Moment, Nobody},
    settings::{Jitter, RetryCount, RetrySettings},
};
use std::time::{Duration, Instant};

/// Where a call stands in its rounds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    number: u16,
    attempts: u16,
    waited: Duration,
    stepped_up: bool,
    /// There is no second attempt.
    once: bool,
}

/// What to do when nobody can be asked now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Back off until then, and ask those that failed once more.
    Round(Instant),
    /// Wait until then: a token comes or an ejection ends.
    Wait(Instant),
    /// Nothing helps.
    Stop,
}

impl Rounds {
    /// The first round. `once`: there is no second attempt.
    pub(super) fn new(once: bool) -> Self {
        Self {
            once,
            ..Self::default()
        }
    }

    /// The round, from 0.
    pub(super) const fn number(&self) -> u16 {
        self.number
    }

    /// How long the call has waited for tokens and ejections.
    pub(super) const fn waited(&self) -> Duration {
        self.waited
    }

    /// An attempt was started.
    pub(super) fn count(&mut self) {
        self.attempts = self.attempts.saturating_add(1);
    }

    /// Whether the count of attempts leaves room for one more.
    pub(super) fn may_go_on(&self, settings: &RetrySettings) -> bool {
        let (more, less) = (
            u16::from(mutant::is(Mutant::OneAttemptMore)),
            u16::from(mutant::is(Mutant::OneAttemptLess)),
        );
        if self.once && self.attempts > 0 {
            return false;
        }
        match settings.count {
            RetryCount::Times(extra) => self.attempts + less <= extra + more,
            RetryCount::Deadline => true,
        }
    }

    /// Whether the attempt beyond the count was made.
    pub(super) const fn stepped_up(&self) -> bool {
        self.stepped_up
    }

    /// The attempt beyond the count is made.
    pub(super) fn step_up(&mut self) {
        self.stepped_up = true;
    }

    /// Nobody can be asked now. Those that failed come again before anybody waits; a wait ends
    /// with the first token or ejection, and then the call looks again.
    pub(super) fn step(
        &mut self,
        settings: &RetrySettings,
        nobody: &Nobody,
        deadline: Instant,
        rng: &mut Rng,
        now: Instant,
    ) -> Step {
        if !self.may_go_on(settings) {
            return Step::Stop;
        }
        let backoff = |number, rng: &mut Rng| now.checked_add(backoff(settings, number, rng));
        if nobody.another_round {
            return match backoff(self.number, rng) {
                Some(until) if until < deadline => self.round(until),
                Some(_) | None => Step::Stop,
            };
        }
        let moments = [nobody.token, nobody.ejection].into_iter().flatten();
        let Some(next) = moments.min_by_key(|moment: &Moment| moment.at) else {
            return Step::Stop;
        };
        let wait = next.at.saturating_duration_since(now);
        let total = self.waited.saturating_add(wait);
        // Whoever was asked already is asked in another round, not before its backoff.
        let until = if next.asked {
            backoff(self.number, rng).map(|until| until.max(next.at))
        } else {
            // Never the same instant again: something must move.
            now.checked_add(Duration::from_micros(1))
                .map(|soonest| soonest.max(next.at))
        };
        match until {
            Some(until) if total <= settings.max_wait && until < deadline => {
                self.waited = total;
                if next.asked {
                    self.round(until)
                } else {
                    Step::Wait(until)
                }
            }
            Some(_) | None => Step::Stop,
        }
    }

    /// Whether a call may wait until then for something else than `step` knows of; it counts with its
    /// other waits.
    pub(super) fn may_wait(
        &mut self,
        settings: &RetrySettings,
        until: Instant,
        deadline: Instant,
        now: Instant,
    ) -> bool {
        let wait = until.saturating_duration_since(now);
        let total = self.waited.saturating_add(wait);
        let may = total <= settings.max_wait && until < deadline;
        if may {
            self.waited = total;
        }
        may
    }

    fn round(&mut self, until: Instant) -> Step {
        self.number = self.number.saturating_add(1);
        Step::Round(until)
    }
}

/// `base · 2^round`, at most the cap, jittered.
pub(crate) fn backoff(settings: &RetrySettings, round: u16, rng: &mut Rng) -> Duration {
    let doubled = 1_u32.checked_shl(u32::from(round)).unwrap_or(u32::MAX);
    let full = settings.base.saturating_mul(doubled).min(settings.cap);
    match settings.jitter {
        Jitter::Half => full.mul_f64(0.5 + 0.5 * rng.unit()),
        Jitter::Full => full.mul_f64(rng.unit()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::now::tests::origin;

    fn moment(at: Instant, asked: bool) -> Option<Moment> {
        Some(Moment { at, asked })
    }

    fn millis(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    //
    #[test]
    fn backs_off_between_half_and_all_of_a_doubling_time() {
        let (settings, mut rng) = (RetrySettings::default(), Rng::new(1));
        for (round, full) in [
            (0, 100),
            (1, 200),
            (2, 400),
            (4, 1600),
            (5, 2000),
            (40, 2000),
        ] {
            for _ in 0..100 {
                let wait = backoff(&settings, round, &mut rng);
                assert!(wait >= millis(full) / 2 && wait <= millis(full), "{wait:?}");
            }
        }
        let full = RetrySettings {
            jitter: Jitter::Full,
            ..settings
        };
        let short = (0..100).filter(|_| backoff(&full, 0, &mut rng) < millis(50));
        assert!(short.count() > 20);
    }

    //
    #[test]
    fn those_that_failed_come_again_before_anybody_waits_for_a_token() {
        let now = origin();
        let (settings, mut rng) = (RetrySettings::default(), Rng::new(1));
        let nobody = Nobody {
            another_round: true,
            token: moment(now + millis(1), false),
            ..Nobody::default()
        };
        let deadline = now + millis(9000);
        let mut rounds = Rounds::default();
        assert!(matches!(
            rounds.step(&settings, &nobody, deadline, &mut rng, now),
            Step::Round(_)
        ));
        assert_eq!(rounds.number(), 1);
    }

    //
    #[test]
    fn waits_two_seconds_in_total_and_no_longer() {
        let now = origin();
        let (settings, mut rng) = (RetrySettings::default(), Rng::new(1));
        let deadline = now + millis(9000);
        let wait = |ms| Nobody {
            token: moment(now + millis(ms), false),
            ejection: moment(now + millis(1900), false),
            ..Nobody::default()
        };
        let mut rounds = Rounds::default();
        let mut step = |ms| rounds.step(&settings, &wait(ms), deadline, &mut rng, now);
        assert_eq!(step(1200), Step::Wait(now + millis(1200)));
        assert_eq!(step(800), Step::Wait(now + millis(800)));
        assert_eq!(step(1), Step::Stop);
        let mut fresh = Rounds::default();
        // The token is too far away, the end of the ejection is not.
        let step = fresh.step(&settings, &wait(2001), deadline, &mut rng, now);
        assert_eq!(step, Step::Wait(now + millis(1900)));
    }

    //
    #[test]
    fn every_wait_counts_toward_the_two_seconds() {
        let now = origin();
        let settings = RetrySettings::default();
        let mut rounds = Rounds::default();
        let mut may = |ms, deadline| {
            rounds.may_wait(&settings, now + millis(ms), now + millis(deadline), now)
        };
        assert!(!may(100, 100));
        assert!(may(1900, 9000));
        assert!(!may(101, 9000));
        assert!(may(100, 9000));
        assert!(!may(1, 9000));
    }

    // the backoff is at least the ejection left on the next endpoint
    #[test]
    fn a_round_begins_when_both_its_backoff_and_the_ejection_are_over() {
        let now = origin();
        let (settings, mut rng) = (RetrySettings::default(), Rng::new(1));
        let nobody = |ms| Nobody {
            ejection: moment(now + millis(ms), true),
            ..Nobody::default()
        };
        let deadline = now + millis(9000);
        let mut rounds = Rounds::default();
        let step = rounds.step(&settings, &nobody(700), deadline, &mut rng, now);
        assert_eq!(step, Step::Round(now + millis(700)));
        assert_eq!((rounds.number(), rounds.waited()), (1, millis(700)));
        let step = rounds.step(&settings, &nobody(1), deadline, &mut rng, now);
        assert!(matches!(step, Step::Round(until) if until >= now + millis(100)));
        assert_eq!((rounds.number(), rounds.waited()), (2, millis(701)));
    }

    //
    #[test]
    fn attempts_are_counted_and_nothing_is_waited_for_past_the_deadline() {
        let now = origin();
        let mut rng = Rng::new(1);
        let nobody = Nobody {
            another_round: true,
            ..Nobody::default()
        };
        let mut rounds = Rounds::default();
        let three = RetrySettings::default();
        for _ in 0..3 {
            assert!(rounds.may_go_on(&three));
            rounds.count();
        }
        assert!(!rounds.may_go_on(&three));
        let deadline = now + millis(9000);
        assert_eq!(
            rounds.step(&three, &nobody, deadline, &mut rng, now),
            Step::Stop
        );
        let endless = RetrySettings {
            count: RetryCount::Deadline,
            ..three
        };
        let step = rounds.step(&endless, &nobody, deadline, &mut rng, now);
        assert!(matches!(step, Step::Round(_)));
        let step = rounds.step(&endless, &nobody, now + millis(1), &mut rng, now);
        assert_eq!(step, Step::Stop);
    }
}
