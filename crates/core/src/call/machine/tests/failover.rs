//! Moving on after a failure, and the error that is shown.

use super::*;

#[test]
fn asks_the_first_endpoint_and_ends_with_its_answer() {
    let mut bench = Setup::new(2).call("eth_call");
    assert_eq!(
        bench.poll(),
        Action::Send {
            endpoint: A,
            attempt: FIRST,
            timeout: ATTEMPT
        }
    );
    assert_eq!(bench.waits(), DEADLINE);
    bench.settle(FIRST, &Settled::VALUE);
    assert_eq!(bench.ends(), Outcome::Answered(FIRST));
    assert_eq!(bench.machine.attempts(), 1);
    assert!(bench.machine.reports().is_empty());
}

//
#[test]
fn tries_every_endpoint_once_in_order_and_then_stops() {
    let mut bench = Setup::new(3).call("eth_call");
    for (endpoint, attempt) in [(A, FIRST), (B, SECOND), (C, THIRD)] {
        bench.asks(endpoint, attempt, &lost());
    }
    assert_eq!(bench.ends(), Outcome::Failed(None));
    assert_eq!(
        bench.classes(),
        [
            (A, Some(FIRST), Class::Internal),
            (B, Some(SECOND), Class::Internal),
            (C, Some(THIRD), Class::Internal),
        ]
    );
}

//
#[test]
fn moves_a_send_on_when_it_provably_never_left() {
    for method in [
        "eth_sendRawTransaction",
        "eth_sendTransaction",
        "eth_newFilter",
        "no_such_method",
    ] {
        let mut bench = Setup::new(2).call(method);
        bench.asks(A, FIRST, &unsent());
        bench.asks(B, SECOND, &Settled::VALUE);
        assert_eq!(bench.ends(), Outcome::Answered(SECOND), "{method}");
    }
}

//
#[test]
fn never_repeats_a_send_that_may_have_left() {
    for method in [
        "eth_sendRawTransaction",
        "eth_sendTransaction",
        "personal_sign",
        "eth_newFilter",
        "no_such_method",
    ] {
        for failure in [lost(), timeout(), own_error(Class::Internal)] {
            let mut bench = Setup::gateway(2).call(method);
            bench.asks(A, FIRST, &failure);
            let outcome = bench.ends();
            assert!(matches!(outcome, Outcome::Failed(_)), "{method}");
            assert_eq!(bench.machine.attempts(), 1);
        }
    }
}

// names that the user adds
#[test]
fn treats_a_solitary_call_like_a_send() {
    let mut bench = Setup::new(2).race(2).call("eth_call");
    let mut plan = bench.plan("eth_call");
    plan.solitary = true;
    bench.begin(plan.clone());
    bench.asks(A, FIRST, &lost());
    assert_eq!(bench.ends(), Outcome::Failed(None));
    bench.begin(plan);
    bench.asks(B, FIRST, &unsent());
    bench.sends_to(A, SECOND);
}

//
#[test]
fn shows_the_error_of_a_send_that_was_answered() {
    let mut bench = Setup::new(2).call("eth_sendRawTransaction");
    bench.asks(A, FIRST, &own_error(Class::Internal));
    assert_eq!(bench.ends(), Outcome::Failed(Some(FIRST)));
}

// R-37, scenario M12
#[test]
fn ends_with_an_error_that_every_endpoint_would_repeat() {
    for class in [
        Class::ExecutionRevert,
        Class::InvalidParams,
        Class::TxRejected,
        Class::FilterNotFound,
    ] {
        let mut bench = Setup::new(2).call("eth_call");
        bench.asks(A, FIRST, &terminal(class));
        assert_eq!(bench.ends(), Outcome::Answered(FIRST));
        assert!(bench.machine.reports().is_empty());
        let view = bench.view(A);
        assert_eq!(view.circuit.endpoint.strikes, 0);
        assert_eq!((view.error, view.counters.good), (0.0, 1));
        assert_eq!(bench.view(B).counters.sent, 0);
    }
}

// whatever the answer was, where it says that no other endpoint would help
#[test]
fn stops_at_a_failure_that_every_endpoint_would_repeat() {
    let mut bench = Setup::new(2).call("eth_call");
    let mut failure = own_error(Class::RateLimited);
    if let Settled::Failed { verdict, .. } = &mut failure {
        verdict.retry_other_endpoint = false;
    }
    bench.asks(A, FIRST, &failure);
    assert_eq!(bench.ends(), Outcome::Failed(Some(FIRST)));
}

//
#[test]
fn shows_the_most_useful_error_and_not_the_last() {
    let order = [
        Class::ExecutionRevert,
        Class::MissingHistory,
        Class::RangeLimit,
        Class::Behind,
        Class::MethodUnsupported,
        Class::RateLimited,
        Class::Internal,
        Class::Timeout,
    ];
    for pair in order.windows(2) {
        let (better, worse) = (pair[0], pair[1]);
        for (first, second, shown) in [(better, worse, FIRST), (worse, better, SECOND)] {
            let mut bench = Setup::new(2)
                .set(|s| s.retry.count = RetryCount::Times(1))
                .call("eth_call");
            bench.asks(A, FIRST, &moving_on(first));
            bench.asks(B, SECOND, &moving_on(second));
            assert_eq!(
                bench.ends(),
                Outcome::Failed(Some(shown)),
                "{first:?} then {second:?}"
            );
        }
    }
}

/// An endpoint's own error that another endpoint may not repeat.
fn moving_on(class: Class) -> Settled {
    let mut failure = own_error(class);
    if let Settled::Failed { verdict, .. } = &mut failure {
        verdict.retry_other_endpoint = true;
    }
    failure
}

//
#[test]
fn shows_the_first_of_two_equally_useful_errors() {
    let mut bench = Setup::new(2)
        .set(|s| s.retry.count = RetryCount::Times(1))
        .call("eth_call");
    bench.asks(A, FIRST, &own_error(Class::RateLimited));
    bench.asks(B, SECOND, &own_error(Class::QuotaExhausted));
    assert_eq!(bench.ends(), Outcome::Failed(Some(FIRST)));
}

//
#[test]
fn shows_no_attempt_that_has_nothing_to_show() {
    let mut bench = Setup::new(2)
        .set(|s| s.retry.count = RetryCount::Times(1))
        .call("eth_call");
    bench.asks(A, FIRST, &own_error(Class::Internal));
    let hidden = failure(Class::RateLimited, None, Delivery::Answered);
    bench.asks(B, SECOND, &hidden);
    assert_eq!(bench.ends(), Outcome::Failed(Some(FIRST)));
}

// scenario W10
#[test]
fn never_takes_a_private_submission_or_a_filter_to_another_endpoint() {
    for method in [
        "eth_sendPrivateTransaction",
        "eth_cancelPrivateTransaction",
        "eth_getFilterChanges",
        "eth_uninstallFilter",
    ] {
        let setup = [A, B].iter().fold(Setup::new(2), |setup, endpoint| {
            setup.profile(*endpoint, |profile| profile.private = true)
        });
        let mut bench = setup.call(method);
        bench.asks(A, FIRST, &unsent());
        assert_eq!(bench.ends(), Outcome::Failed(None), "{method}");
    }
}

//
#[test]
fn has_no_endpoint_to_ask_in_an_empty_pool() {
    let mut bench = Setup::new(0).call("eth_call");
    assert_eq!(bench.ends(), Outcome::NoEndpoint);
}

//
#[test]
fn bounds_an_attempt_by_what_is_left_of_the_deadline() {
    let mut bench = Setup::new(2).call("eth_call");
    bench.sends_to(A, FIRST);
    bench.pass(ATTEMPT);
    bench.settle(FIRST, &timeout());
    assert_eq!(
        bench.poll(),
        Action::Send {
            endpoint: B,
            attempt: SECOND,
            timeout: DEADLINE - ATTEMPT
        }
    );
}

//
#[test]
fn ends_at_the_deadline_and_names_what_it_cut_off() {
    let mut bench = Setup::new(2).call("eth_call");
    bench.sends_to(A, FIRST);
    bench.pass(DEADLINE);
    assert_eq!(bench.ends(), Outcome::DeadlineExceeded);
    assert_eq!(bench.classes(), [(A, Some(FIRST), Class::Timeout)]);
    bench.settle(FIRST, &Settled::VALUE);
    assert_eq!(bench.ends(), Outcome::DeadlineExceeded);
}

//
#[test]
fn shows_an_endpoints_error_rather_than_the_deadline() {
    let mut bench = Setup::new(2).call("eth_call");
    bench.asks(A, FIRST, &own_error(Class::RateLimited));
    bench.sends_to(B, SECOND);
    bench.pass(DEADLINE);
    assert_eq!(bench.ends(), Outcome::Failed(Some(FIRST)));
}

#[test]
fn ignores_reports_that_it_did_not_ask_for() {
    let mut bench = Setup::new(2).call("eth_call");
    bench.sends_to(A, FIRST);
    bench.settle(SECOND, &Settled::VALUE);
    let verdict = of_class(Class::Timeout, None);
    bench.machine.on_check(A, Some(&verdict));
    assert_eq!(bench.waits(), DEADLINE);
    assert!(bench.machine.reports().is_empty());
}
