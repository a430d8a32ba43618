//! Asking an endpoint for its chain id, and for its head where calls move to a tier that the
//! probe timer leaves alone.
//!
//! Calls that meet such an endpoint at the same time share one request. It belongs to all of them:
//! whoever waits drives it, so it needs no task, goes on when one of them gives up, and ends with the
//! last. A call that times out while it waits lets go of it, and the next call starts a new one, so
//! one hung socket does not hold up everybody.

use crate::{
    aside::{self, Told, told},
    inner::Inner,
    judge::Judged,
    node::Node,
};
use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared, WeakShared},
};
use highwater_core::{
    ChainId,
    call::Settled,
    classify::{Class, Verdict},
    identity::Check,
    judge::{of_class, quantity},
};
use parking_lot::Mutex;
use std::{
    sync::{Arc, Weak},
    time::Duration,
};

/// That the router knows, or why a check told nothing.
type Found = Result<(), Box<Verdict>>;
type Flight = Shared<BoxFuture<'static, Found>>;

/// The request of this kind to one endpoint that is under way, if any.
#[derive(Default)]
pub(crate) struct Checking(Mutex<Option<WeakShared<BoxFuture<'static, Found>>>>);

impl Checking {
    /// The one under way, or a new one.
    fn join(&self, start: impl FnOnce() -> BoxFuture<'static, Found>) -> Flight {
        let mut slot = self.0.lock();
        if let Some(flight) = slot.as_ref().and_then(WeakShared::upgrade)
            && flight.peek().is_none()
        {
            return flight;
        }
        let flight = start().shared();
        *slot = flight.downgrade();
        flight
    }

    /// Makes the next call start a new check, unless one has begun already.
    fn leave(&self, flight: &Flight) {
        let mut slot = self.0.lock();
        let same = slot
            .as_ref()
            .and_then(WeakShared::upgrade)
            .is_some_and(|x| x.ptr_eq(flight));
        if same {
            *slot = None;
        }
    }
}

/// Checks an endpoint and tells the router. `None`: the router knows now; else why the check told
/// nothing.
///
/// Cancellation: dropping the future leaves a shared check to those who still wait for it; the last
/// one ends it.
pub(crate) async fn check(
    pool: &Weak<Inner>,
    node: &Arc<Node>,
    timeout: Duration,
) -> Option<Verdict> {
    let flight = node.checking.join(|| {
        let (pool, node) = (pool.clone(), Arc::clone(node));
        async move {
            match begin(&pool, &node)? {
                Some(begun) => ask_chain(&pool, &node, begun, timeout).await,
                // Somebody else's check was quicker.
                None => Ok(()),
            }
        }
        .boxed()
    });
    share(&node.checking, flight, timeout).await
}

/// Asks an endpoint for its head before a call goes there, whatever comes of it.
///
/// Cancellation: as for [`check`].
pub(crate) async fn look(pool: &Weak<Inner>, node: &Arc<Node>, timeout: Duration) {
    let flight = node.looking.join(|| {
        let (pool, node) = (pool.clone(), Arc::clone(node));
        async move { aside::read_head(&pool, &node, timeout).await }.boxed()
    });
    share(&node.looking, flight, timeout).await;
}

async fn share(slot: &Checking, flight: Flight, timeout: Duration) -> Option<Verdict> {
    match tokio::time::timeout(timeout, flight.clone()).await {
        Ok(Ok(())) => None,
        Ok(Err(verdict)) => Some(*verdict),
        Err(_) => {
            slot.leave(&flight);
            Some(of_class(Class::Timeout, Some("timeout")))
        }
    }
}

/// A check beside the calls, in a task on the caller's runtime: nobody waits for it, and it ends
/// within its time.
pub(crate) fn warm(pool: &Weak<Inner>, node: &Arc<Node>, timeout: Duration) {
    let (pool, node) = (pool.clone(), Arc::clone(node));
    tokio::spawn(async move { check(&pool, &node, timeout).await });
}

/// Spends the token of a chain check, if one is due.
fn begin(pool: &Weak<Inner>, node: &Arc<Node>) -> Result<Option<Check>, Box<Verdict>> {
    let gone = || Box::new(of_class(Class::Internal, Some("gone")));
    let inner = pool.upgrade().ok_or_else(gone)?;
    let mut state = inner.lock();
    let endpoint = state.place(node).ok_or_else(gone)?;
    if !state.router.needs_check(endpoint) {
        return Ok(None);
    }
    match state.router.begin_check(endpoint, inner.now()) {
        Some(begun) => Ok(Some(begun)),
        None => Err(Box::new(of_class(Class::RateLimited, Some("budget")))),
    }
}

/// One chain check, whose token is spent, to what the router makes of it.
async fn ask_chain(pool: &Weak<Inner>, node: &Arc<Node>, begun: Check, timeout: Duration) -> Found {
    let Some(judged) = aside::send(pool, node, "eth_chainId", timeout).await else {
        return Ok(());
    };
    let Some(inner) = pool.upgrade() else {
        return Ok(());
    };
    let (verdict, meaning) = match read(&judged) {
        Ok(chain) => {
            inner.identify(node, begun, chain);
            return Ok(());
        }
        Err(told) => *told,
    };
    tracing::debug!(endpoint = %node.label, class = ?verdict.class, "chain check told nothing");
    let now = inner.now();
    let mut state = inner.lock();
    if let Some(endpoint) = state.place(node) {
        state
            .router
            .on_check_failed(endpoint, &verdict, meaning, now);
    }
    inner.tell(state);
    Err(Box::new(verdict))
}

/// An id in hex is the only answer that tells. Zero, null and errors of any text mean "not ready" or
/// "ask again", never "another chain".
fn read(judged: &Judged) -> Result<ChainId, Told> {
    if let Settled::Terminal { .. } = judged.settled {
        return Err(told(Class::Internal, Some("error")));
    }
    let text = aside::result(judged)?;
    match quantity(text) {
        Some(0) => Err(told(Class::Syncing, Some("zero"))),
        Some(id) => Ok(ChainId(id)),
        None if text == "null" => Err(told(Class::Syncing, Some("null"))),
        None => Err(told(Class::MalformedEnvelope, Some("chain_id"))),
    }
}
