//! The hashes of recent blocks: what belongs to the chain, and what has left it (P-14).
//!
//! Headers come in as they are seen, each with who said so. Those that link by their parent hashes
//! make the *chain*, up to its tip. A header whose parent is not known leaves a gap, and the answer
//! says which header would close it, from the top down; whoever owns this fetches it, or has the
//! chain begin anew above the gap ([`Recent::jump`]). A header beside the chain is a *rival*: it
//! becomes the chain when more voices are behind it, or as many and it is longer, so that one
//! endpoint's invention neither empties a cache nor moves a floor.
//!
//! Links are never trusted further than they can be seen: a number must be its parent's plus one, a
//! block is never its own parent, every walk is bounded (lessons N11), and a chain that began anew
//! says nothing about the one before ([`Mark`]).
//!
//! Only headers of endpoints whose head is trusted, fetched by number or tag, belong here: a block
//! fetched by its hash may lie on any branch (`semantics.md` H36).

mod doubt;
mod link;

pub use link::{Block, Fault, Header, Link, Reorg};

use crate::{
    answer::Hash,
    mutant::{self, Mutant},
};
use smallvec::SmallVec;
use std::{
    collections::{BTreeMap, VecDeque},
    time::{Duration, Instant},
};

/// Headers kept, and the longest walk (P-14, lessons N11).
pub const WINDOW: usize = 256;
/// Different headers kept at one height.
const MOST_AT_ONE_HEIGHT: usize = 8;
/// Reorganisations remembered one by one.
const MOST_FORKS: usize = 64;

/// A moment in the chain's history. What was learned at one moment is void at another if the block
/// has left the chain in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    restarts: u32,
    jumps: u32,
    reorgs: u64,
}

#[derive(Clone, Copy, Debug)]
struct Statement {
    voice: u16,
    tip: Block,
    at: Instant,
}

/// The chain's recent blocks.
#[derive(Clone, Debug)]
pub struct Recent {
    /// Statements older than this count no more.
    stale: Duration,
    /// All headers within the window, by number and hash, and their parents.
    headers: BTreeMap<(u64, Hash), Hash>,
    /// The chain, lowest first.
    chain: VecDeque<Hash>,
    /// The number of its lowest block.
    base: u64,
    voices: SmallVec<[Statement; 8]>,
    /// The lowest height at which the chain is in doubt.
    disputed: Option<u64>,
    mark: Mark,
    /// Forks of past reorganisations that later ones did not go below: (the reorganisation's number,
    /// fork), both rising.
    forks: SmallVec<[(u64, u64); 8]>,
}

/// How a tip is linked to the chain.
enum Path {
    /// The blocks above the fork, highest first.
    From { fork: u64, above: Vec<Block> },
    /// The lowest header whose parent is not known.
    Missing(Block),
    /// Further above the chain than a walk may be long.
    Far,
    /// It left the chain below what is kept of it.
    Deep,
}

impl Recent {
    /// Nothing known. `stale` is the age past which a head stops counting.
    #[must_use]
    pub fn new(stale: Duration) -> Self {
        Self {
            stale,
            headers: BTreeMap::new(),
            chain: VecDeque::new(),
            base: 0,
            voices: SmallVec::new(),
            disputed: None,
            mark: Mark {
                restarts: 0,
                jumps: 0,
                reorgs: 0,
            },
            forks: SmallVec::new(),
        }
    }

    /// An endpoint's newest header. Endpoints of one backend have one voice.
    pub fn observe(&mut self, header: Header, voice: u16, now: Instant) -> Link {
        let heard = self.headers.contains_key(&(header.number, header.hash));
        if let Some(refused) = self.insert(header) {
            return refused;
        }
        let tip = header.block();
        if !heard {
            self.on_branch(tip);
        }
        let statement = Statement {
            voice,
            tip,
            at: now,
        };
        let known = self.voices.iter().position(|known| known.voice == voice);
        let before = known.map(|known| self.voices[known].tip);
        match known {
            // A block of the chain, or a lower one above it, takes nothing back of what the voice said
            // above them: callers ask for old blocks too.
            Some(known) if self.is_fresh(self.voices[known], now) && self.is_below(tip, before) => {
            }
            // A block above the chain, linked to nothing, does not make good what the voice denied.
            Some(known)
                if self.hangs(tip)
                    && before.is_some_and(|before| self.denied(before).is_some()) =>
            {
                self.voices[known].at = now;
            }
            Some(known) => self.voices[known] = statement,
            None => self.voices.push(statement),
        }
        // Above the tip no chain says what left it: where a voice went over to another branch, nothing
        // says how far down that one goes, so that everything is in doubt.
        if let Some(own) = self.tip()
            && before.is_some_and(|before| self.part_above(before, tip, own.number))
        {
            self.record(self.base.saturating_sub(1));
        }
        let link = self.settle(tip, now);
        self.disputed = self.dispute(now);
        link
    }

    /// A header that was fetched to close a gap: nobody's newest.
    pub fn fill(&mut self, header: Header, now: Instant) -> Link {
        if let Some(refused) = self.insert(header) {
            return refused;
        }
        // The highest tip whose path it may have closed says what came of it.
        let waiting = self.fresh(now).map(|statement| statement.tip);
        let tip = waiting
            .filter(|tip| tip.number >= header.number)
            .max_by_key(|tip| tip.number);
        let link = match tip {
            Some(tip) => {
                self.on_branch(tip);
                self.settle(tip, now)
            }
            None => Link::Known,
        };
        self.disputed = self.dispute(now);
        link
    }

    /// Gives up the gap below the highest tip that is stated: the chain begins anew with it. Blocks
    /// known before have not left the chain, but nothing says any more that they are on it.
    pub fn jump(&mut self, now: Instant) -> Option<Block> {
        let tip = self
            .fresh(now)
            .map(|statement| statement.tip)
            .max_by_key(|tip| tip.number)?;
        let Path::Missing(missing) = self.path(tip) else {
            return None;
        };
        // A gap above the chain contradicts nobody; a branch beside it needs voices, as any rival.
        let above = self.tip().is_none_or(|own| missing.number > own.number);
        if !above && !self.is_outvoted_beside(tip, now) {
            return None;
        }
        self.mark.jumps += 1;
        self.begin(tip);
        self.disputed = self.dispute(now);
        Some(tip)
    }

    /// The tip of the chain.
    #[must_use]
    pub fn tip(&self) -> Option<Block> {
        let hash = *self.chain.back()?;
        Some(Block {
            number: self.base + (self.chain.len() as u64) - 1,
            hash,
        })
    }

    /// The number of the lowest block whose hash is known.
    #[must_use]
    pub fn lowest(&self) -> Option<u64> {
        (!self.chain.is_empty()).then_some(self.base)
    }

    /// The hash of the chain's block at a height.
    #[must_use]
    pub fn hash_at(&self, number: u64) -> Option<Hash> {
        let index = usize::try_from(number.checked_sub(self.base)?).ok()?;
        self.chain.get(index).copied()
    }

    /// The height of the chain's block with a hash.
    #[must_use]
    pub fn number_of(&self, hash: &Hash) -> Option<u64> {
        let index = self.chain.iter().rposition(|one| one == hash)?;
        Some(self.base + index as u64)
    }

    /// Whether a block is on the chain.
    #[must_use]
    pub fn contains(&self, block: Block) -> bool {
        self.hash_at(block.number) == Some(block.hash)
    }

    /// Whether as many voices state another block at or below this height as state the chain's: what
    /// is read there may be gone in a moment, so it is neither kept nor served from memory (P-14).
    #[must_use]
    pub fn is_disputed(&self, number: u64) -> bool {
        let disputed = self.disputed.is_some_and(|lowest| number >= lowest);
        disputed && !mutant::is(Mutant::DisputeIgnored) && !mutant::is(Mutant::ReorgKeepsAnswers)
    }

    /// Whether a voice's newest header is on another branch: what its endpoints say of blocks that are
    /// not final is not about this chain.
    #[must_use]
    pub fn is_rival(&self, voice: u16, now: Instant) -> bool {
        let statement = self.fresh(now).find(|one| one.voice == voice);
        statement.is_some_and(|one| self.denied(one.tip).is_some())
    }

    /// The height of a voice's newest header, where it is on the chain: what its endpoints say of blocks up
    /// to there is about this chain.
    #[must_use]
    pub fn stated(&self, voice: u16, now: Instant) -> Option<u64> {
        let statement = self.fresh(now).find(|one| one.voice == voice)?;
        self.contains(statement.tip).then_some(statement.tip.number)
    }

    /// This moment, to be kept with what is learned now.
    #[must_use]
    pub const fn mark(&self) -> Mark {
        self.mark
    }

    /// Whether the block at a height has left the chain since a moment (P-14).
    #[must_use]
    pub fn has_left(&self, number: u64, since: Mark) -> bool {
        if since.restarts != self.mark.restarts {
            return true;
        }
        if since.reorgs == self.mark.reorgs || mutant::is(Mutant::ReorgKeepsAnswers) {
            return false;
        }
        let later = self
            .forks
            .partition_point(|(reorg, _)| *reorg <= since.reorgs);
        self.forks
            .get(later)
            .is_some_and(|(_, fork)| *fork < number)
    }

    /// Whether the chain is linked without a gap from a moment to now: what was on it then and has
    /// not left is on it still.
    #[must_use]
    pub fn is_linked_since(&self, since: Mark) -> bool {
        since.restarts == self.mark.restarts && since.jumps == self.mark.jumps
    }

    /// The chain was replaced as a whole, as a development node does that is reset: everything that
    /// was learned is void.
    pub fn restart(&mut self) {
        self.headers.clear();
        self.chain.clear();
        self.voices.clear();
        self.forks.clear();
        self.disputed = None;
        self.mark.restarts += 1;
    }

    fn fresh(&self, now: Instant) -> impl Iterator<Item = &Statement> {
        let voices = self.voices.iter();
        voices.filter(move |one| self.is_fresh(**one, now))
    }

    fn is_fresh(&self, statement: Statement, now: Instant) -> bool {
        now.saturating_duration_since(statement.at) <= self.stale
    }

    /// Takes a header up; an answer where it goes no further.
    fn insert(&mut self, header: Header) -> Option<Link> {
        let Header {
            number,
            hash,
            parent,
        } = header;
        if hash == parent {
            return Some(Link::Refused(Fault::OwnParent));
        }
        if let Some(known) = self.headers.get(&(number, hash)) {
            let below = !self.chain.is_empty() && number < self.base;
            let same = below.then_some(Link::Old);
            return if *known == parent {
                same
            } else {
                Some(Link::Refused(Fault::Hash))
            };
        }
        let reach = self
            .tip()
            .map(|tip| tip.number.saturating_sub(WINDOW as u64 - 1));
        if reach.is_some_and(|reach| number < reach) {
            return Some(Link::Old);
        }
        let above = number.checked_add(1);
        for ((height, known), known_parent) in &self.headers {
            if *known == hash {
                return Some(Link::Refused(Fault::Hash));
            }
            let parent_elsewhere = *known == parent && height.checked_add(1) != Some(number);
            let child_elsewhere = *known_parent == hash && above != Some(*height);
            if parent_elsewhere || child_elsewhere {
                return Some(Link::Refused(Fault::Number));
            }
        }
        let here = self.headers.range((number, [0; 32])..=(number, [0xff; 32]));
        if here.count() >= MOST_AT_ONE_HEIGHT {
            return Some(Link::Refused(Fault::TooMany));
        }
        self.headers.insert((number, hash), parent);
        if !self.chain.is_empty() && number < self.base {
            self.deepen();
            let linked = self.contains(header.block());
            return Some(if linked { Link::Known } else { Link::Old });
        }
        None
    }

    /// What a tip means for the chain.
    fn settle(&mut self, tip: Block, now: Instant) -> Link {
        if self.chain.is_empty() {
            self.begin(tip);
            return Link::Extended { tip };
        }
        if self.contains(tip) {
            // Its voice may have come over from a rival, or left the chain's tip behind.
            return self.weigh(now).unwrap_or(Link::Known);
        }
        match self.path(tip) {
            Path::Missing(missing) => Link::Gap {
                missing,
                tip: self.tip().map_or(0, |tip| tip.number),
            },
            path @ (Path::Far | Path::Deep) => {
                if !self.is_outvoted(tip, now) {
                    // It must not fill the memory.
                    let reach = self
                        .tip()
                        .map_or(0, |tip| tip.number.saturating_add(WINDOW as u64));
                    self.headers.retain(|(height, _), _| *height <= reach);
                    return Link::Old;
                }
                let reorg = matches!(path, Path::Deep);
                if reorg {
                    self.record(0);
                }
                self.mark.jumps += 1;
                self.begin(tip);
                Link::Restarted { reorg }
            }
            Path::From { fork, above } if Some(fork) == self.tip().map(|tip| tip.number) => {
                self.extend(&above);
                Link::Extended { tip }
            }
            Path::From { fork, .. } => self.weigh(now).unwrap_or(Link::Rival { fork }),
        }
    }

    /// Goes over to the rival that has most voices behind it, if any has enough.
    fn weigh(&mut self, now: Instant) -> Option<Link> {
        let tips: SmallVec<[Block; 8]> = self.fresh(now).map(|statement| statement.tip).collect();
        let mut best: Option<(usize, usize, u64, Vec<Block>)> = None;
        for tip in &tips {
            let Path::From { fork, above } = self.path(*tip) else {
                continue;
            };
            let Some(first) = above.last().copied() else {
                continue;
            };
            let behind = |tip: &&Block| matches!(self.path(**tip), Path::From { above, .. } if above.contains(&first));
            let with = tips.iter().filter(behind).count();
            // Who is at or below the fork is for neither.
            let against = tips
                .iter()
                .filter(|tip| tip.number > fork && self.contains(**tip))
                .count();
            let higher = self.tip().is_none_or(|own| tip.number > own.number);
            if with > against || (with == against && higher) {
                let better = best
                    .as_ref()
                    .is_none_or(|(most, _, _, blocks)| (with, above.len()) > (*most, blocks.len()));
                if better {
                    best = Some((with, tips.len(), fork, above));
                }
            }
        }
        let (with, all, fork, above) = best?;
        if self.tip().is_some_and(|tip| tip.number == fork) {
            let tip = *above.first()?;
            self.extend(&above);
            return Some(Link::Extended { tip });
        }
        let keep = usize::try_from(fork.saturating_sub(self.base)).ok()? + 1;
        let dropped: Vec<Block> = self
            .chain
            .iter()
            .enumerate()
            .skip(keep)
            .map(|(index, hash)| Block {
                number: self.base + index as u64,
                hash: *hash,
            })
            .collect();
        self.chain.truncate(keep);
        self.record(fork);
        self.extend(&above);
        Some(Link::Reorg(Reorg {
            fork,
            dropped,
            majority: 2 * with > all,
        }))
    }

    /// Down from a tip to the chain.
    fn path(&self, tip: Block) -> Path {
        let mut above = Vec::new();
        let mut at = tip;
        loop {
            if self.contains(at) {
                return Path::From {
                    fork: at.number,
                    above,
                };
            }
            if at.number < self.base {
                return Path::Deep;
            }
            if above.len() >= WINDOW {
                return Path::Far;
            }
            let Some(parent) = self.headers.get(&(at.number, at.hash)) else {
                let own = self.tip().map_or(0, |tip| tip.number);
                let far = tip.number.saturating_sub(own) > WINDOW as u64;
                return if far { Path::Far } else { Path::Missing(at) };
            };
            let Some(number) = at.number.checked_sub(1) else {
                return Path::Deep;
            };
            above.push(at);
            at = Block {
                number,
                hash: *parent,
            };
        }
    }

    fn begin(&mut self, tip: Block) {
        self.chain.clear();
        self.chain.push_back(tip.hash);
        self.base = tip.number;
        self.deepen();
        self.prune();
    }

    /// What is known below the lowest block belongs to the chain, where parent hashes link it.
    fn deepen(&mut self) {
        while let Some(parent) = self.headers.get(&(self.base, self.chain[0])).copied() {
            let Some(number) = self.base.checked_sub(1) else {
                break;
            };
            if !self.headers.contains_key(&(number, parent)) || self.chain.len() >= WINDOW {
                break;
            }
            self.chain.push_front(parent);
            self.base = number;
        }
    }

    /// `above` is highest first.
    fn extend(&mut self, above: &[Block]) {
        self.chain
            .extend(above.iter().rev().map(|block| block.hash));
        while self.chain.len() > WINDOW {
            self.chain.pop_front();
            self.base += 1;
        }
        self.prune();
    }

    /// Forgets headers that no walk reaches any more.
    fn prune(&mut self) {
        let reach = self.tip().map_or(self.base, |tip| {
            tip.number.saturating_sub(WINDOW as u64 - 1)
        });
        self.headers = self.headers.split_off(&(reach, [0; 32]));
    }

    fn record(&mut self, fork: u64) {
        self.mark.reorgs += 1;
        self.forks.retain(|(_, earlier)| *earlier < fork);
        if self.forks.len() >= MOST_FORKS {
            // The oldest two as one: its reach is that of the later, its depth that of the deeper.
            let (_, deepest) = self.forks.remove(0);
            if let Some((_, next)) = self.forks.first_mut() {
                *next = deepest;
            }
        }
        self.forks.push((self.mark.reorgs, fork));
    }
}
