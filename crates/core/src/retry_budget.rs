//! The retry budget of a pool: what further requests may cost while things go wrong.

use std::time::{Duration, Instant};

use crate::mutant::{self, Mutant};
use crate::sliding::Sliding;

/// How much may be retried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryBudgetSettings {
    /// Share of the calls of the window that may be spent on top: 0 to 1.
    pub ratio: f64,
    /// What may be spent besides, per second of the window; 0 or more.
    pub per_second: f64,
    /// The window over which calls and retries are counted; 1 s or more.
    pub window: Duration,
}

impl Default for RetryBudgetSettings {
    fn default() -> Self {
        Self {
            ratio: 0.1,
            per_second: 10.0,
            window: Duration::from_secs(10),
        }
    }
}

impl RetryBudgetSettings {
    /// Whether every number is in range.
    ///
    /// # Errors
    ///
    /// The name of the first field that is not.
    pub fn check(&self) -> Result<(), &'static str> {
        if !(0.0..=1.0).contains(&self.ratio) {
            return Err("ratio");
        }
        if !(0.0..=1e6).contains(&self.per_second) {
            return Err("per_second");
        }
        if self.window < Duration::from_secs(1) {
            return Err("window");
        }
        Ok(())
    }
}

/// Counts the calls and the retries of one pool.
///
/// A retry is paid by the share first: of the last window's retries at most `ratio` of its calls
/// are. What the share does not cover comes at an even pace of `per_second`, one at a time, so that
/// a total outage is not answered with a burst.
#[derive(Clone, Debug)]
pub struct RetryBudget {
    settings: RetryBudgetSettings,
    /// Calls, and retries paid by the share.
    counts: Sliding,
    /// When the pace allows the next one.
    next: Option<Instant>,
}

impl RetryBudget {
    /// A budget of which nothing is spent.
    #[must_use]
    pub fn new(settings: RetryBudgetSettings) -> Self {
        Self {
            settings,
            counts: Sliding::new(settings.window),
            next: None,
        }
    }

    /// A call came in.
    pub fn on_call(&mut self, now: Instant) {
        self.counts.first(now);
    }

    /// When the pace allows one again, where [`try_spend`](Self::try_spend) had none; others may be
    /// quicker. `None`: there is no pace.
    #[must_use]
    pub fn next_at(&self, now: Instant) -> Option<Instant> {
        let paced = self.settings.per_second > 0.0;
        paced.then(|| self.next.map_or(now, |next| next.max(now)))
    }

    /// Spends one retry, unless nothing is left.
    pub fn try_spend(&mut self, now: Instant) -> bool {
        if mutant::is(Mutant::RetryBudgetIgnored) {
            return true;
        }
        let (calls, spent) = self.counts.counts(now);
        if f64::from(spent) + 1.0 <= self.settings.ratio * f64::from(calls) {
            self.counts.second(now);
            return true;
        }
        if self.settings.per_second <= 0.0 || self.next.is_some_and(|next| now < next) {
            return false;
        }
        let pause = Duration::try_from_secs_f64(1.0 / self.settings.per_second);
        let pause = pause.unwrap_or(self.settings.window);
        self.next = now.checked_add(pause);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::now::tests::origin;
    use proptest::prelude::*;

    fn spend_all(budget: &mut RetryBudget, now: Instant) -> u32 {
        let mut spent = 0;
        while budget.try_spend(now) {
            spent += 1;
        }
        spent
    }

    //
    #[test]
    fn allows_ten_a_second_without_any_call_one_at_a_time() {
        let start = origin();
        let mut budget = RetryBudget::new(RetryBudgetSettings::default());
        let at = |ms| start + Duration::from_millis(ms);
        let spent = (0..100).map(|ms| spend_all(&mut budget, at(10 * ms)));
        assert_eq!(spent.sum::<u32>(), 10);
        assert_eq!(spend_all(&mut budget, at(10_000)), 1);
    }

    //
    #[test]
    fn adds_a_tenth_of_the_calls_of_the_last_ten_seconds() {
        let start = origin();
        let mut budget = RetryBudget::new(RetryBudgetSettings::default());
        for _ in 0..59 {
            budget.on_call(start);
        }
        assert_eq!(spend_all(&mut budget, start), 5 + 1);
        budget.on_call(start);
        assert_eq!(spend_all(&mut budget, start), 1);
        let later = start + Duration::from_secs(11);
        assert_eq!(spend_all(&mut budget, later), 1, "the calls are forgotten");
    }

    //
    #[test]
    fn says_when_the_pace_allows_the_next() {
        let start = origin();
        let mut budget = RetryBudget::new(RetryBudgetSettings::default());
        assert_eq!(budget.next_at(start), Some(start));
        assert!(budget.try_spend(start) && !budget.try_spend(start));
        let next = start + Duration::from_millis(100);
        assert_eq!(budget.next_at(start), Some(next));
        assert!(budget.try_spend(next));
    }

    //
    #[test]
    fn gives_nothing_where_both_numbers_are_zero() {
        let mut budget = RetryBudget::new(RetryBudgetSettings {
            ratio: 0.0,
            per_second: 0.0,
            ..RetryBudgetSettings::default()
        });
        budget.on_call(origin());
        assert_eq!(budget.next_at(origin()), None);
        assert!(!budget.try_spend(origin()));
    }

    #[test]
    fn names_the_field_that_is_out_of_range() {
        let fine = RetryBudgetSettings::default();
        assert_eq!(fine.check(), Ok(()));
        for ratio in [-0.1, 1.1, f64::NAN] {
            assert_eq!(RetryBudgetSettings { ratio, ..fine }.check(), Err("ratio"));
        }
        for per_second in [-1.0, f64::INFINITY] {
            assert_eq!(
                RetryBudgetSettings { per_second, ..fine }.check(),
                Err("per_second")
            );
        }
        let window = Duration::from_millis(999);
        assert_eq!(
            RetryBudgetSettings { window, ..fine }.check(),
            Err("window")
        );
    }

    proptest! {
        //
        #[test]
        fn never_gives_more_than_the_calls_of_the_window_allow(
            steps in prop::collection::vec((0_u64..800, 0_u32..30, 0_u32..60), 1..60),
        ) {
            let settings = RetryBudgetSettings { per_second: 1.0, ..RetryBudgetSettings::default() };
            let mut budget = RetryBudget::new(settings);
            let mut now = origin();
            let mut calls = Vec::new();
            let mut spent = Vec::new();
            for (passed, new_calls, wanted) in steps {
                now += Duration::from_millis(passed);
                for _ in 0..new_calls {
                    budget.on_call(now);
                    calls.push(now);
                }
                for _ in 0..wanted {
                    if budget.try_spend(now) {
                        spent.push(now);
                    }
                }
                // What is surely inside the window on one side, what may be on the other.
                let since = |times: &[Instant], age: u64| {
                    times.iter().filter(|t| now.saturating_duration_since(**t) < Duration::from_secs(age)).count() as f64
                };
                prop_assert!(since(&spent, 9) <= 10.0 + 0.1 * since(&calls, 20));
            }
        }
    }
}
