//! The rules of the breaker at their exact boundaries.

use std::time::{Duration, Instant};

use super::*;
use crate::{method::Lane, now::tests::origin};

mod exclusion;
mod ladder;
mod lanes;
mod property;
mod waits;

const STRIKE: Fault = Fault {
    scope: Scope::Lane,
    kind: Kind::Strike,
    retry_after: None,
};

const CONNECT: Fault = Fault {
    scope: Scope::Endpoint,
    ..STRIKE
};

const RATE_LIMITED: Fault = Fault {
    kind: Kind::RateLimited,
    ..CONNECT
};

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

const NANO: Duration = Duration::from_nanos(1);

/// An endpoint and a clock.
struct Case {
    circuit: Circuit,
    now: Instant,
    method: MethodKey,
}

impl Case {
    fn new() -> Self {
        Self::with(BreakerSettings::default())
    }

    fn with(settings: BreakerSettings) -> Self {
        Self {
            circuit: Circuit::new(settings),
            now: origin(),
            method: MethodKey::of("eth_call"),
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
    }

    fn send(&mut self) -> Ticket {
        self.circuit.begin(Lane::State, self.method, self.now)
    }

    fn send_in(&mut self, lane: Lane) -> Ticket {
        self.circuit.begin(lane, self.method, self.now)
    }

    fn good(&mut self, ticket: Ticket) -> Changes {
        self.circuit.on_good(&ticket, self.now)
    }

    fn bad(&mut self, ticket: Ticket, fault: Fault) -> Changes {
        self.circuit.on_fault(&ticket, &fault, self.now)
    }

    /// A call that is answered well at once.
    fn succeeds(&mut self) -> Changes {
        let ticket = self.send();
        self.good(ticket)
    }

    /// A call that fails at once.
    fn fails(&mut self, fault: Fault) -> Changes {
        let ticket = self.send();
        self.bad(ticket, fault)
    }

    fn fails_in(&mut self, lane: Lane, fault: Fault) -> Changes {
        let ticket = self.send_in(lane);
        self.bad(ticket, fault)
    }

    fn stand(&self) -> Stand {
        self.circuit.stand(Lane::State, self.method, self.now)
    }

    fn stand_in(&self, lane: Lane) -> Stand {
        self.circuit.lane_stand(lane, self.now)
    }

    /// Three connection faults: the whole endpoint goes out.
    fn eject(&mut self) -> Changes {
        self.fails(CONNECT);
        self.fails(CONNECT);
        self.fails(CONNECT)
    }

    /// Time left of an ejection; `None` where none lasts.
    fn left(&self) -> Option<Duration> {
        match self.stand() {
            Stand::Open { until, .. } => Some(until.saturating_duration_since(self.now)),
            Stand::Closed { .. }
            | Stand::HalfOpen
            | Stand::Trial
            | Stand::MethodOff { .. }
            | Stand::Excluded { .. } => None,
        }
    }

    fn is_closed(&self) -> bool {
        matches!(self.stand(), Stand::Closed { .. })
    }
}
