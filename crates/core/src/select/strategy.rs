//! The ways to choose.

use super::Weights;
use std::fmt;

/// How an endpoint is chosen among those that may serve a call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Strategy {
    /// The better of two drawn at random, by score.
    #[default]
    Adaptive,
    /// The least sum of latency, errors, quota and distance.
    WeightedSum(Weights),
    /// One after the other.
    RoundRobin,
    /// Any, each as likely as the other.
    Random,
    /// Any, as likely as its weight says.
    Weighted,
    /// The least latency by operations under way.
    LeastLoaded,
    /// A fresh random order for every call. It never races or hedges, which the caller sees
    /// to.
    Shuffle,
}

impl Strategy {
    /// Its name in a configuration.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Adaptive => "adaptive",
            Self::WeightedSum(_) => "weighted-sum",
            Self::RoundRobin => "round-robin",
            Self::Random => "random",
            Self::Weighted => "weighted",
            Self::LeastLoaded => "least-loaded",
            Self::Shuffle => "shuffle",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
