//! Head probes: one timer for a pool.
//!
//! The router's clock says when a tick is due; here is who drives it. The first request starts a
//! task on its caller's runtime, unless an owner drives the probes itself with
//! [`Pool::run_probes`](crate::Pool::run_probes). Whoever drives holds the pool weakly and ends with
//! it. A driver that ends without leave, because its runtime does, leaves the clock standing, so the
//! next request starts another.

use crate::{
    aside::{identity, read_capabilities, read_head},
    check::check,
    inner::Inner,
    node::Node,
    reads::read_header,
};
use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use highwater_core::router::Identity;
use parking_lot::Mutex;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Weak},
    time::{Duration, Instant},
};
use tokio::sync::Notify;

/// Says whether the owner is active; inactive, ticks are skipped.
pub(crate) type IsActive = Arc<dyn Fn() -> bool + Send + Sync>;

/// Who drives the probes of a pool.
#[derive(Default)]
pub(crate) struct Probing {
    is_active: Option<IsActive>,
    seat: Mutex<Seat>,
}

#[derive(Default)]
struct Seat {
    /// The driver, and what wakes it.
    taken: Option<Arc<Notify>>,
    closed: bool,
}

impl Probing {
    pub(crate) fn new(is_active: Option<IsActive>) -> Self {
        Self {
            is_active,
            seat: Mutex::default(),
        }
    }

    /// Takes the seat, from whoever has it where `force`. `None`: it is taken, and who has it was
    /// woken, or the pool is closed.
    fn take(&self, force: bool) -> Option<Arc<Notify>> {
        let mut seat = self.seat.lock();
        if seat.closed {
            return None;
        }
        if let Some(taken) = &seat.taken {
            taken.notify_one();
            if !force {
                return None;
            }
        }
        let told = Arc::new(Notify::new());
        seat.taken = Some(Arc::clone(&told));
        Some(told)
    }

    fn has(&self, told: &Arc<Notify>) -> bool {
        let seat = self.seat.lock();
        seat.taken
            .as_ref()
            .is_some_and(|taken| Arc::ptr_eq(taken, told))
    }

    /// Gives the seat up; says whether it was this driver's.
    fn leave(&self, told: &Arc<Notify>) -> bool {
        let mut seat = self.seat.lock();
        seat.taken
            .take_if(|taken| Arc::ptr_eq(taken, told))
            .is_some()
    }

    /// The clock changed: whoever drives looks at it again.
    pub(crate) fn wake(&self) {
        if let Some(taken) = &self.seat.lock().taken {
            taken.notify_one();
        }
    }

    /// Ends whoever drives, and lets nobody drive again.
    pub(crate) fn close(&self) {
        let mut seat = self.seat.lock();
        seat.closed = true;
        if let Some(taken) = seat.taken.take() {
            taken.notify_one();
        }
    }

    /// A hook that panics counts as active.
    fn is_active(&self) -> bool {
        let Some(is_active) = &self.is_active else {
            return true;
        };
        catch_unwind(AssertUnwindSafe(|| is_active())).unwrap_or(true)
    }
}

impl Inner {
    /// A tick is due and the timer was standing: wakes whoever drives the probes, or starts a task
    /// on the current runtime.
    pub(crate) fn wake_probes(self: &Arc<Self>) {
        if let Some(driver) = Driver::new(self, false) {
            tokio::spawn(driver.run());
        }
    }
}

impl Inner {
    /// One endpoint alone may have shown the newest blocks: then another one is asked now, beside the
    /// calls.
    pub(crate) fn hear_second_voice(self: &Arc<Self>) {
        let node = {
            let now = self.now();
            let mut state = self.lock();
            let second = state.router.second_voice(now);
            second.map(|endpoint| Arc::clone(state.node(endpoint)))
        };
        if let Some(node) = node {
            let (pool, timeout) = (Arc::downgrade(self), self.timeout);
            tokio::spawn(async move {
                if read_head(&pool, &node, timeout).await.is_ok() {
                    read_header(&pool, &node, timeout).await;
                }
            });
        }
    }
}

/// Whoever drives the probes of a pool.
pub(crate) struct Driver {
    pool: Weak<Inner>,
    probing: Arc<Probing>,
    told: Arc<Notify>,
}

/// What a driver does next.
enum Look {
    /// Nothing before this; `None`: until it is woken.
    Wait(Option<Instant>),
    /// The pool is gone, or another one drives.
    Over,
}

impl Driver {
    /// The driver of a pool; `force`: even if there is one.
    pub(crate) fn new(inner: &Arc<Inner>, force: bool) -> Option<Self> {
        let probing = Arc::clone(&inner.probing);
        let told = probing.take(force)?;
        Some(Self {
            pool: Arc::downgrade(inner),
            probing,
            told,
        })
    }

    /// Probes until the pool is closed or dropped.
    pub(crate) async fn run(self) {
        let mut running = FuturesUnordered::new();
        let mut asked: Vec<Arc<Node>> = Vec::new();
        while let Look::Wait(next) = self.look() {
            let timer = async {
                match next {
                    Some(at) => tokio::time::sleep_until(at.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.told.notified() => {}
                Some(ended) = running.next(), if !running.is_empty() => {
                    asked.retain(|node| !Arc::ptr_eq(node, &ended));
                }
                () = timer => {}
            }
            for (node, timeout) in self.tick() {
                // One probe of an endpoint at a time: a slow one is not asked again.
                if !asked.iter().any(|known| Arc::ptr_eq(known, &node)) {
                    asked.push(Arc::clone(&node));
                    running.push(self.probe(node, timeout));
                }
            }
        }
    }

    fn look(&self) -> Look {
        match self.pool.upgrade() {
            Some(inner) if self.probing.has(&self.told) => {
                Look::Wait(inner.lock().router.next_probe())
            }
            Some(_) | None => Look::Over,
        }
    }

    /// Whom to probe now, and within which time.
    fn tick(&self) -> Vec<(Arc<Node>, Duration)> {
        let Some(inner) = self.pool.upgrade() else {
            return Vec::new();
        };
        let now = inner.now();
        let next = inner.lock().router.next_probe();
        if next.is_none_or(|next| now.mono < next) {
            return Vec::new();
        }
        // Not under the lock: it is the caller's code.
        let active = self.probing.is_active();
        let mut state = inner.lock();
        let targets = state.router.probe_tick(active, now);
        let node = |id| (Arc::clone(state.node(id)), inner.timeout);
        targets.into_iter().map(node).collect()
    }

    fn probe(&self, node: Arc<Node>, timeout: Duration) -> BoxFuture<'static, Arc<Node>> {
        let pool = self.pool.clone();
        async move {
            probe(&pool, &node, timeout).await;
            node
        }
        .boxed()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        if self.probing.leave(&self.told)
            && let Some(inner) = self.pool.upgrade()
        {
            inner.lock().router.stop_probes();
        }
    }
}

/// One probe: the chain check where one is due, the head, and once in a while what the endpoint
/// keeps; each within its own time.
pub(crate) async fn probe(pool: &Weak<Inner>, node: &Arc<Node>, timeout: Duration) {
    if identity(pool, node) == Some(Identity::Unchecked) {
        check(pool, node, timeout).await;
    }
    if identity(pool, node) != Some(Identity::Verified) {
        return;
    }
    if read_head(pool, node, timeout).await.is_ok() {
        read_header(pool, node, timeout).await;
        read_capabilities(pool, node, timeout).await;
    }
}
