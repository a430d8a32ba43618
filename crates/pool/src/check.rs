//! Asking an endpoint for its chain id.
//!
//! Calls that meet an unchecked endpoint at the same time share one check. It belongs to all of
//! them: whoever waits drives it, so it needs no task, goes on when one of them gives up, and ends
//! with the last. A call that times out while it waits lets go of the check, and the next call
//! starts a new one, so one hung socket does not hold up everybody.

use crate::{
    judge::{Judged, Meanings, Question, Shown, judge, judge_failure, of_class},
    pool::{Inner, Node},
    upstream::Repeat,
};
use bytes::Bytes;
use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared, WeakShared},
};
use highwater_core::{
    ChainId, EndpointId,
    call::Settled,
    classify::{Class, Verdict},
    jsonrpc::{Params, write_request},
};
use parking_lot::Mutex;
use std::{sync::Arc, time::Duration};

/// What a check found, or why it told nothing.
type Found = Result<ChainId, Box<Verdict>>;
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
    inner: &Inner,
    endpoint: EndpointId,
    timeout: Duration,
) -> Option<Verdict> {
    let node = inner.node(endpoint);
    let flight = node.checking.join(|| {
        let node = Arc::clone(node);
        let id = inner.next_id();
        ask(node, Arc::clone(&inner.meanings), id, timeout).boxed()
    });
    let Ok(found) = tokio::time::timeout(timeout, flight.clone()).await else {
        node.checking.leave(&flight);
        return Some(of_class(Class::Timeout, Some("timeout")));
    };
    match found {
        Ok(chain) => {
            inner.identify(endpoint, chain);
            None
        }
        Err(verdict) => {
            tracing::debug!(endpoint = %node.label, class = ?verdict.class, "chain check told nothing");
            Some(*verdict)
        }
    }
}

async fn ask(node: Arc<Node>, meanings: Arc<Meanings>, id: u64, timeout: Duration) -> Found {
    let mut message = Vec::new();
    let question = Question {
        id,
        method: "eth_chainId",
        params: Params::Array("[]"),
    };
    write_request(&mut message, id, question.method, question.params);
    let judged = match node
        .wired
        .send(Bytes::from(message), timeout, Repeat::Elsewhere)
        .await
    {
        Ok(raw) => judge(raw, question, &node, &meanings),
        Err(error) => judge_failure(error),
    };
    read(judged)
}

/// An id in hex is the only answer that tells. Zero, null and errors of any text mean "not ready" or
/// "ask again", never "another chain".
fn read(judged: Judged) -> Found {
    let shown = match (judged.settled, judged.shown) {
        (Settled::Failed { verdict, .. }, _) => return Err(Box::new(verdict)),
        (Settled::Answer, Some(shown)) if !shown.is_error => shown,
        (Settled::Answer, _) => return Err(Box::new(of_class(Class::Internal, Some("error")))),
    };
    match chain_id(&shown) {
        Some(0) => Err(Box::new(of_class(Class::Syncing, Some("zero")))),
        Some(id) => Ok(ChainId(id)),
        None if &shown.body[shown.span.clone()] == b"null" => {
            Err(Box::new(of_class(Class::Syncing, Some("null"))))
        }
        None => Err(Box::new(of_class(
            Class::MalformedEnvelope,
            Some("chain_id"),
        ))),
    }
}

fn chain_id(shown: &Shown) -> Option<u64> {
    let text = std::str::from_utf8(&shown.body[shown.span.clone()]).ok()?;
    let digits = text.strip_prefix("\"0x")?.strip_suffix('"')?;
    // `from_str_radix` takes a sign.
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    u64::from_str_radix(digits, 16).ok()
}
