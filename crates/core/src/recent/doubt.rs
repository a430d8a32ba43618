//! What voices say against the chain, and against each other.

use super::{Block, Path, Recent, Statement, WINDOW};
use crate::answer::Hash;
use smallvec::SmallVec;
use std::time::Instant;

/// Where a tip is on another branch than the chain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Denial {
    /// From here on it may be.
    from: u64,
    /// From here on it is.
    sure: u64,
}

impl Recent {
    /// Whether the chain has another block at a height. Its lowest header names the block below.
    #[must_use]
    pub fn denies(&self, number: u64, hash: &Hash) -> bool {
        let lowest = || {
            self.headers
                .get(&(self.base, *self.chain.front()?))
                .copied()
        };
        let known = if number.checked_add(1) == Some(self.base) {
            lowest()
        } else {
            self.hash_at(number)
        };
        known.is_some_and(|known| known != *hash)
    }

    /// Where a tip shows that there is another branch, all above the fork is dropped: what was read
    /// before anybody said which block is at its height may be of either (P-14). While the fork is
    /// looked for, it is in doubt ([`Recent::is_disputed`]).
    pub(super) fn on_branch(&mut self, tip: Block) {
        match self.path(tip) {
            Path::From { fork, above } if !above.is_empty() => {
                if self.tip().is_some_and(|own| fork < own.number) {
                    self.record(fork);
                }
            }
            Path::Deep => self.record(self.base.saturating_sub(1)),
            Path::From { .. } | Path::Missing(_) | Path::Far => {}
        }
    }

    /// Whether the voices out of the chain's reach are more than those on it or near it.
    pub(super) fn is_outvoted(&self, tip: Block, now: Instant) -> bool {
        let far = |one: &&Statement| matches!(self.path(one.tip), Path::Far | Path::Deep);
        let with = self.fresh(now).filter(far).count();
        let others = self.fresh(now).count() - with;
        let higher = self.tip().is_some_and(|own| tip.number > own.number);
        with > others || (with == others && higher)
    }

    /// Whether the voices on branches that nobody knows the way down from are more than those that
    /// are on the chain as far up as those deny it.
    pub(super) fn is_outvoted_beside(&self, tip: Block, now: Instant) -> bool {
        let own = self.tip().map_or(0, |own| own.number);
        let beside = |one: &&Statement| matches!(self.path(one.tip), Path::Missing(missing) if missing.number <= own);
        let with = self.fresh(now).filter(beside).count();
        let others = self.fresh(now).filter(|one| self.contains(one.tip)).count();
        with > others || (with == others && tip.number > own)
    }

    /// Where a tip denies the chain; where the way down from it is not known, everything is in doubt.
    pub(super) fn denied(&self, tip: Block) -> Option<Denial> {
        let own = self.tip()?.number;
        let (from, sure) = match self.path(tip) {
            Path::From { fork, above } if fork < own && !above.is_empty() => (fork + 1, fork + 1),
            Path::Missing(missing) if missing.number <= own => (self.base, missing.number),
            Path::Deep => (self.base, self.base),
            Path::From { .. } | Path::Missing(_) | Path::Far => return None,
        };
        Some(Denial { from, sure })
    }

    /// Whether a tip is above the chain, and nothing says how it is linked to it.
    pub(super) fn hangs(&self, tip: Block) -> bool {
        let own = self.tip().map_or(0, |tip| tip.number);
        matches!(self.path(tip), Path::Missing(missing) if missing.number > own)
    }

    /// Whether a tip says nothing new of the branch of one that its voice stated before: that one is above
    /// the chain, linked to nothing, and this one is on the chain or in between.
    pub(super) fn is_below(&self, tip: Block, before: Option<Block>) -> bool {
        let own = self.tip().map_or(0, |own| own.number);
        before.is_some_and(|before| {
            let between = tip.number < before.number && self.hangs(tip);
            self.hangs(before)
                && (self.contains(tip) || (between && !self.part_above(before, tip, own)))
        })
    }

    /// Whether two tips above the chain, to which neither is linked, are known to be on different
    /// branches.
    pub(super) fn part_above(&self, a: Block, b: Block, own: u64) -> bool {
        let (low, high) = if a.number <= b.number { (a, b) } else { (b, a) };
        if low.number <= own || !self.hangs(low) {
            return false;
        }
        let mut at = high;
        for _ in 0..WINDOW {
            if at.number == low.number {
                return at.hash != low.hash;
            }
            let Some(parent) = self.headers.get(&(at.number, at.hash)) else {
                return false;
            };
            at = Block {
                number: at.number.saturating_sub(1),
                hash: *parent,
            };
        }
        false
    }

    /// The lowest height at which tips above the chain contradict each other.
    fn split_above(&self, now: Instant) -> Option<u64> {
        let own = self.tip()?.number;
        let tips: SmallVec<[Block; 8]> = self.fresh(now).map(|one| one.tip).collect();
        let mut pairs = tips.iter().enumerate();
        pairs
            .any(|(index, a)| {
                let others = &tips[index + 1..];
                others.iter().any(|b| self.part_above(*a, *b, own))
            })
            .then_some(own + 1)
    }

    /// The lowest height that as many voices deny as confirm.
    pub(super) fn dispute(&self, now: Instant) -> Option<u64> {
        self.denial(now).or_else(|| self.split_above(now))
    }

    fn denial(&self, now: Instant) -> Option<u64> {
        let denials: SmallVec<[Denial; 8]> = self
            .fresh(now)
            .filter_map(|one| self.denied(one.tip))
            .collect();
        let from = denials.iter().map(|denial| denial.from).min()?;
        // Who is below the block that is denied may yet go either way.
        let sure = denials.iter().map(|denial| denial.sure).min()?;
        let confirms = |one: &&Statement| one.tip.number >= sure && self.contains(one.tip);
        (denials.len() >= self.fresh(now).filter(confirms).count()).then_some(from)
    }
}
