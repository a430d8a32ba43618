//! The judge: the engine under thousands of generated scenarios, and under every scenario that once
//! broke a promise.
//!
//! `HIGHWATER_LONG` runs ten times as many, `HIGHWATER_SEED` begins at another seed. A scenario that
//! breaks a promise is shrunk, printed, and written to a file; put into `scenarios/regressions` it
//! is run for ever.

#[path = "../examples/judge/run.rs"]
mod run;

use std::path::Path;
use std::sync::Arc;
use std::{env, fs};

use highwater_lab::chain::Quarry;
use highwater_lab::random::judge;
use highwater_lab::scenario::Scenario;

fn number(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

// B-5
#[test]
fn generated_scenarios_break_no_promise() {
    let long = env::var_os("HIGHWATER_LONG").is_some();
    let count = number("HIGHWATER_SCENARIOS").unwrap_or(if long { 10_000 } else { 1_000 });
    let first = number("HIGHWATER_SEED").unwrap_or(0);
    let verdict = run::run(first, count, Path::new(env!("CARGO_TARGET_TMPDIR")));
    println!("{}", verdict.print());
    assert!(verdict.failures.is_empty(), "\n{}", verdict.print());
    assert_eq!(verdict.scenarios, count);
    assert!(verdict.calls >= 200 * count);
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
