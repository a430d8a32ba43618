//! Why this endpoint, why now, as JSON.
//!
//! `chain` names the chain, which may be left out where there is one only. With `method` it says
//! what a call of it would meet at this moment, with `params` for the blocks they are about; and it
//! lists the last decisions that were taken about the method, or about all.

use crate::state::{Chain, Shared};
use highwater_core::router::Why;
use http::StatusCode;
use serde::Serialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// What is asked for.
#[derive(Default)]
struct Question<'a> {
    chain: Option<Cow<'a, str>>,
    method: Option<Cow<'a, str>>,
    params: Option<Cow<'a, str>>,
}

#[derive(Serialize)]
pub(super) struct Explanation<'a> {
    chain: &'a str,
    id: Option<u64>,
    reference_head: Option<u64>,
    /// What a call would meet; none where no method is asked for.
    now: Option<Choice>,
    /// Newest first.
    decisions: Vec<Decision>,
}

#[derive(Serialize)]
struct Decision {
    /// How long ago.
    age_ms: u64,
    /// The label of the endpoint that was asked.
    chosen: String,
    #[serde(flatten)]
    choice: Choice,
}

#[derive(Serialize)]
struct Choice {
    /// The row of the method table: the method itself, or the namespace that is known of it.
    method: &'static str,
    strategy: &'static str,
    reference_head: Option<u64>,
    endpoints: Vec<Considered>,
}

#[derive(Serialize)]
struct Considered {
    label: String,
    host: String,
    tier: u8,
    /// Why it is not asked; none: it is a candidate.
    out: Option<&'static str>,
    /// Lower is better.
    score: f64,
    parts: Parts,
    /// What the strategy makes of it.
    value: Option<f64>,
}

#[derive(Serialize)]
struct Parts {
    service_ms: f64,
    slope: f64,
    load: f64,
    errors: f64,
    lag: f64,
    weight: f64,
}

/// Answers the query of a request.
pub(super) fn explain<'a>(
    shared: &'a Shared,
    query: &str,
) -> Result<Explanation<'a>, (StatusCode, &'static str)> {
    let question = Question::read(query)?;
    let chain = question.chain(shared)?;
    let params = question.params()?;
    let method = question.method.as_deref();
    let now = method.map(|method| Choice::of(&chain.pool.explain(method, params)));
    let decisions = chain.pool.decisions(method);
    let mut decisions: Vec<Decision> = decisions.iter().map(Decision::of).collect();
    decisions.sort_by_key(|decision| decision.age_ms);
    Ok(Explanation {
        chain: &chain.name,
        id: chain.pool.chain_id().map(|id| id.0),
        reference_head: chain.pool.snapshot().reference_head,
        now,
        decisions,
    })
}

impl<'a> Question<'a> {
    fn read(query: &'a str) -> Result<Self, (StatusCode, &'static str)> {
        let mut question = Self::default();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            let place = match &*name {
                "chain" => &mut question.chain,
                "method" => &mut question.method,
                "params" => &mut question.params,
                _ => {
                    let text = "unknown parameter: expected chain, method or params";
                    return Err((StatusCode::BAD_REQUEST, text));
                }
            };
            *place = Some(value).filter(|value| !value.is_empty());
        }
        if question.params.is_some() && question.method.is_none() {
            return Err((StatusCode::BAD_REQUEST, "params need a method"));
        }
        Ok(question)
    }

    fn chain<'s>(&self, shared: &'s Shared) -> Result<&'s Chain, (StatusCode, &'static str)> {
        match (&self.chain, &shared.chains[..]) {
            (None, [chain]) => Ok(chain),
            (None, _) => Err((
                StatusCode::BAD_REQUEST,
                "several chains are configured: say which with chain",
            )),
            (Some(name), chains) => {
                let by_id = |chain: &&Chain| {
                    let id = chain.pool.chain_id().map(|id| id.to_string());
                    id.as_deref() == Some(name)
                };
                let named = shared.routes.named(name).and_then(|at| chains.get(at));
                named
                    .or_else(|| chains.iter().find(by_id))
                    .ok_or((StatusCode::NOT_FOUND, "no such chain"))
            }
        }
    }

    /// The parameters, where they are an array.
    fn params(&self) -> Result<Option<&str>, (StatusCode, &'static str)> {
        let Some(params) = self.params.as_deref() else {
            return Ok(None);
        };
        match serde_json::from_str::<Vec<&RawValue>>(params) {
            Ok(_) => Ok(Some(params.trim())),
            Err(_) => Err((StatusCode::BAD_REQUEST, "params must be a JSON array")),
        }
    }
}

impl Decision {
    fn of(decision: &highwater::Decision) -> Self {
        Self {
            age_ms: u64::try_from(decision.age.as_millis()).unwrap_or(u64::MAX),
            chosen: decision.chosen.label.to_string(),
            choice: Choice::of(&decision.explanation),
        }
    }
}

impl Choice {
    fn of(explanation: &highwater::Explanation) -> Self {
        let endpoints = explanation.considered.iter().map(|one| Considered {
            label: one.endpoint.label.to_string(),
            host: one.endpoint.host.to_string(),
            tier: one.tier,
            out: one.out.map(Why::words),
            score: one.parts.total,
            parts: Parts {
                service_ms: one.parts.service_ms,
                slope: one.parts.slope,
                load: one.parts.load,
                errors: one.parts.errors,
                lag: one.parts.lag,
                weight: one.parts.weight,
            },
            value: one.value,
        });
        Self {
            method: explanation.method,
            strategy: explanation.strategy,
            reference_head: explanation.reference_head,
            endpoints: endpoints.collect(),
        }
    }
}
