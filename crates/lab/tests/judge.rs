//! The judge: the engine under thousands of generated scenarios, and under every scenario that once
//! broke a promise.
//!
//! `HIGHWATER_LONG` runs ten times as many, `HIGHWATER_SEED` begins at another seed. A scenario that
//! breaks a promise is shrunk, printed, and written to a file; put into `scenarios/regressions` it
//! is run for ever.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::{env, fs, thread};

use highwater_lab::chain::Quarry;
use highwater_lab::checker::{Breach, Violation};
use highwater_lab::random::{Draft, generate, judge, shrink};
use highwater_lab::scenario::Scenario;

/// One scenario in so many is run twice, and both histories compared.
const TWICE: u64 = 10;

#[derive(Default)]
struct Figures {
    calls: AtomicU64,
    answered: AtomicU64,
    upstream: AtomicU64,
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

/// Runs a scenario and says how it failed.
fn failure(draft: &Draft, quarry: &Arc<Quarry>, figures: &Figures) -> Option<Violation> {
    let scenario = draft.scenario();
    let (outcome, found) = judge(&scenario, quarry);
    figures.calls.fetch_add(outcome.calls, Ordering::Relaxed);
    figures
        .answered
        .fetch_add(outcome.answered, Ordering::Relaxed);
    figures
        .upstream
        .fetch_add(outcome.upstream, Ordering::Relaxed);
    if draft.seed.is_multiple_of(TWICE) {
        let (again, _) = judge(&scenario, quarry);
        let hashes = [&outcome, &again].map(|outcome| outcome.history.sha256());
        assert_eq!(hashes[0], hashes[1], "two histories of one seed\n{draft}");
    }
    found.into_iter().next()
}

/// The smallest scenario that breaks the same promise, as a message and as a file.
fn report(draft: Draft, breach: Breach, quarry: &Arc<Quarry>) -> String {
    let broken = |draft: &Draft| {
        let (_, found) = judge(&draft.scenario(), quarry);
        found.into_iter().find(|found| found.breach == breach)
    };
    let smallest = shrink(draft, |draft| broken(draft).is_some());
    let name = format!("{breach:?}-{}.toml", smallest.seed).to_lowercase();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, smallest.to_string()).unwrap();
    let why = broken(&smallest).map(|found| found.to_string());
    format!(
        "{}\n--- {} ---\n{smallest}",
        why.unwrap_or_default(),
        path.display()
    )
}

// B-5
#[test]
fn generated_scenarios_break_no_promise() {
    let long = env::var_os("HIGHWATER_LONG").is_some();
    let count = number("HIGHWATER_SCENARIOS").unwrap_or(if long { 10_000 } else { 1_000 });
    let first = number("HIGHWATER_SEED").unwrap_or(0);
    let next = AtomicU64::new(first);
    let figures = Figures::default();
    let failures = Mutex::new(Vec::new());
    let work = || {
        let quarry = Arc::new(Quarry::default());
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + count || failures.lock().unwrap().len() >= 5 {
                return;
            }
            let draft = generate(seed);
            if let Some(found) = failure(&draft, &quarry, &figures) {
                let report = report(draft, found.breach, &quarry);
                failures.lock().unwrap().push(report);
            }
        }
    };
    let cores = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(work);
        }
    });
    println!(
        "{count} scenarios: {} calls, {} answered, {} requests",
        figures.calls.into_inner(),
        figures.answered.into_inner(),
        figures.upstream.into_inner()
    );
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "\n{}", failures.join("\n\n"));
}

// B-5
#[test]
fn no_scenario_that_once_broke_a_promise_or_aims_at_one_breaks_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let quarry = Arc::new(Quarry::default());
    let mut files = 0;
    for folder in ["regressions", "targets"].map(|name| folder.join(name)) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            let scenario = Scenario::parse(&text, None).unwrap();
            let (_, found) = judge(&scenario, &quarry);
            let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
            assert!(found.is_empty(), "{}: {}", path.display(), lines.join("\n"));
            files += 1;
        }
    }
    assert!(files > 15, "{files}");
}
