//! A call that sends a raw transaction: who gets it, what each end makes of it, the look-up of
//! an open fate and the wait for a receipt.
//!
//! What an end means is [`Writes`]'; whom to ask and for how long is decided here. A send is never
//! cancelled by its own call: what still runs when the call is over runs on to its end.

use super::{
    Action, Asked, Choice, Class, Delivery, LOOK, Leftover, Machine, Outcome, Pick, Plan, Privacy,
    Purpose, Query, Reason, Report, Router, Running, Settled, State, Ticket, Tiers, UNREACHABLE,
};
use crate::{
    AttemptId, EndpointId, Now, TxHash,
    breaker::{Meaning, Said},
    call::write::{Echo, Ended, Fate, Form, LOOK_UP_TIME, Step, Write, Writes},
    judge::of_class,
    method,
};
use smallvec::SmallVec;
use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

/// How long a broadcast waits for chain checks that would let more endpoints take part.
const GATHER: Duration = Duration::from_millis(500);

/// The first pause between two questions for a receipt; it doubles twice.
const PAUSE: Duration = Duration::from_millis(250);

/// Where a send stands.
#[derive(Debug)]
pub(super) struct Sending {
    writes: Writes,
    began: Option<Instant>,
    /// The end of the look-up or of the wait for the receipt, which have a time of their own.
    until: Option<Instant>,
    /// The look-up, or the question for the receipt, that is under way.
    aside: Option<Ticket>,
    /// Which of the two the call has come to.
    phase: Reason,
    /// Endpoints whose chain was checked for it.
    checked: SmallVec<[EndpointId; 2]>,
    /// Questions for the receipt so far.
    polls: u32,
    gather_until: Option<Instant>,
    /// Attempts whose endpoint has the transaction by its own word.
    seen: SmallVec<[AttemptId; 2]>,
    /// Some attempt was not proven unsent.
    reached: bool,
    /// The request that brought the receipt.
    found: Option<AttemptId>,
}

impl Sending {
    pub(super) fn new(write: Write) -> Self {
        Self {
            writes: Writes::new(write),
            began: None,
            until: None,
            aside: None,
            phase: Reason::First,
            checked: SmallVec::new(),
            polls: 0,
            gather_until: None,
            seen: SmallVec::new(),
            reached: false,
            found: None,
        }
    }

    pub(super) const fn began(&mut self, now: Instant) {
        if self.began.is_none() {
            self.began = Some(now);
        }
    }

    pub(super) const fn until(&self) -> Option<Instant> {
        self.until
    }

    pub(super) const fn is_open(&self) -> bool {
        self.writes.is_open()
    }

    pub(super) const fn take_aside(&mut self) -> Option<Ticket> {
        self.aside.take()
    }

    pub(super) fn moved(&mut self, place: impl Fn(EndpointId) -> EndpointId) {
        if let Some(ticket) = &mut self.aside {
            ticket.moved_to(place(ticket.endpoint()));
        }
        self.checked.clear();
    }
}

impl Machine {
    /// The hash of the transaction, where the call sends one.
    #[must_use]
    pub fn transaction(&self) -> Option<TxHash> {
        Some(self.sending.as_ref()?.writes.write().hash)
    }

    /// The same bytes were sent by another call of ours within the last ten minutes, or are being
    /// sent by one.
    pub fn note_resent(&mut self) {
        if let Some(sending) = &mut self.sending {
            sending.writes.note_resent();
        }
    }

    /// Whether an endpoint may have got the transaction by this call.
    #[must_use]
    pub fn may_have_sent(&self) -> bool {
        let told = |running: &Running| {
            let mut unsent = self.unsent.iter();
            !unsent.any(|(_, attempt)| *attempt == running.ticket.attempt())
        };
        let sending = self.sending.as_ref();
        sending.is_some_and(|sending| sending.reached || self.running.iter().any(told))
    }

    /// The attempts whose endpoints have the transaction by their own word.
    #[must_use]
    pub fn seen_by(&self) -> &[AttemptId] {
        self.sending.as_ref().map_or(&[], |sending| &sending.seen)
    }

    /// An attempt to send a raw transaction ended; `echo` is what its result says of the hash. For
    /// any other call the same as [`Machine::on_settled`].
    pub fn on_sent(
        &mut self,
        router: &mut Router,
        attempt: AttemptId,
        settled: &Settled,
        echo: Echo,
        now: Now,
    ) {
        let Some(sending) = &mut self.sending else {
            self.on_settled(router, attempt, settled, now);
            return;
        };
        let mut running = self.running.iter();
        let Some(place) = running.position(|r| r.ticket.attempt() == attempt) else {
            return;
        };
        let Running { ticket, .. } = self.running.remove(place);
        let write = sending.writes.write();
        let misnamed = misnamed(settled, write, echo);
        let ended = Ended::of(attempt, settled, write, echo);
        sending.reached |= ended.fate != Fate::Unsent;
        if matches!(ended.fate, Fate::Accepted | Fate::Misnamed | Fate::Known) {
            sending.seen.push(attempt);
        }
        let over = matches!(self.state, State::Done(_));
        let step = sending.writes.on_end(&ended, self.running.len());
        self.unsent.retain(|(_, unsent)| *unsent != attempt);
        self.note_asked(ticket.endpoint(), false);
        let settled = misnamed.as_ref().unwrap_or(settled);
        router.settle(&ticket, settled, now);
        if over {
            return;
        }
        match settled {
            Settled::Terminal { verdict, .. } | Settled::Failed { verdict, .. } => {
                self.report(&ticket, verdict.class, verdict.subclass);
            }
            Settled::Result { .. } => {}
        }
        if step == Step::Next {
            self.last_failed = Some(ticket.endpoint());
        }
        self.take_step(router, step, now);
    }

    /// The look-up, or the question for the receipt, ended. `ours`: the answer is our transaction,
    /// or its receipt, by its hash.
    pub fn on_lookup(
        &mut self,
        router: &mut Router,
        attempt: AttemptId,
        settled: &Settled,
        ours: bool,
        now: Now,
    ) {
        let Some(sending) = &mut self.sending else {
            return;
        };
        let Some(ticket) = sending.aside.take_if(|t| t.attempt() == attempt) else {
            return;
        };
        router.settle(&ticket, settled, now);
        if matches!(self.state, State::Done(_)) {
            return;
        }
        let unsent = match settled {
            Settled::Failed { delivery, .. } => *delivery == Delivery::NotSent,
            Settled::Result { .. } | Settled::Terminal { .. } => false,
        };
        let polls = sending.phase == Reason::Receipt;
        if ours {
            sending.found = Some(attempt);
            sending.seen.push(attempt);
            let step = if polls {
                sending.writes.on_receipt(true)
            } else {
                sending.writes.on_lookup(true)
            };
            self.take_step(router, step, now);
        } else if polls {
            self.ask_later(now);
        } else if unsent {
            // It was not asked at all: somebody else is.
            self.note_asked(ticket.endpoint(), false);
            self.leave_alone(ticket.endpoint());
            self.state = State::Pick(Reason::LookUp);
        } else {
            let step = sending.writes.on_lookup(false);
            self.take_step(router, step, now);
        }
    }

    /// Carries out what the fates so far ask for.
    pub(super) fn take_step(&mut self, router: &Router, step: Step, now: Now) {
        let Some(sending) = &mut self.sending else {
            return;
        };
        match step {
            Step::Answer(attempt) => self.state = State::Done(Outcome::Answered(attempt)),
            Step::Hash => self.state = State::Done(Outcome::Sent),
            Step::Next => self.state = State::Pick(Reason::Failed),
            Step::Wait => {}
            Step::LookUp => {
                sending.until = now.mono.checked_add(LOOK_UP_TIME);
                sending.phase = Reason::LookUp;
                self.state = State::Pick(Reason::LookUp);
            }
            Step::Receipt => {
                // One question at least, also where the caller's own time is over by now.
                let soonest = now.mono.checked_add(PAUSE);
                let wait = match sending.writes.write().form {
                    Form::Receipt(wait) => wait,
                    Form::Hash | Form::Output => Duration::ZERO,
                };
                let end = sending.began.and_then(|began| began.checked_add(wait));
                sending.until = end.max(soonest);
                sending.phase = Reason::Receipt;
                self.state = State::Pick(Reason::Receipt);
            }
            Step::Found => {
                let found = sending.found;
                self.state = State::Done(found.map_or(Outcome::Late, Outcome::Found));
            }
            Step::Late => self.state = State::Done(Outcome::Late),
            Step::Ambiguous(attempt) => {
                self.over(router, Outcome::Ambiguous(attempt), now);
            }
            Step::Failed(attempt) => {
                self.over(router, Outcome::Failed(attempt), now);
            }
        }
    }

    /// Nobody else can be asked.
    pub(super) fn sends_no_more(&mut self, router: &Router, now: Now) {
        if let Some(sending) = &mut self.sending {
            let step = sending.writes.on_exhausted();
            self.take_step(router, step, now);
        }
    }

    /// The call's own time is over, or that of its look-up or of its wait for a receipt.
    pub(super) fn send_at_deadline(&mut self, router: &mut Router, now: Now) -> Action {
        self.unbind(router);
        if let Some(checking) = self.checking.take() {
            self.report_check(checking.endpoint, Class::Timeout, None);
        }
        // What was not told to the driver never left.
        for (_, attempt) in std::mem::take(&mut self.unsent) {
            let mut running = self.running.iter();
            if let Some(place) = running.position(|r| r.ticket.attempt() == attempt) {
                router.cancel(&self.running.remove(place).ticket, now);
            }
        }
        let Some(sending) = &mut self.sending else {
            return Action::Finish(Outcome::DeadlineExceeded);
        };
        if let Some(ticket) = sending.aside.take() {
            router.cancel(&ticket, now);
        }
        let step = match (sending.until, sending.phase) {
            (Some(_), Reason::Receipt) => sending.writes.on_receipt(false),
            (Some(_), _) => sending.writes.on_lookup(false),
            (None, _) => {
                for running in &self.running {
                    self.reports.push(Report {
                        endpoint: running.ticket.endpoint(),
                        attempt: Some(running.ticket.attempt()),
                        class: Class::Timeout,
                        subclass: None,
                    });
                }
                sending.writes.on_deadline(self.running.len())
            }
        };
        if step == Step::Failed(None) {
            self.over(router, Outcome::DeadlineExceeded, now);
        } else {
            self.take_step(router, step, now);
        }
        self.poll(router, now)
    }

    /// A broadcast goes to several at once. `Break`: the call is on its way.
    pub(super) fn spread(&mut self, router: &mut Router, now: Now) -> ControlFlow<Option<Action>> {
        let Some(sending) = self.sending.as_ref().filter(|_| !self.plan.one_at_a_time) else {
            return ControlFlow::Continue(());
        };
        let width = sending.writes.write().width();
        if width < 2 {
            return ControlFlow::Continue(());
        }
        let patience = GATHER.min(self.timeout(now) / 4);
        let query = self.query(Purpose::First, Tiers::All);
        let mut field = router.audience(&query, width, now);
        if let Some(sending) = &mut self.sending
            && field.racers.len() < width
            && !field.unchecked.is_empty()
        {
            let until = now.mono.checked_add(patience).unwrap_or(now.mono);
            let until = *sending.gather_until.get_or_insert(until);
            if now.mono < until {
                self.raced = false;
                let look = now.mono.checked_add(LOOK).unwrap_or(until);
                self.state = State::Waiting(until.min(look), Reason::First);
                let timeout = self.plan.attempt_timeout;
                while let Some(endpoint) = field.unchecked.pop() {
                    if router.may_warm(endpoint, timeout, now) {
                        self.warm = field.unchecked;
                        return ControlFlow::Break(Some(Action::Warm { endpoint, timeout }));
                    }
                }
                return ControlFlow::Break(None);
            }
        }
        for endpoint in field.racers {
            // Endpoints of one account may be more than its tokens.
            self.begin(router, endpoint, Leftover::Finish, now);
        }
        if self.running.is_empty() {
            return ControlFlow::Continue(());
        }
        self.tier = field.tier;
        self.may_resort = false;
        self.rounds.count();
        ControlFlow::Break(self.tell_begun(now))
    }

    /// Asks somebody whether the transaction is there, or mined.
    pub(super) fn look(&mut self, router: &mut Router, reason: Reason, now: Now) -> Option<Action> {
        let name = match reason {
            Reason::Receipt => "eth_getTransactionReceipt",
            Reason::First | Reason::Failed | Reason::Confirm | Reason::LookUp => {
                "eth_getTransactionByHash"
            }
        };
        let row = method::lookup(name);
        let mut plan = Plan::new(row, name, self.deadline(), LOOK_UP_TIME);
        plan.allowed = router.allowed(name);
        plan.only = self.plan.only;
        // A hash that nobody else knows is private too.
        plan.privacy = match self.plan.privacy {
            Privacy::Private => Privacy::Private,
            Privacy::Any | Privacy::Public => Privacy::Any,
        };
        if let Some(choice) = self.holder(router, &plan, reason, now) {
            let endpoint = choice.endpoint;
            if !choice.verified {
                if let Some(sending) = &mut self.sending {
                    sending.checked.push(endpoint);
                }
                return self.check(router, endpoint, super::Before::Chain, reason, now);
            }
            let attempt = AttemptId(self.attempts);
            let timeout = self.timeout(now).min(LOOK_UP_TIME);
            if let (Some(sending), Some(ticket)) = (
                &mut self.sending,
                router.begin(endpoint, attempt, &plan, timeout, now),
            ) {
                self.attempts = self.attempts.saturating_add(1);
                sending.aside = Some(ticket);
                self.state = State::Busy;
                return Some(match reason {
                    Reason::Receipt => Action::Receipt {
                        endpoint,
                        attempt,
                        timeout,
                    },
                    Reason::First | Reason::Failed | Reason::Confirm | Reason::LookUp => {
                        Action::LookUp {
                            endpoint,
                            attempt,
                            timeout,
                        }
                    }
                });
            }
        }
        if reason == Reason::Receipt {
            self.ask_later(now);
        } else if let Some(sending) = &mut self.sending {
            let step = sending.writes.on_lookup(false);
            self.take_step(router, step, now);
        }
        None
    }

    /// A holder: at or past the reference head; for a look-up somebody who was not sent the
    /// transaction, if there is one.
    fn holder(&self, router: &mut Router, plan: &Plan, reason: Reason, now: Now) -> Option<Choice> {
        let sending = self.sending.as_ref()?;
        for others in [true, false] {
            if others && reason == Reason::Receipt {
                continue;
            }
            let asked = self
                .asked
                .iter()
                .filter(|a| others || a.round == UNREACHABLE);
            let asked: SmallVec<[Asked; 4]> = asked
                .map(|asked| Asked {
                    round: if asked.round == UNREACHABLE {
                        UNREACHABLE
                    } else {
                        0
                    },
                    running: false,
                    ..*asked
                })
                .collect();
            let query = Query {
                plan,
                asked: &asked,
                looked: &self.looked,
                round: 0,
                purpose: Purpose::Confirm,
                tiers: Tiers::All,
                may_resort: false,
                waited: Duration::ZERO,
            };
            if let Pick::Ask(choice) = router.pick(&query, now)
                && (choice.verified || !sending.checked.contains(&choice.endpoint))
            {
                return Some(choice);
            }
        }
        None
    }

    /// The receipt is not there yet.
    fn ask_later(&mut self, now: Now) {
        let Some(sending) = &mut self.sending else {
            return;
        };
        let pause = PAUSE.saturating_mul(1 << sending.polls.min(2));
        sending.polls = sending.polls.saturating_add(1);
        let at = now.mono.checked_add(pause).unwrap_or(now.mono);
        self.state = State::Waiting(at, Reason::Receipt);
    }
}

/// What a result is to its endpoint that is not the hash of the bytes, where every node calls the
/// transaction so: a bad answer (semantics §4.2 W12).
fn misnamed(settled: &Settled, write: &Write, echo: Echo) -> Option<Settled> {
    let Settled::Result { .. } = settled else {
        return None;
    };
    if echo == Echo::Ours || write.form != Form::Hash || !write.certain {
        return None;
    }
    let verdict = of_class(Class::MalformedEnvelope, Some("hash"));
    Some(Settled::Failed {
        meaning: Meaning::of(&verdict, 200, Said::Words),
        verdict,
        delivery: Delivery::Answered,
        showable: false,
    })
}
