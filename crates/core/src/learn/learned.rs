//! What is known of one endpoint.

use super::limit::{Limit, remembered};
use super::{Capabilities, Data, Declared, Kept, Need, Size};
use crate::classify::{Class, Verdict};
use crate::heads::Holds;
use crate::method::Tag;
use std::time::{Duration, Instant};

/// How long what was learned is believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LearnSettings {
    /// After this time everything is forgotten that is not about a single block.
    pub forget: Duration,
    /// After this time a block that was missing is worth another try: gaps near the head close by
    /// themselves.
    pub forget_block: Duration,
    /// Blocks below the head in which nothing is pruned yet: what is missing there is a gap.
    pub near_head: u64,
}

impl Default for LearnSettings {
    fn default() -> Self {
        Self {
            forget: Duration::from_secs(3600),
            forget_block: Duration::from_secs(60),
            near_head: 64,
        }
    }
}

impl LearnSettings {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The name of the first duration that is zero, under which nothing would ever be learned.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.forget.is_zero() {
            return Err("forget");
        }
        if self.forget_block.is_zero() {
            return Err("forget_block");
        }
        Ok(())
    }
}

/// Blocks noted as missing; the oldest note makes room.
const GAPS: usize = 16;

#[derive(Clone, Copy, Debug)]
struct Gap {
    kind: Data,
    height: u64,
    at: Instant,
}

#[derive(Clone, Copy, Debug)]
enum Asked {
    Answered,
    Refused,
}

/// What is known of one endpoint beside its head and its health.
#[derive(Clone, Debug)]
pub struct Learned {
    settings: LearnSettings,
    declared: Declared,
    /// What it said of itself, in the order of [`Data::ALL`].
    stated: [Option<(Kept, Instant)>; 6],
    /// The oldest block that may still be there, as its answers showed, in the same order.
    pruned: [Option<(u64, Instant)>; 6],
    limits: [Limit; Size::COUNT],
    tags: [Option<(bool, Instant)>; 5],
    gaps: [Option<Gap>; GAPS],
    next_gap: usize,
    asked: Option<(Asked, Instant)>,
}

impl Learned {
    /// Nothing but what is declared.
    #[must_use]
    pub fn new(declared: Declared, settings: LearnSettings) -> Self {
        Self {
            settings,
            declared,
            stated: [None; 6],
            pruned: [None; 6],
            limits: [Limit::default(); Size::COUNT],
            tags: [None; 5],
            gaps: [None; GAPS],
            next_gap: 0,
            asked: None,
        }
    }

    /// Other declarations and times from now on; what was learned stays.
    pub fn set_settings(&mut self, declared: Declared, settings: LearnSettings) {
        self.declared = declared;
        self.settings = settings;
    }

    /// It said that it does not keep this block's data any more (M09, M10). `head` is the reference:
    /// near it, or at a block that is not there yet, that is a gap and no pruning.
    pub fn on_missing(&mut self, kind: Data, height: u64, head: Option<u64>, now: Instant) {
        if head.is_some_and(|head| height.saturating_add(self.settings.near_head) > head) {
            self.on_absent(kind, height, now);
            return;
        }
        let forget = self.settings.forget;
        let pruned = &mut self.pruned[kind as usize];
        let before = remembered(*pruned, forget, now).unwrap_or(0);
        *pruned = Some((before.max(height.saturating_add(1)), now));
    }

    /// It has no such block, though it should (M06, M16): noted for a while.
    pub fn on_absent(&mut self, kind: Data, height: u64, now: Instant) {
        let same =
            |gap: &Option<Gap>| gap.is_some_and(|gap| gap.kind == kind && gap.height == height);
        let index = self.gaps.iter().position(same).unwrap_or_else(|| {
            let next = self.next_gap;
            self.next_gap = (next + 1) % GAPS;
            next
        });
        self.gaps[index] = Some(Gap {
            kind,
            height,
            at: now,
        });
    }

    /// It answered with this block's data: whatever said otherwise was wrong.
    pub fn on_kept(&mut self, kind: Data, height: u64) {
        if let Some((oldest, _)) = &mut self.pruned[kind as usize] {
            *oldest = (*oldest).min(height);
        }
        if let Some((stated, _)) = &mut self.stated[kind as usize] {
            match stated {
                Kept::From(oldest) => *oldest = (*oldest).min(height),
                Kept::Nothing => *stated = Kept::From(height),
                Kept::Last(_) => {}
            }
        }
        for gap in &mut self.gaps {
            if gap.is_some_and(|gap| gap.kind == kind && gap.height == height) {
                *gap = None;
            }
        }
    }

    /// The oldest block whose data may still be there: as declared, else the higher of what it said
    /// and what its answers showed. `u64::MAX` where it keeps nothing of the kind. `head` is its
    /// head, without which a window says nothing.
    #[must_use]
    pub fn oldest(&self, kind: Data, head: Option<u64>, now: Instant) -> Option<u64> {
        if let Some(declared) = self.declared.kept(kind) {
            return declared.oldest(head);
        }
        let forget = self.settings.forget;
        let stated = remembered(self.stated[kind as usize], forget, now);
        let stated = stated.and_then(|kept| kept.oldest(head));
        stated.max(remembered(self.pruned[kind as usize], forget, now))
    }

    /// Whether it keeps this block's data. Known only where it was declared or where it said so
    /// itself; that it has not reached the block yet is for [`crate::heads`].
    #[must_use]
    pub fn keeps(&self, kind: Data, height: u64, head: Option<u64>, now: Instant) -> Holds {
        if self.lacks(kind, height, now) {
            return Holds::No;
        }
        let forget = self.settings.forget;
        let stated = self.declared.kept(kind);
        let stated = stated.or_else(|| remembered(self.stated[kind as usize], forget, now));
        let is_stated = stated.and_then(|kept| kept.oldest(head)).is_some();
        match self.oldest(kind, head, now) {
            Some(oldest) if height < oldest => Holds::No,
            Some(_) if is_stated => Holds::Yes,
            Some(_) | None => Holds::Unknown,
        }
    }

    /// Whether this block was missing lately.
    #[must_use]
    pub fn lacks(&self, kind: Data, height: u64, now: Instant) -> bool {
        self.gaps.iter().flatten().any(|gap| {
            gap.kind == kind
                && gap.height == height
                && now.saturating_duration_since(gap.at) < self.settings.forget_block
        })
    }

    /// Whether it can serve a request as far as kept data, sizes and tags go: no if one of them says no,
    /// yes if all that are concerned say yes.
    #[must_use]
    pub fn serves(&self, need: &Need, head: Option<u64>, now: Instant) -> Holds {
        let block = |height| Some(self.keeps(need.kind?, height?, head, now));
        let span = need.span.map(|span| self.takes(Size::LogRange, span, now));
        let tag = need.tag.map(|tag| self.knows(tag, now));
        let mut all = Holds::Yes;
        for one in [block(need.lowest), block(need.height), span, tag] {
            match one {
                Some(Holds::No) => return Holds::No,
                Some(Holds::Unknown) => all = Holds::Unknown,
                Some(Holds::Yes) | None => {}
            }
        }
        all
    }

    /// Whether to ask it for `eth_capabilities`: once for each connection that is made anew, and
    /// again when what it said is forgotten. One that does not know the method is left alone as
    /// long.
    #[must_use]
    pub fn wants_capabilities(&self, now: Instant) -> bool {
        remembered(self.asked, self.settings.forget, now).is_none()
    }

    /// It answered. What it does not speak of any more is forgotten.
    pub fn on_capabilities(&mut self, capabilities: &Capabilities, now: Instant) {
        self.asked = Some((Asked::Answered, now));
        self.stated = capabilities.kept.map(|kept| kept.map(|kept| (kept, now)));
    }

    /// It does not know `eth_capabilities`, or its answer is none.
    pub fn on_no_capabilities(&mut self, now: Instant) {
        self.asked = Some((Asked::Refused, now));
    }

    /// The connection is a new one, perhaps to another node behind the same address.
    pub fn on_reconnected(&mut self) {
        if let Some((Asked::Answered, _)) = self.asked {
            self.asked = None;
        }
    }

    /// It took this much.
    pub fn on_accepted(&mut self, size: Size, amount: u64, now: Instant) {
        self.limits[size as usize].accept(amount, self.settings.forget, now);
    }

    /// It refused this much, and may have said how much it takes.
    pub fn on_refused(&mut self, size: Size, amount: u64, stated: Option<u64>, now: Instant) {
        self.limits[size as usize].refuse(amount, stated, self.settings.forget, now);
    }

    /// It refused a log query of [`Need::span`] blocks. A range with a tag in it teaches nothing
    /// (L15), nor does a refusal for another reason than its width.
    pub fn on_range_refused(&mut self, span: Option<u64>, verdict: &Verdict, now: Instant) {
        let is_width = verdict.class == Class::RangeLimit
            && verdict
                .subclass
                .is_none_or(|subclass| subclass == "block_span");
        if let Some(span) = span.filter(|_| is_width) {
            let stated = verdict.suggested_range.and_then(|range| range.max_blocks);
            self.on_refused(Size::LogRange, span, stated, now);
        }
    }

    /// The largest amount to send at once: as declared, else as learned, else none is known.
    #[must_use]
    pub fn largest(&self, size: Size, now: Instant) -> Option<u64> {
        let learned = || self.limits[size as usize].largest(self.settings.forget, now);
        self.declared.largest(size).or_else(learned)
    }

    /// Whether it takes this much at once.
    #[must_use]
    pub fn takes(&self, size: Size, amount: u64, now: Instant) -> Holds {
        match self.declared.largest(size) {
            Some(largest) if amount <= largest => Holds::Yes,
            Some(_) => Holds::No,
            None => self.limits[size as usize].takes(amount, self.settings.forget, now),
        }
    }

    /// It does not know a tag (P15).
    pub fn on_tag_refused(&mut self, tag: Tag, now: Instant) {
        self.tags[tag as usize] = Some((false, now));
    }

    /// It resolved a tag.
    pub fn on_tag_resolved(&mut self, tag: Tag, now: Instant) {
        self.tags[tag as usize] = Some((true, now));
    }

    /// Whether it knows a tag.
    #[must_use]
    pub fn knows(&self, tag: Tag, now: Instant) -> Holds {
        let learned = || remembered(self.tags[tag as usize], self.settings.forget, now);
        match self.declared.tag(tag).or_else(learned) {
            Some(true) => Holds::Yes,
            Some(false) => Holds::No,
            None => Holds::Unknown,
        }
    }
}
