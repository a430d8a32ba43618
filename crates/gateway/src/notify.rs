//! Calls that nobody waits for.
//!
//! A notification is run like any other call, as a node runs it, under the same policy and limits,
//! and its outcome is dropped. The response does not wait for it: it goes on in a task of its own,
//! which holds a place among the calls in flight and so ends before a shutdown does. Past the limit
//! it is dropped, which is all that can be done to a caller that wants no answer.

use crate::{
    dispatch::{Caller, dispatch},
    load::Gauge,
    state::Shared,
};
use highwater_core::jsonrpc::{Call, Params};
use std::{sync::Arc, time::Duration};

/// Starts a notification on the current worker.
pub(crate) fn spawn(
    shared: &Arc<Shared>,
    chain: usize,
    key: Option<usize>,
    deadline: Duration,
    call: &Call<'_>,
) {
    let Some(permit) = Gauge::take(InFlight(Arc::clone(shared)), 1) else {
        return;
    };
    let method = call.method.to_string();
    let params = Owned::new(call.params);
    tokio::spawn(async move {
        let shared = &*permit.gauge().0;
        let caller = Caller {
            shared,
            chain: &shared.chains[chain],
            key: key.map(|at| shared.auth.key(at)),
            deadline,
        };
        let call = Call {
            id: None,
            method: method.into(),
            params: params.borrow(),
        };
        drop(dispatch(&caller, &call).await);
    });
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
