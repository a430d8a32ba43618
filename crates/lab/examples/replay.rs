//! Runs a scenario file with the engine between clients and nodes, and prints what broke and all that
//! happened around it.
//!
//! `cargo run -p highwater-lab --example replay -- FILE.toml [FROM TO]`, times in milliseconds. Built
//! with the feature `mutants`, `HIGHWATER_MUTANT=RetriesAreFree` switches that fault on.

use std::sync::Arc;
use std::time::Duration;
use std::{env, fs, process};

use highwater_lab::history::Event;
use highwater_lab::random::judge;
use highwater_lab::scenario::Scenario;

/// Longest text of a body that is printed.
const LONGEST: usize = 160;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let Some(path) = arguments.first() else {
        eprintln!("usage: replay FILE.toml [FROM TO]");
        process::exit(2);
    };
    let text = fs::read_to_string(path).unwrap_or_else(|error| {
        eprintln!("{path}: {error}");
        process::exit(1);
    });
    let scenario = Scenario::parse(&text, None).unwrap_or_else(|error| {
        eprintln!("{path}: {error}");
        process::exit(1);
    });
    #[cfg(feature = "mutants")]
    if let Ok(name) = env::var("HIGHWATER_MUTANT") {
        use highwater_core::mutant::{Mutant, set};
        let mut all = Mutant::ALL.into_iter();
        let mutant = all.find(|mutant| format!("{mutant:?}") == name);
        if mutant.is_none() {
            eprintln!("there is no {name}: {:?}", Mutant::ALL);
            process::exit(2);
        }
        set(mutant);
    }
    let (outcome, found) = judge(&scenario, &Arc::default());
    for violation in &found {
        println!("{violation}");
    }
    println!(
        "{} calls, {} answered, {} requests, {} promises broken",
        outcome.calls,
        outcome.answered,
        outcome.upstream,
        found.len()
    );
    let millis = |index: usize| {
        let number = arguments.get(index)?.parse().ok()?;
        Some(Duration::from_millis(number))
    };
    let last = found.first().map_or(Duration::ZERO, |first| first.at);
    let from = millis(1).unwrap_or(last.saturating_sub(Duration::from_millis(500)));
    let until = millis(2).unwrap_or(last);
    for event in outcome.history.events() {
        if (from..=until).contains(&event.at()) {
            println!("{}", short(event));
        }
    }
}

fn short(event: &Event) -> String {
    let mut line = match event {
        Event::Called {
            call,
            method,
            params,
            ..
        } => format!("call {call} {method} {params}"),
        Event::Answered { call, got, .. } => format!("call {call} -> {got:?}"),
        Event::Received {
            node,
            id,
            method,
            params,
            ..
        } => format!(
            "     node {node} <- {} {method} {params}",
            id.as_deref().unwrap_or("-")
        ),
        Event::Took { node, hash, .. } => format!("     node {node} took {hash}"),
        Event::Served {
            node, status, body, ..
        } => format!("     node {node} {status} {body}"),
    };
    if let Some((end, _)) = line.char_indices().nth(LONGEST) {
        line.truncate(end);
    }
    format!("{:>12?} {line}", event.at())
}
