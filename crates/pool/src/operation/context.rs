//! One run of a closure, or a fixed provider: where its requests go, and until when.

use super::{
    error::{PinnedError, PinnedFault},
    memory::{Memory, number},
};
use crate::{Attempt, inner::Inner, node::Node};
use alloy_json_rpc::RpcError;
use alloy_transport::{TransportError, TransportErrorKind};
use highwater_core::{EndpointId, operation::Reservation};
use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU16, Ordering},
    },
    time::Duration,
};
use tokio::sync::OnceCell;

/// To what a context is bound.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bound {
    /// A place at the endpoint; it can end.
    Place(Reservation),
    /// The endpoint, whatever becomes of it.
    Endpoint,
}

/// Where the requests of one run go, and until when. It holds the pool weakly, so a provider that is
/// kept, or a poller, does not keep the pool open (L-1).
pub(super) struct Context {
    pub(super) pool: Weak<Inner>,
    pub(super) node: Arc<Node>,
    bound: Bound,
    /// Longest time for one request.
    pub(super) timeout: Duration,
    ended: AtomicBool,
    /// Requests so far.
    sent: AtomicU16,
    /// The endpoint gave a healthy answer.
    answered: AtomicBool,
    pub(super) memory: Memory,
    /// The one block of its reads, where they see one.
    block: Option<OnceCell<u64>>,
}

impl Context {
    pub(super) fn new(
        pool: &Arc<Inner>,
        node: Arc<Node>,
        bound: Bound,
        timeout: Duration,
        one_block: bool,
    ) -> Self {
        Self {
            pool: Arc::downgrade(pool),
            node,
            bound,
            timeout,
            ended: AtomicBool::new(false),
            sent: AtomicU16::new(0),
            answered: AtomicBool::new(false),
            memory: Memory::default(),
            block: one_block.then(OnceCell::new),
        }
    }

    pub(super) fn label(&self) -> &str {
        &self.node.label
    }

    /// The run is over: no request begins any more.
    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Release);
    }

    pub(super) fn has_answered(&self) -> bool {
        self.answered.load(Ordering::Acquire)
    }

    pub(super) fn on_answer(&self) {
        self.answered.store(true, Ordering::Release);
    }

    /// The number of the next request.
    pub(super) fn count(&self) -> u16 {
        self.sent.fetch_add(1, Ordering::Relaxed)
    }

    /// The pool, while requests may begin.
    pub(super) fn pool(&self) -> Result<Arc<Inner>, TransportError> {
        if self.ended.load(Ordering::Acquire) {
            return Err(self.stop(PinnedFault::Ended));
        }
        let pool = self.pool.upgrade().filter(|pool| !pool.is_closed());
        pool.ok_or_else(|| self.stop(PinnedFault::Closed))
    }

    /// Where the endpoint is, while requests may go there.
    pub(super) fn place(&self, state: &crate::inner::State) -> Option<EndpointId> {
        match &self.bound {
            Bound::Place(reservation) => state.router.reserved(reservation),
            Bound::Endpoint => state.place(&self.node),
        }
    }

    /// The block of all reads; asked for once.
    pub(super) async fn block(&self) -> Result<Option<u64>, TransportError> {
        let Some(block) = &self.block else {
            return Ok(None);
        };
        let block = block.get_or_try_init(|| self.newest()).await?;
        Ok(Some(*block))
    }

    /// An error that starts the closure again elsewhere.
    pub(super) fn fail(&self, fault: PinnedFault, attempt: Attempt) -> TransportError {
        let error = self.error(fault);
        self.memory.keep(&error, attempt);
        TransportErrorKind::custom(error)
    }

    /// An error that ends the operation, or would where it runs.
    pub(super) fn stop(&self, fault: PinnedFault) -> TransportError {
        TransportErrorKind::non_retryable(self.error(fault))
    }

    fn error(&self, fault: PinnedFault) -> PinnedError {
        PinnedError {
            fault,
            endpoint: self.node.label.to_string(),
            number: number(),
        }
    }
}

impl PinnedError {
    /// The error of a pinned provider within one of alloy.
    #[must_use]
    pub fn from_transport(error: &TransportError) -> Option<&Self> {
        match error {
            RpcError::Transport(
                TransportErrorKind::Custom(inner) | TransportErrorKind::NonRetryable(inner),
            ) => inner.downcast_ref(),
            _ => None,
        }
    }
}
