//! What chains of equal numbers have in common, made once.
//!
//! A run that is one of thousands takes over what the last one made: keys, blocks to which nobody
//! sent anything, and who signed what was sent. Nothing here changes an answer.

use std::collections::HashMap;
use std::sync::Arc;

use alloy_primitives::{Address, B256};
use parking_lot::Mutex;

use super::account::Account;
use super::block::Block;
use super::spec::ChainSpec;

/// Shared by the chains of many runs. It keeps what it is given: use one for runs over few chains.
#[derive(Default)]
pub struct Quarry {
    accounts: Mutex<HashMap<(u64, usize), Arc<Account>>>,
    veins: Mutex<HashMap<ChainSpec, Vein>>,
    signers: Mutex<HashMap<B256, Address>>,
}

/// The blocks of a chain without forks and without sent transactions, from the first one upwards.
pub(super) type Vein = Arc<Mutex<Vec<Arc<Block>>>>;

impl Quarry {
    /// An account of a seed.
    pub(super) fn account(&self, seed: u64, index: usize) -> Arc<Account> {
        let mut accounts = self.accounts.lock();
        let account = accounts.entry((seed, index));
        Arc::clone(account.or_insert_with(|| Arc::new(Account::new(seed, index))))
    }

    /// The common blocks of all chains with these numbers.
    pub(super) fn vein(&self, spec: &ChainSpec) -> Vein {
        let straight = ChainSpec {
            forks: Vec::new(),
            ..spec.clone()
        };
        Arc::clone(self.veins.lock().entry(straight).or_default())
    }

    /// Who signed a transaction: as remembered, or found out now.
    pub(super) fn signer<E>(
        &self,
        hash: B256,
        recover: impl FnOnce() -> Result<Address, E>,
    ) -> Result<Address, E> {
        if let Some(known) = self.signers.lock().get(&hash) {
            return Ok(*known);
        }
        let signer = recover()?;
        self.signers.lock().insert(hash, signer);
        Ok(signer)
    }
}

impl std::fmt::Debug for Quarry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let chains = self.veins.lock().len();
        f.debug_struct("Quarry").field("chains", &chains).finish()
    }
}
