//! The rules of heads with exact values, and the scenarios of the same names.

mod convergence;
mod drift;
mod holding;
mod scenarios;
mod trust;

use super::*;

pub(super) use crate::now::tests::origin as start;

pub(super) const A: EndpointId = EndpointId(0);
pub(super) const B: EndpointId = EndpointId(1);
pub(super) const C: EndpointId = EndpointId(2);
pub(super) const D: EndpointId = EndpointId(3);

/// Heads with a clock in milliseconds.
pub(super) struct Bench {
    pub(super) heads: Heads,
    start: Instant,
}

impl Bench {
    /// One group for each entry; a chain with a block a second.
    pub(super) fn new(groups: &[u16]) -> Self {
        Self::with(groups, |settings| {
            settings.block_time = Some(Duration::from_secs(1));
        })
    }

    pub(super) fn with(groups: &[u16], change: impl FnOnce(&mut HeadSettings)) -> Self {
        let mut settings = HeadSettings::default();
        change(&mut settings);
        Self {
            heads: Heads::new(groups.to_vec(), settings),
            start: start(),
        }
    }

    pub(super) fn at(&self, millis: u64) -> Instant {
        self.start + Duration::from_millis(millis)
    }

    pub(super) fn read(&mut self, endpoint: EndpointId, millis: u64, height: u64) -> Observation {
        self.from(endpoint, Source::Probe, millis, height)
    }

    pub(super) fn from(
        &mut self,
        endpoint: EndpointId,
        source: Source,
        millis: u64,
        height: u64,
    ) -> Observation {
        let now = self.at(millis);
        self.heads.observe(endpoint, source, height, now)
    }

    pub(super) fn reference(&self, millis: u64) -> Option<u64> {
        self.heads.reference(self.at(millis))
    }

    pub(super) fn excess(&self, endpoint: EndpointId, millis: u64) -> Option<u64> {
        self.heads.excess_lag(endpoint, self.at(millis))
    }

    pub(super) fn standing(&self, endpoint: EndpointId, millis: u64) -> Standing {
        self.heads.standing(endpoint, self.at(millis))
    }

    pub(super) fn holds(&self, endpoint: EndpointId, height: u64, millis: u64) -> Holds {
        self.heads.holds(endpoint, height, self.at(millis))
    }

    pub(super) fn drifted(&self, millis: u64) -> Vec<EndpointId> {
        self.heads.drifted(self.at(millis)).collect()
    }
}
