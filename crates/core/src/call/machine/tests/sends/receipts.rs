//! The form that waits for the receipt.

use super::*;

// R-35, scenario W12
#[test]
fn w12_the_sync_form_asks_for_the_receipt_until_the_callers_time_is_over() {
    let open = |found_at: Option<u32>| {
        let mut bench = Setup::new(2).call("eth_call");
        bench.send_raw(sync(Policy::Failover, seconds(2)));
        bench.asks(A, FIRST, &lost());
        bench.asks(B, SECOND, &terminal(Class::AlreadyKnown));
        for poll in 0..20 {
            match bench.poll() {
                Action::Receipt { attempt, .. } => {
                    let found = found_at.is_some_and(|at| poll >= at);
                    let said = if found { Settled::VALUE } else { null() };
                    bench.looked(attempt, &said, found);
                }
                Action::WaitUntil(at) => {
                    bench.pass(at.saturating_duration_since(bench.now().mono));
                }
                Action::Finish(outcome) => return (outcome, bench.passed),
                other => panic!("{other:?}"),
            }
        }
        panic!("no end")
    };
    let (outcome, after) = open(Some(2));
    assert!(matches!(outcome, Outcome::Found(_)), "{outcome:?}");
    assert!(after < seconds(1));
    assert_eq!(open(None), (Outcome::Late, seconds(2)));
}

// the caller's time is over before anybody could be asked.
#[test]
fn the_sync_form_asks_for_the_receipt_once_at_least() {
    let mut bench = Setup::new(2).call("eth_call");
    bench.send_raw(sync(Policy::Failover, seconds(3)));
    bench.sends_to(A, FIRST);
    bench.pass(seconds(5));
    bench.settle(FIRST, &timeout());
    bench.asks(B, SECOND, &terminal(Class::AlreadyKnown));
    let (_, attempt) = bench.asks_for_the_receipt();
    bench.looked(attempt, &Settled::VALUE, true);
    assert_eq!(bench.ends(), Outcome::Found(attempt));
}

// R-35, scenario W13
#[test]
fn w13_the_timeout_of_the_sync_form_comes_as_it_is() {
    let verdict = of_class(Class::Timeout, Some("sync_send"));
    let pooled = Settled::Terminal {
        meaning: Meaning::Healthy,
        verdict,
    };
    let mut bench = Setup::new(2).call("eth_call");
    bench.send_raw(sync(Policy::Failover, seconds(2)));
    bench.asks(A, FIRST, &pooled);
    assert_eq!(bench.ends(), Outcome::Answered(FIRST));
}
