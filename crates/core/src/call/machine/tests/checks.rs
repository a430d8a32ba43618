//! Chain checks around a call.

use super::*;
use crate::breaker::Reason as Ejection;

/// A call to this endpoint alone.
fn only(bench: &mut Bench, endpoint: EndpointId) {
    let mut plan = bench.plan("eth_call");
    plan.only = Some(endpoint);
    bench.begin(plan);
}

//
#[test]
fn checks_an_endpoint_before_its_first_call_without_spending_an_attempt() {
    let mut bench = Setup::new(1).unchecked().call("eth_call");
    assert_eq!(
        bench.poll(),
        Action::Check {
            endpoint: A,
            timeout: ATTEMPT
        }
    );
    assert_eq!(bench.waits(), DEADLINE);
    bench.passes(A);
    bench.machine.on_check(A, None);
    bench.sends_to(A, FIRST);
    assert_eq!(bench.machine.attempts(), 1);
}

// the check runs under the timeout of its call
#[test]
fn gives_a_check_no_more_time_than_the_call_has_left() {
    let mut bench = Setup::new(2).unchecked().call("eth_call");
    bench.checks();
    bench.pass(ATTEMPT);
    bench.fails_check(A, Class::Timeout, None);
    assert_eq!(
        bench.poll(),
        Action::Check {
            endpoint: B,
            timeout: DEADLINE - ATTEMPT
        }
    );
    bench.pass(DEADLINE - ATTEMPT);
    assert_eq!(bench.ends(), Outcome::DeadlineExceeded);
    assert_eq!(
        bench.classes(),
        [(A, None, Class::Timeout), (B, None, Class::Timeout)]
    );
}

// R-19, scenario X07
#[test]
fn moves_on_when_a_check_fails_by_network_and_asks_again_on_the_next_call() {
    let mut bench = Setup::new(2).unchecked().call("eth_sendRawTransaction");
    bench.passes(A);
    only(&mut bench, B);
    assert_eq!(bench.checks(), B);
    bench.fails_check(B, Class::Internal, Some("reset"));
    assert_eq!(bench.ends(), Outcome::Failed(None));
    assert_eq!(bench.router.identity(B), Identity::Unchecked);

    let mut bench = Setup::new(2).unchecked().call("eth_sendRawTransaction");
    assert_eq!(bench.checks(), A);
    bench.passes(B);
    bench.fails_check(A, Class::Timeout, None);
    bench.asks(B, FIRST, &Settled::VALUE);
    assert_eq!(bench.ends(), Outcome::Answered(FIRST));
    assert_eq!(bench.classes(), [(A, None, Class::Timeout)]);
    only(&mut bench, A);
    assert_eq!(bench.checks(), A);
}

// R-19, scenario X05
#[test]
fn picks_again_after_a_check_that_found_another_chain() {
    let mut bench = Setup::new(2).unchecked().call("eth_call");
    assert_eq!(bench.checks(), A);
    bench.answers_check(A, 10);
    bench.machine.on_check(A, None);
    assert_eq!(bench.checks(), B);
    bench.passes(B);
    bench.machine.on_check(B, None);
    bench.asks(B, FIRST, &Settled::VALUE);
    assert_eq!(bench.ends(), Outcome::Answered(FIRST));
    let quarantine = Event::Quarantine {
        endpoint: A,
        found: ChainId(10),
    };
    assert!(bench.events().contains(&quarantine));
    // Nothing lifts it: not even the right id, nor a new connection.
    bench.router.on_reconnected(A);
    let lasts = Identity::Quarantined { found: ChainId(10) };
    assert_eq!(bench.answers_check(A, 1), lasts);
    for _ in 0..20 {
        assert_eq!(bench.one("eth_call", millis(10), &lost()), B);
        bench.pass(seconds(10));
    }
}

//
#[test]
fn names_the_endpoint_of_another_chain_in_the_error() {
    let mut bench = Setup::new(2).unchecked().call("eth_call");
    bench.answers_check(A, 10);
    assert_eq!(bench.checks(), B);
    bench.fails_check(B, Class::Internal, Some("connect"));
    assert_eq!(bench.ends(), Outcome::Failed(None));
    assert_eq!(
        bench.classes(),
        [(B, None, Class::Internal), (A, None, Class::WrongChain)]
    );
}

// R-19, scenario X06
#[test]
fn says_so_when_every_endpoint_serves_another_chain() {
    let mut bench = Setup::new(2).unchecked().call("eth_call");
    bench.answers_check(A, 10);
    bench.answers_check(B, 56);
    assert_eq!(bench.ends(), Outcome::ChainMismatch);
    assert_eq!(
        bench.classes(),
        [(A, None, Class::WrongChain), (B, None, Class::WrongChain)]
    );
    assert_eq!(bench.machine.attempts(), 0);
}

// zero, null and texts are "not ready", which the driver reports as a failure
#[test]
fn takes_zero_for_not_ready() {
    let mut bench = Setup::new(2).unchecked().call("eth_call");
    assert_eq!(bench.checks(), A);
    assert_eq!(bench.answers_check(A, 0), Identity::Unchecked);
    let verdict = of_class(Class::Syncing, Some("zero"));
    bench.machine.on_check(A, Some(&verdict));
    assert_eq!(bench.checks(), B);
}

//
#[test]
fn ends_although_a_check_is_said_to_have_passed_that_told_nothing() {
    let mut bench = Setup::new(1).unchecked().call("eth_call");
    for _ in 0..2 {
        assert_eq!(bench.checks(), A);
        bench.machine.on_check(A, None);
    }
    assert_eq!(bench.ends(), Outcome::Failed(None));
    assert_eq!(bench.classes(), [(A, None, Class::Internal)]);
}

//
#[test]
fn counts_failed_checks_toward_the_breaker_and_takes_no_latency_from_them() {
    for (class, subclass) in [
        (Class::Internal, Some("connect")),
        (Class::RateLimited, None),
    ] {
        let mut bench = Setup::new(1).unchecked().call("eth_call");
        for strikes in 1..=3 {
            bench.next("eth_call");
            assert_eq!(bench.checks(), A);
            bench.pass(millis(700));
            bench.fails_check(A, class, subclass);
            assert_eq!(bench.ends(), Outcome::Failed(None));
            let view = bench.view(A);
            assert_eq!(view.circuit.endpoint.strikes, strikes);
            assert_eq!((view.latency_ms, view.error), (None, 0.0));
        }
        let ejected = |event: &Event| {
            matches!(
                event,
                Event::Eject {
                    endpoint: A,
                    why: Ejection::Failures,
                    ..
                }
            )
        };
        assert!(bench.events().iter().any(ejected));
    }
}

//
#[test]
fn learns_a_limit_from_refused_checks_too() {
    let mut bench = Setup::new(1)
        .unchecked()
        .set(|s| s.breaker.enabled = false)
        .call("eth_call");
    for _ in 0..3 {
        bench.next("eth_call");
        bench.checks();
        bench.fails_check(A, Class::RateLimited, None);
    }
    assert_eq!(bench.view(A).tokens, Some(1));
}

//
#[test]
fn spends_a_token_for_a_check_and_skips_who_has_none() {
    let mut bench = Setup::new(2)
        .unchecked()
        .budget(A, 1.0, 2.0)
        .budget(B, 1.0, 1.0)
        .call("eth_call");
    bench.checks();
    bench.passes(A);
    assert_eq!(bench.view(A).tokens, Some(1));
    bench.passes(B);
    let now = bench.now();
    assert!(bench.router.begin_check(B, now).is_none(), "no token");
    assert_eq!(bench.view(B).counters.sent, 1);
}

//
#[test]
fn skips_the_check_where_it_is_off_or_not_on_the_method_list() {
    let mut bench = Setup::new(1).call("eth_call");
    bench.sends_to(A, FIRST);
    let without = crate::router::MethodList::new(vec![], vec!["eth_chainId".to_owned()]);
    let mut bench = Setup::new(1)
        .unchecked()
        .profile(A, |p| p.methods = without)
        .call("eth_call");
    bench.sends_to(A, FIRST);
}

//
#[test]
fn checks_again_after_a_reconnect_and_after_words_about_the_chain() {
    let mut bench = Setup::new(1).checked().call("eth_call");
    bench.router.on_reconnected(A);
    assert_eq!(bench.checks(), A);
    bench.passes(A);
    bench.machine.on_check(A, None);
    bench.asks(A, FIRST, &own_error(Class::WrongChain));
    assert_eq!(bench.router.identity(A), Identity::Unchecked);
    bench.next("eth_call");
    assert_eq!(bench.checks(), A);
}

//
#[test]
fn checks_again_after_an_ejection_of_a_minute_and_not_after_a_short_one() {
    for (wait, again) in [(59, false), (60, true)] {
        let mut bench = Setup::new(1).checked().call("eth_call");
        let stated = own_error_with_wait(Class::RateLimited, seconds(wait));
        bench.asks(A, FIRST, &stated);
        bench.pass(seconds(wait));
        bench.next("eth_call");
        if again {
            assert_eq!(bench.checks(), A);
            assert_eq!(
                bench.answers_check(A, 10),
                Identity::Quarantined { found: ChainId(10) }
            );
        } else {
            bench.sends_to(A, FIRST);
        }
    }
}

//
#[test]
fn the_probe_after_a_long_ejection_goes_behind_a_check_too() {
    let mut bench = Setup::new(1).checked().call("eth_call");
    let stated = own_error_with_wait(Class::RateLimited, seconds(60));
    bench.asks(A, FIRST, &stated);
    bench.pass(seconds(60));
    let now = bench.now();
    assert_eq!(bench.router.probe_targets(now).as_slice(), [A]);
    assert!(bench.router.needs_check(A));
}

// one hanging endpoint holds nobody up while another is known
#[test]
fn waits_for_no_check_while_somebody_verified_can_serve() {
    let mut bench = Setup::new(3).unchecked().call("eth_call");
    bench.passes(B);
    bench.sends_to(B, FIRST);
    assert_eq!(bench.warms(), A);
    // One check at a time for each, as long as the call that began it would have waited.
    bench.next("eth_call");
    bench.sends_to(B, FIRST);
    assert_eq!(bench.warms(), C);
    bench.next("eth_call");
    bench.sends_to(B, FIRST);
    bench.waits();
    bench.pass(ATTEMPT);
    bench.next("eth_call");
    bench.sends_to(B, FIRST);
    assert_eq!(bench.warms(), A);
}

// whoever waits for a check is bound for that endpoint, and only as long as it waits
#[test]
fn spreads_a_cold_burst() {
    let mut bench = Setup::new(3).unchecked().adaptive().call("eth_call");
    let mut calls: Vec<_> = (0..30).map(|_| bench.beside("eth_call")).collect();
    let mut waiting = [0; 3];
    for call in &mut calls {
        bench.swap(call);
        waiting[bench.checks().index()] += 1;
        bench.swap(call);
    }
    assert!(waiting.iter().all(|n| (7..=13).contains(n)), "{waiting:?}");
    assert_eq!(bench.in_flight(), waiting);
    // The checks pass one after the other; everybody picks again when theirs does.
    let mut sent = [0; 3];
    for endpoint in [B, C, A] {
        bench.pass(millis(5));
        bench.passes(endpoint);
        for call in &mut calls {
            call.on_check(endpoint, None);
            bench.swap(call);
            if let Action::Send { endpoint, .. } = skip_warm(&mut bench) {
                sent[endpoint.index()] += 1;
            }
            bench.swap(call);
        }
    }
    assert_eq!(sent.iter().sum::<u32>(), 30);
    assert!(sent.iter().all(|n| (7..=13).contains(n)), "{sent:?}");
    for call in &mut calls {
        let now = bench.now();
        call.abandon(&mut bench.router, now);
    }
    assert_eq!(bench.in_flight(), [0, 0, 0]);
}

fn skip_warm(bench: &mut Bench) -> Action {
    loop {
        match bench.poll() {
            Action::Warm { .. } => {}
            other => return other,
        }
    }
}

//
#[test]
fn a_call_that_leaves_while_it_waits_for_a_check_counts_no_longer() {
    let mut bench = Setup::new(1).unchecked().call("eth_call");
    bench.checks();
    assert_eq!(bench.in_flight(), [1]);
    let now = bench.now();
    bench.machine.abandon(&mut bench.router, now);
    assert_eq!(bench.in_flight(), [0]);
    bench.next("eth_call");
    bench.checks();
    bench.pass(DEADLINE);
    bench.ends();
    assert_eq!(bench.in_flight(), [0]);
    // And one whose clean-up never runs, a second after its timeout.
    bench.next("eth_call");
    bench.checks();
    bench.pass(ATTEMPT + millis(999));
    assert_eq!(bench.in_flight(), [1]);
    bench.pass(millis(1));
    assert_eq!(bench.in_flight(), [0]);
}

// the next call asks again, this one does not
#[test]
fn a_check_that_told_nothing_is_not_repeated_beside_the_same_call() {
    let mut bench = Setup::new(2)
        .tier(B, 1)
        .unchecked()
        .set(|s| s.race = 2)
        .call("eth_call");
    assert_eq!(bench.checks(), A);
    bench
        .machine
        .on_check(A, Some(&of_class(Class::Syncing, None)));
    assert_eq!(bench.checks(), B);
}

// an endpoint that could not be reached is checked again, and the call goes on trying
#[test]
fn a_call_goes_on_trying_an_endpoint_that_it_lost() {
    let mut bench = Setup::new(1).checked().call("eth_call");
    bench.asks(A, FIRST, &unsent());
    bench.waits_between(millis(50), millis(100));
    assert_eq!(bench.checks(), A);
    bench.passes(A);
    bench.machine.on_check(A, None);
    bench.asks(A, SECOND, &Settled::VALUE);
    assert_eq!(bench.ends(), Outcome::Answered(SECOND));
    // A check that fails there is an attempt like another.
    let mut bench = Setup::new(1)
        .checked()
        .set(|s| s.breaker.enabled = false)
        .call("eth_call");
    bench.asks(A, FIRST, &unsent());
    for backoff in [50, 100] {
        bench.waits_between(millis(backoff), millis(2 * backoff));
        assert_eq!(bench.checks(), A);
        bench.fails_check(A, Class::Internal, Some("connect"));
    }
    assert_eq!(bench.ends(), Outcome::Failed(None));
    assert_eq!(bench.machine.reports().len(), 3);
}

// the checks count toward the breaker, and it counts for them
#[test]
fn an_endpoint_that_fails_its_checks_is_not_checked_for_every_call() {
    let mut bench = Setup::new(2).unchecked().call("eth_call");
    bench.passes(B);
    let warmed = |bench: &mut Bench| {
        bench.pass(ATTEMPT);
        bench.next("eth_call");
        bench.sends_to(B, FIRST);
        assert_eq!(bench.warms(), A);
    };
    for _ in 0..3 {
        warmed(&mut bench);
        bench.fails_check(A, Class::Overloaded, None);
    }
    bench.pass(millis(4999));
    assert_eq!(bench.out(A, "eth_call", "[]"), Some(Why::Ejected));
    bench.next("eth_call");
    bench.sends_to(B, FIRST);
    bench.waits();
    // Once the ejection is over the next call checks.
    warmed(&mut bench);
}
