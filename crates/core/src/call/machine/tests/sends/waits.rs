//! A send whose fate is open, and who is left to take it only later.

use super::*;
use crate::retry_budget::RetryBudgetSettings;

/// An endpoint that refuses connections, until it is ejected for this time.
fn beside_ejected(time: Duration) -> Bench {
    let cooldown = |settings: &mut Settings| settings.breaker.cooldown = time;
    let mut bench = Setup::gateway(2).set(cooldown).call("eth_call");
    bench.history(B, 3, Duration::ZERO, &unsent());
    bench
}

// whoever failed already cannot have another round of it, and is not in the way.
#[test]
fn an_open_send_waits_for_an_ejection_to_end_and_goes_on_there() {
    let mut bench = beside_ejected(millis(1500));
    bench.send_raw(verified(Policy::Failover));
    bench.asks(A, FIRST, &lost());
    bench.waits_between(millis(1499), millis(1501));
    bench.sends_to(B, SECOND);
    bench.accepts(SECOND);
    assert_eq!(bench.ends(), Outcome::Answered(SECOND));
}

// for two seconds and no longer; then the look-up decides.
#[test]
fn an_ejection_of_more_than_two_seconds_is_not_waited_for() {
    let mut bench = beside_ejected(millis(2100));
    bench.send_raw(verified(Policy::Failover));
    bench.asks(A, FIRST, &lost());
    assert_eq!(bench.looks_up().0, A);
}

// R-35, scenario W09: waiting makes nobody else a taker.
#[test]
fn once_waits_for_nobody_after_an_open_end() {
    let mut bench = beside_ejected(millis(100));
    bench.send_raw(write(Policy::Once));
    bench.asks(A, FIRST, &lost());
    assert_eq!(bench.ends(), Outcome::Ambiguous(None));
}

// another call tries the endpoint; what comes of it is waited for.
#[test]
fn an_open_send_waits_for_the_trial_of_another_call() {
    let mut bench = beside_ejected(millis(500));
    bench.pass(millis(500));
    let mut trial = bench.beside("eth_call");
    bench.swap(&mut trial);
    bench.sends_to(B, FIRST);
    bench.swap(&mut trial);
    bench.send_raw(verified(Policy::Failover));
    bench.asks(A, FIRST, &lost());
    bench.waits_between(millis(1), millis(10));
    bench.swap(&mut trial);
    bench.settle(FIRST, &result(Content::Value));
    bench.swap(&mut trial);
    bench.sends_to(B, SECOND);
}

// the budget is waited for, and never exceeded.
#[test]
fn an_open_send_waits_for_the_budget_for_retries() {
    for per_second in [10.0, 0.0] {
        let budget = RetryBudgetSettings {
            ratio: 0.0,
            per_second,
            ..RetryBudgetSettings::default()
        };
        let mut bench = Setup::gateway(2)
            .set(|settings| settings.retry_budget = budget)
            .call("eth_call");
        bench.history(B, 1, Duration::ZERO, &unsent());
        let now = bench.now();
        bench.router.spend_retry(now);
        bench.send_raw(verified(Policy::Failover));
        bench.asks(A, FIRST, &lost());
        if per_second > 0.0 {
            bench.waits_between(millis(99), millis(101));
            bench.sends_to(B, SECOND);
            bench.accepts(SECOND);
            assert_eq!(bench.ends(), Outcome::Answered(SECOND));
        } else {
            assert_eq!(bench.looks_up().0, B);
        }
    }
}

// nothing is open, so the last error is returned.
#[test]
fn a_send_that_nobody_got_does_not_wait_for_the_budget() {
    let mut bench = Setup::gateway(2).call("eth_call");
    bench.history(B, 1, Duration::ZERO, &unsent());
    let now = bench.now();
    while bench.router.spend_retry(now) {}
    bench.send_raw(verified(Policy::Failover));
    bench.asks(A, FIRST, &unsent());
    assert_eq!(bench.ends(), Outcome::Failed(None));
}
