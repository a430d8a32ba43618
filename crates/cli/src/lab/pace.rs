//! How fast callers were answered, second by second, and how soon after a fault that was normal
//! again.
//!
//! A call belongs to the second in which it was due, whenever it ended: a call that hung for five
//! seconds makes the second slow in which it was asked.

use crate::figures::percentile;
use highwater_lab::{scenario::Scenario, sockets::Sample};
use std::{ops::Range, time::Duration};

/// What is judged as one where the time to normal is measured.
const SLICE: Duration = Duration::from_millis(500);
/// Calls before this are not what is normal: connections are opened and nothing is measured yet.
const WARM: Duration = Duration::from_secs(1);

/// One call that is over.
#[derive(Clone, Copy, Debug)]
struct Call {
    due: Duration,
    /// In microseconds.
    took: u32,
    right: bool,
    /// Blocks by which its answer was behind the head that the chain had when it was due.
    behind: u64,
}

/// All calls so far.
#[derive(Debug, Default)]
pub(super) struct Pace {
    calls: Vec<Call>,
    /// By number, whether a call is over.
    ended: Vec<bool>,
    /// All calls with a lower number are over.
    whole: usize,
}

/// The calls that were due in some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) calls: u64,
    pub(super) right: u64,
    /// In microseconds.
    pub(super) p50: u32,
    /// In microseconds.
    pub(super) p99: u32,
    /// In microseconds.
    pub(super) slowest: u32,
    /// The most blocks by which an answer was behind.
    pub(super) behind: u64,
}

/// How soon after a fault began calls were as fast as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settled {
    /// The highest p99 that counts as normal, in microseconds: twice that of the time before the
    /// first fault.
    pub(super) normal: u32,
    /// When the last half second ended whose p99 was above that, since the fault began; zero where
    /// none was.
    pub(super) after: Duration,
}

impl Pace {
    /// A call is over; `head` is the head of the chain when it was due.
    pub(super) fn add(&mut self, sample: &Sample, head: u64) {
        self.calls.push(Call {
            due: sample.due,
            took: u32::try_from(sample.took.as_micros()).unwrap_or(u32::MAX),
            right: sample.outcome.is_ok(),
            behind: sample
                .outcome
                .as_ref()
                .map_or(0, |height| head.saturating_sub(*height)),
        });
        let place = usize::try_from(sample.number).unwrap_or(usize::MAX);
        if self.ended.len() <= place {
            self.ended.resize(place.saturating_add(1), false);
        }
        self.ended[place] = true;
        while self.ended.get(self.whole) == Some(&true) {
            self.whole += 1;
        }
    }

    /// Whether the first `begun` calls are all over.
    pub(super) fn has_all(&self, begun: u64) -> bool {
        self.whole as u64 >= begun
    }

    /// The calls that were due then.
    pub(super) fn part(&self, due: &Range<Duration>) -> Part {
        let calls = || self.calls.iter().filter(|call| due.contains(&call.due));
        let mut took: Vec<u32> = calls().map(|call| call.took).collect();
        took.sort_unstable();
        Part {
            calls: took.len() as u64,
            right: calls().filter(|call| call.right).count() as u64,
            p50: percentile(&took, 50),
            p99: percentile(&took, 99),
            slowest: took.last().copied().unwrap_or_default(),
            behind: calls().map(|call| call.behind).max().unwrap_or_default(),
        }
    }

    /// The time to normal after each beginning of a fault, in the order of the beginnings; what is
    /// judged of one ends where the next begins.
    pub(super) fn settled(&self, onsets: &[Duration], end: Duration) -> Vec<Settled> {
        let Some(first) = onsets.first() else {
            return Vec::new();
        };
        let normal = self.part(&(WARM..*first)).p99.saturating_mul(2);
        let ends = onsets.iter().skip(1).chain([&end]);
        let settled = onsets.iter().zip(ends).map(|(onset, end)| {
            let mut after = Duration::ZERO;
            let mut start = *onset;
            while start < *end {
                let next = start.saturating_add(SLICE);
                if self.part(&(start..next.min(*end))).p99 > normal {
                    after = next.min(*end).saturating_sub(*onset);
                }
                start = next;
            }
            Settled { normal, after }
        });
        settled.collect()
    }
}

/// When faults begin that are not there from the beginning, sorted, each moment once. `None`: one
/// begins so early that nothing can be said of the time before.
pub(super) fn onsets(scenario: &Scenario) -> Option<Vec<Duration>> {
    let faults = scenario.nodes.iter().flat_map(|(node, _)| &node.faults);
    let mut onsets = Vec::new();
    for fault in faults.filter(|fault| !fault.from.is_zero()) {
        let mut begins = Some(fault.from);
        while let Some(at) = begins.filter(|at| *at < scenario.duration) {
            onsets.push(at);
            begins = fault.every.and_then(|every| at.checked_add(every));
        }
    }
    onsets.sort_unstable();
    onsets.dedup();
    onsets
        .first()
        .is_none_or(|first| *first > WARM)
        .then_some(onsets)
}

#[cfg(test)]
mod tests {
    use super::{Pace, Part, Sample, Scenario, Settled, onsets};
    use std::time::Duration;

    const MS: Duration = Duration::from_millis(1);

    /// Four calls a second for so many seconds, each `took(number)` milliseconds.
    fn pace(seconds: u64, took: impl Fn(u64) -> u64) -> Pace {
        let mut pace = Pace::default();
        for number in 0..seconds * 4 {
            let sample = Sample {
                number,
                due: MS * 250 * u32::try_from(number).unwrap(),
                took: Duration::from_millis(took(number)),
                outcome: match number {
                    5 => Err("HTTP 500".to_owned()),
                    6 => Ok(7),
                    _ => Ok(10),
                },
            };
            pace.add(&sample, 10);
        }
        pace
    }

    #[test]
    fn a_call_belongs_to_the_second_in_which_it_was_due() {
        let pace = pace(2, |number| number + 1);
        let expected = Part {
            calls: 4,
            right: 3,
            p50: 6_000,
            p99: 8_000,
            slowest: 8_000,
            behind: 3,
        };
        assert_eq!(pace.part(&(MS * 1_000..MS * 2_000)), expected);
        assert_eq!(pace.part(&(MS * 2_000..MS * 9_000)), Part::default());
    }

    #[test]
    fn a_second_is_whole_when_every_call_begun_is_over() {
        let mut pace = Pace::default();
        let sample = |number| Sample {
            number,
            due: Duration::ZERO,
            took: MS,
            outcome: Ok(1),
        };
        pace.add(&sample(0), 1);
        pace.add(&sample(2), 1);
        assert!(pace.has_all(1) && !pace.has_all(2) && !pace.has_all(3));
        pace.add(&sample(1), 1);
        assert!(pace.has_all(3) && !pace.has_all(4));
    }

    #[test]
    fn the_time_to_normal_ends_with_the_last_slow_half_second() {
        // Slow from 4 s to 5.5 s, and once more from 8 s to 8.5 s.
        let slow = [16..22, 32..34];
        let pace = pace(12, |number| {
            let is_slow = slow.iter().any(|slow| slow.contains(&number));
            if is_slow { 21 } else { 10 }
        });
        let settled = |normal, ms| Settled {
            normal,
            after: MS * ms,
        };
        let end = MS * 12_000;
        let after = |onsets: &[Duration]| pace.settled(onsets, end);
        assert_eq!(after(&[MS * 4_000]), [settled(20_000, 4_500)]);
        let both = [MS * 4_000, MS * 7_000];
        let each = settled(20_000, 1_500);
        assert_eq!(after(&both), [each, each]);
        // What was slow before the first fault is normal.
        assert_eq!(after(&[MS * 9_000]), [settled(42_000, 0)]);
        assert!(after(&[]).is_empty());
    }

    #[test]
    fn faults_begin_again_until_the_scenario_ends() {
        let onsets = |faults: &str| {
            let text =
                format!("name = 't'\nduration = '9s'\n[[nodes]]\nname = 'a'\nfaults = [{faults}]");
            let onsets = onsets(&Scenario::parse(&text, None).unwrap());
            onsets.map(|all| all.into_iter().map(|at| at.as_secs()).collect::<Vec<_>>())
        };
        let hang = "{ kind = 'hang', from = '2s', until = '3s', every = '4s' }";
        let lag = "{ kind = 'lag', blocks = 3 }";
        let late = "{ kind = 'stuck', from = '6s' }";
        assert_eq!(onsets(&format!("{hang},{lag},{late}")), Some(vec![2, 6]));
        assert_eq!(onsets(lag), Some(Vec::new()));
        assert_eq!(onsets("{ kind = 'stuck', from = '900ms' }"), None);
    }
}
