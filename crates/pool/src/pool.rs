//! The pool.

use crate::{
    Answer, Builder, CacheStats, ClientBatch, ConfigError, Decision, Endpoint, Error, Explanation,
    Restored, Scores, ScoresError, Sends, Snapshot, Totals, Viewer,
    check::check,
    filters,
    inner::Inner,
    nonce,
    probe::{Driver, probe},
    reads,
};
use futures_util::{StreamExt, stream::FuturesUnordered};
use highwater_core::{
    ChainId,
    jsonrpc::Params,
    method::{Descriptor, lookup},
    router::Identity,
    select::Strategy,
    settings::Settings,
};
use serde_json::value::RawValue;
use std::{fmt, future::Future, sync::Arc, time::Duration};

/// Many endpoints of one chain as one. Cheap to clone.
///
/// It works on tokio, on whatever runtime it is called: calls, and what they leave running, are
/// tasks and timers of that runtime. When the last clone is dropped the pool closes, as by
/// [`Pool::close`].
#[derive(Clone)]
pub struct Pool {
    inner: Arc<Inner>,
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
    /// How a raw transaction is sent.
    pub sends: Option<Sends>,
    /// Who calls, by a number of the owner's own: within a minute nobody is told a pending nonce of an
    /// account below one that was told before to the same caller.
    pub caller: u64,
    /// On whose behalf the call is made: none of them is shown a block below one that it has seen (P-8).
    /// None: the pool's own viewer, which all such calls share.
    pub viewers: Vec<Viewer>,
    /// A block that the caller has seen elsewhere: the call is answered from there on (P-8).
    pub min_block: Option<u64>,
    /// Nothing is served from memory; the answer is kept all the same (P-11).
    pub bypass_cache: bool,
    /// The client's batch that the call came in: it shares its request with others of the batch that
    /// choose the same endpoint. Where a window is set, that decides instead.
    pub batch: Option<ClientBatch>,
}

impl CallOptions {
    /// What the request itself needs of them: whoever has seen what is its caller's.
    pub(crate) fn of_request(&self) -> Self {
        Self {
            deadline: self.deadline,
            timeout: self.timeout,
            strategy: self.strategy.clone(),
            solitary: self.solitary,
            sends: self.sends,
            caller: self.caller,
            viewers: Vec::new(),
            min_block: self.min_block,
            bypass_cache: self.bypass_cache,
            batch: self.batch.clone(),
        }
    }
}

impl Pool {
    /// Starts a pool.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    #[cfg(feature = "alloy")]
    pub(crate) const fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    pub(crate) fn from_inner(inner: Inner) -> Self {
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Makes one call. An endpoint's own error is an [`Answer`] too.
    ///
    /// A call that may race or hedge runs its attempts beside each other; racers that lost run on to
    /// their deadline in tasks of the caller's runtime, so that each race measures the runner-up
    /// . The first call starts the head probes as such a task, unless [`Pool::run_probes`] was
    /// called.
    ///
    /// Cancellation: dropping the future abandons the call. What it was sending is given up, its
    /// connections are closed, and it teaches nothing. A request that was written may still take
    /// effect at the endpoint; a transaction that is sent again within ten minutes and is known by then
    /// counts as sent.
    ///
    /// A raw transaction is sent as [`Sends`] says. Its end is one of four: the hash; an endpoint's own
    /// refusal, as it came; [`Error::Ambiguous`]; another [`Error`], where nobody got it.
    ///
    /// # Errors
    /// No endpoint answered; see [`Error`].
    ///
    /// # Panics
    /// Outside a tokio runtime with time and I/O.
    pub async fn request(
        &self,
        request: Request<'_>,
        options: CallOptions,
    ) -> Result<Answer, Error> {
        if nonce::is_about_accounts(request.descriptor) {
            // Boxed: every other call's future would be larger by it.
            return Box::pin(nonce::request(&self.inner, request, options)).await;
        }
        if filters::is_about_filters(request.descriptor) {
            return Box::pin(filters::request(&self.inner, request, options)).await;
        }
        reads::request(&self.inner, request, options, None).await
    }

    /// [`Pool::request`] by a method's name, with parameters that are written already, as serde leaves
    /// them: nothing is read into a value and written again (P-17).
    ///
    /// Cancellation, errors, panics: as for [`Pool::request`].
    ///
    /// # Errors
    /// No endpoint answered; see [`Error`].
    pub async fn request_raw(
        &self,
        method: &str,
        params: &RawValue,
        options: CallOptions,
    ) -> Result<Answer, Error> {
        let request = Request {
            method,
            descriptor: lookup(method),
            params: Params::of(Some(params.get())),
        };
        self.request(request, options).await
    }

    /// Checks the chain id of every endpoint that is not checked yet, all at once, each within
    /// `timeout`, and returns what is known then.
    ///
    /// Cancellation: dropping the future abandons the checks that no call shares.
    pub async fn check_all(&self, timeout: Duration) -> Snapshot {
        if self.inner.is_closed() {
            return self.snapshot();
        }
        let unchecked: Vec<_> = {
            let state = self.inner.lock();
            let ids = state.router.ids();
            let is_open = |id: &_| state.router.identity(*id) == Identity::Unchecked;
            ids.filter(is_open)
                .map(|id| Arc::clone(state.node(id)))
                .collect()
        };
        let pool = Arc::downgrade(&self.inner);
        let checks = unchecked.iter().map(|node| check(&pool, node, timeout));
        let mut checks: FuturesUnordered<_> = checks.collect();
        while checks.next().await.is_some() {}
        drop(checks);
        self.snapshot()
    }

    /// Asks every endpoint that is fit for it for its head now, whatever the timer and the owner say
    /// each within the timeout of an attempt, and returns what is known then. It is no
    /// activity: it does not start the timer.
    ///
    /// Cancellation: dropping the future abandons the probes.
    pub async fn probe(&self) -> Snapshot {
        if self.inner.is_closed() {
            return self.snapshot();
        }
        let targets: Vec<_> = {
            let now = self.inner.now();
            let mut state = self.inner.lock();
            let targets = state.router.probe_targets(now);
            let node = |id| Arc::clone(state.node(id));
            targets.into_iter().map(node).collect()
        };
        let pool = Arc::downgrade(&self.inner);
        let probes = targets
            .iter()
            .map(|node| probe(&pool, node, self.inner.timeout));
        let mut probes: FuturesUnordered<_> = probes.collect();
        while probes.next().await.is_some() {}
        drop(probes);
        self.snapshot()
    }

    /// Drives the head probes: for an owner that wants them on a runtime of its own. As long
    /// as the future lives, no call starts a task for them. It holds the pool weakly, probes while
    /// calls come, and ends when the pool is closed or dropped. The last one that was made drives.
    ///
    /// Cancellation: dropping the future abandons the probes under way; the next call then starts a
    /// task for them.
    pub fn run_probes(&self) -> impl Future<Output = ()> + Send + 'static {
        let driver = Driver::new(&self.inner, true);
        async move {
            if let Some(driver) = driver {
                driver.run().await;
            }
        }
    }

    /// The owner became active: heads are probed at once, unless a probe ran within the last
    /// interval or no call came yet. Without this, the next tick notices.
    pub fn became_active(&self) {
        let now = self.inner.now();
        if self.inner.lock().router.on_active(now) {
            self.inner.probing.wake();
        }
    }

    /// Replaces the endpoints, and the options of the routing engine where some are given (L-10).
    ///
    /// An endpoint whose URL, credentials included, or whose very transport is the same stays what
    /// it is, whatever its label, tier or weight is now: what was learned of it, its connections, its
    /// quarantine. One with another URL begins with nothing. A named account goes on where its owner
    /// hands the same one over, an endpoint's own where its budget is equal. Calls under way go on;
    /// they finish at an endpoint that has left, and turn to the new ones for their next attempt.
    ///
    /// # Errors
    /// The first option out of range, by name; then nothing has changed.
    pub fn replace_endpoints(
        &self,
        endpoints: Vec<Endpoint>,
        settings: Option<Settings>,
    ) -> Result<(), ConfigError> {
        self.inner.replace_endpoints(endpoints, settings)
    }

    /// Ends the pool for all its clones: later calls fail with [`Error::Closed`] and send nothing,
    /// probes stop, what was learned is saved (P-27), and listeners are let go once they were told what had happened. Calls under way
    /// finish (L-1).
    pub fn close(&self) {
        self.inner.close();
    }

    /// What is known now; no I/O.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let now = self.inner.now();
        self.inner.lock().snapshot(now)
    }

    /// What a call of this method meets now: who could serve it and how well, who not and why. With
    /// parameters, as JSON text of an array, also who holds the blocks that it is about.
    #[must_use]
    pub fn explain(&self, method: &str, params: Option<&str>) -> Explanation {
        let now = self.inner.now();
        let params = params.unwrap_or_default();
        self.inner.lock().explain(method, params, now)
    }

    /// The last decisions about a method, oldest first; about all methods without one. At most one a
    /// second is kept for each method, and eight of them.
    #[must_use]
    pub fn decisions(&self, method: Option<&str>) -> Vec<Decision> {
        let now = self.inner.now();
        self.inner.lock().decisions(method, now)
    }

    /// What the budgets have spent in the running day and month, to be kept and given to
    /// [`Builder::restore_totals`].
    #[must_use]
    pub fn totals(&self) -> Totals {
        let now = self.inner.now();
        self.inner.lock().totals(now.wall)
    }

    /// What was learned of the endpoints: latencies and errors by label and method, to be kept and
    /// given to [`Pool::restore_scores`] (P-25). [`Builder::persist`] does both by itself.
    #[must_use]
    pub fn scores(&self) -> Scores {
        self.inner.scores()
    }

    /// Puts in what was learned before a restart: a value of [`Pool::scores`] or its JSON (P-25,
    /// P-26). It need not be trusted. A book fills only an empty one, counts as at most two samples,
    /// and gives way to the first answer of a call; what is unknown, odd, more than an hour old or
    /// more than a minute ahead is dropped.
    ///
    /// # Errors
    /// The JSON is none of ours; see [`ScoresError`]. Then nothing has changed.
    pub fn restore_scores<S>(&self, scores: S) -> Result<Restored, ScoresError>
    where
        S: TryInto<Scores>,
        ScoresError: From<S::Error>,
    {
        let scores = scores.try_into()?;
        Ok(self.inner.restore_scores(&scores))
    }

    /// Loads what [`Builder::persist`] keeps, if no call did yet, and waits for it, at most for the
    /// timeout of an attempt: for an owner that has the time before its first call (P-27).
    ///
    /// Cancellation: dropping the future leaves the load running.
    ///
    /// # Panics
    /// Outside a tokio runtime with time.
    pub async fn load_scores(&self) {
        if !self.inner.is_closed() {
            self.inner.load_scores().await;
        }
    }

    /// What the cache did and holds, and what else spared upstream requests (P-28).
    #[must_use]
    pub fn cache_stats(&self) -> CacheStats {
        self.inner.reads.stats()
    }

    /// The chain, once known.
    #[must_use]
    pub fn chain_id(&self) -> Option<ChainId> {
        self.inner.lock().router.chain()
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes = Arc::clone(&self.inner.lock().nodes);
        let labels: Vec<_> = nodes.iter().map(|node| &node.label).collect();
        f.debug_struct("Pool")
            .field("endpoints", &labels)
            .finish_non_exhaustive()
    }
}
