//! Other endpoints at run time (L-10), and endpoints that could not be reached.

use super::*;
use crate::breaker::Stand;

fn replace(stage: &mut Stage, from: &[Option<EndpointId>], settings: Settings) {
    let (profiles, now) = (
        from.iter().map(|_| Profile::default()).collect(),
        stage.now(),
    );
    stage
        .router
        .replace(profiles, from, Arc::new(settings), now);
}

fn unverified() -> Settings {
    Settings {
        verify_chain_id: false,
        ..Settings::default()
    }
}

// L-10
#[test]
fn a_request_under_way_settles_with_its_endpoint_wherever_that_stands_now() {
    let mut stage = Stage::new(2);
    let [first, second] = [A, B].map(|endpoint| stage.begin(endpoint, "eth_call"));
    // The second moves to the front, the first leaves, and a new one stands in its place.
    replace(&mut stage, &[Some(B), None], unverified());
    stage.pass(millis(30));
    let now = stage.now();
    stage.router.settle(&first, &Settled::VALUE, now);
    stage.router.settle(&second, &Settled::VALUE, now);
    let (moved, new) = (stage.view(A), stage.view(B));
    assert_eq!((moved.latency_ms, moved.in_flight), (Some(30.0), 0));
    assert_eq!((moved.counters.sent, moved.counters.good), (1, 1));
    assert_eq!((new.latency_ms, new.counters.good), (None, 0));
}

// L-10
#[test]
fn a_request_under_way_is_cancelled_at_its_endpoint_and_at_no_other() {
    let mut stage = Stage::new(2);
    let [first, second] = [A, B].map(|endpoint| stage.begin(endpoint, "eth_call"));
    replace(&mut stage, &[None, Some(B), Some(A)], unverified());
    assert_eq!([A, B, C].map(|e| stage.view(e).in_flight), [0, 1, 1]);
    let now = stage.now();
    stage.router.cancel(&first, now);
    assert_eq!([A, B, C].map(|e| stage.view(e).in_flight), [0, 1, 0]);
    stage.router.cancel(&second, now);
    let cancelled = [A, B, C].map(|e| stage.view(e).counters.cancelled);
    assert_eq!(cancelled, [0, 1, 1]);
}

// L-10: of two that claim to be the same one, the first is.
#[test]
fn what_was_learned_is_carried_once() {
    let mut stage = Stage::new(1);
    stage.request(A, millis(30), &Settled::VALUE);
    replace(&mut stage, &[Some(A), Some(A), Some(C)], unverified());
    let latencies = [A, B, C].map(|endpoint| stage.view(endpoint).latency_ms);
    assert_eq!(latencies, [Some(30.0), None, None]);
}

// L-10
#[test]
fn other_options_hold_from_then_on_and_what_was_measured_stays() {
    let mut stage = Stage::new(1);
    let lost = failed(Class::Internal, Some("reset"));
    stage.request(A, millis(30), &lost);
    let mut settings = unverified();
    settings.breaker.threshold = 2;
    settings.heads = None;
    replace(&mut stage, &[Some(A)], settings);
    stage.request(A, millis(30), &lost);
    let gates = stage.view(A).circuit.lanes;
    let is_open = |stand: &Stand| matches!(stand, Stand::Open { .. });
    assert!(gates.iter().any(|(_, gate)| is_open(&gate.stand)));
    stage.head(A, 100);
    assert_eq!(stage.view(A).head, None);
    replace(&mut stage, &[Some(A)], unverified());
    stage.head(A, 100);
    assert_eq!(stage.view(A).head, Some(100));
}

//
#[test]
fn an_endpoint_that_could_not_be_reached_is_asked_for_its_chain_again() {
    let unsent = |class, subclass| {
        let Settled::Failed {
            verdict, meaning, ..
        } = failed(class, subclass)
        else {
            unreachable!("a failure")
        };
        Settled::Failed {
            verdict,
            meaning,
            delivery: Delivery::NotSent,
            showable: false,
        }
    };
    for (settled, again) in [
        (unsent(Class::Internal, Some("connect")), true),
        (unsent(Class::Internal, Some("resolve")), true),
        (unsent(Class::Internal, Some("tls")), true),
        (unsent(Class::Timeout, Some("timeout")), true),
        (unsent(Class::Internal, Some("reset")), false),
        (unsent(Class::RateLimited, None), false),
        (failed(Class::Timeout, Some("timeout")), false),
        (failed(Class::Internal, Some("reset")), false),
        (Settled::VALUE, false),
    ] {
        let mut stage = Stage::checking(Settings::default(), vec![Profile::default()]);
        let now = stage.now();
        let check = stage.router.begin_check(A, now).expect("a token");
        stage.router.on_chain_id(A, check, ChainId(1));
        assert!(!stage.router.needs_check(A));
        stage.request(A, millis(5), &settled);
        assert_eq!(stage.router.needs_check(A), again, "{settled:?}");
    }
}
