//! Which endpoints may serve a call, and which of them may be asked now.
//!
//! Capability comes first: whoever is quarantined, excluded, left out by a method list, or
//! known not to have what the call needs while another is known to have it, is not looked at. Of the
//! others those are ready that are closed or on trial, hold a token and were not asked in this round;
//! and of those the ones most likely to have what is needed, in the lowest tier.

use super::{
    Router,
    explain::Why,
    pick::{Purpose, Query, Tiers, UNREACHABLE},
};
use crate::mutant::{self, Mutant};
use crate::{
    EndpointId, Now,
    breaker::Stand,
    call::{Plan, Privacy},
    chains::{self, Quirk},
    heads::Holds,
    identity::Identity,
    method::{Descriptor, Lane},
};
use smallvec::SmallVec;
use std::time::{Duration, Instant};

/// How the circuit of an endpoint stands for one call.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    Closed {
        share: f64,
    },
    /// It came back from an ejection and this call may try it.
    Trial,
    /// Nothing is sent there; `None`: nobody knows until when.
    Ejected {
        until: Option<Instant>,
    },
}

/// An endpoint that may serve the call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Eligible {
    pub(super) endpoint: EndpointId,
    pub(super) tier: u8,
    pub(super) state: State,
    /// Time until it has a token.
    pub(super) wait: Duration,
    /// Whether its head has reached the block that the call is about.
    pub(super) reached: Holds,
    /// It may not serve the call: it is not at the block that the call is pinned to, or below what its
    /// caller has seen.
    pub(super) below: bool,
    /// Whether it keeps that block and takes a request of that size.
    pub(super) keeps: Holds,
    /// It said lately that it cannot serve this method just now.
    pub(super) shy: bool,
    pub(super) head: Option<u64>,
    pub(super) asked: bool,
    pub(super) verified: bool,
    pub(super) private: bool,
    /// The call would rather be served by it.
    pub(super) preferred: bool,
}

pub(super) type Standing = SmallVec<[Eligible; 16]>;

impl Eligible {
    pub(super) const fn is_ejected(&self) -> bool {
        matches!(self.state, State::Ejected { .. })
    }

    pub(super) const fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed { .. })
    }

    pub(super) const fn is_trial(&self) -> bool {
        matches!(self.state, State::Trial)
    }

    pub(super) const fn has_token(&self) -> bool {
        self.wait.is_zero()
    }

    pub(super) fn fits(&self) -> bool {
        self.keeps != Holds::No && !self.shy
    }
}

impl Router {
    /// Everybody who may serve the call, or why not.
    pub(super) fn standings<'a>(
        &'a self,
        query: &'a Query<'_>,
        now: Now,
    ) -> impl Iterator<Item = Result<Eligible, Why>> + 'a {
        let reference = self.reference_head(now);
        self.ids()
            .map(move |endpoint| self.standing(endpoint, query, reference, now))
    }

    /// Whether somebody in good standing, who was not asked yet, may serve the call.
    fn is_spared(&self, query: &Query<'_>, reference: Option<u64>, now: Now) -> bool {
        let plan = query.plan;
        let asked = |id: EndpointId| query.asked.iter().any(|asked| asked.endpoint == id);
        // First of all: only of somebody half-open does this ask again.
        let closed = |id: EndpointId| {
            let circuit = &self.endpoint(id).circuit;
            let stand = circuit.stand(plan.method.lane, plan.key, now.mono);
            matches!(stand, Stand::Closed { .. })
        };
        let mut others = self.ids().filter(|id| !asked(*id) && closed(*id));
        others.any(|id| {
            let standing = self.standing(id, query, reference, now);
            standing.is_ok_and(|known| known.is_closed())
        })
    }

    fn standing(
        &self,
        endpoint: EndpointId,
        query: &Query<'_>,
        reference: Option<u64>,
        now: Now,
    ) -> Result<Eligible, Why> {
        let plan = query.plan;
        let known = self.endpoint(endpoint);
        let verified = match known.check.identity() {
            Identity::Quarantined { .. } if !mutant::is(Mutant::QuarantineLifted) => {
                return Err(Why::Quarantined);
            }
            Identity::Quarantined { .. } | Identity::Verified => true,
            Identity::Unchecked => mutant::is(Mutant::UncheckedServe),
        };
        if plan.only.is_some_and(|only| only != endpoint) {
            return Err(Why::NotThis);
        }
        if plan.privacy == Privacy::Private
            && !known.profile.private
            && !mutant::is(Mutant::PrivateIsPublic)
        {
            return Err(Why::NotPrivate);
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
        let tier = known.profile.tier;
        let elsewhere = match query.tiers {
            Tiers::All => false,
            Tiers::Only(only) => tier != only,
            Tiers::UntriedAbove(below) => tier <= below || asked.is_some(),
        };
        if elsewhere {
            return Err(Why::NotThis);
        }
        let at = now.mono;
        let state = match known.circuit.stand(plan.method.lane, plan.key, at) {
            Stand::Closed { share } => State::Closed { share },
            // Only a call that may be repeated is the trial. Among submissions there is none, so
            // one of them is, where nobody in good standing can take it: else the lane never closes.
            // What many wait for is none while somebody in good standing is left to ask.
            Stand::HalfOpen
                if !(plan.urgent && self.is_spared(query, reference, now))
                    && (plan.is_repeatable()
                        || plan.method.is_write()
                        || mutant::is(Mutant::AnyCallIsATrial))
                    && !mutant::is(Mutant::NobodyIsTried) =>
            {
                State::Trial
            }
            Stand::HalfOpen | Stand::Trial => State::Ejected { until: None },
            Stand::Open { .. } if mutant::is(Mutant::EjectionIgnored) => {
                State::Closed { share: 1.0 }
            }
            Stand::Open { until, .. } => State::Ejected { until: Some(until) },
            Stand::MethodOff { .. } => return Err(Why::MethodOff),
            Stand::Excluded { .. } => return Err(Why::Excluded),
        };
        // Its chain check does not go to an endpoint that fails all checks, either.
        let checked = verified || mutant::is(Mutant::ChecksHeedNoBreaker);
        let state = match known.circuit.lane_stand(Lane::Light, at) {
            Stand::Open { until, .. } if !checked => State::Ejected { until: Some(until) },
            Stand::Trial if !checked => State::Ejected { until: None },
            Stand::Open { .. }
            | Stand::Trial
            | Stand::Closed { .. }
            | Stand::HalfOpen
            | Stand::MethodOff { .. }
            | Stand::Excluded { .. } => state,
        };
        let (head, reached, below) = match &self.heads {
            None => (None, Holds::Unknown, plan.pinned),
            Some(heads) => {
                let reached = match plan.need.height {
                    Some(height) => match heads.holds(endpoint, height, at) {
                        // What is not known to be there is not there (P-3).
                        Holds::Unknown if plan.pinned => Holds::No,
                        holds => holds,
                    },
                    // The newest block is none of a laggard's, however busy the others are.
                    None if plan.need.newest
                        && heads.excess_lag(endpoint, at).is_some()
                        && !mutant::is(Mutant::LagAttracts)
                        && !mutant::is(Mutant::DriftTolerated) =>
                    {
                        Holds::No
                    }
                    None => Holds::Unknown,
                };
                // What the caller has seen binds whoever answers, at whatever block (P-8).
                let least = plan.least_head;
                let lower = least.is_some_and(|head| heads.holds(endpoint, head, at) == Holds::No);
                let below = lower || (plan.pinned && reached != Holds::Yes);
                (heads.head(endpoint, at), reached, below)
            }
        };
        Ok(Eligible {
            endpoint,
            tier,
            state,
            wait: known.profile.account.wait(now),
            reached,
            below,
            keeps: known.learned.serves(&plan.need, reference, at),
            shy: known.is_shy(plan.key, at),
            head,
            asked: asked.is_some_and(|asked| asked.round >= query.round)
                && !mutant::is(Mutant::SameEndpointAgain),
            verified,
            private: known.profile.private,
            preferred: plan.prefer.as_ref().is_some_and(|p| p.contains(endpoint)),
        })
    }

    /// Those who may serve the call at all: nobody who is known to lack what it needs, while another
    /// is known to have it.
    pub(super) fn able(&self, standing: &mut Standing, query: &Query<'_>, now: Now) {
        if query.plan.privacy == Privacy::Public {
            prefer(standing, |e| !e.private);
        }
        let open = |e: &Eligible| !e.asked && !e.is_ejected() && e.has_token();
        if query.plan.is_strict() {
            let served = standing.iter().any(|e| !e.below && open(e));
            let again =
                |e: &Eligible| !served && open(e) && self.looks_again(e.endpoint, query, now);
            standing.retain(|e| !e.below || again(e));
        }
        let holder = |e: &Eligible| e.reached == Holds::Yes && e.keeps != Holds::No;
        if standing.iter().any(holder) {
            // None of them can be asked now: whoever was below may have got there since.
            let served = standing.iter().any(|e| holder(e) && open(e));
            let again =
                |e: &Eligible| !served && open(e) && self.looks_again(e.endpoint, query, now);
            standing.retain(|e| e.reached != Holds::No || again(e));
        }
        // Where state may be answered from the present whatever the block, only who may have it is asked:
        // an answer would be no error.
        if standing.iter().any(|e| e.keeps == Holds::No)
            && (standing.iter().any(|e| e.keeps == Holds::Yes)
                || self.answers_lie(query.plan.method))
        {
            standing.retain(|e| e.keeps != Holds::No);
        }
        if query.purpose == Purpose::Confirm
            && let Some(reference) = self.reference_head(now)
        {
            // Whoever is known to be below has nothing to say about what is not there.
            let below = |e: &Eligible| e.head.is_some_and(|head| head < reference);
            standing.retain(|e| e.reached == Holds::Yes || !below(e));
        }
    }

    /// Whether this chain has endpoints that answer a read at any height with the present state.
    fn answers_lie(&self, row: &Descriptor) -> bool {
        let chain = self.chain().and_then(chains::by_id);
        row.lane == Lane::State
            && chain.is_some_and(|chain| chain.has(Quirk::OfficialStateIsPresent))
    }

    /// Whether the call may have this head read again, which it may once of each endpoint.
    fn looks_again(&self, endpoint: EndpointId, query: &Query<'_>, now: Now) -> bool {
        let asks = match query.purpose {
            Purpose::First | Purpose::Next => true,
            Purpose::Copy | Purpose::Confirm => false,
        };
        let looked = query.looked.contains(&endpoint);
        asks && !looked && self.rereads_head(endpoint, query.plan, now)
    }

    /// Whether the head of an endpoint is to be read before the call goes there.
    pub(super) fn looks_first(&self, e: &Eligible, plan: &Plan, now: Now) -> bool {
        self.wants_head(e.endpoint, now)
            || ((e.reached == Holds::No || e.below) && self.rereads_head(e.endpoint, plan, now))
    }

    /// Of those able, the ones to choose from now, put where nobody is yet: a list of this size costs
    /// more to move than to fill. `resort`: everybody is ejected, and the call may ask one of them
    /// all the same.
    pub(super) fn ready(
        &self,
        standing: &Standing,
        query: &Query<'_>,
        resort: bool,
        now: Now,
        ready: &mut Standing,
    ) {
        let copy = query.purpose == Purpose::Copy;
        let open = |e: &Eligible| match e.state {
            State::Closed { .. } => true,
            State::Trial => !copy,
            State::Ejected { .. } => resort,
        };
        for e in standing {
            if open(e) && e.has_token() && !e.asked {
                ready.push(*e);
            }
        }
        prefer(ready, Eligible::fits);
        // Who is below is there only to have its head read again.
        prefer(ready, |e| !e.below);
        if ready.iter().any(|e| e.reached != Holds::No) {
            ready.retain(|e| e.reached != Holds::No);
        } else {
            // Nobody is known to be there yet: the freshest is asked.
            let highest = ready.iter().map(|e| e.head).max();
            ready.retain(|e| Some(e.head) == highest);
        }
        if query.purpose == Purpose::Confirm
            && let Some(reference) = self.reference_head(now)
        {
            prefer(ready, |e| {
                e.reached == Holds::Yes || e.head >= Some(reference)
            });
        }
        if query.plan.prefer.is_some() {
            prefer(ready, |e| e.preferred);
        }
        if let Some(tier) = ready.iter().map(|e| e.tier).min()
            && !mutant::is(Mutant::TiersIgnored)
        {
            ready.retain(|e| e.tier == tier);
        }
    }

    /// When a tier below this one gets a token, if that is soon enough to wait for it.
    pub(super) fn tier_waits(
        &self,
        standing: &Standing,
        tier: u8,
        query: &Query<'_>,
        now: Now,
    ) -> Option<Instant> {
        let most = self.settings.tier_wait.min(self.settings.retry.max_wait);
        let left = most.checked_sub(query.waited).filter(|t| !t.is_zero())?;
        let spent = |e: &&Eligible| e.tier < tier && e.is_closed() && !e.has_token() && !e.asked;
        let wait = standing.iter().filter(spent).map(|e| e.wait).min()?;
        let at = now.mono.checked_add(wait)?;
        (wait <= left && at < query.plan.deadline).then_some(at)
    }

    /// What time alone changes, before a look around: calls under way that ran out of their time
    /// count no longer, a chain that is to be checked again because of a long ejection is
    /// unchecked, and a reading that is too old counts no longer.
    pub(super) fn look(&mut self, now: Now) {
        if let Some(heads) = &mut self.heads {
            heads.refresh(now.mono);
        }
        for known in &mut self.endpoints {
            known.in_flight.count(now.mono);
            if known.circuit.take_recheck(now.mono) {
                known.check.invalidate();
            }
        }
    }
}

/// Keeps those for whom `good` holds, if there are any.
pub(super) fn prefer(standing: &mut Standing, good: impl Fn(&Eligible) -> bool) {
    if standing.iter().any(&good) {
        standing.retain(|e| good(e));
    }
}
