//! The configuration after all checks: what the rest of the gateway runs on.

use highwater::SecretUrl;
use highwater_core::{
    ChainId, bucket::Budget, classify::Classifier, select::Strategy, settings as engine,
};
use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

/// Everything, checked.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `[server]`.
    pub server: ServerSettings,
    /// `[admin]`.
    pub admin: AdminSettings,
    /// `[chains.NAME]`, in the order of the file.
    pub chains: Vec<ChainSettings>,
    /// `[[keys]]`.
    pub keys: Vec<KeySettings>,
    /// `[[error_rules]]`, compiled together with the built-in table; `None`: no such section.
    pub error_rules: Option<Arc<Classifier>>,
    /// `[state]`.
    pub state: StateSettings,
    /// `[log]`.
    pub log: LogSettings,
}

/// `[server]`: the RPC listener and what it accepts.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// Where to listen. Default `127.0.0.1:4545`.
    pub listen: SocketAddr,
    /// Worker threads, one runtime each. Default: the cores this process may use.
    pub workers: usize,
    /// Host names accepted beyond loopback names and the listener's own address; lower case.
    pub allowed_hosts: Vec<String>,
    /// Origins accepted, as `scheme://host[:port]`; `*` accepts all.
    pub allowed_origins: Vec<String>,
    /// Largest request body, inflated. Default 5 MiB.
    pub max_body: usize,
    /// Most elements in a batch. Default 100.
    pub max_batch: usize,
    /// Most bytes in the answer to a batch. Default 25 MB.
    pub max_batch_response: usize,
    /// Calls in flight over the whole gateway; past it a fast 429. Default 10,000.
    pub max_in_flight: usize,
    /// Connections open at once. Default 10,000.
    pub max_connections: usize,
    /// Most sessions that are remembered. Default 10000.
    pub max_sessions: usize,
    /// Whole-call deadline. Default 9 s.
    pub deadline: Duration,
    /// Longest wait for the head of a request. Default 10 s.
    pub header_timeout: Duration,
    /// Longest wait for its body. Default 30 s.
    pub body_timeout: Duration,
    /// On SIGTERM: how long `/readyz` says no while calls are still taken. Default 2 s.
    pub drain_delay: Duration,
    /// After that: how long calls in flight may take. Default 30 s.
    pub drain_timeout: Duration,
    /// Whether a request without `jsonrpc` is refused. Default false.
    pub strict: bool,
    /// Whether responses carry `X-Highwater-*`. Default false.
    pub response_headers: bool,
    /// Exit with 69 when no endpoint answers at start. Default false.
    pub require_ready: bool,
    /// Methods allowed or denied for everybody.
    pub methods: MethodRules,
    /// Where the gateway is; compared with the region of endpoints.
    pub region: Option<String>,
}

/// `[admin]`: health details; never on the RPC listener.
#[derive(Clone, Debug)]
pub struct AdminSettings {
    /// Where to listen; `None` is off. Default `127.0.0.1:4546`.
    pub listen: Option<SocketAddr>,
    /// Bearer token; required when the listener is not on loopback.
    pub token: Option<Secret>,
}

/// A credential: no `Debug`, no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a credential in.
    #[must_use]
    pub const fn new(text: String) -> Self {
        Self(text)
    }

    /// The credential itself, for comparing.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// Allow and deny lists of method names; `*` at the end matches any rest; case is folded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MethodRules {
    /// Names or prefixes allowed, beyond what is on by default. In a key: the only ones allowed,
    /// unless empty.
    pub allow: Vec<String>,
    /// Names or prefixes denied; wins over `allow`.
    pub deny: Vec<String>,
}

/// `[chains.NAME]`.
#[derive(Clone, Debug)]
pub struct ChainSettings {
    /// The name in the configuration, lower case: a path segment.
    pub name: String,
    /// Further path segments for the same chain.
    pub aliases: Vec<String>,
    /// The chain id; `None` (only for `serve URL …`) reads it from the endpoints.
    pub id: Option<ChainId>,
    /// The endpoints.
    pub endpoints: Vec<EndpointSettings>,
    /// Longest time for one attempt. Default 5 s.
    pub timeout: Duration,
    /// Whole-call deadline; `None`: the server's.
    pub deadline: Option<Duration>,
    /// Longest time for one attempt to send a transaction; `None`: as the chain's row of the table
    /// says.
    pub write_timeout: Option<Duration>,
    /// To whom a raw transaction is sent. Default `once`.
    pub writes: WritePolicy,
    /// How many endpoints get one at once under `broadcast`. Default 3.
    pub broadcast_to: u8,
    /// Whether one whose fate is open is looked up; `None`: as the policy usually does.
    pub verify_writes: Option<bool>,
    /// Whether they go to private endpoints alone. Default false.
    pub private_writes: bool,
    /// Names and prefixes, in lower case, of further methods that are never repeated.
    pub never_repeat: Vec<String>,
    /// Largest answer of an endpoint, inflated. Default 32 MiB.
    pub max_reply: usize,
    /// Everything that the routing engine can be told.
    pub engine: engine::Settings,
}

/// To whom a raw transaction is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WritePolicy {
    /// At most one endpoint whose acceptance is not disproven.
    Once,
    /// The same bytes to one after another, until one accepts or refuses.
    Failover,
    /// The same bytes to several at once; the first success counts.
    Broadcast,
}

/// `[[chains.NAME.endpoints]]`.
#[derive(Clone, Debug)]
pub struct EndpointSettings {
    /// Unique in its chain.
    pub label: String,
    /// The URL.
    pub url: SecretUrl,
    /// The WebSocket URL, checked and kept for subscriptions.
    pub ws_url: Option<Secret>,
    /// A higher tier is asked only when no lower one can serve. Default 0.
    pub tier: u8,
    /// Share of the traffic against its peers. Default 1.
    pub weight: f64,
    /// Price of a compute unit; `None`: not stated.
    pub price: Option<f64>,
    /// Whose budget it spends; `None`: one of its own. One account has one budget.
    pub account: Option<String>,
    /// What its account may spend.
    pub budget: Budget,
    /// Methods that it is asked; an empty `allow` is all.
    pub methods: MethodRules,
    /// Endpoints of one group have one voice about heads; `None`: its own.
    pub group: Option<String>,
    /// Where it is.
    pub region: Option<String>,
    /// Whether it keeps the state of all blocks. Default false.
    pub archive: bool,
    /// Whether it keeps from the public what it is sent. Default false.
    pub private: bool,
    /// Most blocks of one `eth_getLogs`; `None`: learned.
    pub max_log_range: Option<u64>,
    /// Most calls that it takes in one request; `None`: learned.
    pub max_batch: Option<u64>,
}

impl EndpointSettings {
    /// An endpoint of which nothing but its address is said; an empty label is to be filled in.
    #[must_use]
    pub fn new(label: impl Into<String>, url: SecretUrl) -> Self {
        Self {
            label: label.into(),
            url,
            ws_url: None,
            tier: 0,
            weight: 1.0,
            price: None,
            account: None,
            budget: Budget::default(),
            methods: MethodRules::default(),
            group: None,
            region: None,
            archive: false,
            private: false,
            max_log_range: None,
            max_batch: None,
        }
    }
}

/// `[[keys]]`.
#[derive(Clone, Debug)]
pub struct KeySettings {
    /// Shown in logs and metrics.
    pub name: String,
    /// SHA-256 of the key.
    pub hash: [u8; 32],
    /// Methods.
    pub methods: MethodRules,
    /// Origins that may use it; empty: any that the server accepts.
    pub origins: Vec<String>,
    /// Chains by name; empty: all.
    pub chains: Vec<String>,
    /// Who serves its calls; `None`: as the chain says.
    pub strategy: Option<Strategy>,
    /// To whom its raw transactions are sent; `None`: as the chain says.
    pub writes: Option<WritePolicy>,
    /// Whether they go to private endpoints alone; `None`: as the chain says.
    pub private_writes: Option<bool>,
}

/// `[state]`: what is kept across restarts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateSettings {
    /// The folder; `None`: nothing is kept.
    pub dir: Option<PathBuf>,
}

/// `[log]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// How lines look.
    pub format: LogFormat,
    /// `error`, `warn`, `info`, `debug`, `trace`, or a filter. Default `info`.
    pub level: String,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Text on a terminal, JSON otherwise.
    Auto,
    /// Text.
    Text,
    /// JSON lines.
    Json,
}
