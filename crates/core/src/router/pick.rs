//! Who serves the next attempt of a call.
//!
//! `standing` says who may be asked now; the strategy chooses among them.

use super::{
    Router,
    endpoint::{Endpoint, lane_index},
    standing::{Eligible, Standing, State, prefer},
};
use crate::mutant::{self, Mutant};
use crate::{
    EndpointId, Now,
    call::Plan,
    score::{Inputs, Parts, score},
    select::{Candidate, Strategy, Turn, two_of},
    settings::Settings,
    stats::Blended,
};
use smallvec::SmallVec;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

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
    /// A copy beside a slow one: only to a closed circuit.
    Copy,
    /// One that may confirm that something is absent: not known to be below the reference head.
    Confirm,
}

/// Which tiers may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tiers {
    /// All, the lowest first.
    All,
    /// This one alone: copies never leave the tier.
    Only(u8),
    /// Those above this one, and there only whom the call has not asked: the attempt beyond its
    /// count.
    UntriedAbove(u8),
}

/// What a call asks the router.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Query<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) asked: &'a [Asked],
    /// Endpoints whose head was read for this call.
    pub(crate) looked: &'a [EndpointId],
    pub(crate) round: u16,
    pub(crate) purpose: Purpose,
    pub(crate) tiers: Tiers,
    /// Everybody was ejected each time the call looked, and nothing was sent yet.
    pub(crate) may_resort: bool,
    /// How long the call has waited for tokens and ejections.
    pub(crate) waited: Duration,
    /// Whoever was asked in this round is not asked in another one either, and nothing is waited for
    /// that would change that.
    pub(crate) once_each: bool,
}

impl<'a> Query<'a> {
    /// What a call asks that has done nothing yet.
    pub(crate) const fn at_first(plan: &'a Plan) -> Self {
        Self {
            plan,
            asked: &[],
            looked: &[],
            round: 0,
            purpose: Purpose::First,
            tiers: Tiers::All,
            may_resort: true,
            waited: Duration::ZERO,
            once_each: false,
        }
    }
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pick {
    /// Ask this one.
    Ask(Choice),
    /// Nobody now.
    Nobody(Nobody),
}

/// Whom to ask.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Choice {
    pub(crate) endpoint: EndpointId,
    pub(crate) tier: u8,
    /// Its chain is known; else it must be checked first.
    pub(crate) verified: bool,
    /// Its head must be read first.
    pub(crate) wants_head: bool,
    /// Whether a move there costs retry budget.
    pub(crate) health: Health,
    /// Everybody is ejected, and this is the best of them.
    pub(crate) resort: bool,
    /// Somebody else whose chain should be asked beside the call.
    pub(crate) warm: Option<EndpointId>,
}

/// How an endpoint does just now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Health {
    /// Closed, and more successes than failures in the last 10 s, or untried.
    Good,
    /// Being tried: requests are under way, and none of the last 10 s has ended yet.
    Unproven,
    /// Not closed, or failing.
    Failing,
}

/// A moment at which somebody may be asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) at: Instant,
    /// The call has asked that one in this round already.
    pub(crate) asked: bool,
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
    /// All who may serve it are ejected.
    pub(crate) all_ejected: bool,
    /// Some that failed this call could be asked again now.
    pub(crate) another_round: bool,
    /// The first token.
    pub(crate) token: Option<Moment>,
    /// The first ejection to end.
    pub(crate) ejection: Option<Moment>,
    /// Somebody whom this call did not ask is tried by another call just now.
    pub(crate) on_trial: bool,
}

type Candidates = SmallVec<[Candidate; 16]>;

impl Router {
    /// Chooses.
    pub(crate) fn pick(&mut self, query: &Query<'_>, now: Now) -> Pick {
        self.look(now);
        let mut nobody = Nobody {
            total: count(self.endpoints.len()),
            ..Nobody::default()
        };
        let mut standing = Standing::new();
        for one in self.standings(query, now) {
            match one {
                Ok(eligible) => standing.push(eligible),
                Err(super::Why::Quarantined) => nobody.quarantined += 1,
                Err(_) => {}
            }
        }
        self.able(&mut standing, query, now);
        nobody.eligible = count(standing.len());
        nobody.all_ejected = !standing.is_empty() && standing.iter().all(Eligible::is_ejected);
        let resort = nobody.all_ejected && query.may_resort && query.purpose == Purpose::First;
        let mut ready = Standing::new();
        self.ready(&standing, query, resort, now, &mut ready);
        if let Some(tier) = ready.first().map(|e| e.tier) {
            if let Some(at) = self.tier_waits(&standing, tier, query, now) {
                nobody.token = Some(Moment { at, asked: false });
                return Pick::Nobody(nobody);
            }
            let choice = self.choose(&mut ready, query, resort, now);
            if query.purpose == Purpose::First {
                self.keep_decision(query.plan, choice.endpoint, now);
            }
            return Pick::Ask(choice);
        }
        for e in standing.iter().filter(|e| !(query.once_each && e.asked)) {
            let token = now.mono.checked_add(e.wait);
            match e.state {
                State::Closed { .. } | State::Trial if e.has_token() => {
                    nobody.another_round |= e.asked;
                }
                State::Closed { .. } | State::Trial => sooner(&mut nobody.token, token, e.asked),
                State::Ejected { .. } if resort => sooner(&mut nobody.token, token, e.asked),
                State::Ejected { until } => {
                    nobody.on_trial |= until.is_none() && !e.asked;
                    sooner(&mut nobody.ejection, until.max(until.and(token)), e.asked);
                }
            }
        }
        Pick::Nobody(nobody)
    }

    /// Of those ready, the strategy's choice. There is one at least.
    fn choose(
        &mut self,
        ready: &mut Standing,
        query: &Query<'_>,
        resort: bool,
        now: Now,
    ) -> Choice {
        // Nobody waits for a check while somebody verified can serve.
        let mut warm = None;
        if ready.iter().any(|e| e.verified) {
            let mut unchecked = ready.iter().filter(|e| !e.verified);
            warm = unchecked
                .find(|e| !self.endpoint(e.endpoint).is_warming(now.mono))
                .map(|e| e.endpoint);
            ready.retain(|e| e.verified);
        }
        let first = query.purpose == Purpose::First && !resort;
        if first {
            if query.plan.is_repeatable() || mutant::is(Mutant::AnyCallIsATrial) {
                // The trial goes to whoever comes first, else a bad score would put it off for ever.
                if let Some(trial) = ready.iter().find(|e| e.is_trial()) {
                    return self.ask(trial, query, resort, warm, now);
                }
            } else {
                prefer(ready, Eligible::is_closed);
            }
            self.ramp(ready);
        } else {
            prefer(ready, Eligible::is_closed);
            let best = ready.iter().map(|e| self.health(e, now)).min();
            prefer(ready, |e| Some(self.health(e, now)) == best);
        }
        let settings = Arc::clone(&self.settings);
        let strategy = strategy(query.plan, &settings);
        if let ([only], false) = (ready.as_slice(), *strategy == Strategy::LeastLoaded) {
            return self.ask(only, query, resort, warm, now);
        }
        // Only two of many are compared, so only two are scored.
        if let (true, Strategy::Adaptive, Some([early, late])) =
            (first, strategy, two_of(ready.len(), &mut self.rng))
        {
            ready.swap(0, early);
            ready.swap(1, late);
            ready.truncate(2);
        }
        let candidates = self.candidates(ready, query.plan, strategy, now);
        let turn = Turn {
            single_attempt: query.plan.solitary,
        };
        let chosen = if first {
            self.selector
                .primary(strategy, &candidates, turn, &mut self.rng)
        } else {
            self.selector.next(strategy, &candidates, &mut self.rng)
        };
        let chosen = chosen.unwrap_or(0).min(ready.len() - 1);
        self.ask(&ready[chosen], query, resort, warm, now)
    }

    fn ask(
        &self,
        chosen: &Eligible,
        query: &Query<'_>,
        resort: bool,
        warm: Option<EndpointId>,
        now: Now,
    ) -> Choice {
        Choice {
            endpoint: chosen.endpoint,
            tier: chosen.tier,
            verified: chosen.verified,
            wants_head: self.looks_first(chosen, query.plan, now),
            health: self.health(chosen, now),
            resort,
            warm,
        }
    }

    /// After closing, an endpoint takes part in a growing share of the draws.
    pub(super) fn ramp(&mut self, ready: &mut Standing) {
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

    pub(super) fn candidates(
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
                let latency_ms = known.books.global().latency_ms();
                Candidate {
                    endpoint: e.endpoint,
                    score: parts.total,
                    weight: known.profile.weight,
                    latency_ms: latency_ms.unwrap_or(blended.latency_ms),
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

    pub(super) fn health(&self, e: &Eligible, now: Now) -> Health {
        let known = self.endpoint(e.endpoint);
        match known.recent.counts(now.mono) {
            _ if !e.is_closed() => Health::Failing,
            (good, bad) if good > bad => Health::Good,
            (0, 0) if known.in_flight.last_count() == 0 => Health::Good,
            (0, 0) => Health::Unproven,
            _ => Health::Failing,
        }
    }

    pub(super) fn endpoint(&self, endpoint: EndpointId) -> &Endpoint {
        &self.endpoints[endpoint.index()]
    }
}

fn count(len: usize) -> u16 {
    u16::try_from(len).unwrap_or(u16::MAX)
}

/// The caller's own strategy, else the router's.
pub(super) fn strategy<'a>(plan: &'a Plan, settings: &'a Settings) -> &'a Strategy {
    plan.strategy.as_deref().unwrap_or(&settings.strategy)
}

fn sooner(known: &mut Option<Moment>, at: Option<Instant>, asked: bool) {
    if let Some(at) = at
        && known.is_none_or(|earliest| at < earliest.at)
    {
        *known = Some(Moment { at, asked });
    }
}
