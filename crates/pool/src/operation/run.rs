//! The attempts of one operation, its waits and switches.

use super::{
    OperationError, OperationOptions, Pinned,
    context::{Bound, Context},
    failure::{Cause, Failure},
};
use crate::{
    Attempt, Error, PinnedFault,
    check::{check, look},
    driver::FAR,
    inner::{Inner, place},
    node::Node,
};
use highwater_core::{
    classify::{Class, Verdict as Found},
    event::Event,
    judge::of_class,
    operation::{Course, Next, Reservation, Stop},
    router::Identity,
};
use std::{
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// One operation.
pub(super) struct Run<'a> {
    inner: &'a Arc<Inner>,
    course: Course,
    deadline: Instant,
    timeout: Duration,
    cancel: Option<CancellationToken>,
    one_block: bool,
    repeats: bool,
    /// What failed it so far, in order.
    attempts: Vec<Attempt>,
    /// Who failed it last, and with what.
    last: Option<(Arc<Node>, Class)>,
}

/// Why an operation gets no endpoint, or no more time.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ended {
    Stop(Stop),
    Cancelled,
    Closed,
}

/// What a run of the closure came to.
pub(super) enum Verdict<T, E> {
    Done(T),
    /// The endpoint failed it: again elsewhere, where that may be.
    Again(E),
    Over(OperationError<E>),
    Stopped(Ended),
}

impl<'a> Run<'a> {
    pub(super) fn new(inner: &'a Arc<Inner>, options: OperationOptions, repeats: bool) -> Self {
        let now = inner.now();
        let time = options.timeout.unwrap_or(inner.deadline).min(FAR);
        let deadline = now.mono + time;
        if !inner.is_closed() {
            let wake = inner.lock().router.on_call(now);
            if wake {
                inner.wake_probes();
            }
        }
        Self {
            inner,
            course: Course::new(deadline, repeats),
            deadline,
            timeout: options.request_timeout.unwrap_or(inner.timeout),
            cancel: options.cancel,
            one_block: options.one_block,
            repeats,
            attempts: Vec::new(),
            last: None,
        }
    }

    /// A place at an endpoint whose chain is known, as soon as there is one.
    pub(super) async fn place(&mut self) -> Result<Place, Ended> {
        loop {
            if self.inner.is_closed() {
                return Err(Ended::Closed);
            }
            if self.is_cancelled() {
                return Err(Ended::Cancelled);
            }
            let inner = self.inner;
            // Before the look, so that no change is missed between the two.
            let mut changed = std::pin::pin!(inner.waiting.changed());
            changed.as_mut().enable();
            let next = {
                let now = inner.now();
                let mut state = inner.lock();
                let least = inner.seen_by_operations(now);
                let next = self.course.next(&mut state.router, least, now);
                let place = match next {
                    Next::Run(reservation) => {
                        let node = Arc::clone(state.node(reservation.endpoint()));
                        self.tell_switch(&mut state, &node, reservation);
                        Ok(Place::new(self, node, reservation))
                    }
                    Next::Wait(_) => {
                        let mut ids = state.router.ids();
                        if ids.any(|id| state.router.is_below(id, least, now)) {
                            inner.on_unserved(&state.router, now);
                        }
                        Err(next)
                    }
                    Next::End(_) => Err(next),
                };
                inner.tell(state);
                place
            };
            match next {
                Ok(place) => {
                    let verified = self.within(self.verify(&place)).await?;
                    match verified {
                        Ok(()) => return Ok(place),
                        Err(found) => {
                            let attempt = place.attempt(&found);
                            self.failed(&place, attempt);
                        }
                    }
                }
                Err(Next::Wait(at)) => {
                    let until = tokio::time::sleep_until(at.min(self.deadline).into());
                    let woken = async {
                        tokio::select! {
                            () = changed => {}
                            () = until => {}
                        }
                    };
                    match &self.cancel {
                        Some(cancel) => tokio::select! {
                            () = cancel.cancelled() => return Err(Ended::Cancelled),
                            () = woken => {}
                        },
                        None => woken.await,
                    }
                }
                Err(Next::End(stop)) => return Err(Ended::Stop(stop)),
                Err(Next::Run(_)) => {}
            }
        }
    }

    /// Asks for the chain of an endpoint where that is due.
    async fn verify(&self, place: &Place) -> Result<(), Found> {
        let (pool, node) = (Arc::downgrade(self.inner), &place.context.node);
        let identity = || {
            let state = self.inner.lock();
            let known = state.place(node).map(|place| state.router.identity(place));
            known.unwrap_or(Identity::Unchecked)
        };
        if identity() == Identity::Unchecked {
            if let Some(found) = Box::pin(check(&pool, node, self.timeout)).await {
                return Err(found);
            }
            // It was reached before and lost: whoever answers now may be another node.
            if self.had_a_head(node) {
                Box::pin(look(&pool, node, self.timeout)).await;
                if self.is_behind(node) {
                    return Err(of_class(Class::Behind, None));
                }
            }
        }
        match identity() {
            Identity::Verified => Ok(()),
            Identity::Quarantined { .. } => Err(of_class(Class::WrongChain, None)),
            Identity::Unchecked => Err(of_class(Class::Syncing, None)),
        }
    }

    fn had_a_head(&self, node: &Node) -> bool {
        let (now, state) = (self.inner.now(), self.inner.lock());
        let place = state.place(node);
        place.is_some_and(|place| state.router.believed_head(place, now).is_some())
    }

    fn is_behind(&self, node: &Node) -> bool {
        let (now, state) = (self.inner.now(), self.inner.lock());
        let least = self.inner.seen_by_operations(now);
        let place = state.place(node);
        place.is_some_and(|place| state.router.is_below(place, least, now))
    }

    /// Waits for it while the operation may.
    pub(super) async fn within<T>(&self, what: impl Future<Output = T>) -> Result<T, Ended> {
        let timed = tokio::time::timeout_at(self.deadline.into(), what);
        let late = |_| Ended::Stop(Stop::Deadline);
        match &self.cancel {
            Some(cancel) => tokio::select! {
                biased;
                () = cancel.cancelled() => Err(Ended::Cancelled),
                ended = timed => ended.map_err(late),
            },
            None => timed.await.map_err(late),
        }
    }

    /// What a run of the closure comes to.
    pub(super) fn judge<T, E: Failure>(
        &mut self,
        place: &mut Place,
        ran: Result<Result<T, E>, Ended>,
    ) -> Verdict<T, E> {
        place.context.end();
        let error = match ran {
            Ok(Ok(value)) => {
                place.good = place.context.has_answered();
                return Verdict::Done(value);
            }
            Ok(Err(error)) => error,
            Err(ended) => return Verdict::Stopped(ended),
        };
        let attempt = match error.cause() {
            Cause::Request(request) => {
                let fault = super::PinnedError::from_transport(request).map(|known| &known.fault);
                if self.inner.is_closed() && fault == Some(&PinnedFault::Closed) {
                    return Verdict::Stopped(Ended::Closed);
                }
                place.context.memory.find(request)
            }
            Cause::Data => {
                let now = self.inner.now();
                let mut state = self.inner.lock();
                state.router.unusable(&place.reservation, now);
                self.inner.tell(state);
                if !self.repeats {
                    let endpoint = place.context.label().to_owned();
                    return Verdict::Over(OperationError::EndpointData { endpoint, error });
                }
                let found = of_class(Class::MalformedEnvelope, Some("endpoint_data"));
                Some(place.attempt(&found))
            }
            Cause::Own => None,
        };
        match attempt {
            Some(attempt) => {
                self.failed(place, attempt);
                Verdict::Again(error)
            }
            None => Verdict::Over(OperationError::Failed(error)),
        }
    }

    /// The operation has no value.
    pub(super) fn ended<E>(&mut self, ended: Ended, last: Option<E>) -> OperationError<E> {
        let attempts = std::mem::take(&mut self.attempts);
        match ended {
            Ended::Cancelled => OperationError::Cancelled,
            Ended::Closed => OperationError::Closed,
            Ended::Stop(Stop::Deadline) => OperationError::TimedOut { attempts, last },
            Ended::Stop(Stop::AllFailed) => OperationError::AllEndpointsFailed { attempts, last },
            Ended::Stop(Stop::NoUsable) => OperationError::NoUsableEndpoint { attempts },
            Ended::Stop(Stop::ChainMismatch) => match self.inner.chain_mismatch() {
                Error::ChainMismatch { expected, found } => {
                    OperationError::ChainMismatch { expected, found }
                }
                _ => OperationError::NoUsableEndpoint { attempts },
            },
            Ended::Stop(Stop::Budget { wait }) => OperationError::BudgetExhausted {
                endpoints: self.inner.spent(),
                wait,
            },
        }
    }

    fn failed(&mut self, place: &Place, attempt: Attempt) {
        self.course.failed(&place.reservation);
        self.last = Some((Arc::clone(&place.context.node), attempt.class));
        self.attempts.push(attempt);
    }

    fn tell_switch(&self, state: &mut crate::inner::State, to: &Node, reservation: Reservation) {
        let Some((last, class)) = &self.last else {
            return;
        };
        if last.number == to.number {
            return;
        }
        if let Some(from) = place(&state.nodes, last) {
            let (to, class) = (reservation.endpoint(), *class);
            let told = || Event::OperationSwitch { from, to, class };
            state.router.events().push(told);
        }
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(|c| c.is_cancelled())
    }
}

/// A place at an endpoint, given back when it is dropped.
pub(super) struct Place {
    inner: Arc<Inner>,
    reservation: Reservation,
    context: Arc<Context>,
    good: bool,
}

impl Place {
    fn new(run: &Run<'_>, node: Arc<Node>, reservation: Reservation) -> Self {
        let bound = Bound::Place(reservation);
        let context = Context::new(run.inner, node, bound, run.timeout, run.one_block);
        Self {
            inner: Arc::clone(run.inner),
            reservation,
            context: Arc::new(context),
            good: false,
        }
    }

    /// What the closure gets.
    pub(super) fn pinned(&self) -> Pinned {
        let interval = crate::Pool::poll_interval_of(&self.inner);
        Pinned::new(Arc::clone(&self.context), interval)
    }

    fn attempt(&self, found: &Found) -> Attempt {
        Attempt {
            endpoint: self.context.label().to_owned(),
            class: found.class,
            detail: found.subclass,
            status: None,
            retry_after: found.retry_after,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.context.end();
        let now = self.inner.now();
        let mut state = self.inner.lock();
        state.router.release(&self.reservation, self.good, now);
        self.inner.tell(state);
    }
}
