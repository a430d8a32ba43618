//! Limits of one operation.

use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Limits of one operation; what is left out is the pool's own setting (L-5).
#[derive(Clone, Debug, Default)]
pub struct OperationOptions {
    /// Longest time for the whole operation, with checks, waits and switches. The pool's `deadline`
    /// where it is left out, 30 s unless set.
    pub timeout: Option<Duration>,
    /// Longest time for one request. The pool's `timeout` where it is left out, 10 s unless set.
    pub request_timeout: Option<Duration>,
    /// Ends the operation, as dropping it does, with [`Cancelled`](crate::OperationError::Cancelled).
    pub cancel: Option<CancellationToken>,
    /// All reads of a run see one block: the endpoint is asked for its newest one before the first of
    /// them, and where they say or mean `latest` they get its number. `eth_blockNumber` is it.
    pub one_block: bool,
}
