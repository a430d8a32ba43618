//! The machine.

use super::{Delivery, Plan, Settled};
use crate::{
    AttemptId, EndpointId, Now,
    classify::{Class, Verdict},
    method::{Changes, Failover, Sticky},
    router::{Identity, Router},
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
    /// The call is over.
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

/// The state of one call.
///
/// Endpoints are tried in the order of the configuration, each once; a later state of this machine
/// ranks, races and waits behind the same interface.
#[derive(Debug)]
pub struct Machine {
    plan: Plan,
    state: State,
    next: u16,
    attempts: u16,
    reports: SmallVec<[Report; 2]>,
    best: Option<(u8, AttemptId)>,
    tried: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Choosing the next endpoint.
    Pick,
    /// A check is running.
    Checking(EndpointId),
    /// An attempt is running.
    Running(EndpointId, AttemptId),
    /// Over.
    Done(Outcome),
}

impl Machine {
    /// A call that has done nothing yet.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        Self {
            plan,
            state: State::Pick,
            next: 0,
            attempts: 0,
            reports: SmallVec::new(),
            best: None,
            tried: false,
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

    /// The next step.
    pub fn poll(&mut self, router: &Router, now: Now) -> Action {
        match self.state {
            State::Done(outcome) => return Action::Finish(outcome),
            State::Pick | State::Checking(_) | State::Running(..) => {}
        }
        if now.mono >= self.plan.deadline {
            self.abandon();
            return match self.best {
                Some((_, attempt)) => self.finish(Outcome::Failed(Some(attempt))),
                None => self.finish(Outcome::DeadlineExceeded),
            };
        }
        if self.state != State::Pick {
            return Action::WaitUntil(self.plan.deadline);
        }
        let left = self.plan.deadline.saturating_duration_since(now.mono);
        let timeout = self.plan.attempt_timeout.min(left);
        while usize::from(self.next) < router.len() {
            let endpoint = EndpointId(self.next);
            match router.identity(endpoint) {
                Identity::Quarantined { .. } => {
                    self.reports.push(Report {
                        endpoint,
                        attempt: None,
                        class: Class::WrongChain,
                        subclass: None,
                    });
                    self.next += 1;
                }
                Identity::Unchecked => {
                    self.state = State::Checking(endpoint);
                    return Action::Check { endpoint, timeout };
                }
                Identity::Verified => {
                    let attempt = AttemptId(self.attempts);
                    self.attempts += 1;
                    self.state = State::Running(endpoint, attempt);
                    return Action::Send {
                        endpoint,
                        attempt,
                        timeout,
                    };
                }
            }
        }
        let outcome = if self.tried {
            Outcome::Failed(self.best.map(|(_, attempt)| attempt))
        } else if self.reports.is_empty() {
            Outcome::NoEndpoint
        } else {
            Outcome::ChainMismatch
        };
        self.finish(outcome)
    }

    /// A check ended. `failure` says why it told nothing; `None` means that the router now knows.
    /// Neither spends an attempt.
    pub fn on_check(&mut self, endpoint: EndpointId, failure: Option<&Verdict>) {
        if self.state != State::Checking(endpoint) {
            return;
        }
        if let Some(verdict) = failure {
            self.tried = true;
            let Verdict {
                class, subclass, ..
            } = *verdict;
            self.reports.push(Report {
                endpoint,
                attempt: None,
                class,
                subclass,
            });
            self.next += 1;
        }
        self.state = State::Pick;
    }

    /// An attempt ended.
    pub fn on_settled(&mut self, attempt: AttemptId, settled: &Settled) {
        let State::Running(endpoint, running) = self.state else {
            return;
        };
        if running != attempt {
            return;
        }
        let (verdict, delivery, showable) = match settled {
            Settled::Answer => {
                self.state = State::Done(Outcome::Answered(attempt));
                return;
            }
            Settled::Failed {
                verdict,
                delivery,
                showable,
            } => (verdict, *delivery, *showable),
        };
        self.tried = true;
        let Verdict {
            class, subclass, ..
        } = *verdict;
        self.reports.push(Report {
            endpoint,
            attempt: Some(attempt),
            class,
            subclass,
        });
        if showable {
            let rank = usefulness(verdict.class);
            if self.best.is_none_or(|(best, _)| rank < best) {
                self.best = Some((rank, attempt));
            }
        }
        let may_move_on = match self.plan.method.failover {
            Failover::Any => verdict.retry_other_endpoint,
            Failover::SameBytes | Failover::Unsent => delivery == Delivery::NotSent,
            // The same, but a private submission and an id that only this endpoint knows are for
            // nobody else, sent or not.
            Failover::None => {
                let row = self.plan.method;
                delivery == Delivery::NotSent
                    && row.state_changing != Changes::Builder
                    && row.sticky == Sticky::None
            }
        };
        if may_move_on {
            self.next += 1;
            self.state = State::Pick;
        } else {
            self.state = State::Done(Outcome::Failed(self.best.map(|(_, attempt)| attempt)));
        }
    }

    /// Writes down what the deadline cut off.
    fn abandon(&mut self) {
        let (endpoint, attempt) = match self.state {
            State::Checking(endpoint) => (endpoint, None),
            State::Running(endpoint, attempt) => (endpoint, Some(attempt)),
            State::Pick | State::Done(_) => return,
        };
        self.reports.push(Report {
            endpoint,
            attempt,
            class: Class::Timeout,
            subclass: None,
        });
    }

    fn finish(&mut self, outcome: Outcome) -> Action {
        self.state = State::Done(outcome);
        Action::Finish(outcome)
    }
}

/// The order of R-33: which of several failures tells the caller most; lower is better.
#[must_use]
pub const fn usefulness(class: Class) -> u8 {
    match class {
        Class::ExecutionRevert
        | Class::InvalidParams
        | Class::InvalidRequest
        | Class::ParseError
        | Class::TxRejected
        | Class::AlreadyKnown
        | Class::UserRejected
        | Class::FilterNotFound => 0,
        Class::MissingHistory => 2,
        Class::RangeLimit | Class::PayloadTooLarge => 3,
        Class::Behind | Class::ReorgedBlock | Class::Syncing => 4,
        Class::MethodUnsupported | Class::MethodBlocked | Class::SubscriptionUnsupported => 5,
        Class::QuotaExhausted | Class::RateLimited => 6,
        Class::Unauthorized
        | Class::WrongChain
        | Class::Overloaded
        | Class::Internal
        | Class::BadGatewayHtml
        | Class::MalformedEnvelope => 7,
        Class::Timeout => 8,
    }
}

#[cfg(test)]
mod tests;
