//! What one node can see of the chain at one moment.

use std::time::Duration;

/// A node's place in time and on the branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// The chain time that the node has followed the chain to. A stuck node's stands still.
    pub at: Duration,
    /// Blocks by which the node is behind what that time shows.
    pub lag: u64,
    /// Index into [`super::ChainSpec::forks`] of the stray fork it is on.
    pub stray: Option<usize>,
}

impl View {
    /// The view of a node in perfect health.
    #[must_use]
    pub fn healthy(at: Duration) -> Self {
        Self {
            at,
            lag: 0,
            stray: None,
        }
    }
}
