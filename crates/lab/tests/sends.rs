//! Sends under every policy, where answers are lost and nodes forget.
//!
//! `HIGHWATER_LONG` sends twenty times as many, `HIGHWATER_SEED` begins at another seed.

#[path = "../examples/sends/run.rs"]
mod run;

use std::env;
use std::path::Path;

use highwater_lab::random::SEND_POLICIES;

// B-4, B-5
#[test]
fn no_policy_breaks_a_promise_to_those_who_send() {
    let count = match env::var_os("HIGHWATER_LONG") {
        Some(_) => 100_000,
        None => 5_000,
    };
    let seed = env::var("HIGHWATER_SEED").ok();
    let first = seed.and_then(|seed| seed.parse().ok()).unwrap_or(0);
    println!("{}", run::HEADING);
    for policy in &SEND_POLICIES {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let verdict = run::run(policy, first, count, folder);
        let line = verdict.print(policy);
        print!("{line}");
        assert!(verdict.failures.is_empty(), "\n{line}");
        let tally = verdict.tally;
        assert!(tally.sends >= count, "{line}");
        // Each of the three ends was seen, and most transactions got through.
        assert!(tally.ambiguous > 0 && tally.failed > 0, "{line}");
        assert!(tally.accepted > tally.ambiguous, "{line}");
    }
}
