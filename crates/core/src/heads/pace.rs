//! The chain's block time, measured from the movement of the reference head.
//!
//! The median of the last nine samples, so that a single glitch, however large, changes nothing, and
//! nine honest samples replace whatever was there before.

use smallvec::SmallVec;
use std::time::{Duration, Instant};

/// Samples kept; odd, so that there is a middle one.
const KEPT: usize = 9;
/// Samples needed before the measurement counts.
const NEEDED: usize = 3;
/// A sample spans at least this time: the reference is confirmed in bursts.
const SPAN: Duration = Duration::from_secs(2);
/// A reference that is still below the mark after this time is where the chain is now.
const SETTLED: Duration = Duration::from_secs(30);
/// What a block time may be.
const FASTEST: Duration = Duration::from_millis(10);
const SLOWEST: Duration = Duration::from_secs(120);

#[derive(Clone, Debug, Default)]
pub(super) struct Pace {
    samples: SmallVec<[Duration; KEPT]>,
    oldest: usize,
    mark: Option<(u64, Instant)>,
}

impl Pace {
    /// The reference is at `height`. A fall of more than `max_reorg` starts the measurement anew
    /// from there; one within it waits for the reference to come back, but not for long. Says
    /// whether a sample was taken.
    ///
    /// `max_reorg` must not follow from what is measured here: a block time that is far too short
    /// would keep itself alive.
    pub(super) fn record(&mut self, height: u64, now: Instant, max_reorg: u64) -> bool {
        let Some((from, since)) = self.mark else {
            self.mark = Some((height, now));
            return false;
        };
        let elapsed = now.saturating_duration_since(since);
        if height <= from {
            if from - height > max_reorg || (height < from && elapsed > SETTLED) {
                self.mark = Some((height, now));
            }
            return false;
        }
        if elapsed < SPAN {
            return false;
        }
        let nanos = elapsed.as_nanos() / u128::from(height - from);
        let time = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        self.mark = Some((height, now));
        if !(FASTEST..=SLOWEST).contains(&time) {
            return false;
        }
        if self.samples.len() < KEPT {
            self.samples.push(time);
        } else {
            self.samples[self.oldest] = time;
            self.oldest = (self.oldest + 1) % KEPT;
        }
        true
    }

    /// The block time, once three samples are there.
    pub(super) fn measured(&self) -> Option<Duration> {
        if self.samples.len() < NEEDED {
            return None;
        }
        let mut sorted = self.samples.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heads::tests::start;

    fn run(pace: &mut Pace, start: Instant, steps: &[(u64, u64)]) {
        for (millis, height) in steps {
            pace.record(*height, start + Duration::from_millis(*millis), 64);
        }
    }

    //
    #[test]
    fn three_samples_give_the_block_time() {
        let (mut pace, start) = (Pace::default(), start());
        run(&mut pace, start, &[(0, 100), (2000, 102), (4000, 104)]);
        assert_eq!(pace.measured(), None);
        run(&mut pace, start, &[(6000, 106)]);
        assert_eq!(pace.measured(), Some(Duration::from_secs(1)));
        // Bursts within two seconds are one sample.
        let mut pace = Pace::default();
        let burst = [(0, 100), (500, 101), (501, 104), (2000, 108), (4000, 116)];
        run(&mut pace, start, &burst);
        run(&mut pace, start, &[(6000, 124)]);
        assert_eq!(pace.measured(), Some(Duration::from_millis(250)));
    }

    // lessons A2
    #[test]
    fn glitches_leave_the_block_time_alone() {
        let (mut pace, start) = (Pace::default(), start());
        let honest = [(0, 100), (4000, 104), (8000, 108), (12_000, 112)];
        run(&mut pace, start, &honest);
        // A jump that lasts: the way back starts anew.
        run(&mut pace, start, &[(14_100, 1_000_000), (15_000, 115)]);
        assert_eq!(pace.mark.map(|(height, _)| height), Some(115));
        // A jump for a moment is not even seen.
        run(&mut pace, start, &[(15_100, 1_000_000), (17_000, 117)]);
        assert_eq!(pace.measured(), Some(Duration::from_secs(1)));
        // A small reorganisation is no movement.
        run(
            &mut pace,
            start,
            &[(18_000, 116), (19_000, 117), (23_000, 123)],
        );
        assert_eq!(pace.measured(), Some(Duration::from_secs(1)));
        // An hour without a block is no block time.
        run(&mut pace, start, &[(3_623_000, 124)]);
        assert_eq!(pace.samples.len(), 5);
    }

    // a mark that nobody reaches does not stop the measurement
    #[test]
    fn a_mark_a_little_too_high_is_given_up() {
        let (mut pace, start) = (Pace::default(), start());
        run(&mut pace, start, &[(0, 150)]);
        let below: Vec<_> = (1..=12).map(|i| (i * 4000, 100 + i * 4)).collect();
        run(&mut pace, start, &below);
        // The mark was moved at 32 s, and the samples are those of 36, 40 and 44 s, and of 48 s.
        assert_eq!(pace.measured(), Some(Duration::from_secs(1)));
        assert_eq!(pace.samples.len(), 4);
        // A still head at the mark is no fall: slow blocks are measured too.
        let mut pace = Pace::default();
        let slow: Vec<_> = (0..=360)
            .map(|second| (second * 1000, 7 + second / 90))
            .collect();
        run(&mut pace, start, &slow);
        assert_eq!(pace.measured(), Some(Duration::from_secs(90)));
    }

    // BSC shortened its block time twice
    #[test]
    fn a_new_block_time_replaces_the_old_one_after_five_samples() {
        let (mut pace, start) = (Pace::default(), start());
        let old: Vec<_> = (0..=9).map(|i| (i * 3000, 100 + i)).collect();
        run(&mut pace, start, &old);
        assert_eq!(pace.measured(), Some(Duration::from_secs(3)));
        let new: Vec<_> = (1..=5).map(|i| (27_000 + i * 3000, 109 + 4 * i)).collect();
        run(&mut pace, start, &new);
        assert_eq!(pace.measured(), Some(Duration::from_millis(750)));
    }
}
