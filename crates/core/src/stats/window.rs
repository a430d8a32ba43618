//! Five minutes of one endpoint's answers in one lane.

use super::{
    buckets::Buckets,
    histogram::{Histogram, Merged},
    trend::Trend,
};
use std::time::{Duration, Instant};

/// Buckets in the window. The oldest one leaves as a whole, so the window is never longer than ten
/// buckets, and at most one shorter.
const BUCKETS: usize = 10;

/// Up to this many latencies the kept median is exact; past that it is renewed with every 32nd part
/// of them.
const EXACT: u64 = 32;

/// How a window is cut and what counts as rising.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowSettings {
    /// Length of a bucket, a tenth of the window. Default 30 s.
    pub bucket: Duration,
    /// Rise of the median latency, as a share per minute, above which a bucket counts as rising.
    /// Default 0.1, that is 10 % a minute.
    pub rising: f64,
    /// Buckets in a row that must rise before the slope counts. Default 3.
    pub rising_buckets: u32,
}

impl Default for WindowSettings {
    fn default() -> Self {
        Self {
            bucket: Duration::from_secs(30),
            rising: 0.1,
            rising_buckets: 3,
        }
    }
}

impl WindowSettings {
    /// Refuses what cannot work.
    ///
    /// # Errors
    ///
    /// The name of the first field out of range: `bucket` is a second to an hour, `rising` 0 to 100,
    /// `rising_buckets` at least 1.
    pub fn check(&self) -> Result<(), &'static str> {
        if !(Duration::from_secs(1)..=Duration::from_secs(3_600)).contains(&self.bucket) {
            return Err("bucket");
        }
        if !(0.0..=100.0).contains(&self.rising) {
            return Err("rising");
        }
        if self.rising_buckets == 0 {
            return Err("rising_buckets");
        }
        Ok(())
    }

    /// Buckets per minute.
    fn per_minute(&self) -> f64 {
        60.0 / self.bucket.as_secs_f64().max(0.001)
    }
}

/// The answers of one endpoint in one lane over a sliding five minutes: median and 99th percentile
/// of the latency, its slope, and the error rate.
///
/// It ages by the instants it is given: what is older than the window does not count, whether or not
/// anything came since. An empty window takes little memory, so one can be kept per lane.
#[derive(Clone, Debug)]
pub struct Window {
    settings: WindowSettings,
    clock: Buckets,
    ring: [Bucket; BUCKETS],
    open: usize,
    trend: Trend,
    /// The median as of the last renewal, and latencies recorded since.
    median: Option<f64>,
    since: u64,
}

#[derive(Clone, Debug, Default)]
struct Bucket {
    latencies: Histogram,
    good: u32,
    bad: u32,
}

impl Default for Window {
    fn default() -> Self {
        Self::new(WindowSettings::default())
    }
}

impl Window {
    /// An empty window; its first bucket opens with the first answer.
    #[must_use]
    pub fn new(settings: WindowSettings) -> Self {
        Self {
            settings,
            clock: Buckets::new(settings.bucket),
            ring: Default::default(),
            open: 0,
            trend: Trend::default(),
            median: None,
            since: 0,
        }
    }

    /// A healthy answer after `ms` milliseconds.
    pub fn success(&mut self, ms: f64, now: Instant) {
        let open = self.open_at(now);
        open.good = open.good.saturating_add(1);
        open.latencies.add(ms);
        self.since += 1;
        if self.since * EXACT >= self.latencies() {
            self.renew_median();
        }
    }

    /// A healthy answer whose duration says nothing of the endpoint.
    pub fn error_free(&mut self, now: Instant) {
        let open = self.open_at(now);
        open.good = open.good.saturating_add(1);
    }

    /// An endpoint failure. A timeout is one, and no latency.
    pub fn failure(&mut self, now: Instant) {
        let open = self.open_at(now);
        open.bad = open.bad.saturating_add(1);
    }

    /// The median latency in milliseconds, to 7 % or 1/16 ms; none without a success in the window. Read for
    /// every call under `weighted-sum`, so it is kept, and may lag behind by 3 % of the answers.
    #[must_use]
    pub fn p50(&self, now: Instant) -> Option<f64> {
        if self.clock.passed(now) == 0 {
            return self.median;
        }
        self.merged(now).quantile(0.5)
    }

    /// The latency in milliseconds that one answer in a hundred exceeds, as exact as [`Self::p50`].
    #[must_use]
    pub fn p99(&self, now: Instant) -> Option<f64> {
        self.merged(now).quantile(0.99)
    }

    /// Failures as a share of all answers, 0 to 1; 0 without any.
    #[must_use]
    pub fn error_rate(&self, now: Instant) -> f64 {
        let mut good = 0_u64;
        let mut bad = 0_u64;
        for bucket in self.kept(now) {
            good += u64::from(bucket.good);
            bad += u64::from(bucket.bad);
        }
        if bad == 0 {
            return 0.0;
        }
        bad as f64 / (good + bad) as f64
    }

    /// How fast the median rises, as a share per minute (0.2 is 20 % a minute), once it has risen
    /// faster than `rising` for `rising_buckets` buckets in a row; else 0. Never negative.
    ///
    /// It is the least-squares line through the medians of the last ten closed buckets, by its mean.
    #[must_use]
    pub fn slope(&self, now: Instant) -> f64 {
        let rise = |trend: &Trend| trend.rise(self.settings.rising_buckets);
        let per_bucket = match self.clock.passed(now) {
            0 => rise(&self.trend),
            1 => rise(&self.trend_after_open()),
            // A whole bucket passed without an answer, and that ends a rise.
            _ => 0.0,
        };
        (per_bucket * self.settings.per_minute()).max(0.0)
    }

    /// The same line whatever it does, as a share per minute: for pages, not for the score.
    #[must_use]
    pub fn trend(&self, now: Instant) -> f64 {
        let passed = self.clock.passed(now);
        let mut trend = self.trend.clone();
        for closed in 0..passed.min(BUCKETS as u64 + 1) {
            let median = if closed == 0 {
                self.open_median()
            } else {
                None
            };
            trend.close(median, self.threshold());
        }
        trend.change() * self.settings.per_minute()
    }

    /// Change per bucket above which it counts as rising.
    fn threshold(&self) -> f64 {
        self.settings.rising / self.settings.per_minute()
    }

    fn open_median(&self) -> Option<f64> {
        Merged::of([&self.ring[self.open].latencies].into_iter()).quantile(0.5)
    }

    fn trend_after_open(&self) -> Trend {
        let mut trend = self.trend.clone();
        trend.close(self.open_median(), self.threshold());
        trend
    }

    /// The buckets that count at `now`, newest first.
    fn kept(&self, now: Instant) -> impl Iterator<Item = &Bucket> {
        let kept = BUCKETS.saturating_sub(closed(self.clock.passed(now)));
        (0..kept).map(|age| &self.ring[(self.open + BUCKETS - age) % BUCKETS])
    }

    fn merged(&self, now: Instant) -> Merged {
        Merged::of(self.kept(now).map(|bucket| &bucket.latencies))
    }

    /// Latencies in the ring.
    fn latencies(&self) -> u64 {
        self.ring
            .iter()
            .map(|bucket| bucket.latencies.total())
            .sum()
    }

    fn renew_median(&mut self) {
        self.median = Merged::of(self.ring.iter().map(|bucket| &bucket.latencies)).quantile(0.5);
        self.since = 0;
    }

    fn open_at(&mut self, now: Instant) -> &mut Bucket {
        let passed = self.clock.advance(now);
        if passed > 0 {
            // One more than the ring, so that the trend forgets the bucket that was open too.
            for age in 0..passed.min(BUCKETS as u64 + 1) {
                let median = if age == 0 { self.open_median() } else { None };
                self.trend.close(median, self.threshold());
            }
            for _ in 0..closed(passed) {
                self.open = (self.open + 1) % BUCKETS;
                let bucket = &mut self.ring[self.open];
                bucket.latencies.clear();
                bucket.good = 0;
                bucket.bad = 0;
            }
            self.renew_median();
        }
        &mut self.ring[self.open]
    }
}

/// Closed buckets as an index; past a whole ring all are gone.
fn closed(passed: u64) -> usize {
    usize::try_from(passed).map_or(BUCKETS, |passed| passed.min(BUCKETS))
}

#[cfg(test)]
mod tests;
