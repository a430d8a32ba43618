//! A rate and the endpoints whose rate is known.

use std::time::Duration;

/// A rate limit: so many requests a second, so many at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Requests a second; from 0.001 to 1 000 000.
    pub rps: f64,
    /// Most requests at once; from 1 to 1 000 000.
    pub burst: f64,
}

/// Slowest rate that can be set, in requests a second.
const SLOWEST: f64 = 0.001;
/// Fastest rate and largest burst that can be set.
const MOST: f64 = 1e6;

impl Rate {
    /// A rate with the default burst: two seconds of it, at least one request.
    #[must_use]
    pub fn of(rps: f64) -> Self {
        Self {
            rps,
            burst: default_burst(rps),
        }
    }

    /// Whether both numbers are in range.
    ///
    /// # Errors
    ///
    /// The name of the first that is not.
    pub fn check(&self) -> Result<(), &'static str> {
        if !(SLOWEST..=MOST).contains(&self.rps) {
            return Err("rps");
        }
        if !(1.0..=MOST).contains(&self.burst) {
            return Err("burst");
        }
        Ok(())
    }

    /// Time in which one request is earned, rounded up so that never too many are. Numbers out of
    /// range count as the nearest in range, and what is no number as the slowest.
    pub(super) fn interval(&self) -> Duration {
        let rps = if self.rps.is_nan() {
            SLOWEST
        } else {
            self.rps.clamp(SLOWEST, MOST)
        };
        Duration::from_nanos((1e9 / rps).ceil() as u64)
    }

    /// The lower of this rate and a learned one, with the burst that goes with it.
    pub(super) fn lowered_to(self, rps: f64) -> Self {
        if rps < self.rps {
            Self {
                rps,
                burst: self.burst.min(default_burst(rps)),
            }
        } else {
            self
        }
    }
}

fn default_burst(rps: f64) -> f64 {
    // `max` drops what is no number.
    (2.0 * rps).ceil().max(1.0)
}

/// The rate of an endpoint that is known to limit without saying so, unless the configuration sets
/// one.
#[must_use]
pub fn known(host: &str, path: &str) -> Option<Rate> {
    let path = path.strip_suffix('/').unwrap_or(path);
    (host.eq_ignore_ascii_case("rpc.hyperliquid.xyz") && path == "/evm").then_some(Rate {
        rps: 1.5,
        burst: 3.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    //
    #[test]
    fn holds_two_seconds_of_the_rate_and_at_least_one_by_default() {
        for (rps, burst) in [
            (0.2, 1.0),
            (0.5, 1.0),
            (0.51, 2.0),
            (1.5, 3.0),
            (25.0, 50.0),
            (f64::NAN, 1.0),
        ] {
            assert_eq!(Rate::of(rps).burst, burst, "{rps}");
        }
    }

    //
    #[test]
    fn knows_one_endpoint_and_no_other() {
        let hyperliquid = Some(Rate {
            rps: 1.5,
            burst: 3.0,
        });
        assert_eq!(known("rpc.hyperliquid.xyz", "/evm"), hyperliquid);
        assert_eq!(known("RPC.Hyperliquid.xyz", "/evm/"), hyperliquid);
        for (host, path) in [
            ("rpc.hyperliquid.xyz", "/"),
            ("rpc.hyperliquid.xyz", "/evm2"),
            ("hyperliquid.xyz", "/evm"),
            ("rpc.hyperliquid.xyz.example.org", "/evm"),
        ] {
            assert_eq!(known(host, path), None, "{host}{path}");
        }
    }

    //
    #[test]
    fn rounds_the_interval_up() {
        for (rps, nanos) in [
            (1.0, 1_000_000_000),
            (3.0, 333_333_334),
            (1.5, 666_666_667),
            (1e6, 1_000),
            (1e9, 1_000),
            (0.0, 1_000_000_000_000),
            (f64::NAN, 1_000_000_000_000),
        ] {
            assert_eq!(
                Rate::of(rps).interval(),
                Duration::from_nanos(nanos),
                "{rps}"
            );
        }
    }

    //
    #[test]
    fn takes_the_lower_of_two_rates_and_the_smaller_burst() {
        let set = Rate {
            rps: 10.0,
            burst: 5.0,
        };
        assert_eq!(set.lowered_to(10.0), set);
        assert_eq!(
            set.lowered_to(9.0),
            Rate {
                rps: 9.0,
                burst: 5.0
            }
        );
        assert_eq!(
            set.lowered_to(1.2),
            Rate {
                rps: 1.2,
                burst: 3.0
            }
        );
        assert_eq!(set.lowered_to(f64::NAN), set);
    }

    #[test]
    fn names_the_field_that_is_out_of_range() {
        let fine = Rate::of(25.0);
        assert_eq!(fine.check(), Ok(()));
        for rps in [0.0, 0.000_9, -1.0, 1e6 + 1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Rate { rps, ..fine }.check(), Err("rps"));
        }
        for burst in [0.0, 0.9, f64::NAN, f64::INFINITY] {
            assert_eq!(Rate { burst, ..fine }.check(), Err("burst"));
        }
    }
}
