//! What a caller has seen, and must not be taken back behind (P-7 to P-9).
//!
//! A [`Mark`] is the highest block returned to one party: a key, a session, an operation, a library
//! pool, all keyless callers of a chain. A call is bound by every mark that it falls under, and its
//! floor is the highest of them ([`floor`]). Every answer that names a block raises them
//! ([`seen`]).
//!
//! What only goes up needs a way down, or one wrong number stands for ever (lessons A2, A6). A mark
//! has three, each bounded in time:
//!
//! - no endpoint could serve it for `stale`: it drops to the reference head ([`Mark::unserved`]);
//! - a majority's new chain of hashes contradicts it: all marks of the chain drop to the reference
//!   head at once ([`Falls::fall`]), each as it is next read;
//! - what was restored from outside counts for 60 s, and not against a majority
//!   ([`Mark::restore`]).
//!
//! A mark is read on every call and raised after most, from several threads: both are a few atomic
//! loads, and no lock.

use crate::{
    Now,
    answer::Named,
    method::{Block, Found, Tag},
    mutant::{self, Mutant},
};
use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant, SystemTime},
};

/// How long a mark from outside this process counts (P-8).
pub const RESTORED_FOR: Duration = Duration::from_secs(60);

/// Bits of a height; the rest is the number of the fall that it knows of.
const HEIGHT_BITS: u32 = 48;
const MAX_HEIGHT: u64 = (1 << HEIGHT_BITS) - 1;

/// The last fall of a chain below what callers have seen. One for each chain, shared by its marks.
#[derive(Debug, Default)]
pub struct Falls(AtomicU64);

impl Falls {
    /// A majority is on another chain now, and the reference head is `to`: no mark that was set
    /// before is higher. The caller tells it as a reorganisation.
    pub fn fall(&self, to: u64) {
        let next = |last: u64| Some(pack((last >> HEIGHT_BITS) + 1, to));
        let _ = self.0.fetch_update(Relaxed, Relaxed, next);
    }
}

/// A number of a fall and a height.
fn pack(fall: u64, height: u64) -> u64 {
    fall << HEIGHT_BITS | height.min(MAX_HEIGHT)
}

/// A height as it is after the last fall, written down where it did not know of that: a later fall to
/// a higher block must not lift it again.
fn current(cell: &AtomicU64, fall: u64) -> u64 {
    let packed = cell.load(Relaxed);
    if packed >> HEIGHT_BITS == fall >> HEIGHT_BITS {
        return packed & MAX_HEIGHT;
    }
    let settle = |packed| Some(pack(fall >> HEIGHT_BITS, after(packed, fall)));
    let before = cell.fetch_update(Relaxed, Relaxed, settle);
    after(before.unwrap_or(packed), fall)
}

fn after(packed: u64, fall: u64) -> u64 {
    let height = packed & MAX_HEIGHT;
    if packed >> HEIGHT_BITS == fall >> HEIGHT_BITS {
        height
    } else {
        height.min(fall & MAX_HEIGHT)
    }
}

/// The highest block returned to one party.
#[derive(Debug)]
pub struct Mark {
    /// Raised by answers of this process.
    own: AtomicU64,
    /// From a store or another process.
    restored: AtomicU64,
    /// Until when that counts, in milliseconds from the start.
    restored_until: AtomicU64,
    /// Since when no endpoint could serve it, in milliseconds from the start; 0: some could.
    unserved_since: AtomicU64,
    start: Instant,
}

/// A mark dropped by its stated way down; told as a reorganisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// From here.
    pub from: u64,
    /// To here.
    pub to: u64,
}

/// A mark as it is kept across restarts and shared between processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The height.
    pub height: u64,
    /// When it was saved.
    pub at: SystemTime,
}

/// The head that the endpoints agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The height.
    pub height: u64,
    /// At least two independent endpoints are behind it.
    pub majority: bool,
    /// Blocks that an endpoint may be behind it.
    pub max_lag: u64,
}

impl Mark {
    /// Nothing seen yet.
    #[must_use]
    pub const fn new(now: Instant) -> Self {
        Self {
            own: AtomicU64::new(0),
            restored: AtomicU64::new(0),
            restored_until: AtomicU64::new(0),
            unserved_since: AtomicU64::new(0),
            start: now,
        }
    }

    /// The mark; `None`: nothing binds.
    #[must_use]
    pub fn get(&self, falls: &Falls, now: Instant) -> Option<u64> {
        let fall = falls.0.load(Relaxed);
        let height = self.own(fall).max(self.restored(fall, now));
        Some(height).filter(|height| *height > 0)
    }

    fn own(&self, fall: u64) -> u64 {
        current(&self.own, fall)
    }

    fn restored(&self, fall: u64, now: Instant) -> u64 {
        let until = self.restored_until.load(Relaxed);
        if until == 0 || self.millis(now) >= until {
            return 0;
        }
        current(&self.restored, fall)
    }

    /// A block was returned to this party. A height above `bound`, the reference head and what an
    /// endpoint may be ahead of it, is not believed and raises nothing: one endpoint's word
    /// must not lock a caller out. Says whether it was believed.
    pub fn raise(&self, height: u64, bound: Option<u64>, falls: &Falls) -> bool {
        let bound = bound.unwrap_or(MAX_HEIGHT).min(MAX_HEIGHT);
        if height > bound {
            return false;
        }
        let fall = falls.0.load(Relaxed);
        // One that is not believed any more binds nobody, and must not keep others from binding.
        let known = |packed: u64| Some(after(packed, fall)).filter(|known| *known <= bound);
        let higher = |packed: u64| {
            let raised = pack(
                fall >> HEIGHT_BITS,
                known(packed).map_or(height, |known| known.max(height)),
            );
            (raised != packed).then_some(raised)
        };
        let raised = self.own.fetch_update(Relaxed, Relaxed, higher);
        if raised.is_ok_and(|before| known(before).is_none_or(|known| known < height)) {
            self.served();
        }
        true
    }

    /// The same where no head is believed, so that nothing bounds it but what was seen before: a height
    /// that is further above that than `ahead` is not believed.
    pub fn raise_by(&self, height: u64, ahead: u64, falls: &Falls) -> bool {
        let known = self.own(falls.0.load(Relaxed));
        let bound = Some(known.saturating_add(ahead)).filter(|_| known > 0);
        self.raise(height, bound, falls)
    }

    /// A call found an endpoint that holds the mark.
    pub fn served(&self) {
        // Loaded first: a store would take the line from the other threads each time.
        if self.unserved_since.load(Relaxed) != 0 {
            self.unserved_since.store(0, Relaxed);
        }
    }

    /// No endpoint that may serve a call is known to hold the mark. After `stale` of that it drops to
    /// the reference head; a restored mark that a majority contradicts drops at once.
    ///
    /// Of a watermark for `safe` or `finalized` the reference is the best that was answered.
    pub fn unserved(
        &self,
        reference: Option<Reference>,
        stale: Duration,
        falls: &Falls,
        now: Instant,
    ) -> Option<Dropped> {
        let fall = falls.0.load(Relaxed);
        let (own, restored) = (self.own(fall), self.restored(fall, now));
        let millis = self.millis(now);
        let since = self.unserved_since.load(Relaxed);
        if since == 0 {
            self.unserved_since.store(millis, Relaxed);
        }
        let reference = reference?;
        let to = reference.height.min(MAX_HEIGHT);
        if own.max(restored) <= to {
            // The endpoints are there: what was not served was another's block, or another fault.
            self.served();
            return None;
        }
        let yields = reference.majority && restored > to.saturating_add(reference.max_lag);
        let waited = Duration::from_millis(millis.saturating_sub(since));
        if since != 0 && waited >= stale {
            self.unserved_since.store(0, Relaxed);
            let lower =
                |packed| (after(packed, fall) > to).then_some(pack(fall >> HEIGHT_BITS, to));
            let _ = self.own.fetch_update(Relaxed, Relaxed, lower);
            let _ = self.restored.fetch_update(Relaxed, Relaxed, lower);
        } else if yields {
            let lowered = pack(fall >> HEIGHT_BITS, to);
            self.restored.store(lowered, Relaxed);
        }
        let (from, to) = (
            own.max(restored),
            self.own(fall).max(self.restored(fall, now)),
        );
        (to < from).then_some(Dropped { from, to })
    }

    /// The mark, to be kept elsewhere. What was itself restored is not saved again: it would never
    /// expire.
    #[must_use]
    pub fn save(&self, falls: &Falls, now: Now) -> Option<Saved> {
        let height = self.own(falls.0.load(Relaxed));
        let at = now.wall;
        (height > 0).then_some(Saved { height, at })
    }

    /// Takes over a mark that was kept elsewhere. It counts until 60 s after it was saved; one that
    /// claims to be from the future is dropped, as is one past `bound` ([`Mark::raise`]). Says
    /// whether it counts.
    pub fn restore(&self, saved: Saved, bound: Option<u64>, falls: &Falls, now: Now) -> bool {
        let Ok(age) = now.wall.duration_since(saved.at) else {
            return false;
        };
        let Some(left) = RESTORED_FOR.checked_sub(age).filter(|left| !left.is_zero()) else {
            return false;
        };
        if saved.height > bound.unwrap_or(MAX_HEIGHT).min(MAX_HEIGHT) {
            return false;
        }
        let fall = falls.0.load(Relaxed);
        let known = self.restored(fall, now.mono);
        if saved.height < known {
            return true;
        }
        let until = self.millis(now.mono).saturating_add(millis(left));
        if saved.height == known {
            self.restored_until.fetch_max(until, Relaxed);
        } else {
            self.restored_until.store(until, Relaxed);
            self.restored
                .store(pack(fall >> HEIGHT_BITS, saved.height), Relaxed);
        }
        true
    }

    /// From 1.
    fn millis(&self, now: Instant) -> u64 {
        millis(now.saturating_duration_since(self.start)).saturating_add(1)
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// What one party has seen of each head that a tag names.
#[derive(Debug)]
pub struct Marks {
    /// Blocks of any answer, and `latest`.
    pub latest: Mark,
    /// The block behind `safe` (P-7).
    pub safe: Mark,
    /// The block behind `finalized` (P-7).
    pub finalized: Mark,
}

impl Marks {
    /// Nothing seen yet.
    #[must_use]
    pub const fn new(now: Instant) -> Self {
        Self {
            latest: Mark::new(now),
            safe: Mark::new(now),
            finalized: Mark::new(now),
        }
    }

    /// The mark that an answer about this tag is held against: one below it is not shown.
    #[must_use]
    pub const fn of(&self, tag: Tag) -> Option<&Mark> {
        match tag {
            Tag::Latest => Some(&self.latest),
            Tag::Safe => Some(&self.safe),
            Tag::Finalized => Some(&self.finalized),
            Tag::Pending | Tag::Earliest => None,
        }
    }
}

/// The floor of a call: the highest of the marks that it falls under.
///
/// `believed` is the highest block that anybody can have reached, where the heads say one: a mark
/// above it was raised when no head was known (P-2), and binds nothing while it is above.
#[must_use]
pub fn floor<'a>(
    marks: impl IntoIterator<Item = &'a Mark>,
    believed: Option<u64>,
    falls: &Falls,
    now: Instant,
) -> Option<u64> {
    marks
        .into_iter()
        .filter_map(|mark| mark.get(falls, now))
        .filter(|_| !mutant::is(Mutant::FloorIgnored))
        .filter(|height| believed.is_none_or(|most| *height <= most))
        .max()
}

/// The head that an endpoint must have to serve a caller with this floor: the floor itself where the
/// call is about a block, `max_lag` below it where it is about none (P-8).
#[must_use]
pub fn least_head(floor: u64, about_a_block: bool, max_lag: u64) -> u64 {
    if about_a_block {
        floor
    } else {
        floor.saturating_sub(max_lag)
    }
}

/// The highest block that an answer names (P-9). A block that is being built is none.
#[must_use]
pub fn names_block(found: &Found, named: &Named) -> Option<u64> {
    let pending = |tag| tag == Some(Tag::Pending);
    if found.slots().iter().any(|slot| pending(tag(slot.block))) {
        return None;
    }
    named
        .number
        .filter(|_| !mutant::is(Mutant::NamedBlocksBindNothing))
}

/// What a caller has seen once it has an answer: the block that it names, and the block that its
/// `latest` was. A cache hit shows its stamp in the same way.
#[must_use]
pub fn seen(found: &Found, named: &Named, pin: Option<u64>) -> Option<u64> {
    let pinned = pin.filter(|pin| found.wants_pin() && !found.inverts(*pin));
    names_block(found, named).max(pinned)
}

/// The tag whose watermark an answer is held against, where the request is about one: `safe` or
/// `finalized`.
#[must_use]
pub fn watermark(found: &Found) -> Option<Tag> {
    if mutant::is(Mutant::WatermarkIgnored) {
        return None;
    }
    match found.slots() {
        [only] => tag(only.block).filter(|tag| matches!(tag, Tag::Safe | Tag::Finalized)),
        _ => None,
    }
}

fn tag(block: Block) -> Option<Tag> {
    match block {
        Block::Tag(tag) => Some(tag),
        Block::Omitted | Block::Null | Block::Number(_) | Block::JsonNumber(_) | Block::Hash(_) => {
            None
        }
    }
}
