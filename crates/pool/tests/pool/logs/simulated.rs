//! Many simulated log queries: none is answered short, with a log twice, out of order, or of a block that
//! left the chain.

use crate::simulated::logs::{NARROW, play, play_many};
use std::collections::BTreeMap;

/// Queries of an ordinary run and of a long one.
const QUERIES: u64 = 10_000;
const LONG: u64 = 1_000_000;
/// Queries of the run with nodes that take a few blocks at once only.
const NARROW_QUERIES: u64 = 2000;

// P-14, P-21, P-22, P-23, P-24
#[test]
fn no_list_is_short_doubled_disordered_or_of_a_chain_that_is_gone() {
    let long = std::env::var_os("HIGHWATER_LONG").is_some();
    let number = |name: &str| std::env::var(name).ok()?.parse().ok();
    let queries = number("HIGHWATER_QUERIES").unwrap_or(if long { LONG } else { QUERIES });
    let first = number("HIGHWATER_SEED").unwrap_or(0);
    let began = std::time::Instant::now();
    let totals = play_many(first, queries);
    let mut kinds: BTreeMap<_, (u64, Vec<&str>)> = BTreeMap::new();
    for (breach, told) in &totals.wrong {
        let (count, lines) = kinds.entry(breach).or_default();
        *count += 1;
        if lines.len() < 8 {
            lines.push(told);
        }
    }
    println!(
        "{} queries, {} answered, {} refused, {} from the index, {} tails, {} in parts or repeated, \
         {} reorganisations, {} wrong, {} s",
        totals.queries,
        totals.answered,
        totals.refused,
        totals.index,
        totals.tails,
        totals.parts,
        totals.reorgs,
        totals.wrong.len(),
        began.elapsed().as_secs()
    );
    assert!(kinds.is_empty(), "{kinds:#?}");
    // A run without these proves nothing.
    assert!(totals.answered * 10 > totals.queries * 7, "{totals:?}");
    assert!(totals.index * 20 > totals.queries, "{totals:?}");
    assert!(totals.tails * 50 > totals.queries, "{totals:?}");
    assert!(totals.parts * 20 > totals.queries, "{totals:?}");
    assert!(totals.reorgs * 100 > totals.queries, "{totals:?}");
}

// P-23
#[test]
fn lists_of_many_narrow_parts_are_of_one_chain() {
    let totals = play_many(NARROW, NARROW_QUERIES);
    assert!(totals.wrong.is_empty(), "{:#?}", totals.wrong);
    assert!(totals.answered * 10 > totals.queries * 7, "{totals:?}");
    assert!(totals.parts * 5 > totals.queries, "{totals:?}");
}

/// Seeds that once had a wrong answer. In the first two, logs of a branch that nobody told went into the
/// index: they became final there and got a tail of the other branch, or were served after that was told.
/// In the last, parts by two endpoints were of two branches, and no log's hash said so.
const BROKEN: [u64; 3] = [3058, 133, NARROW + 21];

// P-14, P-21
#[test]
fn seeds_that_once_had_a_wrong_answer_have_none() {
    for seed in BROKEN {
        let totals = play(seed);
        assert!(totals.wrong.is_empty(), "{totals:#?}");
    }
}

// B-3
#[test]
fn the_same_seed_gives_the_same_queries() {
    assert_eq!(play(7), play(7));
}
