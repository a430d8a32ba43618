//! Many simulated reads: none goes back, none is answered at another block than it was asked at, none
//! is staler than the bound, none is served from a block that left the chain.

use crate::simulated::{
    draft::generate,
    play::{play, play_many},
    regressions::regressions,
};
use highwater_lab::{chain::Quarry, checker::Violation, random::shrink};
use std::{collections::BTreeMap, sync::Arc};

/// Reads of an ordinary run and of a long one.
const READS: u64 = 10_000;
const LONG: u64 = 1_000_000;
/// Seeds that are told of each kind of breach.
const LINES: usize = 12;
/// Of an event that is told.
const WIDTH: usize = 260;

fn list(found: &[(u64, Violation)]) -> String {
    let mut kinds: BTreeMap<_, (u64, Vec<String>)> = BTreeMap::new();
    for (seed, violation) in found {
        let (count, lines) = kinds.entry(violation.breach).or_default();
        *count += 1;
        let begin = format!("  seed {seed}: ");
        if lines.len() < LINES && !lines.iter().any(|line| line.starts_with(&begin)) {
            lines.push(format!("{begin}{violation}"));
        }
    }
    let mut text = String::new();
    for (breach, (count, lines)) in kinds {
        text += &format!("{count} {breach:?}\n{}\n", lines.join("\n"));
    }
    text
}

/// The scenario of a seed, and what happened there between two moments in milliseconds.
fn story(seed: u64, from: u64, until: u64) -> String {
    let draft = generate(seed);
    let played = play(&draft.scenario(), &Arc::default());
    let mut text = format!("{draft}\n");
    for event in played.history.events() {
        let at = event.at().as_millis();
        if (u128::from(from)..=u128::from(until)).contains(&at) {
            let line: String = format!("{event:?}").chars().take(WIDTH).collect();
            text += &format!("{line}\n");
        }
    }
    for violation in played.violations {
        text += &format!("{violation}\n");
    }
    text
}

/// The smallest scenario that still breaks the first promise that was found broken.
fn smallest(found: &[(u64, Violation)]) -> String {
    let Some((seed, first)) = found.first() else {
        return String::new();
    };
    let quarry = Arc::new(Quarry::default());
    let fails = |violations: &[Violation]| violations.iter().any(|one| one.breach == first.breach);
    let small = shrink(generate(*seed), |draft| {
        fails(&play(&draft.scenario(), &quarry).violations)
    });
    format!("the smallest scenario with {:?}:\n{small}", first.breach)
}

// P-3, P-8, P-11, P-14
#[test]
fn no_read_is_taken_back_misplaced_stale_or_orphaned() {
    let long = std::env::var_os("HIGHWATER_LONG").is_some();
    let number = |name: &str| std::env::var(name).ok()?.parse().ok();
    let reads = number("HIGHWATER_READS").unwrap_or(if long { LONG } else { READS });
    let first = number("HIGHWATER_SEED").unwrap_or(0);
    if let (Some(from), Some(until)) = (number("HIGHWATER_FROM"), number("HIGHWATER_UNTIL")) {
        println!("{}", story(first, from, until));
        return;
    }
    let began = std::time::Instant::now();
    let (totals, found) = play_many(first, reads);
    println!(
        "{} scenarios, {} reads, {} answered, {} requests, {} from memory, {} shared, {} from \
         heads, {} unpinned, {} reorganisations, {} falls, {} violations, {} s",
        totals.scenarios,
        totals.reads,
        totals.answered,
        totals.requests,
        totals.hits,
        totals.shared,
        totals.local,
        totals.unpinned,
        totals.reorgs,
        totals.falls,
        found.len(),
        began.elapsed().as_secs()
    );
    assert!(found.is_empty(), "{}{}", list(&found), smallest(&found));
    // A run without these proves nothing.
    assert!(totals.answered * 10 > totals.reads * 8, "{totals:?}");
    assert!(totals.hits * 20 > totals.reads, "{totals:?}");
    assert!(totals.shared * 100 > totals.reads, "{totals:?}");
    assert!(totals.local * 20 > totals.reads, "{totals:?}");
    assert!(totals.reorgs * 4 > totals.scenarios, "{totals:?}");
}

// P-8, P-14
#[test]
fn what_once_broke_a_promise_breaks_none() {
    let quarry = Arc::new(Quarry::default());
    let mut hits = 0;
    for scenario in regressions() {
        let played = play(&scenario, &quarry);
        assert_eq!(played.violations, [], "{}", scenario.name);
        hits += played.totals.hits;
    }
    assert!(hits > 0);
}

// B-3
#[test]
fn the_same_seed_gives_the_same_reads() {
    let hash = |seed| {
        let quarry = Arc::new(Quarry::default());
        play(&generate(seed).scenario(), &quarry).history.sha256()
    };
    assert_eq!(hash(5), hash(5));
    assert_ne!(hash(5), hash(6));
}
