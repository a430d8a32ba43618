//! The engine between clients and nodes in virtual time: shipped scenarios, and what they promise.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use highwater_lab::checker::{Promises, Violation, check};
use highwater_lab::scenario::Scenario;
use highwater_lab::world::{Outcome, Routed, run};

fn routed(text: &str) -> (Outcome, Vec<Violation>) {
    let scenario = Scenario::parse(text, None).unwrap();
    let outcome = run(&scenario, &mut Routed::new(&scenario));
    let found = check(
        &outcome.history,
        &outcome.chain,
        &Promises::routed(&scenario),
    );
    (outcome, found)
}

#[track_caller]
fn keeps_its_promises(text: &str) -> Outcome {
    let (outcome, found) = routed(text);
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert!(found.is_empty(), "{}", lines.join("\n"));
    outcome
}

// B-3
#[test]
fn the_shipped_scenarios_repeat_to_the_byte_and_break_no_promise() {
    for text in [
        include_str!("../scenarios/two-providers.toml"),
        include_str!("../scenarios/reorg.toml"),
        include_str!("../scenarios/rough-day.toml"),
    ] {
        let first = keeps_its_promises(text);
        let again = keeps_its_promises(text);
        assert_eq!(first.history.sha256(), again.history.sha256());
        println!(
            "{} calls, {} answered, {} upstream",
            first.calls, first.answered, first.upstream
        );
    }
}
