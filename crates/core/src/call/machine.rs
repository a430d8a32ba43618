//! The machine.

use super::{
    Content, Delivery, Plan, Settled,
    best::Best,
    round::{Rounds, Step},
};
use crate::{
    AttemptId, EndpointId, Now,
    classify::{Class, Verdict},
    heads::Holds,
    method::{Changes, EmptyIs, Failover, Lane, Racing, Sticky},
    select::Strategy,
    router::{Asked, Nobody, Pick, Purpose, Query, Router, Ticket, UNREACHABLE},
};
use smallvec::SmallVec;
use std::time::{Duration, Instant};

/// What the driver has to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Ask the endpoint for its chain id, tell the router, then report with
    /// [`Machine::on_check`].
    Check {
        /// Whom to ask.
        endpoint: EndpointId,
        /// When to give up on it.
        timeout: Duration,
    },
    /// The same, beside the call: it waits for nothing and nothing is reported.
    Warm {
        /// Whom to ask.
        endpoint: EndpointId,
        /// When to give up on it.
        timeout: Duration,
    },
    /// Send the request, then report with [`Machine::on_settled`].
    Send {
        /// Whom to ask.
        endpoint: EndpointId,
        /// The number of this attempt.
        attempt: AttemptId,
        /// When to give up on it.
        timeout: Duration,
    },
    /// Nothing to start; wait for a report, and poll again at this instant at the latest.
    WaitUntil(Instant),
    /// The call is over. What still runs is told by [`Machine::leftovers`].
    Finish(Outcome),
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// With the answer of this attempt.
    Answered(AttemptId),
    /// Every endpoint that may serve it failed, or it may not be repeated. The caller is shown the
    /// error of this attempt: the most useful one of those that have one to show.
    Failed(Option<AttemptId>),
    /// Every endpoint serves another chain.
    ChainMismatch,
    /// No endpoint at all may serve it.
    NoEndpoint,
    /// Nothing may be sent within the budgets for longer than a call waits.
    BudgetExhausted {
        /// The wait it would have needed.
        wait: Duration,
    },
    /// The deadline passed and no endpoint's error can be shown.
    DeadlineExceeded,
}

/// One finished attempt, for the aggregate error.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Whom it asked.
    pub endpoint: EndpointId,
    /// `None` where no request of the call itself went there: its chain check told nothing, or it
    /// is known to serve another chain.
    pub attempt: Option<AttemptId>,
    /// What the failure was.
    pub class: Class,
    /// The finer kind, from a closed set.
    pub subclass: Option<&'static str>,
}

/// What is to become of an attempt that still runs when its call is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// A racer: it runs on to its own end and is settled with the router.
    Finish,
    /// A hedge or the attempt that it copied: it is cancelled.
    Cancel,
}

/// The state of one call.
#[derive(Debug)]
pub struct Machine {
    plan: Plan,
    state: State,
    attempts: u16,
    asked: SmallVec<[Asked; 4]>,
    running: SmallVec<[Running; 2]>,
    checking: Option<EndpointId>,
    /// Racers that are still to be sent, last first.
    racers: SmallVec<[EndpointId; 4]>,
    /// Endpoints to be checked beside the call.
    warm: SmallVec<[EndpointId; 4]>,
    raced: bool,
    hedged: bool,
    rounds: Rounds,
    reports: SmallVec<[Report; 2]>,
    best: Best,
    /// Said "not here": believed when a second one says so, or nobody else can.
    absent: Option<Absent>,
    last_failed: Option<EndpointId>,
    tier: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// An attempt is to be started, for this reason.
    Pick(Reason),
    /// Something runs.
    Busy,
    /// A backoff, a token or the end of an ejection.
    Waiting(Instant, Reason),
    /// Over.
    Done(Outcome),
}

/// Why an attempt is to be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    First,
    Failed,
    Confirm,
}

#[derive(Clone, Copy, Debug)]
struct Running {
    ticket: Ticket,
    leftover: Leftover,
}

#[derive(Clone, Copy, Debug)]
struct Absent {
    attempt: AttemptId,
    endpoint: EndpointId,
    /// It came from an endpoint at or past the height concerned.
    believed: bool,
}

impl Machine {
    /// A call that has done nothing yet.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        Self {
            plan,
            state: State::Pick(Reason::First),
            attempts: 0,
            asked: SmallVec::new(),
            running: SmallVec::new(),
            checking: None,
            racers: SmallVec::new(),
            warm: SmallVec::new(),
            raced: false,
            hedged: false,
            rounds: Rounds::default(),
            reports: SmallVec::new(),
            best: Best::default(),
            absent: None,
            last_failed: None,
            tier: 0,
        }
    }

    /// What was tried so far, in order.
    #[must_use]
    pub fn reports(&self) -> &[Report] {
        &self.reports
    }

    /// How many requests were started, checks not counted.
    #[must_use]
    pub const fn attempts(&self) -> u16 {
        self.attempts
    }

    /// The ticket of an attempt that runs.
    #[must_use]
    pub fn ticket(&self, attempt: AttemptId) -> Option<Ticket> {
        let running = self.running.iter();
        let mut tickets = running.map(|running| running.ticket);
        tickets.find(|ticket| ticket.attempt() == attempt)
    }

    /// What still runs, and what is to become of it. The driver settles each ticket with the router
    /// itself when it finishes, or cancels it.
    pub fn leftovers(&mut self) -> SmallVec<[(Ticket, Leftover); 2]> {
        let running = std::mem::take(&mut self.running);
        running.into_iter().map(|r| (r.ticket, r.leftover)).collect()
    }

    /// The next step.
    pub fn poll(&mut self, router: &mut Router, now: Now) -> Action {
        if let State::Done(outcome) = self.state {
            return Action::Finish(outcome);
        }
        if now.mono >= self.plan.deadline {
            return self.at_deadline();
        }
        while let Some(endpoint) = self.warm.pop() {
            let timeout = self.plan.attempt_timeout;
            if router.may_warm(endpoint, timeout, now) {
                return Action::Warm { endpoint, timeout };
            }
        }
        while let Some(endpoint) = self.racers.pop() {
            if let Some(action) = self.send(router, endpoint, Leftover::Finish, now) {
                return action;
            }
        }
        match self.state {
            State::Waiting(until, reason) if until <= now.mono => self.state = State::Pick(reason),
            State::Waiting(until, _) => return Action::WaitUntil(until.min(self.plan.deadline)),
            State::Pick(_) | State::Busy | State::Done(_) => {}
        }
        loop {
            match self.state {
                State::Pick(reason) => {
                    if let Some(action) = self.start(router, reason, now) {
                        return action;
                    }
                }
                State::Busy => return self.watch(router, now),
                State::Waiting(until, _) => {
                    return Action::WaitUntil(until.min(self.plan.deadline));
                }
                State::Done(outcome) => return Action::Finish(outcome),
            }
        }
    }

    /// Starts an attempt, or says what is to be waited for. `None`: look at the state again.
    fn start(&mut self, router: &mut Router, reason: Reason, now: Now) -> Option<Action> {
        if reason == Reason::First && !self.raced {
            self.raced = true;
            if let Some(action) = self.race(router, now) {
                return Some(action);
            }
        }
        let purpose = match reason {
            Reason::First => Purpose::First,
            Reason::Failed => Purpose::Next,
            Reason::Confirm => Purpose::Confirm,
        };
        let mut above_tier = None;
        if reason == Reason::Failed && !self.rounds.may_go_on(&router.settings().retry) {
            if self.rounds.stepped_up() {
                return self.give_up();
            }
            // Spent; one more attempt on an untried endpoint of a higher tier.
            above_tier = Some(self.tier);
        }
        match router.pick(&self.query(purpose, above_tier), now) {
            Pick::Ask {
                endpoint,
                verified,
                healthy,
                tier,
                warm,
            } => {
                self.warm.extend(warm);
                if reason == Reason::Confirm && !(verified && healthy) && self.believes_absent() {
                    return self.give_up();
                }
                if !verified {
                    self.checking = Some(endpoint);
                    self.state = State::Busy;
                    let timeout = self.timeout(now);
                    return Some(Action::Check { endpoint, timeout });
                }
                if above_tier.is_some() {
                    self.rounds.step_up();
                } else if reason == Reason::Failed && !healthy && !router.spend_retry(now) {
                    return self.refused(router);
                }
                self.tier = tier;
                if let (Some(from), Reason::Failed) = (self.last_failed, reason) {
                    router.tell_switch(from, endpoint, self.plan.method.id);
                }
                self.send(router, endpoint, Leftover::Cancel, now)
            }
            Pick::Nobody(nobody) => self.nobody(router, reason, above_tier.is_some(), nobody, now),
        }
    }

    /// The first attempt of a read that may race goes to the best few at once.
    fn race(&mut self, router: &mut Router, now: Now) -> Option<Action> {
        let width = usize::from(router.settings().race);
        if width < 2 || self.is_shuffled(router) || !self.plan.is_repeatable() || self.plan.method.race != Racing::Yes {
            return None;
        }
        let query = self.query(Purpose::Copy, None);
        let (racers, unchecked) = router.racers(&query, width, now);
        self.warm = unchecked;
        if racers.len() < 2 {
            // One alone is the ordinary first attempt.
            if racers.is_empty() {
                self.warm.clear();
            }
            return None;
        }
        router.tell_race(self.plan.method.id, &racers);
        self.racers = racers;
        self.racers.reverse();
        let first = self.racers.pop()?;
        self.send(router, first, Leftover::Finish, now)
    }

    fn send(
        &mut self,
        router: &mut Router,
        endpoint: EndpointId,
        leftover: Leftover,
        now: Now,
    ) -> Option<Action> {
        let timeout = self.timeout(now);
        let attempt = AttemptId(self.attempts);
        let ticket = router.begin(endpoint, attempt, &self.plan, timeout, now)?;
        self.attempts = self.attempts.saturating_add(1);
        self.rounds.count();
        self.running.push(Running { ticket, leftover });
        self.note_asked(endpoint, true);
        self.state = State::Busy;
        Some(Action::Send {
            endpoint,
            attempt,
            timeout,
        })
    }

    /// Something runs: wait for it, and copy it where it is slow.
    fn watch(&mut self, router: &mut Router, now: Now) -> Action {
        let deadline = self.plan.deadline;
        let Some(at) = self.hedge_at(router) else {
            return Action::WaitUntil(deadline);
        };
        if now.mono < at {
            return Action::WaitUntil(at.min(deadline));
        }
        self.hedged = true;
        let query = self.query(Purpose::Copy, None);
        let slow = self.running.first().map(|running| running.ticket.endpoint());
        if router.may_hedge(now)
            && self.rounds.may_go_on(&router.settings().retry)
            && let Pick::Ask {
                endpoint,
                verified: true,
                ..
            } = router.pick(&query, now)
            && router.spend_retry(now)
            && let Some(action) = self.send(router, endpoint, Leftover::Cancel, now)
        {
            if let Some(slow) = slow {
                router.tell_hedge(slow, endpoint, self.plan.method.id);
            }
            return action;
        }
        Action::WaitUntil(deadline)
    }

    /// A fresh random order for each call leaves no room for races and hedges.
    fn is_shuffled(&self, router: &Router) -> bool {
        let own = self.plan.strategy.as_deref();
        *own.unwrap_or(&router.settings().strategy) == Strategy::Shuffle
    }

    /// When the attempt that runs is slow.
    fn hedge_at(&self, router: &Router) -> Option<Instant> {
        let settings = router.settings().hedge?;
        let may = !self.hedged
            && !self.is_shuffled(router)
            && self.checking.is_none()
            && self.plan.is_repeatable()
            && self.plan.method.hedge == Racing::Yes;
        if !may {
            return None;
        }
        let first = self.running.first()?;
        let tail = router.tail(first.ticket.endpoint(), self.plan.method.id);
        let delay = tail.map_or(Duration::ZERO, |tail| tail.mul_f64(settings.tails.max(0.0)));
        let delay = delay.max(settings.min_delay);
        first.ticket.sent_at().checked_add(delay)
    }

    /// Nobody can be asked now.
    fn nobody(
        &mut self,
        router: &mut Router,
        reason: Reason,
        stepping: bool,
        nobody: Nobody,
        now: Now,
    ) -> Option<Action> {
        if reason == Reason::Confirm {
            return self.unconfirmed();
        }
        if stepping {
            return self.give_up();
        }
        if nobody.eligible == 0 && self.asked.is_empty() && self.reports.is_empty() {
            let everybody = nobody.quarantined == nobody.total && nobody.total > 0;
            self.report_quarantined(router);
            return self.done(if everybody {
                Outcome::ChainMismatch
            } else {
                Outcome::NoEndpoint
            });
        }
        let settings = router.settings().retry;
        let deadline = self.plan.deadline;
        match self
            .rounds
            .step(&settings, &nobody, deadline, router.rng(), now.mono)
        {
            Step::Round(until) => {
                if !router.spend_retry(now) {
                    return self.refused(router);
                }
                self.state = State::Waiting(until, Reason::Failed);
            }
            Step::Wait(until) => self.state = State::Waiting(until, reason),
            Step::Stop => {
                if self.reports.is_empty()
                    && let Some((_, at)) = nobody.token
                {
                    let wait = at.saturating_duration_since(now.mono);
                    router.tell_budget(Some(wait));
                    return self.done(Outcome::BudgetExhausted { wait });
                }
                return self.give_up();
            }
        }
        None
    }

    /// The retry budget is empty: the last error is returned.
    fn refused(&mut self, router: &mut Router) -> Option<Action> {
        router.tell_budget(None);
        self.give_up()
    }

    fn give_up(&mut self) -> Option<Action> {
        if !self.running.is_empty() || self.checking.is_some() {
            self.state = State::Busy;
            return None;
        }
        self.done(match self.absent {
            Some(absent) if absent.believed => Outcome::Answered(absent.attempt),
            Some(_) | None => Outcome::Failed(self.best.attempt()),
        })
    }

    fn believes_absent(&self) -> bool {
        self.absent.is_some_and(|absent| absent.believed)
    }

    /// Nobody can confirm that something is absent. A holder's word is enough; anybody else is
    /// behind, and the call goes on without it.
    fn unconfirmed(&mut self) -> Option<Action> {
        if self.believes_absent() {
            return self.give_up();
        }
        if let Some(behind) = self.asked.last().map(|asked| asked.endpoint) {
            self.reports.push(Report {
                endpoint: behind,
                attempt: self.absent.map(|absent| absent.attempt),
                class: Class::Behind,
                subclass: Some("below"),
            });
        }
        self.state = State::Pick(Reason::Failed);
        None
    }

    fn done(&mut self, outcome: Outcome) -> Option<Action> {
        self.state = State::Done(outcome);
        None
    }

    fn at_deadline(&mut self) -> Action {
        let checking = self.checking.take().map(|endpoint| (endpoint, None));
        let running = self
            .running
            .iter()
            .map(|r| (r.ticket.endpoint(), Some(r.ticket.attempt())));
        for (endpoint, attempt) in checking.into_iter().chain(running) {
            self.reports.push(Report {
                endpoint,
                attempt,
                class: Class::Timeout,
                subclass: None,
            });
        }
        let outcome = match (self.absent, self.best.attempt()) {
            (Some(absent), _) if absent.believed => Outcome::Answered(absent.attempt),
            (_, Some(attempt)) => Outcome::Failed(Some(attempt)),
            (_, None) => Outcome::DeadlineExceeded,
        };
        self.state = State::Done(outcome);
        Action::Finish(outcome)
    }

    /// A check ended. `failure` says why it told nothing; `None` means that the router now knows.
    /// Neither spends an attempt.
    pub fn on_check(&mut self, endpoint: EndpointId, failure: Option<&Verdict>) {
        if self.checking != Some(endpoint) {
            return;
        }
        self.checking = None;
        if let Some(verdict) = failure {
            self.reports.push(Report {
                endpoint,
                attempt: None,
                class: verdict.class,
                subclass: verdict.subclass,
            });
            self.note_unreachable(endpoint);
        }
        let reason = if self.attempts == 0 {
            Reason::First
        } else {
            Reason::Failed
        };
        if self.state == State::Busy {
            self.state = State::Pick(reason);
        }
    }

    /// An attempt ended.
    pub fn on_settled(
        &mut self,
        router: &mut Router,
        attempt: AttemptId,
        settled: &Settled,
        now: Now,
    ) {
        let running = self.running.iter();
        let Some(place) = { running }.position(|r| r.ticket.attempt() == attempt) else {
            return;
        };
        let Running { ticket, .. } = self.running.remove(place);
        self.note_asked(ticket.endpoint(), false);
        router.settle(&ticket, settled, now);
        if matches!(self.state, State::Done(_)) {
            return;
        }
        match settled {
            Settled::Result { content, .. } => match self.weigh(router, &ticket, *content, now) {
                Weight::Answer => self.state = State::Done(Outcome::Answered(attempt)),
                Weight::Absent { believed } => self.on_absent(&ticket, believed),
                Weight::Unbelieved => {
                    self.report(&ticket, Class::Behind, Some("below"));
                    self.next_after(&ticket);
                }
            },
            Settled::Terminal { .. } => self.state = State::Done(Outcome::Answered(attempt)),
            Settled::Failed {
                verdict,
                delivery,
                showable,
                ..
            } => {
                self.report(&ticket, verdict.class, verdict.subclass);
                if *showable {
                    self.best.consider(verdict.class, attempt);
                }
                if self.may_move_on(verdict, *delivery) {
                    self.next_after(&ticket);
                } else {
                    self.state = State::Done(Outcome::Failed(self.best.attempt()));
                }
            }
        }
    }

    /// What a result is worth (semantics §4.3).
    fn weigh(&self, router: &Router, ticket: &Ticket, content: Content, now: Now) -> Weight {
        let height = self.plan.need.height;
        let holds = height.map_or(Holds::Unknown, |height| {
            router.holds(ticket.endpoint(), height, now)
        });
        let row = self.plan.method;
        match content {
            Content::Null if row.empty_is == EmptyIs::Absent || self.is_state() => {
                let below = router.is_below_reference(ticket.endpoint(), now);
                // Who is below a block has no state of it, whatever the others have (scenario M15).
                let lacks = self.is_state() && holds == Holds::No;
                Weight::Absent {
                    believed: holds == Holds::Yes || !(below || lacks),
                }
            }
            Content::EmptyList if row.empty_is == EmptyIs::Suspect && holds == Holds::No => {
                Weight::Unbelieved
            }
            Content::Zero if holds == Holds::No => Weight::Unbelieved,
            Content::Value if holds == Holds::No && self.is_state() => Weight::Unbelieved,
            Content::Value | Content::Zero | Content::Null | Content::EmptyList => Weight::Answer,
        }
    }

    /// Null: held while others run; alone it asks one more, once. The same endpoint
    /// saying so again confirms nothing, and of the state only a holder is believed.
    fn on_absent(&mut self, ticket: &Ticket, believed: bool) {
        let before = self.absent;
        let endpoint = ticket.endpoint();
        if before.is_none() || believed {
            self.absent = Some(Absent {
                attempt: ticket.attempt(),
                endpoint,
                believed,
            });
        }
        if !self.running.is_empty() || !self.racers.is_empty() {
            return;
        }
        let said = self.absent.map_or(ticket.attempt(), |absent| absent.attempt);
        let seconded = before.is_some_and(|absent| absent.endpoint != endpoint) && !self.is_state();
        self.state = if before.is_none() && (self.attempts < 2 || !believed) {
            State::Pick(Reason::Confirm)
        } else if self.believes_absent() || seconded {
            State::Done(Outcome::Answered(said))
        } else {
            State::Pick(Reason::Failed)
        };
    }

    /// A read of state: null cannot be a value of it, and what an endpoint below the block says of
    /// it is not about that block (semantics §7 row 14).
    fn is_state(&self) -> bool {
        self.plan.method.lane == Lane::State
    }

    fn next_after(&mut self, ticket: &Ticket) {
        self.last_failed = Some(ticket.endpoint());
        // A failed racer or hedge does not fail the call while another runs.
        if self.running.is_empty() && self.racers.is_empty() && self.checking.is_none() {
            self.state = match self.absent {
                Some(absent) if absent.believed => State::Done(Outcome::Answered(absent.attempt)),
                Some(_) | None => State::Pick(Reason::Failed),
            };
        }
    }

    fn may_move_on(&self, verdict: &Verdict, delivery: Delivery) -> bool {
        let row = self.plan.method;
        if self.plan.solitary {
            return delivery == Delivery::NotSent;
        }
        match row.failover {
            Failover::Any => verdict.retry_other_endpoint,
            Failover::SameBytes | Failover::Unsent => delivery == Delivery::NotSent,
            // The same, but a private submission and an id that only this endpoint knows are for
            // nobody else, sent or not.
            Failover::None => {
                delivery == Delivery::NotSent
                    && row.state_changing != Changes::Builder
                    && row.sticky == Sticky::None
            }
        }
    }

    fn report(&mut self, ticket: &Ticket, class: Class, subclass: Option<&'static str>) {
        self.reports.push(Report {
            endpoint: ticket.endpoint(),
            attempt: Some(ticket.attempt()),
            class,
            subclass,
        });
    }

    fn report_quarantined(&mut self, router: &Router) {
        for endpoint in router.quarantined() {
            self.reports.push(Report {
                endpoint,
                attempt: None,
                class: Class::WrongChain,
                subclass: None,
            });
        }
    }

    fn note_asked(&mut self, endpoint: EndpointId, running: bool) {
        let round = self.rounds.number();
        match self.asked.iter_mut().find(|a| a.endpoint == endpoint) {
            Some(asked) => {
                asked.round = asked.round.max(round);
                asked.running = running;
            }
            None => self.asked.push(Asked {
                endpoint,
                round,
                running,
            }),
        }
    }

    /// Its check told nothing: this call leaves it alone, the next asks again.
    fn note_unreachable(&mut self, endpoint: EndpointId) {
        self.asked.retain(|asked| asked.endpoint != endpoint);
        self.asked.push(Asked {
            endpoint,
            round: UNREACHABLE,
            running: false,
        });
    }

    fn query(&self, purpose: Purpose, above_tier: Option<u8>) -> Query<'_> {
        Query {
            plan: &self.plan,
            asked: &self.asked,
            round: self.rounds.number(),
            purpose,
            above_tier,
        }
    }

    fn timeout(&self, now: Now) -> Duration {
        let left = self.plan.deadline.saturating_duration_since(now.mono);
        self.plan.attempt_timeout.min(left)
    }

    /// The caller left: everything that runs stops counting and teaches nothing.
    pub fn abandon(&mut self, router: &mut Router, now: Now) {
        for running in std::mem::take(&mut self.running) {
            router.cancel(&running.ticket, now);
        }
    }
}

enum Weight {
    Answer,
    Absent { believed: bool },
    Unbelieved,
}

#[cfg(test)]
mod tests;
