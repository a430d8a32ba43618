use super::*;
use crate::{ChainId, classify::Verdict, method};
use std::time::SystemTime;

const A: EndpointId = EndpointId(0);
const B: EndpointId = EndpointId(1);
const C: EndpointId = EndpointId(2);
const FIRST: AttemptId = AttemptId(0);
const SECOND: AttemptId = AttemptId(1);
const THIRD: AttemptId = AttemptId(2);
const ATTEMPT: Duration = Duration::from_secs(5);
const DEADLINE: Duration = Duration::from_secs(9);

/// A machine, its router and a clock that moves only when told.
struct Bench {
    machine: Machine,
    router: Router,
    start: Instant,
    passed: Duration,
}

impl Bench {
    fn new(method: &str, endpoints: usize) -> Self {
        let mut bench = Self::unchecked(method, endpoints);
        for id in bench.router.ids() {
            bench.router.on_chain_id(id, ChainId(1));
        }
        bench
    }

    fn unchecked(method: &str, endpoints: usize) -> Self {
        let start = origin();
        let plan = Plan {
            method: method::lookup(method),
            deadline: start + DEADLINE,
            attempt_timeout: ATTEMPT,
        };
        Self {
            machine: Machine::new(plan),
            router: Router::new(Some(ChainId(1)), endpoints),
            start,
            passed: Duration::ZERO,
        }
    }

    fn poll(&mut self) -> Action {
        let now = Now {
            mono: self.start + self.passed,
            wall: SystemTime::UNIX_EPOCH,
        };
        self.machine.poll(&self.router, now)
    }

    /// Polls, and expects a request to this endpoint.
    fn sends(&mut self, endpoint: EndpointId, attempt: AttemptId) {
        match self.poll() {
            Action::Send {
                endpoint: to,
                attempt: number,
                ..
            } => {
                assert_eq!((to, number), (endpoint, attempt));
            }
            other => panic!("expected a request to {endpoint:?}, got {other:?}"),
        }
    }

    fn fails(&mut self, attempt: AttemptId, failure: &Settled) {
        self.machine.on_settled(attempt, failure);
    }

    fn classes(&self) -> Vec<(EndpointId, Option<AttemptId>, Class)> {
        self.machine
            .reports()
            .iter()
            .map(|r| (r.endpoint, r.attempt, r.class))
            .collect()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "any origin will do; time moves only by `passed`"
)]
fn origin() -> Instant {
    Instant::now()
}

fn failure(class: Class, delivery: Delivery, showable: bool) -> Settled {
    Settled::Failed {
        verdict: verdict(class),
        delivery,
        showable,
    }
}

fn verdict(class: Class) -> Verdict {
    Verdict {
        class,
        subclass: None,
        retry_other_endpoint: true,
        counts_against_endpoint: true,
        retry_after: None,
        suggested_range: None,
        fingerprint: None,
    }
}

fn unsent() -> Settled {
    failure(Class::Internal, Delivery::NotSent, false)
}

fn lost() -> Settled {
    failure(Class::Internal, Delivery::MaybeSent, false)
}

fn own_error(class: Class) -> Settled {
    failure(class, Delivery::Answered, true)
}

#[test]
fn asks_the_first_endpoint_and_ends_with_its_answer() {
    let mut bench = Bench::new("eth_call", 2);
    assert_eq!(
        bench.poll(),
        Action::Send {
            endpoint: A,
            attempt: FIRST,
            timeout: ATTEMPT
        }
    );
    assert_eq!(bench.poll(), Action::WaitUntil(bench.start + DEADLINE));
    bench.machine.on_settled(FIRST, &Settled::Answer);
    assert_eq!(bench.poll(), Action::Finish(Outcome::Answered(FIRST)));
    assert_eq!(bench.machine.attempts(), 1);
    assert!(bench.machine.reports().is_empty());
}

//
#[test]
fn tries_every_endpoint_once_in_order_and_then_stops() {
    let mut bench = Bench::new("eth_call", 3);
    for (endpoint, attempt) in [(A, FIRST), (B, SECOND), (C, THIRD)] {
        bench.sends(endpoint, attempt);
        bench.fails(attempt, &lost());
    }
    assert_eq!(bench.poll(), Action::Finish(Outcome::Failed(None)));
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
    ] {
        let mut bench = Bench::new(method, 2);
        bench.sends(A, FIRST);
        bench.fails(FIRST, &unsent());
        bench.sends(B, SECOND);
    }
}

//
#[test]
fn never_repeats_a_send_that_may_have_left() {
    for method in [
        "eth_sendRawTransaction",
        "eth_sendTransaction",
        "personal_sign",
    ] {
        let mut bench = Bench::new(method, 2);
        bench.sends(A, FIRST);
        bench.fails(FIRST, &lost());
        assert_eq!(
            bench.poll(),
            Action::Finish(Outcome::Failed(None)),
            "{method}"
        );
        assert_eq!(bench.machine.attempts(), 1);
    }
}

//
#[test]
fn shows_the_error_of_a_send_that_was_answered() {
    let mut bench = Bench::new("eth_sendRawTransaction", 2);
    bench.sends(A, FIRST);
    bench.fails(FIRST, &own_error(Class::Internal));
    assert_eq!(bench.poll(), Action::Finish(Outcome::Failed(Some(FIRST))));
}

//
#[test]
fn stops_at_a_failure_that_every_endpoint_would_repeat() {
    let mut bench = Bench::new("eth_call", 2);
    bench.sends(A, FIRST);
    let mut failure = own_error(Class::InvalidParams);
    if let Settled::Failed { verdict, .. } = &mut failure {
        verdict.retry_other_endpoint = false;
    }
    bench.fails(FIRST, &failure);
    assert_eq!(bench.poll(), Action::Finish(Outcome::Failed(Some(FIRST))));
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
            let mut bench = Bench::new("eth_call", 2);
            bench.sends(A, FIRST);
            bench.fails(FIRST, &own_error(first));
            bench.sends(B, SECOND);
            bench.fails(SECOND, &own_error(second));
            assert_eq!(
                bench.poll(),
                Action::Finish(Outcome::Failed(Some(shown))),
                "{first:?} then {second:?}"
            );
        }
    }
}

//
#[test]
fn shows_the_first_of_two_equally_useful_errors() {
    let mut bench = Bench::new("eth_call", 2);
    bench.sends(A, FIRST);
    bench.fails(FIRST, &own_error(Class::RateLimited));
    bench.sends(B, SECOND);
    bench.fails(SECOND, &own_error(Class::QuotaExhausted));
    assert_eq!(bench.poll(), Action::Finish(Outcome::Failed(Some(FIRST))));
}

//
#[test]
fn shows_no_attempt_that_has_nothing_to_show() {
    let mut bench = Bench::new("eth_call", 2);
    bench.sends(A, FIRST);
    bench.fails(FIRST, &own_error(Class::Internal));
    bench.sends(B, SECOND);
    bench.fails(
        SECOND,
        &failure(Class::RateLimited, Delivery::Answered, false),
    );
    assert_eq!(bench.poll(), Action::Finish(Outcome::Failed(Some(FIRST))));
}

//
#[test]
fn checks_an_endpoint_before_its_first_call_without_spending_an_attempt() {
    let mut bench = Bench::unchecked("eth_call", 1);
    assert_eq!(
        bench.poll(),
        Action::Check {
            endpoint: A,
            timeout: ATTEMPT
        }
    );
    assert_eq!(bench.poll(), Action::WaitUntil(bench.start + DEADLINE));
    bench.router.on_chain_id(A, ChainId(1));
    bench.machine.on_check(A, None);
    bench.sends(A, FIRST);
    assert_eq!(bench.machine.attempts(), 1);
}

//
#[test]
fn moves_on_when_a_check_fails_by_network() {
    let mut bench = Bench::unchecked("eth_sendRawTransaction", 2);
    bench.router.on_chain_id(B, ChainId(1));
    assert_eq!(
        bench.poll(),
        Action::Check {
            endpoint: A,
            timeout: ATTEMPT
        }
    );
    bench.machine.on_check(A, Some(&verdict(Class::Timeout)));
    bench.sends(B, FIRST);
    bench.machine.on_settled(FIRST, &Settled::Answer);
    assert_eq!(bench.classes(), [(A, None, Class::Timeout)]);
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
        let mut bench = Bench::new(method, 2);
        bench.sends(A, FIRST);
        bench.machine.on_settled(FIRST, &unsent());
        assert_eq!(
            bench.poll(),
            Action::Finish(Outcome::Failed(None)),
            "{method}"
        );
    }
}

//
#[test]
fn picks_again_after_a_check_that_found_another_chain() {
    let mut bench = Bench::unchecked("eth_call", 2);
    assert_eq!(
        bench.poll(),
        Action::Check {
            endpoint: A,
            timeout: ATTEMPT
        }
    );
    bench.router.on_chain_id(A, ChainId(10));
    bench.machine.on_check(A, None);
    assert_eq!(
        bench.poll(),
        Action::Check {
            endpoint: B,
            timeout: ATTEMPT
        }
    );
    bench.router.on_chain_id(B, ChainId(1));
    bench.machine.on_check(B, None);
    bench.sends(B, FIRST);
    assert_eq!(bench.classes(), [(A, None, Class::WrongChain)]);
}

//
#[test]
fn says_so_when_every_endpoint_serves_another_chain() {
    let mut bench = Bench::unchecked("eth_call", 2);
    bench.router.on_chain_id(A, ChainId(10));
    bench.router.on_chain_id(B, ChainId(56));
    assert_eq!(bench.poll(), Action::Finish(Outcome::ChainMismatch));
}

//
#[test]
fn does_not_blame_the_chain_when_one_endpoint_merely_failed() {
    let mut bench = Bench::unchecked("eth_call", 2);
    bench.router.on_chain_id(A, ChainId(10));
    assert_eq!(
        bench.poll(),
        Action::Check {
            endpoint: B,
            timeout: ATTEMPT
        }
    );
    bench.machine.on_check(B, Some(&verdict(Class::Internal)));
    assert_eq!(bench.poll(), Action::Finish(Outcome::Failed(None)));
    assert_eq!(
        bench.classes(),
        [(A, None, Class::WrongChain), (B, None, Class::Internal)]
    );
}

#[test]
fn has_no_endpoint_to_ask_in_an_empty_pool() {
    let mut bench = Bench::new("eth_call", 0);
    assert_eq!(bench.poll(), Action::Finish(Outcome::NoEndpoint));
}

//
#[test]
fn bounds_an_attempt_by_what_is_left_of_the_deadline() {
    let mut bench = Bench::new("eth_call", 2);
    bench.sends(A, FIRST);
    bench.passed = ATTEMPT;
    bench.fails(FIRST, &failure(Class::Timeout, Delivery::MaybeSent, false));
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
    let mut bench = Bench::new("eth_call", 2);
    bench.sends(A, FIRST);
    bench.passed = DEADLINE;
    assert_eq!(bench.poll(), Action::Finish(Outcome::DeadlineExceeded));
    assert_eq!(bench.classes(), [(A, Some(FIRST), Class::Timeout)]);
    bench.machine.on_settled(FIRST, &Settled::Answer);
    assert_eq!(bench.poll(), Action::Finish(Outcome::DeadlineExceeded));
}

//
#[test]
fn shows_an_endpoints_error_rather_than_the_deadline() {
    let mut bench = Bench::new("eth_call", 2);
    bench.sends(A, FIRST);
    bench.fails(FIRST, &own_error(Class::RateLimited));
    bench.sends(B, SECOND);
    bench.passed = DEADLINE;
    assert_eq!(bench.poll(), Action::Finish(Outcome::Failed(Some(FIRST))));
}

#[test]
fn ignores_reports_that_it_did_not_ask_for() {
    let mut bench = Bench::new("eth_call", 2);
    bench.sends(A, FIRST);
    bench.machine.on_settled(SECOND, &Settled::Answer);
    bench.machine.on_check(A, Some(&verdict(Class::Timeout)));
    assert_eq!(bench.poll(), Action::WaitUntil(bench.start + DEADLINE));
    assert!(bench.machine.reports().is_empty());
}
