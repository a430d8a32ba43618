//! Generated scenarios, one after the other on every core, and the smallest of each that fails.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use std::{fs, thread};

use highwater_lab::chain::Quarry;
use highwater_lab::checker::Breach;
use highwater_lab::random::{Draft, generate, judge, shrink};

// A quarter of the time goes into small pieces of memory.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// One scenario in so many is run twice, and both histories compared.
const TWICE: u64 = 10;
/// After so many failures no more are looked for.
const ENOUGH: usize = 5;

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// Scenarios that were run.
    pub(crate) scenarios: u64,
    /// Their calls, how many were answered with a result, and the requests that these took.
    pub(crate) calls: u64,
    pub(crate) answered: u64,
    pub(crate) upstream: u64,
    /// Promises that were broken.
    pub(crate) violations: u64,
    /// Wall-clock time.
    pub(crate) seconds: f64,
    /// The first scenarios that failed, each with why and as the file it was written to.
    pub(crate) failures: Vec<String>,
}

impl Verdict {
    /// Its figures in one line, and every failure.
    pub(crate) fn print(&self) -> String {
        let mut out = format!(
            "{} scenarios, {} calls, {} answered, {} requests, {} violations, {:.1} s\n",
            self.scenarios, self.calls, self.answered, self.upstream, self.violations, self.seconds
        );
        for failure in &self.failures {
            let _ = writeln!(out, "\n{failure}");
        }
        out
    }
}

#[derive(Default)]
struct Figures {
    scenarios: AtomicU64,
    calls: AtomicU64,
    answered: AtomicU64,
    upstream: AtomicU64,
    violations: AtomicU64,
}

/// Runs so many scenarios from this seed on. Those that fail are shrunk and written into the folder.
pub(crate) fn run(first: u64, count: u64, folder: &Path) -> Verdict {
    let begun = Instant::now();
    let next = AtomicU64::new(first);
    let figures = Figures::default();
    let failures = Mutex::new(Vec::new());
    let enough = || {
        failures
            .lock()
            .map_or(true, |failures| failures.len() >= ENOUGH)
    };
    let work = || {
        let quarry = Arc::new(Quarry::default());
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first.saturating_add(count) || enough() {
                return;
            }
            if let Some(report) = one(seed, &quarry, &figures, folder)
                && let Ok(mut failures) = failures.lock()
            {
                failures.push(report);
            }
        }
    };
    let cores = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(work);
        }
    });
    Verdict {
        scenarios: figures.scenarios.into_inner(),
        calls: figures.calls.into_inner(),
        answered: figures.answered.into_inner(),
        upstream: figures.upstream.into_inner(),
        violations: figures.violations.into_inner(),
        seconds: begun.elapsed().as_secs_f64(),
        failures: failures.into_inner().unwrap_or_default(),
    }
}

/// Runs a scenario and says how it failed.
fn one(seed: u64, quarry: &Arc<Quarry>, figures: &Figures, folder: &Path) -> Option<String> {
    let draft = generate(seed);
    let scenario = draft.scenario();
    let (outcome, found) = judge(&scenario, quarry);
    let add = |figure: &AtomicU64, more| figure.fetch_add(more, Ordering::Relaxed);
    add(&figures.scenarios, 1);
    add(&figures.calls, outcome.calls);
    add(&figures.answered, outcome.answered);
    add(&figures.upstream, outcome.upstream);
    add(&figures.violations, found.len() as u64);
    if seed.is_multiple_of(TWICE) {
        let (again, _) = judge(&scenario, quarry);
        if outcome.history.sha256() != again.history.sha256() {
            return Some(format!("two histories of one seed\n{draft}"));
        }
    }
    let first = found.into_iter().next()?;
    Some(report(draft, first.breach, quarry, folder))
}

/// The smallest scenario that breaks the same promise, as a message and as a file.
fn report(draft: Draft, breach: Breach, quarry: &Arc<Quarry>, folder: &Path) -> String {
    let broken = |draft: &Draft| {
        let (_, found) = judge(&draft.scenario(), quarry);
        found.into_iter().find(|found| found.breach == breach)
    };
    let smallest = shrink(draft, |draft| broken(draft).is_some());
    let name = format!("{breach:?}-{}.toml", smallest.seed).to_lowercase();
    let path = folder.join(name);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, smallest.to_string()));
    let place = match written {
        Ok(()) => path.display().to_string(),
        Err(error) => format!("{}: {error}", path.display()),
    };
    let why = broken(&smallest).map(|found| found.to_string());
    format!("{}\n--- {place} ---\n{smallest}", why.unwrap_or_default())
}
