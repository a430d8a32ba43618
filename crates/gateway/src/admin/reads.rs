//! What became of reads, by chain (P-28).

use super::{Admin, Body};
use highwater::Costs;
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
    /// Log queries answered from the log index alone, and those of which it had the beginning.
    log_index: u64,
    log_tails: u64,
    /// Filters that have an index now.
    log_filters: u64,
    /// Requests of callers that took none upstream, by what spared it.
    avoided: BTreeMap<&'static str, u64>,
    costs: CostsView,
}

/// Compute units, and money where endpoints state a price.
#[derive(Serialize)]
struct CostsView {
    units: u64,
    spent: Option<f64>,
    avoided_units: u64,
    /// An estimate, at the average that was paid for a unit.
    avoided: Option<f64>,
    endpoints: BTreeMap<String, EndpointView>,
}

#[derive(Serialize)]
struct EndpointView {
    units: u64,
    price: Option<f64>,
    spent: Option<f64>,
}

impl CostsView {
    fn of(costs: Costs) -> Self {
        let endpoints = costs.endpoints.into_iter().map(|(label, one)| {
            let view = EndpointView {
                units: one.units,
                price: one.price,
                spent: one.spent,
            };
            (label, view)
        });
        Self {
            units: costs.units,
            spent: costs.spent,
            avoided_units: costs.avoided_units,
            avoided: costs.avoided,
            endpoints: endpoints.collect(),
        }
    }
}

impl Admin {
    pub(super) fn reads(&self) -> Body {
        let chains = self.shared.chains.iter().map(|chain| {
            let stats = chain.pool.cache_stats();
            let avoided = stats.avoided().into_iter().collect();
            ChainReads {
                name: &chain.name,
                hits: stats.hits,
                misses: stats.misses,
                misses_by: stats.misses_by.into_iter().collect(),
                kept: stats.kept,
                refused_by: stats.refused_by.into_iter().collect(),
                entries: stats.entries,
                bytes: stats.bytes,
                shared: stats.shared,
                waiting: stats.waiting,
                from_heads: stats.local,
                unpinned: stats.unpinned,
                log_index: stats.log_index,
                log_tails: stats.log_tails,
                log_filters: stats.log_filters,
                avoided,
                costs: CostsView::of(chain.pool.costs()),
            }
        });
        Body::json(&Reads {
            chains: chains.collect(),
        })
    }
}
