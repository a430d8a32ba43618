//! What the end of an attempt, of a check or of the call means.

use super::{
    Absent, Action, Before, Class, Content, Delivery, Machine, Nobody, Outcome, Reason, Report,
    Router, Running, Settled, State, Ticket, UNREACHABLE, Verdict, Why,
};
use crate::mutant::{self, Mutant};
use crate::{
    AttemptId, EndpointId, Now,
    call::write::Echo,
    heads::Holds,
    method::{CacheClass, Changes, EmptyIs, Failover, Lane, Sticky},
};

/// What a result is worth (semantics §4.3).
enum Weight {
    Answer,
    /// Null that says "not here".
    Absent {
        believed: bool,
    },
    /// Of a block that the endpoint has not reached.
    Unbelieved,
}

impl Machine {
    /// A check ended. `failure` says why it told nothing; `None` means that the router now knows.
    /// Neither spends an attempt, unless the call has asked this endpoint before: then it is
    /// checked again because it could not be reached, and that is one more attempt to reach it.
    pub fn on_check(&mut self, endpoint: EndpointId, failure: Option<&Verdict>) {
        let Some(reason) = self.end_of(endpoint, Before::Chain) else {
            return;
        };
        match failure {
            None => self.checked.push(endpoint),
            Some(verdict) => {
                // Whoever is ejected by now was not when the call began.
                self.may_resort = false;
                let was_asked = self.asked.iter().any(|asked| asked.endpoint == endpoint);
                self.report_check(endpoint, verdict.class, verdict.subclass);
                if was_asked {
                    self.rounds.count();
                } else {
                    self.leave_alone(endpoint);
                }
            }
        }
        if self.state == State::Busy {
            self.state = State::Pick(reason);
        }
    }

    /// The head of an endpoint was asked for, whatever came of it: the router knows.
    pub fn on_head(&mut self, endpoint: EndpointId) {
        if let Some(reason) = self.end_of(endpoint, Before::Head)
            && self.state == State::Busy
        {
            self.state = State::Pick(reason);
        }
    }

    fn end_of(&mut self, endpoint: EndpointId, what: Before) -> Option<Reason> {
        let awaited = |c: &mut super::Checking| (c.endpoint, c.what) == (endpoint, what);
        Some(self.checking.take_if(awaited)?.reason)
    }

    /// An attempt ended. Of a call that sends a raw transaction [`Machine::on_sent`] wants to know
    /// more.
    pub fn on_settled(
        &mut self,
        router: &mut Router,
        attempt: AttemptId,
        settled: &Settled,
        now: Now,
    ) {
        if self.sending.is_some() {
            self.on_sent(router, attempt, settled, Echo::Nothing, now);
            return;
        }
        let mut running = self.running.iter();
        let Some(place) = running.position(|r| r.ticket.attempt() == attempt) else {
            return;
        };
        let Running { ticket, .. } = self.running.remove(place);
        self.unsent.retain(|(_, unsent)| *unsent != attempt);
        self.note_asked(ticket.endpoint(), false);
        // Weighed first: what the answer teaches is not what was known when it came.
        let weight = match settled {
            Settled::Result { content, .. } => self.weigh(router, &ticket, *content, now),
            Settled::Terminal { .. } | Settled::Failed { .. } => Weight::Answer,
        };
        router.settle(&ticket, settled, now);
        if matches!(self.state, State::Done(_)) {
            return;
        }
        match settled {
            Settled::Result { .. } => match weight {
                Weight::Answer => self.state = State::Done(Outcome::Answered(attempt)),
                Weight::Absent { believed } => self.on_absent(&ticket, believed),
                Weight::Unbelieved => {
                    self.report(&ticket, Class::Behind, Some("below"));
                    self.next_after(&ticket);
                }
            },
            Settled::Terminal { .. } if mutant::is(Mutant::TerminalMovesOn) => {
                self.next_after(&ticket);
            }
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
                let ends = mutant::is(Mutant::FirstFailureEnds);
                if !ends && self.may_move_on(verdict, *delivery) {
                    self.next_after(&ticket);
                } else {
                    self.over(router, Outcome::Failed(self.best.attempt()), now);
                }
            }
        }
    }

    fn weigh(&self, router: &Router, ticket: &Ticket, content: Content, now: Now) -> Weight {
        // Whoever may not ask a second endpoint takes what comes.
        if !self.plan.is_repeatable() || mutant::is(Mutant::NullIsAnAnswer) {
            return Weight::Answer;
        }
        let row = self.plan.method;
        let reached = self.plan.need.height.map_or(Holds::Unknown, |height| {
            router.holds(ticket.endpoint(), height, now)
        });
        let below = reached == Holds::No;
        if content == Content::Null && row.null_is_absent() {
            return if below && row.lane == Lane::State {
                Weight::Unbelieved
            } else {
                let believed =
                    reached == Holds::Yes || !router.is_below_reference(ticket.endpoint(), now);
                Weight::Absent { believed }
            };
        }
        // A block proves itself by its content; state, ranges and traces of a block do not.
        let unproven = match content {
            Content::Zero => true,
            Content::EmptyList if row.empty_is == EmptyIs::Suspect => true,
            Content::Null | Content::EmptyList | Content::Value => match row.lane {
                Lane::State | Lane::Range | Lane::Trace => true,
                Lane::Light | Lane::Write | Lane::Stream | Lane::Denied => false,
            },
        };
        if below && unproven {
            Weight::Unbelieved
        } else {
            Weight::Answer
        }
    }

    /// Null: held while others run; alone it asks one more, once.
    fn on_absent(&mut self, ticket: &Ticket, believed: bool) {
        if !believed {
            self.report(ticket, Class::Behind, Some("below"));
        }
        let attempt = ticket.attempt();
        let absent = match self.absent {
            Some(held) if held.believed || !believed => Absent {
                said: held.said.saturating_add(1),
                ..held
            },
            held => Absent {
                attempt,
                believed,
                said: held.map_or(1, |held| held.said.saturating_add(1)),
            },
        };
        self.absent = Some(absent);
        if !self.running.is_empty() {
            return;
        }
        let enough = self.confirmed || self.attempts > 1 || mutant::is(Mutant::AbsentNeedsNobody);
        if absent.believed && enough {
            self.state = State::Done(Outcome::Answered(absent.attempt));
        } else if self.confirmed {
            // Both are behind, which is a reason to ask somebody else as any failure is.
            self.last_failed = Some(ticket.endpoint());
            self.state = State::Pick(Reason::Failed);
        } else {
            self.confirmed = true;
            self.state = State::Pick(Reason::Confirm);
        }
    }

    pub(super) fn believes_absent(&self) -> bool {
        self.absent.is_some_and(|absent| absent.believed)
    }

    /// Nobody can confirm that something is absent. A holder's word is enough; anybody else is
    /// behind, and the call goes on without it.
    pub(super) fn unconfirmed(&mut self, router: &mut Router, now: Now) -> Option<Action> {
        if self.believes_absent() {
            return self.give_up(router, now);
        }
        self.state = State::Pick(Reason::Failed);
        None
    }

    /// Whether everybody who may serve the call said what they would say again until it must end: then
    /// that is the truth, and no round helps.
    pub(super) fn waits_in_vain(&self, router: &Router, nobody: &Nobody, now: Now) -> bool {
        let all_asked = self.asked.len() >= usize::from(nobody.eligible);
        let told = !self.reports.is_empty() && !self.reported;
        told && all_asked && self.reports.iter().all(|r| self.stays(router, r, now))
    }

    /// Whether what an endpoint said is a fact of its own, which it taught, or of the chain.
    fn stays(&self, router: &Router, report: &Report, now: Now) -> bool {
        let (row, need) = (self.plan.method, &self.plan.need);
        match report.class {
            Class::RangeLimit
            | Class::PayloadTooLarge
            | Class::MethodUnsupported
            | Class::MethodBlocked
            | Class::SubscriptionUnsupported => true,
            // Of a tag it is a node between two blocks.
            Class::MissingHistory => need.lowest.is_some() || need.by_hash || !row.has_block(),
            // A block or a transaction that is absent, in the form of an error (semantics §11).
            Class::Behind if need.by_hash || row.cache_class == CacheClass::ByTx => true,
            Class::Behind => need
                .height
                .is_some_and(|height| !router.may_reach(height, self.plan.deadline, now)),
            Class::ExecutionRevert
            | Class::InvalidParams
            | Class::InvalidRequest
            | Class::ParseError
            | Class::TxRejected
            | Class::AlreadyKnown
            | Class::UserRejected
            | Class::FilterNotFound
            | Class::ReorgedBlock
            | Class::Syncing
            | Class::QuotaExhausted
            | Class::RateLimited
            | Class::Unauthorized
            | Class::WrongChain
            | Class::Overloaded
            | Class::Internal
            | Class::BadGatewayHtml
            | Class::MalformedEnvelope
            | Class::Timeout => false,
        }
    }

    /// A failed racer or hedge does not fail the call while another runs.
    fn next_after(&mut self, ticket: &Ticket) {
        self.last_failed = Some(ticket.endpoint());
        if !self.running.is_empty() || self.checking.is_some() {
            return;
        }
        self.state = match self.absent {
            Some(absent) if absent.believed => State::Done(Outcome::Answered(absent.attempt)),
            Some(_) if !self.confirmed => {
                self.confirmed = true;
                State::Pick(Reason::Confirm)
            }
            Some(_) | None => State::Pick(Reason::Failed),
        };
    }

    fn may_move_on(&self, verdict: &Verdict, delivery: Delivery) -> bool {
        let row = self.plan.method;
        if mutant::is(Mutant::MaybeSentMovesOn) {
            return true;
        }
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

    /// Nothing more is tried.
    pub(super) fn give_up(&mut self, router: &mut Router, now: Now) -> Option<Action> {
        if !self.running.is_empty() || self.checking.is_some() {
            self.state = State::Busy;
            return None;
        }
        if self.sending.is_some() {
            self.sends_no_more(router, now);
            return None;
        }
        let outcome = match self.absent {
            Some(absent) if absent.believed => Outcome::Answered(absent.attempt),
            Some(_) | None => Outcome::Failed(self.best.attempt()),
        };
        self.over(router, outcome, now)
    }

    /// The call is over without an answer. Whoever was not asked for a reason of its own is named
    /// too.
    pub(super) fn over(&mut self, router: &Router, outcome: Outcome, now: Now) -> Option<Action> {
        self.state = State::Done(outcome);
        if let Outcome::Answered(_) | Outcome::BudgetExhausted { .. } = outcome {
            return None;
        }
        for (endpoint, why) in router.unable(&self.plan, now) {
            let (class, word) = match why {
                Why::Quarantined => (Class::WrongChain, "quarantined"),
                Why::MethodOff => (Class::MethodUnsupported, "method_off"),
                Why::Excluded => (Class::Unauthorized, "excluded"),
                Why::Ejected => (Class::Overloaded, "ejected"),
                Why::NoToken => (Class::RateLimited, "budget"),
                Why::NotThis
                | Why::NotPrivate
                | Why::MethodList
                | Why::DoesNotHold
                | Why::DoesNotKeep
                | Why::HigherTier
                | Why::Unchecked
                | Why::Running
                | Why::Unreachable => continue,
            };
            if self.reports.iter().all(|r| r.endpoint != endpoint) {
                self.reports.push(Report {
                    endpoint,
                    attempt: None,
                    class,
                    subclass: Some(word),
                });
            }
        }
        None
    }

    pub(super) fn at_deadline(&mut self, router: &mut Router, now: Now) -> Action {
        if self.sending.is_some() {
            return self.send_at_deadline(router, now);
        }
        let checking = self.checking.take().map(|c| (c.endpoint, None));
        self.unbind(router);
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
        self.over(router, outcome, now);
        Action::Finish(outcome)
    }

    pub(super) fn report(&mut self, ticket: &Ticket, class: Class, subclass: Option<&'static str>) {
        self.reports.push(Report {
            endpoint: ticket.endpoint(),
            attempt: Some(ticket.attempt()),
            class,
            subclass,
        });
    }

    pub(super) fn report_check(
        &mut self,
        endpoint: EndpointId,
        class: Class,
        subclass: Option<&'static str>,
    ) {
        self.reports.push(Report {
            endpoint,
            attempt: None,
            class,
            subclass,
        });
        self.note_asked(endpoint, false);
    }

    /// Its check told nothing: this call leaves it alone, the next asks again.
    pub(super) fn leave_alone(&mut self, endpoint: EndpointId) {
        for asked in &mut self.asked {
            if asked.endpoint == endpoint {
                asked.round = UNREACHABLE;
            }
        }
    }
}
