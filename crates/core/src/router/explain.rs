//! Why this endpoint, why now.
//!
//! [`Router::explain`] says what a call would meet at this moment: every endpoint's score and its
//! parts, or why it is out. The last decisions are kept the same way, at most one a second for a
//! method, so that looking costs the calls nothing.

use super::{
    Router,
    pick::{Purpose, Query},
};
use crate::{
    EndpointId, Now,
    call::Plan,
    method::MethodId,
    score::Parts,
    select::Strategy,
};
use std::{
    collections::{BTreeMap, VecDeque},
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
    /// What the strategy makes of it, where it is a candidate: for `adaptive` its
    /// score. See [`Selector::preview`](crate::select::Selector::preview).
    pub value: Option<f64>,
}

/// What a call meets.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The row of the method.
    pub method: MethodId,
    /// Who chooses: the call's own strategy, else the router's.
    pub strategy: Strategy,
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
        let query = Query {
            plan,
            asked: &[],
            round: 0,
            purpose: Purpose::First,
            above_tier: None,
        };
        let outs = self.outs(&query, now);
        let values = self.values(&query, &outs, now);
        let outs = outs.into_iter().zip(values);
        let considered = self.ids().zip(outs).map(|(endpoint, (out, value))| {
            let (_, parts) = self.parts(endpoint, plan, now);
            Considered {
                endpoint,
                tier: self.endpoints[endpoint.index()].profile.tier,
                out,
                parts,
                value,
            }
        });
        let considered = considered.collect();
        let own = plan.strategy.as_deref();
        Explanation {
            method: plan.method.id,
            strategy: *own.unwrap_or(&self.settings.strategy),
            reference: self.reference_head(now),
            considered,
        }
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
