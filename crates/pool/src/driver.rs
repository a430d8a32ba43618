//! Carries out what the call machine decides.
//!
//! The request is written once and its bytes are shared by all attempts. An attempt ends by itself
//! within its timeout; only a transport of the caller's own is held to that by a timer here. A call
//! that can neither race nor hedge is one future without a task or an allocation for its attempts;
//! otherwise attempts are boxed, so that a racer that lost can run on to its own end.
//!
//! A call that is dropped at any await stops counting at once and leaves nothing behind but losers
//! that run to their deadline.

use crate::{
    Answer, Attempt, CallOptions, Error, Request,
    ask::Ask,
    check::{check, head, warm},
    judge::{Judged, Shown, judge, judge_failure},
    pool::Inner,
    upstream::Repeat,
};
use highwater_core::{
    AttemptId, EndpointId,
    call::{Action, Leftover, Machine, Outcome, Plan, Settled},
    jsonrpc::Params,
    learn::Need,
    method::Racing,
};
use smallvec::SmallVec;
use std::{
    future::Future,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

/// Deadlines are cut here, a year, so that adding one to an instant cannot overflow.
const FAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// An attempt that another one may outlive.
type Boxed = Pin<Box<dyn Future<Output = Judged> + Send>>;

/// Makes one call.
pub(crate) async fn drive(
    inner: &Arc<Inner>,
    request: Request<'_>,
    options: CallOptions,
) -> Result<Answer, Error> {
    let now = inner.now();
    let row = request.descriptor;
    let (chain, wake, mut plan) = {
        let mut router = inner.router.lock();
        let wake = router.on_call(now);
        let deadline = now.mono + options.deadline.unwrap_or(inner.deadline).min(FAR);
        let timeout = options.timeout.unwrap_or(inner.timeout);
        let mut plan = Plan::new(row, request.method, deadline, timeout);
        plan.allowed = router.allowed(request.method);
        (router.chain(), wake, plan)
    };
    if wake {
        inner.wake_probes();
    }
    if row.has_block() {
        plan.need = Need::of(row, text(request.params));
    }
    let detachable = inner.may_run_beside(row.race == Racing::Yes, row.hedge == Racing::Yes);
    let chain = chain.map(|chain| chain.0);
    let ask = Ask::new(inner.next_id(), row, request.method, request.params, chain);
    let mut call = Call {
        inner,
        deadline: plan.deadline,
        machine: Machine::new(plan),
        several: SmallVec::new(),
        kept: SmallVec::new(),
        over: false,
    };
    let mut alone = pin!(None);
    let mut alone_is = None;
    loop {
        let (action, reference) = call.poll();
        match action {
            Action::Check { endpoint, timeout } => {
                let failure = check(inner, endpoint, timeout).await;
                call.machine.on_check(endpoint, failure.as_ref());
            }
            Action::Head { endpoint, timeout } => {
                head(inner, endpoint, timeout).await;
                call.machine.on_head(endpoint);
            }
            Action::Warm { endpoint, timeout } => warm(inner, endpoint, timeout),
            Action::Send {
                endpoint,
                attempt,
                timeout,
            } => {
                let repeat = if row.is_read() {
                    Repeat::Elsewhere
                } else {
                    Repeat::Never
                };
                let sent = send(inner, endpoint, ask.at_head(reference), timeout, repeat);
                if detachable {
                    call.several.push((attempt, endpoint, Box::pin(sent)));
                } else {
                    alone.set(Some(sent));
                    alone_is = Some((attempt, endpoint));
                }
            }
            Action::WaitUntil(at) => {
                let ended = match alone_is {
                    Some((attempt, endpoint)) => {
                        let running = alone.as_mut().as_pin_mut();
                        let running = running.expect("invariant: an attempt is under way");
                        Some((attempt, endpoint, running.await))
                    }
                    None => call.wait(at).await,
                };
                if let Some((attempt, endpoint, judged)) = ended {
                    alone_is = None;
                    call.settle(attempt, endpoint, judged);
                }
            }
            Action::Finish(outcome) => return call.finish(outcome),
        }
    }
}

/// One call under way. Dropping it gives up what runs.
struct Call<'a> {
    inner: &'a Arc<Inner>,
    machine: Machine,
    deadline: Instant,
    several: SmallVec<[(AttemptId, EndpointId, Boxed); 2]>,
    kept: SmallVec<[(AttemptId, EndpointId, Shown); 1]>,
    over: bool,
}

impl Call<'_> {
    fn poll(&mut self) -> (Action, Option<u64>) {
        let now = self.inner.now();
        let mut router = self.inner.router.lock();
        let action = self.machine.poll(&mut router, now);
        let head = router.reference_head(now);
        self.inner.tell(router);
        (action, head)
    }

    fn settle(&mut self, attempt: AttemptId, endpoint: EndpointId, judged: Judged) {
        let Judged { settled, shown } = judged;
        self.kept
            .extend(shown.map(|shown| (attempt, endpoint, shown)));
        let now = self.inner.now();
        let mut router = self.inner.router.lock();
        self.machine.on_settled(&mut router, attempt, &settled, now);
        self.inner.tell(router);
        if let Settled::Failed { verdict, .. } = &settled {
            let label = &self.inner.node(endpoint).label;
            tracing::debug!(endpoint = %label, class = ?verdict.class, "attempt failed");
        }
    }

    /// Waits for the first of the attempts that run, at most until then.
    async fn wait(&mut self, at: Instant) -> Option<(AttemptId, EndpointId, Judged)> {
        // Attempts end by themselves before the deadline.
        if at >= self.deadline && !self.several.is_empty() {
            return Some(self.first().await);
        }
        let timer = tokio::time::sleep_until(at.into());
        tokio::select! {
            biased;
            ended = self.first(), if !self.several.is_empty() => Some(ended),
            () = timer => None,
        }
    }

    fn first(&mut self) -> First<'_> {
        First(&mut self.several)
    }

    fn finish(mut self, outcome: Outcome) -> Result<Answer, Error> {
        self.over = true;
        self.let_go();
        let kept = std::mem::take(&mut self.kept);
        let (inner, machine) = (self.inner, &self.machine);
        let shown = match outcome {
            Outcome::Answered(attempt) | Outcome::Failed(Some(attempt)) => {
                kept.into_iter().find(|(kept, ..)| *kept == attempt)
            }
            Outcome::Failed(None)
            | Outcome::ChainMismatch
            | Outcome::NoEndpoint
            | Outcome::BudgetExhausted { .. }
            | Outcome::DeadlineExceeded => None,
        };
        if let Some((_, endpoint, shown)) = shown {
            return Ok(Answer {
                body: shown.body,
                span: shown.span,
                is_error: shown.is_error,
                endpoint: Arc::clone(&inner.node(endpoint).label),
                attempts: machine.attempts(),
            });
        }
        Err(match outcome {
            Outcome::Answered(_) | Outcome::Failed(_) => Error::AllEndpointsFailed {
                attempts: attempts(inner, machine),
            },
            Outcome::DeadlineExceeded => Error::DeadlineExceeded {
                attempts: attempts(inner, machine),
            },
            Outcome::ChainMismatch => inner.chain_mismatch(),
            Outcome::NoEndpoint => Error::NoEndpoint,
            Outcome::BudgetExhausted { wait } => Error::BudgetExhausted {
                endpoints: inner.spent(),
                wait,
            },
        })
    }

    /// Racers that lost run on to their end, hedges are cancelled.
    fn let_go(&mut self) {
        for (ticket, leftover) in self.machine.leftovers() {
            let place = self
                .several
                .iter()
                .position(|(attempt, ..)| *attempt == ticket.attempt());
            let running = place.map(|place| self.several.remove(place));
            match (leftover, running) {
                (Leftover::Finish, Some((_, _, running))) => {
                    let inner = Arc::clone(self.inner);
                    tokio::spawn(async move {
                        let Judged { settled, .. } = running.await;
                        let now = inner.now();
                        let mut router = inner.router.lock();
                        router.settle(&ticket, &settled, now);
                        inner.tell(router);
                    });
                }
                (Leftover::Cancel, _) | (Leftover::Finish, None) => {
                    let now = self.inner.now();
                    let mut router = self.inner.router.lock();
                    router.cancel(&ticket, now);
                    self.inner.tell(router);
                }
            }
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if !self.over {
            let now = self.inner.now();
            let mut router = self.inner.router.lock();
            self.machine.abandon(&mut router, now);
            self.inner.tell(router);
        }
    }
}

/// The first of several attempts to end; it is taken out.
struct First<'a>(&'a mut SmallVec<[(AttemptId, EndpointId, Boxed); 2]>);

impl Future for First<'_> {
    type Output = (AttemptId, EndpointId, Judged);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        for place in 0..self.0.len() {
            if let Poll::Ready(judged) = self.0[place].2.as_mut().poll(context) {
                let (attempt, endpoint, _) = self.0.remove(place);
                return Poll::Ready((attempt, endpoint, judged));
            }
        }
        Poll::Pending
    }
}

/// One attempt, from sending to its judged end. Owns what it needs, so that it may outlive its call.
fn send(
    inner: &Arc<Inner>,
    endpoint: EndpointId,
    ask: Ask,
    timeout: Duration,
    repeat: Repeat,
) -> impl Future<Output = Judged> + Send + 'static {
    let node = Arc::clone(inner.node(endpoint));
    let meanings = Arc::clone(&inner.meanings);
    async move {
        match node.wired.send(ask.message(), timeout, repeat).await {
            Ok(raw) => judge(raw, &ask, &node, &meanings),
            Err(error) => judge_failure(error),
        }
    }
}

/// The parameters as the method table reads them.
fn text(params: Params<'_>) -> &str {
    match params {
        Params::Absent | Params::Null => "",
        Params::Array(raw) | Params::Object(raw) | Params::Scalar(raw) => raw,
    }
}

fn attempts(inner: &Inner, machine: &Machine) -> Vec<Attempt> {
    let entry = |report: &highwater_core::call::Report| Attempt {
        endpoint: inner.node(report.endpoint).label.to_string(),
        class: report.class,
        detail: report.subclass,
    };
    machine.reports().iter().map(entry).collect()
}
