//! How long a healthy answer takes.

use std::time::Duration;

use crate::rng::Rng;

/// A distribution of answer times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Latency {
    /// Always the same.
    Constant(Duration),
    /// Log-normal: half the answers below the median, a tail above it.
    LogNormal {
        /// The median.
        median: Duration,
        /// Standard deviation of the logarithm; 0.5 puts the 99th percentile at 3.2 medians.
        sigma: f64,
    },
    /// Mostly fast, sometimes slow.
    Bimodal {
        /// Time of a fast answer.
        fast: Duration,
        /// Time of a slow answer.
        slow: Duration,
        /// Share of slow answers.
        slow_share: f64,
    },
}

impl Latency {
    /// One draw, in whole microseconds and at most an hour.
    #[must_use]
    pub fn draw(&self, rng: &mut Rng) -> Duration {
        match *self {
            Self::Constant(duration) => duration,
            Self::LogNormal { median, sigma } => scaled(median, (sigma * rng.normal()).exp()),
            Self::Bimodal {
                fast,
                slow,
                slow_share,
            } => {
                if rng.chance(slow_share) {
                    slow
                } else {
                    fast
                }
            }
        }
    }
}

/// A duration times a factor; a factor that is no number counts as an hour.
#[must_use]
pub(super) fn scaled(duration: Duration, factor: f64) -> Duration {
    let micros = duration.as_secs_f64() * factor * 1e6;
    // `min` drops a NaN, and `as` takes what is below zero as zero.
    Duration::from_micros(micros.min(3.6e9) as u64)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Latency, scaled};
    use crate::rng::Rng;

    const MS: Duration = Duration::from_millis(1);

    fn sorted(latency: Latency) -> Vec<Duration> {
        let mut draws: Vec<_> = (0..1_000)
            .map(|n| latency.draw(&mut Rng::at(3, &[n])))
            .collect();
        draws.sort();
        draws
    }

    // B-2
    #[test]
    fn draws_around_the_median_with_a_tail() {
        let draws = sorted(Latency::LogNormal {
            median: MS * 40,
            sigma: 0.5,
        });
        assert!((MS * 36..MS * 44).contains(&draws[500]), "{:?}", draws[500]);
        assert!(
            (MS * 95..MS * 180).contains(&draws[990]),
            "{:?}",
            draws[990]
        );
    }

    // B-2
    #[test]
    fn draws_the_stated_share_of_slow_answers() {
        let draws = sorted(Latency::Bimodal {
            fast: MS,
            slow: MS * 500,
            slow_share: 0.1,
        });
        let slow = draws.iter().filter(|draw| **draw == MS * 500).count();
        assert!((70..130).contains(&slow), "{slow}");
        assert_eq!(sorted(Latency::Constant(MS))[999], MS);
    }

    #[test]
    fn survives_factors_that_are_no_numbers() {
        assert_eq!(scaled(MS, f64::NAN), Duration::from_secs(3_600));
        assert_eq!(scaled(MS, f64::INFINITY), Duration::from_secs(3_600));
        assert_eq!(scaled(MS, -1.0), Duration::ZERO);
    }
}
