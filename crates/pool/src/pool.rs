//! The pool.

use crate::{Answer, Builder, Error};
use highwater_core::{jsonrpc::Params, method::Descriptor, router::Identity, ChainId};
use std::{sync::Arc, time::Duration};

/// Many endpoints of one chain as one. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Pool {
    #[expect(dead_code, reason = "skeleton")]
    inner: Arc<()>,
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
#[derive(Clone, Copy, Debug, Default)]
pub struct CallOptions {
    /// Longest time for the whole call.
    pub deadline: Option<Duration>,
    /// Longest time for one attempt.
    pub timeout: Option<Duration>,
}

/// What is known of a pool at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The chain, once known.
    pub chain: Option<ChainId>,
    /// The endpoints in order.
    pub endpoints: Vec<EndpointSnapshot>,
}

/// What is known of one endpoint. Names it by label and host only.
#[derive(Clone, Debug)]
pub struct EndpointSnapshot {
    /// The label.
    pub label: String,
    /// The bare host name; empty for a transport of the caller's own.
    pub host: String,
    /// What is known of its chain.
    pub identity: Identity,
}

impl Pool {
    /// Starts a pool.
    #[must_use]
    pub fn builder() -> Builder {
        todo!()
    }

    /// Makes one call. Cancel it by dropping the future.
    ///
    /// # Errors
    /// No endpoint answered; see [`Error`].
    pub async fn request(&self, _request: Request<'_>, _options: CallOptions) -> Result<Answer, Error> {
        todo!()
    }

    /// Checks the chain id of every endpoint that is not checked yet, all at once, each within
    /// `timeout`, and returns what is known then.
    pub async fn check_all(&self, _timeout: Duration) -> Snapshot {
        todo!()
    }

    /// What is known now; no I/O.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        todo!()
    }

    /// The chain, once known.
    #[must_use]
    pub fn chain_id(&self) -> Option<ChainId> {
        todo!()
    }
}
