//! What the fresh heads agree on.
//!
//! A pure function of the readings: nothing that was believed before can veto them. The one thing
//! taken from before, the last reference, only decides between two voices of which one stands still.

use super::settings::Limits;
use crate::mutant::{self, Mutant};
use smallvec::SmallVec;
use std::time::Instant;

/// A height and when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Height {
    pub(super) height: u64,
    pub(super) at: Instant,
}

/// The reading of one endpoint, as it is weighed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Heard {
    pub(super) group: u16,
    pub(super) height: u64,
    pub(super) at: Instant,
    /// When this height was first read.
    pub(super) since: Instant,
    /// It was below this height before.
    pub(super) rose: bool,
}

pub(super) type Readings = SmallVec<[Heard; 16]>;

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Agreement {
    /// No fresh head.
    Silence,
    /// Heads too far apart, and no majority.
    Disputed,
    /// The reference.
    Reached(Height),
}

impl Agreement {
    pub(super) fn height(self) -> Option<u64> {
        match self {
            Self::Reached(reference) => Some(reference.height),
            Self::Silence | Self::Disputed => None,
        }
    }
}

/// The highest head reached by two voices.
///
/// A head of 0 is what a node says that has not begun to synchronise, so it counts only where all
/// say so (lessons A3).
pub(super) fn agree(mut heard: Readings, limits: &Limits, last: Option<Height>) -> Agreement {
    if heard.is_empty() {
        return Agreement::Silence;
    }
    if heard.iter().any(|one| one.height > 0) {
        heard.retain(|one| one.height > 0);
    }
    let voices = voices(heard, limits);
    if mutant::is(Mutant::LoneLeaderLeads)
        && let Some(highest) = voices.iter().max_by_key(|one| one.height)
    {
        return reached(highest);
    }
    match voices.as_slice() {
        [] => Agreement::Disputed,
        [one] => reached(one),
        [a, b] => {
            let (low, high) = if a.height <= b.height { (a, b) } else { (b, a) };
            of_two(low, high, limits, last)
        }
        many => of_many(many, limits),
    }
}

fn reached(one: &Heard) -> Agreement {
    Agreement::Reached(Height {
        height: one.height,
        at: one.at,
    })
}

/// By how much `a` leads `b` at the time of `a`.
fn lead(a: &Heard, b: &Heard, limits: &Limits) -> u64 {
    let elapsed = a.at.saturating_duration_since(b.at);
    a.height.saturating_sub(limits.carried(b.height, elapsed))
}

/// One voice for each group: its highest head, as far as its members do not contradict each other.
/// Two that do are silent; of more, the middle decides.
fn voices(mut heard: Readings, limits: &Limits) -> Readings {
    heard.sort_unstable_by_key(|one| (one.group, one.height));
    let mut voices = Readings::new();
    for members in heard.chunk_by(|a, b| a.group == b.group) {
        let (Some(low), Some(high)) = (members.first(), members.last()) else {
            continue;
        };
        let plausible =
            |one: &&Heard, middle: &Heard| lead(one, middle, limits) <= limits.max_ahead;
        if plausible(&high, low) {
            voices.push(*high);
        } else if let Some(middle) = members.get(members.len() / 2).filter(|_| members.len() > 2) {
            voices.extend(members.iter().rfind(|one| plausible(one, middle)).copied());
        }
    }
    voices
}

/// Two voices: the lower head, which both have reached, or nothing where they are further apart than
/// `max_ahead`.
///
/// One that stands still while the other moves on is no second voice (scenario P12): its head is not
/// too old, it does not move. Past `max_ahead` that holds only for a mover that is where the
/// reference was going, so that a stranger's head never wins by moving.
fn of_two(low: &Heard, high: &Heard, limits: &Limits, last: Option<Height>) -> Agreement {
    let near = lead(high, low, limits) <= limits.max_ahead;
    let still = high.height - low.height > limits.max_lag
        && high.rose
        && high.since > low.since
        && low.at.saturating_duration_since(low.since) >= limits.standstill;
    let expected = last.is_some_and(|last| {
        let elapsed = high.at.saturating_duration_since(last.at);
        let bound = limits.carried(last.height, elapsed);
        high.height <= bound.saturating_add(limits.max_ahead)
    });
    if still && (near || expected) {
        reached(high)
    } else if near {
        reached(low)
    } else {
        Agreement::Disputed
    }
}

/// Three or more: each is compared with the median of the others, and the leaders are ignored.
fn of_many(voices: &[Heard], limits: &Limits) -> Agreement {
    let mut kept: Readings = voices
        .iter()
        .enumerate()
        .filter(|(index, one)| {
            let mut others: SmallVec<[u64; 16]> = voices
                .iter()
                .enumerate()
                .filter(|(other, _)| other != index)
                .map(|(_, other)| {
                    let elapsed = one.at.saturating_duration_since(other.at);
                    limits.carried(other.height, elapsed)
                })
                .collect();
            others.sort_unstable();
            // The upper of two middle ones: with three voices, two that agree are a majority.
            let median = others.get(others.len() / 2).copied().unwrap_or(u64::MAX);
            one.height <= median.saturating_add(limits.max_ahead)
        })
        .map(|(_, one)| *one)
        .collect();
    kept.sort_unstable_by_key(|one| (one.height, one.at));
    match kept.as_slice() {
        [] => Agreement::Disputed,
        [one] => reached(one),
        [low, high] if lead(high, low, limits) > limits.max_ahead => Agreement::Disputed,
        [.., second, _] => reached(second),
    }
}
