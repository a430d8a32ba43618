//! What is known of one endpoint's head.

use super::agree::Heard;
use std::time::{Duration, Instant};

/// Where a reading comes from. A block fetched by hash, by number or at another tag, a
/// receipt and a log are history and never come here (`semantics.md` H36).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A caller's `eth_blockNumber`.
    Number,
    /// The number of a block fetched at `latest`. Some nodes answer the first block while they
    /// synchronise, so a fall is believed only if others confirm it (`semantics.md` H37).
    LatestBlock,
    /// The head in `eth_capabilities`.
    Capabilities,
    /// A head probe.
    Probe,
    /// A `newHeads` notification.
    NewHeads,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) height: u64,
    pub(super) at: Instant,
    /// When this height was first read.
    pub(super) since: Instant,
    /// It was below this height before.
    pub(super) rose: bool,
    pub(super) source: Source,
}

/// A head that fell by more than a reorganisation while others stayed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fall {
    pub(super) from: u64,
    pub(super) since: Instant,
}

#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    pub(super) group: u16,
    pub(super) reading: Option<Reading>,
    pub(super) fall: Option<Fall>,
    /// A block that it said it has not reached, and when.
    pub(super) below: Option<(u64, Instant)>,
    /// Since when every reading was too far behind.
    pub(super) behind_since: Option<Instant>,
    /// Whether the last reading was believed.
    pub(super) trusted: Option<bool>,
}

impl Endpoint {
    pub(super) fn new(group: u16) -> Self {
        Self {
            group,
            reading: None,
            fall: None,
            below: None,
            behind_since: None,
            trusted: None,
        }
    }

    pub(super) fn fresh(&self, stale: Duration, now: Instant) -> Option<&Reading> {
        let reading = self.reading.as_ref()?;
        is_fresh(reading.at, stale, now).then_some(reading)
    }

    pub(super) fn heard(&self, stale: Duration, now: Instant) -> Option<Heard> {
        let reading = self.fresh(stale, now)?;
        Some(Heard {
            group: self.group,
            height: reading.height,
            at: reading.at,
            since: reading.since,
            rose: reading.rose,
        })
    }

    /// Its head fell, and that has not been accepted yet.
    pub(super) fn is_fallen(&self, window: Duration, now: Instant) -> bool {
        self.fall
            .is_some_and(|fall| now.saturating_duration_since(fall.since) < window)
    }

    pub(super) fn read(&mut self, height: u64, source: Source, now: Instant) {
        let (since, rose) = match &self.reading {
            Some(last) if last.height == height => (last.since, last.rose),
            Some(last) => (now, height > last.height),
            None => (now, false),
        };
        self.reading = Some(Reading {
            height,
            at: now,
            since,
            rose,
            source,
        });
        if self.below.is_some_and(|(below, _)| height >= below) {
            self.below = None;
        }
    }
}

pub(super) fn is_fresh(at: Instant, stale: Duration, now: Instant) -> bool {
    now.saturating_duration_since(at) <= stale
}
