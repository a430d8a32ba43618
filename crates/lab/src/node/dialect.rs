//! How each client says no.
//!
//! The same refusal has another code and another text in every client, and a router that knows one
//! of them fails on the others. A dialect is a table of those answers; where a client's own is not
//! known it speaks as geth does.

use alloy_primitives::B256;

/// The client that a node imitates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// go-ethereum, and op-geth, which speaks like it.
    Geth,
    /// Hyperledger Besu.
    Besu,
    /// reth.
    Reth,
    /// Monad.
    Monad,
    /// Arbitrum Nitro.
    Nitro,
    /// BNB Smart Chain.
    Bsc,
    /// Avalanche coreth.
    Coreth,
    /// Sei.
    Sei,
    /// cosmos/evm.
    CosmosEvm,
    /// ZKsync.
    Zksync,
}

/// An error in a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcError {
    /// Code.
    pub code: i64,
    /// Message.
    pub message: String,
    /// `data`, as JSON text.
    pub data: Option<String>,
}

/// An answer that is no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Miss {
    /// `null`.
    Null,
    /// `[]`.
    Empty,
    /// An error.
    Error(RpcError),
}

/// An error without data.
#[must_use]
pub(super) fn error(code: i64, message: impl Into<String>) -> Miss {
    Miss::Error(RpcError {
        code,
        message: message.into(),
        data: None,
    })
}

/// The refusal of parameters of ours.
#[must_use]
pub(super) fn invalid(message: impl Into<String>) -> Miss {
    error(-32602, message)
}

impl Dialect {
    /// What `web3_clientVersion` says.
    #[must_use]
    pub fn client_version(self) -> &'static str {
        match self {
            Self::Geth => "Geth/v1.17.0-stable/linux-amd64/go1.26.0",
            Self::Besu => "besu/v26.3.0/linux-x86_64/openjdk-java-25",
            Self::Reth => "reth/v2.0.0/x86_64-unknown-linux-gnu",
            Self::Monad => "Monad/0.14.0",
            Self::Nitro => "nitro/v3.9.0/linux-amd64/go1.26.0",
            Self::Bsc => "Geth/v1.7.0/linux-amd64/go1.26.0",
            Self::Coreth => "v0.16.0",
            Self::Sei => "Geth/sei-v6.4.0/linux-amd64/go1.26.0",
            Self::CosmosEvm => "evmd/v0.5.0/linux/amd64/go1.26.0",
            Self::Zksync => "zkSync/v2.0",
        }
    }

    /// A state read above the head.
    #[must_use]
    pub fn state_above_head(self, asked: u64, head: u64) -> Miss {
        match self {
            Self::Besu => Miss::Null,
            Self::Reth => error(-32001, format!("block not found: {asked:#x}")),
            Self::Monad => invalid(
                "Block requested not found. Request might be querying historical state that is \
                 not available. If possible, reformulate query to point to more recent blocks",
            ),
            Self::Coreth => error(-32000, "cannot query unfinalized data"),
            Self::CosmosEvm => error(
                -32000,
                format!(
                    "height {asked} must be less than or equal to the current blockchain height \
                     {head}"
                ),
            ),
            Self::Zksync => invalid("Block with such an ID doesn't exist yet"),
            Self::Geth | Self::Nitro | Self::Bsc | Self::Sei => error(-32000, "header not found"),
        }
    }

    /// A state read at a hash that the node has not seen.
    #[must_use]
    pub fn state_unknown_hash(self, hash: B256) -> Miss {
        match self {
            Self::Besu => Miss::Null,
            Self::Reth => error(-32001, format!("block not found: hash {hash}")),
            Self::CosmosEvm => error(-32000, "header not found for hash"),
            Self::Geth
            | Self::Monad
            | Self::Nitro
            | Self::Bsc
            | Self::Coreth
            | Self::Sei
            | Self::Zksync => error(-32000, "header for hash not found"),
        }
    }

    /// A block asked for by a number above the head.
    #[must_use]
    pub fn block_above_head(self) -> Miss {
        match self {
            Self::Coreth => error(-32000, "cannot query unfinalized data"),
            Self::Geth
            | Self::Besu
            | Self::Reth
            | Self::Monad
            | Self::Nitro
            | Self::Bsc
            | Self::Sei
            | Self::CosmosEvm
            | Self::Zksync => Miss::Null,
        }
    }

    /// History that was here once; `oldest` is the first block kept.
    #[must_use]
    pub fn pruned(self, asked: u64, oldest: u64) -> Miss {
        match self {
            Self::Besu => error(-32000, "World state unavailable"),
            Self::Reth => error(-32000, format!("state at block #{asked} is pruned")),
            Self::Monad => self.state_above_head(asked, oldest),
            Self::Sei => error(
                -32000,
                format!("requested fromBlock {asked} is before earliest available block {oldest}"),
            ),
            Self::CosmosEvm => error(-32000, "couldn't fetch balance. Node state is pruned"),
            Self::Zksync => invalid(format!(
                "Block with such an ID is pruned; the first retained block is {oldest}"
            )),
            Self::Geth | Self::Nitro | Self::Bsc | Self::Coreth => error(
                -32000,
                format!("missing trie node {asked:064x} (path ) <nil>"),
            ),
        }
    }

    /// Receipts of a block whose receipts are gone.
    #[must_use]
    pub fn receipts_gone(self) -> Miss {
        match self {
            Self::Besu => Miss::Empty,
            Self::Geth
            | Self::Reth
            | Self::Monad
            | Self::Nitro
            | Self::Bsc
            | Self::Coreth
            | Self::Sei
            | Self::CosmosEvm
            | Self::Zksync => error(-32000, "receipts length mismatch"),
        }
    }

    /// `safe` or `finalized` without a block behind it.
    #[must_use]
    pub fn tag_unresolved(self, tag: &str) -> Miss {
        match self {
            Self::Besu => error(-39001, "Unknown block"),
            Self::Geth
            | Self::Reth
            | Self::Monad
            | Self::Nitro
            | Self::Bsc
            | Self::Coreth
            | Self::Sei
            | Self::CosmosEvm
            | Self::Zksync => error(-32000, format!("{tag} block not found")),
        }
    }

    /// Whether `safe` and `finalized` are the head itself.
    #[must_use]
    pub fn finalizes_at_once(self) -> bool {
        matches!(self, Self::Coreth | Self::CosmosEvm)
    }

    /// A read that requires a canonical block at a hash that is not; `None` where it is not checked.
    #[must_use]
    pub fn not_canonical(self, hash: B256) -> Option<Miss> {
        match self {
            Self::Monad => None,
            Self::Besu => Some(error(-32000, "Invalid input")),
            Self::Reth => Some(error(
                -32001,
                format!("block not found: canonical hash {hash}"),
            )),
            Self::Geth
            | Self::Nitro
            | Self::Bsc
            | Self::Coreth
            | Self::Sei
            | Self::CosmosEvm
            | Self::Zksync => Some(error(-32000, "hash is not currently canonical")),
        }
    }

    /// A filter id that the node does not know.
    #[must_use]
    pub fn filter_not_found(self) -> Miss {
        match self {
            Self::Besu => error(-32000, "Filter not found"),
            Self::Zksync => invalid("filter not found"),
            Self::Geth
            | Self::Reth
            | Self::Monad
            | Self::Nitro
            | Self::Bsc
            | Self::Coreth
            | Self::Sei
            | Self::CosmosEvm => error(-32000, "filter not found"),
        }
    }

    /// A method that does not exist.
    #[must_use]
    pub fn no_method(self, method: &str) -> Miss {
        match self {
            Self::Besu | Self::Reth | Self::Monad | Self::Zksync => {
                error(-32601, "Method not found")
            }
            Self::Geth | Self::Nitro | Self::Bsc | Self::Coreth | Self::Sei | Self::CosmosEvm => {
                error(
                    -32601,
                    format!("the method {method} does not exist/is not available"),
                )
            }
        }
    }

    /// Whether a transaction is answered only once it is in a block.
    #[must_use]
    pub fn sends_into_a_block(self) -> bool {
        self == Self::Nitro
    }

    /// Whether the client keeps filters.
    #[must_use]
    pub fn has_filters(self) -> bool {
        self != Self::Monad
    }

    /// The most calls of one batch, and the error for more.
    #[must_use]
    pub fn batch_limit(self) -> (usize, RpcError) {
        let (limit, code, message) = match self {
            Self::Besu => (1024, -32005, "Number of requests in batch exceeds limit"),
            Self::Monad => (1000, -32603, "batch request exceeds limit"),
            Self::Geth
            | Self::Reth
            | Self::Nitro
            | Self::Bsc
            | Self::Coreth
            | Self::Sei
            | Self::CosmosEvm
            | Self::Zksync => (1000, -32600, "batch too large"),
        };
        let error = RpcError {
            code,
            message: message.to_owned(),
            data: None,
        };
        (limit, error)
    }
}
