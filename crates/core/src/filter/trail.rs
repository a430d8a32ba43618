//! How far a filter was polled.

use super::{Header, Mark, elements};
use crate::answer::Hash;
use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

/// An endpoint shows a block a moment before its filters do.
const SETTLED: Duration = Duration::from_secs(1);
/// Least time between two looks for a later anchor.
const EVERY: Duration = Duration::from_secs(10);
/// Most changes after the anchor that are remembered; past it a replay could repeat something.
const MOST_GIVEN: usize = 5_000;
/// Most blocks that a filter of blocks is replayed over: each is a request.
const MOST_BLOCKS: u64 = 256;

/// What a filter tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Logs.
    Logs,
    /// Hashes of blocks.
    Blocks,
    /// Hashes of transactions that wait: nothing of it can be told again.
    Pending,
}

/// A block up to which all was handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Its height.
    pub number: u64,
    /// Its hash.
    pub hash: Hash,
}

/// What came of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replay {
    /// Places in what was found of what is new, in its order.
    New(Vec<usize>),
    /// The endpoint is not as far as the filter was polled: later, or elsewhere.
    Behind,
    /// It cannot be proven that nothing is lost or repeated.
    Unproven,
}

/// How far a filter was polled, and what was handed out since.
#[derive(Clone, Debug)]
pub struct Trail {
    kind: Kind,
    anchor: Option<Anchor>,
    /// The anchor to be, once a later poll has worked, and when it was read.
    offered: Option<(Anchor, Instant)>,
    looked: Instant,
    /// Handed out since the anchor, in order.
    given: Vec<Mark>,
}

impl Trail {
    /// A filter that was made after its endpoint had shown this block.
    #[must_use]
    pub const fn new(kind: Kind, anchor: Option<Anchor>, now: Instant) -> Self {
        Self {
            kind,
            anchor,
            offered: None,
            looked: now,
            given: Vec::new(),
        }
    }

    /// The last block that was polled for sure; `None`: nobody knows, and nothing can be told again.
    #[must_use]
    pub const fn anchor(&self) -> Option<Anchor> {
        self.anchor
    }

    /// The highest block that the filter is known to have told of.
    #[must_use]
    pub fn highest(&self) -> Option<u64> {
        let given = self.given.iter().filter_map(|mark| mark.number);
        given.chain(self.anchor.map(|anchor| anchor.number)).max()
    }

    /// Whether to read the endpoint's head beside the poll that begins now.
    pub fn looks(&mut self, now: Instant) -> bool {
        let due = self.kind != Kind::Pending
            && self.offered.is_none()
            && now.saturating_duration_since(self.looked) >= EVERY;
        if due {
            self.looked = now;
        }
        due
    }

    /// The endpoint showed this block at this moment.
    pub const fn offer(&mut self, anchor: Anchor, at: Instant) {
        self.offered = Some((anchor, at));
    }

    /// The endpoint's filter told these changes, a JSON list, in a poll that began then.
    pub fn polled(&mut self, changes: &str, began: Instant) {
        if self.kind == Kind::Pending {
            return;
        }
        if self.note(changes).is_none() || self.given.len() > MOST_GIVEN {
            // What was handed out is not known any more: only a later anchor helps.
            self.anchor = None;
            self.offered = None;
            self.given.clear();
            return;
        }
        let settled =
            |(_, at): &mut (Anchor, Instant)| at.checked_add(SETTLED).is_some_and(|at| at <= began);
        if let Some((anchor, _)) = self.offered.take_if(settled) {
            self.settle_on(anchor);
        }
    }

    fn note(&mut self, changes: &str) -> Option<()> {
        for change in elements(changes)? {
            match self.kind {
                Kind::Logs => {
                    let (mark, removed) = Mark::of_log(change)?;
                    if removed {
                        self.given.retain(|given| *given != mark);
                    } else {
                        self.given.push(mark);
                    }
                }
                Kind::Blocks => self.given.push(Mark::of_block(change)?),
                Kind::Pending => {}
            }
        }
        Some(())
    }

    fn settle_on(&mut self, anchor: Anchor) {
        match self.kind {
            Kind::Logs => self.given.retain(|mark| mark.number > Some(anchor.number)),
            Kind::Blocks => {
                let mut given = self.given.iter();
                match given.position(|mark| mark.hash == anchor.hash) {
                    Some(place) => drop(self.given.drain(..=place)),
                    // It was not told of, so it is none.
                    None => return,
                }
            }
            Kind::Pending => return,
        }
        self.anchor = Some(anchor);
    }

    /// Whether a replay up to this head is possible at all.
    #[must_use]
    pub fn reaches(&self, head: u64) -> bool {
        let Some(anchor) = self.anchor else {
            return false;
        };
        match self.kind {
            Kind::Logs => true,
            Kind::Blocks => head.saturating_sub(anchor.number) <= MOST_BLOCKS,
            Kind::Pending => false,
        }
    }

    /// All logs that the filter looks for, after the anchor up to this head. That the anchor is on the
    /// same chain was seen.
    #[must_use]
    pub fn replay_logs(&self, found: &[Mark], head: Anchor) -> Replay {
        let Some(anchor) = self.anchor else {
            return Replay::Unproven;
        };
        if self.highest() > Some(head.number) {
            return Replay::Behind;
        }
        let in_range = |mark: &Mark| {
            let number = mark.number;
            number > Some(anchor.number) && number <= Some(head.number)
        };
        if !found.iter().all(in_range) {
            return Replay::Unproven;
        }
        let at_head = |mark: &&Mark| mark.number == Some(head.number);
        if found
            .iter()
            .filter(at_head)
            .any(|mark| mark.hash != head.hash)
        {
            // The chain turned while we looked.
            return Replay::Behind;
        }
        let there: HashSet<_> = found.iter().collect();
        if !self.given.iter().all(|given| there.contains(given)) {
            return Replay::Unproven;
        }
        Replay::New(self.not_given(found.iter()))
    }

    /// All blocks after the anchor, in order.
    #[must_use]
    pub fn replay_blocks(&self, found: &[Header]) -> Replay {
        let Some(anchor) = self.anchor else {
            return Replay::Unproven;
        };
        let mut before = anchor;
        for block in found {
            if block.parent != before.hash || Some(block.number) != before.number.checked_add(1) {
                return Replay::Unproven;
            }
            before = Anchor {
                number: block.number,
                hash: block.hash,
            };
        }
        let there: HashSet<_> = found.iter().map(|block| block.hash).collect();
        if !self.given.iter().all(|given| there.contains(&given.hash)) {
            let told: HashSet<_> = self.given.iter().map(|given| given.hash).collect();
            return if there.is_subset(&told) {
                Replay::Behind
            } else {
                Replay::Unproven
            };
        }
        let marks: Vec<_> = found
            .iter()
            .map(|block| Mark {
                number: None,
                hash: block.hash,
                index: None,
            })
            .collect();
        Replay::New(self.not_given(marks.iter()))
    }

    fn not_given<'a>(&self, found: impl Iterator<Item = &'a Mark>) -> Vec<usize> {
        let given: HashSet<_> = self.given.iter().collect();
        let found = found.enumerate();
        let new = found.filter(|(_, mark)| !given.contains(mark));
        new.map(|(place, _)| place).collect()
    }

    /// All up to this block was handed out.
    pub fn moved_to(&mut self, anchor: Anchor) {
        self.anchor = Some(anchor);
        self.offered = None;
        self.given.clear();
    }
}
