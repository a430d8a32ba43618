//! A call that sends a raw transaction: who gets it, and what each end makes of it.
//!
//! What an end means is [`Writes`]'; whom to ask and for how long is decided here. A send is never
//! cancelled by its own call: what still runs when the call is over runs on to its end.

use super::{
    Action, Class, Delivery, LOOK, Leftover, Machine, Outcome, Purpose, Reason, Report, Router,
    Running, Settled, State, Ticket, Tiers,
    looking::{Looking, PAUSE, next_retry},
};
use crate::{
    AttemptId, EndpointId, Now, TxHash,
    breaker::{Meaning, Said},
    call::write::{Echo, Ended, Fate, Form, LOOK_UP_TIME, Step, Write, Writes},
    judge::of_class,
};
use smallvec::SmallVec;
use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

/// How long a broadcast waits for chain checks that would let more endpoints take part.
const GATHER: Duration = Duration::from_millis(500);

/// Where a send stands.
#[derive(Debug)]
pub(super) struct Sending {
    pub(super) writes: Writes,
    began: Option<Instant>,
    /// The look-up or the wait for the receipt.
    pub(super) looking: Looking,
    /// Which of the two the call has come to.
    pub(super) phase: Reason,
    gather_until: Option<Instant>,
    /// Attempts whose endpoint has the transaction by its own word.
    pub(super) seen: SmallVec<[AttemptId; 2]>,
    /// Some attempt was not proven unsent.
    reached: bool,
}

impl Sending {
    pub(super) fn new(write: Write) -> Self {
        Self {
            writes: Writes::new(write),
            began: None,
            looking: Looking::default(),
            phase: Reason::First,
            gather_until: None,
            seen: SmallVec::new(),
            reached: false,
        }
    }

    pub(super) const fn began(&mut self, now: Instant) {
        if self.began.is_none() {
            self.began = Some(now);
        }
    }

    pub(super) const fn until(&self) -> Option<Instant> {
        self.looking.until()
    }

    pub(super) const fn is_open(&self) -> bool {
        self.writes.is_open()
    }

    pub(super) const fn take_aside(&mut self) -> Option<Ticket> {
        self.looking.take_aside()
    }

    pub(super) fn moved(&mut self, place: impl Fn(EndpointId) -> EndpointId) {
        self.looking.moved(place);
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
                sending.looking.begin(now.mono.checked_add(LOOK_UP_TIME));
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
                sending.looking.begin(end.max(soonest));
                sending.phase = Reason::Receipt;
                self.state = State::Pick(Reason::Receipt);
            }
            Step::Found => {
                let found = sending.looking.found();
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

    /// The fate of a transaction is open: somebody may have it.
    pub(super) fn is_open(&self) -> bool {
        self.sending.as_ref().is_some_and(|s| s.is_open())
    }

    /// What the end of a call hangs on is not left open for want of a retry: a transaction whose fate
    /// is open waits for the budget as for a token, and then goes to the next.
    pub(super) fn waits_for_budget(&mut self, router: &Router, now: Now) -> bool {
        if !self.is_open() {
            return false;
        }
        let retry = router.settings().retry;
        let at = next_retry(router, now);
        let deadline = self.plan.deadline;
        let at = at.filter(|at| self.rounds.may_wait(&retry, *at, deadline, now.mono));
        if let Some(at) = at {
            self.state = State::Waiting(at, Reason::Failed);
        }
        at.is_some()
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
        if let Some(ticket) = sending.looking.take_aside() {
            router.cancel(&ticket, now);
        }
        let step = match (sending.looking.until(), sending.phase) {
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
