//! What kind of read a request is.

use crate::{
    answer::Hash,
    method::{Block, CacheClass, Descriptor, Found, KeyForm, Reading, Resolve, Sticky, Tag},
};
use smallvec::SmallVec;

/// How an answer may be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Not at all.
    Never(Uncached),
    /// For good: it is the same at every block.
    Fixed,
    /// A read at `latest`: within `max_stale_blocks` and `max_age` (P-11, P-12).
    Moving,
    /// An answer from outside the chain's block: within `max_age` (P-6).
    Present,
    /// About an explicit block number, the highest where it names a range (P-13).
    Number(u64),
    /// About the block with this hash (P-13).
    Hash(Hash),
    /// About a transaction: kept with the block that the answer names (P-13).
    Transaction,
}

/// Why a request is never answered from memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Uncached {
    /// It is no read, or its answers belong to one endpoint.
    NotARead,
    /// The table says so (P-15).
    Method,
    /// `pending`, `safe`, `finalized` or `earliest` (P-15).
    Tag,
    /// A number that the heads answer (P-5).
    FromHeads,
    /// Logs of a range: the log index answers them (P-21).
    Logs,
    /// Its block cannot be read with certainty.
    Unclear,
    /// A member that is not known may change its meaning (hardening B15).
    UnknownMember,
    /// What it names may still fill in after its block is final.
    FillsIn,
}

impl Class {
    /// The class of a request. `form` is that of its key, `present` says that it reads present state
    /// ([`PresentState`](crate::pin::PresentState)).
    #[must_use]
    pub fn of(found: &Found, form: KeyForm, present: bool) -> Self {
        let row = found.row();
        if !row.is_read() || row.sticky != Sticky::None {
            return Self::Never(Uncached::NotARead);
        }
        if found.reading() == Reading::Foreign {
            return Self::Never(Uncached::Unclear);
        }
        if form == KeyForm::Raw && row.params.is_some() {
            return Self::Never(Uncached::UnknownMember);
        }
        let moves = |block: Block| match block {
            Block::Tag(Tag::Pending | Tag::Safe | Tag::Finalized | Tag::Earliest) => true,
            Block::Tag(Tag::Latest)
            | Block::Omitted
            | Block::Null
            | Block::Number(_)
            | Block::JsonNumber(_)
            | Block::Hash(_) => false,
        };
        if found.slots().iter().any(|slot| moves(slot.block)) {
            return Self::Never(Uncached::Tag);
        }
        if present {
            return Self::Present;
        }
        if fills_in(row) {
            return Self::Never(Uncached::FillsIn);
        }
        match row.cache_class {
            CacheClass::Never if row.name == "eth_getTransactionCount" => match Self::placed(found)
            {
                kept @ (Self::Number(_) | Self::Hash(_)) => kept,
                _ => Self::Never(Uncached::Method),
            },
            CacheClass::Never => Self::Never(Uncached::Method),
            CacheClass::Static => match row.name {
                "eth_chainId" | "net_version" | "web3_sha3" => Self::Fixed,
                // True for a time only: the table's notes say until when.
                _ => Self::Present,
            },
            CacheClass::ByTx => Self::Transaction,
            CacheClass::LogRange => match Self::placed(found) {
                hash @ Self::Hash(_) => hash,
                _ => Self::Never(Uncached::Logs),
            },
            CacheClass::AtHead if found.reading() == Reading::NoBlock => match row.name {
                "eth_blockNumber" | "erigon_blockNumber" => Self::Never(Uncached::FromHeads),
                "eth_getFinalizedHeader" | "eth_getFinalizedBlock" => Self::Never(Uncached::Tag),
                _ => Self::Moving,
            },
            CacheClass::AtHead | CacheClass::ByNumber | CacheClass::ByHash => Self::placed(found),
        }
    }

    /// By the blocks of the request.
    fn placed(found: &Found) -> Self {
        let asked = found.reference(None);
        if let Some(hash) = asked.hash {
            return Self::Hash(hash);
        }
        match (asked.high, asked.low) {
            (Some(high), Some(low)) => Self::Number(high.max(low)),
            _ if found.wants_pin() => Self::Moving,
            _ => Self::Never(Uncached::Unclear),
        }
    }

    /// Which keys to look under, in this order: the entry that a read at `latest` left, whose stamp
    /// decides, and for an explicit block its own.
    #[must_use]
    pub fn lookups(self) -> SmallVec<[Resolve; 2]> {
        let mut keys = SmallVec::new();
        match self {
            Self::Never(_) => {}
            Self::Moving | Self::Present => keys.push(Resolve::Tagless),
            Self::Number(_) => keys.extend([Resolve::Tagless, Resolve::AsWritten]),
            Self::Fixed | Self::Hash(_) | Self::Transaction => keys.push(Resolve::AsWritten),
        }
        keys
    }

    /// Which key to keep an answer under.
    #[must_use]
    pub const fn storage(self) -> Option<Resolve> {
        match self {
            Self::Never(_) => None,
            Self::Moving | Self::Present => Some(Resolve::Tagless),
            Self::Number(_) | Self::Fixed | Self::Hash(_) | Self::Transaction => {
                Some(Resolve::AsWritten)
            }
        }
    }
}

impl Uncached {
    /// A word for a metric.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotARead => "not_a_read",
            Self::Method => "method",
            Self::Tag => "tag",
            Self::FromHeads => "from_heads",
            Self::Logs => "logs",
            Self::Unclear => "unclear",
            Self::UnknownMember => "unknown_member",
            Self::FillsIn => "fills_in",
        }
    }
}

/// Methods whose answers fill in after the block is final: the table's notes say when they are done,
/// and nothing here can tell.
fn fills_in(row: &Descriptor) -> bool {
    matches!(
        row.name,
        "zks_getBlockDetails"
            | "zks_getRawBlockTransactions"
            | "zks_getTransactionDetails"
            | "zks_getL2ToL1LogProof"
            | "zks_getL2ToL1MsgProof"
            | "linea_getTransactionExclusionStatusV1"
            | "debug_traceBlock"
            | "optimism_outputAtBlock"
    )
}
