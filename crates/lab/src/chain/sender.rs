//! A client's own account: makes transactions that the chain's own senders never make.

use std::sync::Arc;

use alloy_consensus::{SignableTransaction as _, TxEnvelope, TxLegacy};
use alloy_eips::Encodable2718 as _;
use alloy_primitives::{Address, B256, TxKind, U256, hex};

use super::account::{ACCOUNTS, Account};
use super::quarry::Quarry;

/// An account for simulated clients.
#[derive(Clone)]
pub struct Sender {
    account: Arc<Account>,
    chain_id: u64,
}

impl Sender {
    /// Client account number `index` of a seed; none is a sender of the chain itself.
    #[must_use]
    pub fn new(seed: u64, chain_id: u64, index: usize) -> Self {
        Self::from_quarry(seed, chain_id, index, &Quarry::default())
    }

    /// The same, with what other runs have made already.
    #[must_use]
    pub fn from_quarry(seed: u64, chain_id: u64, index: usize, quarry: &Quarry) -> Self {
        Self {
            account: quarry.account(seed, ACCOUNTS + index),
            chain_id,
        }
    }

    /// Its address.
    #[must_use]
    pub fn address(&self) -> Address {
        self.account.address()
    }

    /// A signed transfer to itself as `0x` text, and its hash.
    #[must_use]
    pub fn transfer(&self, nonce: u64) -> (String, B256) {
        self.transfer_of(nonce, 1)
    }

    /// A signed transfer of so many wei to itself: of one nonce there are many.
    #[must_use]
    pub fn transfer_of(&self, nonce: u64, value: u64) -> (String, B256) {
        let tx = TxLegacy {
            chain_id: Some(self.chain_id),
            nonce,
            gas_price: 3_000_000_000,
            gas_limit: 21_000,
            to: TxKind::Call(self.address()),
            value: U256::from(value),
            input: Default::default(),
        };
        let signature = self.account.sign(tx.signature_hash());
        let tx = TxEnvelope::from(tx.into_signed(signature));
        let hash = *tx.tx_hash();
        (format!("0x{}", hex::encode(tx.encoded_2718())), hash)
    }
}

impl std::fmt::Debug for Sender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Sender").field(&self.address()).finish()
    }
}
