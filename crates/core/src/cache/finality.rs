//! From which height down a chain's blocks are final, for the cache and for nothing else: the tag
//! `finalized` is never answered from a depth (`semantics.md` §7 row 10).

use crate::{
    ChainId,
    chains::{self, Chain, Quirk, TagSupport},
};

/// A chain that is not in the table, and whose nodes know no tag.
const UNKNOWN_DEPTH: u64 = 1024;

/// How a chain's blocks become final, as far as answers are kept for good by it (P-13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finality {
    /// At once.
    Instant,
    /// At the block that the tag `finalized` names; where that is not known, this many blocks below
    /// the head.
    Tag {
        /// Blocks.
        depth: u64,
    },
    /// This many blocks below the head, and at the tag where that is lower: it has been wrong.
    TagAndDepth {
        /// Blocks.
        depth: u64,
    },
    /// This many blocks below the head.
    Depth {
        /// Blocks.
        depth: u64,
    },
    /// Never: a development chain, which its owner may set back at will.
    Never,
}

/// What the cache needs to know of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// When blocks are final.
    pub finality: Finality,
    /// Some endpoint answers state reads at any height with the present state, without an error:
    /// nothing that was read at an explicit number may be kept (`semantics.md` §2.4).
    pub state_may_be_present: bool,
}

impl Policy {
    /// The policy for a chain, in the table or not.
    #[must_use]
    pub fn of(id: ChainId) -> Self {
        let chain = chains::by_id(id);
        Self {
            finality: Finality::of(id, chain),
            state_may_be_present: chain
                .is_some_and(|chain| chain.has(Quirk::OfficialStateIsPresent)),
        }
    }

    /// A development chain: reads at `latest` only, within one block.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.finality == Finality::Never
    }

    /// Whether a head that fell means that the chain was set back, and everything kept is void. On
    /// any other chain a fall is lag, and a reorganisation shows in the hashes.
    #[must_use]
    pub fn is_reset(&self, before: u64, after: u64) -> bool {
        self.is_local() && after < before
    }

    /// The highest final block. `head` is the newest trusted head, `finalized` the block behind that
    /// tag, as the pool believes it.
    #[must_use]
    pub fn final_height(&self, head: Option<u64>, finalized: Option<u64>) -> Option<u64> {
        let deep = |depth: u64| head?.checked_sub(depth);
        let tag = finalized.map(|tag| head.map_or(tag, |head| tag.min(head)));
        match self.finality {
            Finality::Instant => head,
            Finality::Tag { depth } => tag.or_else(|| deep(depth)),
            Finality::TagAndDepth { depth } => {
                let deep = deep(depth)?;
                Some(tag.map_or(deep, |tag| tag.min(deep)))
            }
            Finality::Depth { depth } => deep(depth),
            Finality::Never => None,
        }
    }
}

impl Finality {
    fn of(id: ChainId, chain: Option<&Chain>) -> Self {
        let Some(chain) = chain else {
            return if chains::is_development(id) {
                Self::Never
            } else {
                Self::Tag {
                    depth: UNKNOWN_DEPTH,
                }
            };
        };
        let depth = chain.final_depth;
        match (chain.finality, chain.finalized) {
            (chains::Finality::Instant, _) => Self::Instant,
            (_, TagSupport::Yes) => Self::Tag { depth },
            // A chain that is not final at once and yet says so.
            (_, TagSupport::NotAlone | TagSupport::IsLatest) => Self::TagAndDepth { depth },
            (_, TagSupport::Mixed | TagSupport::No | TagSupport::Unknown) => Self::Depth { depth },
        }
    }
}
