//! P09 to P13: heads that are not to be believed, or not to be missed.
//!
//! The pin itself stands above the engine; here is what it rests on: the reference head, and who is
//! asked.

use serde_json::json;

use crate::stage::{Script, Stage};

/// A read of the state at a height, by number.
const READ: &str = "eth_getBalance";
const WHO: &str = "0x0303030303030303030303030303030303030303";

// P09, R-16
#[test]
fn p09_a_liar_ahead_is_not_the_head_and_is_asked_last() {
    let nodes = vec![Script::at(100), Script::at(101), Script::at(5_000).lat(1)];
    let mut stage = Stage::new("race = 0", nodes);
    assert_eq!(stage.reference(), Some(100));
    let liar = stage.view(2);
    assert_eq!((liar.head, liar.excess_lag), (Some(5_000), Some(4_898)));
    // The fastest of the three, and never drawn.
    for n in 0..20 {
        stage.ask(n * 100, READ, json!([WHO, "latest"]));
    }
    stage.run(3_000);
    assert_eq!(stage.sent(2), 0);
    assert_eq!(stage.sent(0) + stage.sent(1), 20);
}

// P10, R-16
#[test]
fn p10_of_two_that_disagree_nobody_is_believed_and_nobody_lags() {
    let options = "race = 0\nstrategy = 'random'";
    let mut stage = Stage::new(options, vec![Script::at(100), Script::at(5_000)]);
    stage.subject.router().events().listen(true);
    assert_eq!(stage.reference(), None);
    assert_eq!(
        (stage.view(0).excess_lag, stage.view(1).excess_lag),
        (None, None)
    );
    for n in 0..30 {
        stage.ask(n * 200, READ, json!([WHO, "latest"]));
    }
    stage.run(7_000);
    assert!(stage.sent(0) > 3 && stage.sent(1) > 3);
    let (events, _) = stage.subject.router().events().drain();
    let untrusted = events.iter().filter(|event| {
        matches!(
            event,
            highwater_core::event::Event::Head { trusted: false, .. }
        )
    });
    assert!(untrusted.count() >= 2);
}

// P11, R-16
#[test]
fn p11_a_shared_backend_has_one_voice() {
    let nodes = vec![
        Script::at(90).group("x"),
        Script::at(90).group("x"),
        Script::at(2_140).group("y"),
    ];
    let mut stage = Stage::new("", nodes);
    assert_eq!(stage.reference(), None);
    for node in 0..3 {
        assert_eq!(stage.view(node).excess_lag, None, "{node}");
    }
    // Apart, two of them outvote the third.
    let apart = vec![Script::at(90), Script::at(90), Script::at(2_140)];
    assert_eq!(Stage::new("", apart).reference(), Some(90));
}

// P12, R-7, R-15
#[test]
fn p12_a_stuck_node_lags_without_an_error_sample() {
    let moving = (1..=40).fold(Script::at(100), |node, step| {
        node.then(1_000 * step, 100 + step)
    });
    let mut stage = Stage::new("race = 0", vec![Script::at(100), moving]);
    for n in 0..150 {
        stage.ask(n * 200, READ, json!([WHO, "latest"]));
    }
    stage.run(30_000);
    assert_eq!(stage.reference(), stage.view(1).head);
    assert!(stage.reference() >= Some(126));
    let before = stage.sent(0);
    for n in 150..175 {
        stage.ask(n * 200, READ, json!([WHO, "latest"]));
    }
    stage.run(35_500);
    // As fast as the other, and first in the list; it is not drawn any more.
    assert_eq!(stage.sent(0), before);
    let stuck = stage.view(0);
    assert!(stuck.excess_lag > Some(4), "{:?}", stuck.excess_lag);
    assert!(stuck.error.abs() < 1e-9 && stuck.counters.failed.is_empty());
    assert_eq!(stage.strikes(0), 0);
}

// P13, R-15, R-18
#[test]
fn p13_an_idle_chain_is_not_stuck() {
    let options = "race = 0\nstrategy = 'round-robin'";
    let mut stage = Stage::new(options, vec![Script::at(50), Script::at(50)]);
    for n in 0..500 {
        stage.ask(n * 200, READ, json!([WHO, "latest"]));
    }
    stage.run(100_500);
    assert_eq!(stage.reference(), Some(50));
    for node in 0..2 {
        let view = stage.view(node);
        assert_eq!((view.head, view.excess_lag), (Some(50), None));
        assert_eq!(stage.strikes(node), 0);
        assert!(stage.sent(node) > 100, "{}", stage.sent(node));
    }
}
