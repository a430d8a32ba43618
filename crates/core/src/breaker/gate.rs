//! One breaker: closed, open, half-open, with its ladder.
//!
//! A circuit has one for the endpoint and one for each lane. What is evidence and what is not is
//! decided by the number of a request, not by its time: requests below `after` were sent before the
//! last ejection.

use std::time::{Duration, Instant};

use super::{settings::BreakerSettings, stand::Reason};
use crate::mutant::{self, Mutant};

#[derive(Clone, Debug)]
pub(super) struct Gate {
    state: State,
    strikes: u32,
    /// Whether a call is among the strikes: a probe does not clear those.
    by_calls: bool,
    /// Length of the next ejection by strikes.
    rung: Duration,
    /// Since when it is closed and without a strike.
    quiet_since: Option<Instant>,
    /// Requests with a lower number were sent before the last ejection.
    after: u64,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Closed {
        /// When it closed; `None`: it never was open.
        at: Option<Instant>,
    },
    Open(Outage),
}

#[derive(Clone, Copy, Debug)]
struct Outage {
    /// When it stopped being closed.
    since: Instant,
    until: Instant,
    /// Length of the last ejection.
    length: Duration,
    reason: Reason,
    trial: Option<Trial>,
}

/// A trial that runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    pub(super) number: u64,
    pub(super) began: Instant,
}

impl Trial {
    pub(super) fn runs(self, lease: Duration, now: Instant) -> bool {
        now.saturating_duration_since(self.began) < lease
    }
}

/// How a gate stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum GateStand {
    Closed { share: f64 },
    HalfOpen,
    Trial,
    Open { until: Instant, reason: Reason },
}

/// A gate that opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Opened {
    pub(super) until: Instant,
    pub(super) reason: Reason,
    /// From when it stopped being closed to `until`.
    pub(super) out: Duration,
}

/// What a gate must know of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence {
    pub(super) number: u64,
    /// Number that the next request will have.
    pub(super) next: u64,
    pub(super) by_call: bool,
    pub(super) now: Instant,
}

impl Gate {
    pub(super) fn new(settings: &BreakerSettings) -> Self {
        Self {
            state: State::Closed { at: None },
            strikes: 0,
            by_calls: false,
            rung: settings.cooldown,
            quiet_since: None,
            after: 0,
        }
    }

    pub(super) fn stand(&self, settings: &BreakerSettings, now: Instant) -> GateStand {
        match self.state {
            State::Closed { at } => GateStand::Closed {
                share: at.map_or(1.0, |at| share(at, settings.ramp, now)),
            },
            State::Open(outage) if now < outage.until => GateStand::Open {
                until: outage.until,
                reason: outage.reason,
            },
            State::Open(outage) => match outage.trial {
                Some(trial) if trial.runs(settings.trial_lease, now) => GateStand::Trial,
                Some(_) | None => GateStand::HalfOpen,
            },
        }
    }

    pub(super) const fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed { .. })
    }

    pub(super) const fn strikes(&self) -> u32 {
        self.strikes
    }

    /// For how long it is closed; without end if it never was open, not at all while it is.
    pub(super) fn closed_for(&self, now: Instant) -> Duration {
        match self.state {
            State::Closed { at } => {
                at.map_or(Duration::MAX, |at| now.saturating_duration_since(at))
            }
            State::Open(_) => Duration::ZERO,
        }
    }

    /// For how long it is not closed.
    pub(super) fn been_out(&self, now: Instant) -> Duration {
        match self.state {
            State::Closed { .. } => Duration::ZERO,
            State::Open(outage) => now.saturating_duration_since(outage.since),
        }
    }

    /// Takes the trial, if it is free.
    pub(super) fn begin(&mut self, number: u64, settings: &BreakerSettings, now: Instant) -> bool {
        let free = self.stand(settings, now) == GateStand::HalfOpen;
        if let (State::Open(outage), true) = (
            &mut self.state,
            free && !mutant::is(Mutant::HalfOpenAdmitsAll),
        ) {
            outage.trial = Some(Trial { number, began: now });
        }
        free
    }

    pub(super) fn abandon(&mut self, number: u64) {
        if let State::Open(outage) = &mut self.state
            && outage.trial.is_some_and(|trial| trial.number == number)
        {
            outage.trial = None;
        }
    }

    /// Whether a fault of this request says anything new: not if it was sent before the last
    /// ejection, nor while the ejection lasts or somebody else's trial runs.
    pub(super) fn heeds(&self, evidence: Evidence, settings: &BreakerSettings) -> bool {
        if evidence.number < self.after {
            return false;
        }
        match self.state {
            State::Closed { .. } => true,
            State::Open(outage) => {
                outage.trial.is_some_and(|t| t.number == evidence.number)
                    || self.stand(settings, evidence.now) == GateStand::HalfOpen
            }
        }
    }

    /// A healthy answer. True if it closes.
    pub(super) fn good(&mut self, evidence: Evidence) -> bool {
        if evidence.number < self.after {
            return false;
        }
        match self.state {
            State::Closed { .. } => {
                if evidence.by_call || !self.by_calls {
                    self.strikes = 0;
                    self.by_calls = false;
                }
                false
            }
            State::Open(_) if evidence.by_call => {
                self.close(evidence.now);
                true
            }
            State::Open(_) => false,
        }
    }

    pub(super) fn close(&mut self, now: Instant) {
        self.state = State::Closed { at: Some(now) };
        self.strikes = 0;
        self.by_calls = false;
        self.quiet_since = Some(now);
    }

    /// A strike that the gate heeds. Open, it re-opens for longer; closed, the strike is counted and
    /// the caller decides whether it opens.
    pub(super) fn strike(
        &mut self,
        evidence: Evidence,
        reason: Reason,
        settings: &BreakerSettings,
    ) -> Option<Opened> {
        if !self.heeds(evidence, settings) {
            return None;
        }
        match self.state {
            State::Closed { .. } => {
                self.disturb(settings, evidence.now);
                self.strikes = self.strikes.saturating_add(1);
                self.by_calls |= evidence.by_call;
                None
            }
            State::Open(outage) => {
                let longer = outage.length.saturating_mul(2).min(settings.max_cooldown);
                self.rung = self.rung.max(longer);
                Some(self.trip(evidence, reason, settings))
            }
        }
    }

    /// A strike somewhere: the quiet time begins again, and if it was long enough, so does the
    /// ladder.
    pub(super) fn disturb(&mut self, settings: &BreakerSettings, now: Instant) {
        let since = *self.quiet_since.get_or_insert(now);
        if now.saturating_duration_since(since) >= settings.reset_after {
            self.rung = settings.cooldown;
        }
        self.quiet_since = Some(now);
    }

    /// Opens for the next rung of the ladder.
    pub(super) fn trip(
        &mut self,
        evidence: Evidence,
        reason: Reason,
        settings: &BreakerSettings,
    ) -> Opened {
        let length = if mutant::is(Mutant::LadderStandsStill) {
            settings.cooldown
        } else {
            self.rung
        };
        self.rung = length.saturating_mul(2).min(settings.max_cooldown);
        self.open(length, reason, evidence)
    }

    /// Opens for a stated time, which moves no rung. While an ejection lasts a later end replaces an
    /// earlier one and nothing else changes; `None` then.
    pub(super) fn hold(
        &mut self,
        length: Duration,
        reason: Reason,
        evidence: Evidence,
        settings: &BreakerSettings,
    ) -> Option<Opened> {
        if self.heeds(evidence, settings) {
            return Some(self.open(length, reason, evidence));
        }
        let until = later(evidence.now, length);
        match &mut self.state {
            State::Open(outage) => {
                if until > outage.until {
                    outage.until = until;
                    outage.reason = reason;
                }
                None
            }
            State::Closed { .. } => Some(self.open(length, reason, evidence)),
        }
    }

    fn open(&mut self, length: Duration, reason: Reason, evidence: Evidence) -> Opened {
        let since = match self.state {
            State::Closed { .. } => evidence.now,
            State::Open(outage) => outage.since,
        };
        let length = if mutant::is(Mutant::EjectionsLastNoTime) {
            Duration::ZERO
        } else {
            length
        };
        let until = later(evidence.now, length);
        self.state = State::Open(Outage {
            since,
            until,
            length,
            reason,
            trial: None,
        });
        self.after = evidence.next;
        Opened {
            until,
            reason,
            out: until.saturating_duration_since(since),
        }
    }
}

/// The share of a circuit that closed at `at`: grows evenly from nothing to all.
fn share(at: Instant, ramp: Duration, now: Instant) -> f64 {
    let passed = now.saturating_duration_since(at);
    if passed >= ramp {
        1.0
    } else {
        passed.as_secs_f64() / ramp.as_secs_f64()
    }
}

/// A time from now; where the clock cannot count that far, no time at all.
pub(super) fn later(now: Instant, length: Duration) -> Instant {
    now.checked_add(length).unwrap_or(now)
}
