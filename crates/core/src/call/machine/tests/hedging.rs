//! Hedges.

use super::*;
use crate::settings::HedgeSettings;

fn hedged(endpoints: usize) -> Setup {
    Setup::new(endpoints).set(|s| s.hedge = Some(HedgeSettings::default()))
}

//
#[test]
fn is_off_unless_asked_for() {
    assert_eq!(Settings::default().hedge, None);
    assert_eq!(Settings::gateway().hedge, None);
    let mut bench = Setup::new(2).call("eth_call");
    bench.sends_to(A, FIRST);
    assert_eq!(bench.waits(), DEADLINE);
}

// cold, the least delay decides
#[test]
fn copies_a_slow_read_to_the_next_endpoint_once() {
    let mut bench = hedged(3).call("eth_call");
    bench.sends_to(A, FIRST);
    bench.waits_between(millis(250), millis(250));
    bench.sends_to(B, SECOND);
    let hedge = Event::Hedge {
        slow: A,
        to: B,
        method: method::lookup("eth_call").id,
    };
    assert!(bench.events().contains(&hedge));
    assert_eq!(bench.waits(), DEADLINE - millis(250));
}

//
#[test]
fn waits_twice_the_tail_of_the_method() {
    let mut bench = hedged(2).call("eth_call");
    bench.history(A, 20, millis(190), &Settled::VALUE);
    bench.next("eth_call");
    bench.sends_to(A, FIRST);
    bench.waits_between(millis(380), millis(381));
    bench.sends_to(B, SECOND);
    // The tail is the method's own: of another one nothing is known.
    bench.next("eth_getBalance");
    bench.sends_to(A, FIRST);
    assert_eq!(bench.waits(), millis(250));
}

//
#[test]
fn the_first_answer_wins_and_the_loser_is_cancelled_and_censored() {
    for (winner, loser) in [((B, SECOND), (A, FIRST)), ((A, FIRST), (B, SECOND))] {
        let mut bench = hedged(2).call("eth_call");
        bench.sends_to(A, FIRST);
        let wait = bench.waits();
        bench.pass(wait);
        bench.sends_to(B, SECOND);
        bench.pass(millis(100));
        bench.settle(winner.1, &Settled::VALUE);
        assert_eq!(bench.ends(), Outcome::Answered(winner.1));
        let leftovers = bench.machine.leftovers();
        let [(ticket, Leftover::Cancel)] = leftovers.as_slice() else {
            panic!("{leftovers:?}");
        };
        assert_eq!((ticket.endpoint(), ticket.attempt()), loser);
        let now = bench.now();
        bench.router.cancel(ticket, now);
        assert_eq!(bench.in_flight(), [0, 0]);
        let view = bench.view(loser.0);
        assert_eq!((view.latency_ms, view.error), (None, 0.0));
        assert_eq!(view.counters.cancelled, 1);
    }
}

// the first attempt may still win where the hedge fails, and the other way round
#[test]
fn fails_only_when_both_have() {
    for order in [[FIRST, SECOND], [SECOND, FIRST]] {
        let mut bench = hedged(3).call("eth_call");
        bench.sends_to(A, FIRST);
        let wait = bench.waits();
        bench.pass(wait);
        bench.sends_to(B, SECOND);
        bench.settle(order[0], &lost());
        bench.waits();
        bench.settle(order[1], &lost());
        bench.sends_to(C, THIRD);
    }
}

// it spends an attempt
#[test]
fn is_an_attempt_of_the_call() {
    let mut bench = hedged(2)
        .set(|s| s.retry.count = RetryCount::Times(0))
        .call("eth_call");
    bench.sends_to(A, FIRST);
    let wait = bench.waits();
    bench.pass(wait);
    assert_eq!(bench.waits(), DEADLINE - wait);
    let mut bench = hedged(3)
        .set(|s| s.retry.count = RetryCount::Times(1))
        .call("eth_call");
    bench.sends_to(A, FIRST);
    let wait = bench.waits();
    bench.pass(wait);
    bench.sends_to(B, SECOND);
    bench.settle(FIRST, &lost());
    bench.settle(SECOND, &lost());
    assert_eq!(bench.ends(), Outcome::Failed(None));
}

// it spends a retry
#[test]
fn needs_the_retry_budget() {
    let mut bench = hedged(2)
        .set(|s| s.retry_budget.per_second = 0.0)
        .call("eth_call");
    bench.sends_to(A, FIRST);
    let wait = bench.waits();
    bench.pass(wait);
    assert_eq!(bench.waits(), DEADLINE - wait);
}

//
#[test]
fn copies_only_reads_whose_row_says_so() {
    for (method, copied) in [
        ("eth_call", true),
        ("eth_getTransactionReceipt", true),
        ("eth_getLogs", false),
        ("debug_traceTransaction", false),
        ("eth_sendRawTransaction", false),
        ("eth_newFilter", false),
        ("personal_sign", false),
        ("no_such_method", false),
    ] {
        let mut bench = hedged(2).call(method);
        bench.sends_to(A, FIRST);
        let wait = bench.waits();
        assert_eq!(wait < DEADLINE, copied, "{method}");
    }
    let mut bench = hedged(2)
        .set(|s| s.strategy = Strategy::Shuffle)
        .call("eth_call");
    bench.sends();
    assert_eq!(bench.waits(), DEADLINE);
}

// neither to an ejected one nor to one on trial
#[test]
fn copies_to_nobody_whose_circuit_is_not_closed() {
    for later in [Duration::ZERO, seconds(5)] {
        let mut bench = hedged(2).call("eth_call");
        bench.history(A, 1, Duration::ZERO, &Settled::VALUE);
        bench.next("eth_call");
        bench.sends_to(A, FIRST);
        let mut call = bench.beside("eth_call");
        bench.swap(&mut call);
        bench.history(B, 3, Duration::ZERO, &lost());
        bench.swap(&mut call);
        bench.pass(later.max(millis(250)));
        assert!(matches!(bench.poll(), Action::WaitUntil(_)));
    }
}

//
#[test]
fn is_off_while_more_than_half_are_ejected_for_the_method() {
    let free = EndpointId(4);
    for (ejected, copied) in [(1, true), (2, true), (3, false)] {
        let mut bench = hedged(5).call("eth_call");
        for endpoint in [B, C, D].into_iter().take(ejected) {
            // Of one lane alone: others may still be asked there.
            bench.history(endpoint, 3, Duration::ZERO, &lost());
        }
        bench.pass(millis(100));
        bench.next("eth_call");
        bench.sends_to(A, FIRST);
        bench.pass(millis(250));
        let sent = matches!(bench.poll(), Action::Send { .. });
        assert_eq!(sent, copied, "{ejected} of 5");
        assert_eq!(bench.out(free, "eth_call", ""), None);
    }
}

//
#[test]
fn never_leaves_the_tier() {
    let mut bench = hedged(2).tier(B, 1).call("eth_call");
    bench.sends_to(A, FIRST);
    let wait = bench.waits();
    bench.pass(wait);
    assert_eq!(bench.waits(), DEADLINE - wait);
}

//
#[test]
fn skips_the_spent() {
    let mut bench = hedged(3).budget(B, 0.001, 1.0).call("eth_call");
    bench.history(B, 1, Duration::ZERO, &Settled::VALUE);
    bench.next("eth_call");
    bench.sends_to(A, FIRST);
    let wait = bench.waits();
    bench.pass(wait);
    bench.sends_to(C, SECOND);
}

// an unchecked one passes its chain check first
#[test]
fn checks_an_unchecked_endpoint_first_and_copies_then() {
    let mut bench = hedged(2).unchecked().call("eth_call");
    bench.passes(A);
    bench.sends_to(A, FIRST);
    assert_eq!(bench.warms(), B);
    bench.waits_between(millis(250), millis(250));
    // Its check is still out.
    bench.waits_between(millis(250), millis(250));
    bench.passes(B);
    bench.sends_to(B, SECOND);
    assert_eq!(bench.waits(), DEADLINE - millis(500));
}

// with hedging on, the hedge adds the next endpoint on top of a race
#[test]
fn adds_the_next_endpoint_to_a_race() {
    let mut bench = hedged(3).race(2).call("eth_call");
    bench.sends_to(A, FIRST);
    bench.sends_to(B, SECOND);
    bench.waits_between(millis(250), millis(250));
    bench.sends_to(C, THIRD);
    bench.settle(THIRD, &Settled::VALUE);
    assert_eq!(bench.ends(), Outcome::Answered(THIRD));
    let leftovers = bench.machine.leftovers();
    assert!(leftovers.iter().all(|(_, left)| *left == Leftover::Finish));
    assert_eq!(leftovers.len(), 2);
}
