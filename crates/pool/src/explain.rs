//! Why this endpoint, why now.

use crate::{EndpointName, event::method_name, inner::State};
use highwater_core::{
    Now,
    learn::Need,
    method::lookup,
    router::{self, Why},
    score::Parts,
};
use std::time::Duration;

/// What a call meets at one moment: every endpoint's score, or why it is out.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The method, as the method table names it.
    pub method: &'static str,
    /// The strategy that chooses.
    pub strategy: &'static str,
    /// The head that the pool believes.
    pub reference_head: Option<u64>,
    /// All endpoints in order.
    pub considered: Vec<Considered>,
}

/// One endpoint in an explanation.
#[derive(Clone, Debug, PartialEq)]
pub struct Considered {
    /// Which.
    pub endpoint: EndpointName,
    /// Its tier.
    pub tier: u8,
    /// Why it is out; `None`: it is a candidate. [`Why::words`] says it for people.
    pub out: Option<Why>,
    /// Its score and what it is made of; lower is better.
    pub parts: Parts,
    /// What the strategy makes of it; `None` where it is out or the strategy has no number for it.
    pub value: Option<f64>,
}

/// One decision that was taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// How long ago.
    pub age: Duration,
    /// Who was asked.
    pub chosen: EndpointName,
    /// What it was chosen from.
    pub explanation: Explanation,
}

impl State {
    pub(crate) fn explain(&mut self, method: &str, params: &str, now: Now) -> Explanation {
        let row = lookup(method);
        let mut plan = self.router.plan_for(row, method, now);
        plan.need = Need::of_call(row, params);
        let explanation = self.router.explain(&plan, now);
        self.explanation(&explanation)
    }

    pub(crate) fn decisions(&self, method: Option<&str>, now: Now) -> Vec<Decision> {
        let row = method.map(|method| lookup(method).id);
        let decisions = self.router.decisions(row);
        let named = decisions.map(|decision| Decision {
            age: now.mono.saturating_duration_since(decision.at.mono),
            chosen: self.name(decision.chosen),
            explanation: self.explanation(&decision.explanation),
        });
        named.collect()
    }

    fn explanation(&self, explanation: &router::Explanation) -> Explanation {
        let considered = explanation.considered.iter().map(|one| Considered {
            endpoint: self.name(one.endpoint),
            tier: one.tier,
            out: one.out,
            parts: one.parts,
            value: one.value,
        });
        Explanation {
            method: method_name(explanation.method),
            strategy: explanation.strategy,
            reference_head: explanation.reference,
            considered: considered.collect(),
        }
    }
}
