//! A synthetic chain: every block is a function of the seed, the branch and the height.
//!
//! It is real where clients and routers look (header hashes, parent links, signatures, receipts,
//! blooms) and frank where nothing real is needed: state values say which block they were read at.
//! There is no EVM. A sent transaction is mined as a success that costs its data.
//!
//! Blocks are built from the first one upwards when they are first asked for, and kept.

mod account;
mod block;
mod quarry;
mod sender;
mod spec;
pub mod state;
mod tree;
mod view;

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, B256};
use parking_lot::Mutex;

pub use account::ACCOUNTS;
pub use block::{Block, GAS_LIMIT, Mined, TRANSFER, base_fee, contract};
pub use quarry::Quarry;
pub use sender::Sender;
pub use spec::{ChainSpec, Fork, Reach};
pub use state::Branch;
pub use tree::{SendRefused, Waiting};
pub use view::View;

use account::Account;
use tree::Tree;

/// A block found by its hash.
#[derive(Clone, Debug)]
pub struct Found {
    /// The block.
    pub block: Arc<Block>,
    /// Whether the viewer's chain holds it.
    pub canonical: bool,
}

/// A chain, shared by every node on it.
pub struct Chain {
    spec: ChainSpec,
    accounts: Vec<Arc<Account>>,
    quarry: Arc<Quarry>,
    tree: Mutex<Tree>,
}

impl Chain {
    /// The chain of these numbers; transactions beyond [`ACCOUNTS`] are cut.
    #[must_use]
    pub fn new(spec: ChainSpec) -> Self {
        Self::from_quarry(spec, Arc::default())
    }

    /// The same, with what other chains have made already.
    #[must_use]
    pub fn from_quarry(spec: ChainSpec, quarry: Arc<Quarry>) -> Self {
        let mut spec = spec;
        spec.transactions = spec.transactions.min(ACCOUNTS);
        spec.start = spec.start.max(spec.first);
        let accounts = (0..spec.transactions)
            .map(|index| quarry.account(spec.seed, index))
            .collect();
        let tree = Mutex::new(Tree::new(&spec, quarry.vein(&spec)));
        Self {
            spec,
            accounts,
            quarry,
            tree,
        }
    }

    /// Its numbers.
    #[must_use]
    pub fn spec(&self) -> &ChainSpec {
        &self.spec
    }

    /// The addresses that send synthetic transactions.
    #[must_use]
    pub fn senders(&self) -> Vec<Address> {
        self.accounts
            .iter()
            .map(|account| account.address())
            .collect()
    }

    /// Height of the head in a view.
    #[must_use]
    pub fn head(&self, view: &View) -> u64 {
        let head = self.spec.head_at(view.at);
        head.saturating_sub(view.lag).max(self.spec.first)
    }

    /// Height behind the tag `safe`.
    #[must_use]
    pub fn safe(&self, view: &View) -> u64 {
        let head = self.head(view);
        head.saturating_sub(self.spec.safe_lag).max(self.spec.first)
    }

    /// Height behind the tag `finalized`.
    #[must_use]
    pub fn finalized(&self, view: &View) -> u64 {
        let head = self.head(view);
        head.saturating_sub(self.spec.finalized_lag)
            .max(self.spec.first)
    }

    /// The branch that holds a height in a view.
    #[must_use]
    pub fn branch(&self, view: &View, height: u64) -> Branch {
        tree::branch(&self.spec, view, height)
    }

    /// The branch that holds the ancestor at a height of a block on a branch.
    #[must_use]
    pub fn ancestor(&self, branch: Branch, height: u64) -> Branch {
        tree::ancestor(&self.spec, branch, height)
    }

    /// The block at a height of a branch, whoever sees it; `None` where the branch has none there.
    #[must_use]
    pub fn on(&self, branch: Branch, height: u64) -> Option<Arc<Block>> {
        if height < self.spec.first || tree::ancestor(&self.spec, branch, height) != branch {
            return None;
        }
        let mut tree = self.tree.lock();
        Some(tree.block(&self.spec, &self.accounts, branch, height))
    }

    /// A block by its hash, where anybody was ever shown it.
    #[must_use]
    pub fn shown(&self, hash: B256) -> Option<Arc<Block>> {
        self.tree.lock().by_hash(hash)
    }

    /// The block at a height in a view; `None` above the head or below the first.
    #[must_use]
    pub fn block(&self, view: &View, height: u64) -> Option<Arc<Block>> {
        if height > self.head(view) || height < self.spec.first {
            return None;
        }
        let branch = self.branch(view, height);
        let mut tree = self.tree.lock();
        Some(tree.block(&self.spec, &self.accounts, branch, height))
    }

    /// The block with a hash, when a node with this view can have seen it.
    #[must_use]
    pub fn by_hash(&self, view: &View, hash: B256) -> Option<Found> {
        // Everything that this node has seen is built first, orphans included, so that a hash does
        // not have to be asked for by number before it is known.
        for fork in self.spec.forks.iter().filter(|fork| fork.at <= view.at) {
            let before = View {
                at: fork.at.saturating_sub(Duration::from_nanos(1)),
                ..*view
            };
            let _ = self.block(&before, self.head(&before));
        }
        let _ = self.block(view, self.head(view));
        let block = self.tree.lock().by_hash(hash)?;
        let height = block.height();
        if height > self.head(view) || !tree::seen(&self.spec, view, block.branch) {
            return None;
        }
        let canonical = self.branch(view, height) == block.branch;
        Some(Found { block, canonical })
    }

    /// The block that holds a transaction in a view, with the transaction's index.
    #[must_use]
    pub fn transaction(&self, view: &View, hash: B256) -> Option<(Arc<Block>, usize)> {
        let head = self.head(view);
        let _ = self.block(view, head);
        let places = self.tree.lock().places(hash);
        places.into_iter().find(|(block, _)| {
            block.height() <= head && self.branch(view, block.height()) == block.branch
        })
    }

    /// Takes a raw transaction into the pool of the whole network; it is in the next block.
    ///
    /// # Errors
    ///
    /// When a node would refuse it; the error says how.
    pub fn send(&self, view: &View, raw: &[u8]) -> Result<B256, SendRefused> {
        let spec = &self.spec;
        let next = spec.head_at(view.at) + 1;
        self.tree.lock().send(spec, next, (raw, true), &self.quarry)
    }

    /// What a node answers that takes a raw transaction and forgets it at once: the network never
    /// hears of it, and it remembers none that it had before.
    ///
    /// # Errors
    ///
    /// When it would refuse it; the error says how.
    pub fn send_nowhere(&self, view: &View, raw: &[u8]) -> Result<B256, SendRefused> {
        let spec = &self.spec;
        let next = spec.head_at(view.at) + 1;
        self.tree
            .lock()
            .send(spec, next, (raw, false), &self.quarry)
    }

    /// A transaction that the network took, mined by now or not.
    #[must_use]
    pub fn waiting(&self, hash: B256) -> Option<Waiting> {
        self.tree.lock().waiting(hash)
    }

    /// How many transactions of an account are in blocks up to a height of a view.
    #[must_use]
    pub fn nonce(&self, account: Address, height: u64) -> u64 {
        let blocks = height.saturating_sub(self.spec.first);
        let synthetic = self.accounts.iter().any(|known| known.address() == account);
        let own = if synthetic { blocks } else { 0 };
        own + self.tree.lock().mined_from(account, height)
    }

    /// The nonce of the next transaction of an account, waiting ones counted.
    #[must_use]
    pub fn pending_nonce(&self, account: Address, view: &View) -> u64 {
        self.nonce(account, self.head(view))
            .max(self.tree.lock().next_nonce(account))
    }

    /// Whether an address is one of the contracts that synthetic transactions call.
    #[must_use]
    pub fn is_contract(&self, address: Address) -> bool {
        (0..ACCOUNTS).any(|index| contract(self.spec.seed, index) == address)
    }
}

impl std::fmt::Debug for Chain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Chain")
            .field("spec", &self.spec)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
