//! Who is where on the chain: the heads of the endpoints and the reference that they agree on.
//!
//! | file | what it holds |
//! |---|---|
//! | `settings` | the thresholds, in blocks and in time |
//! | `reading` | what is known of one endpoint |
//! | `agree` | the reference head as a pure function of the readings |
//! | `pace` | the chain's block time, measured |
//! | `view` | the state as a value, for snapshots |
//!
//! What a pool says of its endpoints' heads comes from here and from nowhere else (lessons A7). A
//! head that was never read is unknown and not zero, a reading that is too old is another thing than
//! a head that does not move, and whatever keeps a reading from counting has a time at which
//! it ends: from any state, honest input converges.

mod agree;
mod pace;
mod reading;
mod settings;
mod view;

#[cfg(test)]
mod tests;

pub use reading::Source;
pub use settings::HeadSettings;
pub use view::{HeadView, HeadsView};

use crate::EndpointId;
use agree::{Agreement, Height, Readings, agree};
use pace::Pace;
use reading::{Endpoint, Fall, Reading, is_fresh};
use settings::Limits;
use std::time::{Duration, Instant};

/// The heads of the endpoints of one chain.
#[derive(Clone, Debug)]
pub struct Heads {
    settings: HeadSettings,
    endpoints: Vec<Endpoint>,
    pace: Pace,
    limits: Limits,
    agreement: Agreement,
    /// When the agreement has to be looked at again although nothing was read.
    expires: Option<Instant>,
    /// The last reference.
    last: Option<Height>,
    /// When the reference last rose.
    rose_at: Option<Instant>,
}

/// What a reading meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The head is believed: there is a reference, it does not lead it by more than `max_ahead`, and
    /// it did not just fall.
    pub trusted: bool,
    /// The reference rose.
    pub moved: bool,
    /// There is something to tell about this endpoint: another height than before, or another trust.
    pub head_event: bool,
}

/// Whether an endpoint has something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// It is known to.
    Yes,
    /// It is known not to.
    No,
    /// Nothing says either.
    Unknown,
}

/// Where an endpoint stands against the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its head was never read.
    Unknown,
    /// The last reading is older than `stale`.
    Stale,
    /// There is no reference: nobody is believed.
    NoReference,
    /// So far ahead that it is not believed.
    Implausible {
        /// Blocks above the reference.
        lead: u64,
    },
    /// Above the reference, and nobody else confirmed that yet: neither lagging nor the reference.
    Leading {
        /// Blocks above the reference.
        lead: u64,
    },
    /// At the reference or behind it by no more than `max_lag`.
    Level {
        /// Blocks below the reference.
        lag: u64,
    },
    /// Behind by more than `max_lag`.
    Behind {
        /// Blocks below the reference.
        lag: u64,
    },
}

impl Heads {
    /// Nothing read yet. One number for each endpoint: endpoints with the same one are one backend
    /// and have one voice.
    #[must_use]
    pub fn new(groups: Vec<u16>, settings: HeadSettings) -> Self {
        let limits = settings.limits(None);
        Self {
            settings,
            endpoints: groups.into_iter().map(Endpoint::new).collect(),
            pace: Pace::default(),
            limits,
            agreement: Agreement::Silence,
            expires: None,
            last: None,
            rose_at: None,
        }
    }

    /// The endpoints are others now; `from` says for each of them which one it was before. What was
    /// known of it, and of the chain, stays.
    pub fn replace(&mut self, groups: Vec<u16>, from: &[Option<EndpointId>], now: Instant) {
        let known = |index: usize| {
            let before = from.get(index).copied().flatten()?;
            self.endpoints.get(before.index()).cloned()
        };
        let carried = |(index, group): (usize, u16)| match known(index) {
            Some(endpoint) => Endpoint { group, ..endpoint },
            None => Endpoint::new(group),
        };
        self.endpoints = groups.into_iter().enumerate().map(carried).collect();
        self.settle(now);
    }

    /// Other numbers from now on; what was read stays.
    pub fn set_settings(&mut self, settings: HeadSettings, now: Instant) {
        self.limits = settings.limits(self.pace.measured());
        self.settings = settings;
        self.settle(now);
    }

    /// Takes a reading.
    pub fn observe(
        &mut self,
        endpoint: EndpointId,
        source: Source,
        height: u64,
        now: Instant,
    ) -> Observation {
        if self.endpoints.get(endpoint.index()).is_none() {
            return Observation {
                trusted: false,
                moved: false,
                head_event: false,
            };
        }
        let before = self.current(now).height();
        let fall = self.fall(endpoint, source, height, now);
        let stale = self.settings.stale;
        let state = &mut self.endpoints[endpoint.index()];
        if state.fresh(stale, now).is_none() {
            state.behind_since = None;
        }
        let last = state.reading.as_ref().map(|last| last.height);
        state.read(height, source, now);
        state.fall = fall;
        self.settle(now);

        let trusted = self.trusted(endpoint, now).is_some();
        let drifts = match self.standing(endpoint, now) {
            Standing::Behind { lag } => lag > self.limits.max_drift,
            Standing::Unknown
            | Standing::Stale
            | Standing::NoReference
            | Standing::Implausible { .. }
            | Standing::Leading { .. }
            | Standing::Level { .. } => false,
        };
        let moved = self.agreement.height() > before;
        let state = &mut self.endpoints[endpoint.index()];
        state.behind_since = drifts.then(|| state.behind_since.unwrap_or(now));
        let head_event = last != Some(height) || state.trusted != Some(trusted);
        state.trusted = Some(trusted);
        Observation {
            trusted,
            moved,
            head_event,
        }
    }

    /// The endpoint answered that it has not reached block `below`: what is known of its head is
    /// lowered to the block before.
    ///
    /// Says whether that was believed. A block far below a fresh head is not lag but a gap, which is
    /// for [`crate::learn`]: a caller who asks for it must not be able to push the endpoint back.
    pub fn on_behind(&mut self, endpoint: EndpointId, below: u64, now: Instant) -> bool {
        let (stale, max_drift) = (self.settings.stale, self.limits.max_drift);
        let Some(state) = self.endpoints.get_mut(endpoint.index()) else {
            return false;
        };
        let is_gap = state
            .fresh(stale, now)
            .is_some_and(|reading| reading.height.saturating_sub(below) > max_drift);
        let Some(reached) = below.checked_sub(1).filter(|_| !is_gap) else {
            return false;
        };
        if let Some(reading) = state.reading.as_mut().filter(|r| r.height >= below) {
            reading.height = reached;
            reading.since = now;
            reading.rose = false;
        }
        let lower = |(before, at): &(u64, Instant)| *before <= below && is_fresh(*at, stale, now);
        state.below = Some(state.below.filter(lower).unwrap_or((below, now)));
        self.settle(now);
        true
    }

    /// The highest head reached by two voices; by one, if only one is fresh. None where no
    /// head is fresh, or where the heads are too far apart and nothing decides between them.
    #[must_use]
    pub fn reference(&self, now: Instant) -> Option<u64> {
        self.current(now).height()
    }

    /// Brings the reference up to date with the time. Every answer is right without it; after it they
    /// are look-ups, where otherwise each has to weigh the readings again once one went stale.
    pub fn refresh(&mut self, now: Instant) {
        if self.expires.is_some_and(|expires| now >= expires) {
            self.settle(now);
        }
    }

    /// Where an endpoint stands. Its reading is carried forward to now at the chain's pace, so that
    /// an endpoint is not called late because it was not asked lately.
    #[must_use]
    pub fn standing(&self, endpoint: EndpointId, now: Instant) -> Standing {
        let Some(state) = self.endpoints.get(endpoint.index()) else {
            return Standing::Unknown;
        };
        if state.reading.is_none() {
            return Standing::Unknown;
        }
        let Some(reading) = state.fresh(self.settings.stale, now) else {
            return Standing::Stale;
        };
        let Agreement::Reached(reference) = self.current(now) else {
            return Standing::NoReference;
        };
        let own = self.carried(reading, now);
        if self.is_implausible(reading, reference) {
            Standing::Implausible {
                lead: reading.height - reference.height,
            }
        } else if reading.height > reference.height {
            Standing::Leading {
                lead: reading.height - reference.height,
            }
        } else {
            let lag = reference.height.saturating_sub(own);
            if lag > self.limits.max_lag {
                Standing::Behind { lag }
            } else {
                Standing::Level { lag }
            }
        }
    }

    /// Blocks past `max_lag`; a head that leads by more than `max_ahead` lags by as much as it leads
    /// . None where no penalty is due: checks are off, the head is unknown, or it is
    /// within `max_lag`.
    #[must_use]
    pub fn excess_lag(&self, endpoint: EndpointId, now: Instant) -> Option<u64> {
        if !self.settings.enabled {
            return None;
        }
        match self.standing(endpoint, now) {
            Standing::Behind { lag } | Standing::Implausible { lead: lag } => {
                Some(lag.saturating_sub(self.limits.max_lag)).filter(|excess| *excess > 0)
            }
            Standing::Unknown
            | Standing::Stale
            | Standing::NoReference
            | Standing::Leading { .. }
            | Standing::Level { .. } => None,
        }
    }

    /// The head of an endpoint, as far as a fresh reading tells.
    #[must_use]
    pub fn head(&self, endpoint: EndpointId, now: Instant) -> Option<u64> {
        let state = self.endpoints.get(endpoint.index())?;
        Some(state.fresh(self.settings.stale, now)?.height)
    }

    /// Its head, if it is fresh and believed.
    #[must_use]
    pub fn trusted(&self, endpoint: EndpointId, now: Instant) -> Option<u64> {
        let state = self.endpoints.get(endpoint.index())?;
        if state.is_fallen(self.settings.fall_window(), now) {
            return None;
        }
        let reading = state.fresh(self.settings.stale, now)?;
        let Agreement::Reached(reference) = self.current(now) else {
            return None;
        };
        (!self.is_implausible(reading, reference)).then_some(reading.height)
    }

    /// The last height read from an endpoint, however old, and when. It may be implausible.
    #[must_use]
    pub fn last(&self, endpoint: EndpointId) -> Option<(u64, Instant)> {
        let reading = self.endpoints.get(endpoint.index())?.reading.as_ref()?;
        Some((reading.height, reading.at))
    }

    /// Whether an endpoint has block `height`.
    ///
    /// Heads only go up, so what was read stays true when it is old (P-1). That it has *not* reached
    /// a block is known from a "behind" answer, or where even at the chain's pace it could not be
    /// there yet: an older reading is no reason not to try (lessons A9). An implausible head says
    /// nothing.
    #[must_use]
    pub fn holds(&self, endpoint: EndpointId, height: u64, now: Instant) -> Holds {
        let stale = self.settings.stale;
        let Some(state) = self.endpoints.get(endpoint.index()) else {
            return Holds::Unknown;
        };
        // At the chain's pace it gets to the block that it had not reached, as any reading does.
        if state.below.is_some_and(|(below, at)| {
            let elapsed = now.saturating_duration_since(at);
            is_fresh(at, stale, now)
                && height > self.limits.carried(below.saturating_sub(1), elapsed)
        }) {
            return Holds::No;
        }
        let Some(reading) = &state.reading else {
            return Holds::Unknown;
        };
        if let Agreement::Reached(reference) = self.current(now)
            && self.is_implausible(reading, reference)
        {
            return Holds::Unknown;
        }
        if height <= reading.height {
            Holds::Yes
        } else if is_fresh(reading.at, stale, now) && height > self.carried(reading, now) {
            Holds::No
        } else {
            Holds::Unknown
        }
    }

    /// Endpoints that were behind by more than `max_drift` in every reading of the last
    /// `drift_window`; none while the reference itself stands still.
    pub fn drifted(&self, now: Instant) -> impl Iterator<Item = EndpointId> + '_ {
        let moving = self.settings.enabled
            && self
                .rose_at
                .is_some_and(|at| now.saturating_duration_since(at) <= self.limits.moving);
        (0..=u16::MAX)
            .zip(&self.endpoints)
            .filter(move |(_, state)| {
                let (Some(since), Some(reading)) =
                    (state.behind_since, state.fresh(self.settings.stale, now))
                else {
                    return false;
                };
                moving && reading.at.saturating_duration_since(since) >= self.settings.drift_window
            })
            .map(|(index, _)| EndpointId(index))
    }

    /// The chain's block time: measured, or as configured, or unknown.
    #[must_use]
    pub fn block_time(&self) -> Option<Duration> {
        self.pace.measured().or(self.settings.block_time)
    }

    /// Whether the chain may have made this block by `end`: not where the reference, carried on at the
    /// chain's pace, is still below the block before it. Without a reference nobody knows.
    #[must_use]
    pub fn may_reach(&self, height: u64, end: Instant, now: Instant) -> bool {
        match self.current(now) {
            Agreement::Reached(reference) => {
                let time = end.saturating_duration_since(reference.at);
                let next = self.limits.carried(reference.height, time);
                height <= next.saturating_add(1)
            }
            Agreement::Silence | Agreement::Disputed => true,
        }
    }

    /// Blocks that an endpoint may be ahead of the reference and be believed.
    #[must_use]
    pub const fn max_ahead(&self) -> u64 {
        self.limits.max_ahead
    }

    /// Blocks that an endpoint may be behind the reference, at the chain's pace.
    #[must_use]
    pub const fn max_lag(&self) -> u64 {
        self.limits.max_lag
    }

    /// The voice of an endpoint: those of one backend have one.
    #[must_use]
    pub fn voice(&self, endpoint: EndpointId) -> Option<u16> {
        Some(self.endpoints.get(endpoint.index())?.group)
    }

    /// The settings.
    #[must_use]
    pub const fn settings(&self) -> &HeadSettings {
        &self.settings
    }

    fn carried(&self, reading: &Reading, now: Instant) -> u64 {
        let elapsed = now.saturating_duration_since(reading.at);
        self.limits.carried(reading.height, elapsed)
    }

    fn is_implausible(&self, reading: &Reading, reference: Height) -> bool {
        // Nearly always, and then how much time went by does not matter.
        if reading.height <= reference.height.saturating_add(self.limits.max_ahead) {
            return false;
        }
        let elapsed = reading.at.saturating_duration_since(reference.at);
        let bound = self.limits.carried(reference.height, elapsed);
        reading.height > bound.saturating_add(self.limits.max_ahead)
    }

    /// Whether a reading is a fall that does not count yet: by more than a reorganisation, and not
    /// shared by the others; where there are no others, a block fetched at `latest` is not enough.
    fn fall(
        &self,
        endpoint: EndpointId,
        source: Source,
        height: u64,
        now: Instant,
    ) -> Option<Fall> {
        let state = self.endpoints.get(endpoint.index())?;
        let window = self.settings.fall_window();
        let earlier = state.fall.filter(|_| state.is_fallen(window, now));
        let from = match earlier {
            Some(fall) => fall.from,
            None => state.fresh(self.settings.stale, now)?.height,
        };
        let low = height.saturating_add(self.limits.max_reorg);
        if from <= low {
            return None;
        }
        let others = self
            .endpoints
            .iter()
            .enumerate()
            .filter(|(index, _)| *index != endpoint.index())
            .filter_map(|(_, other)| other.heard(self.settings.stale, now))
            .collect();
        let contradicted = match agree(others, &self.limits, None) {
            Agreement::Reached(reference) => reference.height > low,
            Agreement::Silence | Agreement::Disputed => source == Source::LatestBlock,
        };
        contradicted.then(|| earlier.unwrap_or(Fall { from, since: now }))
    }

    /// The agreement as it is now: the one that was found last, unless time has passed it by.
    fn current(&self, now: Instant) -> Agreement {
        match self.expires {
            Some(expires) if now >= expires => self.weigh(now).0,
            Some(_) | None => self.agreement,
        }
    }

    /// The agreement, and when it may change by time alone.
    fn weigh(&self, now: Instant) -> (Agreement, Option<Instant>) {
        let (stale, window) = (self.settings.stale, self.settings.fall_window());
        let mut expires: Option<Instant> = None;
        let mut until = |at: Instant, time: Duration| {
            if let Some(end) = at.checked_add(time) {
                expires = Some(expires.map_or(end, |first| first.min(end)));
            }
        };
        let mut heard = Readings::new();
        for endpoint in &self.endpoints {
            let Some(one) = endpoint.heard(stale, now) else {
                continue;
            };
            until(one.at, stale);
            match endpoint.fall {
                Some(fall) if endpoint.is_fallen(window, now) => until(fall.since, window),
                Some(_) | None => heard.push(one),
            }
        }
        let last = self.last.filter(|last| is_fresh(last.at, stale, now));
        if let Some(last) = last {
            until(last.at, stale);
        }
        (agree(heard, &self.limits, last), expires)
    }

    fn settle(&mut self, now: Instant) {
        (self.agreement, self.expires) = self.weigh(now);
        let Agreement::Reached(reference) = self.agreement else {
            return;
        };
        if self.last.is_some_and(|last| reference.height > last.height) {
            self.rose_at = Some(now);
        }
        self.last = Some(reference);
        let max_reorg = self.settings.max_reorg;
        if self.pace.record(reference.height, reference.at, max_reorg) {
            self.limits = self.settings.limits(self.pace.measured());
        }
    }
}
