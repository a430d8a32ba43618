//! What became of reads, counted (P-28).

use highwater_core::{
    cache::{Miss, Refusal},
    method::Descriptor,
};
use parking_lot::Mutex;
use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

/// Counts since the pool began.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) hits: AtomicU64,
    pub(super) second_hits: AtomicU64,
    pub(super) refreshes: AtomicU64,
    pub(super) shared: AtomicU64,
    pub(super) local: AtomicU64,
    pub(super) unpinned: AtomicU64,
    pub(super) log_index: AtomicU64,
    pub(super) log_tails: AtomicU64,
    /// Compute units of what took no request.
    units: AtomicU64,
    misses: Mutex<BTreeMap<&'static str, u64>>,
    refusals: Mutex<BTreeMap<&'static str, u64>>,
}

/// What the cache did and holds, and what else spared upstream requests (P-28).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheStats {
    /// Reads answered from memory.
    pub hits: u64,
    /// Reads answered from the second level of the cache; in memory they were looked for in vain.
    pub second_hits: u64,
    /// Reads that were looked for in memory and not served from there.
    pub misses: u64,
    /// The same by reason, one word from a closed set.
    pub misses_by: Vec<(&'static str, u64)>,
    /// Answers that were kept.
    pub kept: u64,
    /// Answers that were not kept, by reason, one word from a closed set.
    pub refused_by: Vec<(&'static str, u64)>,
    /// Entries now.
    pub entries: u64,
    /// Bytes now, keys included.
    pub bytes: u64,
    /// Reads that shared the request of another caller (P-10).
    pub shared: u64,
    /// Callers that wait now for requests that others may join (P-10).
    pub waiting: u64,
    /// `eth_blockNumber` answered from the heads (P-5).
    pub local: u64,
    /// Reads at `latest` that went out unpinned, because no head was trusted (P-2).
    pub unpinned: u64,
    /// Log queries answered from the log index alone (P-21).
    pub log_index: u64,
    /// Log queries of which the index had the first blocks, so that only the rest was asked for.
    pub log_tails: u64,
    /// Filters that have an index now.
    pub log_filters: u64,
    /// Compute units of the requests that were avoided, as the method table weighs them.
    pub avoided_units: u64,
}

impl CacheStats {
    /// Requests of callers that took no request upstream, by what spared it.
    #[must_use]
    pub const fn avoided(&self) -> [(&'static str, u64); 5] {
        [
            ("hit", self.hits),
            ("second_level", self.second_hits),
            ("coalesced", self.shared),
            ("log_index", self.log_index),
            ("local", self.local),
        ]
    }
}

impl Tally {
    /// A call of this method took no request, and this counter says why.
    pub(super) fn avoided(&self, why: &AtomicU64, row: &Descriptor) {
        why.fetch_add(1, Relaxed);
        self.units.fetch_add(u64::from(row.weight), Relaxed);
    }

    pub(super) fn missed(&self, why: Miss) {
        *self.misses.lock().entry(why.name()).or_default() += 1;
    }

    pub(super) fn refused(&self, why: Refusal) {
        *self.refusals.lock().entry(why.name()).or_default() += 1;
    }

    pub(super) fn view(&self) -> CacheStats {
        let list = |counts: &Mutex<BTreeMap<&'static str, u64>>| {
            let counts = counts.lock();
            counts.iter().map(|(name, count)| (*name, *count)).collect()
        };
        let misses_by: Vec<(&'static str, u64)> = list(&self.misses);
        CacheStats {
            hits: self.hits.load(Relaxed),
            second_hits: self.second_hits.load(Relaxed),
            misses: misses_by.iter().map(|(_, count)| count).sum(),
            misses_by,
            kept: self.refreshes.load(Relaxed),
            refused_by: list(&self.refusals),
            shared: self.shared.load(Relaxed),
            local: self.local.load(Relaxed),
            unpinned: self.unpinned.load(Relaxed),
            log_index: self.log_index.load(Relaxed),
            log_tails: self.log_tails.load(Relaxed),
            avoided_units: self.units.load(Relaxed),
            ..CacheStats::default()
        }
    }
}
