//! Building a pool.

use crate::{
    Endpoint, Pool,
    check::Checking,
    endpoint::Transport,
    judge::Meanings,
    pool::{Inner, Node, Wired},
    secret::Scrubber,
    upstream::{ExtraRoots, HttpOptions, HttpUpstream},
};
use highwater_core::{ChainId, classify::Classifier, router::Router, settings::Settings};
use parking_lot::Mutex;
use std::{collections::HashSet, sync::Arc, sync::atomic::AtomicU64, time::Duration};

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
#[derive(Clone, Debug)]
pub struct Builder {
    pub(crate) chain: Option<ChainId>,
    pub(crate) endpoints: Vec<Endpoint>,
    pub(crate) timeout: Duration,
    pub(crate) deadline: Duration,
    pub(crate) verify_chain_id: bool,
    pub(crate) error_rules: Option<Arc<Classifier>>,
    pub(crate) http: HttpOptions,
    pub(crate) settings: Settings,
    pub(crate) seed: Option<u64>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            chain: None,
            endpoints: Vec::new(),
            timeout: Duration::from_secs(10),
            deadline: Duration::from_secs(30),
            verify_chain_id: true,
            error_rules: None,
            http: HttpOptions::default(),
            settings: Settings::default(),
            seed: None,
        }
    }
}

impl Builder {
    /// The chain that every endpoint must serve. Left out: the first endpoint that answers decides
    ///
    #[must_use]
    pub const fn chain(mut self, chain: ChainId) -> Self {
        self.chain = Some(chain);
        self
    }

    /// Adds an endpoint; order is preference.
    #[must_use]
    pub fn endpoint(mut self, endpoint: Endpoint) -> Self {
        self.endpoints.push(endpoint);
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

    /// Whether an endpoint is asked for its chain id before its first call. Default true.
    #[must_use]
    pub const fn verify_chain_id(mut self, verify: bool) -> Self {
        self.verify_chain_id = verify;
        self
    }

    /// What an endpoint's error means: the built-in table with rules of one's own before it.
    /// Default: the table alone.
    #[must_use]
    pub fn error_rules(mut self, rules: Arc<Classifier>) -> Self {
        self.error_rules = Some(rules);
        self
    }

    /// All options of the routing engine. Default: [`Settings::default`].
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.verify_chain_id = settings.verify_chain_id;
        self.settings = settings;
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
        for (field, wait) in [("timeout", self.timeout), ("deadline", self.deadline)] {
            if wait < Duration::from_millis(1) {
                return Err(ConfigError::new(field, "must be at least 1 ms"));
            }
        }
        if self.chain == Some(ChainId(0)) {
            return Err(ConfigError::new("chain", "must not be 0"));
        }
        self.http.check()?;
        let count = self.endpoints.len();
        if count == 0 {
            return Err(ConfigError::new("endpoints", "at least one is needed"));
        }
        if count > usize::from(u16::MAX) {
            return Err(ConfigError::new("endpoints", "at most 65535 are possible"));
        }
        let profiles = self.endpoints.iter().map(|e| e.profile.clone()).collect();
        let mut nodes = Vec::with_capacity(count);
        for label in labels(&self.endpoints)?.into_iter().zip(self.endpoints) {
            nodes.push(Arc::new(node(label.0, label.1, &self.http)?));
        }
        let mut settings = self.settings;
        settings.verify_chain_id = self.verify_chain_id;
        let settings = Arc::new(settings);
        let router = Router::new(
            Arc::clone(&settings),
            self.chain,
            profiles,
            self.seed.unwrap_or_else(random),
        );
        Ok(Pool::from_inner(Inner {
            nodes: nodes.into(),
            router: Mutex::new(router),
            ids: AtomicU64::new(1),
            timeout: self.timeout,
            deadline: self.deadline,
            meanings: Arc::new(Meanings::new(self.error_rules)),
            settings,
        }))
    }
}

/// A seed that differs in every process.
fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new()
        .build_hasher()
        .finish()
}

/// The label of each endpoint: its own, else its host name, numbered where several share it.
fn labels(endpoints: &[Endpoint]) -> Result<Vec<String>, ConfigError> {
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

fn node(label: String, endpoint: Endpoint, http: &HttpOptions) -> Result<Node, ConfigError> {
    let (host, wired, scrubber) = match endpoint.transport {
        Transport::Url(url) => {
            let upstream = HttpUpstream::new(&url, http.clone())?;
            (url.host().to_owned(), Wired::Http(upstream), url.scrubber())
        }
        Transport::Custom(upstream) => {
            (String::new(), Wired::Custom(upstream), Scrubber::default())
        }
    };
    Ok(Node {
        label: label.into(),
        host,
        wired,
        scrubber,
        checking: Checking::default(),
    })
}
