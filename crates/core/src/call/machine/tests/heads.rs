//! Heads as calls meet them (R-7, R-15, R-16, R-18).

use super::*;
use crate::breaker::{Reason as Ejection, Stand};

/// Equal latencies for everybody, so that only heads decide.
fn level(endpoints: usize, heads: &[(EndpointId, u64)]) -> Bench {
    let mut bench = Setup::new(endpoints).adaptive().call("eth_call");
    for index in 0..endpoints {
        let endpoint = EndpointId(index as u16);
        bench.history(endpoint, 5, millis(20), &Settled::VALUE);
    }
    for (endpoint, height) in heads {
        bench.head(*endpoint, *height);
    }
    bench.next("eth_call");
    bench
}

fn lag_of(bench: &mut Bench, endpoint: EndpointId) -> f64 {
    let plan = bench.plan("eth_call");
    let now = bench.now();
    bench.router.explain(&plan, now).considered[endpoint.index()]
        .parts
        .lag
}

// R-16, scenario P09
#[test]
fn a_liar_ahead_is_not_believed_and_lags_by_as_much_as_it_leads() {
    let mut bench = level(3, &[(A, 100), (B, 101), (C, 5000)]);
    let now = bench.now();
    assert_eq!(
        bench.router.reference_head(now),
        Some(100),
        "reached by two"
    );
    assert_eq!((lag_of(&mut bench, A), lag_of(&mut bench, B)), (1.0, 1.0));
    // 4900 blocks ahead of the reference, 2 of them allowed.
    assert!((lag_of(&mut bench, C) - (1.0 + 4898.0)).abs() < 1e-9);
    let untrusted = |event: &Event| {
        matches!(
            event,
            Event::Head {
                endpoint: C,
                trusted: false,
                ..
            }
        )
    };
    assert!(bench.events().iter().any(untrusted));
    for _ in 0..30 {
        assert_ne!(bench.one("eth_call", millis(20), &Settled::VALUE), C);
    }
}

// R-16, scenario P10
#[test]
fn of_two_that_disagree_nobody_is_believed_and_nobody_lags() {
    let mut bench = level(2, &[(A, 100), (B, 5000)]);
    let now = bench.now();
    assert_eq!(bench.router.reference_head(now), None);
    assert_eq!((lag_of(&mut bench, A), lag_of(&mut bench, B)), (1.0, 1.0));
    let untrusted = |event: &Event| matches!(event, Event::Head { trusted: false, .. });
    assert!(bench.events().iter().any(untrusted));
}

// R-16, scenario P11
#[test]
fn endpoints_of_one_group_have_one_voice() {
    let mut bench = Setup::new(3)
        .profile(A, |p| p.group = Some(7))
        .profile(B, |p| p.group = Some(7))
        .set(|s| s.heads.as_mut().expect("heads").max_ahead = 20)
        .call("eth_blockNumber");
    for (endpoint, height) in [(A, 90), (B, 90), (C, 140)] {
        bench.head(endpoint, height);
    }
    let now = bench.now();
    assert_eq!(bench.router.reference_head(now), None);
    for endpoint in [A, B, C] {
        assert_eq!(lag_of(&mut bench, endpoint), 1.0);
    }
}

// R-7, R-18, scenario P12
#[test]
fn a_node_that_stands_still_lags_without_an_error_of_its_own_and_is_ejected_for_drift_at_last() {
    let mut bench = level(2, &[(A, 100), (B, 100)]);
    for _ in 0..11 {
        bench.pass(seconds(1));
        let height = 100 + bench.passed.as_secs();
        bench.head(A, 100);
        bench.head(B, height);
    }
    assert!(lag_of(&mut bench, A) > 1.0);
    let view = bench.view(A);
    assert_eq!((view.error, view.circuit.endpoint.strikes), (0.0, 0));
    let expected = bench.view(B).head;
    let now = bench.now();
    assert_eq!(bench.router.reference_head(now), expected);
    for _ in 0..20 {
        assert_eq!(bench.one("eth_call", millis(20), &Settled::VALUE), B);
    }
    // More than 30 blocks for more than a minute.
    for _ in 0..100 {
        bench.pass(seconds(1));
        let height = 100 + bench.passed.as_secs();
        bench.head(A, 100);
        bench.head(B, height);
    }
    let drifted = |event: &Event| {
        matches!(
            event,
            Event::Eject {
                endpoint: A,
                why: Ejection::Drift,
                ..
            }
        )
    };
    assert!(bench.events().iter().any(drifted));
    let view = bench.view(A);
    assert_eq!(view.error, 0.0);
    assert!(view.counters.failed.is_empty());
}

// R-18, scenario P13
#[test]
fn a_chain_that_makes_no_block_while_idle_harms_nobody() {
    let mut bench = level(2, &[(A, 50), (B, 50)]);
    for _ in 0..60 {
        bench.pass(seconds(4));
        bench.head(A, 50);
        bench.head(B, 50);
    }
    let now = bench.now();
    assert_eq!(bench.router.reference_head(now), Some(50));
    for endpoint in [A, B] {
        assert_eq!(lag_of(&mut bench, endpoint), 1.0);
        let stand = bench.view(endpoint).circuit.endpoint.stand;
        assert!(matches!(stand, Stand::Closed { .. }));
    }
}

// R-15
#[test]
fn heads_come_from_the_answers_that_state_one() {
    let mut bench = Setup::new(1).call("eth_blockNumber");
    let height = Settled::Result {
        content: Content::Value,
        head: Some((Source::Number, 100)),
    };
    bench.asks(A, FIRST, &height);
    assert_eq!(bench.view(A).head, Some(100));
    // Older than 30 s it counts no longer.
    bench.pass(seconds(31));
    assert_eq!(bench.view(A).head, None);
    let now = bench.now();
    assert_eq!(bench.router.reference_head(now), None);
}

// R-15: an answer that took longer than the next one is no fall, and a later one is
#[test]
fn a_head_that_comes_late_is_not_believed_over_a_newer_one() {
    let number = |height| Settled::Result {
        content: Content::Value,
        head: Some((Source::Number, height)),
    };
    let mut bench = Setup::new(1).call("eth_blockNumber");
    bench.sends_to(A, FIRST);
    bench.pass(millis(10));
    let mut slow = bench.beside("eth_blockNumber");
    bench.swap(&mut slow);
    bench.asks(A, FIRST, &number(101));
    bench.swap(&mut slow);
    bench.settle(FIRST, &number(100));
    assert_eq!(bench.view(A).head, Some(101));
    bench.pass(millis(10));
    bench.next("eth_blockNumber");
    bench.asks(A, FIRST, &number(100));
    assert_eq!(bench.view(A).head, Some(100));
}

// R-15, R-17
#[test]
fn a_probe_that_comes_late_is_not_believed_over_a_newer_head() {
    let mut bench = Setup::new(1).call("eth_blockNumber");
    let row = method::lookup("eth_blockNumber");
    let now = bench.now();
    assert!(bench.router.begin_aside(A, row, now));
    bench.pass(millis(10));
    bench.asks(
        A,
        FIRST,
        &Settled::Result {
            content: Content::Value,
            head: Some((Source::Number, 101)),
        },
    );
    bench.head(A, 100);
    assert_eq!(bench.view(A).head, Some(101));
    bench.pass(millis(10));
    let now = bench.now();
    assert!(bench.router.begin_aside(A, row, now));
    bench.head(A, 100);
    assert_eq!(bench.view(A).head, Some(100));
}

// Semantics §7 row 2, scenarios P06, M07, L01
#[test]
fn a_block_is_asked_of_those_who_have_it() {
    let mut bench = level(3, &[(A, 99), (B, 100), (C, 90)]);
    for _ in 0..20 {
        bench.next_with("eth_call", r#"[{"to":"0x1"},"0x64"]"#);
        bench.asks(B, FIRST, &Settled::VALUE);
    }
    // Neither as a second nor as a last resort while the holder may come back, where heads are fresh.
    bench.next_with("eth_call", r#"[{"to":"0x1"},"0x64"]"#);
    bench.asks(B, FIRST, &lost());
    bench.waits_between(millis(50), millis(100));
    bench.sends_to(B, SECOND);
    assert_eq!(
        bench.out(A, "eth_call", r#"[{"to":"0x1"},"0x64"]"#),
        Some(Why::DoesNotHold)
    );
}

// Semantics §7 row 2: with nobody known to be there, whoever may be is asked first, then the freshest
#[test]
fn a_block_above_every_known_head_is_asked_of_the_freshest() {
    let at = r#"[{"to":"0x1"},"0x64"]"#;
    let mut bench = level(3, &[(A, 98), (B, 99), (C, 90)]);
    bench.next_with("eth_call", at);
    bench.asks(B, FIRST, &lost());
    bench.asks(A, SECOND, &lost());
    bench.sends_to(C, THIRD);
    let mut bench = level(3, &[(A, 98), (B, 99)]);
    bench.next_with("eth_call", at);
    bench.asks(C, FIRST, &lost());
    bench.sends_to(B, SECOND);
}

// R-37, R-8
#[test]
fn behind_lowers_what_is_known_of_a_head_and_costs_the_endpoint_nothing() {
    let mut bench = level(2, &[(A, 100), (B, 100)]);
    bench.next_with("eth_call", r#"[{"to":"0x1"},"0x64"]"#);
    let before = bench.view(A);
    bench.asks(A, FIRST, &own_error(Class::Behind));
    bench.asks(B, SECOND, &Settled::VALUE);
    let after = bench.view(A);
    assert_eq!(after.head, Some(99));
    assert_eq!(
        (after.latency_ms, after.tail_ms, after.error, after.circuit),
        (
            before.latency_ms,
            before.tail_ms,
            before.error,
            before.circuit
        )
    );
    bench.next_with("eth_call", r#"[{"to":"0x1"},"0x64"]"#);
    bench.sends_to(B, FIRST);
}

// Lessons A3, A10: no head is not the best head, nor the worst
#[test]
fn an_unknown_head_is_neither_a_lag_nor_zero() {
    let mut bench = level(3, &[(A, 100), (B, 100)]);
    assert_eq!(lag_of(&mut bench, C), 1.0);
    assert_eq!(bench.view(C).head, None);
    assert_eq!(bench.view(C).excess_lag, None);
}

/// A holds block 100 and fails; B's head was last seen below it, and is read again as this.
fn reads_again(found: u64) -> Bench {
    let mut bench = Setup::new(2).call("eth_getLogs");
    bench.head(A, 100);
    bench.head(B, 99);
    bench.pass(millis(200));
    let params = r#"[{"fromBlock":"0x64","toBlock":"0x64"}]"#;
    bench.next_with("eth_getLogs", params);
    bench.asks(A, FIRST, &lost());
    assert!(matches!(bench.poll(), Action::Head { endpoint: B, .. }));
    let now = bench.now();
    bench.router.on_probe(B, found, now);
    bench.machine.on_head(B);
    bench
}

// R-30, P-24
#[test]
fn when_the_only_holder_fails_others_are_looked_at_again() {
    let mut bench = reads_again(100);
    bench.asks(B, SECOND, &Settled::VALUE);
    assert_eq!(bench.ends(), Outcome::Answered(SECOND));
}

// P-24, scenario L01
#[test]
fn whoever_is_below_after_that_look_is_not_asked() {
    let mut bench = reads_again(99);
    for attempt in [SECOND, THIRD] {
        let wait = bench.waits();
        bench.pass(wait);
        bench.asks(A, attempt, &lost());
    }
    assert_eq!(bench.ends(), Outcome::Failed(None));
}

// R-14, R-7: a read of the newest block is answered by nobody who is known to be behind
#[test]
fn a_laggard_gets_no_read_of_the_newest_block_however_busy_the_others_are() {
    let latest = r#"[{"to":"0x1"},"latest"]"#;
    let mut bench = level(3, &[(A, 91), (B, 101), (C, 101)]);
    assert!(lag_of(&mut bench, A) > 1.0);
    // The load on the others comes to weigh more than its lag.
    let mut running = Vec::new();
    for _ in 0..40 {
        bench.next_with("eth_call", latest);
        assert_ne!(bench.sends().0, A);
        let mut next = bench.beside("eth_call");
        bench.swap(&mut next);
        running.push(next);
    }
    assert_eq!(bench.in_flight()[0], 0);
    assert_eq!(bench.out(A, "eth_call", latest), Some(Why::DoesNotHold));
    // What is of no block may go there.
    bench.next("eth_gasPrice");
    bench.sends_to(A, FIRST);
    // And an old answer is better than none.
    bench.next_with("eth_call", latest);
    let (first, _) = bench.sends();
    bench.settle(FIRST, &lost());
    let (second, _) = bench.sends();
    bench.settle(SECOND, &lost());
    assert!(first != second && first != A && second != A);
    bench.sends_to(A, THIRD);
}
