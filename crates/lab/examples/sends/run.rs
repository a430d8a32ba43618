//! Generated scenarios of sends under one policy, on every core, and the smallest of each that fails.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use std::{fs, thread};

use highwater_lab::chain::Quarry;
use highwater_lab::checker::{Breach, Tally, tally};
use highwater_lab::random::{Draft, SENDS, SendPolicy, generate_sends, judge, shrink};

// A quarter of the time goes into small pieces of memory.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// After so many failures no more are looked for.
const ENOUGH: usize = 5;

/// The first line of the table.
pub(crate) const HEADING: &str =
    "policy                       sends  accepted ambiguous    failed violations  seconds";

/// What came of one policy.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    /// How the sends ended.
    pub(crate) tally: Tally,
    /// Promises that were broken.
    pub(crate) violations: u64,
    /// Wall-clock time.
    pub(crate) seconds: f64,
    /// The first scenarios that failed, each with why and as the file it was written to.
    pub(crate) failures: Vec<String>,
}

impl Verdict {
    /// Its line of the table, and every failure.
    pub(crate) fn print(&self, policy: &SendPolicy) -> String {
        let Tally {
            sends,
            accepted,
            ambiguous,
            failed,
        } = self.tally;
        let mut out = format!(
            "{:24} {sends:>9} {accepted:>9} {ambiguous:>9} {failed:>9} {:>10} {:>8.1}\n",
            policy.name, self.violations, self.seconds
        );
        for failure in &self.failures {
            let _ = writeln!(out, "\n{failure}");
        }
        out
    }
}

/// Runs scenarios under a policy from this seed on, as many as send so many transactions. Those that
/// fail are shrunk and written into the folder.
pub(crate) fn run(policy: &SendPolicy, first: u64, count: u64, folder: &Path) -> Verdict {
    let begun = Instant::now();
    let next = AtomicU64::new(first);
    let end = first.saturating_add(count.div_ceil(SENDS));
    let total = Mutex::new(Verdict::default());
    let work = || {
        let mut quarry = Arc::new(Quarry::default());
        let mut own = Verdict::default();
        let mut runs = 0_u32;
        while own.failures.len() < ENOUGH {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                break;
            }
            // What was signed is kept only so long: a scenario seldom sends what another one did.
            runs += 1;
            if runs.is_multiple_of(200) {
                quarry = Arc::default();
            }
            one(policy, seed, &quarry, &mut own, folder);
        }
        if let Ok(mut total) = total.lock() {
            let (all, own_tally) = (&mut total.tally, own.tally);
            all.sends += own_tally.sends;
            all.accepted += own_tally.accepted;
            all.ambiguous += own_tally.ambiguous;
            all.failed += own_tally.failed;
            total.violations += own.violations;
            total.failures.append(&mut own.failures);
        }
    };
    let cores = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(work);
        }
    });
    Verdict {
        seconds: begun.elapsed().as_secs_f64(),
        ..total.into_inner().unwrap_or_default()
    }
}

/// Runs a scenario.
fn one(policy: &SendPolicy, seed: u64, quarry: &Arc<Quarry>, verdict: &mut Verdict, folder: &Path) {
    let draft = generate_sends(policy, seed);
    let (outcome, found) = judge(&draft.scenario(), quarry);
    let Tally {
        sends,
        accepted,
        ambiguous,
        failed,
    } = tally(&outcome.history);
    verdict.tally.sends += sends;
    verdict.tally.accepted += accepted;
    verdict.tally.ambiguous += ambiguous;
    verdict.tally.failed += failed;
    verdict.violations += found.len() as u64;
    if let Some(first) = found.into_iter().next() {
        let report = report(draft, first.breach, quarry, folder);
        verdict.failures.push(report);
    }
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
