//! What was learned before a restart (P-25).

use super::*;
use crate::scores::{Restored, Scores};

fn place(label: &str) -> Option<EndpointId> {
    match label {
        "a" => Some(A),
        "b" => Some(B),
        _ => None,
    }
}

/// What a router that has measured two endpoints would keep.
fn kept(stage: &Stage) -> Scores {
    let books = stage.router.books();
    Scores::of(["a", "b"].into_iter().zip(&books), stage.now().wall)
}

fn measured() -> Stage {
    let mut stage = Stage::new(2);
    stage.pass(seconds(100));
    stage.request(A, millis(900), &Settled::VALUE);
    stage.request(B, millis(20), &Settled::VALUE);
    stage
}

// P-25
#[test]
fn a_new_router_prefers_whoever_was_fast_before() {
    let before = measured();
    assert_eq!(before.router.samples(), 2);
    let mut stage = Stage::new(2);
    stage.pass(seconds(200));
    let now = stage.now();
    let restored = stage
        .router
        .restore_scores(&kept(&before), place, TIMEOUT, now);
    assert_eq!(
        restored,
        Restored {
            books: 4,
            dropped: 0
        }
    );
    assert_eq!(stage.router.samples(), 0);
    let row = method::lookup("eth_call");
    let plan = stage.router.plan_for(row, "eth_call", now);
    let scores = [A, B].map(|id| stage.router.parts(id, &plan, now).1.total);
    assert!(scores[1] < scores[0], "{scores:?}");
    assert_eq!(stage.view(B).latency_ms, Some(20.0));
}

// P-25, R-40
#[test]
fn a_restored_book_sets_no_hedge_delay() {
    let before = measured();
    let mut stage = Stage::new(2);
    let call = method::lookup("eth_call").id;
    assert!(before.router.tail(A, call).is_some());
    stage.pass(seconds(200));
    let now = stage.now();
    stage
        .router
        .restore_scores(&kept(&before), place, TIMEOUT, now);
    assert_eq!(stage.router.tail(A, call), None);
    stage.request(A, millis(50), &Settled::VALUE);
    assert!(stage.router.tail(A, call).is_some());
}

// P-25: what was measured since stays, and a second restoring changes nothing
#[test]
fn a_late_restoring_leaves_what_was_measured_since() {
    let before = measured();
    let mut stage = Stage::new(2);
    stage.pass(seconds(200));
    stage.request(A, millis(30), &Settled::VALUE);
    let now = stage.now();
    for expected in [2, 0] {
        let restored = stage
            .router
            .restore_scores(&kept(&before), place, TIMEOUT, now);
        let dropped = 4 - expected;
        assert_eq!(
            restored,
            Restored {
                books: expected,
                dropped
            }
        );
        assert_eq!(stage.view(A).latency_ms, Some(30.0));
        assert_eq!(stage.view(B).latency_ms, Some(20.0));
    }
}

// P-25: heads, breakers and chain checks are never kept
#[test]
fn nothing_but_books_is_kept() {
    let mut before = measured();
    for _ in 0..5 {
        before.request(A, millis(5), &failed(Class::Internal, None));
    }
    let mut stage = Stage::checking(
        Settings::default(),
        vec![Profile::default(), Profile::default()],
    );
    stage.pass(seconds(200));
    let untouched = stage.view(A);
    let now = stage.now();
    stage
        .router
        .restore_scores(&kept(&before), place, TIMEOUT, now);
    let view = stage.view(A);
    assert!(view.error > 0.5);
    assert_eq!(view.circuit, untouched.circuit);
    assert_eq!(view.identity, untouched.identity);
    assert_eq!((view.head, &view.counters), (None, &untouched.counters));
}
