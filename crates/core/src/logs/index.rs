//! The logs of one filter over the newest blocks (P-21).

use super::{Blooms, Filter, List, list::Seen};
use crate::{
    answer::Hash,
    cache::{Miss, Refusal, View},
    mutant::{self, Mutant},
    recent::Mark,
};
use smallvec::SmallVec;
use std::{collections::VecDeque, sync::Arc, time::Instant};

/// What an indexed block costs beside its bytes, about.
const OVERHEAD: u64 = 96;

/// All logs of a filter from one block to another.
#[derive(Clone, Debug)]
pub struct Index {
    from: u64,
    to: u64,
    /// Blocks that have logs, lowest first.
    blocks: VecDeque<Logged>,
    /// When the last block was asked for.
    at: Instant,
    /// The moment of the chain's history that it is true at.
    since: Mark,
    /// The highest block that was final when the hashes were last known from here to the head: what became
    /// final since may have left the chain unseen before.
    sure: Option<u64>,
    /// Who gave blocks that were not final.
    voices: SmallVec<[u16; 4]>,
    /// Label of whoever gave the last block.
    endpoint: Arc<str>,
    bytes: u64,
}

/// The logs of one block, as they were sent, with commas between.
#[derive(Clone, Debug)]
struct Logged {
    number: u64,
    hash: Hash,
    text: Arc<str>,
}

/// What a caller asks of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The first block.
    pub from: u64,
    /// The last block; `None`: the newest, whichever that is.
    pub to: Option<u64>,
    /// The last block is the number that `latest` became: then its age counts, as it does without one.
    pub newest: bool,
    /// What the caller has seen of the chain (P-8).
    pub floor: Option<u64>,
}

/// What an index has of what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// All of it.
    Whole {
        /// The last block of the answer.
        to: u64,
        /// Blocks that it is behind the newest head (P-28).
        stale_blocks: u64,
    },
    /// All but the blocks from this one on.
    Tail {
        /// The first to ask for: behind what is final, or the last block that has logs, so that the two
        /// pieces can be seen to be of one chain.
        from: u64,
        /// The hash that this block must have in the answer.
        seam: Option<Hash>,
    },
    /// Nothing that can be used.
    Nothing(Miss),
}

/// The blocks of an answer that one endpoint gave, from the end of the piece before on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The last one.
    pub to: u64,
    /// Who gave them; `None`: nobody who is known any more.
    pub voice: Option<u16>,
}

/// An answer that may be indexed, and what was known when it was asked for.
#[derive(Clone, Debug)]
pub struct Told<'a> {
    /// The first block that it is about.
    pub from: u64,
    /// The last one.
    pub to: u64,
    /// The logs.
    pub list: &'a List<'a>,
    /// Its end is the block that `latest` was pinned to.
    pub pinned: bool,
    /// Every endpoint that could have answered is known to hold its end.
    pub all_hold: bool,
    /// One of those who answered is on another branch than the chain.
    pub rival: bool,
    /// Which of its blocks each of those gave who answered, lowest first.
    pub pieces: &'a [Piece],
    /// The label of whoever gave the end.
    pub endpoint: &'a Arc<str>,
    /// What headers say of blocks without such logs (rule `suspect`).
    pub blooms: &'a Blooms,
    /// When it was asked for.
    pub at: Instant,
    /// [`Recent::mark`](crate::recent::Recent::mark) when it was asked for.
    pub since: Mark,
}

impl Told<'_> {
    /// The blocks of an answer that an index may take up.
    ///
    /// # Errors
    /// Why none of them.
    pub fn indexable(
        &self,
        filter: &Filter,
        window: u64,
        view: &View<'_>,
    ) -> Result<(u64, u64), Refusal> {
        let settings = view.settings.as_ref().ok_or(Refusal::Off)?;
        if window == 0 {
            return Err(Refusal::Off);
        }
        if view.policy.is_local() {
            return Err(Refusal::LocalChain);
        }
        let head = view.head.ok_or(Refusal::AboveHead)?;
        if self.to > head {
            return Err(Refusal::AboveHead);
        }
        if !self.pinned && !self.all_hold {
            return Err(Refusal::NotAllHold);
        }
        if self.rival {
            return Err(Refusal::Rival);
        }
        if view.recent.has_left(self.to, self.since) {
            return Err(Refusal::Orphaned);
        }
        let differs = |(number, hash): (u64, Hash)| {
            view.recent
                .hash_at(number)
                .is_some_and(|known| known != hash)
        };
        let logs = self.list.logs();
        if logs.iter().any(|log| differs((log.number, log.hash))) {
            return Err(Refusal::OffChain);
        }
        let mut to = self.to;
        if !view.is_final(to) {
            if view.recent.is_disputed(to) {
                return Err(Refusal::Disputed);
            }
            let sure = if view.recent.is_linked_since(self.since) && view.is_watched(settings) {
                self.proven(filter, view)
            } else {
                last_final(view)
            };
            to = sure.ok_or(Refusal::Unlinked)?.min(to);
        }
        let bare = to >= head && !self.list.has(to) && !self.is_signed(to, filter, view);
        if bare {
            to = to.checked_sub(1).ok_or(Refusal::Empty)?;
        }
        let from = self.from.max(lowest(head, window));
        if from > to {
            // Nothing of it is new enough, or nothing is sure.
            return Err(if self.from > to {
                Refusal::Empty
            } else {
                Refusal::Window
            });
        }
        Ok((from, to))
    }

    /// The block up to which the list is known to be of the chain; `None`: nothing says so of any. It need
    /// not be: whoever gave it may be on another branch that nobody has told, and without a log above the
    /// fork, or below the lowest hash that is known, no hash would ever differ. What is final is of any
    /// chain. Above that a log in a block of the chain says that whoever gave it is on it up to there, and so
    /// does the newest header of the same voice. A block that cannot have such a log needs nobody's word.
    fn proven(&self, filter: &Filter, view: &View<'_>) -> Option<u64> {
        let recent = view.recent;
        let mut proven = last_final(view);
        let mut from = self.from;
        for piece in self.pieces {
            let logs = self.list.logs().iter().rev();
            let tied = logs
                .skip_while(|log| log.number > piece.to)
                .take_while(|log| log.number >= from)
                .find(|log| recent.hash_at(log.number) == Some(log.hash));
            let stated = piece
                .voice
                .and_then(|voice| recent.stated(voice, view.now))
                .filter(|tip| *tip >= from);
            let stated = stated.map(|tip| tip.min(piece.to));
            proven = proven.max(tied.map(|log| log.number)).max(stated);
            let first = proven.map_or(from, |proven| proven.saturating_add(1).max(from));
            let signed = (first..=piece.to).take_while(|next| self.is_signed(*next, filter, view));
            proven = proven.max(signed.last());
            if proven < Some(piece.to) {
                break;
            }
            from = piece.to.saturating_add(1);
        }
        proven
    }

    /// Whether its pieces are seen to be of one chain: all but the last one of what is known as the chain, and
    /// that one on top of it, whichever branch it is of above. What is final is of any chain.
    #[must_use]
    pub fn is_of_one_chain(&self, filter: &Filter, view: &View<'_>) -> bool {
        let [.., before, last] = self.pieces else {
            return true;
        };
        if last_final(view) >= Some(before.to) {
            return true;
        }
        let proven = self.proven(filter, view);
        let stated = |voice| view.recent.stated(voice, view.now);
        let is_on_top = || {
            let logs = self.list.logs().iter().rev();
            let mut above = logs.take_while(|log| log.number > before.to);
            proven >= Some(last.to)
                || last.voice.and_then(stated) >= Some(before.to)
                || above.any(|log| view.recent.hash_at(log.number) == Some(log.hash))
        };
        proven >= Some(before.to) && is_on_top()
    }

    /// Whether a header of the chain says that a block has no such log.
    fn is_signed(&self, number: u64, filter: &Filter, view: &View<'_>) -> bool {
        let hash = view.recent.hash_at(number);
        hash.is_some_and(|hash| self.blooms.sign(number, &hash, filter).is_some())
    }
}

impl Index {
    /// Of an answer's blocks, as [`Told::indexable`] says.
    #[must_use]
    pub fn new(told: &Told<'_>, (from, to): (u64, u64), view: &View<'_>) -> Self {
        let mut index = Self {
            from,
            to,
            blocks: logged(told.list, from, to).collect(),
            at: told.at,
            since: view.recent.mark(),
            sure: last_final(view),
            voices: told.pieces.iter().filter_map(|piece| piece.voice).collect(),
            endpoint: Arc::clone(told.endpoint),
            bytes: 0,
        };
        index.voices.sort_unstable();
        index.voices.dedup();
        index.weigh();
        index
    }

    /// Drops what is not true any more: blocks that left the chain, and those of which nobody can say
    /// whether they did (P-14). `false`: nothing is left.
    #[must_use]
    pub fn settle(&mut self, view: &View<'_>) -> bool {
        let recent = view.recent;
        if mutant::is(Mutant::IndexKeepsFork) {
            return true;
        }
        let mut last = self.to;
        while recent.has_left(last, self.since) {
            // Forks lie within the window of hashes, but for a chain that began anew.
            let Some(below) = last.checked_sub(1).filter(|below| *below >= self.from) else {
                return false;
            };
            last = below;
        }
        let before = self.sure;
        let rival = self
            .voices
            .iter()
            .any(|voice| recent.is_rival(*voice, view.now));
        if rival || !recent.is_linked_since(self.since) {
            let Some(sure) = self.sure.filter(|sure| *sure >= self.from) else {
                return false;
            };
            last = last.min(sure);
            // What is final is no voice's word any more.
            self.voices.clear();
        } else {
            self.sure = self.sure.max(last_final(view));
        }
        // Whatever was noted, a hash that differs is another block. Headers come late, too.
        let unsure = self.blocks.iter().rev();
        let differs = unsure
            .take_while(|block| before.is_none_or(|sure| block.number > sure))
            .filter(|block| {
                let known = recent.hash_at(block.number);
                known.is_some_and(|known| known != block.hash)
            })
            .last();
        if let Some(block) = differs {
            let Some(below) = block.number.checked_sub(1) else {
                return false;
            };
            last = last.min(below);
        }
        if last < self.from {
            return false;
        }
        if last < self.to {
            self.to = last;
            self.blocks.retain(|block| block.number <= last);
            self.weigh();
        }
        self.since = recent.mark();
        true
    }

    /// What it has of what is asked for. It must have been settled.
    #[must_use]
    pub fn find(&self, ask: &Ask, view: &View<'_>) -> Found {
        let Some(settings) = &view.settings else {
            return Found::Nothing(Miss::Off);
        };
        if !(self.from..=self.to).contains(&ask.from) {
            return Found::Nothing(Miss::OtherBlock);
        }
        let Some(head) = view.head.filter(|head| self.to <= *head) else {
            return Found::Nothing(Miss::NoHead);
        };
        let last = ask.to.map_or(self.to, |to| to.min(self.to));
        if !view.is_final(last) {
            if view.recent.is_disputed(last) {
                return Found::Nothing(Miss::Disputed);
            }
            if !view.is_watched(settings) {
                return Found::Nothing(Miss::Unlinked);
            }
        }
        let behind = head - self.to;
        let is_young = view.now.saturating_duration_since(self.at) < settings.max_age;
        let is_whole = match ask.to {
            Some(to) => to <= self.to && (is_young || !ask.newest),
            None => {
                behind <= settings.max_stale_blocks
                    && is_young
                    && ask.floor.is_none_or(|floor| self.to >= floor)
            }
        };
        if is_whole {
            let stale_blocks = if ask.to.is_some() { 0 } else { behind };
            return Found::Whole {
                to: last,
                stale_blocks,
            };
        }
        let (from, seam) = self.seam(last_final(view));
        if from > ask.from && ask.to.is_none_or(|to| from <= to) {
            Found::Tail { from, seam }
        } else {
            // It would all be asked for.
            Found::Nothing(Miss::Age)
        }
    }

    /// Where a tail begins. What is final is of any chain; above that an empty list does not say which one
    /// it is of, and a block that both pieces have does.
    fn seam(&self, sure: Option<u64>) -> (u64, Option<Hash>) {
        if sure.is_some_and(|sure| self.to <= sure) {
            return (self.to + 1, None);
        }
        let lowest = sure.map_or(self.from, |sure| self.from.max(sure + 1));
        let tied = self.blocks.back().filter(|block| block.number >= lowest);
        tied.map_or((lowest, None), |block| (block.number, Some(block.hash)))
    }

    /// Takes up the blocks of another answer where they touch, and where both are seen to be of one chain:
    /// up to `sure` they are, above that a block that both have must say so. Where they do not, the newer
    /// ones stay.
    pub fn take(&mut self, mut other: Self, sure: Option<u64>) {
        let is_sure = |number: u64| sure.is_some_and(|sure| number <= sure);
        let keeps_below = self.from < other.from && !is_sure(other.from.saturating_sub(1));
        let keeps_above = self.to > other.to && !is_sure(other.to);
        if (keeps_below || keeps_above) && !self.is_tied(&other, sure) {
            if other.to < self.to {
                return;
            }
            // What is final of the older one is of the same chain.
            let Some(sure) = sure.filter(|sure| *sure >= self.from) else {
                *self = other;
                return;
            };
            self.to = self.to.min(sure);
            self.blocks.retain(|block| block.number <= sure);
        }
        let touches =
            other.from <= self.to.saturating_add(1) && self.from <= other.to.saturating_add(1);
        if !touches {
            if other.to > self.to {
                std::mem::swap(self, &mut other);
            }
            return;
        }
        let (below, above) = (other.from, other.to);
        let mut blocks: VecDeque<Logged> = self
            .blocks
            .iter()
            .filter(|block| block.number < below)
            .cloned()
            .collect();
        blocks.extend(other.blocks);
        blocks.extend(self.blocks.drain(..).filter(|block| block.number > above));
        self.blocks = blocks;
        self.from = self.from.min(below);
        if above >= self.to {
            self.to = above;
            self.at = other.at;
            self.endpoint = other.endpoint;
        }
        self.sure = self.sure.max(other.sure);
        for voice in other.voices {
            if !self.voices.contains(&voice) {
                self.voices.push(voice);
            }
        }
        self.weigh();
    }

    /// Whether both have the same blocks with logs above what is final, where both have blocks at all, and
    /// one at least.
    fn is_tied(&self, other: &Self, sure: Option<u64>) -> bool {
        let lowest = self.from.max(other.from);
        let lowest = sure.map_or(lowest, |sure| lowest.max(sure + 1));
        let shared = lowest..=self.to.min(other.to);
        let within = |index: &Self| -> Vec<(u64, Hash)> {
            let blocks = index.blocks.iter();
            let shared = blocks.filter(|block| shared.contains(&block.number));
            shared.map(|block| (block.number, block.hash)).collect()
        };
        let own = within(self);
        !own.is_empty() && own == within(other)
    }

    /// Drops what is older than the window.
    pub fn trim(&mut self, lowest: u64) {
        if self.from >= lowest || self.to < lowest {
            return;
        }
        self.from = lowest;
        while self
            .blocks
            .front()
            .is_some_and(|block| block.number < lowest)
        {
            self.blocks.pop_front();
        }
        self.weigh();
    }

    /// The texts of the blocks in a range with their numbers, in order: all logs, or those that a
    /// narrower filter means. A whole block is shared, not copied.
    #[must_use]
    pub fn texts(&self, from: u64, to: u64, narrow: Option<&Filter>) -> Vec<(u64, Arc<str>)> {
        let within = self
            .blocks
            .iter()
            .filter(|block| (from..=to).contains(&block.number));
        match narrow {
            None => within
                .map(|block| (block.number, Arc::clone(&block.text)))
                .collect(),
            Some(filter) => within
                .filter_map(|block| Some((block.number, narrowed(&block.text, filter)?)))
                .collect(),
        }
    }

    /// The first and the last block that it covers.
    #[must_use]
    pub const fn range(&self) -> (u64, u64) {
        (self.from, self.to)
    }

    /// The label of whoever gave its last block.
    #[must_use]
    pub const fn endpoint(&self) -> &Arc<str> {
        &self.endpoint
    }

    /// Bytes that it takes.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    fn weigh(&mut self) {
        let blocks = self.blocks.iter();
        self.bytes = OVERHEAD
            + blocks
                .map(|block| block.text.len() as u64 + OVERHEAD)
                .sum::<u64>();
    }
}

/// The lowest block of the window.
pub(super) const fn lowest(head: u64, window: u64) -> u64 {
    head.saturating_add(1).saturating_sub(window)
}

pub(super) fn last_final(view: &View<'_>) -> Option<u64> {
    view.policy.final_height(view.head, view.finalized)
}

/// The blocks of a list that have logs.
fn logged<'a>(list: &'a List<'_>, from: u64, to: u64) -> impl Iterator<Item = Logged> + 'a {
    let within = move |number: u64| (from..=to).contains(&number);
    list.logs
        .chunk_by(|a, b| a.number == b.number)
        .filter_map(move |logs| {
            let first = logs.first().filter(|log| within(log.number))?;
            let mut text = String::new();
            for log in logs {
                if !text.is_empty() {
                    text.push(',');
                }
                text.push_str(list.text.get(log.span.clone()).unwrap_or_default());
            }
            Some(Logged {
                number: first.number,
                hash: first.hash,
                text: Arc::from(text),
            })
        })
}

/// The logs of a block that a filter means.
fn narrowed(text: &str, filter: &Filter) -> Option<Arc<str>> {
    let mut found = String::new();
    let listed = format!("[{text}]");
    for span in crate::method::scan::Elements::new(listed.as_bytes(), 0) {
        let seen = Seen::read(&listed, &span)?;
        if filter.matches(seen.address.as_ref()?, &seen.topics) {
            if !found.is_empty() {
                found.push(',');
            }
            found.push_str(listed.get(span)?);
        }
    }
    (!found.is_empty()).then(|| Arc::from(found))
}
