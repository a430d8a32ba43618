//! What makes a chain: numbers that fix every block.

use std::time::Duration;

/// Who takes part in a fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reach {
    /// The whole network: a reorg.
    Everyone,
    /// Only nodes that are told to be on it: a node that lost its way.
    Strayed,
}

/// Blocks replaced by others of the same heights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fork {
    /// When, in chain time.
    pub at: Duration,
    /// How many blocks, the head included, are replaced.
    pub depth: u64,
    /// Who sees it.
    pub reach: Reach,
}

/// The numbers of a chain. Two chains with equal numbers are equal to the byte.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChainSpec {
    /// Keys, addresses, amounts and hashes come from it.
    pub seed: u64,
    /// EIP-155 chain id.
    pub chain_id: u64,
    /// Height of the first block that exists.
    pub first: u64,
    /// Height of the head at chain time zero.
    pub start: u64,
    /// Unix time of chain time zero, in seconds.
    pub genesis_time: u64,
    /// Time between two blocks; at least a millisecond.
    pub block_time: Duration,
    /// Synthetic transactions in every block but the first; at most [`super::ACCOUNTS`].
    pub transactions: usize,
    /// Logs of each synthetic transaction that succeeds.
    pub logs: usize,
    /// How far the tag `safe` is behind the head, in blocks.
    pub safe_lag: u64,
    /// How far the tag `finalized` is behind the head, in blocks.
    pub finalized_lag: u64,
    /// Reorgs and stray forks, in the order of their times.
    pub forks: Vec<Fork>,
}

impl Default for ChainSpec {
    fn default() -> Self {
        Self {
            seed: 1,
            chain_id: 990_001,
            first: 0,
            start: 128,
            genesis_time: 1_700_000_000,
            block_time: Duration::from_secs(1),
            transactions: 3,
            logs: 2,
            safe_lag: 32,
            finalized_lag: 64,
            forks: Vec::new(),
        }
    }
}

impl ChainSpec {
    /// Height of the head at a chain time.
    #[must_use]
    pub fn head_at(&self, at: Duration) -> u64 {
        let steps = at.as_nanos() / self.block_time.as_nanos().max(1);
        self.start
            .saturating_add(u64::try_from(steps).unwrap_or(u64::MAX))
    }

    /// Chain time at which a height appears; zero for those that exist at the start.
    #[must_use]
    pub fn born_at(&self, height: u64) -> Duration {
        let steps = height.saturating_sub(self.start);
        self.block_time
            .saturating_mul(u32::try_from(steps).unwrap_or(u32::MAX))
    }

    /// Timestamp of the block at a height, in Unix seconds.
    #[must_use]
    pub fn timestamp(&self, height: u64) -> u64 {
        if height >= self.start {
            return self.genesis_time + self.born_at(height).as_secs();
        }
        let before = u128::from(self.start - height) * self.block_time.as_nanos();
        let seconds = u64::try_from(before.div_ceil(1_000_000_000)).unwrap_or(u64::MAX);
        self.genesis_time.saturating_sub(seconds)
    }

    /// The highest block that a fork keeps.
    #[must_use]
    pub(super) fn split(&self, fork: &Fork) -> u64 {
        self.head_at(fork.at)
            .saturating_sub(fork.depth)
            .max(self.first)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::ChainSpec;

    #[test]
    fn counts_blocks_by_time_and_time_by_blocks() {
        let spec = ChainSpec {
            block_time: Duration::from_millis(250),
            start: 10,
            ..ChainSpec::default()
        };
        assert_eq!(spec.head_at(Duration::ZERO), 10);
        assert_eq!(spec.head_at(Duration::from_millis(249)), 10);
        assert_eq!(spec.head_at(Duration::from_millis(250)), 11);
        assert_eq!(spec.born_at(14), Duration::from_secs(1));
        assert_eq!(spec.timestamp(14), spec.genesis_time + 1);
        assert_eq!(spec.timestamp(9), spec.genesis_time - 1);
    }
}
