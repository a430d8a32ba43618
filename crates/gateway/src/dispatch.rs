//! One call, whatever door it came through.
//!
//! A single request, an element of a batch and a notification all pass here, so that no door
//! forgets a check (hardening C6): spelling, permission, shape of the parameters, local answers,
//! and then an endpoint. The order is the order of cost.

use crate::{
    auth::Key,
    detached::submission,
    respond::Refusal,
    server::wishes::Wishes,
    state::{Chain, Shared},
    times::Times,
};
use highwater::{Answer, CallOptions, ClientBatch, Error, Request};
use highwater_core::{
    call::write::{Policy, Write},
    jsonrpc::{Call, Params},
    method::{Changes, Descriptor, Lane, RowKind, lookup, lookup_folded},
};
use std::{
    borrow::Cow,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
    time::Duration,
};

/// On whose behalf, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller<'a> {
    pub(crate) shared: &'a Arc<Shared>,
    pub(crate) chain: &'a Chain,
    pub(crate) key: Option<&'a Key>,
    /// How long it wants to wait at most for each call.
    pub(crate) patience: Option<Duration>,
    /// What it wishes of its reads.
    pub(crate) wishes: Wishes<'a>,
    /// The batch that the call is an element of.
    pub(crate) batch: Option<&'a ClientBatch>,
}

/// What becomes of a call.
#[derive(Debug)]
pub(crate) enum Outcome<'a> {
    /// An endpoint's answer, result or error.
    Answer(Answer),
    /// A result of our own.
    Local(&'a str),
    /// No answer.
    Refused(Refusal<'a>),
}

/// Makes a call.
///
/// Cancellation: dropping the future ends a read and its upstream request; a call that changes
/// something goes on to its end (hardening A13).
pub(crate) async fn dispatch<'a>(caller: &Caller<'a>, call: &'a Call<'_>) -> Outcome<'a> {
    contained(pin!(run(caller, call))).await
}

/// A panic becomes -32603 for this call alone; the connection and the process live on (hardening
/// H6). Nothing a call touches is left half changed by one: shared state is behind locks that are
/// held across no await.
///
/// The call is polled where it lies: handing a future of its size on by value would copy it.
async fn contained<'a>(mut call: Pin<&mut impl Future<Output = Outcome<'a>>>) -> Outcome<'a> {
    poll_fn(|cx| {
        let polled = catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(cx)));
        polled.unwrap_or_else(|_| {
            tracing::error!("a call panicked");
            Poll::Ready(Outcome::Refused(Refusal::Internal))
        })
    })
    .await
}

async fn run<'a>(caller: &Caller<'a>, call: &'a Call<'_>) -> Outcome<'a> {
    let method = &*call.method;
    let row = lookup(method);
    if row.kind != RowKind::Exact {
        // Only the canonical spelling is forwarded: servers differ on whether they fold case, so
        // another spelling of a name we know must not pass as a name we do not.
        if !std::ptr::eq(row, lookup_folded(method).0) || !is_plain(method) {
            return Outcome::Refused(Refusal::Method(method));
        }
    }
    if !caller
        .shared
        .policy
        .allows(caller.key.map(|key| &key.rules), method, row)
    {
        return Outcome::Refused(Refusal::Method(method));
    }
    if row.lane == Lane::Stream {
        return Outcome::Refused(Refusal::Notifications);
    }
    match call.params {
        Params::Scalar(_) => return Outcome::Refused(Refusal::Params),
        // A method that the table spells out takes positions; a vendor's may take names.
        Params::Object(_) if row.kind == RowKind::Exact && call.params.is_named() => {
            return Outcome::Refused(Refusal::Params);
        }
        Params::Object(_) | Params::Array(_) | Params::Absent | Params::Null => {}
    }
    if let Some(result) = caller
        .chain
        .local
        .result(method, || caller.chain.pool.chain_id())
    {
        return Outcome::Local(result);
    }
    let request = Request {
        method,
        descriptor: row,
        params: call.params,
    };
    let times = Times::of(caller.chain, row, call.params, caller.patience);
    let viewer = caller
        .chain
        .sessions
        .viewer(caller.key, caller.wishes.session);
    let options = CallOptions {
        deadline: Some(times.deadline),
        timeout: times.attempt,
        strategy: caller.key.and_then(|key| key.strategy.clone()),
        solitary: caller.chain.never_repeat.contain(method),
        sends: Some(caller.chain.sends(caller.key)),
        caller: caller.key.map_or(0, |key| key.number),
        batch: caller.batch.cloned(),
        viewers: vec![viewer],
        min_block: caller.wishes.min_block,
        bypass_cache: caller.wishes.bypass,
    };
    let answered = if row.state_changing == Changes::Nothing {
        caller.chain.pool.request(request, options).await
    } else {
        match submission(caller, request, options).await {
            Some(answered) => answered,
            None => return Outcome::Refused(broken_off(row, call.params)),
        }
    };
    match answered {
        Ok(answer) => Outcome::Answer(answer),
        Err(error) => Outcome::Refused(Refusal::Upstream(Cow::Owned(error))),
    }
}

/// The end of a submission whose task broke off: nobody knows what became of a transaction (R-35).
fn broken_off(row: &'static Descriptor, params: Params<'_>) -> Refusal<'static> {
    match Write::new(row, params, Policy::Once) {
        Some(write) => Refusal::Upstream(Cow::Owned(Error::Ambiguous {
            hash: write.hash,
            error: None,
            attempts: Vec::new(),
        })),
        None => Refusal::Internal,
    }
}

/// Whether a name that no row spells out may go on a wire at all: visible ASCII, of sane length.
fn is_plain(method: &str) -> bool {
    method.len() <= 128 && method.bytes().all(|b| b.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::{Outcome, broken_off, contained, is_plain};
    use crate::respond::Refusal;
    use highwater_core::{jsonrpc::Params, method::lookup};
    use std::pin::pin;

    // hardening H6
    #[tokio::test]
    async fn a_panic_in_a_call_is_an_internal_error_of_that_call() {
        let panics = async {
            tokio::task::yield_now().await;
            panic!("a fault of ours")
        };
        let outcome = contained(pin!(panics)).await;
        assert!(matches!(outcome, Outcome::Refused(Refusal::Internal)));
        let fine = contained(pin!(async { Outcome::Local("true") })).await;
        assert!(matches!(fine, Outcome::Local("true")));
    }

    // R-35
    #[test]
    fn a_submission_that_broke_off_is_no_plain_failure() {
        let end = |method: &str| {
            let refusal = broken_off(lookup(method), Params::Array(r#"["0x05c0"]"#));
            let wire = refusal.wire();
            (wire.reason, wire.ambiguous.is_some())
        };
        assert_eq!(end("eth_sendRawTransaction"), (Some("ambiguous"), true));
        assert_eq!(end("eth_newFilter"), (Some("internal"), false));
    }

    // hardening B7, N3
    #[test]
    fn only_visible_ascii_of_sane_length_is_a_method_name() {
        for name in ["vendor_x", "a", "rpc.discover", "net-x/y"] {
            assert!(is_plain(name), "{name}");
        }
        for name in [
            "a b",
            "a\0",
            "a\n",
            "\u{1b}[31m",
            "é",
            "a\u{7f}",
            &"a".repeat(129),
        ] {
            assert!(!is_plain(name), "{name:?}");
        }
    }
}
