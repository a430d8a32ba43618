//! How each client refuses a transaction.

use alloy_primitives::B256;

use super::dialect::{Dialect, Miss, error, invalid};
use crate::chain::SendRefused;

impl Dialect {
    /// The answer to a transaction that the network did not take; `Ok` where the client repeats its
    /// first verdict.
    ///
    /// # Errors
    ///
    /// The refusal in this client's words.
    pub fn send_refused(self, refused: &SendRefused) -> Result<B256, Miss> {
        Err(match refused {
            SendRefused::Undecodable => {
                error(-32000, "rlp: expected input list for types.LegacyTx")
            }
            SendRefused::WrongChain => self.wrong_chain(),
            SendRefused::AlreadyKnown(hash) => return self.already_known(*hash),
            SendRefused::NonceTooLow { next, got } => self.nonce_too_low(*next, *got),
            SendRefused::Replacement => self.replacement(),
        })
    }

    fn wrong_chain(self) -> Miss {
        match self {
            Self::Besu => error(-32000, "Wrong chainId"),
            Self::Reth => error(-32000, "invalid chain ID"),
            Self::Geth
            | Self::Monad
            | Self::Nitro
            | Self::Bsc
            | Self::Coreth
            | Self::Sei
            | Self::CosmosEvm
            | Self::Zksync => error(-32000, "invalid chain id for signer"),
        }
    }

    fn already_known(self, hash: B256) -> Result<B256, Miss> {
        Err(match self {
            Self::Monad => return Ok(hash),
            Self::Besu => error(-32000, "Known transaction"),
            Self::Sei => error(-32000, "tx already exists in cache"),
            Self::Zksync => error(
                3,
                format!("known transaction. transaction with hash {hash} is already in the system"),
            ),
            Self::Geth | Self::Reth | Self::Nitro | Self::Bsc | Self::Coreth | Self::CosmosEvm => {
                error(-32000, "already known")
            }
        })
    }

    fn nonce_too_low(self, next: u64, got: u64) -> Miss {
        match self {
            Self::Besu => error(-32001, "Nonce too low"),
            Self::Monad => error(-32603, "Transaction nonce too low"),
            Self::Zksync => error(
                3,
                format!(
                    "nonce too low. allowed nonce range: {next} - {}, actual: {got}",
                    next + 50
                ),
            ),
            Self::Geth
            | Self::Reth
            | Self::Nitro
            | Self::Bsc
            | Self::Coreth
            | Self::Sei
            | Self::CosmosEvm => error(
                -32000,
                format!("nonce too low: next nonce {next}, tx nonce {got}"),
            ),
        }
    }

    fn replacement(self) -> Miss {
        match self {
            Self::Besu => error(-32000, "Replacement transaction underpriced"),
            Self::Monad => error(-32603, "An existing transaction had higher priority"),
            Self::Zksync => invalid("replacement transaction underpriced"),
            Self::Geth
            | Self::Reth
            | Self::Nitro
            | Self::Bsc
            | Self::Coreth
            | Self::Sei
            | Self::CosmosEvm => error(-32000, "replacement transaction underpriced"),
        }
    }
}
