//! Why this endpoint, why now.
//!
//! [`Router::explain`] says what a call would meet at this moment: every endpoint's score and its
//! parts, or why it is out. The last decisions are kept the same way, at most one a second for a
//! method, so that looking costs the calls nothing.

use super::{
    Router,
    pick::{Query, strategy},
    standing::{Eligible, Standing},
};
use crate::{EndpointId, Now, call::Plan, heads::Holds, method::MethodId, score::Parts};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

/// Least time between two kept decisions about one method.
const PAUSE: Duration = Duration::from_secs(1);
/// Kept decisions for each method.
const KEPT: usize = 8;
/// Methods with kept decisions.
const METHODS: usize = 64;

/// Why an endpoint is not asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// The call is for another endpoint.
    NotThis,
    /// It serves another chain.
    Quarantined,
    /// The call is for private endpoints alone.
    NotPrivate,
    /// Its method list leaves the method out.
    MethodList,
    /// The method is off there for a while.
    MethodOff,
    /// It refuses us.
    Excluded,
    /// Its circuit is open.
    Ejected,
    /// It has no token left.
    NoToken,
    /// Its head is below the block that the call is about.
    DoesNotHold,
    /// It does not keep that history, or does not take a range so wide.
    DoesNotKeep,
    /// A lower tier can serve.
    HigherTier,
    /// Its chain is not checked yet, and others are.
    Unchecked,
    /// This call is asking it already.
    Running,
    /// Its check told nothing in this call.
    Unreachable,
}

impl Why {
    /// In words, for pages and commands.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::NotThis => "the call is for another endpoint",
            Self::Quarantined => "serves another chain",
            Self::NotPrivate => "the call is for private endpoints",
            Self::MethodList => "the method is not on its list",
            Self::MethodOff => "the method is off there for a while",
            Self::Excluded => "refuses our credentials",
            Self::Ejected => "its circuit is open",
            Self::NoToken => "its budget is spent",
            Self::DoesNotHold => "its head is below the block",
            Self::DoesNotKeep => "does not keep the block or does not take the range",
            Self::HigherTier => "a lower tier can serve",
            Self::Unchecked => "its chain is not checked yet",
            Self::Running => "this call is asking it already",
            Self::Unreachable => "its chain check failed in this call",
        }
    }
}

/// One endpoint in an explanation.
#[derive(Clone, Debug, PartialEq)]
pub struct Considered {
    /// Which.
    pub endpoint: EndpointId,
    /// Its tier.
    pub tier: u8,
    /// Why it is out; `None`: it is a candidate.
    pub out: Option<Why>,
    /// Its score and what it is made of; lower is better.
    pub parts: Parts,
    /// What the strategy makes of it, as [`Selector::preview`](crate::select::Selector::preview)
    /// says; `None` where it is out or the strategy has no number for it.
    pub value: Option<f64>,
}

/// What a call meets.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The row of the method.
    pub method: MethodId,
    /// The strategy's name.
    pub strategy: &'static str,
    /// The head that the pool believes.
    pub reference: Option<u64>,
    /// All endpoints in order.
    pub considered: Vec<Considered>,
}

/// One decision that was taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// When.
    pub at: Now,
    /// Who was asked.
    pub chosen: EndpointId,
    /// What it was chosen from.
    pub explanation: Explanation,
}

/// The last decisions.
#[derive(Clone, Debug, Default)]
pub(super) struct Decisions {
    kept: BTreeMap<MethodId, VecDeque<Decision>>,
}

impl Decisions {
    fn is_due(&self, method: MethodId, now: Instant) -> bool {
        match self.kept.get(&method).and_then(VecDeque::back) {
            Some(last) => now.saturating_duration_since(last.at.mono) >= PAUSE,
            None => self.kept.len() < METHODS,
        }
    }

    fn keep(&mut self, decision: Decision) {
        let kept = self.kept.entry(decision.explanation.method).or_default();
        if kept.len() >= KEPT {
            kept.pop_front();
        }
        kept.push_back(decision);
    }
}

impl Router {
    /// What a call with this plan meets now.
    pub fn explain(&mut self, plan: &Plan, now: Now) -> Explanation {
        self.look(now);
        let (outs, ready) = self.outs(plan, now);
        let settings = Arc::clone(&self.settings);
        let strategy = strategy(plan, &settings);
        let candidates = self.candidates(&ready, plan, strategy, now);
        let values = self.selector.preview(strategy, &candidates);
        let value_of = |endpoint| {
            let place = ready.iter().position(|e| e.endpoint == endpoint)?;
            values.get(place).copied().flatten()
        };
        let considered = self.ids().zip(outs).map(|(endpoint, out)| {
            let (_, parts) = self.parts(endpoint, plan, now);
            Considered {
                endpoint,
                tier: self.endpoint(endpoint).profile.tier,
                out,
                parts,
                value: value_of(endpoint),
            }
        });
        let considered = considered.collect();
        Explanation {
            method: plan.method.id,
            strategy: strategy.name(),
            reference: self.reference_head(now),
            considered,
        }
    }

    /// Why each endpoint, in order, would not be drawn for this call now, `None`: it would; and
    /// those that would.
    fn outs(&self, plan: &Plan, now: Now) -> (Vec<Option<Why>>, Standing) {
        let query = Query::at_first(plan);
        let standings: Vec<_> = self.standings(&query, now).collect();
        let mut able: Standing = standings.iter().flatten().copied().collect();
        self.able(&mut able, &query, now);
        let mut ready = Standing::new();
        self.ready(&able, &query, false, now, &mut ready);
        if ready.iter().any(|e| e.verified) {
            ready.retain(|e| e.verified);
        }
        let is_in = |set: &Standing, e: &Eligible| set.iter().any(|x| x.endpoint == e.endpoint);
        let tier = ready.first().map(|e| e.tier);
        let why = |e: Eligible| {
            if is_in(&ready, &e) {
                return None;
            }
            Some(if is_in(&able, &e) && e.is_ejected() {
                Why::Ejected
            } else if is_in(&able, &e) && !e.has_token() {
                Why::NoToken
            } else if e.reached == Holds::No || e.below {
                Why::DoesNotHold
            } else if !e.fits() {
                Why::DoesNotKeep
            } else if tier.is_some_and(|tier| e.tier > tier) {
                Why::HigherTier
            } else {
                Why::Unchecked
            })
        };
        let outs = standings.into_iter().map(|one| one.map_or_else(Some, why));
        (outs.collect(), ready)
    }

    /// Endpoints that would not be drawn for this call now, and why.
    pub(crate) fn unable(&self, plan: &Plan, now: Now) -> impl Iterator<Item = (EndpointId, Why)> {
        let (outs, _) = self.outs(plan, now);
        let named = self.ids().zip(outs);
        named.filter_map(|(endpoint, out)| Some((endpoint, out?)))
    }

    /// The last decisions about a method, oldest first; about all methods without one.
    pub fn decisions(&self, method: Option<MethodId>) -> impl Iterator<Item = &Decision> {
        let wanted = move |id: &MethodId| method.is_none_or(|method| method == *id);
        self.decisions
            .kept
            .iter()
            .filter(move |(id, _)| wanted(id))
            .flat_map(|(_, kept)| kept)
    }

    pub(super) fn keep_decision(&mut self, plan: &Plan, chosen: EndpointId, now: Now) {
        if !self.decisions.is_due(plan.method.id, now.mono) {
            return;
        }
        let explanation = self.explain(plan, now);
        self.decisions.keep(Decision {
            at: now,
            chosen,
            explanation,
        });
    }
}
