//! Rounds, backoffs and waits (R-30, R-31).

use super::*;
use crate::settings::Jitter;

fn gone() -> Settled {
    own_error(Class::Overloaded)
}

// R-30, R-21: a pool of one survives one 429
#[test]
fn a_pool_of_one_asks_it_again_after_a_backoff() {
    let mut bench = Setup::new(1).call("eth_call");
    bench.asks(A, FIRST, &own_error(Class::RateLimited));
    bench.waits_between(millis(50), millis(100));
    bench.asks(A, SECOND, &Settled::VALUE);
    assert_eq!(bench.ends(), Outcome::Answered(SECOND));
    assert_eq!(bench.view(A).circuit.endpoint.strikes, 0);
}

// R-30
#[test]
fn makes_two_extra_attempts_and_doubles_the_backoff() {
    let mut bench = Setup::new(1).call("eth_call");
    bench.asks(A, FIRST, &gone());
    bench.waits_between(millis(50), millis(100));
    bench.asks(A, SECOND, &gone());
    bench.waits_between(millis(100), millis(200));
    bench.asks(A, THIRD, &gone());
    assert_eq!(bench.ends(), Outcome::Failed(Some(FIRST)));
    assert_eq!(bench.machine.reports().len(), 3);
}

// R-30
#[test]
fn draws_a_backoff_from_nothing_to_all_where_the_jitter_is_full() {
    let mut short = 0;
    for seed in 0..40 {
        let mut bench = Setup::new(1)
            .seed(seed)
            .set(|s| s.retry.jitter = Jitter::Full)
            .call("eth_call");
        bench.asks(A, FIRST, &gone());
        let wait = bench.waits();
        assert!(wait <= millis(100));
        short += u32::from(wait < millis(50));
    }
    assert!((10..=30).contains(&short), "{short}");
}

// R-30
#[test]
fn tries_each_endpoint_once_before_any_is_tried_again() {
    let mut bench = Setup::gateway(3)
        .set(|s| s.breaker.enabled = false)
        .call("eth_call");
    for round in 0..3 {
        let mut asked = Vec::new();
        for place in 0..3 {
            let (endpoint, attempt) = bench.sends();
            assert_eq!(attempt, AttemptId(3 * round + place));
            asked.push(endpoint);
            // Far enough apart for the retry budget of a pool where everybody fails.
            bench.pass(millis(100));
            bench.settle(attempt, &gone());
        }
        asked.sort_unstable();
        assert_eq!(asked, [A, B, C], "round {round}");
        let wait = bench.waits();
        bench.pass(wait);
    }
}

// R-30
#[test]
fn a_gateway_goes_on_until_the_deadline_and_not_past_it() {
    let mut bench = Setup::gateway(1)
        .set(|s| s.breaker.enabled = false)
        .call("eth_call");
    let mut attempts = 0;
    let outcome = loop {
        match bench.poll() {
            Action::Send { attempt, .. } => {
                attempts += 1;
                bench.settle(attempt, &gone());
            }
            Action::WaitUntil(at) => bench.passed = at.saturating_duration_since(bench.start),
            Action::Finish(outcome) => break outcome,
            other => panic!("{other:?}"),
        }
        assert!(bench.passed < DEADLINE);
    };
    assert_eq!(outcome, Outcome::Failed(Some(FIRST)));
    // 100, 200, 400, 800, 1600 and then 2000 ms at most, half of that at least.
    assert!((8..=13).contains(&attempts), "{attempts}");
    assert!(bench.passed > DEADLINE - seconds(2));
}

// R-30, R-21
#[test]
fn backs_off_at_least_as_long_as_the_next_endpoint_is_ejected() {
    let mut bench = Setup::new(1).call("eth_call");
    bench.asks(
        A,
        FIRST,
        &own_error_with_wait(Class::RateLimited, seconds(1)),
    );
    bench.waits_between(seconds(1), seconds(1));
    bench.asks(A, SECOND, &Settled::VALUE);
    assert_eq!(bench.ends(), Outcome::Answered(SECOND));
}

// R-30
#[test]
fn waits_out_ejections_for_two_seconds_in_total() {
    let mut bench = Setup::gateway(1).call("eth_call");
    bench.asks(
        A,
        FIRST,
        &own_error_with_wait(Class::RateLimited, millis(1200)),
    );
    bench.waits_between(millis(1200), millis(1200));
    bench.asks(
        A,
        SECOND,
        &own_error_with_wait(Class::Overloaded, millis(801)),
    );
    assert_eq!(bench.ends(), Outcome::Failed(Some(FIRST)));
    let mut bench = Setup::gateway(1).call("eth_call");
    bench.asks(
        A,
        FIRST,
        &own_error_with_wait(Class::RateLimited, seconds(3)),
    );
    assert_eq!(bench.ends(), Outcome::Failed(Some(FIRST)));
}

// R-31
#[test]
fn asks_the_best_one_where_everybody_was_ejected_before_the_call() {
    for adaptive in [false, true] {
        let setup = Setup::new(3);
        let setup = if adaptive { setup.adaptive() } else { setup };
        let mut bench = setup.call("eth_call");
        for (endpoint, ms) in [(A, 300), (B, 20), (C, 200)] {
            bench.history(endpoint, 5, millis(ms), &Settled::VALUE);
        }
        for endpoint in [A, B, C] {
            bench.history(endpoint, 3, millis(1), &lost());
        }
        bench.next("eth_call");
        bench.asks(B, FIRST, &gone());
        // The others are ejected for longer than the call waits.
        assert_eq!(bench.ends(), Outcome::Failed(Some(FIRST)));
        let ejected = [(A, None, Class::Overloaded), (C, None, Class::Overloaded)];
        assert_eq!(bench.classes()[1..], ejected);
    }
}

// R-31, R-27
#[test]
fn a_last_resort_waits_for_its_token() {
    let mut bench = Setup::new(1).budget(A, 1.0, 3.0).call("eth_call");
    bench.history(A, 3, Duration::ZERO, &lost());
    bench.next("eth_call");
    bench.waits_between(seconds(1), seconds(1));
    bench.sends_to(A, FIRST);
    // And is no reason to go over the limit.
    let mut bench = Setup::new(1).budget(A, 0.25, 3.0).call("eth_call");
    bench.history(A, 3, Duration::ZERO, &lost());
    bench.next("eth_call");
    assert_eq!(bench.ends(), Outcome::BudgetExhausted { wait: seconds(4) });
}

// R-31
#[test]
fn sends_nothing_to_an_ejected_endpoint_once_a_call_has_begun() {
    let mut bench = Setup::new(2).call("eth_call");
    bench.history(B, 3, millis(1), &lost());
    bench.next("eth_call");
    bench.asks(A, FIRST, &gone());
    // Only the ejected one is left: another round on the one that failed.
    bench.waits_between(millis(50), millis(100));
    bench.asks(A, SECOND, &gone());
    bench.waits_between(millis(100), millis(200));
    bench.sends_to(A, THIRD);
}

// R-31
#[test]
fn has_no_last_resort_where_somebody_was_there_when_the_call_began() {
    let mut bench = Setup::new(2).unchecked().call("eth_call");
    bench.passes(A);
    let stated = own_error_with_wait(Class::RateLimited, seconds(60));
    bench.history(A, 1, millis(1), &stated);
    bench.next("eth_call");
    assert_eq!(bench.checks(), B);
    bench.fails_check(B, Class::Internal, Some("connect"));
    assert_eq!(bench.ends(), Outcome::Failed(None));
    assert_eq!(bench.view(A).counters.sent, 2, "its check and its call");
}

// R-31: one endpoint is the last resort, not one after the other
#[test]
fn a_last_resort_whose_check_fails_is_the_only_one() {
    let mut bench = Setup::new(3).unchecked().call("eth_call");
    for endpoint in [A, B, C] {
        for _ in 0..3 {
            bench.fails_check(endpoint, Class::Internal, Some("connect"));
        }
    }
    bench.next("eth_call");
    let endpoint = bench.checks();
    bench.fails_check(endpoint, Class::Internal, Some("connect"));
    assert_eq!(bench.ends(), Outcome::Failed(None));
}

// R-31
#[test]
fn looks_at_the_breakers_again_after_a_wait() {
    let mut bench = Setup::gateway(2).call("eth_call");
    bench.history(B, 3, millis(1), &lost());
    bench.next("eth_call");
    bench.asks(A, FIRST, &lost());
    let mut call = bench.beside("eth_call");
    bench.waits_between(millis(50), millis(100));
    bench.swap(&mut call);
    bench.history(A, 2, Duration::ZERO, &lost());
    bench.swap(&mut call);
    // Both are ejected by now.
    assert_eq!(bench.ends(), Outcome::Failed(None));
    assert_eq!(bench.machine.attempts(), 1);
}

// R-30, R-1
#[test]
fn spends_one_attempt_beyond_the_count_on_an_untried_endpoint_of_a_higher_tier() {
    let setup = Setup::new(4)
        .tier(C, 1)
        .tier(D, 1)
        .set(|s| s.retry.count = RetryCount::Times(1))
        // Outside the retry budget too (R-32).
        .set(|s| s.retry_budget.per_second = 0.0);
    let mut bench = setup.call("eth_call");
    bench.history(C, 1, millis(1), &lost());
    bench.next("eth_call");
    bench.asks(A, FIRST, &lost());
    bench.asks(B, SECOND, &lost());
    bench.asks(D, THIRD, &lost());
    assert_eq!(bench.ends(), Outcome::Failed(None));
    // C failed now and D is not: the better one was the one.
    assert_eq!(bench.machine.reports().len(), 3);
}

// R-30
#[test]
fn an_attempt_beyond_the_count_goes_to_nobody_that_was_tried() {
    let mut bench = Setup::new(2)
        .tier(B, 1)
        .set(|s| s.breaker.enabled = false)
        .call("eth_call");
    bench.asks(A, FIRST, &gone());
    bench.asks(B, SECOND, &gone());
    bench.waits_between(millis(50), millis(100));
    bench.asks(A, THIRD, &gone());
    assert_eq!(bench.ends(), Outcome::Failed(Some(FIRST)));
    // Nor below the tier of the last attempt, nor in it.
    let mut bench = Setup::new(3)
        .tier(B, 1)
        .tier(C, 1)
        .set(|s| s.retry.count = RetryCount::Times(0))
        .call("eth_call");
    bench.history(A, 3, millis(1), &lost());
    bench.next("eth_call");
    bench.asks(B, FIRST, &gone());
    assert_eq!(bench.ends(), Outcome::Failed(Some(FIRST)));
}

// R-37, semantics §11: what was taught is not asked again by the same call
#[test]
fn goes_round_for_nothing_that_would_be_said_again() {
    let old = r#"["0x1","0x5"]"#;
    let latest = r#"["0x1","latest"]"#;
    let unknown = own_error(Class::Behind);
    let pruned = own_error(Class::MissingHistory);
    let large = own_error(Class::RangeLimit);
    for (method, params, said, again) in [
        ("eth_getBalance", old, &pruned, false),
        // One node of several behind a URL may be between two blocks.
        ("eth_getBalance", latest, &pruned, true),
        ("eth_getTransactionReceipt", HASH, &pruned, false),
        ("debug_traceTransaction", HASH, &unknown, false),
        ("debug_traceBlockByHash", HASH, &unknown, false),
        ("eth_getLogs", LOGS_OF_HASH, &unknown, false),
        ("eth_getLogs", LOGS_OF_HASH, &pruned, false),
        ("eth_getBalance", latest, &unknown, true),
        ("eth_getLogs", RANGE, &large, false),
        ("eth_getLogs", RANGE, &own_error(Class::Internal), true),
    ] {
        for endpoints in [1, 2] {
            let mut bench = Setup::gateway(endpoints).call(method);
            bench.next_with(method, params);
            bench.asks(A, FIRST, said);
            if endpoints == 2 {
                bench.asks(B, SECOND, said);
            }
            if again {
                bench.waits_between(millis(50), millis(100));
            } else {
                assert_eq!(bench.ends(), Outcome::Failed(Some(FIRST)), "{method}");
            }
        }
        // Another one failed otherwise, and may say something else next time.
        let mut bench = Setup::gateway(2).call(method);
        bench.next_with(method, params);
        bench.asks(A, FIRST, said);
        bench.asks(B, SECOND, &own_error(Class::Internal));
        bench.waits_between(millis(50), millis(100));
    }
}

const HASH: &str = r#"["0x0000000000000000000000000000000000000000000000000000000000000abc"]"#;
const LOGS_OF_HASH: &str =
    r#"[{"blockHash":"0x0000000000000000000000000000000000000000000000000000000000000abc"}]"#;
const RANGE: &str = r#"[{"fromBlock":"0x1","toBlock":"0x5"}]"#;
