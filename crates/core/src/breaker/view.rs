//! What snapshots and pages show of a circuit.

use std::time::{Duration, Instant};

use super::{
    circuit::{Circuit, LANES},
    methods::MethodOff,
    stand::Stand,
};
use crate::method::Lane;

/// One breaker as it is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GateView {
    /// How it stands, and why.
    pub stand: Stand,
    /// Endpoint failures in a row.
    pub strikes: u32,
    /// Time until a trial is let through; zero where none is waited for.
    pub left: Duration,
}

/// A circuit as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct CircuitView {
    /// The endpoint as a whole.
    pub endpoint: GateView,
    /// Each lane, the endpoint's own state and strikes counted in.
    pub lanes: [(Lane, GateView); LANES.len()],
    /// Refusals without words in a row.
    pub bare_403s: u32,
    /// Methods that are off.
    pub methods: Vec<MethodOff>,
}

impl Circuit {
    /// What snapshots and pages show.
    #[must_use]
    pub fn view(&self, now: Instant) -> CircuitView {
        let gate = |stand, lane| GateView {
            stand,
            strikes: self.strikes_of(lane),
            left: left(stand, now),
        };
        CircuitView {
            endpoint: gate(self.endpoint_stand(now), None),
            lanes: LANES.map(|lane| (lane, gate(self.lane_stand(lane, now), Some(lane)))),
            bare_403s: self.bare_403s(),
            methods: self.methods_off(now),
        }
    }
}

fn left(stand: Stand, now: Instant) -> Duration {
    match stand {
        Stand::Open { until, .. } | Stand::MethodOff { until, .. } => {
            until.saturating_duration_since(now)
        }
        Stand::Excluded {
            trial_at: Some(at), ..
        } => at.saturating_duration_since(now),
        Stand::Closed { .. }
        | Stand::HalfOpen
        | Stand::Trial
        | Stand::Excluded { trial_at: None, .. } => Duration::ZERO,
    }
}
