//! The state of the endpoints of one chain.
//!
//! One router per chain, behind one lock that is held for nanoseconds and never across an await.
//! Its methods are the only way to change what is known of an endpoint.
//!
//! | file | what it holds |
//! |---|---|
//! | `endpoint` | what the owner says of an endpoint, and everything learned about it |
//! | `standing` | who may serve a call, and who of them may be asked now |
//! | `pick` | who serves its next attempt |
//! | `race` | who races for its first answer |
//! | `settle` | what a request did to what is known |
//! | `chain` | chain ids: checks and quarantine |
//! | `head` | heads, probes and drift |
//! | `view` | the block that a read is pinned to |
//! | `replace` | other endpoints at run time |
//! | `reserve` | endpoints for pinned operations |
//! | `explain` | why this endpoint, why now |
//! | `scores` | the books, kept across a restart |
//! | `snapshot` | everything known, to be shown |
//! | `inflight`, `methods`, `set` | calls under way, method lists, sets of endpoints |

mod batch;
mod chain;
mod endpoint;
mod explain;
mod head;
mod inflight;
mod methods;
mod pick;
mod race;
mod replace;
mod reserve;
mod scores;
mod set;
mod settle;
mod snapshot;
mod standing;
mod view;

pub use crate::identity::Identity;
pub use endpoint::{Counters, MethodCount, Profile};
pub use explain::{Considered, Decision, Explanation, Why};
pub(crate) use inflight::Slot;
pub use methods::MethodList;
pub(crate) use pick::{
    Asked, Choice, Health, Moment, Nobody, Pick, Purpose, Query, Tiers, UNREACHABLE,
};
pub use set::EndpointSet;
pub use settle::Ticket;
pub use snapshot::EndpointView;
pub use view::Reader;

use crate::{
    ChainId, EndpointId, Now,
    breaker::Stand,
    event::{Event, EventQueue},
    heads::Heads,
    method::{Lane, MethodId},
    operation::RouterBook,
    probe::ProbeClock,
    retry_budget::RetryBudget,
    rng::Rng,
    select::Selector,
    settings::Settings,
};
use endpoint::Endpoint;
use explain::Decisions;
use smallvec::SmallVec;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// The endpoints of one chain, in the order of the configuration.
#[derive(Debug)]
pub struct Router {
    settings: Arc<Settings>,
    expected: Option<ChainId>,
    endpoints: Vec<Endpoint>,
    heads: Option<Heads>,
    selector: Selector,
    retries: RetryBudget,
    probes: ProbeClock,
    rng: Rng,
    events: EventQueue,
    decisions: Decisions,
    lists: bool,
    /// The lowest tier that any endpoint has.
    base_tier: u8,
    /// Number of the next endpoint.
    next_serial: u32,
    heads_read: u64,
    operations: RouterBook,
    /// Samples that calls gave.
    samples: u64,
}

impl Router {
    /// A router over endpoints of which nothing is known. Without an expected chain id the first
    /// endpoint that answers its check sets it. The seed decides every draw.
    #[must_use]
    pub fn new(
        settings: Arc<Settings>,
        expected: Option<ChainId>,
        profiles: Vec<Profile>,
        seed: u64,
    ) -> Self {
        let heads = settings
            .heads
            .clone()
            .map(|heads| Heads::new(groups(&profiles), heads));
        let profiles_len = profiles.len();
        let lists = profiles.iter().any(|profile| !profile.methods.is_open());
        let base_tier = base_tier(&profiles);
        let endpoints = (0..)
            .zip(profiles)
            .map(|(serial, profile)| Endpoint::new(serial, profile, &settings));
        let endpoints: Vec<_> = endpoints.collect();
        Self {
            next_serial: u32::try_from(endpoints.len()).unwrap_or(u32::MAX),
            endpoints,
            base_tier,
            expected,
            heads,
            selector: Selector::new(profiles_len, settings.select),
            retries: RetryBudget::new(settings.retry_budget),
            probes: ProbeClock::default(),
            rng: Rng::new(seed),
            events: EventQueue::default(),
            decisions: Decisions::default(),
            lists,
            operations: RouterBook::new(profiles_len, settings.select),
            settings,
            heads_read: 0,
            samples: 0,
        }
    }

    /// The chain that all endpoints must serve, once known.
    #[must_use]
    pub const fn chain(&self) -> Option<ChainId> {
        self.expected
    }

    /// The options.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The options, to be kept while the router changes.
    #[must_use]
    pub fn shared_settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings)
    }

    /// Number of endpoints.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.endpoints.len()
    }

    /// Whether there is no endpoint at all.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.endpoints.is_empty()
    }

    /// All endpoints in order.
    pub fn ids(&self) -> impl Iterator<Item = EndpointId> + use<> {
        let count = u16::try_from(self.endpoints.len()).unwrap_or(u16::MAX);
        (0..count).map(EndpointId)
    }

    /// The endpoints whose method lists allow a method; `None`: all of them, without looking.
    #[must_use]
    pub fn allowed(&self, method: &str) -> Option<EndpointSet> {
        if !self.lists {
            return None;
        }
        let allows = |id: &EndpointId| self.endpoints[id.index()].profile.methods.allows(method);
        Some(self.ids().filter(allows).collect())
    }

    /// A call came in that an endpoint answers: probes run while calls come, and the retry
    /// budget grows with them. True where the probe timer was standing.
    pub fn on_call(&mut self, now: Now) -> bool {
        self.retries.on_call(now.mono);
        self.on_look(now)
    }

    /// A caller came whose answer may be there already: for the probes that is a call, though nothing
    /// may be sent for it, and no retry can follow.
    pub fn on_look(&mut self, now: Now) -> bool {
        self.settings.probe.is_some() && self.probes.on_call(now.mono)
    }

    /// Events that wait to be told.
    pub const fn events(&mut self) -> &mut EventQueue {
        &mut self.events
    }

    pub(crate) const fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    /// Spends one retry across the pool.
    pub(crate) fn spend_retry(&mut self, now: Now) -> bool {
        self.retries.try_spend(now.mono)
    }

    /// When the retry budget may have one again; `None`: never.
    pub(crate) fn next_retry(&self, now: Now) -> Option<Instant> {
        self.retries.next_at(now.mono)
    }

    /// Hedging is off while more than half are ejected.
    pub(crate) fn may_hedge(&self, lane: Lane, now: Now) -> bool {
        let is_ejected = |e: &&Endpoint| match e.circuit.lane_stand(lane, now.mono) {
            Stand::Trial | Stand::Open { .. } | Stand::Excluded { .. } => true,
            Stand::Closed { .. } | Stand::HalfOpen | Stand::MethodOff { .. } => false,
        };
        let ejected = self.endpoints.iter().filter(is_ejected);
        ejected.count() * 2 <= self.endpoints.len()
    }

    /// The tail latency of a method at an endpoint; `None` while nothing was measured.
    pub(crate) fn tail(&self, endpoint: EndpointId, method: MethodId) -> Option<Duration> {
        let books = &self.endpoints.get(endpoint.index())?.books;
        let blended = books.blend(method, &self.settings.score);
        if blended.samples == 0 {
            return None;
        }
        Duration::try_from_secs_f64(blended.tail_ms / 1e3).ok()
    }

    pub(crate) fn tell_switch(&mut self, from: EndpointId, to: EndpointId, method: MethodId) {
        if from != to {
            self.events.push(|| Event::Switch { from, to, method });
        }
    }

    pub(crate) fn tell_race(&mut self, method: MethodId, racers: &[EndpointId]) {
        self.events.push(|| Event::Race {
            method,
            racers: SmallVec::from_slice(racers),
        });
    }

    pub(crate) fn tell_hedge(&mut self, slow: EndpointId, to: EndpointId, method: MethodId) {
        self.events.push(|| Event::Hedge { slow, to, method });
    }

    pub(crate) fn tell_budget(&mut self, wait: Option<Duration>) {
        self.events.push(|| Event::Budget { wait });
    }
}

fn base_tier(profiles: &[Profile]) -> u8 {
    let tiers = profiles.iter().map(|profile| profile.tier);
    tiers.min().unwrap_or(0)
}

/// The voice of each endpoint: its group's, or its own.
fn groups(profiles: &[Profile]) -> Vec<u16> {
    let mut own = profiles
        .iter()
        .filter_map(|profile| profile.group)
        .max()
        .map_or(0, |highest| highest.saturating_add(1));
    profiles
        .iter()
        .map(|profile| {
            profile.group.unwrap_or_else(|| {
                let voice = own;
                own = own.saturating_add(1);
                voice
            })
        })
        .collect()
}

#[cfg(test)]
mod tests;
