//! The numbers of the head rules, and what they come to at the chain's pace.

use std::time::Duration;

/// The pace of a chain about which nothing is known: two blocks a second.
const UNKNOWN_PACE: Duration = Duration::from_millis(500);

/// How heads are believed and compared.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadSettings {
    /// Whether lag counts at all.
    pub enabled: bool,
    /// Blocks that an endpoint may be behind the reference without a penalty.
    pub max_lag: u64,
    /// The same in time; the more lenient of the two counts once the chain's pace is known.
    pub max_lag_time: Duration,
    /// Blocks by which a head may lead the others and still be believed.
    pub max_ahead: u64,
    /// Age past which a reading stops counting.
    pub stale: Duration,
    /// The chain's block time, where it is known beforehand. What is measured replaces it.
    pub block_time: Option<Duration>,
    /// Blocks behind the reference that count as drift.
    pub max_drift: u64,
    /// The same in time; the larger of the two counts.
    pub max_drift_time: Duration,
    /// How long an endpoint must be that far behind.
    pub drift_window: Duration,
    /// Blocks that a head may fall in a reorganisation. Past that the endpoint has fallen behind.
    pub max_reorg: u64,
    /// The same in time; the larger of the two counts.
    pub max_reorg_time: Duration,
    /// How long a head must stay at one height, while the only other voice moves on, to count as
    /// standing still. Three block times where those are longer.
    pub standstill: Duration,
}

impl Default for HeadSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            max_lag: 2,
            max_lag_time: Duration::from_secs(2),
            max_ahead: 1000,
            stale: Duration::from_secs(30),
            block_time: None,
            max_drift: 10,
            max_drift_time: Duration::from_secs(30),
            drift_window: Duration::from_secs(60),
            max_reorg: 64,
            max_reorg_time: Duration::from_secs(30),
            standstill: Duration::from_secs(5),
        }
    }
}

impl HeadSettings {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The name of the first field that is out of range: a duration of zero where time must pass,
    /// or a `max_ahead` below `max_lag`, under which an endpoint could be both level and too far
    /// ahead.
    pub fn check(&self) -> Result<(), &'static str> {
        let zero = Duration::ZERO;
        if self.max_ahead < self.max_lag {
            return Err("max_ahead");
        }
        if self.stale == zero {
            return Err("stale");
        }
        if self.block_time == Some(zero) {
            return Err("block_time");
        }
        if self.drift_window == zero {
            return Err("drift_window");
        }
        if self.standstill == zero {
            return Err("standstill");
        }
        Ok(())
    }

    /// How long a fallen head may be kept from voting: long enough for the drift rule to take the
    /// endpoint out first, and bounded, so that fresh evidence wins in the end.
    pub(super) fn fall_window(&self) -> Duration {
        self.drift_window.saturating_mul(2).max(self.stale)
    }

    /// The thresholds in blocks at a pace.
    pub(super) fn limits(&self, measured: Option<Duration>) -> Limits {
        let known = measured.or(self.block_time).filter(|time| !time.is_zero());
        let pace = known.unwrap_or(UNKNOWN_PACE);
        let at_known = |time| known.map_or(0, |pace| blocks(time, pace));
        Limits {
            pace,
            max_lag: self.max_lag.max(at_known(self.max_lag_time)),
            max_ahead: self.max_ahead,
            max_drift: self.max_drift.max(blocks(self.max_drift_time, pace)),
            max_reorg: self.max_reorg.max(blocks(self.max_reorg_time, pace)),
            standstill: self.standstill.max(pace.saturating_mul(3)),
            moving: self.drift_window.max(pace.saturating_mul(4)),
        }
    }
}

/// The thresholds at the chain's pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    /// Time from block to block.
    pub(super) pace: Duration,
    pub(super) max_lag: u64,
    pub(super) max_ahead: u64,
    pub(super) max_drift: u64,
    pub(super) max_reorg: u64,
    pub(super) standstill: Duration,
    /// The reference moves if it rose within this time.
    pub(super) moving: Duration,
}

impl Limits {
    /// A height carried forward at the chain's pace.
    pub(super) fn carried(&self, height: u64, elapsed: Duration) -> u64 {
        height.saturating_add(blocks(elapsed, self.pace))
    }
}

/// Whole blocks in a time.
fn blocks(time: Duration, pace: Duration) -> u64 {
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    nanos(time) / nanos(pace).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    //
    #[test]
    fn thresholds_in_time_are_the_more_lenient_on_fast_chains() {
        let settings = HeadSettings::default();
        let at = |millis| settings.limits(Some(Duration::from_millis(millis)));
        assert_eq!(
            (
                at(12_000).max_lag,
                at(12_000).max_drift,
                at(12_000).max_reorg
            ),
            (2, 10, 64)
        );
        assert_eq!(
            (at(1000).max_lag, at(1000).max_drift, at(1000).max_reorg),
            (2, 30, 64)
        );
        assert_eq!(
            (at(250).max_lag, at(250).max_drift, at(250).max_reorg),
            (8, 120, 120)
        );
        assert_eq!(at(12_000).standstill, Duration::from_secs(36));
        assert_eq!(at(250).standstill, Duration::from_secs(5));
    }

    //
    #[test]
    fn an_unknown_pace_is_two_blocks_a_second_and_leaves_the_lag_in_blocks() {
        let limits = HeadSettings::default().limits(None);
        assert_eq!(limits.carried(100, Duration::from_millis(1499)), 102);
        assert_eq!((limits.max_lag, limits.max_drift), (2, 60));
        assert_eq!(limits.carried(u64::MAX, Duration::MAX), u64::MAX);
    }

    #[test]
    fn settings_out_of_range_are_named() {
        assert_eq!(HeadSettings::default().check(), Ok(()));
        let change = |change: fn(&mut HeadSettings)| {
            let mut settings = HeadSettings::default();
            change(&mut settings);
            settings.check()
        };
        assert_eq!(change(|s| s.max_ahead = 1), Err("max_ahead"));
        assert_eq!(change(|s| s.stale = Duration::ZERO), Err("stale"));
        assert_eq!(
            change(|s| s.block_time = Some(Duration::ZERO)),
            Err("block_time")
        );
        assert_eq!(
            change(|s| s.drift_window = Duration::ZERO),
            Err("drift_window")
        );
        assert_eq!(change(|s| s.standstill = Duration::ZERO), Err("standstill"));
    }
}
