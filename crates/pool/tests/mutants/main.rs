//! Every small fault of reads that can be switched on breaks a promise that the checker sees.
//!
//! What is printed is the first promise that each fault breaks, and in which scenario.
//!
//! `cargo test --profile ci -p highwater --features mutants --test mutants -- --nocapture`

#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[expect(dead_code, reason = "what only whole runs need")]
#[path = "../pool/simulated/mod.rs"]
mod simulated;

use highwater_core::mutant::{Mutant, set};
use highwater_lab::chain::Quarry;
use simulated::{draft::generate, play::play, regressions::regressions};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// Generated scenarios that are tried.
const TRIED: u64 = 600;

/// The first promise that is broken with this fault, and in which scenario.
fn first(mutant: Option<Mutant>, tried: u64, quarry: &Arc<Quarry>) -> Option<String> {
    set(mutant);
    let generated = (0..tried).map(|seed| generate(seed).scenario());
    let found = regressions().chain(generated).find_map(|scenario| {
        let played = play(&scenario, quarry);
        let broken = played.violations.into_iter().next()?;
        Some(format!("{}: {broken}", scenario.name))
    });
    set(None);
    found
}

// P-1 to P-14
#[test]
fn every_fault_of_reads_breaks_a_promise() {
    let quarry = Arc::new(Quarry::default());
    assert_eq!(first(None, 50, &quarry), None, "without a fault");
    let next = AtomicUsize::new(0);
    let lines = Mutex::new(Vec::new());
    let work = || {
        let quarry = Arc::new(Quarry::default());
        while let Some(mutant) = Mutant::READS.get(next.fetch_add(1, Ordering::Relaxed)) {
            let found = first(Some(*mutant), TRIED, &quarry);
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

// P-21 to P-24
#[test]
fn every_fault_of_logs_breaks_a_promise() {
    let first = |mutant| {
        set(mutant);
        let found =
            (0..TRIED).find_map(|seed| simulated::logs::play(seed).wrong.into_iter().next());
        set(None);
        found
    };
    let unseen: Vec<Mutant> = Mutant::LOGS
        .into_iter()
        .filter(|mutant| {
            let found = first(Some(*mutant));
            println!("{mutant:?} {found:?}");
            found.is_none()
        })
        .collect();
    assert_eq!(unseen, [], "nobody sees these");
}
