//! Endpoints for operations that are pinned to one (L-5, L-6).
//!
//! Calls and operations share the circuits. An operation may use any method, so an endpoint that is
//! ejected in any lane is left out while another is not. Of those left the least loaded gets it, by
//! latency and operations under way.

use super::{Identity, Router, settle::Ticket};
use crate::{
    AttemptId, EndpointId, Now,
    breaker::{Fault, Kind, Scope, Stand},
    call::{Plan, backoff},
    heads::Holds,
    method::Lane,
    operation::{Fit, Ready, Reservation},
    select::{Candidate, Strategy, Turn},
};
use smallvec::SmallVec;
use std::time::Duration;

/// What an operation does most: an endpoint that is ejected there is no use to it.
const MAIN: [Lane; 2] = [Lane::Light, Lane::State];
/// What it may do besides.
const OTHER: [Lane; 3] = [Lane::Range, Lane::Trace, Lane::Write];

impl Router {
    /// What time alone changes, before a look at who is fit.
    pub(crate) fn refresh(&mut self, now: Now) {
        self.look(now);
    }

    /// How an endpoint stands for an operation.
    pub(crate) fn fit(&self, endpoint: EndpointId, now: Now) -> Fit {
        let known = self.endpoint(endpoint);
        if let Identity::Quarantined { .. } = known.check.identity() {
            return Fit::Quarantined;
        }
        let main = worst(MAIN.map(|lane| known.circuit.lane_stand(lane, now.mono)));
        let other = worst(OTHER.map(|lane| known.circuit.lane_stand(lane, now.mono)));
        let trial = match main {
            Stand::Closed { .. } | Stand::MethodOff { .. } => matches!(other, Stand::HalfOpen),
            Stand::HalfOpen => true,
            Stand::Trial => return Fit::Tried,
            Stand::Open { until, .. } => return Fit::Cooling(until),
            Stand::Excluded {
                trial_at: Some(at), ..
            } => return Fit::Cooling(at),
            Stand::Excluded { trial_at: None, .. } => return Fit::Excluded,
        };
        if trial && known.operations.trial.is_some() {
            return Fit::Tried;
        }
        let wait = known.profile.account.wait(now);
        if !wait.is_zero() {
            return Fit::Spent(wait);
        }
        Fit::Ready(Ready {
            endpoint,
            serial: known.serial,
            tier: known.profile.tier,
            private: known.profile.private,
            trial,
            partly: !trial && !matches!(other, Stand::Closed { .. }),
        })
    }

    /// Whether an endpoint is known not to have reached a block that operations have seen.
    #[must_use]
    pub fn is_below(&self, endpoint: EndpointId, least: Option<u64>, now: Now) -> bool {
        least.is_some_and(|least| self.holds(endpoint, least, now) == Holds::No)
    }

    /// Reserves a place at the least loaded of these, of which there is one at least. A primary
    /// reservation measures and explores.
    pub(crate) fn reserve(&mut self, ready: &[Ready], primary: bool) -> Reservation {
        let prior = self.settings.score.prior_ms;
        let candidates: SmallVec<[Candidate; 16]> = ready
            .iter()
            .map(|ready| {
                let known = self.endpoint(ready.endpoint);
                let books = known.books.global();
                Candidate {
                    endpoint: ready.endpoint,
                    score: 0.0,
                    weight: known.profile.weight,
                    latency_ms: books.latency_ms().unwrap_or(prior),
                    active: known.operations.active,
                    p50_ms: 0.0,
                    error_rate: 0.0,
                    quota_burn: 0.0,
                    region_distance: 0.0,
                    measured: books.count() > 0,
                }
            })
            .collect();
        let (selector, rng) = (&mut self.operations.selector, &mut self.rng);
        let chosen = if primary {
            let turn = Turn::default();
            selector.primary(&Strategy::LeastLoaded, &candidates, turn, rng)
        } else {
            selector.next(&Strategy::LeastLoaded, &candidates, rng)
        };
        let chosen = ready[chosen.unwrap_or(0).min(ready.len() - 1)];
        let number = self.operations.number();
        let known = &mut self.endpoints[chosen.endpoint.index()];
        known.operations.active += 1;
        if chosen.trial {
            known.operations.trial = Some(number);
        }
        Reservation {
            endpoint: chosen.endpoint,
            serial: chosen.serial,
            number,
            ejections: known.operations.ejections,
            trial: chosen.trial,
        }
    }

    /// Where the endpoint of a reservation is now, while the reservation stands: until the endpoint is
    /// ejected, excluded, found on another chain, or gone.
    #[must_use]
    pub fn reserved(&self, reservation: &Reservation) -> Option<EndpointId> {
        let endpoint = self.place_of(reservation)?;
        let known = self.endpoint(endpoint);
        let stands = known.operations.ejections == reservation.ejections
            && !matches!(known.check.identity(), Identity::Quarantined { .. });
        stands.then_some(endpoint)
    }

    /// Gives a place back. `good`: the operation succeeded, and its endpoint answered; where it was the
    /// trial, the endpoint is back (L-6).
    pub fn release(&mut self, reservation: &Reservation, good: bool, now: Now) {
        self.operations.change();
        let stands = self.reserved(reservation).is_some();
        let Some(endpoint) = self.place_of(reservation) else {
            return;
        };
        let known = &mut self.endpoints[endpoint.index()];
        known.operations.active = known.operations.active.saturating_sub(1);
        if known.operations.trial == Some(reservation.number) {
            known.operations.trial = None;
            if good && stands {
                let changes = known.circuit.recover(now.mono);
                self.tell_changes(endpoint, changes);
            }
        }
    }

    /// Its user calls the data of an endpoint unusable: it cools down for the first cooldown, and has
    /// no strike (L-6).
    pub fn unusable(&mut self, reservation: &Reservation, now: Now) {
        let Some(endpoint) = self.place_of(reservation) else {
            return;
        };
        let circuit = &mut self.endpoints[endpoint.index()].circuit;
        let ticket = circuit.begin_probe();
        let fault = Fault {
            scope: Scope::Endpoint,
            kind: Kind::Unusable,
            retry_after: None,
        };
        let changes = circuit.on_fault(&ticket, &fault, now.mono);
        self.tell_changes(endpoint, changes);
    }

    /// Spends a token for a request to one endpoint, whatever its circuit says: that is for whoever
    /// pinned it there. `Err`: there is none for so long.
    ///
    /// # Errors
    /// The time until there is a token; the longest there is where the endpoint is gone.
    pub fn begin_pinned(
        &mut self,
        endpoint: EndpointId,
        attempt: AttemptId,
        plan: &Plan,
        now: Now,
    ) -> Result<Ticket, Duration> {
        let Some(known) = self.endpoints.get(endpoint.index()) else {
            return Err(Duration::MAX);
        };
        let wait = known.profile.account.wait(now);
        let begun = self.begin(endpoint, attempt, plan, plan.attempt_timeout, now);
        begun.ok_or(wait.max(Duration::from_millis(1)))
    }

    /// A number that changes when something happened that an operation may wait for.
    #[must_use]
    pub const fn changes(&self) -> u64 {
        self.operations.changes()
    }

    /// The backoff before another round.
    pub(crate) fn backoff(&mut self, round: u16) -> Duration {
        backoff(&self.settings.retry, round, &mut self.rng)
    }

    fn place_of(&self, reservation: &Reservation) -> Option<EndpointId> {
        let is_its = |endpoint: &EndpointId| self.endpoint(*endpoint).serial == reservation.serial;
        let here = reservation.endpoint.index() < self.endpoints.len();
        let before = Some(reservation.endpoint).filter(|endpoint| here && is_its(endpoint));
        before.or_else(|| self.ids().find(is_its))
    }
}

/// The worst of several: what no time ends, then the longest ejection, a trial, a half-open circuit.
fn worst<const N: usize>(stands: [Stand; N]) -> Stand {
    let rank = |stand: &Stand| match stand {
        Stand::Closed { .. } | Stand::MethodOff { .. } => (0, None),
        Stand::HalfOpen => (1, None),
        Stand::Trial => (2, None),
        Stand::Open { until, .. } => (3, Some(*until)),
        Stand::Excluded { trial_at, .. } => (4, *trial_at),
    };
    let worst = stands.into_iter().max_by_key(rank);
    worst.unwrap_or(Stand::Closed { share: 1.0 })
}
