//! Sends under every policy, where answers are lost and nodes forget.
//!
//! `HIGHWATER_LONG` sends twenty times as many, `HIGHWATER_SEED` begins at another seed.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../examples/sends/run.rs"]
mod run;

use std::env;
use std::path::Path;

use highwater_lab::checker::{Promises, Tally, check, tally};
use highwater_lab::history::Event;
use highwater_lab::random::SEND_POLICIES;
use highwater_lab::scenario::Scenario;
use highwater_lab::world::{Routed, run as run_scenario};

/// How the sends of a scenario with these lines end, and how many requests of this method nodes got.
/// The first node takes everything and loses its
/// answers, besides its other faults; the second one has lines of its own.
fn ends(router: &str, (first, second): (&str, &str), method: &str) -> (Tally, usize) {
    let text = format!(
        "name = \"t\"\nduration = \"10s\"\n\
         [load]\nclients = 1\nevery = \"1s\"\ntimeout = \"20s\"\nasks = [\"send\"]\n\
         [router]\nattempt = \"2s\"\nbreaker = false\n{router}\n\
         [[nodes]]\nname = \"loses\"\nfaults = [{{ kind = \"lost-send\" }}{first}]\n\
         [[nodes]]\nname = \"second\"\n{second}\n"
    );
    let scenario = Scenario::parse(&text, None).unwrap();
    let outcome = run_scenario(&scenario, &mut Routed::new(&scenario));
    let promises = Promises::routed(&scenario);
    assert_eq!(check(&outcome.history, &outcome.chain, &promises), []);
    let events = outcome.history.events().iter();
    let asked = events
        .filter(|event| matches!(event, Event::Received { method: own, .. } if own == method));
    (tally(&outcome.history), asked.count())
}

/// A second node that is asked after the first.
const LATER: &str = "tier = 1";
const SEND: &str = "eth_sendRawTransaction";
const FIND: &str = "eth_getTransactionByHash";

// R-35, W01, W09
#[test]
fn a_lost_answer_ends_by_the_policy() {
    let (tally, sent) = ends("writes = 'once'", ("", LATER), SEND);
    assert_eq!((tally.sends, tally.ambiguous, sent), (10, 10, 10));
    let (tally, looked) = ends("writes = 'once'\nverify_writes = true", ("", LATER), FIND);
    assert_eq!((tally.accepted, looked), (10, 10));
    let (tally, sent) = ends("writes = 'failover'", ("", LATER), SEND);
    assert_eq!((tally.accepted, sent), (10, 20));
    let (tally, sent) = ends("writes = 'broadcast'", ("", ""), SEND);
    assert_eq!((tally.accepted, sent), (10, 20));
}

// R-35, W03
#[test]
fn a_used_nonce_after_a_lost_answer_is_looked_up_and_ambiguous_where_nothing_is_found() {
    let second = "tier = 1\nfaults = [{ kind = 'error', code = -32000, message = 'nonce too low', methods = ['eth_sendRawTransaction'] }]";
    let (tally, looked) = ends("writes = 'failover'", ("", second), FIND);
    assert_eq!((tally.accepted, looked), (10, 10));
    let forgets = ", { kind = 'forgets' }";
    let (tally, looked) = ends("writes = 'failover'", (forgets, second), FIND);
    assert_eq!((tally.ambiguous, looked), (10, 10));
}

//
#[test]
fn private_transactions_reach_private_nodes_alone() {
    let router = "writes = 'failover'\nprivate_writes = true";
    let (tally, sent) = ends(router, ("", "private = true\ntier = 1"), SEND);
    assert_eq!((tally.accepted, sent), (10, 10));
    let (tally, sent) = ends(router, ("", LATER), SEND);
    assert_eq!((tally.failed, sent), (10, 0));
}

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
