//! The heads as a value, for snapshots and pages.

use super::{Heads, Source, Standing};
use crate::EndpointId;
use std::time::{Duration, Instant};

/// The head of one endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadView {
    /// The last height read, however old.
    pub height: Option<u64>,
    /// How old the reading is.
    pub age: Option<Duration>,
    /// Where it came from.
    pub source: Option<Source>,
    /// Where the endpoint stands.
    pub standing: Standing,
    /// Its head fell by more than a reorganisation and has no voice.
    pub fallen: bool,
    /// For how long it has been too far behind.
    pub drifting: Option<Duration>,
}

/// The heads of all endpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadsView {
    /// The reference head.
    pub reference: Option<u64>,
    /// The chain's block time: measured, or as configured.
    pub block_time: Option<Duration>,
    /// Blocks behind the reference without a penalty, at this pace.
    pub max_lag: u64,
    /// In the order of the endpoints.
    pub endpoints: Vec<HeadView>,
}

impl Heads {
    /// The state now.
    #[must_use]
    pub fn view(&self, now: Instant) -> HeadsView {
        let window = self.settings.fall_window();
        let endpoint = |(index, state): (u16, &super::Endpoint)| HeadView {
            height: state.reading.as_ref().map(|reading| reading.height),
            age: state
                .reading
                .as_ref()
                .map(|reading| now.saturating_duration_since(reading.at)),
            source: state.reading.as_ref().map(|reading| reading.source),
            standing: self.standing(EndpointId(index), now),
            fallen: state.is_fallen(window, now),
            drifting: state
                .behind_since
                .map(|since| now.saturating_duration_since(since)),
        };
        HeadsView {
            reference: self.reference(now),
            block_time: self.block_time(),
            max_lag: self.limits.max_lag,
            endpoints: (0..=u16::MAX).zip(&self.endpoints).map(endpoint).collect(),
        }
    }
}
