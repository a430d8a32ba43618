//! What comes next, from the fates so far.

use super::{Ended, Fate, Form, Policy, Write};
use crate::{
    AttemptId,
    call::best::Best,
    mutant::{self, Mutant},
};

/// What a call that sends a transaction does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is over, with what this attempt was answered, as it came. Of a broadcast the others run
    /// on to their own end.
    Answer(AttemptId),
    /// It is over: success, with the hash of the bytes.
    Hash,
    /// The same bytes go to another endpoint; where there is none, [`Writes::on_exhausted`].
    Next,
    /// Something still runs.
    Wait,
    /// One look-up by our hash, at a holder, within [`LOOK_UP_TIME`](super::LOOK_UP_TIME); then
    /// [`Writes::on_lookup`].
    LookUp,
    /// The endpoints have it: its receipt is asked for until the caller's time is over; then
    /// [`Writes::on_receipt`].
    Receipt,
    /// It is over, with the receipt that was found.
    Found,
    /// It is over: the endpoints have it, but what the caller asked for cannot be had (any more). An
    /// error with the hash; for a form that waits the one of its timeout, code 4.
    Late,
    /// It is over: the transaction may have been accepted, and nobody says so. An error with the
    /// hash, around the error of this attempt where one can be shown.
    Ambiguous(Option<AttemptId>),
    /// It is over: no endpoint has it. The error of this attempt, where one can be shown.
    Failed(Option<AttemptId>),
}

/// The fates of one call, and where it stands.
#[derive(Clone, Debug)]
pub struct Writes {
    write: Write,
    phase: Phase,
    /// An attempt may have been accepted, and did not say so.
    open: bool,
    /// An endpoint did not answer with the receipt that it should have had.
    silent: bool,
    /// The first endpoint that had it before.
    known: Option<AttemptId>,
    /// The first verdict against it, and whether it was about the nonce.
    refused: Option<(AttemptId, bool)>,
    /// No more time for its receipt.
    late: bool,
    best: Best,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Sending,
    /// What it ends with when nothing is found.
    LookingUp(Step),
    /// Whether the endpoints are known to have it.
    Polling {
        pooled: bool,
    },
    Over(Step),
}

impl Writes {
    /// A call of which nothing was sent yet.
    #[must_use]
    pub fn new(write: Write) -> Self {
        Self {
            write,
            phase: Phase::Sending,
            open: false,
            silent: false,
            known: None,
            refused: None,
            late: false,
            best: Best::default(),
        }
    }

    /// What the call is bound by.
    #[must_use]
    pub const fn write(&self) -> &Write {
        &self.write
    }

    /// The same bytes were sent by another call of ours.
    pub fn note_resent(&mut self) {
        self.write.resent = true;
    }

    /// Whether an attempt may have been accepted without saying so.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.open
    }

    /// An attempt ended, and this many others still run.
    pub fn on_end(&mut self, ended: &Ended, running: usize) -> Step {
        if let Phase::Over(step) = self.phase {
            return step;
        }
        let attempt = ended.attempt;
        if let Some(class) = ended.showable {
            self.best.consider(class, attempt);
        }
        match ended.fate {
            Fate::Accepted => return self.over(Step::Answer(attempt)),
            Fate::Misnamed => return self.over(Step::Hash),
            Fate::Unsent => {}
            Fate::Open => self.open = true,
            Fate::Silent => {
                self.open = true;
                self.silent = true;
            }
            Fate::Refused => self.note_refused(attempt, false),
            Fate::NonceUsed => self.note_refused(attempt, true),
            Fate::Known => self.note_known(attempt),
        }
        match self.phase {
            Phase::Sending => {}
            Phase::LookingUp(_) if self.is_ours() => return self.success(),
            Phase::LookingUp(_) => return Step::Wait,
            Phase::Polling { .. } => {
                let pooled = self.is_ours();
                self.phase = Phase::Polling { pooled };
                return Step::Wait;
            }
            Phase::Over(step) => return step,
        }
        if running > 0 {
            // A hash is as good as the answers still to come; a receipt would be better.
            return match self.write.form {
                Form::Hash if self.is_ours() => self.success(),
                Form::Hash | Form::Receipt(_) | Form::Output => Step::Wait,
            };
        }
        self.decide()
    }

    /// Nobody else can be asked, and nothing runs.
    pub fn on_exhausted(&mut self) -> Step {
        match self.phase {
            Phase::Sending if self.open => self.ambiguous(),
            Phase::Sending => self.over(Step::Failed(self.best.attempt())),
            Phase::LookingUp(_) | Phase::Polling { .. } => Step::Wait,
            Phase::Over(step) => step,
        }
    }

    /// The call's own time is over while this many attempts run: of those nobody knows.
    pub fn on_deadline(&mut self, running: usize) -> Step {
        self.late = true;
        match self.phase {
            Phase::Sending => {}
            // It has a time of its own.
            Phase::LookingUp(_) => return Step::Wait,
            Phase::Polling { .. } => return self.on_receipt(false),
            Phase::Over(step) => return step,
        }
        self.open |= running > 0;
        if self.open || self.known.is_some() || self.refused.is_some() {
            return self.decide();
        }
        self.over(Step::Failed(self.best.attempt()))
    }

    /// The look-up ended; whether the answer was our transaction, by its hash.
    pub fn on_lookup(&mut self, matched: bool) -> Step {
        match self.phase {
            Phase::LookingUp(_) if matched || mutant::is(Mutant::AnythingIsFound) => self.success(),
            Phase::LookingUp(step) => self.over(step),
            Phase::Sending | Phase::Polling { .. } => Step::Wait,
            Phase::Over(step) => step,
        }
    }

    /// The receipt was found, or the time for it is over.
    pub fn on_receipt(&mut self, found: bool) -> Step {
        match self.phase {
            Phase::Polling { .. } if found => self.over(Step::Found),
            Phase::Polling { pooled } => {
                self.late = true;
                if pooled {
                    self.over(Step::Late)
                } else {
                    self.ambiguous()
                }
            }
            Phase::Sending | Phase::LookingUp(_) => Step::Wait,
            Phase::Over(step) => step,
        }
    }

    fn note_known(&mut self, attempt: AttemptId) {
        self.known = Some(self.known.map_or(attempt, |first| first.min(attempt)));
    }

    fn note_refused(&mut self, attempt: AttemptId, nonce: bool) {
        if self.refused.is_none_or(|(first, _)| attempt < first) {
            self.refused = Some((attempt, nonce));
        }
    }

    /// An endpoint has it, and a send of ours may be why.
    const fn is_ours(&self) -> bool {
        self.known.is_some() && (self.open || self.write.resent)
    }

    /// Nothing runs any more.
    fn decide(&mut self) -> Step {
        if self.is_ours() {
            return self.success();
        }
        if let Some(known) = self.known {
            return self.over(Step::Answer(known));
        }
        match (self.open, self.refused) {
            (false, None) => Step::Next,
            (false, Some((attempt, nonce))) => {
                let answer = Step::Answer(attempt);
                // Past its nonce, after a call before this one had sent it: it may be mined.
                if nonce && self.write.resent && self.write.looks_up() {
                    self.look_up(answer)
                } else {
                    self.over(answer)
                }
            }
            (true, _) if self.silent && !self.late => {
                self.phase = Phase::Polling { pooled: false };
                Step::Receipt
            }
            (true, Some(_)) if mutant::is(Mutant::RefusalIsSuccess) => self.success(),
            (true, Some(_)) => self.ambiguous(),
            (true, None) => match self.write.policy {
                Policy::Failover if !self.late => Step::Next,
                Policy::Once | Policy::Failover | Policy::Broadcast(_) => self.ambiguous(),
            },
        }
    }

    fn success(&mut self) -> Step {
        match self.write.form {
            Form::Hash => self.over(Step::Hash),
            Form::Receipt(_) if !self.late => {
                self.phase = Phase::Polling { pooled: true };
                Step::Receipt
            }
            Form::Receipt(_) | Form::Output => self.over(Step::Late),
        }
    }

    fn ambiguous(&mut self) -> Step {
        let best = self.best.attempt();
        let step = if mutant::is(Mutant::OpenEndsPlainly) {
            Step::Failed(best)
        } else {
            Step::Ambiguous(best)
        };
        if self.write.looks_up() {
            self.look_up(step)
        } else {
            self.over(step)
        }
    }

    /// There is no way back from here to sending, so it happens once.
    fn look_up(&mut self, otherwise: Step) -> Step {
        self.phase = Phase::LookingUp(otherwise);
        Step::LookUp
    }

    fn over(&mut self, step: Step) -> Step {
        self.phase = Phase::Over(step);
        step
    }
}
