//! Requests that belong to no call: chain ids, heads, capabilities.
//!
//! They hold the endpoint while they run and the pool never, so a pool that is dropped is gone at
//! once and what comes back afterwards teaches nobody.

use crate::{
    ask::Ask,
    inner::Inner,
    judge::{Judged, Shown, judge, judge_failure, meaning},
    node::Node,
    upstream::Repeat,
};
use highwater_core::{
    breaker::Meaning,
    call::Settled,
    classify::{Class, Verdict},
    jsonrpc::Params,
    judge::{of_class, quantity},
    learn::capabilities,
    method::lookup,
    router::Identity,
};
use std::{
    sync::{Arc, Weak},
    time::Duration,
};

/// Sends a request without parameters that spends its token here; `None`: there is no token, or the
/// endpoint or its pool is gone, and nothing was sent.
pub(crate) async fn ask(
    pool: &Weak<Inner>,
    node: &Arc<Node>,
    method: &'static str,
    timeout: Duration,
) -> Option<Judged> {
    ask_with(pool, node, method, "[]", timeout).await
}

/// The same with parameters, an array as JSON text.
pub(crate) async fn ask_with(
    pool: &Weak<Inner>,
    node: &Arc<Node>,
    method: &'static str,
    params: &str,
    timeout: Duration,
) -> Option<Judged> {
    {
        let inner = pool.upgrade()?;
        let mut state = inner.lock();
        let endpoint = state.place(node)?;
        let begun = state
            .router
            .begin_aside(endpoint, lookup(method), inner.now());
        if !begun {
            return None;
        }
    }
    send_with(pool, node, method, params, timeout).await
}

/// The same for a request whose token was spent already.
pub(crate) async fn send(
    pool: &Weak<Inner>,
    node: &Arc<Node>,
    method: &'static str,
    timeout: Duration,
) -> Option<Judged> {
    send_with(pool, node, method, "[]", timeout).await
}

async fn send_with(
    pool: &Weak<Inner>,
    node: &Arc<Node>,
    method: &'static str,
    params: &str,
    timeout: Duration,
) -> Option<Judged> {
    let (question, meanings) = {
        let inner = pool.upgrade()?;
        let ask = Ask::new(
            inner.next_id(),
            lookup(method),
            method,
            Params::Array(params),
        );
        (ask, Arc::clone(&inner.meanings))
    };
    let sent = node
        .wired
        .send(question.message(), timeout, Repeat::Elsewhere);
    Some(match sent.await {
        Ok(raw) => judge(raw, &question, node, &meanings),
        Err(error) => judge_failure(error),
    })
}

/// What is known of an endpoint's chain; `None`: it or its pool is gone.
pub(crate) fn identity(pool: &Weak<Inner>, node: &Node) -> Option<Identity> {
    let inner = pool.upgrade()?;
    let state = inner.lock();
    Some(state.router.identity(state.place(node)?))
}

/// Asks for the head and tells the router. An error: why there is none.
pub(crate) async fn read_head(
    pool: &Weak<Inner>,
    node: &Arc<Node>,
    timeout: Duration,
) -> Result<(), Box<Verdict>> {
    let Some(judged) = ask(pool, node, "eth_blockNumber", timeout).await else {
        return Err(Box::new(of_class(Class::RateLimited, Some("budget"))));
    };
    let read = match result(&judged) {
        Ok(text) => quantity(text).ok_or_else(|| told(Class::MalformedEnvelope, Some("head"))),
        Err(told) => Err(told),
    };
    let Some(inner) = pool.upgrade() else {
        return Ok(());
    };
    let now = inner.now();
    let mut state = inner.lock();
    let Some(endpoint) = state.place(node) else {
        return Ok(());
    };
    let outcome = match read {
        Ok(height) => {
            state.router.on_probe(endpoint, height, now);
            Ok(())
        }
        Err(told) => {
            let (verdict, meaning) = *told;
            state
                .router
                .on_probe_failed(endpoint, &verdict, meaning, timeout, now);
            Err(Box::new(verdict))
        }
    };
    inner.tell(state);
    outcome
}

/// Asks an endpoint what it keeps, where that is worth asking. Whatever comes of it is no failure.
pub(crate) async fn read_capabilities(pool: &Weak<Inner>, node: &Arc<Node>, timeout: Duration) {
    let wants = || {
        let inner = pool.upgrade()?;
        let state = inner.lock();
        let endpoint = state.place(node)?;
        Some(state.router.wants_capabilities(endpoint, inner.now()))
    };
    if wants() != Some(true) {
        return;
    }
    let Some(judged) = ask(pool, node, "eth_capabilities", timeout).await else {
        return;
    };
    let said = result(&judged).ok().and_then(capabilities::parse);
    let Some(inner) = pool.upgrade() else { return };
    let now = inner.now();
    let mut state = inner.lock();
    if let Some(endpoint) = state.place(node) {
        state.router.on_capabilities(endpoint, said.as_ref(), now);
    }
    inner.tell(state);
}

/// What a failure was and what it means for its endpoint.
pub(crate) type Told = Box<(Verdict, Meaning)>;

/// The text of a result; else what the failure was.
pub(crate) fn result(judged: &Judged) -> Result<&str, Told> {
    match (&judged.settled, &judged.shown) {
        (Settled::Result { .. }, Some(shown)) => Ok(text(shown)),
        (
            Settled::Failed {
                verdict, meaning, ..
            }
            | Settled::Terminal { verdict, meaning },
            _,
        ) => Err(Box::new((verdict.clone(), *meaning))),
        (Settled::Result { .. }, None) => Err(told(Class::MalformedEnvelope, None)),
    }
}

/// A failure that no HTTP answer told.
pub(crate) fn told(class: Class, detail: Option<&'static str>) -> Told {
    let verdict = of_class(class, detail);
    let meaning = meaning(&verdict);
    Box::new((verdict, meaning))
}

fn text(shown: &Shown) -> &str {
    let bytes = shown.body.get(shown.span.clone()).unwrap_or_default();
    std::str::from_utf8(bytes).unwrap_or_default()
}
