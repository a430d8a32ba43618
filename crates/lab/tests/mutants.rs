//! Every small fault of the engine that can be switched on breaks a promise that the checker sees.
//!
//! First come the scenarios that aim at one promise each and those that once broke one, then generated
//! ones, of sends and of everything. What is printed is the first promise that each fault breaks, and where.
//!
//! `cargo test --profile ci -p highwater-lab --features mutants --test mutants -- --nocapture`

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::{fs, thread};

use highwater_core::mutant::{Mutant, set};
use highwater_lab::chain::Quarry;
use highwater_lab::random::{SEND_POLICIES, generate, generate_sends, judge};
use highwater_lab::scenario::Scenario;

/// Generated scenarios that are tried.
const TRIED: u64 = 300;
/// Generated scenarios of sends that are tried, under each policy.
const SENDS: u64 = 8;

/// The first promise that is broken with this fault, and in which scenario.
fn first(
    mutant: Option<Mutant>,
    targets: &[(String, Scenario)],
    tried: u64,
    quarry: &Arc<Quarry>,
) -> Option<String> {
    set(mutant);
    let generated = (0..tried).map(|seed| (format!("generated {seed}"), generate(seed).scenario()));
    let sends = SEND_POLICIES.iter().flat_map(|policy| {
        let drafts = (0..SENDS).map(|seed| generate_sends(policy, seed));
        drafts.map(|draft| (draft.name.clone(), draft.scenario()))
    });
    let mut all = targets.iter().cloned().chain(sends).chain(generated);
    let found = all.find_map(|(name, scenario)| {
        let (_, found) = judge(&scenario, quarry);
        let broken = found.into_iter().next()?;
        Some(format!("{name}: {broken}"))
    });
    set(None);
    found
}

fn targets() -> Vec<(String, Scenario)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut files = Vec::new();
    for name in ["targets", "regressions"] {
        let entries = fs::read_dir(folder.join(name)).unwrap();
        let mut own: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        own.sort();
        files.append(&mut own);
    }
    let read = |path: std::path::PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        let scenario = Scenario::parse(&text, None).unwrap();
        (scenario.name.clone(), scenario)
    };
    files.into_iter().map(read).collect()
}

// B-4, B-5
#[test]
fn every_fault_of_the_engine_breaks_a_promise() {
    let targets = targets();
    let quarry = Arc::new(Quarry::default());
    assert_eq!(first(None, &targets, 50, &quarry), None, "without a fault");
    let next = AtomicUsize::new(0);
    let lines = Mutex::new(Vec::new());
    let work = || {
        let quarry = Arc::new(Quarry::default());
        while let Some(mutant) = Mutant::ALL.get(next.fetch_add(1, Ordering::Relaxed)) {
            let found = first(Some(*mutant), &targets, TRIED, &quarry);
            lines.lock().unwrap().push((*mutant, found));
        }
    };
    let cores = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(work);
        }
    });
    let mut lines = lines.into_inner().unwrap();
    lines.sort_by_key(|(mutant, _)| format!("{mutant:?}"));
    for (mutant, found) in &lines {
        let found = found.as_deref().unwrap_or("NOTHING IS BROKEN");
        println!("{:<24} {found}", format!("{mutant:?}"));
    }
    let unseen: Vec<_> = lines
        .iter()
        .filter(|(_, found)| found.is_none())
        .map(|(mutant, _)| mutant)
        .collect();
    println!(
        "{} faults, {} seen",
        lines.len(),
        lines.len() - unseen.len()
    );
    assert!(unseen.is_empty(), "nobody sees {unseen:?}");
}
