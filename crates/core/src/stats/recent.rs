//! Successes and endpoint failures of the last ten seconds.
//!
//! Whether an endpoint "is healthy now" and its failure rate are read from here.

use super::buckets::Buckets;
use std::time::{Duration, Instant};

/// Parts of the window. The oldest part leaves as a whole, so the window is never longer than it
/// says, and at most a tenth shorter.
const PARTS: usize = 10;

/// Counts of one endpoint over a short sliding window.
///
/// A healthy answer (terminal errors such as reverts included) is good, an endpoint failure is bad;
/// answers that say nothing of the endpoint's health (`behind`, range, history, method and size
/// classes) belong in neither count.
#[derive(Clone, Debug)]
pub struct Recent {
    buckets: Buckets,
    /// Newest first is `open`, and older ones follow below it, around the ring.
    counts: [Counts; PARTS],
    open: usize,
    /// All parts together.
    sum: Counts,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    good: u32,
    bad: u32,
}

impl Default for Recent {
    /// Over 10 seconds.
    fn default() -> Self {
        Self::over(Duration::from_secs(10))
    }
}

impl Recent {
    /// Counts over the last `window`, in ten parts of a millisecond or more each.
    #[must_use]
    pub fn over(window: Duration) -> Self {
        Self {
            buckets: Buckets::new(window / 10),
            counts: [Counts::default(); PARTS],
            open: 0,
            sum: Counts::default(),
        }
    }

    /// A healthy answer.
    pub fn ok(&mut self, now: Instant) {
        let open = self.open_at(now);
        open.good = open.good.saturating_add(1);
        self.sum.good = self.sum.good.saturating_add(1);
    }

    /// An endpoint failure.
    pub fn bad(&mut self, now: Instant) {
        let open = self.open_at(now);
        open.bad = open.bad.saturating_add(1);
        self.sum.bad = self.sum.bad.saturating_add(1);
    }

    /// Healthy answers and endpoint failures within the window, in this order.
    #[must_use]
    pub fn counts(&self, now: Instant) -> (u32, u32) {
        let mut sum = self.sum;
        for gone in 1..=closed(self.buckets.passed(now)) {
            // The oldest part stands above the open one, around the ring.
            let part = self.counts[(self.open + gone) % PARTS];
            sum.good = sum.good.saturating_sub(part.good);
            sum.bad = sum.bad.saturating_sub(part.bad);
        }
        (sum.good, sum.bad)
    }

    /// Whether more healthy answers than endpoint failures came within the window.
    #[must_use]
    pub fn more_good_than_bad(&self, now: Instant) -> bool {
        let (good, bad) = self.counts(now);
        good > bad
    }

    /// Whether nothing at all came within the window.
    #[must_use]
    pub fn untried(&self, now: Instant) -> bool {
        self.counts(now) == (0, 0)
    }

    /// Forgets everything, as after the end of an ejection.
    pub fn clear(&mut self) {
        self.counts = [Counts::default(); PARTS];
        self.sum = Counts::default();
    }

    fn open_at(&mut self, now: Instant) -> &mut Counts {
        for _ in 0..closed(self.buckets.advance(now)) {
            self.open = (self.open + 1) % PARTS;
            let gone = std::mem::take(&mut self.counts[self.open]);
            self.sum.good = self.sum.good.saturating_sub(gone.good);
            self.sum.bad = self.sum.bad.saturating_sub(gone.bad);
        }
        &mut self.counts[self.open]
    }
}

/// Closed parts as an index; past a whole ring all are gone.
fn closed(passed: u64) -> usize {
    usize::try_from(passed).map_or(PARTS, |passed| passed.min(PARTS))
}

#[cfg(test)]
mod tests;
