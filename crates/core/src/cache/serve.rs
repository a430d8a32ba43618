//! Whether a kept answer is served (P-11, P-12, P-14).

use super::{CacheSettings, Class, Keep, Policy, Stamp, Uncached};
use crate::{
    mutant::{self, Mutant},
    recent::Recent,
};
use std::time::Instant;

/// What a caller asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Its request's class.
    pub class: Class,
    /// Its floor: the highest of its marks (P-8).
    pub floor: Option<u64>,
}

/// What is known when an answer is to be served.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Its chain.
    pub policy: Policy,
    /// The numbers; `None`: the cache is off, or head checks are.
    pub settings: Option<CacheSettings>,
    /// The newest trusted head among the endpoints that may serve the method: the highest that is
    /// believed and that somebody else confirmed (P-11, R-16).
    pub head: Option<u64>,
    /// The block behind `finalized`, as the pool believes it.
    pub finalized: Option<u64>,
    /// The hashes of recent blocks.
    pub recent: &'a Recent,
    /// The time.
    pub now: Instant,
}

impl View<'_> {
    pub(crate) fn is_final(&self, height: u64) -> bool {
        let last = self.policy.final_height(self.head, self.finalized);
        last.is_some_and(|last| height <= last)
    }

    /// Whether the hashes are known up to the newest head, so that a block that left the chain would
    /// have been seen to.
    pub(crate) fn is_watched(&self, settings: &CacheSettings) -> bool {
        let tip = self.recent.tip().map(|tip| tip.number);
        tip.zip(self.head)
            .is_some_and(|(tip, head)| tip.saturating_add(settings.max_stale_blocks) >= head)
    }
}

/// A hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fresh {
    /// Blocks that the answer is behind the newest head; 0 where it cannot change, none where no
    /// block says (P-28).
    pub stale_blocks: Option<u64>,
    /// The block that the caller has seen `latest` at now: raises its marks (P-9).
    pub seen: Option<u64>,
}

/// Why what was found is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Miss {
    /// The cache is off, or head checks are.
    Off,
    /// The request is never answered from memory.
    Never(Uncached),
    /// Nothing was found. For the owner to count.
    Absent,
    /// What was found was read at another block.
    OtherBlock,
    /// Older than `max_age`.
    Age,
    /// Read more than `max_stale_blocks` behind the newest head.
    Stale,
    /// Below what the caller has seen.
    Floor,
    /// No head is trusted, or none reaches the answer's block.
    NoHead,
    /// Its block left the chain, or the chain began anew.
    Orphaned,
    /// Another block is stated at its height by as many.
    Disputed,
    /// The hashes since then are not known, so nobody knows whether its block is still on the chain.
    Unlinked,
}

impl Miss {
    /// A word for a metric.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Never(why) => why.name(),
            Self::Absent => "absent",
            Self::OtherBlock => "other_block",
            Self::Age => "age",
            Self::Stale => "stale",
            Self::Floor => "floor",
            Self::NoHead => "no_head",
            Self::Orphaned => "orphaned",
            Self::Disputed => "disputed",
            Self::Unlinked => "unlinked",
        }
    }
}

/// Whether a kept answer is served.
///
/// # Errors
/// Why not.
pub fn may_serve(entry: &Stamp, ask: &Ask, view: &View<'_>) -> Result<Fresh, Miss> {
    let Some(settings) = &view.settings else {
        return Err(Miss::Off);
    };
    if let Class::Never(why) = ask.class {
        return Err(Miss::Never(why));
    }
    // The chain may have begun anew, on another branch, since it was kept.
    let placed = entry.height.zip(entry.hash);
    let other = |(height, hash)| view.recent.denies(height, &hash);
    if placed.is_some_and(other) && !mutant::is(Mutant::ReorgKeepsAnswers) {
        return Err(Miss::Orphaned);
    }
    // Only a restart takes what belongs to no block.
    if view.recent.has_left(entry.height.unwrap_or(0), entry.since) {
        return Err(Miss::Orphaned);
    }
    let age = view.now.saturating_duration_since(entry.at);
    let mut fresh = Fresh {
        stale_blocks: Some(0),
        seen: None,
    };
    match entry.keep {
        Keep::Fixed => {}
        Keep::Present => {
            if age >= settings.max_age {
                return Err(Miss::Age);
            }
            fresh.stale_blocks = None;
        }
        Keep::Moving => {
            let Some(height) = entry.height else {
                return Err(Miss::OtherBlock);
            };
            let head = view
                .head
                .filter(|head| height <= *head)
                .ok_or(Miss::NoHead)?;
            if let Class::Number(asked) = ask.class {
                if asked != height && !mutant::is(Mutant::AnyBlockServed) {
                    return Err(Miss::OtherBlock);
                }
                if view.is_final(height) {
                    return Ok(fresh);
                }
            } else {
                if ask.floor.is_some_and(|floor| height < floor) {
                    return Err(Miss::Floor);
                }
                let most = if view.policy.is_local() {
                    0
                } else {
                    settings.max_stale_blocks
                };
                if head - height > most && !mutant::is(Mutant::StaleServed) {
                    return Err(Miss::Stale);
                }
                fresh.stale_blocks = Some(head - height);
                fresh.seen = Some(height);
            }
            if age >= settings.max_age && !mutant::is(Mutant::AgeIgnored) {
                return Err(Miss::Age);
            }
            if view.recent.is_disputed(height) {
                return Err(Miss::Disputed);
            }
        }
        Keep::Final => match ask.class {
            Class::Number(asked) if entry.height != Some(asked) => return Err(Miss::OtherBlock),
            _ => {}
        },
        Keep::UnderHash => {
            let Some(height) = entry.height else {
                return Err(Miss::Unlinked);
            };
            match ask.class {
                Class::Number(asked) if asked != height => return Err(Miss::OtherBlock),
                _ => {}
            }
            if !view.recent.is_linked_since(entry.since) || !view.is_watched(settings) {
                return Err(Miss::Unlinked);
            }
            if view.recent.is_disputed(height) {
                return Err(Miss::Disputed);
            }
        }
    }
    Ok(fresh)
}
