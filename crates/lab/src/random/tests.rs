use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Draft, generate, judge, shrink};
use crate::chain::Quarry;
use crate::node::What;

// B-5
#[test]
fn every_seed_is_a_valid_scenario_and_its_own() {
    let files: BTreeSet<String> = (0..300).map(|seed| generate(seed).to_string()).collect();
    assert_eq!(files.len(), 300);
    assert_eq!(generate(7), generate(7));
    for seed in 0..300 {
        let scenario = generate(seed).scenario();
        assert!((2..=6).contains(&scenario.nodes.len()));
    }
}

// B-5
#[test]
fn every_family_of_faults_is_drawn() {
    let mut kinds = BTreeSet::new();
    for seed in 0..400 {
        for (node, _) in generate(seed).scenario().nodes {
            for fault in node.faults {
                let name = match fault.what {
                    What::Sees(sees) => format!("{sees:?}"),
                    What::Says(says) => format!("{says:?}"),
                    What::Carries(carries) => format!("{carries:?}"),
                };
                let word = name.split(['(', ' ']).next().unwrap_or_default().to_owned();
                kinds.insert(word);
            }
        }
    }
    // 13 of sight, 10 of words and 15 of carriage.
    assert_eq!(kinds.len(), 38, "{kinds:?}");
}

// B-5
#[test]
fn a_scenario_has_two_hundred_calls_and_the_same_history_twice() {
    let quarry = Arc::new(Quarry::default());
    for seed in [1, 2, 3] {
        let scenario = generate(seed).scenario();
        let (first, _) = judge(&scenario, &quarry);
        let (again, _) = judge(&scenario, &quarry);
        let (fresh, _) = judge(&scenario, &Arc::default());
        assert!((200..=205).contains(&first.calls), "{}", first.calls);
        assert_eq!(first.history.sha256(), again.history.sha256());
        assert_eq!(first.history.sha256(), fresh.history.sha256());
    }
}

// B-5
#[test]
fn shrinking_leaves_what_the_failure_needs_and_nothing_else() {
    let fault = "kind = \"hang\"";
    let needs = |draft: &Draft| {
        let hangs = |node: &super::DraftNode| node.faults.iter().any(|own| own.contains(fault));
        draft.nodes.iter().any(hangs) && draft.millis >= 200
    };
    let seed = (0..).find(|seed| needs(&generate(*seed))).unwrap();
    let smallest = shrink(generate(seed), needs);
    assert_eq!(smallest.nodes.len(), 1);
    assert_eq!(smallest.nodes[0].faults.len(), 1);
    assert_eq!(smallest.nodes[0].lines, Vec::<String>::new());
    let tables = [&smallest.chain, &smallest.load, &smallest.router];
    assert!(tables.iter().all(|table| table.is_empty()));
    assert!(smallest.millis < 400);
    let _ = smallest.scenario();
}
