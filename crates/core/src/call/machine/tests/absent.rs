//! Null that says "not here", and answers from below the block that was asked for
//! (R-37, semantics §4.3 and §7 rows 1, 2 and 14).

use super::*;

const RECEIPT: &str = "eth_getTransactionReceipt";

fn null() -> Settled {
    result(Content::Null)
}

fn with_heads(setup: Setup, method: &str, heads: &[(EndpointId, u64)]) -> Bench {
    let mut bench = setup.call(method);
    for (endpoint, height) in heads {
        bench.head(*endpoint, *height);
    }
    bench.next(method);
    bench
}

// R-37, scenario M01
#[test]
fn a_null_of_one_is_not_the_answer_while_another_may_have_it() {
    let mut bench = with_heads(Setup::new(2), RECEIPT, &[(A, 100), (B, 101)]);
    bench.asks(A, FIRST, &null());
    bench.asks(B, SECOND, &Settled::VALUE);
    assert_eq!(bench.ends(), Outcome::Answered(SECOND));
}

// R-37, scenario M02
#[test]
fn a_null_that_another_confirms_is_the_answer_for_two_requests() {
    let mut bench = with_heads(Setup::new(3), RECEIPT, &[(A, 101), (B, 101), (C, 101)]);
    bench.asks(A, FIRST, &null());
    bench.asks(B, SECOND, &null());
    assert_eq!(bench.ends(), Outcome::Answered(FIRST));
    assert_eq!(bench.machine.attempts(), 2);
    // Without any head too.
    let mut bench = Setup::new(3).set(|s| s.heads = None).call(RECEIPT);
    bench.asks(A, FIRST, &null());
    bench.asks(B, SECOND, &null());
    assert_eq!(bench.ends(), Outcome::Answered(FIRST));
}

// R-37: a holder's word is enough where nobody else can be asked, and needs nothing costly
#[test]
fn a_holders_null_needs_no_other_where_there_is_none_at_hand() {
    let mut bench = with_heads(Setup::new(1), RECEIPT, &[(A, 101)]);
    bench.asks(A, FIRST, &null());
    assert_eq!(bench.ends(), Outcome::Answered(FIRST));
    for hindrance in 0..4 {
        let setup = match hindrance {
            0 => Setup::new(2).tier(B, 1),
            1 => Setup::new(2).budget(B, 0.001, 1.0),
            _ => Setup::new(2),
        };
        let mut bench = with_heads(setup, RECEIPT, &[(A, 101), (B, 101)]);
        match hindrance {
            1 | 2 => bench.history(B, 1, Duration::ZERO, &lost()),
            3 => bench.history(B, 3, Duration::ZERO, &unsent()),
            _ => {}
        }
        bench.next(RECEIPT);
        bench.asks(A, FIRST, &null());
        assert_eq!(bench.ends(), Outcome::Answered(FIRST), "{hindrance}");
    }
}

// R-37: the one extra request goes to a holder
#[test]
fn whoever_is_below_the_reference_is_not_asked_to_confirm() {
    let heads = [(A, 101), (B, 90), (C, 101)];
    let mut bench = with_heads(Setup::new(3), RECEIPT, &heads);
    bench.asks(A, FIRST, &null());
    bench.asks(C, SECOND, &null());
    assert_eq!(bench.ends(), Outcome::Answered(FIRST));
    let mut bench = with_heads(Setup::new(3), RECEIPT, &heads);
    bench.history(C, 3, Duration::ZERO, &unsent());
    bench.next(RECEIPT);
    bench.asks(A, FIRST, &null());
    assert_eq!(bench.ends(), Outcome::Answered(FIRST));
}

// R-37: whoever says null from below is behind, and others are asked
#[test]
fn two_nulls_from_below_are_not_the_end() {
    let heads = [(A, 90), (B, 101), (C, 101), (D, 101)];
    let mut bench = with_heads(Setup::new(4), RECEIPT, &heads);
    bench.asks(A, FIRST, &null());
    bench.sends_to(B, SECOND);
    for endpoint in [C, D] {
        bench.head(endpoint, 102);
    }
    bench.settle(SECOND, &null());
    bench.asks(C, THIRD, &Settled::VALUE);
    assert_eq!(bench.ends(), Outcome::Answered(THIRD));
}

// R-37
#[test]
fn a_null_that_no_holder_said_is_never_the_answer() {
    let heads = [(A, 90), (B, 101), (C, 101)];
    // A holder is asked.
    let mut bench = with_heads(Setup::new(3).tier(B, 1).tier(C, 1), RECEIPT, &heads);
    bench.asks(A, FIRST, &null());
    bench.asks(B, SECOND, &null());
    assert_eq!(bench.ends(), Outcome::Answered(SECOND));
    // Nobody who holds it can be asked: the one may have caught up in the next round, else it is an
    // error.
    let mut bench = with_heads(Setup::new(3), RECEIPT, &heads);
    for endpoint in [B, C] {
        bench.history(endpoint, 3, Duration::ZERO, &unsent());
    }
    bench.next(RECEIPT);
    bench.asks(A, FIRST, &null());
    bench.waits_between(millis(50), millis(100));
    bench.asks(A, SECOND, &null());
    bench.waits_between(millis(100), millis(200));
    bench.asks(A, THIRD, &null());
    assert_eq!(bench.ends(), Outcome::Failed(None));
    assert_eq!(bench.classes()[0], (A, Some(FIRST), Class::Behind));
    // The holder fails: still an error.
    let setup = Setup::new(2).set(|s| s.retry.count = RetryCount::Times(0));
    let mut bench = with_heads(setup, RECEIPT, &[(A, 90), (B, 101)]);
    bench.head(A, 90);
    bench.pass(seconds(6));
    bench.head(B, 107);
    bench.head(A, 90);
    bench.next(RECEIPT);
    bench.asks(A, FIRST, &null());
    bench.asks(B, SECOND, &lost());
    assert_eq!(bench.ends(), Outcome::Failed(None));
    assert_eq!(bench.machine.attempts(), 2);
}

// R-37: an endpoint whose head nobody knows is no holder while others are known
#[test]
fn an_unknown_head_is_no_holders() {
    let mut bench = with_heads(Setup::new(2), RECEIPT, &[(B, 101)]);
    bench.asks(A, FIRST, &null());
    bench.asks(B, SECOND, &null());
    assert_eq!(bench.ends(), Outcome::Answered(SECOND));
}

// R-37
#[test]
fn costs_at_most_one_request_more() {
    let setup = Setup::new(4).set(|s| s.heads = None);
    let mut bench = setup.clone().call(RECEIPT);
    bench.asks(A, FIRST, &lost());
    bench.asks(B, SECOND, &null());
    assert_eq!(bench.ends(), Outcome::Answered(SECOND));
    let mut bench = setup.call(RECEIPT);
    bench.asks(A, FIRST, &null());
    bench.asks(B, SECOND, &lost());
    assert_eq!(bench.ends(), Outcome::Answered(FIRST));
}

// R-33: terminal, then a believed null, then the other errors
#[test]
fn a_believed_null_comes_before_errors_and_after_the_chains_answer() {
    let setup = Setup::new(2).set(|s| s.heads = None);
    let mut bench = setup.clone().call(RECEIPT);
    bench.asks(A, FIRST, &null());
    bench.asks(B, SECOND, &own_error(Class::MissingHistory));
    assert_eq!(bench.ends(), Outcome::Answered(FIRST));
    let mut bench = setup.clone().call(RECEIPT);
    bench.asks(A, FIRST, &null());
    bench.asks(B, SECOND, &terminal(Class::InvalidParams));
    assert_eq!(bench.ends(), Outcome::Answered(SECOND));
    let mut bench = setup.call(RECEIPT);
    bench.asks(A, FIRST, &null());
    bench.sends_to(B, SECOND);
    bench.pass(DEADLINE);
    assert_eq!(bench.ends(), Outcome::Answered(FIRST));
}

// R-37, R-41, scenarios M03 and M04
#[test]
fn does_not_win_a_race_and_is_the_answer_when_all_say_so() {
    let heads = [(A, 101), (B, 101), (C, 101)];
    let setup = Setup::new(3).race(2);
    let mut bench = with_heads(setup.clone(), "eth_getTransactionByHash", &heads);
    bench.sends_to(A, FIRST);
    bench.sends_to(B, SECOND);
    bench.settle(FIRST, &null());
    bench.waits();
    bench.settle(SECOND, &Settled::VALUE);
    assert_eq!(bench.ends(), Outcome::Answered(SECOND));
    let mut bench = with_heads(setup, "eth_getTransactionByHash", &heads);
    bench.sends_to(A, FIRST);
    bench.sends_to(B, SECOND);
    bench.settle(FIRST, &null());
    bench.waits();
    bench.settle(SECOND, &null());
    assert_eq!(bench.ends(), Outcome::Answered(FIRST));
    assert_eq!(bench.machine.attempts(), 2);
}

// R-41, R-37
#[test]
fn a_null_is_held_while_a_hedge_runs() {
    let setup = Setup::new(2).set(|s| s.hedge = Some(Default::default()));
    let mut bench = with_heads(setup, RECEIPT, &[(A, 101), (B, 101)]);
    bench.sends_to(A, FIRST);
    let wait = bench.waits();
    bench.pass(wait);
    bench.sends_to(B, SECOND);
    bench.settle(FIRST, &null());
    bench.waits();
    bench.settle(SECOND, &Settled::VALUE);
    assert_eq!(bench.ends(), Outcome::Answered(SECOND));
}

// R-37, scenario M05
#[test]
fn null_for_a_block_above_every_head_is_passed_on() {
    let mut bench = with_heads(Setup::new(3), RECEIPT, &[(A, 100), (B, 100), (C, 90)]);
    bench.next_with("eth_getBlockByNumber", r#"["0x69",false]"#);
    bench.asks(A, FIRST, &null());
    bench.asks(B, SECOND, &null());
    assert_eq!(bench.ends(), Outcome::Answered(FIRST));
}

// R-37, scenario M06: noted, without a strike
#[test]
fn a_missing_block_is_noted_and_others_are_asked_first_for_a_while() {
    let mut bench = with_heads(Setup::new(2), RECEIPT, &[(A, 100), (B, 100)]);
    bench.next_with("eth_getBlockByNumber", r#"["0x63",false]"#);
    bench.asks(A, FIRST, &null());
    bench.asks(B, SECOND, &Settled::VALUE);
    assert_eq!(bench.ends(), Outcome::Answered(SECOND));
    let view = bench.view(A);
    assert_eq!((view.circuit.endpoint.strikes, view.error), (0, 0.0));
    bench.next_with("eth_getBlockByNumber", r#"["0x63",false]"#);
    bench.asks(B, FIRST, &Settled::VALUE);
    // Of another block nothing is known, nor of this one a minute later.
    for (params, pause, out) in [
        (r#"["0x63",false]"#, 0, Some(Why::DoesNotKeep)),
        (r#"["0x62",false]"#, 0, None),
        (r#"["0x63",false]"#, 60, None),
    ] {
        bench.pass(seconds(pause));
        assert_eq!(bench.out(A, "eth_getBlockByNumber", params), out);
    }
}

// Semantics §7 row 14, scenario M15
#[test]
fn null_is_no_value_of_a_state_read() {
    for method in ["eth_getBalance", "eth_call"] {
        let params = if method == "eth_call" {
            r#"[{"to":"0x1"},"0x64"]"#
        } else {
            r#"["0x1","0x64"]"#
        };
        // A alone, below the block.
        let mut bench = with_heads(Setup::new(1), method, &[(A, 99)]);
        bench.next_with(method, params);
        bench.asks(A, FIRST, &null());
        assert!(!matches!(
            bench.poll(),
            Action::Finish(Outcome::Answered(_))
        ));
        // Nobody knows A's head, and it answers null first.
        let mut bench = with_heads(Setup::new(2).race(2), method, &[(B, 100)]);
        bench.next_with(method, params);
        let (first, _) = bench.sends();
        assert_eq!(first, A, "both may hold it");
        bench.sends_to(B, SECOND);
        bench.settle(FIRST, &null());
        bench.waits();
        bench.settle(SECOND, &Settled::VALUE);
        assert_eq!(bench.ends(), Outcome::Answered(SECOND));
        // Known to be below, it is not asked.
        let mut bench = with_heads(Setup::new(2).race(2), method, &[(A, 99), (B, 100)]);
        bench.next_with(method, params);
        bench.sends_to(B, FIRST);
        bench.waits();
    }
}

// Semantics §4.3, scenarios M07, M08, L01, L14
#[test]
fn what_is_said_of_a_block_from_below_it_is_not_believed() {
    for (method, params, content) in [
        ("eth_call", r#"[{"to":"0x1"},"0x64"]"#, Content::Zero),
        ("eth_call", r#"[{"to":"0x1"},"0x64"]"#, Content::Value),
        ("eth_getBalance", r#"["0x1","0x64"]"#, Content::Zero),
        (
            "eth_getLogs",
            r#"[{"fromBlock":"0x5f","toBlock":"0x64"}]"#,
            Content::EmptyList,
        ),
        (
            "eth_getLogs",
            r#"[{"fromBlock":"0x5f","toBlock":"0x64"}]"#,
            Content::Value,
        ),
        ("eth_getBlockReceipts", r#"["0x64"]"#, Content::EmptyList),
        ("trace_block", r#"["0x64"]"#, Content::Value),
        (
            "eth_getBlockTransactionCountByNumber",
            r#"["0x64"]"#,
            Content::Zero,
        ),
    ] {
        let mut bench = with_heads(Setup::new(2), method, &[(A, 99), (B, 99)]);
        bench.next_with(method, params);
        bench.asks(A, FIRST, &result(content));
        bench.asks(B, SECOND, &result(content));
        let wait = bench.waits();
        bench.pass(wait);
        assert_eq!(
            bench.classes(),
            [
                (A, Some(FIRST), Class::Behind),
                (B, Some(SECOND), Class::Behind)
            ],
            "{method}"
        );
        assert_eq!(bench.view(A).error, 0.0);
        // From a holder the same is the answer.
        let mut bench = with_heads(Setup::new(2), method, &[(A, 100), (B, 99)]);
        bench.next_with(method, params);
        bench.asks(A, FIRST, &result(content));
        assert_eq!(bench.ends(), Outcome::Answered(FIRST), "{method}");
    }
    // A block is its own proof.
    let mut bench = with_heads(Setup::new(2), RECEIPT, &[(A, 99), (B, 99)]);
    bench.next_with("eth_getBlockByNumber", r#"["0x64",false]"#);
    bench.asks(A, FIRST, &Settled::VALUE);
    assert_eq!(bench.ends(), Outcome::Answered(FIRST));
}

// Lessons P1: a block that cannot come in time is not waited for
#[test]
fn what_everybody_says_of_a_block_far_ahead_is_the_truth_at_once() {
    let (next, far) = (r#"["0x1","0x64"]"#, r#"["0x1","0xc8"]"#);
    let behind = own_error(Class::Behind);
    let method = "eth_getBalance";
    for (said, shown) in [(&behind, Some(FIRST)), (&result(Content::Zero), None)] {
        let mut bench = with_heads(Setup::gateway(2), method, &[(A, 99), (B, 99)]);
        bench.next_with(method, far);
        bench.asks(A, FIRST, said);
        bench.asks(B, SECOND, said);
        assert_eq!(bench.ends(), Outcome::Failed(shown));
        // The next block may be there at any moment.
        bench.next_with(method, next);
        bench.asks(A, FIRST, said);
        bench.asks(B, SECOND, said);
        bench.waits_between(millis(50), millis(100));
    }
    // Somebody who may have it failed.
    let mut bench = with_heads(Setup::gateway(2), method, &[(A, 99)]);
    bench.next_with(method, far);
    bench.asks(B, FIRST, &own_error(Class::Internal));
    bench.asks(A, SECOND, &behind);
    bench.waits_between(millis(50), millis(100));
    // Somebody who may have it is out, and comes back while the call may wait.
    let mut bench = with_heads(Setup::gateway(2), method, &[(A, 99)]);
    let pause = own_error_with_wait(Class::RateLimited, seconds(1));
    bench.next_with(method, far);
    bench.asks(B, FIRST, &pause);
    bench.asks(A, SECOND, &behind);
    bench.next_with(method, far);
    bench.asks(A, FIRST, &behind);
    bench.waits_between(millis(50), millis(100));
    // Nobody knows where the chain is.
    let mut bench = Setup::gateway(1).call(method);
    bench.next_with(method, far);
    bench.asks(A, FIRST, &behind);
    bench.waits_between(millis(50), millis(100));
}

// R-37, R-34: whoever may ask one endpoint only takes what comes
#[test]
fn asks_nobody_else_about_a_null_that_came_of_an_action() {
    for method in [
        "no_such_method",
        "eth_sendTransaction",
        "eth_getFilterChanges",
        "pm_something",
        "eth_sendRawTransaction",
    ] {
        let mut bench = Setup::new(2).call(method);
        bench.asks(A, FIRST, &null());
        assert_eq!(bench.ends(), Outcome::Answered(FIRST), "{method}");
    }
}

// R-37, R-8, scenario M18
#[test]
fn a_slow_null_leaves_the_standing_of_its_endpoint_alone() {
    let mut bench = with_heads(Setup::new(2).adaptive(), RECEIPT, &[(A, 101), (B, 101)]);
    bench.history(A, 5, millis(20), &Settled::VALUE);
    bench.history(B, 5, millis(30), &Settled::VALUE);
    let before = bench.view(A);
    for _ in 0..5 {
        bench.next(RECEIPT);
        let (endpoint, _) = bench.sends();
        bench.pass(millis(1500));
        bench.settle(FIRST, &null());
        assert_eq!(endpoint, A);
        bench.asks(B, SECOND, &null());
        assert_eq!(bench.ends(), Outcome::Answered(FIRST));
        assert_eq!(bench.machine.attempts(), 2);
    }
    let after = bench.view(A);
    assert_eq!(
        (before.latency_ms, before.tail_ms),
        (after.latency_ms, after.tail_ms)
    );
    for _ in 0..5 {
        assert_eq!(bench.one("eth_getBalance", millis(20), &Settled::VALUE), A);
    }
}
