//! Calls that go on without the request that brought them.
//!
//! Two kinds do. A notification is run like any other call, as a node runs it, under the same policy
//! and limits; the response does not wait for it and its outcome is dropped. Past the limit of calls
//! in flight it is dropped too, which is all that can be done to a caller that wants no answer. And a
//! call that changes something goes to its end even if its caller leaves (hardening A13): cut off in
//! the middle, it would leave open whether it took effect, and nobody would learn that it did.
//!
//! Each has a task of its own on the worker where it began, and a place among the calls in flight,
//! so that a shutdown waits for it.

use crate::{
    dispatch::{Caller, dispatch},
    load::{Gauge, Permit},
    server::wishes::Wishes,
    state::Shared,
};
use highwater::{Answer, CallOptions, Error, Request};
use highwater_core::jsonrpc::{Call, Params};
use std::{sync::Arc, time::Duration};

/// Starts a notification on the current worker.
pub(crate) fn notification(
    shared: &Arc<Shared>,
    chain: usize,
    key: Option<usize>,
    patience: Option<Duration>,
    call: &Call<'_>,
) {
    let Some(permit) = Gauge::take(InFlight(Arc::clone(shared)), 1) else {
        return;
    };
    let method = call.method.to_string();
    let params = Owned::new(call.params);
    tokio::spawn(async move {
        let shared = &permit.gauge().0;
        let caller = Caller {
            wishes: Wishes::default(),
            shared,
            chain: &shared.chains[chain],
            key: key.map(|at| shared.auth.key(at)),
            patience,
            batch: None,
        };
        let call = Call {
            id: None,
            method: method.into(),
            params: params.borrow(),
        };
        drop(dispatch(&caller, &call).await);
    });
}

/// Makes a call that changes something. `None`: it panicked.
///
/// Cancellation: dropping the future gives up the answer, not the call.
pub(crate) async fn submission(
    caller: &Caller<'_>,
    request: Request<'_>,
    options: CallOptions,
) -> Option<Result<Answer, Error>> {
    let pool = caller.chain.pool.clone();
    let method = request.method.to_owned();
    let descriptor = request.descriptor;
    let params = Owned::new(request.params);
    // The request has been let in already: while its caller waits it counts twice, which is no
    // reason to refuse it now.
    let permit = Permit::beyond_the_bound(InFlight(Arc::clone(caller.shared)), 1);
    let task = tokio::spawn(async move {
        let _permit = permit;
        let request = Request {
            method: &method,
            descriptor,
            params: params.borrow(),
        };
        pool.request(request, options).await
    });
    task.await.ok()
}

/// The calls in flight of a shared state that the permit itself keeps alive.
struct InFlight(Arc<Shared>);

impl AsRef<Gauge> for InFlight {
    fn as_ref(&self) -> &Gauge {
        &self.0.in_flight
    }
}

/// Parameters that outlive the body they came in.
enum Owned {
    Absent,
    Null,
    Array(Box<str>),
    Object(Box<str>),
    Scalar(Box<str>),
}

impl Owned {
    fn new(params: Params<'_>) -> Self {
        match params {
            Params::Absent => Self::Absent,
            Params::Null => Self::Null,
            Params::Array(text) => Self::Array(text.into()),
            Params::Object(text) => Self::Object(text.into()),
            Params::Scalar(text) => Self::Scalar(text.into()),
        }
    }

    fn borrow(&self) -> Params<'_> {
        match self {
            Self::Absent => Params::Absent,
            Self::Null => Params::Null,
            Self::Array(text) => Params::Array(text),
            Self::Object(text) => Params::Object(text),
            Self::Scalar(text) => Params::Scalar(text),
        }
    }
}
