//! What became of reads, by chain (P-28).

use super::{Admin, Body};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
struct Reads<'a> {
    chains: Vec<ChainReads<'a>>,
}

#[derive(Serialize)]
struct ChainReads<'a> {
    name: &'a str,
    hits: u64,
    misses: u64,
    misses_by: BTreeMap<&'static str, u64>,
    kept: u64,
    /// Of these, the ones that nobody had asked for.
    refreshes: u64,
    /// Keys that are kept hot now.
    hot: u64,
    refused_by: BTreeMap<&'static str, u64>,
    entries: u64,
    bytes: u64,
    shared: u64,
    /// Callers that wait for a shared request now.
    waiting: u64,
    /// `eth_blockNumber` answered without a request.
    from_heads: u64,
    /// Reads at `latest` that went out unpinned.
    unpinned: u64,
}

impl Admin {
    pub(super) fn reads(&self) -> Body {
        let chains = self.shared.chains.iter().map(|chain| {
            let stats = chain.pool.cache_stats();
            ChainReads {
                name: &chain.name,
                hits: stats.hits,
                misses: stats.misses,
                misses_by: stats.misses_by.into_iter().collect(),
                kept: stats.kept,
                refreshes: stats.refreshes,
                hot: stats.hot,
                refused_by: stats.refused_by.into_iter().collect(),
                entries: stats.entries,
                bytes: stats.bytes,
                shared: stats.shared,
                waiting: stats.waiting,
                from_heads: stats.local,
                unpinned: stats.unpinned,
            }
        });
        Body::json(&Reads {
            chains: chains.collect(),
        })
    }
}
