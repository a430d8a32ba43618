//! Races.

use super::*;

fn racers(bench: &mut Bench) -> Vec<EndpointId> {
    let mut racers = Vec::new();
    while let Action::Send { endpoint, .. } = bench.poll() {
        racers.push(endpoint);
    }
    racers
}

fn race_told(bench: &mut Bench) -> Option<Vec<EndpointId>> {
    bench.events().into_iter().find_map(|event| match event {
        Event::Race { racers, .. } => Some(racers.to_vec()),
        _ => None,
    })
}

/// Latencies so that C is the best, then A, then B.
fn measured(setup: Setup) -> Bench {
    let mut bench = setup.adaptive().call("eth_call");
    for (endpoint, ms) in [(A, 50), (B, 90), (C, 10)] {
        bench.history(endpoint, 6, millis(ms), &Settled::VALUE);
    }
    bench.events();
    bench.next("eth_call");
    bench
}

//
#[test]
fn sends_the_first_attempt_to_the_best_few_in_the_order_of_their_scores() {
    let mut bench = measured(Setup::new(3).race(2));
    assert_eq!(racers(&mut bench), [C, A]);
    assert_eq!(bench.in_flight(), [1, 0, 1]);
    assert_eq!(race_told(&mut bench), Some(vec![C, A]));
    let mut bench = measured(Setup::new(3).race(3));
    assert_eq!(racers(&mut bench), [C, A, B]);
}

// the library races two, a gateway nobody
#[test]
fn races_two_in_a_library_and_none_in_a_gateway() {
    assert_eq!(Settings::default().race, 2);
    assert_eq!(Settings::gateway().race, 0);
    for width in [0, 1] {
        let mut bench = Setup::new(2).race(width).call("eth_call");
        assert_eq!(racers(&mut bench), [A]);
        assert_eq!(race_told(&mut bench), None);
    }
}

//
#[test]
fn races_only_reads_whose_row_says_so() {
    for (method, width) in [
        ("eth_call", 2),
        ("eth_getBalance", 2),
        ("eth_getLogs", 1),
        ("debug_traceCall", 1),
        ("eth_sendRawTransaction", 1),
        ("eth_newFilter", 1),
        ("personal_sign", 1),
        ("no_such_method", 1),
    ] {
        let mut bench = Setup::new(2).race(2).call(method);
        assert_eq!(racers(&mut bench).len(), width, "{method}");
    }
    let mut bench = Setup::new(2)
        .race(2)
        .set(|s| s.strategy = Strategy::Shuffle)
        .call("eth_call");
    assert_eq!(racers(&mut bench).len(), 1);
}

//
#[test]
fn the_first_valid_answer_wins_and_the_loser_runs_to_its_end() {
    let mut bench = measured(Setup::new(3).race(2));
    racers(&mut bench);
    bench.pass(millis(20));
    bench.settle(SECOND, &Settled::VALUE);
    assert_eq!(bench.ends(), Outcome::Answered(SECOND));
    let leftovers = bench.machine.leftovers();
    let [(ticket, Leftover::Finish)] = leftovers.as_slice() else {
        panic!("{leftovers:?}");
    };
    assert_eq!((ticket.endpoint(), ticket.attempt()), (C, FIRST));
    assert_eq!(bench.in_flight(), [0, 0, 1]);
    let before = bench.view(C).latency_ms;
    bench.pass(millis(480));
    let now = bench.now();
    bench.router.settle(ticket, &Settled::VALUE, now);
    assert_eq!(bench.in_flight(), [0, 0, 0]);
    // 0.4 of the way from 10 to 500 ms.
    let expected = before.unwrap() + 0.4 * (500.0 - before.unwrap());
    assert!((bench.view(C).latency_ms.unwrap() - expected).abs() < 1e-6);
    // Each racer has its request event.
    let ended = bench.events().into_iter().filter_map(|event| match event {
        Event::Request {
            endpoint, attempt, ..
        } => Some((endpoint, attempt)),
        _ => None,
    });
    assert_eq!(ended.collect::<Vec<_>>(), [(A, SECOND), (C, FIRST)]);
}

//
#[test]
fn a_loser_that_the_caller_drops_records_nothing() {
    let mut bench = measured(Setup::new(3).race(2));
    racers(&mut bench);
    let before = (bench.view(A), bench.view(C));
    bench.pass(seconds(3));
    let now = bench.now();
    bench.machine.abandon(&mut bench.router, now);
    for (before, endpoint) in [(before.0, A), (before.1, C)] {
        let after = bench.view(endpoint);
        assert_eq!(after.in_flight, 0);
        assert_eq!(
            (after.latency_ms, after.tail_ms, after.error),
            (before.latency_ms, before.tail_ms, before.error)
        );
        assert_eq!(after.counters.cancelled, 1);
        assert_eq!(after.circuit, before.circuit);
    }
}

//
#[test]
fn a_failed_racer_does_not_fail_the_call_while_another_runs() {
    let mut bench = measured(Setup::new(3).race(2));
    racers(&mut bench);
    bench.settle(FIRST, &lost());
    assert_eq!(bench.waits(), DEADLINE);
    bench.settle(SECOND, &Settled::VALUE);
    assert_eq!(bench.ends(), Outcome::Answered(SECOND));
}

//
#[test]
fn a_terminal_answer_settles_a_race_at_once_and_behind_does_not() {
    let mut bench = measured(Setup::new(3).race(2));
    racers(&mut bench);
    bench.settle(FIRST, &own_error(Class::Behind));
    bench.waits();
    bench.settle(SECOND, &terminal(Class::ExecutionRevert));
    assert_eq!(bench.ends(), Outcome::Answered(SECOND));
}

//
#[test]
fn when_all_fail_the_call_goes_on_without_a_race_and_names_each_racer() {
    let mut bench = Setup::new(4).race(2).call("eth_call");
    assert_eq!(racers(&mut bench), [A, B]);
    bench.settle(SECOND, &lost());
    bench.settle(FIRST, &timeout());
    bench.asks(C, THIRD, &own_error(Class::Overloaded));
    // The race was the first attempt; two extra ones follow.
    bench.asks(D, FOURTH, &lost());
    assert_eq!(bench.ends(), Outcome::Failed(Some(THIRD)));
    assert_eq!(
        bench.classes(),
        [
            (B, Some(SECOND), Class::Internal),
            (A, Some(FIRST), Class::Timeout),
            (C, Some(THIRD), Class::Overloaded),
            (D, Some(FOURTH), Class::Internal),
        ]
    );
}

//
#[test]
fn only_checked_endpoints_in_good_standing_with_a_token_race() {
    let mut bench = Setup::new(4)
        .unchecked()
        .race(4)
        .budget(D, 0.001, 2.0)
        .call("eth_call");
    for endpoint in [A, B, D] {
        bench.passes(endpoint);
    }
    bench.history(D, 1, millis(1), &Settled::VALUE);
    bench.history(B, 3, millis(1), &lost());
    bench.next("eth_call");
    // One alone is no race; whoever is not checked is, beside the call.
    assert_eq!(bench.sends(), (A, FIRST));
    assert_eq!(bench.warms(), C);
    bench.waits();
    assert_eq!(race_told(&mut bench), None);
    bench.passes(C);
    bench.next("eth_call");
    assert_eq!(racers(&mut bench), [A, C]);
    // A quarantined one never.
    let mut bench = Setup::new(3).unchecked().race(3).call("eth_call");
    bench.passes(A);
    bench.passes(C);
    bench.answers_check(B, 10);
    assert_eq!(racers(&mut bench), [A, C]);
}

//
#[test]
fn does_not_race_where_everybody_is_ejected() {
    let mut bench = Setup::new(2).race(2).call("eth_call");
    for endpoint in [A, B] {
        bench.history(endpoint, 3, millis(1), &lost());
    }
    bench.next("eth_call");
    assert_eq!(racers(&mut bench).len(), 1);
}

// racers of one account
#[test]
fn a_race_narrows_to_the_tokens_there_are() {
    let shared = account(0.001, 3.0);
    let mut bench = Setup::new(3)
        .race(3)
        .profile(A, |p| p.account = shared.clone())
        .profile(B, |p| p.account = shared.clone())
        .profile(C, |p| p.account = shared.clone())
        .call("eth_call");
    bench.history(C, 1, Duration::ZERO, &Settled::VALUE);
    bench.events();
    bench.next("eth_call");
    // C answered before, and so is the best of the three.
    assert_eq!(racers(&mut bench), [C, A]);
    assert_eq!(race_told(&mut bench), Some(vec![C, A]));
    bench.pass(seconds(1000));
    // One token: an ordinary attempt.
    bench.next("eth_call");
    assert_eq!(racers(&mut bench), [C]);
    assert_eq!(race_told(&mut bench), None);
}

//
#[test]
fn racers_never_leave_the_lowest_tier_that_can_serve() {
    let setup = Setup::new(3).tier(B, 1).tier(C, 1).race(3);
    let mut bench = setup.clone().call("eth_call");
    assert_eq!(racers(&mut bench), [A]);
    let mut bench = setup.call("eth_call");
    bench.history(A, 3, millis(1), &lost());
    bench.next("eth_call");
    assert_eq!(racers(&mut bench), [B, C]);
}

// whoever comes back from an ejection races along
#[test]
fn the_trial_of_an_endpoint_races_along() {
    let mut bench = Setup::new(3).race(2).call("eth_call");
    bench.history(A, 3, Duration::ZERO, &lost());
    bench.pass(seconds(5));
    bench.next("eth_call");
    assert_eq!(racers(&mut bench), [B, A]);
    // It runs: the next call does without.
    bench.next("eth_call");
    assert_eq!(racers(&mut bench), [B, C]);
}

// whatever a race leaves out is asked before any racer is asked again
#[test]
fn another_round_begins_after_everybody_was_asked() {
    let mut bench = Setup::new(3)
        .race(2)
        .set(|s| s.retry.count = RetryCount::Times(3))
        .call("eth_call");
    racers(&mut bench);
    for attempt in [FIRST, SECOND] {
        bench.settle(attempt, &own_error(Class::Overloaded));
    }
    bench.asks(C, THIRD, &own_error(Class::Overloaded));
    bench.waits_between(millis(50), millis(100));
    assert_eq!(racers(&mut bench).len(), 1);
}

// where everybody fails, a race would only double the load
#[test]
fn does_not_race_while_everybody_fails() {
    let mut bench = Setup::new(2).race(2).call("eth_call");
    for endpoint in [A, B] {
        bench.history(endpoint, 1, millis(1), &lost());
    }
    bench.next("eth_call");
    assert_eq!(racers(&mut bench).len(), 1);
    bench.history(B, 2, millis(1), &Settled::VALUE);
    bench.next("eth_call");
    assert_eq!(racers(&mut bench), [B, A]);
}

// what a race narrowed to is an ordinary attempt, and a hedge that beats it cancels it
#[test]
fn a_race_of_one_is_an_ordinary_attempt() {
    let shared = account(0.001, 2.0);
    let mut bench = Setup::new(3)
        .race(2)
        .set(|s| s.hedge = Some(Default::default()))
        .profile(A, |p| p.account = shared.clone())
        .profile(B, |p| p.account = shared.clone())
        .profile(C, |p| p.weight = 0.5)
        .set(|s| s.strategy = Strategy::Adaptive)
        .call("eth_call");
    bench.history(A, 1, Duration::ZERO, &Settled::VALUE);
    bench.next("eth_call");
    let (first, _) = bench.sends();
    assert_eq!(race_told(&mut bench), None);
    let wait = bench.waits();
    bench.pass(wait);
    bench.sends_to(C, SECOND);
    bench.settle(SECOND, &Settled::VALUE);
    bench.ends();
    let leftovers = bench.machine.leftovers();
    assert!(
        matches!(leftovers.as_slice(), [(_, Leftover::Cancel)]),
        "{leftovers:?}"
    );
    assert_eq!(leftovers[0].0.endpoint(), first);
}

// the attempt beyond the count goes above the tier that raced
#[test]
fn a_race_in_a_higher_tier_leaves_no_way_up_to_its_own() {
    let mut bench = Setup::new(4)
        .tier(B, 1)
        .tier(C, 1)
        .tier(D, 1)
        .race(2)
        .set(|s| s.retry.count = RetryCount::Times(0))
        .call("eth_call");
    bench.history(A, 3, Duration::ZERO, &lost());
    bench.next("eth_call");
    assert_eq!(racers(&mut bench), [B, C]);
    bench.settle(FIRST, &lost());
    bench.settle(SECOND, &lost());
    assert_eq!(bench.ends(), Outcome::Failed(None));
}
