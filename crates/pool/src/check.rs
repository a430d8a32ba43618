//! Asking an endpoint for its chain id.
//!
//! Calls that meet an unchecked endpoint at the same time share one check. It belongs to all of
//! them: whoever waits drives it, so it needs no task, goes on when one of them gives up, and ends
//! with the last. A call that times out while it waits lets go of the check, and the next call
//! starts a new one, so one hung socket does not hold up everybody.

use crate::{
    ask::Ask,
    judge::{Judged, Shown, judge, judge_failure, meaning},
    pool::Inner,
    upstream::Repeat,
};
use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared, WeakShared},
};
use highwater_core::{
    ChainId, EndpointId,
    breaker::Meaning,
    call::Settled,
    classify::{Class, Verdict},
    jsonrpc::Params,
    judge::{of_class, quantity},
    method::lookup,
};
use parking_lot::Mutex;
use std::{sync::Arc, time::Duration};

/// That the router knows, or why a check told nothing.
type Found = Result<(), Box<Verdict>>;
type Flight = Shared<BoxFuture<'static, Found>>;

/// The check of one endpoint that is under way, if any.
#[derive(Default)]
pub(crate) struct Checking(Mutex<Option<WeakShared<BoxFuture<'static, Found>>>>);

impl Checking {
    /// The check under way, or a new one.
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
    inner: &Arc<Inner>,
    endpoint: EndpointId,
    timeout: Duration,
) -> Option<Verdict> {
    let node = inner.node(endpoint);
    let flight = node.checking.join(|| {
        let inner = Arc::clone(inner);
        ask(inner, endpoint, timeout).boxed()
    });
    match tokio::time::timeout(timeout, flight.clone()).await {
        Ok(Ok(())) => None,
        Ok(Err(verdict)) => Some(*verdict),
        Err(_) => {
            node.checking.leave(&flight);
            Some(of_class(Class::Timeout, Some("timeout")))
        }
    }
}

/// The same beside the calls: nobody waits for it.
pub(crate) fn warm(inner: &Arc<Inner>, endpoint: EndpointId, timeout: Duration) {
    let inner = Arc::clone(inner);
    tokio::spawn(async move { check(&inner, endpoint, timeout).await });
}

/// Asks an endpoint for its head and tells the router, unless it has no token for that.
///
/// Cancellation: dropping the future ends the request.
pub(crate) async fn head(inner: &Arc<Inner>, endpoint: EndpointId, timeout: Duration) {
    let row = lookup("eth_blockNumber");
    if !inner.router.lock().begin_aside(endpoint, row, inner.now()) {
        return;
    }
    let node = inner.node(endpoint);
    let question = Ask::new(
        inner.next_id(),
        row,
        "eth_blockNumber",
        Params::Array("[]"),
        None,
    );
    let sent = node
        .wired
        .send(question.message(), timeout, Repeat::Elsewhere);
    let judged = match sent.await {
        Ok(raw) => judge(raw, &question, node, &inner.meanings),
        Err(error) => judge_failure(error),
    };
    let (verdict, failed) = match judged.settled {
        Settled::Result {
            head: Some((_, height)),
            ..
        } => {
            let now = inner.now();
            let mut router = inner.router.lock();
            router.on_probe(endpoint, height, now);
            inner.tell(router);
            return;
        }
        Settled::Result { head: None, .. } => {
            let verdict = of_class(Class::MalformedEnvelope, Some("head"));
            let failed = meaning(&verdict);
            (verdict, failed)
        }
        Settled::Terminal { verdict, meaning }
        | Settled::Failed {
            verdict, meaning, ..
        } => (verdict, meaning),
    };
    let now = inner.now();
    let mut router = inner.router.lock();
    router.on_probe_failed(endpoint, &verdict, failed, timeout, now);
    inner.tell(router);
}

/// One check from its token to what the router makes of it.
async fn ask(inner: Arc<Inner>, endpoint: EndpointId, timeout: Duration) -> Found {
    let begun = inner.router.lock().begin_check(endpoint, inner.now());
    let Some(begun) = begun else {
        return Err(Box::new(of_class(Class::RateLimited, Some("budget"))));
    };
    let node = inner.node(endpoint);
    let question = Ask::new(
        inner.next_id(),
        lookup("eth_chainId"),
        "eth_chainId",
        Params::Array("[]"),
        None,
    );
    let sent = node
        .wired
        .send(question.message(), timeout, Repeat::Elsewhere);
    let judged = match sent.await {
        Ok(raw) => judge(raw, &question, node, &inner.meanings),
        Err(error) => judge_failure(error),
    };
    match read(judged) {
        Ok(chain) => {
            inner.identify(endpoint, begun, chain);
            Ok(())
        }
        Err((verdict, meaning)) => {
            tracing::debug!(endpoint = %node.label, class = ?verdict.class, "chain check told nothing");
            let now = inner.now();
            let mut router = inner.router.lock();
            router.on_check_failed(endpoint, &verdict, meaning, now);
            inner.tell(router);
            Err(Box::new(verdict))
        }
    }
}

/// An id in hex is the only answer that tells. Zero, null and errors of any text mean "not ready" or
/// "ask again", never "another chain".
fn read(judged: Judged) -> Result<ChainId, (Verdict, Meaning)> {
    let not_ready = |class, detail| {
        let verdict = of_class(class, Some(detail));
        let meaning = meaning(&verdict);
        Err((verdict, meaning))
    };
    let shown = match (judged.settled, judged.shown) {
        (
            Settled::Failed {
                verdict, meaning, ..
            },
            _,
        ) => return Err((verdict, meaning)),
        (Settled::Result { .. }, Some(shown)) => shown,
        (Settled::Terminal { .. } | Settled::Result { .. }, _) => {
            return not_ready(Class::Internal, "error");
        }
    };
    match chain_id(&shown) {
        Some(0) => not_ready(Class::Syncing, "zero"),
        Some(id) => Ok(ChainId(id)),
        None if &shown.body[shown.span.clone()] == b"null" => not_ready(Class::Syncing, "null"),
        None => not_ready(Class::MalformedEnvelope, "chain_id"),
    }
}

fn chain_id(shown: &Shown) -> Option<u64> {
    quantity(std::str::from_utf8(&shown.body[shown.span.clone()]).ok()?)
}
