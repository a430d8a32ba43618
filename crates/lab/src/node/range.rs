//! How each client refuses a log search.
//!
//! Here the codes agree least: one client's rate limit is another's range limit, and a range above
//! the head is an error, an empty list or a shorter list.

use super::dialect::{Dialect, Miss, error, invalid};

impl Dialect {
    /// A log range that ends above the head; `None` where the client cuts it without a word.
    #[must_use]
    pub fn logs_above_head(self, to: u64, head: u64) -> Option<Miss> {
        Some(match self {
            Self::Monad => return None,
            Self::Besu => invalid("Invalid params"),
            Self::Reth => invalid(format!(
                "block range extends beyond current head block: requested {to}, head {head}"
            )),
            Self::Bsc | Self::CosmosEvm => error(-32000, "invalid block range params"),
            Self::Coreth => error(
                -32000,
                format!("requested to block {to} after last accepted block {head}"),
            ),
            Self::Sei => error(
                -32000,
                format!("requested toBlock {to} is after latest available block {head}"),
            ),
            Self::Geth | Self::Nitro | Self::Zksync => {
                invalid("block range extends beyond current head block")
            }
        })
    }

    /// Whether logs up to a block above the head are those up to the head, without a word.
    #[must_use]
    pub fn clamps_logs(self) -> bool {
        self.logs_above_head(1, 0).is_none()
    }

    /// Logs of a block hash that the node has not seen.
    #[must_use]
    pub fn logs_unknown_hash(self) -> Miss {
        match self {
            Self::Monad => Miss::Empty,
            Self::Besu => error(-32000, "Block not found"),
            Self::Geth
            | Self::Reth
            | Self::Nitro
            | Self::Bsc
            | Self::Coreth
            | Self::Sei
            | Self::CosmosEvm
            | Self::Zksync => error(-32000, "unknown block"),
        }
    }

    /// A log range whose end is below its beginning.
    #[must_use]
    pub fn logs_inverted(self, from: u64, to: u64) -> Miss {
        match self {
            Self::Besu => invalid("Invalid params"),
            Self::Monad => invalid("invalid block range"),
            Self::Bsc | Self::CosmosEvm => error(-32000, "invalid block range params"),
            Self::Coreth => error(
                -32000,
                format!("begin block {from} is greater than end block {to}"),
            ),
            Self::Sei => error(
                -32000,
                format!("requested fromBlock {from} is greater than toBlock {to}"),
            ),
            Self::Geth | Self::Reth | Self::Nitro | Self::Zksync => {
                invalid("invalid block range params")
            }
        }
    }

    /// A log range of more blocks than the node searches.
    #[must_use]
    pub fn logs_too_wide(self, width: u64, limit: u64) -> Miss {
        match self {
            Self::Besu => error(-32005, "Requested range exceeds maximum RPC range limit"),
            Self::Reth => invalid(format!("query exceeds max block range {limit}")),
            Self::Monad => invalid("block range too large"),
            Self::Bsc => error(-32000, format!("exceed maximum block range: {limit}")),
            Self::Coreth => error(
                -32000,
                format!("requested too many blocks, maximum is set to {limit}"),
            ),
            Self::Sei => error(
                -32000,
                format!("block range too large ({width}), maximum allowed is {limit} blocks"),
            ),
            Self::CosmosEvm => error(
                -32000,
                format!("maximum [from, to] blocks distance: {limit}"),
            ),
            Self::Geth | Self::Nitro | Self::Zksync => {
                invalid(format!("exceed maximum block range {limit}"))
            }
        }
    }

    /// A log search that found more than the node returns; `good` ends a range that would do.
    #[must_use]
    pub fn logs_too_many(self, limit: usize, from: u64, good: u64) -> Miss {
        match self {
            Self::Reth => invalid(format!(
                "query exceeds max results {limit}, retry with the range {from}-{good}"
            )),
            Self::Zksync => invalid(format!(
                "Query returned more than {limit} results. Try with this block range \
                 [{from:#x}, {good:#x}]."
            )),
            Self::Geth
            | Self::Besu
            | Self::Monad
            | Self::Nitro
            | Self::Bsc
            | Self::Coreth
            | Self::Sei
            | Self::CosmosEvm => error(-32000, format!("query returned more than {limit} results")),
        }
    }

    /// Blocks that were here once, asked for by a log search.
    #[must_use]
    pub fn logs_pruned(self, from: u64, oldest: u64) -> Miss {
        match self {
            Self::Sei | Self::Zksync | Self::Monad => self.pruned(from, oldest),
            Self::Geth
            | Self::Besu
            | Self::Reth
            | Self::Nitro
            | Self::Bsc
            | Self::Coreth
            | Self::CosmosEvm => error(4444, "pruned history unavailable"),
        }
    }
}
