//! Scenarios made at random: what the checker must stay silent about, and what it must see.
//!
//! A scenario is generated as the text of its file, so a failure prints a file that reproduces it,
//! already shrunk to the faults that matter.

use std::collections::BTreeSet;

use highwater_lab::checker::{Breach, Promises, check};
use highwater_lab::scenario::Scenario;
use highwater_lab::world::{Direct, run};
use proptest::prelude::*;
use proptest::sample::select;

/// Faults that lose, delay or garble answers, and never change what a good one says.
const HARMLESS: [&str; 14] = [
    "kind = 'hang'",
    "kind = 'close'",
    "kind = 'reset'",
    "kind = 'truncate', bytes = 20",
    "kind = 'slow', add = '700ms', ramp = true",
    "kind = 'drip', piece = 200, pause = '10ms'",
    "kind = 'stall', pause = '1s'",
    "kind = 'html'",
    "kind = 'invalid-json'",
    "kind = 'huge', bytes = 100000",
    "kind = 'rate-limit', rate = 3, burst = 3",
    "kind = 'error', class = 'behind'",
    "kind = 'neither'",
    "kind = 'gzip'",
];

fn window() -> impl Strategy<Value = String> {
    (0_u32..3_000, 1_u32..3_000, 1_u32..=10).prop_map(|(from, length, share)| {
        let until = from + length;
        format!(
            "from = '{from}ms', until = '{until}ms', share = {}",
            f64::from(share) / 10.0
        )
    })
}

fn fault() -> impl Strategy<Value = String> {
    (select(&HARMLESS[..]), window()).prop_map(|(fault, window)| format!("{{ {fault}, {window} }}"))
}

fn file(extra: &'static str) -> impl Strategy<Value = String> {
    let reorgs = prop::collection::vec((0_u32..3_000, 0_u32..6), 0..3);
    let faults = prop::collection::vec(fault(), 0..4);
    let blocks = (select(vec![200_u32, 500, 1_000]), 0_u32..4);
    (any::<u32>(), blocks, reorgs, faults).prop_map(
        move |(seed, (block_time, transactions), reorgs, faults)| {
            let reorgs = reorgs
                .iter()
                .map(|(at, depth)| format!("{{ at = '{at}ms', depth = {depth} }}"));
            let reorgs = reorgs.collect::<Vec<_>>().join(", ");
            let faults = faults.join(", ");
            format!(
                "name = 'random'\nseed = {seed}\nduration = '3s'\n\
                 [chain]\nstart = 8\nblock_time = '{block_time}ms'\n\
                 transactions = {transactions}\nreorgs = [{reorgs}]\n\
                 [load]\nclients = 2\nevery = '60ms'\ntimeout = '2s'\n\
                 [[nodes]]\nname = 'a'\nfaults = [{faults}]\n\
                 [[nodes]]\nname = 'b'\nlatency = {{ median = '30ms', sigma = 1.0 }}\n\
                 faults = [{extra}]\n"
            )
        },
    )
}

fn breaches(file: &str) -> (BTreeSet<Breach>, String) {
    let scenario = Scenario::parse(file, None).expect("the generator writes valid files");
    let outcome = run(&scenario, &mut Direct::new(scenario.nodes.len()));
    let found = check(&outcome.history, &outcome.chain, &Promises::of(&scenario));
    let kinds = found.iter().map(|violation| violation.breach).collect();
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    (kinds, lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    // B-5
    #[test]
    fn lost_and_late_answers_break_no_promise(file in file("")) {
        let (kinds, lines) = breaches(&file);
        prop_assert!(kinds.is_empty(), "{lines}\n--- scenario ---\n{file}");
    }

    // B-5
    #[test]
    fn a_wrong_id_is_seen_whatever_else_happens(file in file("{ kind = 'wrong-id' }")) {
        let (kinds, lines) = breaches(&file);
        prop_assert_eq!(kinds, [Breach::WrongId].into(), "{}\n--- scenario ---\n{}", lines, file);
    }

    // B-3
    #[test]
    fn every_scenario_repeats_to_the_byte(file in file("{ kind = 'backwards', blocks = 2 }")) {
        let hash = || {
            let scenario = Scenario::parse(&file, None).expect("a valid file");
            run(&scenario, &mut Direct::new(2)).history.sha256()
        };
        prop_assert_eq!(hash(), hash(), "--- scenario ---\n{}", file);
    }
}
