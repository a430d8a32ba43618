//! A scenario as it stands in the file.

use serde::Deserialize;
use toml::Spanned;

use super::quantity::{Share, Span};
use crate::node::Dialect;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawScenario {
    pub(super) name: String,
    #[serde(default)]
    pub(super) seed: Option<u64>,
    pub(super) duration: Spanned<Span>,
    #[serde(default)]
    pub(super) chain: RawChain,
    #[serde(default)]
    pub(super) load: RawLoad,
    #[serde(default)]
    pub(super) bounds: RawBounds,
    #[serde(default)]
    pub(super) router: RawRouter,
    pub(super) nodes: Spanned<Vec<RawNode>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawChain {
    pub(super) id: Option<u64>,
    pub(super) seed: Option<u64>,
    pub(super) first: Option<u64>,
    pub(super) start: Option<Spanned<u64>>,
    pub(super) genesis_time: Option<u64>,
    pub(super) block_time: Option<Spanned<Span>>,
    pub(super) transactions: Option<Spanned<usize>>,
    pub(super) logs: Option<usize>,
    pub(super) safe_lag: Option<u64>,
    pub(super) finalized_lag: Option<u64>,
    pub(super) reorgs: Vec<RawReorg>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawReorg {
    pub(super) at: Span,
    pub(super) depth: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawLoad {
    pub(super) clients: Option<u64>,
    pub(super) every: Option<Spanned<Span>>,
    pub(super) timeout: Option<Span>,
    pub(super) asks: Option<Vec<super::Ask>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawBounds {
    pub(super) stale_blocks: Option<u64>,
    pub(super) errors: Option<u64>,
    pub(super) settle: Option<Span>,
}

/// Options of the router that a run puts between clients and nodes.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawRouter {
    pub(super) preset: super::Preset,
    pub(super) strategy: Option<super::Choice>,
    pub(super) race: Option<u16>,
    pub(super) hedge: Option<Span>,
    pub(super) retries: Option<Spanned<RawRetries>>,
    pub(super) attempt: Option<Spanned<Span>>,
    pub(super) deadline: Option<Spanned<Span>>,
    pub(super) breaker: Option<bool>,
    pub(super) heads: Option<bool>,
    pub(super) pace: Option<bool>,
    pub(super) probes: Option<bool>,
    pub(super) verify: Option<bool>,
    pub(super) writes: Option<super::Writes>,
    pub(super) broadcast_to: Option<Spanned<u8>>,
    pub(super) verify_writes: Option<Spanned<bool>>,
    pub(super) private_writes: Option<Spanned<bool>>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a number, or \"deadline\"")]
pub(super) enum RawRetries {
    Times(u16),
    Word(String),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawNode {
    pub(super) name: Spanned<String>,
    pub(super) tier: Option<u8>,
    pub(super) weight: Option<Spanned<f64>>,
    pub(super) group: Option<String>,
    #[serde(default)]
    pub(super) private: bool,
    pub(super) dialect: Option<Dialect>,
    pub(super) latency: Option<RawLatency>,
    pub(super) budget: Option<RawBudget>,
    #[serde(default)]
    pub(super) faults: Vec<RawFault>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawBudget {
    pub(super) rps: f64,
    pub(super) burst: f64,
}

#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "a duration such as \"20ms\", { median, sigma }, or { fast, slow, slow_share }"
)]
pub(super) enum RawLatency {
    Constant(Span),
    LogNormal(RawLogNormal),
    Bimodal(RawBimodal),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLogNormal {
    pub(super) median: Span,
    pub(super) sigma: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawBimodal {
    pub(super) fast: Span,
    pub(super) slow: Span,
    pub(super) slow_share: Share,
}

/// The name of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    Lag,
    Stuck,
    Delayed,
    Ahead,
    Backwards,
    Strayed,
    WrongChain,
    Pruned,
    NoTags,
    LogLimit,
    ShortLogs,
    NoMethod,
    LateReceipts,
    Forgets,
    Error,
    WrongId,
    StringId,
    MissingId,
    Twice,
    Omitted,
    Both,
    Neither,
    Null,
    Older,
    LostSend,
    Slow,
    Down,
    Hang,
    Close,
    Reset,
    Truncate,
    Stall,
    Drip,
    Page,
    Html,
    InvalidJson,
    Huge,
    Gzip,
    RateLimit,
    Quota,
}

/// What a pruned node has lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Lost {
    State,
    Blocks,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFault {
    pub(super) kind: Spanned<Kind>,
    pub(super) from: Option<Span>,
    pub(super) until: Option<Span>,
    pub(super) every: Option<Span>,
    pub(super) share: Option<Share>,
    #[serde(default)]
    pub(super) methods: Vec<String>,
    pub(super) blocks: Option<u64>,
    pub(super) results: Option<usize>,
    pub(super) bytes: Option<usize>,
    pub(super) piece: Option<usize>,
    pub(super) pause: Option<Span>,
    pub(super) add: Option<Span>,
    pub(super) ramp: Option<bool>,
    pub(super) class: Option<String>,
    pub(super) status: Option<u16>,
    pub(super) code: Option<i64>,
    pub(super) message: Option<String>,
    pub(super) data: Option<String>,
    pub(super) body: Option<String>,
    pub(super) content_type: Option<String>,
    pub(super) retry_after: Option<u64>,
    pub(super) rate: Option<f64>,
    pub(super) burst: Option<f64>,
    pub(super) per_client: Option<bool>,
    pub(super) requests: Option<u64>,
    pub(super) id: Option<u64>,
    pub(super) lost: Option<Lost>,
    pub(super) lost_share: Option<Share>,
    pub(super) depth: Option<u64>,
    pub(super) late: Option<Span>,
}
