//! The machine.
//!
//! | file | what it holds |
//! |---|---|
//! | here | the actions, the next step, the next attempt |
//! | `beside` | a second endpoint beside the first: races and hedges |
//! | `ending` | what the end of an attempt, a check or the call means |
//! | `sending` | raw transactions: who gets one, broadcasts, the end |
//! | `looking` | what is asked after one: look-ups, receipts |
//! | `follow` | a call whose pool got other endpoints |

mod beside;
mod ending;
mod follow;
mod looking;
mod sending;

use super::{
    Action, Content, Delivery, Leftover, Outcome, Plan, Privacy, Report, Settled,
    best::Best,
    round::{Rounds, Step},
};
use crate::mutant::{self, Mutant};
use crate::{
    AttemptId, EndpointId, Now,
    classify::{Class, Verdict},
    router::{
        Asked, Choice, Health, Nobody, Pick, Purpose, Query, Router, Slot, Ticket, Tiers,
        UNREACHABLE, Why,
    },
    select::Strategy,
};
use looking::or_soon;
use sending::Sending;
use smallvec::SmallVec;
use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

/// How long a call waits for the first answer of an endpoint that is being tried.
const PROOF: Duration = Duration::from_millis(250);

/// Least time between two looks at something that others change.
const LOOK: Duration = Duration::from_millis(10);

/// The state of one call.
#[derive(Debug)]
pub struct Machine {
    plan: Plan,
    /// Where the call stands that sends a raw transaction.
    sending: Option<Box<Sending>>,
    state: State,
    attempts: u16,
    asked: SmallVec<[Asked; 4]>,
    running: SmallVec<[Running; 2]>,
    /// Attempts that have begun and are to be told to the driver, last first.
    unsent: SmallVec<[(EndpointId, AttemptId); 2]>,
    /// What the call waits for before it asks an endpoint.
    checking: Option<Checking>,
    /// The endpoint that it waits for, where it counts as busy for it.
    bound: Option<(EndpointId, Slot)>,
    /// Endpoints that passed a check, or were asked for their head, in this call.
    checked: SmallVec<[EndpointId; 2]>,
    looked: SmallVec<[EndpointId; 1]>,
    /// Endpoints to be checked beside the call.
    warm: SmallVec<[EndpointId; 4]>,
    raced: bool,
    hedged: bool,
    /// No hedge before this: nobody who could take it was checked.
    hedge_from: Option<Instant>,
    rounds: Rounds,
    reports: SmallVec<[Report; 2]>,
    /// There were reports, and they were taken.
    reported: bool,
    best: Best,
    /// Said "not here".
    absent: Option<Absent>,
    /// The one request that an absence may cost was made, or cannot be.
    confirmed: bool,
    /// The retry budget is empty: the last error is returned, unless a higher tier has somebody
    /// untried.
    refused: bool,
    /// When the call goes to an endpoint whose first answer is out, answered or not.
    proof_by: Option<Instant>,
    /// Whoever was asked was ejected when the call looked.
    may_resort: bool,
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
    /// The fate of a send is open.
    LookUp,
    /// A transaction that was sent is to be mined.
    Receipt,
}

#[derive(Clone, Copy, Debug)]
struct Running {
    ticket: Ticket,
    leftover: Leftover,
}

/// What is asked of an endpoint before the call itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Checking {
    endpoint: EndpointId,
    what: Before,
    reason: Reason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    Chain,
    Head,
}

#[derive(Clone, Copy, Debug)]
struct Absent {
    attempt: AttemptId,
    /// It came from an endpoint at or past the height concerned.
    believed: bool,
    /// How many said so.
    said: u16,
}

impl Machine {
    /// A call that has done nothing yet.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        let background = plan.background;
        let write = plan.write.as_deref().copied();
        let plan = match plan.deadline.checked_add(plan.attempt_timeout) {
            Some(deadline) if mutant::is(Mutant::DeadlineIsLate) => Plan { deadline, ..plan },
            Some(_) | None => plan,
        };
        Self {
            plan,
            sending: write.map(|write| Box::new(Sending::new(write))),
            state: State::Pick(Reason::First),
            attempts: 0,
            asked: SmallVec::new(),
            running: SmallVec::new(),
            unsent: SmallVec::new(),
            checking: None,
            bound: None,
            checked: SmallVec::new(),
            looked: SmallVec::new(),
            warm: SmallVec::new(),
            raced: false,
            hedged: false,
            hedge_from: None,
            rounds: Rounds::default(),
            reports: SmallVec::new(),
            reported: false,
            best: Best::default(),
            absent: None,
            confirmed: false,
            refused: false,
            proof_by: None,
            may_resort: !background,
            last_failed: None,
            tier: 0,
        }
    }

    /// What was tried so far, in order. Once a call has failed, those follow that were not asked for
    /// a reason of their own.
    #[must_use]
    pub fn reports(&self) -> &[Report] {
        &self.reports
    }

    /// Takes what was reported so far, in order.
    pub fn take_reports(&mut self) -> SmallVec<[Report; 2]> {
        self.reported |= !self.reports.is_empty();
        std::mem::take(&mut self.reports)
    }

    /// Whether nothing has failed yet.
    fn is_unhurt(&self) -> bool {
        self.reports.is_empty() && !self.reported
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
        let aside = self.sending.as_mut().and_then(|s| s.take_aside());
        let aside = aside.map(|ticket| (ticket, Leftover::Cancel));
        let running = running.into_iter().map(|r| (r.ticket, r.leftover));
        running.chain(aside).collect()
    }

    /// The next step.
    pub fn poll(&mut self, router: &mut Router, now: Now) -> Action {
        if self.checking.is_none() {
            self.unbind(router);
        }
        if let State::Done(outcome) = self.state {
            return Action::Finish(outcome);
        }
        if let Some(sending) = &mut self.sending {
            sending.began(now.mono);
        }
        if now.mono >= self.deadline() {
            return self.at_deadline(router, now);
        }
        if let Some(action) = self.tell_begun(now) {
            return action;
        }
        while let Some(endpoint) = self.warm.pop() {
            let timeout = self.plan.attempt_timeout;
            if router.may_warm(endpoint, timeout, now) {
                return Action::Warm { endpoint, timeout };
            }
        }
        if let State::Waiting(until, reason) = self.state
            && until <= now.mono
        {
            self.state = State::Pick(reason);
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
                    return Action::WaitUntil(until.min(self.deadline()));
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
            if let ControlFlow::Break(action) = self.spread(router, now) {
                return action;
            }
        }
        let (purpose, tiers) = match reason {
            Reason::Failed | Reason::Confirm if self.plan.background => {
                return self.give_up(router, now);
            }
            Reason::First => (Purpose::First, Tiers::All),
            Reason::Failed if !self.refused && self.rounds.may_go_on(&router.settings().retry) => {
                (Purpose::Next, Tiers::All)
            }
            // Spent; one more attempt on an untried endpoint of a higher tier.
            Reason::Failed if !self.rounds.stepped_up() && !mutant::is(Mutant::NoStepUp) => {
                (Purpose::Next, Tiers::UntriedAbove(self.tier))
            }
            Reason::Failed => return self.give_up(router, now),
            // A holder's word needs no costlier one.
            Reason::Confirm if self.believes_absent() => (Purpose::Confirm, Tiers::Only(self.tier)),
            Reason::Confirm => (Purpose::Confirm, Tiers::All),
            Reason::LookUp | Reason::Receipt => return self.look(router, reason, now),
        };
        match router.pick(&self.query(purpose, tiers), now) {
            Pick::Ask(choice) => self.ask(router, reason, tiers, choice, now),
            Pick::Nobody(nobody) => self.nobody(router, reason, tiers, nobody, now),
        }
    }

    /// Asks this endpoint, or first what must be known of it.
    fn ask(
        &mut self,
        router: &mut Router,
        reason: Reason,
        tiers: Tiers,
        choice: Choice,
        now: Now,
    ) -> Option<Action> {
        let endpoint = choice.endpoint;
        self.may_resort &= choice.resort;
        self.warm.extend(choice.warm);
        let wants_head = choice.wants_head && !self.looked.contains(&endpoint);
        let at_once = choice.verified && !wants_head;
        if reason == Reason::Confirm
            && self.believes_absent()
            && !(at_once && choice.health != Health::Failing)
        {
            return self.give_up(router, now);
        }
        if !choice.verified {
            return self.check(router, endpoint, Before::Chain, reason, now);
        }
        if wants_head {
            self.looked.push(endpoint);
            return self.check(router, endpoint, Before::Head, reason, now);
        }
        if let Tiers::UntriedAbove(_) = tiers {
            self.rounds.step_up();
        } else if reason == Reason::Failed && !self.pays(router, choice.health, now) {
            return None;
        }
        if let (Some(from), Reason::Failed) = (self.last_failed, reason) {
            router.tell_switch(from, endpoint, self.plan.method.id);
        }
        self.tier = choice.tier;
        let leftover = match self.sending {
            Some(_) => Leftover::Finish,
            None => Leftover::Cancel,
        };
        if self.begin(router, endpoint, leftover, now) {
            self.rounds.count();
        }
        self.tell_begun(now)
    }

    /// Whether a move may be made now. A move to an endpoint that is healthy is free, further rounds
    /// are not. Where it is only being tried, its first answer tells which it is: a burst that
    /// comes from a node that died loses nothing, and one that everybody refuses costs little.
    fn pays(&mut self, router: &mut Router, health: Health, now: Now) -> bool {
        if self.rounds.number() == 0 {
            match health {
                Health::Good => return true,
                Health::Unproven => {
                    let patience = PROOF.min(self.timeout(now) / 2);
                    let end = now.mono.checked_add(patience).unwrap_or(now.mono);
                    let end = *self.proof_by.get_or_insert(end);
                    let look = now.mono.checked_add(LOOK).unwrap_or(end);
                    if now.mono < end {
                        self.state = State::Waiting(end.min(look), Reason::Failed);
                    }
                    return now.mono >= end;
                }
                Health::Failing => {}
            }
        }
        if router.spend_retry(now) {
            return true;
        }
        if !self.waits_for_budget(router, now) {
            self.refused = true;
            router.tell_budget(None);
        }
        false
    }

    /// What must be known of an endpoint before the call goes there.
    fn check(
        &mut self,
        router: &mut Router,
        endpoint: EndpointId,
        what: Before,
        reason: Reason,
        now: Now,
    ) -> Option<Action> {
        // A check that was passed and is due again: once that is a new connection, twice it is a
        // driver that reports a check which told nothing.
        let passed = self.checked.iter().filter(|&&known| known == endpoint);
        if what == Before::Chain && passed.count() > 1 {
            self.report_check(endpoint, Class::Internal, Some("chain_id"));
            self.leave_alone(endpoint);
            return None;
        }
        // What the call waits for needs no second check beside it, and one that tells nothing is not
        // repeated by this call.
        self.warm.retain(|warm| *warm != endpoint);
        self.checking = Some(Checking {
            endpoint,
            what,
            reason,
        });
        self.state = State::Busy;
        let timeout = self.timeout(now);
        // Whoever waits for an endpoint is bound for it, or all of a cold burst would choose alike.
        self.bound = router.bind(endpoint, timeout, now).map(|s| (endpoint, s));
        Some(match what {
            Before::Chain => Action::Check { endpoint, timeout },
            Before::Head => Action::Head { endpoint, timeout },
        })
    }

    fn unbind(&mut self, router: &mut Router) {
        if let Some((endpoint, slot)) = self.bound.take() {
            router.unbind(endpoint, slot);
        }
    }

    /// Begins an attempt: it holds its token from now on. False: somebody else took the token.
    fn begin(
        &mut self,
        router: &mut Router,
        endpoint: EndpointId,
        leftover: Leftover,
        now: Now,
    ) -> bool {
        let attempt = AttemptId(self.attempts);
        let timeout = self.timeout(now);
        let Some(ticket) = router.begin(endpoint, attempt, &self.plan, timeout, now) else {
            return false;
        };
        self.attempts = self.attempts.saturating_add(1);
        self.running.push(Running { ticket, leftover });
        self.unsent.insert(0, (endpoint, attempt));
        self.note_asked(endpoint, true);
        self.state = State::Busy;
        true
    }

    /// Tells the driver of an attempt that has begun.
    fn tell_begun(&mut self, now: Now) -> Option<Action> {
        let (endpoint, attempt) = self.unsent.pop()?;
        Some(Action::Send {
            endpoint,
            attempt,
            timeout: self.timeout(now),
        })
    }

    /// Nobody can be asked now.
    fn nobody(
        &mut self,
        router: &mut Router,
        reason: Reason,
        tiers: Tiers,
        nobody: Nobody,
        now: Now,
    ) -> Option<Action> {
        self.may_resort &= nobody.all_ejected;
        if reason == Reason::Confirm {
            return self.unconfirmed(router, now);
        }
        if tiers != Tiers::All {
            return self.give_up(router, now);
        }
        if nobody.eligible == 0 && self.asked.is_empty() && self.is_unhurt() {
            let everybody = nobody.quarantined == nobody.total && nobody.total > 0;
            let outcome = if everybody {
                Outcome::ChainMismatch
            } else {
                Outcome::NoEndpoint
            };
            return self.over(router, outcome, now);
        }
        if self.plan.background || self.waits_in_vain(router, &nobody, now) {
            return self.give_up(router, now);
        }
        let is_open = self.sending.as_ref().is_some_and(|s| s.is_open());
        let nobody = if is_open {
            or_soon(nobody, now)
        } else {
            nobody
        };
        let settings = router.settings().retry;
        let deadline = self.plan.deadline;
        match self
            .rounds
            .step(&settings, &nobody, deadline, router.rng(), now.mono)
        {
            Step::Round(until) => self.state = State::Waiting(until, Reason::Failed),
            Step::Wait(until) => self.state = State::Waiting(until, reason),
            Step::Stop => {
                if self.is_unhurt()
                    && let Some(token) = nobody.token
                {
                    let wait = token.at.saturating_duration_since(now.mono);
                    router.tell_budget(Some(wait));
                    return self.over(router, Outcome::BudgetExhausted { wait }, now);
                }
                return self.give_up(router, now);
            }
        }
        None
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

    fn query(&self, purpose: Purpose, tiers: Tiers) -> Query<'_> {
        Query {
            plan: &self.plan,
            asked: &self.asked,
            looked: &self.looked,
            round: self.rounds.number(),
            purpose,
            tiers,
            may_resort: self.may_resort,
            waited: self.rounds.waited(),
            // Nobody gets a transaction twice that may have it already.
            once_each: self.is_open(),
        }
    }

    fn timeout(&self, now: Now) -> Duration {
        let left = self.deadline().saturating_duration_since(now.mono);
        self.plan.attempt_timeout.min(left)
    }

    /// When the call is over; a look-up and the wait for a receipt have a time of their own.
    fn deadline(&self) -> Instant {
        let own = self.sending.as_ref().and_then(|sending| sending.until());
        own.unwrap_or(self.plan.deadline)
    }

    /// The caller left: everything that runs stops counting and teaches nothing.
    pub fn abandon(&mut self, router: &mut Router, now: Now) {
        self.unbind(router);
        for (ticket, _) in self.leftovers() {
            router.cancel(&ticket, now);
        }
    }
}

#[cfg(test)]
mod tests;
