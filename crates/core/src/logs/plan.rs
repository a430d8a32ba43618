//! A range in parts (P-23).
//!
//! The parts lie one after the other and cover the range, whatever becomes of each: one that is answered
//! keeps its answer, one that is refused or doubted is cut further. The whole is there when every part
//! is, and in order; a part that fails fails the whole.

use crate::mutant::{self, Mutant};
use std::collections::BTreeMap;

/// Blocks from one to another, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// The first.
    pub from: u64,
    /// The last.
    pub to: u64,
}

impl Part {
    /// How many; saturated at `u64::MAX`.
    #[must_use]
    pub const fn blocks(self) -> u64 {
        (self.to - self.from).saturating_add(1)
    }
}

/// More parts than may be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany {
    /// How many may be.
    pub most: u32,
}

#[derive(Debug)]
enum State<T> {
    Waiting,
    Asked,
    Answered(T),
}

/// A range that is asked for in parts.
#[derive(Debug)]
pub struct Plan<T> {
    /// By their first block.
    parts: BTreeMap<u64, (u64, State<T>)>,
    /// Requests made so far, and those yet to be made.
    requests: u32,
    most: u32,
}

impl<T> Plan<T> {
    /// A range in parts of at most so many blocks (at least one). The range must not be empty.
    ///
    /// # Errors
    /// It would take more requests than `most`.
    pub fn new(range: Part, width: u64, most: u32) -> Result<Self, TooMany> {
        let mut plan = Self {
            parts: BTreeMap::new(),
            requests: 0,
            most,
        };
        plan.lay(range, width)?;
        Ok(plan)
    }

    /// Lays out a range, the last part as wide as it may be: blocks that are not final yet should be one
    /// endpoint's word.
    fn lay(&mut self, range: Part, width: u64) -> Result<(), TooMany> {
        let too_many = TooMany { most: self.most };
        // All blocks there are may be one more than a width can say.
        let width = match width {
            u64::MAX => range.to - range.from,
            width => width.max(1) - 1,
        };
        let pieces = ((range.to - range.from) / width.saturating_add(1)).saturating_add(1);
        let total = u64::from(self.requests).saturating_add(pieces);
        if total > u64::from(self.most) {
            return Err(too_many);
        }
        self.requests = u32::try_from(total).map_err(|_| too_many)?;
        let mut to = range.to;
        loop {
            let from = to.saturating_sub(width).max(range.from);
            self.parts.insert(from, (to, State::Waiting));
            if from == range.from {
                return Ok(());
            }
            to = from - 1;
        }
    }

    /// The next part to ask for, lowest first; `None`: all are asked for.
    pub fn take_next(&mut self) -> Option<Part> {
        let (from, (to, state)) = self
            .parts
            .iter_mut()
            .find(|(_, (_, state))| matches!(state, State::Waiting))?;
        *state = State::Asked;
        Some(Part {
            from: *from,
            to: *to,
        })
    }

    /// A part is answered.
    pub fn answered(&mut self, part: Part, answer: T) {
        if let Some((to, state)) = self.parts.get_mut(&part.from)
            && *to == part.to
        {
            *state = State::Answered(answer);
        }
    }

    /// A part is asked for again.
    ///
    /// # Errors
    /// That would be one request too many; the plan is then of no use any more.
    pub fn again(&mut self, part: Part) -> Result<(), TooMany> {
        self.cut(part, part.blocks())
    }

    /// A part is asked for again in parts of at most so many blocks.
    ///
    /// # Errors
    /// That would be too many requests; the plan is then of no use any more.
    pub fn cut(&mut self, part: Part, width: u64) -> Result<(), TooMany> {
        let is_known = self
            .parts
            .get(&part.from)
            .is_some_and(|(to, _)| *to == part.to);
        if !is_known {
            return Ok(());
        }
        self.parts.remove(&part.from);
        self.lay(part, width)
    }

    /// The answers in the order of their blocks, once every part is there.
    pub fn finish(self) -> Option<Vec<(Part, T)>> {
        let parts = self.parts.into_iter();
        let answers = parts.map(|(from, (to, state))| match state {
            State::Answered(answer) => Some((Part { from, to }, answer)),
            State::Waiting | State::Asked => None,
        });
        let mut answers: Vec<(Part, T)> = answers.collect::<Option<_>>()?;
        if mutant::is(Mutant::LastPartLost) && answers.len() > 1 {
            answers.pop();
        }
        if mutant::is(Mutant::PartsTurned) {
            answers.reverse();
        }
        Some(answers)
    }
}
