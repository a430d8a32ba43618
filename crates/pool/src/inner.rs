//! What all clones of a pool share.

use crate::{
    Error,
    fold::Windows,
    judge::Meanings,
    listen::Listeners,
    node::Node,
    probe::Probing,
    reads::{Hot, Level, Reads, Sight},
    sends::{Memory, Sends},
    upstream::HttpOptions,
};
use highwater_core::{
    ChainId, EndpointId, Now,
    identity::Check,
    router::{Identity, Router},
};
use parking_lot::{Mutex, MutexGuard};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

/// The endpoints and what is known of them. Both change together, so that a place always means the
/// same endpoint to whoever holds the lock.
pub(crate) struct State {
    pub(crate) router: Router,
    pub(crate) nodes: Arc<[Arc<Node>]>,
    /// What was sent through the pool lately.
    pub(crate) sent: Memory,
    /// What is known of the chain beside the heads.
    pub(crate) sight: Sight,
    /// What is read again before anybody asks.
    pub(crate) hot: Hot,
}

impl State {
    /// The endpoint at a place.
    pub(crate) fn node(&self, endpoint: EndpointId) -> &Arc<Node> {
        &self.nodes[endpoint.index()]
    }

    /// The place of the endpoint with a label.
    pub(crate) fn labelled(&self, label: &str) -> Option<EndpointId> {
        let mut nodes = self.nodes.iter();
        let place = nodes.position(|node| *node.label == *label)?;
        u16::try_from(place).ok().map(EndpointId)
    }

    /// The place of an endpoint; `None`: it is not in the pool any more.
    pub(crate) fn place(&self, node: &Node) -> Option<EndpointId> {
        place(&self.nodes, node)
    }
}

/// The place of an endpoint in a list.
pub(crate) fn place(nodes: &[Arc<Node>], node: &Node) -> Option<EndpointId> {
    let mut nodes = nodes.iter();
    let place = nodes.position(|known| known.number == node.number)?;
    u16::try_from(place).ok().map(EndpointId)
}

pub(crate) struct Inner {
    /// Held for nanoseconds, never across an await.
    state: Mutex<State>,
    /// One replacement of the endpoints at a time.
    pub(crate) replacing: Mutex<()>,
    ids: AtomicU64,
    pub(crate) timeout: Duration,
    pub(crate) deadline: Duration,
    pub(crate) sends: Sends,
    /// Some transaction was sent: only then anybody looks for its account.
    pub(crate) has_sent: AtomicBool,
    pub(crate) meanings: Arc<Meanings>,
    pub(crate) http: HttpOptions,
    pub(crate) probing: Arc<Probing>,
    /// Calls that wait for others to travel with.
    pub(crate) windows: Windows,
    /// Answers, shared requests, what was seen (P-1 to P-17).
    pub(crate) reads: Reads,
    listeners: Option<Listeners>,
    closed: AtomicBool,
}

/// What a pool is made of beside its endpoints.
pub(crate) struct Parts {
    pub(crate) timeout: Duration,
    pub(crate) deadline: Duration,
    pub(crate) sends: Sends,
    pub(crate) meanings: Meanings,
    pub(crate) http: HttpOptions,
    pub(crate) probing: Probing,
    pub(crate) second: Option<Level>,
    pub(crate) listeners: Option<Listeners>,
}

impl Inner {
    pub(crate) fn new(mut state: State, parts: Parts) -> Self {
        state.router.events().listen(parts.listeners.is_some());
        let reads = Reads::new(state.router.settings(), parts.second);
        Self {
            state: Mutex::new(state),
            replacing: Mutex::new(()),
            ids: AtomicU64::new(1),
            timeout: parts.timeout,
            deadline: parts.deadline,
            sends: parts.sends,
            has_sent: AtomicBool::new(false),
            meanings: Arc::new(parts.meanings),
            http: parts.http,
            probing: Arc::new(parts.probing),
            windows: Windows::default(),
            reads,
            listeners: parts.listeners,
            closed: AtomicBool::new(false),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
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

    /// Lets the state go, and tells the router's events to whoever listens: the one place where they
    /// leave it.
    pub(crate) fn tell(&self, mut state: MutexGuard<'_, State>) {
        if self.reads.on_heads(state.router.heads_read()) {
            let state = &mut *state;
            let before = state.sight.reference();
            state
                .sight
                .on_heads(&mut state.router, &self.reads.falls, self.now());
            if state.sight.reference() != before && state.hot.len() > 0 {
                self.reads.told.notify_one();
            }
        }
        let Some(listeners) = &self.listeners else {
            return;
        };
        if state.router.events().is_empty() {
            return;
        }
        let (events, lost) = state.router.events().drain();
        // Still under the lock, so that events keep the order in which they happened.
        listeners.put(events, lost, &state);
        drop(state);
        listeners.wake();
    }

    /// No more calls, probes and events (L-1). Calls under way finish.
    pub(crate) fn close(&self) {
        if self.closed.swap(true, Ordering::AcqRel) {
            return;
        }
        self.probing.close();
        self.reads.told.notify_one();
        if let Some(listeners) = &self.listeners {
            self.lock().router.events().listen(false);
            listeners.close();
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Labels of the endpoints without a token.
    pub(crate) fn spent(&self) -> Vec<String> {
        let now = self.now();
        let state = self.lock();
        let spent = state.router.ids().filter(|id| {
            let account = state.router.account(*id);
            account.is_some_and(|account| account.tokens(now) == Some(0))
        });
        spent.map(|id| state.node(id).label.to_string()).collect()
    }

    /// Tells the router what an endpoint said its chain is.
    pub(crate) fn identify(&self, node: &Node, check: Check, found: ChainId) {
        let mut state = self.lock();
        let Some(endpoint) = state.place(node) else {
            return;
        };
        let before = state.router.identity(endpoint);
        let after = state.router.on_chain_id(endpoint, check, found);
        let expected = state.router.chain();
        self.tell(state);
        if before != after && matches!(after, Identity::Quarantined { .. }) {
            let expected = expected.map(|chain| chain.0);
            tracing::warn!(endpoint = %node.label, found = found.0, expected, "endpoint quarantined");
        }
    }

    pub(crate) fn chain_mismatch(&self) -> Error {
        let state = self.lock();
        let found = state
            .router
            .ids()
            .filter_map(|id| match state.router.identity(id) {
                Identity::Quarantined { found } => Some((state.node(id).label.to_string(), found)),
                Identity::Unchecked | Identity::Verified => None,
            });
        match state.router.chain() {
            Some(expected) => Error::ChainMismatch {
                expected,
                found: found.collect(),
            },
            // Nobody is quarantined before a chain is known.
            None => Error::NoEndpoint,
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close();
    }
}
