//! Headers and blocks, and what a header means for the chain.

use crate::answer::Hash;

/// A header, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its number.
    pub number: u64,
    /// Its hash.
    pub hash: Hash,
    /// The hash of the block before.
    pub parent: Hash,
}

/// A block by number and hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its number.
    pub number: u64,
    /// Its hash.
    pub hash: Hash,
}

/// A reorganisation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reorg {
    /// The highest block that the old and the new chain share. Everything above it is dropped.
    pub fork: u64,
    /// The blocks that left the chain, lowest first.
    pub dropped: Vec<Block>,
    /// Whether more voices are on the new chain than on any other: only that moves a caller's floor
    /// (P-8).
    pub majority: bool,
}

/// What a header meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// It is on the chain already.
    Known,
    /// It is older than what is kept, and tells nothing.
    Old,
    /// The chain goes up to here now; the header itself may be below that.
    Extended {
        /// The tip.
        tip: Block,
    },
    /// The header that would link it is not known: fetch this one by its hash and put it in with
    /// [`Recent::fill`](super::Recent::fill), or give the gap up with [`Recent::jump`](super::Recent::jump).
    Gap {
        /// Which.
        missing: Block,
        /// The tip of the chain, above which something is missing.
        tip: u64,
    },
    /// It links to the chain below the tip, and too few voices say so.
    Rival {
        /// The highest block that both share.
        fork: u64,
    },
    /// It is the tip of another chain now.
    Reorg(Reorg),
    /// It is not linked to anything within the window, and the chain began anew with it: upwards after
    /// a gap too long to walk, or on a branch that left the chain below the window, and then every
    /// block has left it.
    Restarted {
        /// The blocks before have left the chain.
        reorg: bool,
    },
    /// It cannot be a header of any chain.
    Refused(Fault),
}

/// Why a header is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It names itself as its parent.
    OwnParent,
    /// Its parent is known, and has another number than the one before.
    Number,
    /// The same hash was seen with another number or parent.
    Hash,
    /// Too many different headers at this height.
    TooMany,
}

impl Header {
    /// Its number and hash.
    #[must_use]
    pub const fn block(&self) -> Block {
        Block {
            number: self.number,
            hash: self.hash,
        }
    }
}
