//! What a node sees of the chain at one moment, and where in it a request points.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::B256;
use serde_json::Value;

use super::dialect::{Dialect, Miss, invalid};
use super::fault::{Fault, Sees, What, view};
use crate::chain::{Block, Branch, Chain, View, Waiting};
use crate::rng::Rng;

/// A node's sight of the chain.
#[derive(Clone, Debug)]
pub(super) struct Sight<'a> {
    pub(super) chain: &'a Chain,
    pub(super) dialect: Dialect,
    pub(super) now: Duration,
    pub(super) view: View,
    pub(super) chain_id: u64,
    /// Blocks claimed beyond the head.
    pub(super) ahead: u64,
    /// Blocks below the one asked for of which it answers instead.
    pub(super) older: u64,
    pub(super) state_kept: Option<u64>,
    pub(super) blocks_kept: Option<u64>,
    pub(super) tags: bool,
    pub(super) log_blocks: Option<u64>,
    pub(super) log_results: Option<usize>,
    /// Share of logs that are missing, and the number that fixes which.
    pub(super) short_logs: f64,
    pub(super) salt: u64,
    pub(super) late: Duration,
    pub(super) forgets: bool,
}

impl<'a> Sight<'a> {
    /// The sight of a node under these faults; `rng` decides what changes from request to request.
    pub(super) fn new(
        chain: &'a Chain,
        dialect: Dialect,
        now: Duration,
        faults: &[Fault],
        (salt, rng): (u64, &mut Rng),
    ) -> Self {
        let mut sight = Self {
            chain,
            dialect,
            now,
            view: view(faults, now),
            chain_id: chain.spec().chain_id,
            ahead: 0,
            older: 0,
            state_kept: None,
            blocks_kept: None,
            tags: true,
            log_blocks: None,
            log_results: None,
            short_logs: 0.0,
            salt,
            late: Duration::ZERO,
            forgets: false,
        };
        for fault in faults {
            match &fault.what {
                What::Sees(sees) if fault.active(now) => sight.suffer(sees, rng),
                What::Sees(_) | What::Says(_) | What::Carries(_) => {}
            }
        }
        sight
    }

    fn suffer(&mut self, sees: &Sees, rng: &mut Rng) {
        match sees {
            // They bend the view alone.
            Sees::Lag(_) | Sees::Stuck | Sees::Delayed(_) | Sees::Strayed(_) => {}
            Sees::Ahead(blocks) => self.ahead = *blocks,
            Sees::Backwards { blocks, share } => {
                if rng.chance(*share) {
                    self.view.lag = self.view.lag.saturating_add(*blocks);
                }
            }
            Sees::WrongChain(id) => self.chain_id = *id,
            Sees::PrunedState(kept) => self.state_kept = Some(*kept),
            Sees::PrunedBlocks(kept) => {
                self.state_kept = Some(self.state_kept.map_or(*kept, |state| state.min(*kept)));
                self.blocks_kept = Some(*kept);
            }
            Sees::NoTags => self.tags = false,
            Sees::LogLimit { blocks, results } => {
                self.log_blocks = *blocks;
                self.log_results = *results;
            }
            Sees::ShortLogs(share) => self.short_logs = *share,
            // Whether a method exists is asked before anything is looked at.
            Sees::NoMethod => {}
            Sees::LateReceipts(late) => self.late = *late,
            Sees::Forgets => self.forgets = true,
        }
    }

    pub(super) fn head(&self) -> u64 {
        self.chain.head(&self.view)
    }

    /// First block whose state is kept.
    pub(super) fn oldest_state(&self) -> u64 {
        self.oldest(self.state_kept)
    }

    /// First block that is kept.
    pub(super) fn oldest_block(&self) -> u64 {
        self.oldest(self.blocks_kept)
    }

    fn oldest(&self, kept: Option<u64>) -> u64 {
        let first = self.chain.spec().first;
        kept.map_or(first, |kept| self.head().saturating_sub(kept).max(first))
    }

    /// The block at a height, when it is there and kept.
    pub(super) fn block(&self, height: u64) -> Option<Arc<Block>> {
        if height < self.oldest_block() {
            return None;
        }
        self.chain.block(&self.view, height)
    }

    /// The height that a number or a tag names, as this node takes it; above the head is possible.
    pub(super) fn height(&self, value: &Value) -> Result<u64, Miss> {
        let height = self.named(value)?;
        let lowest = self.chain.spec().first.min(height);
        Ok(height.saturating_sub(self.older).max(lowest))
    }

    fn named(&self, value: &Value) -> Result<u64, Miss> {
        let Some(text) = value.as_str() else {
            return Err(invalid(
                "invalid argument: json: cannot unmarshal non-string into Go value of type \
                 rpc.BlockNumber",
            ));
        };
        let tagged = |tag: &str, height: u64| {
            if self.tags {
                Ok(if self.dialect.finalizes_at_once() {
                    self.head()
                } else {
                    height
                })
            } else {
                Err(self.dialect.tag_unresolved(tag))
            }
        };
        match text {
            "latest" | "pending" => Ok(self.head()),
            "earliest" => Ok(self.oldest_block()),
            "safe" => tagged("safe", self.chain.safe(&self.view)),
            "finalized" => tagged("finalized", self.chain.finalized(&self.view)),
            number => parse_quantity(number)
                .ok_or_else(|| invalid("invalid argument: hex string without 0x prefix")),
        }
    }

    /// Where a state read points: a number, a tag, or an object of EIP-1898.
    pub(super) fn state(&self, value: Option<&Value>) -> Result<(u64, Branch), Miss> {
        let height = match value {
            None => self.head(),
            Some(Value::Object(members)) => match members.get("blockHash") {
                Some(hash) => {
                    let canonical = members.get("requireCanonical") == Some(&Value::Bool(true));
                    return self.state_by_hash(parse_hash(hash)?, canonical);
                }
                None => self.height(members.get("blockNumber").unwrap_or(&Value::Null))?,
            },
            Some(value) => self.height(value)?,
        };
        let head = self.head();
        if height > head {
            return Err(self.dialect.state_above_head(height, head));
        }
        self.kept_state(height)?;
        Ok((height, self.chain.branch(&self.view, height)))
    }

    fn state_by_hash(&self, hash: B256, canonical: bool) -> Result<(u64, Branch), Miss> {
        let Some(found) = self.chain.by_hash(&self.view, hash) else {
            return Err(self.dialect.state_unknown_hash(hash));
        };
        if canonical
            && !found.canonical
            && let Some(miss) = self.dialect.not_canonical(hash)
        {
            return Err(miss);
        }
        self.kept_state(found.block.height())?;
        Ok((found.block.height(), found.block.branch))
    }

    fn kept_state(&self, height: u64) -> Result<(), Miss> {
        let oldest = self.oldest_state();
        if height < oldest {
            return Err(self.dialect.pruned(height, oldest));
        }
        Ok(())
    }

    /// The block with a hash, when it is seen and kept.
    pub(super) fn by_hash(&self, hash: B256) -> Option<Arc<Block>> {
        let found = self.chain.by_hash(&self.view, hash)?;
        (found.block.height() >= self.oldest_block()).then_some(found.block)
    }

    /// Where a transaction is, unless the node has not indexed it yet.
    pub(super) fn transaction(&self, hash: B256) -> Option<(Arc<Block>, usize)> {
        let (block, index) = self.chain.transaction(&self.view, hash)?;
        let born = self.chain.spec().born_at(block.height());
        let indexed =
            block.height() <= self.chain.spec().start || born.saturating_add(self.late) <= self.now;
        (indexed && block.height() >= self.oldest_block()).then_some((block, index))
    }
}

impl Sight<'_> {
    /// Whether a transaction waits in this node's pool. One that is behind hears of nothing new.
    pub(super) fn waits(&self, hash: B256) -> Option<Waiting> {
        let heard = !self.forgets && self.view.lag == 0 && self.view.at == self.now;
        heard.then(|| self.chain.waiting(hash)).flatten()
    }
}

/// A quantity such as `0x1b4`.
pub(super) fn parse_quantity(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x")?;
    // `from_str_radix` would take a sign.
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u64::from_str_radix(digits, 16).ok()
}

/// A parameter of 32 bytes.
pub(super) fn parse_hash(value: &Value) -> Result<B256, Miss> {
    value
        .as_str()
        .filter(|text| text.starts_with("0x"))
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| {
            invalid("invalid argument: cannot unmarshal into Go value of type common.Hash")
        })
}
