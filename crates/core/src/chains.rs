//! What is known of a chain before anything is measured.
//!
//! The rows are generated at build time from `data/chains.csv`. They are a prior: what the endpoints
//! show replaces it (`semantics.md` §2), and a chain that is not in the table gets the defaults.

use crate::{ChainId, heads::HeadSettings};
use std::time::Duration;

include!(concat!(env!("OUT_DIR"), "/chains.rs"));

/// A chain.
#[derive(Debug, PartialEq)]
pub struct Chain {
    /// Its EIP-155 id.
    pub id: ChainId,
    /// A short name in lower case, the one that a configuration uses.
    pub slug: &'static str,
    /// Its name.
    pub name: &'static str,
    /// A test network.
    pub testnet: bool,
    /// The family of its node software, in the words of the table.
    pub stack: &'static str,
    /// Time from block to block.
    pub block_time: Duration,
    /// Time from one pre-confirmation to the next, where there are any.
    pub preconfirmation: Option<Duration>,
    /// How its blocks become final.
    pub finality: Finality,
    /// The tag `finalized`.
    pub finalized: TagSupport,
    /// The tag `safe`.
    pub safe: TagSupport,
    /// The tag `pending`.
    pub pending: TagSupport,
    /// Blocks below the head after which a block counts as final where the tag cannot be used. For
    /// cache rules only (P-13): the tag is never answered from it.
    pub final_depth: u64,
    /// Blocks that an endpoint may be behind.
    pub max_lag: u64,
    /// Age past which a head stops counting.
    pub stale: Duration,
    /// Other networks with the same id, so that the id alone proves nothing.
    pub shared_with: &'static [&'static str],
    /// What its nodes do unlike others.
    quirks: Quirks,
}

/// How blocks become final.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finality {
    /// At once: `latest`, `safe` and `finalized` are one block.
    Instant,
    /// After a few blocks, by votes.
    Fast,
    /// After two or three epochs.
    Epoch,
    /// By milestones; the tag has been wrong before.
    Milestone,
    /// When the batch is final on the parent chain.
    Rollup,
    /// Never for certain; only by depth.
    Depth,
}

/// Whether nodes know a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagSupport {
    /// They do.
    Yes,
    /// It is the same block as `latest`.
    IsLatest,
    /// They do, but it has been wrong: use the depth too.
    NotAlone,
    /// Some do.
    Mixed,
    /// They do not.
    No,
    /// Nobody knows.
    Unknown,
}

/// Something that the nodes of a chain do unlike others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quirk {
    /// No block is made when there is nothing to put in it: a still head is no fault.
    NoBlocksWhenIdle,
    /// A transaction sent twice is not answered as known: only a look-up by its hash tells.
    NoAlreadyKnown,
    /// Every refused submission has code 3, which means a revert elsewhere.
    RefusedSendsHaveCode3,
    /// A log range past the head is cut without an error: never a last resort for one (P-24).
    CutsRangesInSilence,
    /// A block above the head is an error and not null: it is lag.
    ErrorAboveHead,
    /// Precompiles at 0x…0800 to 0x…08ff answer from outside the chain's block (P-6).
    PresentStatePrecompiles,
    /// The official endpoint answers state at any height with the present one.
    OfficialStateIsPresent,
    /// There are heights without a block.
    NullRounds,
    /// A null answer takes seconds: its latency says nothing.
    SlowNulls,
    /// `pending` is a pre-confirmed block that may vanish.
    Preconfirmations,
}

/// A set of quirks, one bit for each in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Quirks(u16);

impl Chain {
    /// Whether its nodes do this.
    #[must_use]
    pub const fn has(&self, quirk: Quirk) -> bool {
        self.quirks.0 & 1 << quirk as u16 != 0
    }

    /// How long one attempt to submit a transaction may take: a Nitro node holds it until it is in a
    /// block.
    #[must_use]
    pub fn write_timeout(&self) -> Duration {
        write_timeout(Some(self))
    }
}

/// How long one attempt to submit a transaction may take on a chain, known or not.
#[must_use]
pub fn write_timeout(chain: Option<&Chain>) -> Duration {
    let nitro = chain.is_some_and(|chain| chain.stack == "nitro");
    Duration::from_secs(if nitro { 30 } else { 10 })
}

/// How long a whole call to submit a transaction may take, when one attempt may take this long: two
/// seconds more.
#[must_use]
pub const fn write_deadline(timeout: Duration) -> Duration {
    timeout.saturating_add(Duration::from_secs(2))
}

/// Whether the nodes of a chain, known or not, say "already known" of a transaction that they have.
/// Where they do not, only a look-up tells what became of a send (R-35, semantics §4.2 W14).
#[must_use]
pub const fn has_already_known(chain: Option<&Chain>) -> bool {
    match chain {
        Some(chain) => !chain.has(Quirk::NoAlreadyKnown),
        None => true,
    }
}

/// Whether it is the chain of development nodes (anvil and hardhat, geth and ganache), which are reset and reverted at will: what was seen of
/// it before binds nothing.
#[must_use]
pub const fn is_development(chain: ChainId) -> bool {
    matches!(chain.0, 1337 | 31_337)
}

/// All chains, by id.
#[must_use]
pub fn all() -> &'static [Chain] {
    &CHAINS
}

/// The chain with an id.
#[must_use]
pub fn by_id(id: ChainId) -> Option<&'static Chain> {
    let index = CHAINS.binary_search_by_key(&id, |chain| chain.id).ok()?;
    CHAINS.get(index)
}

/// The chain that a person means: by slug, by name, or by id in decimal or `0x` form. Case does not
/// matter.
#[must_use]
pub fn named(text: &str) -> Option<&'static Chain> {
    let id = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            u64::from_str_radix(digits, 16).ok()
        }
        None if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        Some(_) | None => None,
    };
    if let Some(chain) = id.and_then(|id| by_id(ChainId(id))) {
        return Some(chain);
    }
    CHAINS.iter().find(|chain| {
        chain.slug.eq_ignore_ascii_case(text) || chain.name.eq_ignore_ascii_case(text)
    })
}

impl HeadSettings {
    /// The settings of a chain: its own numbers where the table has it, else the defaults.
    #[must_use]
    pub fn of(chain: Option<&Chain>) -> Self {
        match chain {
            Some(chain) => Self {
                max_lag: chain.max_lag,
                stale: chain.stale,
                block_time: Some(chain.block_time),
                ..Self::default()
            },
            None => Self::default(),
        }
    }
}
