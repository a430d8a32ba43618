//! Carries out what the call machine decides; what only raw transactions need is in `submitting`.
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
    answer::Origin,
    ask::{Ask, Known},
    attempt::{Attempts, Boxed, First, exchange, fold, send},
    check::{check, look, warm},
    fold::Fold,
    inner::{Inner, State, place},
    judge::{Judged, Shown, judge_failure},
    node::Node,
    reads::News,
    sends::Submission,
    under_way::UnderWay,
    upstream::{Repeat, SendError, SendErrorKind},
};
use highwater_core::{
    AttemptId, EndpointId, Now,
    call::{Action, Delivery, Leftover, Machine, Outcome, Plan, Report, Settled},
    chains,
    jsonrpc::Params,
    learn::Need,
    method::Racing,
    router::Router,
    settings::BatchSettings,
};
use parking_lot::MutexGuard;
use smallvec::SmallVec;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

mod submitting;

/// Deadlines are cut here, a year, so that adding one to an instant cannot overflow.
pub(crate) const FAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// A head that many wait for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Urgent {
    /// What its first caller has seen: whoever is known to be there is asked before others, since a head
    /// below it confirms nothing for that caller (P-2, P-8).
    pub(crate) floor: Option<u64>,
}

/// What binds a call beside its options.
#[derive(Clone, Default)]
pub(crate) struct Terms {
    /// The blocks that it is about.
    pub(crate) need: Need,
    /// Its latest block was made a number (P-3).
    pub(crate) pinned: bool,
    /// The head that an endpoint must have (P-8).
    pub(crate) least_head: Option<u64>,
    /// The one endpoint that may serve it, and with one attempt.
    pub(crate) only: Option<Arc<Node>>,
    /// The endpoint that is asked first while it can be.
    pub(crate) first: Option<Arc<Node>>,
    /// The label of an endpoint that others are asked before.
    pub(crate) avoid: Option<Arc<str>>,
    /// Many wait for it.
    pub(crate) urgent: Option<Urgent>,
    /// Who is told of its progress (P-10).
    pub(crate) news: Option<Arc<News>>,
    /// The time, where it has just been looked at.
    pub(crate) now: Option<Now>,
}

/// Makes one call.
pub(crate) async fn drive(
    inner: &Arc<Inner>,
    request: Request<'_>,
    options: CallOptions,
    terms: Terms,
) -> Result<Answer, Error> {
    let row = request.descriptor;
    let ask = Ask::new(inner.next_id(), row, request.method, request.params);
    let carried = carry(inner, request, ask, options, terms).await?;
    Ok(carried.answer)
}

/// An answer, and the time at which the call was over.
pub(crate) struct Carried {
    pub(crate) answer: Answer,
    pub(crate) now: Now,
}

/// Makes a call whose request is written already.
///
/// What a block captures it holds once, where an async function would hold its arguments a second time.
#[expect(
    clippy::manual_async_fn,
    reason = "an async function holds its arguments twice"
)]
pub(crate) fn carry<'a>(
    inner: &'a Arc<Inner>,
    request: Request<'a>,
    mut ask: Ask,
    options: CallOptions,
    terms: Terms,
) -> impl Future<Output = Result<Carried, Error>> + Send + 'a {
    async move {
        if inner.is_closed() {
            return Err(Error::Closed);
        }
        inner.wake_keeper();
        let repeat = if request.descriptor.is_read() && !options.solitary {
            Repeat::Elsewhere
        } else {
            Repeat::Never
        };
        let (mut call, mut next) = Call::begin(inner, request, options, terms);
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
                Next::Send(node, attempt, timeout, known, most) => {
                    if call.beside {
                        let ask = ask.knowing(known);
                        let folded = fold(inner, call.fold.as_ref(), &node, &ask, timeout, most);
                        let sent = send(inner, node, ask, timeout, repeat, folded);
                        call.several.push((attempt, Box::pin(sent)));
                        call.step(None)
                    } else {
                        for (node, timeout) in call.warm.drain(..) {
                            warm(&Arc::downgrade(inner), &node, timeout);
                        }
                        ask.know(known);
                        let folded = fold(inner, call.fold.as_ref(), &node, &ask, timeout, most);
                        let judged = match folded {
                            Some(folded) => folded.await,
                            None => exchange(&inner.meanings, &node, &ask, timeout, repeat).await,
                        };
                        call.step(Some((attempt, judged)))
                    }
                }
                Next::Look(node, attempt, timeout, method) => {
                    // Beside what may still run, and boxed: it is rare.
                    let asked = call.question(method);
                    let sent = send(inner, node, asked, timeout, Repeat::Elsewhere, None);
                    call.several.push((attempt, Box::pin(sent)));
                    call.step(None)
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
                Next::Finish(outcome) => {
                    let answer = call.finish(outcome)?;
                    let now = call.now;
                    return Ok(Carried { answer, now });
                }
            }
        }
    }
}

/// What the machine wants done, with the endpoint that it is to be done at.
enum Next {
    Check(Arc<Node>, EndpointId, Duration),
    Warm(Arc<Node>, Duration),
    Head(Arc<Node>, EndpointId, Duration),
    /// With the most calls that may share its body.
    Send(Arc<Node>, AttemptId, Duration, Known, u16),
    /// Whether a transaction is there, or mined.
    Look(Arc<Node>, AttemptId, Duration, &'static str),
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
    /// The raw transaction that it sends.
    submission: Option<Box<Submission>>,
    /// The endpoints whose places the machine speaks of.
    nodes: Arc<[Arc<Node>]>,
    deadline: Instant,
    /// How it finds calls to share a body with.
    fold: Option<Fold>,
    /// Attempts may run beside each other.
    beside: bool,
    several: Attempts,
    /// Checks that go out with the only attempt.
    warm: SmallVec<[(Arc<Node>, Duration); 1]>,
    /// Whom each attempt asked.
    sent: SmallVec<[(AttemptId, Arc<Node>); 2]>,
    kept: SmallVec<[(AttemptId, Shown); 1]>,
    /// What came with the answers of those that failed: a status, a wait.
    told: Vec<(AttemptId, Option<u16>, Option<Duration>)>,
    /// What failed before the endpoints were replaced.
    earlier: Vec<Attempt>,
    over: bool,
    news: Option<Arc<News>>,
    /// When it was last looked at.
    now: Now,
}

impl<'a> Call<'a> {
    /// Plans a call and takes its first step.
    fn begin(
        inner: &'a Arc<Inner>,
        request: Request<'a>,
        options: CallOptions,
        terms: Terms,
    ) -> (Self, Next) {
        let row = request.descriptor;
        let submission = Submission::of(row, request.params);
        let about = inner.about(row, request.params);
        let sends = options.sends.unwrap_or(inner.sends);
        let now = terms.now.unwrap_or_else(|| inner.now());
        let mut state = inner.lock();
        let wake = state.router.on_call(now);
        let (timeout, deadline) = if row.is_write() {
            let chain = state.router.chain().and_then(chains::by_id);
            sends.times(
                submission.as_deref(),
                chain,
                options.timeout,
                options.deadline,
            )
        } else {
            (
                options.timeout.unwrap_or(inner.timeout),
                options.deadline.unwrap_or(inner.deadline),
            )
        };
        let deadline = now.mono + deadline.min(FAR);
        let mut plan = Plan::new(row, request.method, deadline, timeout);
        plan.need = terms.need;
        plan.pinned = terms.pinned;
        plan.least_head = terms.least_head;
        plan.urgent = terms.urgent.is_some();
        plan.strategy = options.strategy;
        plan.solitary = options.solitary;
        plan.privacy = sends.privacy(row);
        plan.allowed = state.router.allowed(request.method);
        let floor = terms.urgent.and_then(|urgent| urgent.floor);
        if let Some(only) = &terms.only {
            plan.only = Some(state.place(only).unwrap_or(EndpointId::GONE));
            plan.once = true;
        }
        let first = terms.first.as_ref().and_then(|node| state.place(node));
        plan.prefer = match (&terms.avoid, about, floor) {
            _ if first.is_some() => Some(first.into_iter().collect()),
            (Some(avoid), _, _) => Some(state.others(avoid)),
            (None, Some(about), _) => state.seen_by(about.account, now),
            (None, None, Some(floor)) => Some(state.router.holders(floor, now)),
            (None, None, None) => None,
        };
        if let Some(submission) = &submission {
            let chain = state.router.chain().and_then(chains::by_id);
            let write = submission.write(row, &sends, options.solitary, chain);
            plan.write = Some(Box::new(write));
            state.sent.forwarded.begin(submission.hash);
        }
        let BatchSettings { client, window, .. } = state.router.settings().batch;
        let fold = match options.batch {
            _ if !plan.is_repeatable() => None,
            _ if !window.is_zero() => Some(Fold::Window(window)),
            batch => batch.filter(|_| client).map(Fold::Client),
        };
        let beside = may_run_beside(&state.router, &plan);
        plan.one_at_a_time = !beside;
        let mut call = Self {
            inner,
            method: request.method,
            machine: Machine::new(plan),
            submission,
            nodes: Arc::clone(&state.nodes),
            deadline,
            fold,
            beside,
            several: SmallVec::new(),
            warm: SmallVec::new(),
            sent: SmallVec::new(),
            kept: SmallVec::new(),
            told: Vec::new(),
            earlier: Vec::new(),
            over: false,
            news: terms.news,
            now,
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
            if judged.status.is_some() || verdict.retry_after.is_some() {
                self.told
                    .push((*attempt, judged.status, verdict.retry_after));
            }
        }
        let now = self.inner.now();
        self.now = now;
        if let Some(news) = &self.news {
            news.tell(now.mono);
        }
        let mut state = self.inner.lock();
        if !Arc::ptr_eq(&self.nodes, &state.nodes) {
            self.follow(&state);
        }
        if let Some((attempt, judged)) = ended {
            match &self.submission {
                Some(_) => self.on_submitted(&mut state, attempt, judged, now),
                None => {
                    let Judged { settled, shown, .. } = judged;
                    self.kept.extend(shown.map(|shown| (attempt, shown)));
                    self.machine
                        .on_settled(&mut state.router, attempt, &settled, now);
                }
            }
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
                let most = match &self.fold {
                    Some(_) => node.most(state.router.batch_limit(endpoint, now)),
                    None => 1,
                };
                if !self.beside {
                    // Nothing but checks can follow before its end, so one turn of the lock is enough.
                    while let Action::Warm { endpoint, timeout } =
                        self.machine.poll(&mut state.router, now)
                    {
                        self.warm.push((Arc::clone(state.node(endpoint)), timeout));
                    }
                }
                Next::Send(node, attempt, timeout, known, most)
            }
            Action::LookUp {
                endpoint,
                attempt,
                timeout,
            } => self.look(
                &state,
                endpoint,
                attempt,
                timeout,
                "eth_getTransactionByHash",
            ),
            Action::Receipt {
                endpoint,
                attempt,
                timeout,
            } => self.look(
                &state,
                endpoint,
                attempt,
                timeout,
                "eth_getTransactionReceipt",
            ),
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

    fn finish(&mut self, outcome: Outcome) -> Result<Answer, Error> {
        self.over = true;
        self.remember();
        // The only attempt of a read that goes to one at a time has ended before the call does.
        if self.beside || self.submission.is_some() {
            self.let_go();
        }
        let shown = match outcome {
            Outcome::Answered(attempt)
            | Outcome::Found(attempt)
            | Outcome::Failed(Some(attempt)) => self.shown(attempt),
            Outcome::Sent | Outcome::Late => self.of_submission(outcome),
            Outcome::Failed(None)
            | Outcome::Ambiguous(_)
            | Outcome::ChainMismatch
            | Outcome::NoEndpoint
            | Outcome::BudgetExhausted { .. }
            | Outcome::DeadlineExceeded => None,
        };
        if let Some((node, shown)) = shown {
            let endpoint = Arc::clone(&node.label);
            return Ok(Answer {
                body: shown.body,
                span: shown.span,
                is_error: shown.is_error,
                endpoint,
                attempts: self.machine.attempts(),
                transaction: self.machine.transaction(),
                origin: Origin::Endpoint,
                block: None,
            });
        }
        Err(match outcome {
            Outcome::Ambiguous(attempt) => self.ambiguous(attempt),
            Outcome::Answered(_)
            | Outcome::Failed(_)
            | Outcome::Sent
            | Outcome::Found(_)
            | Outcome::Late => Error::AllEndpointsFailed {
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

    /// What an attempt brought that can be shown, and who.
    fn shown(&mut self, attempt: AttemptId) -> Option<(Arc<Node>, Shown)> {
        let place = self.kept.iter().position(|(kept, _)| *kept == attempt)?;
        let (_, shown) = self.kept.swap_remove(place);
        Some((Arc::clone(self.node(attempt)?), shown))
    }

    /// Racers that lost run on to their end, hedges are cancelled.
    fn let_go(&mut self) {
        for (ticket, leftover) in self.machine.leftovers() {
            let is_its = |(attempt, _): &(AttemptId, Boxed)| *attempt == ticket.attempt();
            let place = self.several.iter().position(is_its);
            let running = place.map(|place| self.several.remove(place));
            // Cancelled where nobody settles it, the end of the runtime included.
            let loser = UnderWay::new(Arc::downgrade(self.inner), ticket);
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
        let told = report.attempt.and_then(|attempt| {
            let mut told = self.told.iter();
            told.find(|(told, ..)| *told == attempt)
        });
        Attempt {
            endpoint: node.map(|node| node.label.to_string()).unwrap_or_default(),
            class: report.class,
            detail: report.subclass,
            status: told.and_then(|(_, status, _)| *status),
            retry_after: told.and_then(|(.., wait)| *wait),
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if !self.over {
            let now = self.inner.now();
            self.remember();
            let mut state = self.inner.lock();
            self.machine.abandon(&mut state.router, now);
            self.inner.tell(state);
        }
    }
}

/// Whether a call may have two attempts at once.
fn may_run_beside(router: &Router, plan: &Plan) -> bool {
    let (settings, row) = (router.settings(), plan.method);
    let races = settings.race >= 2 && row.race == Racing::Yes;
    let hedges = plan.hedge(settings).is_some() && row.hedge == Racing::Yes;
    let reads = (races || hedges) && plan.is_repeatable();
    let spreads = plan.write.as_ref().is_some_and(|write| write.width() > 1);
    (reads || spreads) && router.len() > 1
}

/// The parameters as the method table reads them.
pub(crate) fn text(params: Params<'_>) -> &str {
    match params {
        Params::Absent | Params::Null => "",
        Params::Array(raw) | Params::Object(raw) | Params::Scalar(raw) => raw,
    }
}
