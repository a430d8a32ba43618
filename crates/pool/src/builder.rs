//! Building a pool.

use crate::{
    Endpoint, Event, Network, Pool, Totals,
    endpoint::Transport,
    inner::{Inner, Parts, State},
    judge::Meanings,
    listen::{Listener, Listeners},
    node::Node,
    persist::{Keeper, Store},
    probe::{IsActive, Probing},
    reads::{Level, SecondLevel, Sight},
    sends::{Memory, Sends},
    upstream::{ExtraRoots, HttpOptions},
};
use highwater_core::{ChainId, classify::Classifier, router::Router, settings::Settings};
use std::{
    collections::HashSet,
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

/// An option that is out of range, named.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct ConfigError {
    /// The option.
    pub field: &'static str,
    /// What is wrong and what is allowed.
    pub problem: String,
}

impl ConfigError {
    pub(crate) fn new(field: &'static str, problem: impl Into<String>) -> Self {
        Self {
            field,
            problem: problem.into(),
        }
    }
}

/// Collects endpoints and options; [`Builder::build`] does no I/O.
#[derive(Clone)]
pub struct Builder {
    chain: Option<Result<ChainId, String>>,
    endpoints: Vec<Result<Endpoint, String>>,
    timeout: Duration,
    deadline: Duration,
    sends: Sends,
    error_rules: Option<Arc<Classifier>>,
    http: HttpOptions,
    settings: Settings,
    seed: Option<u64>,
    is_active: Option<IsActive>,
    listeners: Vec<Listener>,
    totals: Option<Totals>,
    second: Option<Level>,
    persist: Option<Arc<dyn Store>>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            chain: None,
            endpoints: Vec::new(),
            timeout: Duration::from_secs(10),
            deadline: Duration::from_secs(30),
            sends: Sends::default(),
            error_rules: None,
            http: HttpOptions::default(),
            settings: Settings::default(),
            seed: None,
            is_active: None,
            listeners: Vec::new(),
            totals: None,
            second: None,
            persist: None,
        }
    }
}

impl Builder {
    /// The chain that every endpoint must serve, by its id or by its name. Left out: the first endpoint
    /// that answers decides.
    #[must_use]
    pub fn chain<'a>(mut self, chain: impl Into<Network<'a>>) -> Self {
        let chain = chain.into();
        let id = chain.id();
        self.chain = Some(id.ok_or_else(|| match chain {
            Network::Id(id) => id.to_string(),
            Network::Name(name) => name.to_owned(),
        }));
        self
    }

    /// Adds an endpoint: an [`Endpoint`], or the text of its `http(s)` URL. Who is asked follows from its tier and from what is measured; of
    /// two that are equal the earlier one comes first.
    #[must_use]
    pub fn endpoint<E>(mut self, endpoint: E) -> Self
    where
        E: TryInto<Endpoint>,
        E::Error: fmt::Display,
    {
        let endpoint = endpoint.try_into();
        self.endpoints
            .push(endpoint.map_err(|problem| problem.to_string()));
        self
    }

    /// Longest time for one attempt. Default 10 s; at least 1 ms.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Longest time for one call, all attempts together. Default 30 s; at least 1 ms.
    #[must_use]
    pub const fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// How raw transactions are sent. Default: the same bytes to one endpoint after another,
    /// with a look-up where the end is open. Submissions have times of their own, not those of
    /// [`Builder::timeout`] and [`Builder::deadline`].
    #[must_use]
    pub const fn sends(mut self, sends: Sends) -> Self {
        self.sends = sends;
        self
    }

    /// Whether an endpoint is asked for its chain id before its first call. Default true.
    #[must_use]
    pub const fn verify_chain_id(mut self, verify: bool) -> Self {
        self.settings.verify_chain_id = verify;
        self
    }

    /// What an endpoint's error means: the built-in table with rules of one's own before it.
    /// Default: the table alone.
    #[must_use]
    pub fn error_rules(mut self, rules: Arc<Classifier>) -> Self {
        self.error_rules = Some(rules);
        self
    }

    /// All options of the routing engine; replaces what [`Builder::verify_chain_id`]
    /// said. Default: [`Settings::default`].
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Whether the owner is active; while it says `false`, no head is probed by the timer. It
    /// is asked when a probe is due, and must not block. A hook that panics counts as active.
    /// Default: always active.
    #[must_use]
    pub fn is_active(mut self, is_active: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.is_active = Some(Arc::new(is_active));
        self
    }

    /// Tells `listener` everything that happens (P-28). Further ones are told too, one after the
    /// other. They run on a thread of their own, `highwater-events`, so one that is slow or panics
    /// touches no call; events that it leaves waiting past 4096 are lost, and told as
    /// [`Event::Lost`]. A listener that holds its own pool keeps it alive until [`Pool::close`].
    #[must_use]
    pub fn on_event(mut self, listener: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.listeners.push(Arc::new(listener));
        self
    }

    /// What was spent of the budgets before a restart, as [`Pool::totals`] gave it. It need
    /// not be trusted; what is of another period counts for nothing. Default: nothing.
    #[must_use]
    pub fn restore_totals(mut self, totals: Totals) -> Self {
        self.totals = Some(totals);
        self
    }

    /// A store behind the cache, for answers that never change (P-13): see [`SecondLevel`]. Default:
    /// none. Without the cache it is not asked.
    #[must_use]
    pub fn second_level(mut self, level: Arc<dyn SecondLevel>) -> Self {
        self.second = Some(level);
        self
    }

    /// Where what was learned is kept across a restart (P-27): loaded once at the first call, which it
    /// never holds up, and saved at most every ten seconds and when the pool closes. Default: nowhere.
    #[must_use]
    pub fn persist(mut self, store: impl Store) -> Self {
        self.persist = Some(Arc::new(store));
        self
    }

    /// What every random draw of the routing follows from. Default: the operating system's
    /// randomness.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Largest answer, before and after inflating, in bytes. Default 32 MiB; at least 1.
    #[must_use]
    pub const fn max_reply(mut self, bytes: usize) -> Self {
        self.http.max_reply = bytes;
        self
    }

    /// How many worker threads make calls; each gets connections of its own (see
    /// [`worker`](crate::worker)). Default: one per CPU; at least 1.
    #[must_use]
    pub const fn workers(mut self, workers: usize) -> Self {
        self.http.lanes = workers;
        self
    }

    /// Certificates trusted beside the shipped roots.
    #[must_use]
    pub fn extra_roots(mut self, roots: ExtraRoots) -> Self {
        self.http.extra_roots = roots;
        self
    }

    /// All limits of the HTTP transport at once; replaces what [`Builder::max_reply`],
    /// [`Builder::workers`] and [`Builder::extra_roots`] said.
    #[must_use]
    pub fn http(mut self, options: HttpOptions) -> Self {
        self.http = options;
        self
    }

    /// Checks the options.
    ///
    /// # Errors
    /// The first option out of range, by name.
    pub fn build(self) -> Result<Pool, ConfigError> {
        let send_timeout = self.sends.timeout.unwrap_or(self.timeout);
        for (field, wait) in [
            ("timeout", self.timeout),
            ("deadline", self.deadline),
            ("sends.timeout", send_timeout),
        ] {
            if wait < Duration::from_millis(1) {
                return Err(ConfigError::new(field, "must be at least 1 ms"));
            }
        }
        let chain = match self.chain {
            Some(Ok(ChainId(0))) => return Err(ConfigError::new("chain", "must not be 0")),
            Some(Err(name)) => {
                let problem = format!("no chain is called {name:?}; an id always works");
                return Err(ConfigError::new("chain", problem));
            }
            Some(Ok(chain)) => Some(chain),
            None => None,
        };
        let mut endpoints = Vec::with_capacity(self.endpoints.len());
        for endpoint in self.endpoints {
            endpoints.push(endpoint.map_err(|problem| ConfigError::new("endpoints", problem))?);
        }
        self.http.check()?;
        self.settings
            .check()
            .map_err(|field| ConfigError::new(field, "is out of range"))?;
        check_endpoints(&endpoints)?;
        let labels = labels(&endpoints)?;
        let profiles = endpoints.iter().map(|e| e.profile.clone()).collect();
        let mut nodes = Vec::with_capacity(endpoints.len());
        for (label, endpoint) in labels.into_iter().zip(endpoints) {
            nodes.push(Arc::new(Node::new(label, endpoint.transport, &self.http)?));
        }
        let seed = self.seed.unwrap_or_else(random);
        let router = Router::new(Arc::new(self.settings), chain, profiles, seed);
        let sight = Sight::new(router.stale());
        let state = State {
            router,
            nodes: nodes.into(),
            sent: Memory::default(),
            sight,
        };
        if let Some(totals) = &self.totals {
            state.restore_totals(totals, SystemTime::now());
        }
        let parts = Parts {
            timeout: self.timeout,
            deadline: self.deadline,
            sends: self.sends,
            meanings: Meanings::new(self.error_rules),
            http: self.http,
            probing: Probing::new(self.is_active),
            second: self.second,
            listeners: Listeners::start(self.listeners)?,
            keeper: self.persist.map(|store| Keeper::new(store, self.timeout)),
        };
        Ok(Pool::from_inner(Inner::new(state, parts)))
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("chain", &self.chain)
            .field("endpoints", &self.endpoints)
            .field("timeout", &self.timeout)
            .field("deadline", &self.deadline)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// What can be wrong with a list of endpoints beside its labels.
pub(crate) fn check_endpoints(endpoints: &[Endpoint]) -> Result<(), ConfigError> {
    if endpoints.is_empty() {
        return Err(ConfigError::new("endpoints", "at least one is needed"));
    }
    if endpoints.len() > usize::from(u16::MAX) {
        return Err(ConfigError::new("endpoints", "at most 65535 are possible"));
    }
    let mut weights = endpoints.iter().map(|endpoint| endpoint.profile.weight);
    if weights.any(|weight| !weight.is_finite() || weight <= 0.0) {
        return Err(ConfigError::new("weight", "must be above 0"));
    }
    let mut prices = endpoints.iter().filter_map(|one| one.profile.price);
    if prices.any(|price| !price.is_finite() || price < 0.0) {
        return Err(ConfigError::new("price", "must be finite and at least 0"));
    }
    Ok(())
}

/// A seed that differs in every process.
fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new()
        .build_hasher()
        .finish()
}

/// The label of each endpoint: its own, else its host name, numbered where several share it.
pub(crate) fn labels(endpoints: &[Endpoint]) -> Result<Vec<String>, ConfigError> {
    let mut taken: HashSet<String> = HashSet::new();
    for label in endpoints
        .iter()
        .filter_map(|endpoint| endpoint.label.as_deref())
    {
        if label.is_empty() {
            return Err(ConfigError::new("label", "must not be empty"));
        }
        if !taken.insert(label.to_owned()) {
            return Err(ConfigError::new(
                "label",
                format!("{label:?} is used twice"),
            ));
        }
    }
    let mut labels = Vec::with_capacity(endpoints.len());
    for endpoint in endpoints {
        let label = match (&endpoint.label, &endpoint.transport) {
            (Some(label), _) => label.clone(),
            (None, Transport::Url(url)) => free_label(url.host(), &mut taken),
            (None, Transport::Custom(_)) => free_label("custom", &mut taken),
        };
        labels.push(label);
    }
    Ok(labels)
}

fn free_label(name: &str, taken: &mut HashSet<String>) -> String {
    let mut label = name.to_owned();
    let mut number = 2_usize;
    while !taken.insert(label.clone()) {
        label = format!("{name}-{number}");
        number += 1;
    }
    label
}
