//! Whether an answer is kept (P-12, P-13, P-15).

use super::{CacheSettings, Class, Finality, Uncached, View};
use crate::{
    answer::{Hash, Mismatch, Named},
    learn::Data,
    method::{EmptyIs, Found, Lane},
    recent::{Block, Mark},
};
use std::time::Instant;

/// How long an answer counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// For good, whatever the block.
    Fixed,
    /// While its block is final, which is for good.
    Final,
    /// While its block is on the chain.
    UnderHash,
    /// While it is near the head and young.
    Moving,
    /// While it is young.
    Present,
}

/// What a kept answer is stamped with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// How long it counts.
    pub keep: Keep,
    /// The block that it was read at.
    pub height: Option<u64>,
    /// That block's hash, where it is known.
    pub hash: Option<Hash>,
    /// When it was asked for.
    pub at: Instant,
    /// The moment in the chain's history when it was asked for.
    pub since: Mark,
}

/// A sign that an empty list is true, beside an endpoint that holds the block (rule `suspect`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// The block's bloom cannot match the filter.
    Bloom,
    /// The block has no transactions.
    NoTransactions,
    /// The same was answered once more after the next block.
    SecondRead,
}

/// An answer, and what was known when it was asked for.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// Its request's class.
    pub class: Class,
    /// The blocks of its request.
    pub found: &'a Found,
    /// The request's parameters as its caller wrote them.
    pub params: &'a str,
    /// The block that its `latest` was pinned to.
    pub pin: Option<u64>,
    /// The bytes of `result`; `None`: an error or a revert.
    pub result: Option<&'a str>,
    /// What the result names. Where it names no block, as a count by a block's hash does, the number
    /// may be filled in by whoever knows it.
    pub named: Named,
    /// The lowest trusted head among the endpoints that could have served it, for a read without a
    /// pin (P-12).
    pub lowest_head: Option<u64>,
    /// Every endpoint that could have served it is known to hold its blocks (P-13).
    pub all_hold: bool,
    /// Whoever answered is on another branch than the chain
    /// ([`Recent::is_rival`](crate::recent::Recent::is_rival)).
    pub rival: bool,
    /// What makes an empty list believable.
    pub sign: Option<Sign>,
    /// When the request was sent.
    pub at: Instant,
    /// [`Recent::mark`](crate::recent::Recent::mark) when the request was sent.
    pub since: Mark,
}

/// Why an answer is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Refusal {
    /// The cache is off, or head checks are.
    Off,
    /// The request is never answered from memory.
    Never(Uncached),
    /// An error or a revert (P-15).
    Error,
    /// Null is never kept, at any height (P-13).
    Null,
    /// An empty list that nothing else confirms (rule `suspect`).
    Empty,
    /// It is about another block or transaction than was asked for.
    NotAsAsked,
    /// It names no block: pending, or too young.
    Unmined,
    /// Nothing says at which block it was read.
    NoStamp,
    /// Its block is above the newest trusted head.
    AboveHead,
    /// An endpoint that could have served it may not hold its block (P-13).
    NotAllHold,
    /// On this chain a state read at a number may have been answered from the present (P-13).
    PresentState,
    /// On a development chain only reads at `latest` are kept.
    LocalChain,
    /// Its block left the chain while it was read.
    Orphaned,
    /// Its block is not the one that the chain has at this height.
    OffChain,
    /// Another block is stated at its height by as many.
    Disputed,
    /// Whoever answered is on another branch.
    Rival,
    /// Its block is not final, and its hash or the way from it to the head is not known.
    Unlinked,
    /// Its blocks are older than an index of logs reaches (P-21).
    Window,
}

impl Refusal {
    /// A word for a metric.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Never(why) => why.name(),
            Self::Error => "error",
            Self::Null => "null",
            Self::Empty => "empty",
            Self::NotAsAsked => "not_as_asked",
            Self::Unmined => "unmined",
            Self::NoStamp => "no_stamp",
            Self::AboveHead => "above_head",
            Self::NotAllHold => "not_all_hold",
            Self::PresentState => "present_state",
            Self::LocalChain => "local_chain",
            Self::Orphaned => "orphaned",
            Self::OffChain => "off_chain",
            Self::Disputed => "disputed",
            Self::Rival => "rival",
            Self::Unlinked => "unlinked",
            Self::Window => "window",
        }
    }
}

/// Whether an answer is kept, and under which stamp. The key is [`Class::storage`]'s.
///
/// # Errors
/// Why not.
pub fn may_store(answer: &Answer<'_>, view: &View<'_>) -> Result<Stamp, Refusal> {
    let Some(settings) = &view.settings else {
        return Err(Refusal::Off);
    };
    if let Class::Never(why) = answer.class {
        return Err(Refusal::Never(why));
    }
    let result = answer.result.ok_or(Refusal::Error)?.trim_ascii();
    if result == "null" {
        return Err(Refusal::Null);
    }
    let row = answer.found.row();
    let checked = answer
        .named
        .check(row, answer.found, answer.params, answer.pin);
    checked.map_err(|_: Mismatch| Refusal::NotAsAsked)?;

    let stamp = |keep, height, hash| Stamp {
        keep,
        height,
        hash,
        at: answer.at,
        since: answer.since,
    };
    match answer.class {
        Class::Never(why) => Err(Refusal::Never(why)),
        Class::Fixed if view.policy.is_local() => Ok(stamp(Keep::Present, None, None)),
        Class::Fixed => Ok(stamp(Keep::Fixed, None, None)),
        Class::Present => {
            believe_empty(answer, result, None, view)?;
            Ok(stamp(Keep::Present, None, None))
        }
        Class::Moving => {
            let pinned = answer.pin.filter(|pin| !answer.found.inverts(*pin));
            let height = pinned.or(answer.named.number).or(answer.lowest_head);
            let height = height.ok_or(Refusal::NoStamp)?;
            if view.head.is_none_or(|head| height > head) {
                return Err(Refusal::AboveHead);
            }
            believe_empty(answer, result, Some(height), view)?;
            is_on_chain(answer, height, answer.named.hash, view)?;
            // State names no block: it is that of the chain, as far as anybody knows.
            let hash = answer.named.hash.or_else(|| view.recent.hash_at(height));
            Ok(stamp(Keep::Moving, Some(height), hash))
        }
        Class::Number(_) | Class::Hash(_) | Class::Transaction if view.policy.is_local() => {
            Err(Refusal::LocalChain)
        }
        Class::Number(height) => {
            if view.head.is_none_or(|head| height > head) {
                return Err(Refusal::AboveHead);
            }
            if row.lane == Lane::State {
                if view.policy.state_may_be_present {
                    return Err(Refusal::PresentState);
                }
                if !answer.all_hold {
                    return Err(Refusal::NotAllHold);
                }
            }
            believe_empty(answer, result, Some(height), view)?;
            // The hash of the last block only, where it is a range.
            let hash = answer
                .named
                .hash
                .filter(|_| answer.named.number == Some(height));
            let hash = hash.or_else(|| view.recent.hash_at(height));
            placed(answer, height, hash, view, settings, stamp)
        }
        Class::Hash(hash) => {
            let number = answer.named.number.or_else(|| view.recent.number_of(&hash));
            if number.is_none() && view.policy.finality == Finality::Instant {
                believe_empty(answer, result, None, view)?;
                return Ok(stamp(Keep::Final, None, Some(hash)));
            }
            let height = number.ok_or(Refusal::Unlinked)?;
            believe_empty(answer, result, Some(height), view)?;
            placed(answer, height, Some(hash), view, settings, stamp)
        }
        Class::Transaction => {
            let height = answer.named.number.ok_or(Refusal::Unmined)?;
            let hash = answer.named.hash.ok_or(Refusal::Unmined)?;
            if view.head.is_none_or(|head| height > head) {
                return Err(Refusal::AboveHead);
            }
            believe_empty(answer, result, Some(height), view)?;
            placed(answer, height, Some(hash), view, settings, stamp)
        }
    }
}

/// For good where the block is final, before that under its hash.
fn placed(
    answer: &Answer<'_>,
    height: u64,
    hash: Option<Hash>,
    view: &View<'_>,
    settings: &CacheSettings,
    stamp: impl Fn(Keep, Option<u64>, Option<Hash>) -> Stamp,
) -> Result<Stamp, Refusal> {
    is_on_chain(answer, height, hash, view)?;
    if view.is_final(height) {
        return Ok(stamp(Keep::Final, Some(height), hash));
    }
    let hash = hash.ok_or(Refusal::Unlinked)?;
    let number = height;
    let linked = view.recent.contains(Block { number, hash })
        && view.recent.is_linked_since(answer.since)
        && view.is_watched(settings);
    if linked {
        Ok(stamp(Keep::UnderHash, Some(height), Some(hash)))
    } else {
        Err(Refusal::Unlinked)
    }
}

/// Nothing speaks against the block.
fn is_on_chain(
    answer: &Answer<'_>,
    height: u64,
    hash: Option<Hash>,
    view: &View<'_>,
) -> Result<(), Refusal> {
    if view.recent.has_left(height, answer.since) {
        return Err(Refusal::Orphaned);
    }
    if answer.rival {
        return Err(Refusal::Rival);
    }
    if hash.is_some_and(|hash| view.recent.denies(height, &hash)) {
        return Err(Refusal::OffChain);
    }
    if view.recent.is_disputed(height) {
        return Err(Refusal::Disputed);
    }
    Ok(())
}

/// An empty list is believed only where it is known to be possible (rule `suspect`): from holders of
/// every block it is about, and of the newest block, or of receipts, only with a further sign.
fn believe_empty(
    answer: &Answer<'_>,
    result: &str,
    height: Option<u64>,
    view: &View<'_>,
) -> Result<(), Refusal> {
    let inside = result
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    if !inside.is_some_and(|inside| inside.trim_ascii().is_empty()) {
        return Ok(());
    }
    let row = answer.found.row();
    let believed = match row.empty_is {
        EmptyIs::Value => true,
        EmptyIs::Absent | EmptyIs::NotApplicable => false,
        EmptyIs::Suspect => {
            let newest = height
                .zip(view.head)
                .is_none_or(|(height, head)| height >= head);
            let needs_sign = newest || Data::of(row) == Some(Data::Receipts);
            answer.all_hold && (answer.sign.is_some() || !needs_sign)
        }
    };
    if believed {
        Ok(())
    } else {
        Err(Refusal::Empty)
    }
}
