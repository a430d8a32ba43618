//! Raw transactions: who gets one, and how a call of one ends.

mod broadcasts;
mod laws;
mod lookups;
mod receipts;
mod waits;

use super::*;
use crate::{
    TxHash,
    call::{
        Privacy,
        write::{Echo, Form, LOOK_UP_TIME, Policy, Write},
    },
};

const SEND: &str = "eth_sendRawTransaction";
const HASH: TxHash = TxHash([7; 32]);

fn write(policy: Policy) -> Write {
    Write {
        policy,
        verify: false,
        hash: HASH,
        certain: true,
        form: Form::Hash,
        resent: false,
        has_known: true,
    }
}

fn verified(policy: Policy) -> Write {
    Write {
        verify: true,
        ..write(policy)
    }
}

fn sync(policy: Policy, wait: Duration) -> Write {
    Write {
        form: Form::Receipt(wait),
        ..write(policy)
    }
}

fn nonce_too_low() -> Settled {
    let verdict = of_class(Class::TxRejected, Some("nonce_too_low"));
    Settled::Terminal {
        meaning: Meaning::Healthy,
        verdict,
    }
}

impl Bench {
    fn send_raw(&mut self, write: Write) {
        self.send_with(write, |_| {});
    }

    fn send_with(&mut self, write: Write, change: impl FnOnce(&mut Plan)) {
        let method = match write.form {
            Form::Receipt(_) => "eth_sendRawTransactionSync",
            Form::Hash | Form::Output => SEND,
        };
        let mut plan = self.plan(method);
        plan.write = Some(Box::new(write));
        change(&mut plan);
        self.begin(plan);
    }

    /// The attempt ends with the hash of the transaction.
    fn accepts(&mut self, attempt: AttemptId) {
        self.says(attempt, Echo::Ours);
    }

    /// The attempt ends with a result that says this of the hash.
    fn says(&mut self, attempt: AttemptId, echo: Echo) {
        let now = self.now();
        self.machine
            .on_sent(&mut self.router, attempt, &Settled::VALUE, echo, now);
    }

    #[track_caller]
    fn looks_up(&mut self) -> (EndpointId, AttemptId, Duration) {
        match self.poll() {
            Action::LookUp {
                endpoint,
                attempt,
                timeout,
            } => (endpoint, attempt, timeout),
            other => panic!("expected a look-up, got {other:?}"),
        }
    }

    #[track_caller]
    fn asks_for_the_receipt(&mut self) -> (EndpointId, AttemptId) {
        match self.poll() {
            Action::Receipt {
                endpoint, attempt, ..
            } => (endpoint, attempt),
            other => panic!("expected a question for the receipt, got {other:?}"),
        }
    }

    fn looked(&mut self, attempt: AttemptId, settled: &Settled, ours: bool) {
        let now = self.now();
        self.machine
            .on_lookup(&mut self.router, attempt, settled, ours, now);
    }
}

fn null() -> Settled {
    result(Content::Null)
}

// R-35, scenario W09
#[test]
fn once_sends_to_nobody_else_after_an_open_end() {
    for open in [lost(), timeout(), own_error(Class::Internal)] {
        let mut bench = Setup::new(3).call("eth_call");
        bench.send_raw(write(Policy::Once));
        bench.asks(A, FIRST, &open);
        let shown = matches!(open, Settled::Failed { showable: true, .. });
        let expected = Outcome::Ambiguous(shown.then_some(FIRST));
        assert_eq!(bench.ends(), expected);
        assert!(bench.machine.may_have_sent());
    }
}

// scenario W09, scenario W21
#[test]
fn once_moves_on_from_what_is_proven_unsent() {
    let mut bench = Setup::new(2).call("eth_call");
    bench.send_raw(write(Policy::Once));
    bench.asks(A, FIRST, &unsent());
    assert!(!bench.machine.may_have_sent());
    bench.sends_to(B, SECOND);
    assert!(bench.machine.may_have_sent());
    bench.accepts(SECOND);
    assert_eq!(bench.ends(), Outcome::Answered(SECOND));
    assert_eq!(bench.machine.seen_by(), [SECOND]);
}

// R-35, scenario W01
#[test]
fn w01_failover_takes_already_known_after_a_lost_answer_for_success() {
    let mut bench = Setup::new(3).call("eth_call");
    bench.send_raw(write(Policy::Failover));
    bench.asks(A, FIRST, &lost());
    bench.asks(B, SECOND, &terminal(Class::AlreadyKnown));
    assert_eq!(bench.ends(), Outcome::Sent);
}

// R-35, scenario W02
#[test]
fn w02_already_known_at_first_comes_as_it_is_unless_another_call_sent_it() {
    let mut bench = Setup::new(2).call("eth_call");
    bench.send_raw(write(Policy::Failover));
    bench.asks(A, FIRST, &terminal(Class::AlreadyKnown));
    assert_eq!(bench.ends(), Outcome::Answered(FIRST));
    bench.send_raw(write(Policy::Failover));
    bench.sends_to(A, FIRST);
    bench.machine.note_resent();
    bench.settle(FIRST, &terminal(Class::AlreadyKnown));
    assert_eq!(bench.ends(), Outcome::Sent);
}

// R-35, scenario W03, scenario W18
#[test]
fn w03_a_used_nonce_after_an_open_send_is_looked_up_at_somebody_else() {
    for (found, expected) in [
        (true, Outcome::Sent),
        (false, Outcome::Ambiguous(Some(SECOND))),
    ] {
        let mut bench = Setup::new(3).call("eth_call");
        bench.send_raw(verified(Policy::Failover));
        bench.asks(A, FIRST, &timeout());
        bench.asks(B, SECOND, &nonce_too_low());
        assert_eq!(bench.looks_up(), (C, THIRD, LOOK_UP_TIME));
        let said = if found { Settled::VALUE } else { null() };
        bench.looked(THIRD, &said, found);
        assert_eq!(bench.ends(), expected);
        assert_eq!(bench.machine.attempts(), 3);
    }
}

//
#[test]
fn a_look_up_is_made_where_the_reference_head_is() {
    let mut bench = Setup::new(4).call("eth_call");
    for (endpoint, height) in [(A, 100), (B, 100), (C, 99), (D, 100)] {
        bench.head(endpoint, height);
    }
    bench.send_raw(verified(Policy::Failover));
    bench.asks(A, FIRST, &timeout());
    bench.asks(B, SECOND, &nonce_too_low());
    assert_eq!(bench.looks_up().0, D);
}

// the one that failed is asked where there is no other.
#[test]
fn a_pool_of_one_is_looked_up_at_itself() {
    let mut bench = Setup::new(1).call("eth_call");
    bench.send_raw(verified(Policy::Once));
    bench.asks(A, FIRST, &lost());
    assert_eq!(bench.looks_up(), (A, SECOND, LOOK_UP_TIME));
    bench.looked(SECOND, &Settled::VALUE, true);
    assert_eq!(bench.ends(), Outcome::Sent);
}

//
#[test]
fn a_look_up_has_three_seconds_of_its_own_beyond_the_deadline() {
    let mut bench = Setup::new(2).call("eth_call");
    bench.send_raw(verified(Policy::Failover));
    bench.sends_to(A, FIRST);
    bench.pass(ATTEMPT);
    bench.settle(FIRST, &timeout());
    bench.sends_to(B, SECOND);
    bench.pass(DEADLINE - ATTEMPT);
    let (_, attempt, timeout) = bench.looks_up();
    assert_eq!(timeout, LOOK_UP_TIME);
    assert_eq!(bench.waits(), LOOK_UP_TIME);
    bench.pass(LOOK_UP_TIME);
    assert_eq!(bench.ends(), Outcome::Ambiguous(None));
    // What comes afterwards changes nothing.
    bench.looked(attempt, &Settled::VALUE, true);
    assert_eq!(bench.ends(), Outcome::Ambiguous(None));
}

// the answer that was given up comes after all.
#[test]
fn an_answer_that_comes_during_the_look_up_counts() {
    let mut bench = Setup::new(1).call("eth_call");
    bench.send_raw(verified(Policy::Once));
    bench.sends_to(A, FIRST);
    bench.pass(DEADLINE);
    let (_, attempt, _) = bench.looks_up();
    bench.accepts(FIRST);
    assert_eq!(bench.ends(), Outcome::Answered(FIRST));
    let left = bench.machine.leftovers();
    let left: Vec<_> = left.iter().map(|(t, l)| (t.attempt(), *l)).collect();
    assert_eq!(left, [(attempt, Leftover::Cancel)]);
}

//
#[test]
fn nobody_is_looked_up_whose_chain_is_not_proven() {
    let mut bench = Setup::new(2).unchecked().call("eth_call");
    bench.send_raw(verified(Policy::Once));
    assert_eq!(bench.checks(), A);
    bench.passes(A);
    bench.machine.on_check(A, None);
    bench.sends_to(A, FIRST);
    assert_eq!(bench.warms(), B);
    bench.settle(FIRST, &timeout());
    assert_eq!(bench.checks(), B);
    bench.fails_check(B, Class::Timeout, None);
    assert_eq!(bench.looks_up().0, A);
}

// nothing was sent, so nothing is open.
#[test]
fn a_check_that_fails_before_a_send_is_a_plain_failure() {
    let mut bench = Setup::new(1).unchecked().call("eth_call");
    bench.send_raw(verified(Policy::Failover));
    assert_eq!(bench.checks(), A);
    bench.fails_check(A, Class::Timeout, None);
    assert_eq!(bench.ends(), Outcome::Failed(None));
    assert!(!bench.machine.may_have_sent());
}

//
#[test]
fn the_deadline_under_a_send_is_ambiguous_and_before_it_is_not() {
    let mut bench = Setup::new(2).call("eth_call");
    bench.send_raw(write(Policy::Failover));
    bench.sends_to(A, FIRST);
    bench.pass(DEADLINE);
    assert_eq!(bench.ends(), Outcome::Ambiguous(None));
    assert_eq!(bench.classes(), [(A, Some(FIRST), Class::Timeout)]);
    let left = bench.machine.leftovers();
    assert_eq!(left[0].1, Leftover::Finish);
    let mut bench = Setup::new(1).unchecked().call("eth_call");
    bench.send_raw(write(Policy::Failover));
    assert_eq!(bench.checks(), A);
    bench.pass(DEADLINE);
    assert_eq!(bench.ends(), Outcome::DeadlineExceeded);
}

// everybody once; further rounds only of what nobody has.
#[test]
fn no_endpoint_gets_a_transaction_again_that_somebody_may_have() {
    let endless = |s: &mut Settings| s.retry.count = RetryCount::Deadline;
    let mut bench = Setup::new(2).set(endless).call("eth_call");
    bench.send_raw(write(Policy::Failover));
    bench.asks(A, FIRST, &lost());
    bench.asks(B, SECOND, &unsent());
    assert_eq!(bench.ends(), Outcome::Ambiguous(None));
    let mut bench = Setup::new(2).set(endless).call("eth_call");
    bench.send_raw(write(Policy::Once));
    bench.asks(A, FIRST, &unsent());
    bench.asks(B, SECOND, &unsent());
    bench.waits_between(millis(50), millis(100));
    bench.sends();
}

// R-35, scenario W04, scenario W05, scenario W07
#[test]
fn a_verdict_at_first_comes_as_it_is() {
    for verdict in [nonce_too_low(), terminal(Class::TxRejected)] {
        for policy in [Policy::Once, Policy::Failover] {
            let mut bench = Setup::new(2).call("eth_call");
            bench.send_raw(verified(policy));
            bench.asks(A, FIRST, &verdict);
            assert_eq!(bench.ends(), Outcome::Answered(FIRST));
        }
    }
}

// scenario W06
#[test]
fn w06_a_send_is_neither_raced_nor_hedged() {
    let hedge = |s: &mut Settings| s.hedge = Some(Default::default());
    let mut bench = Setup::new(3).race(3).set(hedge).call("eth_call");
    bench.send_raw(write(Policy::Failover));
    bench.sends_to(A, FIRST);
    assert_eq!(bench.waits(), DEADLINE);
    assert_eq!(bench.in_flight(), [1, 0, 0]);
}

// R-1, scenario W10
#[test]
fn w10_a_private_send_meets_private_endpoints_only_and_so_does_its_look_up() {
    let mut bench = Setup::new(4)
        .profile(B, |profile| profile.private = true)
        .profile(D, |profile| profile.private = true)
        .call("eth_call");
    let private = |plan: &mut Plan| plan.privacy = Privacy::Private;
    bench.send_with(verified(Policy::Failover), private);
    bench.asks(B, FIRST, &unsent());
    bench.asks(D, SECOND, &lost());
    let (endpoint, attempt, _) = bench.looks_up();
    assert_eq!(endpoint, B);
    bench.looked(attempt, &unsent(), false);
    assert_eq!(bench.looks_up().0, D);
    for method in [
        "eth_sendPrivateTransaction",
        "eth_sendBundle",
        "mev_simBundle",
    ] {
        bench.next(method);
        assert!([B, D].contains(&bench.sends().0), "{method}");
        let mut open = Setup::new(2).call(method);
        assert_eq!(open.ends(), Outcome::NoEndpoint, "{method}");
    }
}

//
#[test]
fn a_public_send_leaves_private_endpoints_alone_while_there_are_others() {
    let mut bench = Setup::new(2)
        .profile(A, |profile| profile.private = true)
        .call("eth_call");
    let public = |plan: &mut Plan| plan.privacy = Privacy::Public;
    bench.send_with(write(Policy::Failover), public);
    bench.asks(B, FIRST, &lost());
    assert_eq!(bench.ends(), Outcome::Ambiguous(None));
    let mut alone = Setup::new(1)
        .profile(A, |profile| profile.private = true)
        .call("eth_call");
    alone.send_with(write(Policy::Failover), public);
    alone.sends_to(A, FIRST);
}

// semantics W5, W15
#[test]
fn w15_whoever_saw_the_transaction_is_asked_first_and_nobody_beside_it() {
    let hedge = |s: &mut Settings| s.hedge = Some(Default::default());
    let mut bench = Setup::new(3)
        .race(3)
        .set(hedge)
        .checked()
        .tier(C, 1)
        .call("eth_call");
    let mut plan = bench.plan("eth_getTransactionCount");
    plan.prefer = Some([C].into_iter().collect());
    bench.begin(plan);
    bench.sends_to(C, FIRST);
    assert_eq!(bench.waits(), DEADLINE);
    bench.settle(FIRST, &lost());
    bench.sends_to(A, SECOND);
}

// R-35, semantics W12
#[test]
fn a_hash_that_is_not_of_the_bytes_counts_against_its_endpoint() {
    let mut bench = Setup::new(1).call("eth_call");
    for _ in 0..3 {
        bench.send_raw(write(Policy::Once));
        let (_, attempt) = bench.sends();
        bench.says(attempt, Echo::Other);
        assert_eq!(bench.ends(), Outcome::Sent);
    }
    assert!(bench.out(A, SEND, "[]").is_some());
}

// the caller leaves.
#[test]
fn a_send_that_is_given_up_stops_counting() {
    let mut bench = Setup::new(1).call("eth_call");
    bench.send_raw(verified(Policy::Once));
    bench.asks(A, FIRST, &lost());
    bench.looks_up();
    assert_eq!(bench.in_flight(), [1]);
    let now = bench.now();
    bench.machine.abandon(&mut bench.router, now);
    assert_eq!(bench.in_flight(), [0]);
}

/// Sends to this endpoint alone that time out, until its lane for submissions is open.
fn opens_the_lane(bench: &mut Bench, endpoint: EndpointId) {
    for _ in 0..3 {
        bench.send_with(write(Policy::Once), |plan| plan.only = Some(endpoint));
        bench.sends_to(endpoint, FIRST);
        bench.settle(FIRST, &timeout());
    }
}

// no submission is idempotent, and yet its lane must close again.
#[test]
fn a_lane_for_submissions_is_tried_where_nobody_else_can_take_one() {
    let mut bench = Setup::new(2).call("eth_call");
    opens_the_lane(&mut bench, A);
    bench.send_raw(write(Policy::Once));
    bench.sends_to(B, FIRST);
    bench.accepts(FIRST);
    bench.pass(seconds(30));
    // It may be tried, but not at the cost of a transaction that another can take.
    bench.send_raw(write(Policy::Once));
    bench.asks(B, FIRST, &unsent());
    bench.sends_to(A, SECOND);
    bench.accepts(SECOND);
    assert_eq!(bench.ends(), Outcome::Answered(SECOND));
    assert_eq!(bench.out(A, SEND, "[]"), None);
}
