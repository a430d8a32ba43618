//! Tokens and the retry budget.

use super::*;
use crate::bucket::{Every, Period};

fn no_retries(setup: Setup) -> Setup {
    setup.set(|s| {
        s.retry_budget.per_second = 0.0;
        s.retry_budget.ratio = 0.0;
    })
}

//
#[test]
fn skips_a_spent_endpoint_while_another_has_a_token() {
    let mut bench = Setup::new(2).budget(A, 1.0, 2.0).call("eth_call");
    for endpoint in [A, A, B, B] {
        assert_eq!(
            bench.one("eth_call", Duration::ZERO, &Settled::VALUE),
            endpoint
        );
    }
    bench.pass(seconds(1));
    assert_eq!(bench.one("eth_call", Duration::ZERO, &Settled::VALUE), A);
}

// retries spend too
#[test]
fn spends_a_token_for_every_attempt() {
    let mut bench = Setup::new(1)
        .budget(A, 0.001, 3.0)
        .set(|s| s.breaker.enabled = false)
        .call("eth_call");
    bench.asks(A, FIRST, &lost());
    assert_eq!(bench.view(A).tokens, Some(2));
    let wait = bench.waits();
    bench.pass(wait);
    bench.asks(A, SECOND, &lost());
    assert_eq!(bench.view(A).tokens, Some(1));
}

//
#[test]
fn waits_for_the_first_token_where_everybody_is_spent() {
    let mut bench = Setup::new(2)
        .budget(A, 0.5, 1.0)
        .budget(B, 2.0, 1.0)
        .call("eth_call");
    bench.sends_to(A, FIRST);
    bench.next("eth_call");
    bench.sends_to(B, FIRST);
    bench.next("eth_call");
    bench.waits_between(millis(500), millis(500));
    bench.sends_to(B, FIRST);
}

//
#[test]
fn names_the_wait_where_no_token_comes_soon_enough_and_sends_nothing() {
    let mut bench = Setup::new(2)
        .budget(A, 0.2, 1.0)
        .budget(B, 0.4, 1.0)
        .call("eth_call");
    bench.sends_to(A, FIRST);
    bench.next("eth_call");
    bench.sends_to(B, FIRST);
    bench.next("eth_call");
    let wait = millis(2500);
    assert_eq!(bench.ends(), Outcome::BudgetExhausted { wait });
    assert_eq!(bench.machine.attempts(), 0);
    assert!(bench.events().contains(&Event::Budget { wait: Some(wait) }));
    // Two seconds it would have waited.
    bench.pass(millis(500));
    bench.next("eth_call");
    bench.waits_between(seconds(2), seconds(2));
    bench.sends_to(B, FIRST);
}

// a token that somebody else took is waited for again, two seconds in total
#[test]
fn gives_up_after_two_seconds_of_waiting_for_tokens_that_others_take() {
    let mut bench = Setup::new(1).budget(A, 1.0, 1.0).call("eth_call");
    bench.sends_to(A, FIRST);
    bench.next("eth_call");
    for _ in 0..2 {
        bench.waits_between(seconds(1), seconds(1));
        let mut call = bench.beside("eth_call");
        bench.swap(&mut call);
        bench.sends_to(A, FIRST);
        bench.swap(&mut call);
    }
    let wait = seconds(1);
    assert_eq!(bench.ends(), Outcome::BudgetExhausted { wait });
}

//
#[test]
fn waits_for_a_spent_endpoint_rather_than_ask_an_ejected_one() {
    let mut bench = Setup::new(2).budget(A, 1.0, 1.0).call("eth_call");
    bench.history(B, 3, Duration::ZERO, &lost());
    bench.history(A, 1, Duration::ZERO, &Settled::VALUE);
    bench.next("eth_call");
    bench.waits_between(seconds(1), seconds(1));
    bench.sends_to(A, FIRST);
}

//
#[test]
fn asks_those_that_failed_again_before_it_waits_for_a_token() {
    let mut bench = Setup::new(2).budget(B, 0.6, 1.0).call("eth_call");
    bench.history(B, 1, Duration::ZERO, &Settled::VALUE);
    bench.next("eth_call");
    bench.asks(A, FIRST, &own_error(Class::Overloaded));
    bench.waits_between(millis(50), millis(100));
    bench.sends_to(A, SECOND);
}

// an allowance that ran out is no token until it is reset
#[test]
fn sends_nothing_past_an_allowance() {
    let budget = Budget {
        periods: vec![Period::new(Every::Day, 52)],
        ..Budget::default()
    };
    let account = Arc::new(Account::new("metered", &budget));
    let mut bench = Setup::new(2)
        .profile(A, |p| p.account = account.clone())
        .call("eth_call");
    // A call weighs 26 units.
    for endpoint in [A, A, B] {
        assert_eq!(
            bench.one("eth_call", Duration::ZERO, &Settled::VALUE),
            endpoint
        );
    }
    let now = bench.now();
    assert!((account.burn(now.wall) - 1.0).abs() < 1e-9);
    assert_eq!(bench.view(A).tokens, Some(0));
}

//
#[test]
fn learns_a_limit_from_three_refusals() {
    let mut bench = Setup::new(1)
        .set(|s| s.breaker.enabled = false)
        .call("eth_call");
    bench.history(A, 10, millis(100), &Settled::VALUE);
    assert_eq!(bench.view(A).tokens, None);
    bench.history(A, 3, Duration::ZERO, &own_error(Class::RateLimited));
    assert_eq!(bench.view(A).tokens, Some(1));
    // 80 % of ten a second.
    bench.history(A, 1, Duration::ZERO, &Settled::VALUE);
    bench.next("eth_call");
    let wait = bench.waits();
    assert!((millis(90)..=millis(140)).contains(&wait), "{wait:?}");
}

// one account, one budget
#[test]
fn endpoints_of_one_account_share_its_tokens() {
    let shared = account(1.0, 2.0);
    let mut bench = Setup::new(2)
        .profile(A, |p| p.account = shared.clone())
        .profile(B, |p| p.account = shared.clone())
        .call("eth_call");
    bench.asks(A, FIRST, &lost());
    bench.sends_to(B, SECOND);
    bench.next("eth_call");
    bench.waits_between(seconds(1), seconds(1));
}

//
#[test]
fn a_burst_in_flight_to_a_node_that_dies_loses_nothing() {
    let mut bench = no_retries(Setup::new(2)).call("eth_call");
    bench.history(B, 3, millis(5), &Settled::VALUE);
    let mut calls = burst(&mut bench);
    for call in &mut calls {
        bench.swap(call);
        bench.settle(FIRST, &lost());
        bench.asks(B, SECOND, &Settled::VALUE);
        assert_eq!(bench.ends(), Outcome::Answered(SECOND));
        bench.swap(call);
    }
}

/// Fifty calls on their way to A, of which nothing good or bad is known in the last 10 s.
fn burst(bench: &mut Bench) -> Vec<Machine> {
    bench.history(A, 20, millis(1), &Settled::VALUE);
    let mut calls: Vec<_> = (0..50).map(|_| bench.beside("eth_call")).collect();
    for call in &mut calls {
        bench.swap(call);
        bench.sends_to(A, FIRST);
        bench.swap(call);
    }
    calls
}

// an endpoint that nobody tried lately is tried once, and its answer decides
#[test]
fn a_burst_waits_for_the_first_answer_of_an_endpoint_that_was_untried() {
    for (answer, moved) in [
        (Settled::VALUE, true),
        (own_error(Class::RateLimited), false),
    ] {
        let mut bench = no_retries(Setup::new(2)).call("eth_call");
        let mut calls = burst(&mut bench);
        for (place, call) in calls.iter_mut().enumerate() {
            bench.swap(call);
            bench.settle(FIRST, &own_error(Class::Overloaded));
            if place == 0 {
                bench.sends_to(B, SECOND);
            } else {
                bench.waits_between(millis(10), millis(10));
                bench.passed -= millis(10);
            }
            bench.swap(call);
        }
        bench.pass(millis(10));
        bench.swap(&mut calls[0]);
        bench.settle(SECOND, &answer);
        bench.swap(&mut calls[0]);
        for call in &mut calls[1..] {
            bench.swap(call);
            if moved {
                bench.asks(B, SECOND, &Settled::VALUE);
                assert_eq!(bench.ends(), Outcome::Answered(SECOND));
            } else {
                assert_eq!(bench.ends(), Outcome::Failed(Some(FIRST)));
            }
            bench.swap(call);
        }
    }
}

// and not for long
#[test]
fn a_move_goes_ahead_where_the_first_answer_does_not_come() {
    let mut bench = no_retries(Setup::new(2)).call("eth_call");
    let mut slow = bench.beside("eth_call");
    let mut plan = bench.plan("eth_call");
    plan.only = Some(B);
    bench.begin(plan);
    bench.sends_to(B, FIRST);
    bench.swap(&mut slow);
    bench.asks(A, FIRST, &lost());
    let mut waited = Duration::ZERO;
    while let Action::WaitUntil(at) = bench.poll() {
        let wait = at.saturating_duration_since(bench.now().mono);
        waited += wait;
        bench.pass(wait);
    }
    assert_eq!(waited, millis(250));
    assert_eq!(bench.machine.attempts(), 2);
}

// the attempt on an untried endpoint of a higher tier costs nothing
#[test]
fn an_empty_retry_budget_leaves_the_way_to_a_higher_tier() {
    let mut bench = no_retries(Setup::new(3)).tier(C, 1).call("eth_call");
    bench.history(B, 1, millis(1), &lost());
    bench.next("eth_call");
    bench.asks(A, FIRST, &lost());
    bench.sends_to(C, SECOND);
    bench.settle(SECOND, &lost());
    assert_eq!(bench.ends(), Outcome::Failed(None));
}

//
#[test]
fn a_move_to_an_endpoint_that_fails_now_costs_and_empty_means_the_last_error() {
    let mut bench = no_retries(Setup::new(2)).call("eth_call");
    bench.history(B, 1, millis(1), &lost());
    bench.next("eth_call");
    bench.asks(A, FIRST, &own_error(Class::Overloaded));
    assert_eq!(bench.ends(), Outcome::Failed(Some(FIRST)));
    assert!(bench.events().contains(&Event::Budget { wait: None }));
    // Ten seconds later nothing is known against it.
    bench.pass(seconds(11));
    bench.next("eth_call");
    bench.asks(A, FIRST, &own_error(Class::Overloaded));
    bench.sends_to(B, SECOND);
}

// an endpoint on trial is not closed, however little is known against it
#[test]
fn a_move_to_an_endpoint_on_trial_costs() {
    let mut bench = no_retries(Setup::new(2)).call("eth_call");
    bench.history(B, 3, millis(1), &lost());
    // While the call runs the ejection ends and the failures are forgotten.
    bench.next("eth_call");
    let mut plan = bench.plan("eth_call");
    plan.deadline += seconds(60);
    bench.begin(plan);
    bench.sends_to(A, FIRST);
    bench.pass(seconds(11));
    bench.settle(FIRST, &own_error(Class::Overloaded));
    assert_eq!(bench.ends(), Outcome::Failed(Some(FIRST)));
}

//
#[test]
fn a_further_round_costs_even_where_the_endpoint_is_healthy() {
    let mut bench = no_retries(Setup::new(1)).call("eth_call");
    bench.history(A, 5, millis(1), &Settled::VALUE);
    bench.next("eth_call");
    bench.asks(A, FIRST, &own_error(Class::Overloaded));
    bench.waits_between(millis(50), millis(100));
    assert_eq!(bench.ends(), Outcome::Failed(Some(FIRST)));
}

// one request more, one retry
#[test]
fn a_further_round_costs_one_retry_for_each_request() {
    let mut bench = Setup::gateway(2)
        .set(|s| {
            s.breaker.enabled = false;
            s.retry_budget.per_second = 0.0;
            s.retry_budget.ratio = 1.0;
        })
        .call("eth_call");
    // Two calls pay for two retries.
    bench.next("eth_call");
    bench.asks(A, FIRST, &own_error(Class::Overloaded));
    bench.asks(B, SECOND, &own_error(Class::Overloaded));
    for attempt in [THIRD, FOURTH] {
        if attempt == THIRD {
            bench.waits_between(millis(50), millis(100));
        }
        let (_, sent) = bench.sends();
        assert_eq!(sent, attempt);
        bench.settle(sent, &own_error(Class::Overloaded));
    }
    let wait = bench.waits();
    bench.pass(wait);
    assert_eq!(bench.ends(), Outcome::Failed(Some(FIRST)));
}

//
#[test]
fn racers_and_checks_cost_no_retries() {
    let mut bench = no_retries(Setup::new(3))
        .unchecked()
        .race(2)
        .call("eth_call");
    bench.passes(A);
    bench.passes(B);
    bench.history(A, 1, millis(1), &Settled::VALUE);
    bench.history(B, 1, millis(1), &lost());
    bench.next("eth_call");
    bench.sends();
    bench.sends();
    assert_eq!(bench.warms(), C);
    bench.settle(FIRST, &lost());
    bench.settle(SECOND, &lost());
    assert_eq!(bench.checks(), C);
    bench.passes(C);
    bench.machine.on_check(C, None);
    bench.sends_to(C, THIRD);
}
