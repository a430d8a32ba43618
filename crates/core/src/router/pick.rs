//! Who serves the next attempt of a call.
//!
//! First who can at all, then who holds the blocks that the call is about, then who may be
//! asked now: closed or on trial, with a token, not asked in this round. Of those the lowest tier
//! serves, and the strategy chooses within it.

use super::{
    Router,
    endpoint::{Endpoint, lane_index},
    explain::Why,
};
use crate::{
    EndpointId, Now,
    breaker::Stand,
    call::Plan,
    heads::Holds,
    identity::Identity,
    score::{Inputs, Parts, score},
    select::{Candidate, Strategy, Turn},
    settings::Settings,
    stats::Blended,
};
use smallvec::SmallVec;
use std::{sync::Arc, time::Instant};

/// One endpoint that this call has asked already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) endpoint: EndpointId,
    /// The last round in which it was asked.
    pub(crate) round: u16,
    /// Its answer is still out.
    pub(crate) running: bool,
}

/// The round of an endpoint whose chain check told nothing in this call.
pub(crate) const UNREACHABLE: u16 = u16::MAX;

/// What kind of attempt is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The first of a call.
    First,
    /// After a failure, or another round.
    Next,
    /// A copy beside a slow one: only to an endpoint in good standing.
    Copy,
    /// One that may confirm that something is absent: at or past the reference head.
    Confirm,
}

/// What a call asks the router.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Query<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) asked: &'a [Asked],
    pub(crate) round: u16,
    pub(crate) purpose: Purpose,
    /// The attempt beyond the call's count: only tiers above this one.
    pub(crate) above_tier: Option<u8>,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pick {
    /// Ask this one.
    Ask {
        endpoint: EndpointId,
        /// Its chain is known; else it must be checked first.
        verified: bool,
        /// A move there costs no retry budget.
        healthy: bool,
        tier: u8,
        /// Somebody else whose chain should be asked beside the call.
        warm: Option<EndpointId>,
    },
    /// Nobody now.
    Nobody(Nobody),
}

/// Why nobody can be asked now, and what would change that.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Nobody {
    /// Endpoints that may serve this call at all.
    pub(crate) eligible: u16,
    /// Endpoints on another chain.
    pub(crate) quarantined: u16,
    /// Endpoints in all.
    pub(crate) total: u16,
    /// Some that failed this call could be asked again.
    pub(crate) another_round: bool,
    /// The first token, and of whom.
    pub(crate) token: Option<(EndpointId, Instant)>,
    /// The first ejection to end, and of whom.
    pub(crate) ejection: Option<(EndpointId, Instant)>,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Closed { share: f64 },
    /// It came back from an ejection and one call may try it.
    Trial,
    Ejected { until: Option<Instant> },
}

/// An endpoint that may serve the call.
#[derive(Clone, Copy, Debug)]
struct Eligible {
    endpoint: EndpointId,
    tier: u8,
    state: State,
    token: bool,
    holds: Holds,
    fits: bool,
    asked: bool,
    verified: bool,
}

type Standing = SmallVec<[Eligible; 16]>;
type Candidates = SmallVec<[Candidate; 16]>;

impl Router {
    /// Chooses.
    pub(crate) fn pick(&mut self, query: &Query<'_>, now: Now) -> Pick {
        let mut nobody = Nobody {
            total: u16::try_from(self.endpoints.len()).unwrap_or(u16::MAX),
            ..Nobody::default()
        };
        let mut standing = Standing::new();
        for index in 0..self.endpoints.len() {
            let endpoint = EndpointId(u16::try_from(index).unwrap_or(u16::MAX));
            match self.standing(endpoint, query, now) {
                Ok(eligible) => standing.push(eligible),
                Err(Why::Quarantined) => nobody.quarantined += 1,
                Err(_) => {}
            }
        }
        nobody.eligible = u16::try_from(standing.len()).unwrap_or(u16::MAX);
        self.keep_holders(&mut standing, query, now);
        let repeatable = query.plan.is_repeatable();
        // With every circuit open a call still asks the best one, once.
        let last_resort = query.purpose == Purpose::First
            && standing
                .iter()
                .all(|e| matches!(e.state, State::Ejected { .. }));
        let mut ready = standing.clone();
        ready.retain(|e| {
            if last_resort {
                e.token && !e.asked
            } else {
                e.is_ready(repeatable)
            }
        });
        if let Some(tier) = ready.iter().map(|e| e.tier).min()
            && !self.tier_waits(&standing, tier, now)
        {
            ready.retain(|e| e.tier == tier);
            let pick = self.choose(ready, query, last_resort, now);
            if let (Pick::Ask { endpoint, .. }, Purpose::First) = (pick, query.purpose) {
                self.keep_decision(query.plan, endpoint, now);
            }
            return pick;
        }
        for e in &standing {
            match e.state {
                State::Closed { .. } | State::Trial if e.asked && e.token => {
                    nobody.another_round = true;
                }
                State::Closed { .. } | State::Trial if !e.token => {
                    let wait = self.endpoint(e.endpoint).profile.account.wait(now);
                    sooner(&mut nobody.token, e.endpoint, now.mono.checked_add(wait));
                }
                State::Closed { .. } | State::Trial => {}
                State::Ejected { until } => sooner(&mut nobody.ejection, e.endpoint, until),
            }
        }
        Pick::Nobody(nobody)
    }

    /// Of those ready in one tier, the strategy's choice.
    fn choose(
        &mut self,
        mut ready: Standing,
        query: &Query<'_>,
        last_resort: bool,
        now: Now,
    ) -> Pick {
        // Nobody waits for a check while somebody verified can serve.
        let mut warm = None;
        if ready.iter().any(|e| e.verified) {
            let unchecked = ready.iter().find(|e| !e.verified);
            warm = unchecked.map(|e| e.endpoint);
            ready.retain(|e| e.verified);
        }
        let first = query.purpose == Purpose::First && !last_resort;
        if first {
            // The trial goes to whoever comes first, else a bad score would put it off for ever.
            if let Some(trial) = ready.iter().find(|e| matches!(e.state, State::Trial)) {
                let trial = *trial;
                return self.ask(&trial, warm, now);
            }
            self.ramp(&mut ready);
        } else {
            prefer(&mut ready, |e| matches!(e.state, State::Closed { .. }));
            let healthy: SmallVec<[bool; 16]> = ready
                .iter()
                .map(|e| self.is_healthy(e.endpoint, now))
                .collect();
            if healthy.contains(&true) {
                let mut keep = healthy.into_iter();
                ready.retain(|_| keep.next().unwrap_or(false));
            }
        }
        let settings = Arc::clone(&self.settings);
        let strategy = strategy(query.plan, &settings);
        if let ([only], false) = (ready.as_slice(), *strategy == Strategy::LeastLoaded) {
            let only = *only;
            return self.ask(&only, warm, now);
        }
        let candidates = self.candidates(&ready, query.plan, strategy, now);
        let turn = Turn {
            single_attempt: query.plan.solitary,
        };
        let chosen = if first {
            self.selector
                .primary(strategy, &candidates, turn, &mut self.rng)
        } else {
            self.selector.next(strategy, &candidates, &mut self.rng)
        };
        let chosen = chosen.and_then(|index| ready.get(index)).copied();
        match chosen.or_else(|| ready.first().copied()) {
            Some(chosen) => self.ask(&chosen, warm, now),
            None => Pick::Nobody(Nobody::default()),
        }
    }

    fn ask(&mut self, chosen: &Eligible, warm: Option<EndpointId>, now: Now) -> Pick {
        Pick::Ask {
            warm,
            endpoint: chosen.endpoint,
            verified: chosen.verified,
            healthy: self.is_healthy(chosen.endpoint, now),
            tier: chosen.tier,
        }
    }

    /// The best `width` endpoints for a race, best first: verified, closed, with a token. The
    /// second list is of those that could race but for their chain check.
    pub(crate) fn racers(
        &mut self,
        query: &Query<'_>,
        width: usize,
        now: Now,
    ) -> (SmallVec<[EndpointId; 4]>, SmallVec<[EndpointId; 4]>) {
        let mut ready = Standing::new();
        for index in 0..self.endpoints.len() {
            let endpoint = EndpointId(u16::try_from(index).unwrap_or(u16::MAX));
            if let Ok(eligible) = self.standing(endpoint, query, now) {
                ready.push(eligible);
            }
        }
        self.keep_holders(&mut ready, query, now);
        ready.retain(|e| e.is_ready(true));
        let Some(tier) = ready.iter().map(|e| e.tier).min() else {
            return Default::default();
        };
        ready.retain(|e| e.tier == tier);
        let unchecked = ready.iter().filter(|e| !e.verified).map(|e| e.endpoint);
        let unchecked = unchecked.collect();
        ready.retain(|e| e.verified);
        // Whoever came back from an ejection races along: its trial costs nobody time.
        let trial = ready.iter().find(|e| matches!(e.state, State::Trial));
        let trial = trial.map(|e| e.endpoint);
        ready.retain(|e| matches!(e.state, State::Closed { .. }));
        self.ramp(&mut ready);
        let width = width.saturating_sub(usize::from(trial.is_some()));
        let settings = Arc::clone(&self.settings);
        let strategy = strategy(query.plan, &settings);
        let candidates = self.candidates(&ready, query.plan, strategy, now);
        let mut order = SmallVec::new();
        self.selector
            .order(strategy, &candidates, &mut self.rng, &mut order, width);
        let racers = order.iter().filter_map(|&i| ready.get(i));
        let racers = racers.map(|e| e.endpoint).chain(trial);
        (racers.collect(), unchecked)
    }

    /// Why each endpoint, in order, would not be drawn for this call now; `None`: it would.
    pub(super) fn outs(&mut self, query: &Query<'_>, now: Now) -> SmallVec<[Option<Why>; 16]> {
        let repeatable = query.plan.is_repeatable();
        let mut standing = Standing::new();
        let mut outs: SmallVec<[Option<Why>; 16]> = SmallVec::new();
        for endpoint in self.ids() {
            match self.standing(endpoint, query, now) {
                Ok(eligible) => {
                    standing.push(eligible);
                    outs.push(None);
                }
                Err(why) => outs.push(Some(why)),
            }
        }
        let mut holders = standing.clone();
        self.keep_holders(&mut holders, query, now);
        let mut ready = holders.clone();
        ready.retain(|e| e.is_ready(repeatable));
        let tier = ready.iter().map(|e| e.tier).min();
        let verified = ready.iter().any(|e| Some(e.tier) == tier && e.verified);
        for e in &standing {
            let why = if !holders.iter().any(|h| h.endpoint == e.endpoint) {
                if e.fits {
                    Some(Why::DoesNotHold)
                } else {
                    Some(Why::DoesNotKeep)
                }
            } else if matches!(e.state, State::Ejected { .. }) {
                Some(Why::Ejected)
            } else if !e.token {
                Some(Why::NoToken)
            } else if tier.is_some_and(|tier| e.tier > tier) {
                Some(Why::HigherTier)
            } else if verified && !e.verified {
                Some(Why::Unchecked)
            } else {
                None
            };
            if let Some(out) = outs.get_mut(e.endpoint.index()) {
                *out = why;
            }
        }
        outs
    }

    /// Whether and how an endpoint may serve the call.
    fn standing(
        &mut self,
        endpoint: EndpointId,
        query: &Query<'_>,
        now: Now,
    ) -> Result<Eligible, Why> {
        let plan = query.plan;
        let Some(known) = self.endpoints.get(endpoint.index()) else {
            return Err(Why::NotThis);
        };
        let verified = match known.check.identity() {
            Identity::Quarantined { .. } => return Err(Why::Quarantined),
            Identity::Verified => true,
            Identity::Unchecked => false,
        };
        if plan.only.is_some_and(|only| only != endpoint) {
            return Err(Why::NotThis);
        }
        if plan.allowed.as_ref().is_some_and(|a| !a.contains(endpoint)) {
            return Err(Why::MethodList);
        }
        let asked = query.asked.iter().find(|asked| asked.endpoint == endpoint);
        if asked.is_some_and(|asked| asked.running) {
            return Err(Why::Running);
        }
        if asked.is_some_and(|asked| asked.round == UNREACHABLE) {
            return Err(Why::Unreachable);
        }
        if query.above_tier.is_some_and(|tier| known.profile.tier <= tier) {
            return Err(Why::NotThis);
        }
        let row = plan.method;
        let state = match known.circuit.stand(row.lane, plan.key, now.mono) {
            Stand::Closed { share } => State::Closed { share },
            Stand::HalfOpen => State::Trial,
            Stand::Trial => State::Ejected { until: None },
            Stand::Open { until, .. } => State::Ejected { until: Some(until) },
            Stand::MethodOff { .. } => return Err(Why::MethodOff),
            Stand::Excluded { .. } => return Err(Why::Excluded),
        };
        let reference = self.heads.as_ref().and_then(|heads| heads.reference(now.mono));
        let token = known.profile.account.available(now);
        let holds = match (&self.heads, plan.need.height) {
            (Some(heads), Some(height)) => heads.holds(endpoint, height, now.mono),
            (None, _) | (_, None) => Holds::Unknown,
        };
        Ok(Eligible {
            endpoint,
            tier: known.profile.tier,
            state,
            token,
            holds,
            fits: known.learned.serves(&plan.need, reference, now.mono) != Holds::No
                && !known.is_shunned(plan.key, now.mono),
            asked: asked.is_some_and(|asked| asked.round >= query.round),
            verified,
        })
    }

    /// Of those that may serve, drops whoever is known not to hold the call's blocks while others
    /// may; with nobody left, the freshest.
    fn keep_holders(&self, standing: &mut Standing, query: &Query<'_>, now: Now) {
        prefer(standing, |e| e.fits);
        if query.plan.need.height.is_some() {
            if standing.iter().any(|e| e.holds != Holds::No) {
                standing.retain(|e| e.holds != Holds::No);
            } else if let Some(heads) = &self.heads {
                let head = |e: &Eligible| heads.head(e.endpoint, now.mono);
                let highest = standing.iter().filter_map(head).max();
                standing.retain(|e| head(e) == highest);
            }
        }
        if query.purpose == Purpose::Confirm
            && let Some(heads) = &self.heads
            && let Some(reference) = heads.reference(now.mono)
        {
            // Whoever was asked already cannot confirm, and must not keep others from it.
            let at = |e: &Eligible| !e.asked && heads.head(e.endpoint, now.mono) >= Some(reference);
            prefer(standing, at);
        }
    }

    /// A lower tier gets a token soon enough to wait for it.
    fn tier_waits(&self, standing: &Standing, tier: u8, now: Now) -> bool {
        let limit = self.settings.tier_wait;
        if limit.is_zero() {
            return false;
        }
        standing
            .iter()
            .filter(|e| e.tier < tier && e.is_spent())
            .any(|e| self.endpoint(e.endpoint).profile.account.wait(now) <= limit)
    }

    /// After closing, an endpoint takes part in a growing share of the draws.
    fn ramp(&mut self, ready: &mut Standing) {
        let full = |e: &Eligible| matches!(e.state, State::Closed { share } if share >= 1.0);
        if !ready.iter().any(full) {
            return;
        }
        let rng = &mut self.rng;
        ready.retain(|e| match e.state {
            State::Closed { share } => share >= 1.0 || rng.unit() < share,
            State::Trial | State::Ejected { .. } => true,
        });
    }

    fn candidates(
        &mut self,
        ready: &Standing,
        plan: &Plan,
        strategy: &Strategy,
        now: Now,
    ) -> Candidates {
        let windows = match strategy {
            Strategy::WeightedSum(_) => true,
            Strategy::Adaptive
            | Strategy::RoundRobin
            | Strategy::Random
            | Strategy::Weighted
            | Strategy::LeastLoaded
            | Strategy::Shuffle => false,
        };
        ready
            .iter()
            .map(|e| {
                let (blended, parts) = self.parts(e.endpoint, plan, now);
                let lane = plan.method.lane;
                let known = &mut self.endpoints[e.endpoint.index()];
                let (p50_ms, error_rate, quota_burn) = if windows {
                    let window = known.window(lane);
                    let p50 = window.p50(now.mono).unwrap_or(blended.latency_ms);
                    (
                        p50,
                        window.error_rate(now.mono),
                        known.profile.account.burn(now.wall),
                    )
                } else {
                    (0.0, 0.0, 0.0)
                };
                Candidate {
                    endpoint: e.endpoint,
                    score: parts.total,
                    weight: known.profile.weight,
                    latency_ms: blended.latency_ms,
                    active: known.in_flight.last_count(),
                    p50_ms,
                    error_rate,
                    quota_burn,
                    region_distance: known.profile.region_distance,
                    measured: known.books.global().count() > 0,
                }
            })
            .collect()
    }

    /// The score of an endpoint for a method, and what it is made of.
    pub(super) fn parts(
        &mut self,
        endpoint: EndpointId,
        plan: &Plan,
        now: Now,
    ) -> (Blended, Parts) {
        let excess_lag = self
            .heads
            .as_ref()
            .and_then(|heads| heads.excess_lag(endpoint, now.mono));
        let known = &mut self.endpoints[endpoint.index()];
        let blended = known.books.blend(plan.method.id, &self.settings.score);
        let inputs = Inputs {
            blended,
            inflight: known.in_flight.count(now.mono),
            excess_lag,
            slope: known.windows[lane_index(plan.method.lane)].slope(now.mono),
            weight: known.profile.weight,
        };
        (blended, score(&inputs, &self.settings.score))
    }

    /// Closed, and more successes than failures in the last 10 s, or untried.
    pub(crate) fn is_healthy(&mut self, endpoint: EndpointId, now: Now) -> bool {
        let known = &mut self.endpoints[endpoint.index()];
        let (good, bad) = known.recent.counts(now.mono);
        good > bad || (good == 0 && bad == 0)
    }

    fn endpoint(&self, endpoint: EndpointId) -> &Endpoint {
        &self.endpoints[endpoint.index()]
    }
}

impl Eligible {
    fn is_ready(&self, repeatable: bool) -> bool {
        let state = match self.state {
            State::Closed { .. } => true,
            State::Trial => repeatable,
            State::Ejected { .. } => false,
        };
        state && self.token && !self.asked
    }

    /// It could serve but for a token.
    fn is_spent(&self) -> bool {
        matches!(self.state, State::Closed { .. }) && !self.token && !self.asked
    }
}

/// The caller's own strategy, else the router's.
fn strategy<'a>(plan: &'a Plan, settings: &'a Settings) -> &'a Strategy {
    plan.strategy.as_deref().unwrap_or(&settings.strategy)
}

/// Keeps those for whom `good` holds, if there are any.
fn prefer(standing: &mut Standing, good: impl Fn(&Eligible) -> bool) {
    if standing.iter().any(&good) {
        standing.retain(|e| good(e));
    }
}

fn sooner(known: &mut Option<(EndpointId, Instant)>, endpoint: EndpointId, at: Option<Instant>) {
    if let Some(at) = at
        && known.is_none_or(|(_, earliest)| at < earliest)
    {
        *known = Some((endpoint, at));
    }
}
