//! Operations that are pinned to one endpoint (L-5, L-6).
//!
//! | file | what it holds |
//! |---|---|
//! | here | what a pool offers |
//! | `options`, `error` | limits of an operation, and how it can end |
//! | `failure` | what a closure's error says of itself |
//! | `memory` | what a pinned transport failed with, so that it is known again |
//! | `context` | one attempt: until when it may send, and where |
//! | `request` | one request of an attempt |
//! | `sending` | a raw transaction in the pool's memory of sends |
//! | `transport`, `pinned` | the provider that a closure gets |
//! | `run` | attempts, waits, switches |
//! | `waiting` | who waits for an endpoint |
//!
//! Which endpoint an attempt gets, and when the next one begins, is decided in `core::operation`.

mod context;
mod error;
mod failure;
mod memory;
mod options;
mod pinned;
mod request;
mod run;
mod sending;
mod transport;
mod waiting;

pub use error::{EndpointDataError, OperationError, PinnedError, PinnedFault, UnknownEndpoint};
pub use failure::{AttemptError, Cause, Failure};
pub use options::OperationOptions;
pub use pinned::Pinned;

pub(crate) use waiting::Waiting;

use crate::Pool;
use context::{Bound, Context};
use run::Run;
use std::sync::Arc;

impl Pool {
    /// Runs a closure against one endpoint, and from its beginning against another one where that
    /// endpoint fails it, until it ends or its time is over (L-5).
    ///
    /// The closure may run any number of times, so whatever it does must bear to be done again; for
    /// what must not, there is [`Pool::execute_once`]. Each run has one endpoint for all its requests,
    /// and each request goes there once. What the closure returns decides: a value ends the operation;
    /// an error that is the very one its provider gave for a failure of the endpoint, or an
    /// [`EndpointDataError`], starts it again elsewhere; any other error ends it, even one that holds
    /// the provider's as its source. See [`Failure`].
    ///
    /// Every endpoint is tried once before any is tried again, and a full round is followed by one
    /// backoff. An operation waits for an endpoint as long as its time allows. Where each
    /// answer of an endpoint counts for its health as that of a call does, what the closure itself
    /// gets wrong does not.
    ///
    /// Cancellation: dropping the future, or [`OperationOptions::cancel`], gives up what the closure
    /// waits for and frees its place; work that the closure has spawned goes on, but sends nothing more.
    ///
    /// # Errors
    /// See [`OperationError`]; [`OperationError::Failed`] holds the closure's own.
    ///
    /// # Panics
    /// Outside a tokio runtime with time and I/O, and where the closure does.
    pub async fn execute_with_retry<T, E, F, R>(
        &self,
        options: OperationOptions,
        operation: F,
    ) -> Result<T, OperationError<E>>
    where
        F: Fn(Pinned) -> R,
        R: Future<Output = Result<T, E>>,
        E: Failure,
    {
        let mut run = Run::new(self.inner(), options, true);
        let mut last = None;
        loop {
            let mut place = match run.place().await {
                Ok(place) => place,
                Err(ended) => return Err(run.ended(ended, last)),
            };
            let ran = run.within(operation(place.pinned())).await;
            match run.judge(&mut place, ran) {
                run::Verdict::Done(value) => return Ok(value),
                run::Verdict::Again(error) => last = Some(error),
                run::Verdict::Over(error) => return Err(error),
                run::Verdict::Stopped(ended) => return Err(run.ended(ended, last)),
            }
        }
    }

    /// Runs a closure against one endpoint, once (L-5): for what must not be done twice. Before the
    /// closure begins an endpoint may be given up for another one; afterwards nothing is repeated, and
    /// its error is the operation's.
    ///
    /// A transaction that was sent may have been accepted although its answer is lost: look for its
    /// hash before it is signed again.
    ///
    /// Cancellation: as for [`Pool::execute_with_retry`].
    ///
    /// # Errors
    /// See [`OperationError`].
    ///
    /// # Panics
    /// As [`Pool::execute_with_retry`].
    pub async fn execute_once<T, E, F, R>(
        &self,
        options: OperationOptions,
        operation: F,
    ) -> Result<T, OperationError<E>>
    where
        F: FnOnce(Pinned) -> R,
        R: Future<Output = Result<T, E>>,
        E: Failure,
    {
        let mut run = Run::new(self.inner(), options, false);
        let mut place = match run.place().await {
            Ok(place) => place,
            Err(ended) => return Err(run.ended(ended, None)),
        };
        let ran = run.within(operation(place.pinned())).await;
        match run.judge(&mut place, ran) {
            run::Verdict::Done(value) => Ok(value),
            run::Verdict::Again(error) => Err(OperationError::Failed(error)),
            run::Verdict::Over(error) => Err(error),
            run::Verdict::Stopped(ended) => Err(run.ended(ended, None)),
        }
    }

    /// A provider that is bound to one endpoint, for listeners that outlive operations (L-5): no
    /// choice, no second attempt, no deadline but that of each request. Its requests spend the
    /// endpoint's budget and count for its health; its own health does not stop them. It works until
    /// the pool is closed, its pollers until they are dropped or then.
    ///
    /// # Errors
    /// No endpoint has this label.
    pub fn fixed(&self, label: &str) -> Result<Pinned, UnknownEndpoint> {
        let node = {
            let state = self.inner().lock();
            let place = state.labelled(label);
            place.map(|place| Arc::clone(state.node(place)))
        };
        let node = node.ok_or_else(|| UnknownEndpoint(label.to_owned()))?;
        let timeout = self.inner().timeout;
        let context = Context::new(self.inner(), node, Bound::Endpoint, timeout, false);
        Ok(Pinned::new(Arc::new(context), self.poll_interval()))
    }
}
