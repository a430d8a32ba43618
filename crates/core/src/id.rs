//! Small identifiers, each a type of its own so that one cannot be used for another.

use std::fmt;

/// An EIP-155 chain id. Part of the type of everything that must not mix between chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainId(pub u64);

impl fmt::Display for ChainId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Position of an endpoint in its pool. Stable for the life of one configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndpointId(pub u16);

impl EndpointId {
    /// No endpoint: one that is not in the pool any more. A pool has at most 65 535.
    pub const GONE: Self = Self(u16::MAX);

    /// The position as an index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Number of an attempt within one call, counted from 0 in the order in which they were started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptId(pub u16);
