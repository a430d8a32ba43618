//! The branches of a chain, their blocks, and the transactions that wait for one.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use alloy_consensus::transaction::SignerRecoverable as _;
use alloy_consensus::{Transaction as _, TxEnvelope};
use alloy_eips::Decodable2718 as _;
use alloy_primitives::{Address, B256};

use super::account::Account;
use super::block::{self, Block, Sent};
use super::quarry::{Quarry, Vein};
use super::spec::{ChainSpec, Reach};
use super::state::Branch;
use super::view::View;

/// Why a transaction is not taken. Each node says it in its own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendRefused {
    /// The bytes are no signed transaction.
    Undecodable,
    /// Signed for another chain.
    WrongChain,
    /// These very bytes are in the pool or in a block.
    AlreadyKnown(B256),
    /// The account has used this nonce.
    NonceTooLow {
        /// The next nonce of the account.
        next: u64,
        /// The nonce of the transaction.
        got: u64,
    },
    /// Another transaction with this nonce waits.
    Replacement,
}

/// The branch that holds a height in a view: the latest fork in sight that lies below the height.
pub(super) fn branch(spec: &ChainSpec, view: &View, height: u64) -> Branch {
    // Who is on a fork of its own follows no later one.
    let left = view
        .stray
        .and_then(|stray| spec.forks.get(stray))
        .map(|fork| fork.at);
    let on_it = |index: usize| match spec.forks[index].reach {
        Reach::Everyone => left.is_none_or(|left| spec.forks[index].at <= left),
        Reach::Strayed => view.stray == Some(index),
    };
    let latest = spec
        .forks
        .iter()
        .enumerate()
        .rev()
        .find(|(index, fork)| on_it(*index) && fork.at <= view.at && height > spec.split(fork));
    latest.map_or(0, |(index, _)| number(index))
}

/// Whether a node with this view has seen blocks of a branch.
pub(super) fn seen(spec: &ChainSpec, view: &View, branch: Branch) -> bool {
    let Some(index) = usize::from(branch).checked_sub(1) else {
        return true;
    };
    let Some(fork) = spec.forks.get(index) else {
        return false;
    };
    fork.at <= view.at
        && match fork.reach {
            Reach::Everyone => true,
            Reach::Strayed => view.stray == Some(index),
        }
}

/// The branch that holds the last common block of a fork: what its makers saw before it.
fn below(spec: &ChainSpec, fork: usize, split: u64) -> Branch {
    let at = spec.forks[fork].at;
    let earlier = spec.forks[..fork].iter().enumerate().rev();
    let mut visible = earlier.filter(|(_, earlier)| {
        earlier.reach == Reach::Everyone && earlier.at <= at && split > spec.split(earlier)
    });
    visible.next().map_or(0, |(index, _)| number(index))
}

/// The branch on which a block's ancestor at a height is; the block's own, at its height or above.
pub(super) fn ancestor(spec: &ChainSpec, branch: Branch, height: u64) -> Branch {
    let mut branch = branch;
    while let Some(fork) = usize::from(branch).checked_sub(1) {
        let split = spec.split(&spec.forks[fork]);
        if height > split {
            break;
        }
        branch = below(spec, fork, split);
    }
    branch
}

fn number(index: usize) -> Branch {
    Branch::try_from(index + 1).unwrap_or(Branch::MAX)
}

/// Whose a transaction is that the network has, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Who signed it.
    pub from: Address,
    /// Its nonce.
    pub nonce: u64,
}

#[derive(Default)]
struct Line {
    /// By nonce; the height is set once no nonce below is missing.
    by_nonce: BTreeMap<u64, (Sent, Option<u64>)>,
}

pub(super) struct Tree {
    branches: Vec<Vec<Arc<Block>>>,
    by_hash: HashMap<B256, Arc<Block>>,
    places: HashMap<B256, Vec<(Arc<Block>, usize)>>,
    senders: BTreeMap<Address, Line>,
    known: HashMap<B256, Waiting>,
    /// Highest block built on any branch.
    built: u64,
    /// Blocks that chains of the same numbers share, as long as nothing was sent here.
    vein: Option<Vein>,
}

impl Tree {
    pub(super) fn new(spec: &ChainSpec, vein: Vein) -> Self {
        Self {
            vein: Some(vein),
            branches: vec![Vec::new(); spec.forks.len() + 1],
            by_hash: HashMap::new(),
            places: HashMap::new(),
            senders: BTreeMap::new(),
            known: HashMap::new(),
            built: 0,
        }
    }

    /// The block at a height of a branch, built now when it is the first to ask.
    pub(super) fn block(
        &mut self,
        spec: &ChainSpec,
        accounts: &[Arc<Account>],
        branch: Branch,
        height: u64,
    ) -> Arc<Block> {
        let index = usize::from(branch);
        let (from, mut parent) = match index.checked_sub(1) {
            None => (spec.first, None),
            Some(fork) => {
                let split = spec.split(&spec.forks[fork]);
                let below = below(spec, fork, split);
                (
                    split + 1,
                    Some(self.block(spec, accounts, below, split).hash),
                )
            }
        };
        while self.branches[index].len() as u64 <= height - from {
            let next = from + self.branches[index].len() as u64;
            if let Some(last) = self.branches[index].last() {
                parent = Some(last.hash);
            }
            let sent = self.sent_for(next);
            let parent = parent.unwrap_or_default();
            let build = || Arc::new(block::build(spec, accounts, (branch, next), parent, &sent));
            if index == 0 && !sent.is_empty() {
                self.vein = None;
            }
            let block = match &self.vein {
                Some(vein) if index == 0 => {
                    let mut vein = vein.lock();
                    let at = usize::try_from(next - from).unwrap_or(usize::MAX);
                    if at >= vein.len() {
                        vein.push(build());
                    }
                    Arc::clone(&vein[at])
                }
                Some(_) | None => build(),
            };
            self.keep(block);
        }
        let offset = usize::try_from(height - from).unwrap_or(usize::MAX);
        Arc::clone(&self.branches[index][offset])
    }

    fn keep(&mut self, block: Arc<Block>) {
        self.built = self.built.max(block.height());
        self.by_hash.insert(block.hash, Arc::clone(&block));
        for (index, mined) in block.mined.iter().enumerate() {
            let places = self.places.entry(*mined.tx.tx_hash()).or_default();
            places.push((Arc::clone(&block), index));
        }
        self.branches[usize::from(block.branch)].push(block);
    }

    pub(super) fn by_hash(&self, hash: B256) -> Option<Arc<Block>> {
        self.by_hash.get(&hash).cloned()
    }

    pub(super) fn places(&self, hash: B256) -> Vec<(Arc<Block>, usize)> {
        self.places.get(&hash).cloned().unwrap_or_default()
    }

    pub(super) fn send(
        &mut self,
        spec: &ChainSpec,
        next: u64,
        (raw, keep): (&[u8], bool),
        quarry: &Quarry,
    ) -> Result<B256, SendRefused> {
        let tx = TxEnvelope::decode_2718_exact(raw).map_err(|_| SendRefused::Undecodable)?;
        let hash = *tx.tx_hash();
        if keep && (self.known.contains_key(&hash) || self.places.contains_key(&hash)) {
            return Err(SendRefused::AlreadyKnown(hash));
        }
        if tx.chain_id().is_some_and(|id| id != spec.chain_id) {
            return Err(SendRefused::WrongChain);
        }
        let from = quarry.signer(hash, || tx.recover_signer());
        let from = from.map_err(|_| SendRefused::Undecodable)?;
        let height = next.max(self.built + 1);
        let waiting = self.senders.entry(from).or_default();
        let nonce = tx.nonce();
        match waiting.by_nonce.get(&nonce) {
            Some((_, Some(at))) if *at < next => {
                let next = waiting.next();
                return Err(SendRefused::NonceTooLow { next, got: nonce });
            }
            Some(_) if keep => return Err(SendRefused::Replacement),
            Some(_) | None => {}
        }
        if !keep {
            return Ok(hash);
        }
        waiting.by_nonce.insert(nonce, (Sent { tx, from }, None));
        waiting.promote(height);
        self.known.insert(hash, Waiting { from, nonce });
        Ok(hash)
    }

    /// A transaction that was sent to the network, mined by now or not.
    pub(super) fn waiting(&self, hash: B256) -> Option<Waiting> {
        self.known.get(&hash).copied()
    }

    fn sent_for(&self, height: u64) -> Vec<Sent> {
        self.senders
            .values()
            .flat_map(|waiting| waiting.by_nonce.values())
            .filter(|(_, at)| *at == Some(height))
            .map(|(sent, _)| sent.clone())
            .collect()
    }

    pub(super) fn mined_from(&self, account: Address, height: u64) -> u64 {
        let Some(waiting) = self.senders.get(&account) else {
            return 0;
        };
        let mined = waiting.by_nonce.values();
        mined
            .filter(|(_, at)| at.is_some_and(|at| at <= height))
            .count() as u64
    }

    pub(super) fn next_nonce(&self, account: Address) -> u64 {
        self.senders.get(&account).map_or(0, Line::next)
    }
}

impl Line {
    fn next(&self) -> u64 {
        let mut next = 0;
        while self.by_nonce.contains_key(&next) {
            next += 1;
        }
        next
    }

    /// Gives a block to every transaction without a gap below it.
    fn promote(&mut self, height: u64) {
        let next = self.next();
        for (_, (_, at)) in self.by_nonce.range_mut(..next) {
            at.get_or_insert(height);
        }
    }
}
