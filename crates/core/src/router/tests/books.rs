//! What the end of a request does to the books.

use super::*;

fn near(found: Option<f64>, expected: f64) -> bool {
    found.is_some_and(|found| (found - expected).abs() < 1e-9)
}

// a success and an error of the chain are samples
#[test]
fn good_answers_are_samples_of_latency_and_pull_the_error_down() {
    let revert = of_class(Class::ExecutionRevert, None);
    let terminal = Settled::Terminal {
        meaning: meaning(&revert),
        verdict: revert,
    };
    for good in [Settled::VALUE, terminal] {
        let mut stage = Stage::new(1);
        stage.request(A, millis(5), &failed(Class::Internal, None));
        assert!((stage.view(A).error - 0.3).abs() < 1e-9);
        stage.request(A, millis(80), &good);
        let view = stage.view(A);
        assert!(near(view.latency_ms, 80.0) && near(view.tail_ms, 80.0));
        assert!((view.error - 0.21).abs() < 1e-9);
    }
}

// fast errors never improve latency, and do not push the tail
#[test]
fn failures_push_the_error_alone() {
    for (class, subclass) in [
        (Class::Internal, Some("reset")),
        (Class::Overloaded, None),
        (Class::RateLimited, None),
        (Class::BadGatewayHtml, None),
        (Class::MalformedEnvelope, None),
    ] {
        let mut stage = Stage::new(1);
        stage.request(A, millis(200), &Settled::VALUE);
        stage.request(A, millis(1), &failed(class, subclass));
        let view = stage.view(A);
        assert!(
            near(view.latency_ms, 200.0) && near(view.tail_ms, 200.0),
            "{class:?}"
        );
        assert!((view.error - 0.3).abs() < 1e-9, "{class:?}");
    }
}

//
#[test]
fn timeouts_push_the_tail_at_the_timeout() {
    let mut stage = Stage::new(1);
    stage.request(A, millis(200), &Settled::VALUE);
    stage.request(A, TIMEOUT, &failed(Class::Timeout, None));
    let view = stage.view(A);
    assert!(near(view.latency_ms, 200.0));
    // Half of the way to 10 s.
    assert!(near(view.tail_ms, 5100.0), "{:?}", view.tail_ms);
}

//
#[test]
fn lag_history_range_method_and_size_push_nothing() {
    for class in [
        Class::Behind,
        Class::MissingHistory,
        Class::RangeLimit,
        Class::MethodUnsupported,
        Class::MethodBlocked,
        Class::PayloadTooLarge,
        Class::ReorgedBlock,
        Class::SubscriptionUnsupported,
    ] {
        let mut stage = Stage::new(1);
        stage.request(A, millis(200), &Settled::VALUE);
        let before = stage.view(A);
        stage.request(A, millis(1), &failed(class, None));
        let after = stage.view(A);
        assert_eq!(
            (after.latency_ms, after.tail_ms, after.error),
            (before.latency_ms, before.tail_ms, before.error),
            "{class:?}"
        );
        assert_eq!(after.circuit.endpoint, before.circuit.endpoint, "{class:?}");
        assert_eq!(after.counters.failed.get(class.name()), Some(&1));
    }
}

// R-8, lessons B16 and P11
#[test]
fn an_abort_is_censored() {
    let mut stage = Stage::new(1);
    stage.request(A, millis(200), &Settled::VALUE);
    let before = stage.view(A);
    let ticket = stage.begin(A, "eth_call");
    assert_eq!(stage.view(A).in_flight, 1);
    stage.pass(seconds(9));
    let now = stage.now();
    stage.router.cancel(&ticket, now);
    let after = stage.view(A);
    assert_eq!(
        (after.latency_ms, after.tail_ms, after.error, after.circuit),
        (
            before.latency_ms,
            before.tail_ms,
            before.error,
            before.circuit
        )
    );
    assert_eq!((after.in_flight, after.counters.cancelled), (0, 1));
    assert_eq!(after.counters.good, before.counters.good);
}

//
#[test]
fn a_request_that_nobody_ends_counts_for_a_second_past_its_timeout() {
    let mut stage = Stage::new(2);
    let lost = stage.begin(A, "eth_call");
    stage.pass(TIMEOUT + millis(999));
    assert_eq!(stage.view(A).in_flight, 1);
    stage.pass(millis(1));
    assert_eq!(stage.view(A).in_flight, 0);
    // Its late end teaches, and takes nothing from anybody.
    let other = stage.begin(A, "eth_call");
    let now = stage.now();
    stage.router.settle(&lost, &Settled::VALUE, now);
    assert_eq!(stage.view(A).in_flight, 1);
    stage.router.settle(&other, &Settled::VALUE, now);
    assert_eq!(stage.view(A).in_flight, 0);
}

// a method has a book of its own
#[test]
fn a_slow_method_is_not_held_against_the_others() {
    let mut stage = Stage::new(2);
    for _ in 0..5 {
        let ticket = stage.begin(A, "eth_getLogs");
        stage.pass(seconds(2));
        let now = stage.now();
        stage.router.settle(&ticket, &Settled::VALUE, now);
        stage.request(A, millis(20), &Settled::VALUE);
    }
    let now = stage.now();
    let (light, heavy) = (stage.plan("eth_call"), stage.plan("eth_getLogs"));
    let service =
        |router: &mut Router, plan: &Plan| router.explain(plan, now).considered[0].parts.service_ms;
    assert!(service(&mut stage.router, &light) < 30.0);
    assert!(service(&mut stage.router, &heavy) > 1900.0);
}

// a latency that rises lowers an endpoint before it errs
#[test]
fn a_rising_latency_counts_in_the_score() {
    let mut stage = Stage::new(1);
    for bucket in 0..8_u64 {
        for _ in 0..10 {
            stage.request(A, millis(20 + 20 * bucket), &Settled::VALUE);
        }
        stage.passed = seconds(30 * (bucket + 1));
    }
    let (plan, now) = (stage.plan("eth_call"), stage.now());
    let parts = stage.router.explain(&plan, now).considered[0].parts;
    assert!(parts.slope > 1.0, "{parts:?}");
}
