//! Which bucket of a ring an instant belongs to.

use std::time::{Duration, Instant};

/// The clock of a ring of buckets: one of them is open, and as time passes it closes and the next
/// one opens. The first use opens the first bucket. A clock that goes back opens nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buckets {
    width: Duration,
    opened: Option<Instant>,
}

impl Buckets {
    /// Buckets of `width` each, at least a millisecond.
    pub(super) fn new(width: Duration) -> Self {
        Self {
            width: width.max(Duration::from_millis(1)),
            opened: None,
        }
    }

    /// How many buckets have closed since the one that is open by the last [`Self::advance`].
    pub(super) fn passed(&self, now: Instant) -> u64 {
        let Some(opened) = self.opened else {
            return 0;
        };
        let age = now.saturating_duration_since(opened);
        if age < self.width {
            return 0;
        }
        nanos(age) / nanos(self.width)
    }

    /// Opens the bucket of `now` and says how many have closed for it.
    pub(super) fn advance(&mut self, now: Instant) -> u64 {
        let Some(opened) = self.opened else {
            self.opened = Some(now);
            return 0;
        };
        let passed = self.passed(now);
        if passed > 0 {
            let since = Duration::from_nanos(nanos(self.width).saturating_mul(passed));
            self.opened = Some(opened.checked_add(since).unwrap_or(now));
        }
        passed
    }
}

/// Whole nanoseconds; 584 years hold any age.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
