//! The look-up of an open fate: whom it may ask, and how often.

use super::*;
use crate::retry_budget::RetryBudgetSettings;

impl Bench {
    /// Requests beside the call at hand that meet refused connections, until this endpoint is
    /// ejected in every lane.
    fn ejects(&mut self, endpoint: EndpointId) {
        let mut call = self.beside("eth_call");
        self.swap(&mut call);
        self.history(endpoint, 3, Duration::ZERO, &unsent());
        self.swap(&mut call);
    }

    /// A look-up after some waiting.
    #[track_caller]
    fn looks_up_later(&mut self) -> (EndpointId, AttemptId) {
        for _ in 0..10 {
            match self.poll() {
                Action::LookUp {
                    endpoint, attempt, ..
                } => return (endpoint, attempt),
                Action::WaitUntil(at) => self.pass(at.saturating_duration_since(self.now().mono)),
                other => panic!("expected a look-up, got {other:?}"),
            }
        }
        panic!("no look-up")
    }

    /// The look-up shows the transaction, and the call ends well.
    #[track_caller]
    fn finds(&mut self, attempt: AttemptId) {
        self.looked(attempt, &Settled::VALUE, true);
        assert_eq!(self.ends(), Outcome::Sent);
    }
}

fn cooldown(time: Duration) -> impl FnOnce(&mut Settings) {
    move |settings| settings.breaker.cooldown = time
}

// a look-up is a read, and what brought no answer is asked of somebody else.
#[test]
fn a_look_up_without_an_answer_is_made_at_somebody_else() {
    for failed in [
        unsent(),
        lost(),
        own_error(Class::Internal),
        own_error(Class::MethodUnsupported),
    ] {
        let mut bench = Setup::new(3).call("eth_call");
        bench.send_raw(verified(Policy::Once));
        bench.asks(A, FIRST, &lost());
        let (first, attempt, _) = bench.looks_up();
        bench.looked(attempt, &failed, false);
        let (second, attempt, _) = bench.looks_up();
        assert_ne!(first, second);
        bench.finds(attempt);
    }
}

// what it says counts, found or not.
#[test]
fn the_first_answer_to_a_look_up_is_the_only_one() {
    let mut bench = Setup::gateway(4).call("eth_call");
    bench.send_raw(verified(Policy::Once));
    bench.asks(A, FIRST, &lost());
    let (_, attempt, _) = bench.looks_up();
    bench.looked(attempt, &lost(), false);
    let (_, attempt, _) = bench.looks_up();
    bench.looked(attempt, &null(), false);
    assert_eq!(bench.ends(), Outcome::Ambiguous(None));
}

// within its own time.
#[test]
fn a_look_up_that_nobody_answered_is_made_again_after_a_pause() {
    let mut bench = Setup::gateway(1).call("eth_call");
    bench.send_raw(verified(Policy::Once));
    bench.asks(A, FIRST, &lost());
    let (_, attempt, _) = bench.looks_up();
    bench.looked(attempt, &lost(), false);
    bench.waits_between(millis(50), millis(100));
    let (endpoint, attempt, timeout) = bench.looks_up();
    assert_eq!(endpoint, A);
    assert!(timeout < LOOK_UP_TIME);
    bench.finds(attempt);
}

// three seconds, whatever happens in them.
#[test]
fn look_ups_end_with_their_time() {
    let mut bench = Setup::gateway(2).call("eth_call");
    bench.send_raw(verified(Policy::Once));
    bench.asks(A, FIRST, &lost());
    let mut asked = 0;
    let outcome = loop {
        match bench.poll() {
            Action::LookUp { attempt, .. } => {
                asked += 1;
                bench.pass(millis(10));
                bench.looked(attempt, &unsent(), false);
            }
            Action::WaitUntil(at) => bench.pass(at.saturating_duration_since(bench.now().mono)),
            Action::Finish(outcome) => break outcome,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(outcome, Outcome::Ambiguous(None));
    assert!(bench.passed <= LOOK_UP_TIME, "{:?}", bench.passed);
    assert!((4..=10).contains(&asked), "{asked}");
}

// a library's calls have a count of attempts, and so has a look-up.
#[test]
fn look_ups_are_counted() {
    let mut bench = Setup::new(5).call("eth_call");
    bench.send_raw(verified(Policy::Once));
    bench.asks(A, FIRST, &lost());
    for _ in 0..3 {
        let (_, attempt, _) = bench.looks_up();
        bench.looked(attempt, &unsent(), false);
    }
    assert_eq!(bench.ends(), Outcome::Ambiguous(None));
}

// as the first attempt of any read.
#[test]
fn a_look_up_asks_the_best_where_everybody_is_ejected() {
    let mut bench = Setup::new(2).call("eth_call");
    bench.send_raw(verified(Policy::Failover));
    bench.sends_to(A, FIRST);
    bench.ejects(A);
    bench.ejects(B);
    bench.settle(FIRST, &lost());
    let (_, attempt, _) = bench.looks_up();
    bench.finds(attempt);
}

// after that attempt it is as for any call, and the end of an ejection is waited for.
#[test]
fn a_look_up_waits_for_the_end_of_an_ejection() {
    let mut bench = Setup::gateway(2)
        .set(cooldown(millis(500)))
        .call("eth_call");
    bench.send_raw(verified(Policy::Once));
    bench.sends_to(A, FIRST);
    bench.ejects(A);
    bench.ejects(B);
    bench.settle(FIRST, &lost());
    let (first, attempt, _) = bench.looks_up();
    bench.looked(attempt, &unsent(), false);
    bench.waits_between(millis(499), millis(501));
    let (second, attempt, _) = bench.looks_up();
    assert_ne!(first, second);
    bench.finds(attempt);
}

// a check that tells nothing once may tell something a moment later.
#[test]
fn a_look_up_checks_a_chain_again_after_a_pause() {
    let mut bench = Setup::gateway(1).checked().call("eth_call");
    bench.send_raw(verified(Policy::Once));
    bench.sends_to(A, FIRST);
    bench.router.on_reconnected(A);
    bench.settle(FIRST, &lost());
    assert_eq!(bench.checks(), A);
    bench.fails_check(A, Class::Internal, Some("reset"));
    bench.waits_between(millis(50), millis(100));
    assert_eq!(bench.checks(), A);
    bench.passes(A);
    bench.machine.on_check(A, None);
    let (_, attempt, _) = bench.looks_up();
    bench.finds(attempt);
}

// only equality counts, so it is proof wherever it is found; that it is not there is
// believed of nobody who is behind.
#[test]
fn whoever_is_behind_is_asked_where_no_holder_answers() {
    for found in [true, false] {
        let mut bench = Setup::gateway(3).call("eth_call");
        for (endpoint, height) in [(A, 100), (B, 100), (C, 99)] {
            bench.head(endpoint, height);
        }
        bench.send_raw(verified(Policy::Failover));
        bench.asks(A, FIRST, &lost());
        bench.asks(B, SECOND, &nonce_too_low());
        let mut holders = [A, B].to_vec();
        for _ in 0..2 {
            let (endpoint, attempt, _) = bench.looks_up();
            holders.retain(|holder| *holder != endpoint);
            bench.looked(attempt, &lost(), false);
        }
        assert_eq!(holders, []);
        let (endpoint, attempt, _) = bench.looks_up();
        assert_eq!(endpoint, C);
        if found {
            bench.finds(attempt);
            continue;
        }
        bench.looked(attempt, &null(), false);
        let (endpoint, attempt) = bench.looks_up_later();
        assert_ne!(endpoint, C);
        bench.looked(attempt, &null(), false);
        assert_eq!(bench.ends(), Outcome::Ambiguous(Some(SECOND)));
    }
}

// the first is free as any first attempt; further ones wait for the budget, if there is
// one.
#[test]
fn further_look_ups_go_by_the_budget_for_retries() {
    for per_second in [1.0, 0.0] {
        let budget = RetryBudgetSettings {
            ratio: 0.0,
            per_second,
            ..RetryBudgetSettings::default()
        };
        let mut bench = Setup::gateway(1)
            .set(|settings| settings.retry_budget = budget)
            .call("eth_call");
        let now = bench.now();
        bench.router.spend_retry(now);
        bench.send_raw(verified(Policy::Once));
        bench.asks(A, FIRST, &lost());
        let (_, attempt, _) = bench.looks_up();
        bench.looked(attempt, &lost(), false);
        bench.waits_between(millis(50), millis(100));
        if per_second > 0.0 {
            bench.waits_between(millis(900), millis(950));
            let (_, attempt, _) = bench.looks_up();
            bench.finds(attempt);
        } else {
            assert_eq!(bench.ends(), Outcome::Ambiguous(None));
        }
    }
}
