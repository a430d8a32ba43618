//! Two counts over a sliding time: what went well and what did not, or any other pair.

use std::time::{Duration, Instant};

/// Number of parts that the time is cut into. A count leaves with its part: an event stays for at
/// least nine tenths of the time and never longer than all of it.
const PARTS: usize = 10;

/// A pair of counts over the last `window`.
#[derive(Clone, Debug)]
pub(crate) struct Sliding {
    /// Of a part, in nanoseconds.
    width: u64,
    base: Option<Instant>,
    newest: u64,
    parts: [(u32, u32); PARTS],
}

impl Sliding {
    /// Counts over a window of at least ten nanoseconds; a shorter one counts as that.
    pub(crate) fn new(window: Duration) -> Self {
        Self {
            width: nanos(window / PARTS as u32).max(1),
            base: None,
            newest: 0,
            parts: [(0, 0); PARTS],
        }
    }

    /// Adds one to the first count.
    pub(crate) fn first(&mut self, now: Instant) {
        let part = self.current(now);
        part.0 = part.0.saturating_add(1);
    }

    /// Adds one to the second count.
    pub(crate) fn second(&mut self, now: Instant) {
        let part = self.current(now);
        part.1 = part.1.saturating_add(1);
    }

    /// Both counts.
    pub(crate) fn counts(&mut self, now: Instant) -> (u32, u32) {
        self.current(now);
        self.parts.iter().fold((0, 0), |sum, part| {
            (sum.0.saturating_add(part.0), sum.1.saturating_add(part.1))
        })
    }

    /// The time that the counts are of: since the first event, at most the window.
    pub(crate) fn covered(&mut self, now: Instant) -> Duration {
        let base = *self.base.get_or_insert(now);
        let age = now.saturating_duration_since(base);
        let whole = self.width.saturating_mul(PARTS as u64 - 1);
        let over = nanos(age) % self.width;
        age.min(Duration::from_nanos(whole.saturating_add(over)))
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.parts = [(0, 0); PARTS];
    }

    /// The part that `now` lies in, after what is too old has left. A time before the newest one
    /// counts as the newest.
    fn current(&mut self, now: Instant) -> &mut (u32, u32) {
        let base = *self.base.get_or_insert(now);
        let at = nanos(now.saturating_duration_since(base)) / self.width;
        if at > self.newest {
            let passed = (at - self.newest).min(PARTS as u64);
            for step in 1..=passed {
                self.parts[((self.newest.saturating_add(step)) % PARTS as u64) as usize] = (0, 0);
            }
            self.newest = at;
        }
        &mut self.parts[(self.newest % PARTS as u64) as usize]
    }
}

/// Whole nanoseconds; 584 years hold any age, and 128 bits take far longer to divide.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::now::tests::origin;

    const WINDOW: Duration = Duration::from_secs(10);

    #[test]
    fn keeps_an_event_until_its_part_leaves() {
        let start = origin();
        let mut sliding = Sliding::new(WINDOW);
        sliding.first(start);
        sliding.second(start + Duration::from_millis(999));
        sliding.second(start + Duration::from_secs(1));
        let last = WINDOW - Duration::from_nanos(1);
        assert_eq!(sliding.counts(start + last), (1, 2));
        assert_eq!(sliding.counts(start + WINDOW), (0, 1));
        assert_eq!(sliding.counts(start + Duration::from_secs(11)), (0, 0));
    }

    #[test]
    fn forgets_all_after_a_long_silence() {
        let start = origin();
        let mut sliding = Sliding::new(WINDOW);
        for second in 0..10 {
            sliding.first(start + Duration::from_secs(second));
        }
        assert_eq!(sliding.counts(start + Duration::from_secs(9)), (10, 0));
        assert_eq!(
            sliding.counts(start + Duration::from_secs(1_000_003)),
            (0, 0)
        );
    }

    #[test]
    fn takes_a_time_that_runs_backward_for_the_newest() {
        let start = origin() + WINDOW;
        let mut sliding = Sliding::new(WINDOW);
        sliding.first(start);
        sliding.first(start + Duration::from_secs(5));
        sliding.first(start - Duration::from_secs(5));
        assert_eq!(sliding.counts(start + Duration::from_secs(12)), (2, 0));
    }

    #[test]
    fn covers_the_time_since_the_first_event_up_to_the_window() {
        let start = origin();
        let mut sliding = Sliding::new(WINDOW);
        for (passed, covered) in [
            (0, 0),
            (400, 400),
            (9_999, 9_999),
            (10_000, 9_000),
            (25_300, 9_300),
        ] {
            let now = start + Duration::from_millis(passed);
            assert_eq!(sliding.covered(now), Duration::from_millis(covered));
        }
    }

    #[test]
    fn counts_in_a_window_of_no_length() {
        let mut sliding = Sliding::new(Duration::ZERO);
        sliding.first(origin());
        sliding.clear();
        assert_eq!(sliding.counts(origin()), (0, 0));
    }
}
