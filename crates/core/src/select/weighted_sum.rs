//! Four measures made comparable and added up.

use super::Candidate;

/// How much each measure counts. Only their proportions matter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// Of the median latency. Default 0.55.
    pub latency: f64,
    /// Of the error rate. Default 0.30.
    pub error: f64,
    /// Of the spent share of the quota. Default 0.10.
    pub quota: f64,
    /// Of the distance of the region. Default 0.05.
    pub affinity: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            latency: 0.55,
            error: 0.30,
            quota: 0.10,
            affinity: 0.05,
        }
    }
}

impl Weights {
    /// Refuses what cannot work.
    ///
    /// # Errors
    ///
    /// The name of the first field that is not 0 to 1000.
    pub fn check(&self) -> Result<(), &'static str> {
        let names = ["latency", "error", "quota", "affinity"];
        let fine = |weight: &f64| (0.0..=1_000.0).contains(weight);
        match self.array().iter().position(|weight| !fine(weight)) {
            Some(at) => Err(names[at]),
            None => Ok(()),
        }
    }

    const fn array(&self) -> [f64; 4] {
        [self.latency, self.error, self.quota, self.affinity]
    }
}

/// The range of each measure over the candidates of one choice.
pub(super) struct Ranges {
    weights: [f64; 4],
    low: [f64; 4],
    high: [f64; 4],
}

impl Ranges {
    pub(super) fn over(candidates: &[Candidate], weights: &Weights) -> Self {
        let mut ranges = Self {
            weights: weights.array(),
            low: [f64::INFINITY; 4],
            high: [f64::NEG_INFINITY; 4],
        };
        for measures in candidates.iter().map(measures) {
            for (at, value) in measures.into_iter().enumerate() {
                if value.is_finite() {
                    ranges.low[at] = ranges.low[at].min(value);
                    ranges.high[at] = ranges.high[at].max(value);
                }
            }
        }
        ranges
    }

    /// The weighted sum: each measure from 0 for the best candidate to 1 for the worst, and 0 for
    /// all where they do not differ. One that is no finite number counts as the worst.
    pub(super) fn sum(&self, candidate: &Candidate) -> f64 {
        let mut sum = 0.0;
        for (at, value) in measures(candidate).into_iter().enumerate() {
            let range = self.high[at] - self.low[at];
            let share = if !value.is_finite() {
                1.0
            } else if range > 0.0 {
                // Halved first, so that a range of all numbers does not overflow.
                (value / 2.0 - self.low[at] / 2.0) / (self.high[at] / 2.0 - self.low[at] / 2.0)
            } else {
                0.0
            };
            sum += self.weights[at] * share;
        }
        sum
    }
}

const fn measures(candidate: &Candidate) -> [f64; 4] {
    [
        candidate.p50_ms,
        candidate.error_rate,
        candidate.quota_burn,
        candidate.region_distance,
    ]
}
