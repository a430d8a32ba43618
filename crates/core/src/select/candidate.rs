//! What a strategy is told of an endpoint.

use crate::EndpointId;

/// An endpoint that may serve the call, as it stands at the moment of choosing. Candidates are given
/// in the order of the configuration: ties go to the earlier one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Which endpoint it is.
    pub endpoint: EndpointId,
    /// Its score, lower is better.
    pub score: f64,
    /// Its weight; 0, negative or no number is never drawn while another has one.
    pub weight: f64,
    /// Latency average in milliseconds, for `least-loaded`; counts only where it is `measured`.
    pub latency_ms: f64,
    /// Operations under way there; an endpoint with none is free.
    pub active: u32,
    /// Median latency of the last five minutes in milliseconds, for `weighted-sum`; what is expected
    /// of the endpoint where it has no median.
    pub p50_ms: f64,
    /// Error rate of the last five minutes, 0 to 1.
    pub error_rate: f64,
    /// Spent share of the nearest quota period, 0 to 1.
    pub quota_burn: f64,
    /// Distance from the observer's region: 0, 0.5 or 1.
    pub region_distance: f64,
    /// Whether any real call gave it a latency yet.
    pub measured: bool,
}

/// A value of which the lower is better as a number with a total order: one that is no number is the
/// worst, and both zeros are one.
pub(super) fn rank(value: f64) -> i64 {
    let number = if value.is_nan() { f64::INFINITY } else { value };
    let bits = (number + 0.0).to_bits() as i64;
    // The magnitude of negative floats grows downwards, that of integers upwards.
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

/// The position with the least key among those that are not taken; the earlier one of a tie.
pub(super) fn least<K: Ord>(
    candidates: &[Candidate],
    taken: &[usize],
    key: impl Fn(&Candidate) -> K,
) -> Option<usize> {
    let left = candidates.iter().enumerate();
    left.filter(|(at, _)| !taken.contains(at))
        .min_by_key(|(_, candidate)| key(candidate))
        .map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::rank;

    #[test]
    fn ranks_numbers_by_size_and_what_is_no_number_last() {
        let ascending = [f64::NEG_INFINITY, -2.0, -1e-300, 0.0, 1e-300, 1.0, f64::MAX];
        assert!(ascending.is_sorted_by(|a, b| rank(*a) < rank(*b)));
        assert_eq!(rank(-0.0), rank(0.0));
        for nan in [f64::NAN, -f64::NAN] {
            assert_eq!(rank(nan), rank(f64::INFINITY));
        }
    }
}
