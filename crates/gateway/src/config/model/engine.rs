//! Options of the routing engine, section by section.
//!
//! Their defaults are those of the engine's own settings; a test compares the two.

use super::super::{
    choice::{RefreshInterval, Switch},
    field::{Field, List},
    name::{Addresses, Period, Size},
    unit::{Count, Number},
};
use schemars::JsonSchema;
use serde::Deserialize;

/// The score of an endpoint, and the averages that it is made from.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in crate::config) struct Score {
    /// Share of the average latency in the time to serve, 0 to 1; the tail has the rest.
    #[schemars(extend("default" = 0.6))]
    pub(in crate::config) mix: Field<Number>,
    /// Latency that is expected before anything is known, up to 1 h.
    #[schemars(extend("default" = "200ms"))]
    pub(in crate::config) prior: Field<Period>,
    /// Samples of a method from which its own averages count alone, 1 to 1000.
    #[schemars(extend("default" = 5))]
    pub(in crate::config) enough_samples: Field<Count>,
    /// Weight of the square of the requests in flight, 0 to 1000.
    #[schemars(extend("default" = 0.25))]
    pub(in crate::config) inflight_quadratic: Field<Number>,
    /// Weight of the error rate, 0 to 1000.
    #[schemars(extend("default" = 8))]
    pub(in crate::config) error_weight: Field<Number>,
    /// Weight of each block behind past what is allowed, 0 to 1000.
    #[schemars(extend("default" = 1))]
    pub(in crate::config) lag_weight: Field<Number>,
    /// Weight of a rising latency, 0 to 1000; 0 turns it off.
    #[schemars(extend("default" = 0.5))]
    pub(in crate::config) slope_weight: Field<Number>,
    /// Step of the average latency towards a slower sample, 0.001 to 1.
    #[schemars(extend("default" = 0.4))]
    pub(in crate::config) slower_step: Field<Number>,
    /// Step of the average latency towards a faster sample, 0.001 to 1.
    #[schemars(extend("default" = 0.2))]
    pub(in crate::config) faster_step: Field<Number>,
    /// Step of the tail latency towards a sample above it, 0.001 to 1.
    #[schemars(extend("default" = 0.5))]
    pub(in crate::config) tail_up_step: Field<Number>,
    /// Step of the tail latency towards a sample below it, 0.001 to 1.
    #[schemars(extend("default" = 0.05))]
    pub(in crate::config) tail_down_step: Field<Number>,
    /// Step of the error rate, 0.001 to 1.
    #[schemars(extend("default" = 0.3))]
    pub(in crate::config) error_step: Field<Number>,
    /// Tenth of the window over which median, error rate and rise of the latency are taken, 1 s to 1 h.
    #[schemars(extend("default" = "30s"))]
    pub(in crate::config) bucket: Field<Period>,
    /// Rise of the median latency, as a share a minute, above which a bucket counts as rising; 0 to 100.
    #[schemars(extend("default" = 0.1))]
    pub(in crate::config) rising: Field<Number>,
    /// Buckets in a row that must rise before the rise counts, 1 to 9.
    #[schemars(extend("default" = 3))]
    pub(in crate::config) rising_buckets: Field<Count>,
}

/// How much each measure counts under `weighted-sum`; only their proportions matter.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in crate::config) struct Weights {
    /// Weight of the median latency of the last five minutes, 0 to 1000.
    #[schemars(extend("default" = 0.55))]
    pub(in crate::config) latency: Field<Number>,
    /// Weight of the error rate of the last five minutes, 0 to 1000.
    #[schemars(extend("default" = 0.3))]
    pub(in crate::config) error: Field<Number>,
    /// Weight of the spent share of the nearest allowance of compute units, 0 to 1000.
    #[schemars(extend("default" = 0.1))]
    pub(in crate::config) quota: Field<Number>,
    /// Weight of the distance of the region, 0 to 1000.
    #[schemars(extend("default" = 0.05))]
    pub(in crate::config) affinity: Field<Number>,
}

/// When a slow read is copied to a second endpoint.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in crate::config) struct Hedge {
    /// Never earlier than this, up to 1 h.
    #[schemars(extend("default" = "250ms"))]
    pub(in crate::config) min_delay: Field<Period>,
    /// How many times the tail latency of the method must have passed, 0 to 1000.
    #[schemars(extend("default" = 2))]
    pub(in crate::config) tails: Field<Number>,
}

/// Heads: who lags, who is believed, when endpoints are probed.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in crate::config) struct Heads {
    /// Whether heads are compared at all.
    #[schemars(extend("default" = true))]
    pub(in crate::config) enabled: Field<bool>,
    /// Blocks behind the reference head without a penalty; a known chain has its own number.
    #[schemars(extend("default" = 2))]
    pub(in crate::config) max_lag: Field<Count>,
    /// The same in time, up to 1 h; the more lenient of the two counts.
    #[schemars(extend("default" = "2s"))]
    pub(in crate::config) max_lag_time: Field<Period>,
    /// Blocks by which a head may lead the others and still be believed; at least `max_lag`.
    #[schemars(extend("default" = 1000))]
    pub(in crate::config) max_ahead: Field<Count>,
    /// Age past which a head stops counting, up to 1 h; a known chain has its own.
    #[schemars(extend("default" = "30s"))]
    pub(in crate::config) stale: Field<Period>,
    /// Time from block to block until it is measured, up to 1 h; a known chain has its own.
    pub(in crate::config) block_time: Field<Period>,
    /// Blocks behind the reference head that count as drift.
    #[schemars(extend("default" = 10))]
    pub(in crate::config) max_drift: Field<Count>,
    /// The same in time, up to 1 h; the larger of the two counts.
    #[schemars(extend("default" = "30s"))]
    pub(in crate::config) max_drift_time: Field<Period>,
    /// How long an endpoint must drift before it is ejected, up to 1 h.
    #[schemars(extend("default" = "60s"))]
    pub(in crate::config) drift_window: Field<Period>,
    /// Blocks that a head may fall in a reorganisation; past that the endpoint has fallen behind.
    #[schemars(extend("default" = 64))]
    pub(in crate::config) max_reorg: Field<Count>,
    /// The same in time, up to 1 h; the larger of the two counts.
    #[schemars(extend("default" = "30s"))]
    pub(in crate::config) max_reorg_time: Field<Period>,
    /// How long a head must stay while the only other one moves to count as standing still, up to 1 h.
    #[schemars(extend("default" = "5s"))]
    pub(in crate::config) standstill: Field<Period>,
    /// Whether endpoints are asked for their head while calls come in.
    #[schemars(extend("default" = true))]
    pub(in crate::config) probes: Field<bool>,
    /// Time between two probes of an endpoint, up to 1 h.
    #[schemars(extend("default" = "4s"))]
    pub(in crate::config) probe_interval: Field<Period>,
    /// Share of the interval by which a probe is moved at random, 0 to 1.
    #[schemars(extend("default" = 0.1))]
    pub(in crate::config) probe_jitter: Field<Number>,
    /// Time without a call after which probes stop, up to 1 h.
    #[schemars(extend("default" = "60s"))]
    pub(in crate::config) probe_idle: Field<Period>,
}

/// When an endpoint is taken out, and for how long.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in crate::config) struct Breaker {
    /// Whether endpoints are ejected at all.
    #[schemars(extend("default" = true))]
    pub(in crate::config) enabled: Field<bool>,
    /// Failures in a row that eject, 1 to 1000.
    #[schemars(extend("default" = 3))]
    pub(in crate::config) threshold: Field<Count>,
    /// Ejection on the share of failures: on, off, or its numbers.
    #[schemars(extend("default" = true))]
    pub(in crate::config) failure_rate: Field<Switch<FailureRate>>,
    /// Length of the first ejection, up to 1 h.
    #[schemars(extend("default" = "5s"))]
    pub(in crate::config) cooldown: Field<Period>,
    /// Length at which doubling stops, `cooldown` to 8760h.
    #[schemars(extend("default" = "60s"))]
    pub(in crate::config) max_cooldown: Field<Period>,
    /// Time in service without a failure after which the next ejection is a first one, up to 8760h.
    #[schemars(extend("default" = "60s"))]
    pub(in crate::config) reset_after: Field<Period>,
    /// Time in which an endpoint that came back grows to its full share, up to 1 h.
    #[schemars(extend("default" = "4s"))]
    pub(in crate::config) ramp: Field<Period>,
    /// Most of a stated `Retry-After` that is obeyed, up to 8760h.
    #[schemars(extend("default" = "60s"))]
    pub(in crate::config) retry_after_cap: Field<Period>,
    /// How long the one trial of an endpoint that may come back is waited for, up to 1 h.
    #[schemars(extend("default" = "30s"))]
    pub(in crate::config) trial_lease: Field<Period>,
    /// Trials of endpoints that refused our credentials: on, off, or their times.
    #[schemars(extend("default" = false))]
    pub(in crate::config) exclusion_trial: Field<Switch<ExclusionTrial>>,
    /// Refusals without a word in a row that exclude an endpoint, 1 to 1000.
    #[schemars(extend("default" = 3))]
    pub(in crate::config) bare_403: Field<Count>,
    /// First ejection of an endpoint whose quota is exhausted without a stated reset, up to 8760h.
    #[schemars(extend("default" = "2m"))]
    pub(in crate::config) quota_cooldown: Field<Period>,
    /// Length at which that stops growing, `quota_cooldown` to 8760h.
    #[schemars(extend("default" = "6h"))]
    pub(in crate::config) quota_max_cooldown: Field<Period>,
    /// Most of a stated quota reset that is believed, up to 8760h.
    #[schemars(extend("default" = "744h"))]
    pub(in crate::config) quota_reset_cap: Field<Period>,
    /// How long a method that an endpoint does not offer stays off there, up to 8760h.
    #[schemars(extend("default" = "1h"))]
    pub(in crate::config) method_off: Field<Period>,
    /// Length of an ejection from which the chain id is asked again, up to 8760h.
    #[schemars(extend("default" = "60s"))]
    pub(in crate::config) recheck_after: Field<Period>,
}

/// Ejection on the share of failures among the answers of a sliding time.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in crate::config) struct FailureRate {
    /// Share that ejects, 0.001 to 1.
    #[schemars(extend("default" = 0.5))]
    pub(in crate::config) share: Field<Number>,
    /// Fewest answers that say anything, 1 to 1000000.
    #[schemars(extend("default" = 20))]
    pub(in crate::config) answers: Field<Count>,
    /// The sliding time, 1 s to 1 h.
    #[schemars(extend("default" = "10s"))]
    pub(in crate::config) window: Field<Period>,
}

/// Trials of endpoints that refused our credentials: each wait is twice the one before.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in crate::config) struct ExclusionTrial {
    /// Wait before the first trial, up to 8760h.
    #[schemars(extend("default" = "15m"))]
    pub(in crate::config) first: Field<Period>,
    /// Longest wait, `first` to 8760h.
    #[schemars(extend("default" = "6h"))]
    pub(in crate::config) max: Field<Period>,
}

/// What may be sent to endpoints that have no budget of their own.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in crate::config) struct Budget {
    /// Requests a second to each endpoint without a rate of its own, 0.001 to 1000000.
    pub(in crate::config) rps: Field<Number>,
    /// Most of them at once, 1 to 1000000; by default two seconds' worth, at least 1.
    pub(in crate::config) burst: Field<Number>,
    /// Whether limits that nobody stated are learned from refusals, or the numbers of that.
    #[schemars(extend("default" = true))]
    pub(in crate::config) learn: Field<Switch<LearnedLimit>>,
}

/// How a limit that nobody stated is learned.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in crate::config) struct LearnedLimit {
    /// Refusals that start a limit, 1 to 100.
    #[schemars(extend("default" = 3))]
    pub(in crate::config) refusals: Field<Count>,
    /// Time within which they come, up to 1 h.
    #[schemars(extend("default" = "60s"))]
    pub(in crate::config) within: Field<Period>,
    /// Share of the rate measured before at which the limit starts, 0.001 to 1.
    #[schemars(extend("default" = 0.8))]
    pub(in crate::config) share: Field<Number>,
    /// Growth with each step without a refusal, 0 to 1.
    #[schemars(extend("default" = 0.05))]
    pub(in crate::config) growth: Field<Number>,
    /// Length of such a step, 1 s to 1 h.
    #[schemars(extend("default" = "10s"))]
    pub(in crate::config) step: Field<Period>,
    /// Lowest limit, in requests a second, 0.001 to 1000000.
    #[schemars(extend("default" = 0.2))]
    pub(in crate::config) floor: Field<Number>,
    /// Time without a refusal after which the limit is forgotten, up to 8760h.
    #[schemars(extend("default" = "1h"))]
    pub(in crate::config) forget: Field<Period>,
}

/// Rounds over endpoints that failed, and how long a call waits in all.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in crate::config) struct Retry {
    /// Pause before the second round, up to 1 h; it doubles with each round.
    #[schemars(extend("default" = "100ms"))]
    pub(in crate::config) base: Field<Period>,
    /// Longest pause between two rounds, up to 1 h.
    #[schemars(extend("default" = "2s"))]
    pub(in crate::config) cap: Field<Period>,
    /// How long one call waits for budgets and ejections in all, up to 1 h.
    #[schemars(extend("default" = "2s"))]
    pub(in crate::config) max_wait: Field<Period>,
    /// Share of the calls that may be spent on retries across the chain, 0 to 1.
    #[schemars(extend("default" = 0.1))]
    pub(in crate::config) budget_ratio: Field<Number>,
    /// Retries a second that may be spent besides, 0 to 1000000.
    #[schemars(extend("default" = 10))]
    pub(in crate::config) budget_per_second: Field<Number>,
    /// Time over which calls and retries are counted, 1 s to 1 h.
    #[schemars(extend("default" = "10s"))]
    pub(in crate::config) budget_window: Field<Period>,
}

/// How long what an endpoint showed of itself is believed.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in crate::config) struct Learn {
    /// After this time history, sizes and tags that an endpoint refused are tried again, up to 8760h.
    #[schemars(extend("default" = "1h"))]
    pub(in crate::config) forget: Field<Period>,
    /// After this time a single block that was missing is tried again, up to 8760h.
    #[schemars(extend("default" = "60s"))]
    pub(in crate::config) forget_block: Field<Period>,
    /// Blocks below the head in which nothing is taken for pruned.
    #[schemars(extend("default" = 64))]
    pub(in crate::config) near_head: Field<Count>,
}

/// Calls bound for one endpoint that share one request; sends never do.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in crate::config) struct Batch {
    /// Whether elements of one client's batch that choose the same endpoint share a request.
    #[schemars(extend("default" = true))]
    pub(in crate::config) client: Field<bool>,
    /// Time that a call waits for others, up to 1 s; by default none does.
    pub(in crate::config) window: Field<Period>,
    /// Most calls in one request, 1 to 1000; an endpoint's own limit can only be lower.
    #[schemars(extend("default" = 100))]
    pub(in crate::config) most: Field<Count>,
}

/// Answers from memory; `false` turns them off.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in crate::config) struct Cache {
    /// Whether reads are answered from memory.
    #[schemars(extend("default" = true))]
    pub(in crate::config) enabled: Field<bool>,
    /// Blocks that an answer about the newest block may be behind it, up to 1000.
    #[schemars(extend("default" = 1))]
    pub(in crate::config) max_stale_blocks: Field<Count>,
    /// Age past which such an answer is not served, up to 1 h.
    #[schemars(extend("default" = "2s"))]
    pub(in crate::config) max_age: Field<Period>,
    /// Most bytes kept, keys included, 64 KiB to 1 TiB.
    #[schemars(extend("default" = "256MiB"))]
    pub(in crate::config) max_bytes: Field<Size>,
    /// Most answers kept, 1 to 100000000.
    #[schemars(extend("default" = 100_000))]
    pub(in crate::config) max_entries: Field<Count>,
    /// Whether the header of each new head is fetched while reads come, so that a block that left the chain is seen.
    #[schemars(extend("default" = true))]
    pub(in crate::config) headers: Field<bool>,
    /// Most reads that are made again in the background at each new head while they are read, 0 to 64; 0 turns that off.
    #[schemars(extend("default" = 64))]
    pub(in crate::config) hot_keys: Field<Count>,
    /// Time between heads that are asked for while there are such reads, 1 s to 1 h; `auto` is the larger of the block time and 1 s, `off` asks for none.
    #[schemars(extend("default" = "auto"))]
    pub(in crate::config) refresh_interval: Field<RefreshInterval>,
}

/// Which block `latest` is.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(in crate::config) struct Pin {
    /// Age below which a head is fresh enough to pin a call to, up to 1 h; past it one is read first.
    #[schemars(extend("default" = "1s"))]
    pub(in crate::config) fresh: Field<Period>,
    /// Whether every `eth_blockNumber` goes to an endpoint.
    #[schemars(extend("default" = false))]
    pub(in crate::config) forward_block_number: Field<bool>,
    /// Addresses that answer from outside the chain's block, single or as `FROM-TO`: calls to them are not pinned.
    #[schemars(extend("default" = []))]
    pub(in crate::config) present_state: List<Addresses>,
}
