//! Carries out what the call machine decides.
//!
//! The request is written once and its bytes are shared by all attempts. An attempt ends by itself
//! within its timeout; only a transport of the caller's own is held to that by a timer. A call that
//! can neither race nor hedge is one future, without a task and without an allocation for its
//! attempts; otherwise attempts are boxed, so that a racer that lost can run on to its own end in a
//! task on the caller's runtime.
//!
//! A call that is dropped at any await stops counting at once and leaves nothing behind: what ran is
//! cancelled, its trial is free again, and it teaches nothing.

use crate::{
    Answer, Attempt, CallOptions, Error, Request,
    ask::{Ask, Known},
    check::{check, look, warm},
    inner::{Inner, State, place},
    judge::{Judged, Meanings, Shown, judge, judge_failure},
    node::Node,
    upstream::{Repeat, SendError, SendErrorKind},
};
use highwater_core::{
    AttemptId, EndpointId, Now,
    call::{Action, Delivery, Leftover, Machine, Outcome, Plan, Report, Settled},
    jsonrpc::Params,
    learn::Need,
    method::Racing,
    router::{Router, Ticket},
};
use parking_lot::MutexGuard;
use smallvec::SmallVec;
use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context, Poll},
    time::{Duration, Instant},
};

/// Deadlines are cut here, a year, so that adding one to an instant cannot overflow.
pub(crate) const FAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// An attempt that another one may outlive.
type Boxed = Pin<Box<dyn Future<Output = Judged> + Send>>;
type Attempts = SmallVec<[(AttemptId, Boxed); 2]>;

/// Makes one call.
pub(crate) async fn drive(
    inner: &Arc<Inner>,
    request: Request<'_>,
    options: CallOptions,
) -> Result<Answer, Error> {
    if inner.is_closed() {
        return Err(Error::Closed);
    }
    let row = request.descriptor;
    let may_repeat = row.is_read() && !options.solitary;
    let (mut call, mut next) = Call::begin(inner, request, options);
    let mut ask = Ask::new(inner.next_id(), row, request.method, request.params);
    loop {
        next = match next {
            Next::Check(node, endpoint, timeout) => {
                let pool = Arc::downgrade(inner);
                let failure = check(&pool, &node, timeout).await;
                call.machine.on_check(endpoint, failure.as_ref());
                call.step(None)
            }
            Next::Head(node, endpoint, timeout) => {
                // Boxed: it is rare, and would make every call's future larger.
                Box::pin(look(&Arc::downgrade(inner), &node, timeout)).await;
                call.machine.on_head(endpoint);
                call.step(None)
            }
            Next::Warm(node, timeout) => {
                warm(&Arc::downgrade(inner), &node, timeout);
                call.step(None)
            }
            Next::Send(node, attempt, timeout, known) => {
                let repeat = if may_repeat {
                    Repeat::Elsewhere
                } else {
                    Repeat::Never
                };
                if call.beside {
                    let sent = send(inner, node, ask.knowing(known), timeout, repeat);
                    call.several.push((attempt, Box::pin(sent)));
                    call.step(None)
                } else {
                    for (node, timeout) in call.warm.drain(..) {
                        warm(&Arc::downgrade(inner), &node, timeout);
                    }
                    ask.know(known);
                    let judged = exchange(&inner.meanings, &node, &ask, timeout, repeat).await;
                    call.step(Some((attempt, judged)))
                }
            }
            Next::Gone(attempt) => {
                let gone = SendError {
                    kind: SendErrorKind::Reset,
                    delivery: Delivery::NotSent,
                };
                call.step(Some((attempt, judge_failure(gone))))
            }
            Next::Wait(at) => {
                let ended = call.wait(at).await;
                call.step(ended)
            }
            Next::Finish(outcome) => return call.finish(outcome),
        }
    }
}

/// What the machine wants done, with the endpoint that it is to be done at.
enum Next {
    Check(Arc<Node>, EndpointId, Duration),
    Warm(Arc<Node>, Duration),
    Head(Arc<Node>, EndpointId, Duration),
    Send(Arc<Node>, AttemptId, Duration, Known),
    /// An attempt whose endpoint has left before it was sent.
    Gone(AttemptId),
    Wait(Instant),
    Finish(Outcome),
}

/// One call under way. Dropping it gives up what runs.
struct Call<'a> {
    inner: &'a Arc<Inner>,
    method: &'a str,
    machine: Machine,
    /// The endpoints whose places the machine speaks of.
    nodes: Arc<[Arc<Node>]>,
    deadline: Instant,
    /// Attempts may run beside each other.
    beside: bool,
    several: Attempts,
    /// Checks that go out with the only attempt.
    warm: SmallVec<[(Arc<Node>, Duration); 1]>,
    /// Whom each attempt asked.
    sent: SmallVec<[(AttemptId, Arc<Node>); 2]>,
    kept: SmallVec<[(AttemptId, Shown); 1]>,
    /// What failed before the endpoints were replaced.
    earlier: Vec<Attempt>,
    over: bool,
}

impl<'a> Call<'a> {
    /// Plans a call and takes its first step.
    fn begin(inner: &'a Arc<Inner>, request: Request<'a>, options: CallOptions) -> (Self, Next) {
        let row = request.descriptor;
        let need = Need::of_call(row, text(request.params));
        let now = inner.now();
        let deadline = now.mono + options.deadline.unwrap_or(inner.deadline).min(FAR);
        let timeout = options.timeout.unwrap_or(inner.timeout);
        let mut plan = Plan::new(row, request.method, deadline, timeout);
        plan.need = need;
        plan.strategy = options.strategy;
        plan.solitary = options.solitary;
        let mut state = inner.lock();
        let wake = state.router.on_call(now);
        plan.allowed = state.router.allowed(request.method);
        let beside = may_run_beside(&state.router, &plan);
        plan.one_at_a_time = !beside;
        let mut call = Self {
            inner,
            method: request.method,
            machine: Machine::new(plan),
            nodes: Arc::clone(&state.nodes),
            deadline,
            beside,
            several: SmallVec::new(),
            warm: SmallVec::new(),
            sent: SmallVec::new(),
            kept: SmallVec::new(),
            earlier: Vec::new(),
            over: false,
        };
        let next = call.poll(state, now);
        if wake {
            inner.wake_probes();
        }
        (call, next)
    }

    /// Reports what ended, if something did, and asks for what is next.
    fn step(&mut self, ended: Option<(AttemptId, Judged)>) -> Next {
        if let Some((attempt, judged)) = &ended
            && let (Settled::Failed { verdict, .. }, Some(node)) =
                (&judged.settled, self.node(*attempt))
        {
            tracing::debug!(endpoint = %node.label, class = ?verdict.class, "attempt failed");
        }
        let now = self.inner.now();
        let mut state = self.inner.lock();
        if !Arc::ptr_eq(&self.nodes, &state.nodes) {
            self.follow(&state);
        }
        if let Some((attempt, Judged { settled, shown })) = ended {
            self.kept.extend(shown.map(|shown| (attempt, shown)));
            self.machine
                .on_settled(&mut state.router, attempt, &settled, now);
        }
        self.poll(state, now)
    }

    fn poll(&mut self, mut state: MutexGuard<'_, State>, now: Now) -> Next {
        let next = match self.machine.poll(&mut state.router, now) {
            Action::Check { endpoint, timeout } => {
                Next::Check(Arc::clone(state.node(endpoint)), endpoint, timeout)
            }
            Action::Head { endpoint, timeout } => {
                Next::Head(Arc::clone(state.node(endpoint)), endpoint, timeout)
            }
            Action::Warm { endpoint, timeout } => {
                Next::Warm(Arc::clone(state.node(endpoint)), timeout)
            }
            Action::Send {
                endpoint: EndpointId::GONE,
                attempt,
                ..
            } => Next::Gone(attempt),
            Action::Send {
                endpoint,
                attempt,
                timeout,
            } => {
                let node = Arc::clone(state.node(endpoint));
                self.sent.push((attempt, Arc::clone(&node)));
                let known = Known {
                    head: state.router.reference_head(now),
                    chain: state.router.chain(),
                };
                if !self.beside {
                    // Nothing but checks can follow before its end, so one turn of the lock is enough.
                    while let Action::Warm { endpoint, timeout } =
                        self.machine.poll(&mut state.router, now)
                    {
                        self.warm.push((Arc::clone(state.node(endpoint)), timeout));
                    }
                }
                Next::Send(node, attempt, timeout, known)
            }
            Action::WaitUntil(at) => Next::Wait(at),
            Action::Finish(outcome) => Next::Finish(outcome),
        };
        self.inner.tell(state);
        next
    }

    /// The endpoints were replaced under way.
    #[cold]
    fn follow(&mut self, state: &State) {
        let reports = self.machine.take_reports();
        let told = reports.iter().map(|report| self.attempt(report));
        let told: Vec<_> = told.collect();
        self.earlier.extend(told);
        let before = std::mem::replace(&mut self.nodes, Arc::clone(&state.nodes));
        self.machine.follow(
            |endpoint| place(&state.nodes, before.get(endpoint.index())?),
            state.router.allowed(self.method),
        );
    }

    /// Waits for the first of the attempts that run, at most until then.
    async fn wait(&mut self, at: Instant) -> Option<(AttemptId, Judged)> {
        // Attempts end by themselves before the deadline.
        if at >= self.deadline && !self.several.is_empty() {
            return Some(First(&mut self.several).await);
        }
        let timer = tokio::time::sleep_until(at.into());
        tokio::select! {
            biased;
            ended = First(&mut self.several), if !self.several.is_empty() => Some(ended),
            () = timer => None,
        }
    }

    fn finish(mut self, outcome: Outcome) -> Result<Answer, Error> {
        self.over = true;
        // The only attempt of a call that goes to one at a time has ended before the call does.
        if self.beside {
            self.let_go();
        }
        let shown = match outcome {
            Outcome::Answered(attempt) | Outcome::Failed(Some(attempt)) => Some(attempt),
            Outcome::Failed(None)
            | Outcome::ChainMismatch
            | Outcome::NoEndpoint
            | Outcome::BudgetExhausted { .. }
            | Outcome::DeadlineExceeded => None,
        };
        if let Some(attempt) = shown
            && let Some(kept) = self.kept.iter().position(|(kept, _)| *kept == attempt)
            && let Some(node) = self.node(attempt)
        {
            let endpoint = Arc::clone(&node.label);
            let (_, shown) = self.kept.swap_remove(kept);
            return Ok(Answer {
                body: shown.body,
                span: shown.span,
                is_error: shown.is_error,
                endpoint,
                attempts: self.machine.attempts(),
            });
        }
        Err(match outcome {
            Outcome::Answered(_) | Outcome::Failed(_) => Error::AllEndpointsFailed {
                attempts: self.attempts(),
            },
            Outcome::DeadlineExceeded => Error::DeadlineExceeded {
                attempts: self.attempts(),
            },
            Outcome::ChainMismatch => self.inner.chain_mismatch(),
            Outcome::NoEndpoint => Error::NoEndpoint,
            Outcome::BudgetExhausted { wait } => Error::BudgetExhausted {
                endpoints: self.inner.spent(),
                wait,
            },
        })
    }

    /// Racers that lost run on to their end, hedges are cancelled.
    fn let_go(&mut self) {
        for (ticket, leftover) in self.machine.leftovers() {
            let is_its = |(attempt, _): &(AttemptId, Boxed)| *attempt == ticket.attempt();
            let place = self.several.iter().position(is_its);
            let running = place.map(|place| self.several.remove(place));
            // Cancelled where nobody settles it, the end of the runtime included.
            let loser = Loser {
                pool: Arc::downgrade(self.inner),
                ticket: Some(ticket),
            };
            if let (Leftover::Finish, Some((_, running))) = (leftover, running) {
                tokio::spawn(async move { loser.settle(&running.await.settled) });
            }
        }
    }

    /// Whom an attempt asked.
    fn node(&self, attempt: AttemptId) -> Option<&Arc<Node>> {
        let mut sent = self.sent.iter();
        sent.find(|(sent, _)| *sent == attempt)
            .map(|(_, node)| node)
    }

    fn attempts(&mut self) -> Vec<Attempt> {
        let mut attempts = std::mem::take(&mut self.earlier);
        attempts.extend(
            self.machine
                .reports()
                .iter()
                .map(|report| self.attempt(report)),
        );
        attempts
    }

    fn attempt(&self, report: &Report) -> Attempt {
        let asked = report.attempt.and_then(|attempt| self.node(attempt));
        let node = asked.or_else(|| self.nodes.get(report.endpoint.index()));
        Attempt {
            endpoint: node.map(|node| node.label.to_string()).unwrap_or_default(),
            class: report.class,
            detail: report.subclass,
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if !self.over {
            let now = self.inner.now();
            let mut state = self.inner.lock();
            self.machine.abandon(&mut state.router, now);
            self.inner.tell(state);
        }
    }
}

/// A request whose call is over. Dropped before its end, it is cancelled.
struct Loser {
    pool: Weak<Inner>,
    ticket: Option<Ticket>,
}

impl Loser {
    fn settle(mut self, settled: &Settled) {
        if let (Some(ticket), Some(inner)) = (self.ticket.take(), self.pool.upgrade()) {
            let now = inner.now();
            let mut state = inner.lock();
            state.router.settle(&ticket, settled, now);
            inner.tell(state);
        }
    }
}

impl Drop for Loser {
    fn drop(&mut self) {
        if let (Some(ticket), Some(inner)) = (self.ticket.take(), self.pool.upgrade()) {
            let now = inner.now();
            let mut state = inner.lock();
            state.router.cancel(&ticket, now);
            inner.tell(state);
        }
    }
}

/// The first of several attempts to end; it is taken out.
struct First<'a>(&'a mut Attempts);

impl Future for First<'_> {
    type Output = (AttemptId, Judged);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        for place in 0..self.0.len() {
            if let Poll::Ready(judged) = self.0[place].1.as_mut().poll(context) {
                let (attempt, _) = self.0.remove(place);
                return Poll::Ready((attempt, judged));
            }
        }
        Poll::Pending
    }
}

/// One attempt, from sending to its judged end.
async fn exchange(
    meanings: &Meanings,
    node: &Node,
    ask: &Ask,
    timeout: Duration,
    repeat: Repeat,
) -> Judged {
    match node.wired.send(ask.message(), timeout, repeat).await {
        Ok(raw) => judge(raw, ask, node, meanings),
        Err(error) => judge_failure(error),
    }
}

/// The same, owning what it needs, so that it may outlive its call.
fn send(
    inner: &Arc<Inner>,
    node: Arc<Node>,
    ask: Ask,
    timeout: Duration,
    repeat: Repeat,
) -> impl Future<Output = Judged> + Send + 'static {
    let meanings = Arc::clone(&inner.meanings);
    async move { exchange(&meanings, &node, &ask, timeout, repeat).await }
}

/// Whether a call may have two attempts at once.
fn may_run_beside(router: &Router, plan: &Plan) -> bool {
    let (settings, row) = (router.settings(), plan.method);
    let races = settings.race >= 2 && row.race == Racing::Yes;
    let hedges = settings.hedge.is_some() && row.hedge == Racing::Yes;
    (races || hedges) && router.len() > 1 && plan.is_repeatable()
}

/// The parameters as the method table reads them.
fn text(params: Params<'_>) -> &str {
    match params {
        Params::Absent | Params::Null => "",
        Params::Array(raw) | Params::Object(raw) | Params::Scalar(raw) => raw,
    }
}
