//! The pool.

use crate::{
    Answer, Builder, Error,
    check::{Checking, check},
    driver::drive,
    judge::Meanings,
    secret::Scrubber,
    upstream::{HttpUpstream, RawReply, Repeat, SendError, SendErrorKind, Upstream},
};
use bytes::Bytes;
use futures_util::{StreamExt, stream::FuturesUnordered};
use highwater_core::{
    ChainId, EndpointId, Now,
    call::Delivery,
    identity::Check,
    jsonrpc::Params,
    method::Descriptor,
    router::{Identity, Router},
    select::Strategy,
    settings::Settings,
};
use parking_lot::{Mutex, MutexGuard};
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

/// Many endpoints of one chain as one. Cheap to clone.
#[derive(Clone)]
pub struct Pool {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) nodes: Box<[Arc<Node>]>,
    /// Held for nanoseconds, never across an await.
    pub(crate) router: Mutex<Router>,
    pub(crate) ids: AtomicU64,
    pub(crate) timeout: Duration,
    pub(crate) deadline: Duration,
    pub(crate) meanings: Arc<Meanings>,
    pub(crate) settings: Arc<Settings>,
}

/// One endpoint at work.
pub(crate) struct Node {
    pub(crate) label: Arc<str>,
    pub(crate) host: String,
    pub(crate) wired: Wired,
    pub(crate) scrubber: Scrubber,
    pub(crate) checking: Checking,
}

pub(crate) enum Wired {
    /// Ours, called without a box.
    Http(HttpUpstream),
    Custom(Arc<dyn Upstream>),
}

/// One call.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The method as it goes on the wire.
    pub method: &'a str,
    /// Its row of the method table.
    pub descriptor: &'static Descriptor,
    /// Its parameters.
    pub params: Params<'a>,
}

/// Limits of one call; what is left out is the pool's own setting.
#[derive(Clone, Debug, Default)]
pub struct CallOptions {
    /// Longest time for the whole call.
    pub deadline: Option<Duration>,
    /// Longest time for one attempt.
    pub timeout: Option<Duration>,
    /// Who serves the call.
    pub strategy: Option<Arc<Strategy>>,
    /// Sent once: never raced or hedged, and repeated only when it is proven that nothing was sent
    ///
    pub solitary: bool,
}

/// What is known of a pool at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The chain, once known.
    pub chain: Option<ChainId>,
    /// The endpoints in order.
    pub endpoints: Vec<EndpointSnapshot>,
}

/// What is known of one endpoint. Names it by label and host only.
#[derive(Clone, Debug)]
pub struct EndpointSnapshot {
    /// The label.
    pub label: String,
    /// The bare host name; empty for a transport of the caller's own.
    pub host: String,
    /// What is known of its chain.
    pub identity: Identity,
}

impl Pool {
    /// Starts a pool.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn from_inner(inner: Inner) -> Self {
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Makes one call. An endpoint's own error is an [`Answer`] too.
    ///
    /// Cancellation: dropping the future abandons the call. The connection that carried it is
    /// closed; nothing runs on. A request that was written may still take effect at the endpoint.
    ///
    /// # Errors
    /// No endpoint answered; see [`Error`].
    pub async fn request(
        &self,
        request: Request<'_>,
        options: CallOptions,
    ) -> Result<Answer, Error> {
        drive(&self.inner, request, options).await
    }

    /// Checks the chain id of every endpoint that is not checked yet, all at once, each within
    /// `timeout`, and returns what is known then.
    ///
    /// Cancellation: dropping the future abandons the checks that no call shares.
    pub async fn check_all(&self, timeout: Duration) -> Snapshot {
        let unchecked: Vec<EndpointId> = {
            let router = self.inner.router.lock();
            let is_open = |id: &EndpointId| router.identity(*id) == Identity::Unchecked;
            router.ids().filter(is_open).collect()
        };
        let mut checks: FuturesUnordered<_> = unchecked
            .into_iter()
            .map(|endpoint| check(&self.inner, endpoint, timeout))
            .collect();
        while checks.next().await.is_some() {}
        drop(checks);
        self.snapshot()
    }

    /// What is known now; no I/O.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let router = self.inner.router.lock();
        let endpoints = router
            .ids()
            .zip(&self.inner.nodes)
            .map(|(id, node)| EndpointSnapshot {
                label: node.label.to_string(),
                host: node.host.clone(),
                identity: router.identity(id),
            });
        Snapshot {
            chain: router.chain(),
            endpoints: endpoints.collect(),
        }
    }

    /// The router under its lock, with the time now: for looking, and for nothing that takes long.
    #[doc(hidden)]
    pub fn with_router<T>(&self, look: impl FnOnce(&mut Router, Now) -> T) -> T {
        let now = self.inner.now();
        look(&mut self.inner.router.lock(), now)
    }

    /// The chain, once known.
    #[must_use]
    pub fn chain_id(&self) -> Option<ChainId> {
        self.inner.router.lock().chain()
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels: Vec<_> = self.inner.nodes.iter().map(|node| &node.label).collect();
        f.debug_struct("Pool")
            .field("endpoints", &labels)
            .finish_non_exhaustive()
    }
}

impl Inner {
    pub(crate) fn node(&self, endpoint: EndpointId) -> &Arc<Node> {
        &self.nodes[endpoint.index()]
    }

    /// A fresh id for a request of ours. An answer to another request is seen by it.
    pub(crate) fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    /// The pool's one look at the clocks. Tokio's, so that paused time works.
    #[expect(clippy::unused_self, reason = "a pool of another clock would hold it")]
    pub(crate) fn now(&self) -> Now {
        Now {
            mono: tokio::time::Instant::now().into_std(),
            wall: SystemTime::now(),
        }
    }

    /// Lets the router go, and tells its events to whoever listens.
    #[expect(clippy::unused_self, reason = "listeners come next")]
    pub(crate) fn tell(&self, router: MutexGuard<'_, Router>) {
        drop(router);
    }

    /// The probe timer was standing and a tick is due.
    #[expect(clippy::unused_self, reason = "probes come next")]
    pub(crate) fn wake_probes(&self) {}

    /// Labels of the endpoints without a token.
    pub(crate) fn spent(&self) -> Vec<String> {
        let now = self.now();
        let views = self.router.lock().views(now);
        let spent = views.into_iter().filter(|view| view.tokens == Some(0));
        spent
            .map(|view| self.node(view.endpoint).label.to_string())
            .collect()
    }

    /// Whether an attempt can have another one beside it.
    pub(crate) fn may_run_beside(&self, races: bool, hedges: bool) -> bool {
        (races && self.settings.race >= 2) || (hedges && self.settings.hedge.is_some())
    }

    /// Tells the router what an endpoint said its chain is.
    pub(crate) fn identify(&self, endpoint: EndpointId, check: Check, found: ChainId) {
        let (before, after, expected) = {
            let mut router = self.router.lock();
            let before = router.identity(endpoint);
            let after = router.on_chain_id(endpoint, check, found);
            let expected = router.chain();
            self.tell(router);
            (before, after, expected)
        };
        if before != after && matches!(after, Identity::Quarantined { .. }) {
            let expected = expected.map(|chain| chain.0);
            let label = &self.node(endpoint).label;
            tracing::warn!(endpoint = %label, found = found.0, expected, "endpoint quarantined");
        }
    }

    pub(crate) fn chain_mismatch(&self) -> Error {
        let router = self.router.lock();
        let found =
            router
                .ids()
                .zip(&self.nodes)
                .filter_map(|(id, node)| match router.identity(id) {
                    Identity::Quarantined { found } => Some((node.label.to_string(), found)),
                    Identity::Unchecked | Identity::Verified => None,
                });
        match router.chain() {
            Some(expected) => Error::ChainMismatch {
                expected,
                found: found.collect(),
            },
            // Nobody is quarantined before a chain is known.
            None => Error::NoEndpoint,
        }
    }
}

impl Wired {
    pub(crate) async fn send(
        &self,
        message: Bytes,
        timeout: Duration,
        repeat: Repeat,
    ) -> Result<RawReply, SendError> {
        match self {
            Self::Http(upstream) => upstream.exchange_as(message, timeout, repeat).await,
            Self::Custom(upstream) => {
                match tokio::time::timeout(timeout, upstream.send(message, timeout)).await {
                    Ok(sent) => sent,
                    Err(_) => Err(SendError {
                        kind: SendErrorKind::Timeout,
                        delivery: Delivery::MaybeSent,
                    }),
                }
            }
        }
    }
}
