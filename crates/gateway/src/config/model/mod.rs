//! The configuration file as it is written: the one list of all options.
//!
//! The reader, the JSON schema and the table in `docs/configuration.md` are made from these
//! structs, so that none can know an option that another does not. The first sentence of a field's
//! documentation is what the schema and the table say; defaults stand here as the text one would
//! write, and are read by the same code as the file.

pub(super) mod engine;

use super::{
    choice::{JitterName, Retries, StrategyName, Switch},
    field::{Field, List, Named},
    folder::Folder,
    name::{
        Address, AddressOrOff, ChainName, ErrorClass, Hidden, HostName, KeyHash, Label, LogLevel,
        MethodPattern, Origin, Period, Phrase, Size, TimeOfDay,
    },
    settings::{LogFormat, Secret, WritePolicy},
    unit::{Count, Number},
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::ops::RangeInclusive;

/// Defaults, as they would be written.
pub(super) mod default {
    pub(in crate::config) const LISTEN: &str = "127.0.0.1:4545";
    pub(in crate::config) const ADMIN_LISTEN: &str = "127.0.0.1:4546";
    pub(in crate::config) const MAX_BODY: &str = "5MiB";
    pub(in crate::config) const MAX_BATCH: u64 = 100;
    pub(in crate::config) const MAX_BATCH_RESPONSE: &str = "25MB";
    pub(in crate::config) const MAX_IN_FLIGHT: u64 = 10_000;
    pub(in crate::config) const MAX_CONNECTIONS: u64 = 10_000;
    pub(in crate::config) const MAX_SESSIONS: u64 = 10_000;
    pub(in crate::config) const DEADLINE: &str = "9s";
    pub(in crate::config) const HEADER_TIMEOUT: &str = "10s";
    pub(in crate::config) const BODY_TIMEOUT: &str = "30s";
    pub(in crate::config) const DRAIN_DELAY: &str = "2s";
    pub(in crate::config) const DRAIN_TIMEOUT: &str = "30s";
    pub(in crate::config) const TIMEOUT: &str = "5s";
    pub(in crate::config) const MAX_REPLY: &str = "32MiB";
    pub(in crate::config) const LOG_LEVEL: &str = "info";
}

/// What may be configured; beyond it lies a mistake.
pub(super) mod bound {
    use super::RangeInclusive;

    pub(in crate::config) const WORKERS: RangeInclusive<u64> = 1..=1024;
    pub(in crate::config) const BATCH: RangeInclusive<u64> = 1..=10_000;
    pub(in crate::config) const CONCURRENCY: RangeInclusive<u64> = 1..=1_000_000;
    pub(in crate::config) const SESSIONS: RangeInclusive<u64> = 1..=100_000_000;
    pub(in crate::config) const CHAIN_ID: RangeInclusive<u64> = 1..=u64::MAX;
    /// From 1 KiB to 1 GiB.
    pub(in crate::config) const SIZE: RangeInclusive<u64> = 1 << 10..=1 << 30;
    /// Up to an hour, in milliseconds.
    pub(in crate::config) const MILLIS: RangeInclusive<u64> = 1..=3_600_000;
}

/// Configuration of the Highwater gateway.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Root {
    /// The RPC listener and what it accepts.
    pub(super) server: Field<Server>,
    /// The admin listener: health details; never on the RPC listener.
    pub(super) admin: Field<Admin>,
    /// One section for each chain, `[chains.NAME]`; the name is a path segment of the gateway.
    pub(super) chains: Field<Named<Chain>>,
    /// API keys, one `[[keys]]` section each; without any the gateway listens on loopback only.
    pub(super) keys: List<Key>,
    /// What an endpoint's error means where the built-in rules do not know it; the first that holds.
    pub(super) error_rules: List<ErrorRule>,
    /// What is kept across restarts.
    pub(super) state: Field<State>,
    /// Log lines on stderr.
    pub(super) log: Field<Log>,
}

/// The RPC listener and what it accepts.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Server {
    /// Address and port of the RPC listener; beyond loopback only with at least one key.
    #[schemars(extend("default" = default::LISTEN))]
    pub(super) listen: Field<Address>,
    /// Worker threads, 1 to 1024, one runtime each; by default as many as the process may use cores.
    #[schemars(extend("minimum" = bound::WORKERS.start(), "maximum" = bound::WORKERS.end()))]
    pub(super) workers: Field<Count>,
    /// Host names accepted beyond loopback names and the listener's own address, without port.
    #[schemars(extend("default" = []))]
    pub(super) allowed_hosts: List<HostName>,
    /// Origins of web pages that may use the gateway, as `scheme://host[:port]`; `*` accepts all.
    #[schemars(extend("default" = []))]
    pub(super) allowed_origins: List<Origin>,
    /// Largest request body after decompression, 1 KiB to 1 GiB.
    #[schemars(extend("default" = default::MAX_BODY))]
    pub(super) max_body: Field<Size>,
    /// Most calls in one batch, 1 to 10000.
    #[schemars(extend("default" = default::MAX_BATCH,
        "minimum" = bound::BATCH.start(), "maximum" = bound::BATCH.end()))]
    pub(super) max_batch: Field<Count>,
    /// Most sessions (`X-Highwater-Session`) that are remembered, 1 to 100000000; the least recently used is forgotten.
    #[schemars(extend("default" = default::MAX_SESSIONS))]
    pub(super) max_sessions: Field<Count>,
    /// Most bytes in the answer to one batch, 1 KiB to 1 GiB; calls past it get an error.
    #[schemars(extend("default" = default::MAX_BATCH_RESPONSE))]
    pub(super) max_batch_response: Field<Size>,
    /// Calls in flight over the whole gateway, 1 to 1000000; past it callers get 429 at once.
    #[schemars(extend("default" = default::MAX_IN_FLIGHT,
        "minimum" = bound::CONCURRENCY.start(), "maximum" = bound::CONCURRENCY.end()))]
    pub(super) max_in_flight: Field<Count>,
    /// Client connections open at once, 1 to 1000000.
    #[schemars(extend("default" = default::MAX_CONNECTIONS,
        "minimum" = bound::CONCURRENCY.start(), "maximum" = bound::CONCURRENCY.end()))]
    pub(super) max_connections: Field<Count>,
    /// Time for a whole call with all its attempts, up to 1 h.
    #[schemars(extend("default" = default::DEADLINE))]
    pub(super) deadline: Field<Period>,
    /// Longest wait for the head of a request, up to 1 h.
    #[schemars(extend("default" = default::HEADER_TIMEOUT))]
    pub(super) header_timeout: Field<Period>,
    /// Longest wait for the body of a request, up to 1 h.
    #[schemars(extend("default" = default::BODY_TIMEOUT))]
    pub(super) body_timeout: Field<Period>,
    /// On SIGTERM: how long `/readyz` says no while calls are still taken, up to 1 h.
    #[schemars(extend("default" = default::DRAIN_DELAY))]
    pub(super) drain_delay: Field<Period>,
    /// After that: how long calls in flight may take before they are cut off, up to 1 h.
    #[schemars(extend("default" = default::DRAIN_TIMEOUT))]
    pub(super) drain_timeout: Field<Period>,
    /// Whether a request without `"jsonrpc": "2.0"` is refused.
    #[schemars(extend("default" = false))]
    pub(super) strict: Field<bool>,
    /// Whether responses carry `X-Highwater-*` headers.
    #[schemars(extend("default" = false))]
    pub(super) response_headers: Field<bool>,
    /// Whether to exit with 69 when no endpoint answers at start.
    #[schemars(extend("default" = false))]
    pub(super) require_ready: Field<bool>,
    /// Methods allowed or denied for everybody.
    pub(super) methods: Field<Methods>,
    /// Where this gateway is, to be compared with the region of endpoints: `eu-west`.
    pub(super) region: Field<Label>,
}

/// Lists of method names; a `*` at the end stands for any rest, upper and lower case are the same.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Methods {
    /// Methods allowed: under `server` in addition to those on by default, elsewhere the only ones.
    #[schemars(extend("default" = []))]
    pub(super) allow: List<MethodPattern>,
    /// Methods denied; wins over `allow`.
    #[schemars(extend("default" = []))]
    pub(super) deny: List<MethodPattern>,
}

/// The admin listener: health details; never on the RPC listener.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Admin {
    /// Address and port of the admin listener, or `off`; beyond loopback only with a token.
    #[schemars(extend("default" = default::ADMIN_LISTEN))]
    pub(super) listen: Field<AddressOrOff>,
    /// Bearer token that the admin listener asks for; none by default.
    pub(super) token: Field<Hidden<Secret>>,
}

/// One chain and the endpoints that serve it.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Chain {
    /// The chain id; may be left out for a chain known by name.
    #[schemars(extend("minimum" = bound::CHAIN_ID.start()))]
    pub(super) id: Field<Count>,
    /// Further names of the chain in paths; a known chain also answers to its usual name.
    #[schemars(extend("default" = []))]
    pub(super) aliases: List<ChainName>,
    /// Longest time for one attempt at one endpoint, up to 1 h.
    #[schemars(extend("default" = default::TIMEOUT))]
    pub(super) timeout: Field<Period>,
    /// Time for a whole call with all its attempts, up to 1 h; by default that of `server`.
    pub(super) deadline: Field<Period>,
    /// Longest time for one attempt to send a transaction, up to 1 h; by default 10 s, 30 s on Nitro chains.
    pub(super) write_timeout: Field<Period>,
    /// To whom a raw transaction is sent: see `docs/sends.md`.
    #[schemars(extend("default" = "once"))]
    pub(super) writes: Field<WritePolicy>,
    /// Under `broadcast`: to how many endpoints at once, 2 to 16.
    #[schemars(extend("default" = 3, "minimum" = 2, "maximum" = 16))]
    pub(super) broadcast_to: Field<Count>,
    /// Whether a raw transaction whose fate is open is looked up by its hash; by default under `failover` and on chains whose nodes do not say "already known", where it cannot be turned off.
    pub(super) verify_writes: Field<bool>,
    /// Whether raw transactions go to private endpoints alone.
    #[schemars(extend("default" = false))]
    pub(super) private_writes: Field<bool>,
    /// Whether endpoints are asked for their chain id before their first call.
    #[schemars(extend("default" = true))]
    pub(super) verify_chain_id: Field<bool>,
    /// Largest answer of an endpoint after decompression, 1 KiB to 1 GiB.
    #[schemars(extend("default" = default::MAX_REPLY))]
    pub(super) max_reply: Field<Size>,
    /// Who serves a call: see `docs/routing.md`.
    #[schemars(extend("default" = "adaptive"))]
    pub(super) strategy: Field<StrategyName>,
    /// Under `weighted-sum`: how much each measure counts.
    pub(super) weights: Field<engine::Weights>,
    /// Under `least-loaded`: every so many first attempts one goes to whoever waited longest, 2 to 1000000.
    #[schemars(extend("default" = 20))]
    pub(super) explore_every: Field<Count>,
    /// How many endpoints race for the first answer to a read, 0 to 16; 0 and 1 are off.
    #[schemars(extend("default" = 0))]
    pub(super) race: Field<Count>,
    /// Copies of slow reads to a second endpoint: on, off, or the numbers of that.
    #[schemars(extend("default" = false))]
    pub(super) hedge: Field<Switch<engine::Hedge>>,
    /// Attempts after the first, 0 to 1000, or `deadline`: rounds go on until the deadline.
    #[schemars(extend("default" = "deadline"))]
    pub(super) retry_count: Field<Retries>,
    /// Share of a pause between rounds that is drawn: `half` is half of it to all, `full` nothing to all.
    #[schemars(extend("default" = "half"))]
    pub(super) jitter: Field<JitterName>,
    /// How long a call waits for the budget of a lower tier before it moves up, up to 1 h; by default not at all.
    pub(super) tier_wait: Field<Period>,
    /// Further methods that are sent once: never raced, hedged, or repeated unless nothing was sent.
    #[schemars(extend("default" = []))]
    pub(super) never_repeat: List<MethodPattern>,
    /// Rounds over endpoints that failed, and what retries may cost.
    pub(super) retry: Field<engine::Retry>,
    /// The score of an endpoint, and the averages that it is made from.
    pub(super) score: Field<engine::Score>,
    /// Heads: who lags, who is believed, when endpoints are probed.
    pub(super) heads: Field<engine::Heads>,
    /// When an endpoint is taken out, and for how long; `false` ejects nobody.
    pub(super) breaker: Field<Switch<engine::Breaker>>,
    /// What may be sent to endpoints without a budget of their own; `false` ends all budgets.
    pub(super) budget: Field<Switch<engine::Budget>>,
    /// How long what an endpoint showed of itself is believed.
    pub(super) learn: Field<engine::Learn>,
    /// Calls bound for one endpoint that share one request.
    pub(super) batch: Field<engine::Batch>,
    /// Whether `latest` becomes the number of a block that the endpoints hold, and no caller is taken back behind what it has seen.
    #[schemars(extend("default" = true))]
    pub(super) pin_latest: Field<bool>,
    /// Which block `latest` is.
    pub(super) pin: Field<engine::Pin>,
    /// Whether identical reads in flight share one request.
    #[schemars(extend("default" = true))]
    pub(super) coalesce: Field<bool>,
    /// Answers from memory; `false` turns them off.
    pub(super) cache: Field<Switch<engine::Cache>>,
    /// Log queries: what is remembered of them, and ranges in parts; `false` makes them reads like any other.
    pub(super) logs: Field<Switch<engine::Logs>>,
    /// The endpoints; at least one.
    pub(super) endpoints: List<Endpoint>,
}

/// One endpoint of a chain.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("required" = ["url"]))]
pub(super) struct Endpoint {
    /// The only name under which the endpoint is shown, unique in its chain; by default its host.
    pub(super) label: Field<Label>,
    /// The `http` or `https` URL; a secret: it is never shown.
    pub(super) url: Field<Hidden<Secret>>,
    /// The `ws` or `wss` URL of the same endpoint: checked and kept for subscriptions; a secret.
    pub(super) ws_url: Field<Hidden<Secret>>,
    /// Tier, 0 to 255: a higher one is asked only when no lower one can serve.
    #[schemars(extend("default" = 0))]
    pub(super) tier: Field<Count>,
    /// Share of the traffic against its peers, 0.000001 to 1000000.
    #[schemars(extend("default" = 1))]
    pub(super) weight: Field<Number>,
    /// Price of a compute unit in whatever money you count, 0 to 1000000; it decides nothing, and money spent and spared is shown by it.
    pub(super) price: Field<Number>,
    /// Requests a second of its account, 0.001 to 1000000.
    pub(super) rps: Field<Number>,
    /// Most of them at once, 1 to 1000000; by default two seconds' worth, at least 1.
    pub(super) burst: Field<Number>,
    /// Whether its account has a budget at all.
    #[schemars(extend("default" = true))]
    pub(super) budget: Field<bool>,
    /// Endpoints of one account share one budget, over all chains; by default each has its own.
    pub(super) account: Field<Label>,
    /// Compute units that its account may spend in a day, at least 1.
    #[schemars(extend("minimum" = 1))]
    pub(super) units_per_day: Field<Count>,
    /// Compute units that its account may spend in a month, at least 1.
    #[schemars(extend("minimum" = 1))]
    pub(super) units_per_month: Field<Count>,
    /// Time of the day at which both start again, in UTC.
    #[schemars(extend("default" = "00:00"))]
    pub(super) reset_at: Field<TimeOfDay>,
    /// Day of the month on which the month starts again, 1 to 28.
    #[schemars(extend("default" = 1, "minimum" = 1, "maximum" = 28))]
    pub(super) reset_day: Field<Count>,
    /// Methods that it is asked.
    pub(super) methods: Field<Methods>,
    /// Endpoints of one group are one backend: they have one voice about heads.
    pub(super) group: Field<Label>,
    /// Where it is; counts under `weighted-sum`, against the region of `server`.
    pub(super) region: Field<Label>,
    /// Whether it keeps the state of all blocks.
    #[schemars(extend("default" = false))]
    pub(super) archive: Field<bool>,
    /// Whether it keeps from the public what it is sent: it gets the methods of builders, and raw transactions that are to stay private.
    #[schemars(extend("default" = false))]
    pub(super) private: Field<bool>,
    /// Most blocks that it takes in one `eth_getLogs`, at least 1; by default that is learned.
    #[schemars(extend("minimum" = 1))]
    pub(super) max_log_range: Field<Count>,
    /// Most calls that it takes in one request, 1 to 1000; 1 sends it no batch; by default that is learned.
    #[schemars(extend("minimum" = 1))]
    pub(super) max_batch: Field<Count>,
}

/// One API key.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("required" = ["name", "hash"]))]
pub(super) struct Key {
    /// Shown in logs and metrics instead of the key; unique.
    pub(super) name: Field<Label>,
    /// `sha256:` and the SHA-256 of the key in hexadecimal, made by `highwater keys create`.
    pub(super) hash: Field<Hidden<KeyHash>>,
    /// Methods the key may call.
    pub(super) methods: Field<Methods>,
    /// Origins of web pages that may use the key; empty: any that the server accepts.
    #[schemars(extend("default" = []))]
    pub(super) origins: List<Origin>,
    /// Chains the key may use, by name or alias; empty: all.
    #[schemars(extend("default" = []))]
    pub(super) chains: List<ChainName>,
    /// Who serves the calls of the key; by default as the chain says.
    pub(super) strategy: Field<StrategyName>,
    /// The weights of `weighted-sum` for the calls of the key, which they turn on.
    pub(super) weights: Field<engine::Weights>,
    /// To whom the raw transactions of the key are sent; by default as the chain says.
    pub(super) writes: Field<WritePolicy>,
    /// Whether the raw transactions of the key go to private endpoints alone; by default as the chain says.
    pub(super) private_writes: Field<bool>,
}

/// What one kind of error means, for a provider whose texts are not known.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("required" = ["class"]))]
pub(super) struct ErrorRule {
    /// Phrases of which all must be in one string of the answer; alternatives stand between bars.
    #[serde(rename = "match")]
    #[schemars(extend("default" = []))]
    pub(super) all: List<Phrase>,
    /// Phrases of which none may be in that string.
    #[serde(rename = "not")]
    #[schemars(extend("default" = []))]
    pub(super) none: List<Phrase>,
    /// JSON-RPC codes, one of which the answer must have; empty: any.
    #[schemars(extend("default" = []))]
    pub(super) codes: List<i64>,
    /// HTTP statuses, one of which the answer must have; empty: any.
    #[schemars(extend("default" = []))]
    pub(super) statuses: List<u16>,
    /// Methods of which the call must be one; empty: any.
    #[schemars(extend("default" = []))]
    pub(super) methods: List<MethodPattern>,
    /// What the answer is: a class by its name in `docs/errors.md`.
    pub(super) class: Field<ErrorClass>,
    /// Whether another endpoint is asked; by default as the class usually says.
    pub(super) retry_other_endpoint: Field<bool>,
    /// Whether the answer counts against the endpoint; by default as the class usually says.
    pub(super) counts_against_endpoint: Field<bool>,
}

/// What is kept across restarts.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct State {
    /// Folder for what was learned of endpoints and what budgets have spent; made where it is missing; by default nothing is kept.
    pub(super) dir: Field<Folder>,
}

/// Log lines on stderr.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Log {
    /// How lines look: `auto` is text on a terminal and JSON otherwise.
    #[schemars(extend("default" = "auto"))]
    pub(super) format: Field<LogFormat>,
    /// The least severe level that is written, or a filter such as `info,highwater=debug`.
    #[schemars(extend("default" = default::LOG_LEVEL))]
    pub(super) level: Field<LogLevel>,
}
