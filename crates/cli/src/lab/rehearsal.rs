//! A scenario in virtual time: what clients would suffer from these nodes, without a router between
//! them and with a plain list of fallbacks.

use super::nodes;
use crate::figures::percent;
use highwater_lab::{
    checker::{self, Breach, Promises, Violation},
    scenario::Scenario,
    world::{self, Direct, Fallback, Outcome, Subject},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fmt::Write as _};

/// What stands between clients and nodes.
#[derive(Clone, Copy)]
enum Between {
    /// Nothing: every client has one node of its own.
    Nothing,
    /// The nodes in their order, the next one after a failure.
    List,
}

impl Between {
    const ALL: [Self; 2] = [Self::Nothing, Self::List];

    const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "direct",
            Self::List => "fallback",
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::Nothing => "each client at a node of its own",
            Self::List => {
                "the nodes in this order, the next one where there is no answer with status 200 in time"
            }
        }
    }

    fn subject(self, scenario: &Scenario) -> Box<dyn Subject> {
        let nodes = scenario.nodes.len();
        match self {
            Self::Nothing => Box::new(Direct::new(nodes)),
            Self::List => {
                // The client's patience lasts for the whole list.
                let parts = u32::try_from(nodes).unwrap_or(u32::MAX);
                Box::new(Fallback::new(nodes, scenario.load.timeout / parts))
            }
        }
    }
}

/// One run, with what the checker found.
struct Run {
    between: Between,
    outcome: Outcome,
    sha256: String,
    counts: BTreeMap<Breach, u64>,
    /// The first of each kind.
    first: BTreeMap<Breach, Violation>,
}

/// Runs the scenario and tells the result.
pub(super) fn run(scenario: &Scenario, as_json: bool) -> String {
    let runs = Between::ALL.map(|between| Run::new(scenario, between));
    if as_json {
        let runs = runs.iter().map(Run::to_json).collect::<Vec<_>>();
        let whole = json!({
            "scenario": scenario.name,
            "seed": scenario.seed,
            "duration_ms": u64::try_from(scenario.duration.as_millis()).unwrap_or(u64::MAX),
            "runs": runs,
        });
        return format!("{whole}\n");
    }
    let mut text = format!(
        "{}, seed {}, {:?} of virtual time, {} clients with a call every {:?}:\n{}",
        scenario.name,
        scenario.seed,
        scenario.duration,
        scenario.load.clients,
        scenario.load.every,
        nodes(scenario, &[])
    );
    for run in &runs {
        text.push_str(&run.to_text());
    }
    text
}

impl Run {
    fn new(scenario: &Scenario, between: Between) -> Self {
        let outcome = world::run(scenario, between.subject(scenario).as_mut());
        let promises = Promises::of(scenario);
        let mut counts = BTreeMap::new();
        let mut first = BTreeMap::new();
        for violation in checker::check(&outcome.history, &outcome.chain, &promises) {
            *counts.entry(violation.breach).or_default() += 1;
            first.entry(violation.breach).or_insert(violation);
        }
        Self {
            between,
            sha256: outcome.history.sha256(),
            outcome,
            counts,
            first,
        }
    }

    fn to_text(&self) -> String {
        let Outcome {
            calls,
            answered,
            upstream,
            ..
        } = self.outcome;
        let violations: u64 = self.counts.values().sum();
        let mut text = format!(
            "\n{}:\n  {calls} calls, {answered} answered ({}), {upstream} requests upstream, \
             {violations} violations\n",
            self.between.text(),
            percent(answered, calls),
        );
        for (breach, count) in &self.counts {
            let _ = writeln!(text, "  {count:>6} {breach:?}");
            if let Some(first) = self.first.get(breach) {
                let _ = writeln!(text, "         first: {first}");
            }
        }
        let _ = writeln!(text, "  history sha256 {}", self.sha256);
        text
    }

    fn to_json(&self) -> Value {
        let counts = self.counts.iter();
        let counts: BTreeMap<String, u64> = counts
            .map(|(breach, count)| (format!("{breach:?}"), *count))
            .collect();
        let first = self.first.values().map(|violation| {
            json!({
                "breach": format!("{:?}", violation.breach),
                "at_us": u64::try_from(violation.at.as_micros()).unwrap_or(u64::MAX),
                "call": violation.call,
                "detail": violation.detail,
            })
        });
        json!({
            "between": self.between.name(),
            "calls": self.outcome.calls,
            "answered": self.outcome.answered,
            "upstream": self.outcome.upstream,
            "violations": counts,
            "first": first.collect::<Vec<_>>(),
            "sha256": self.sha256,
        })
    }
}
