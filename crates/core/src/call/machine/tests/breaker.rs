//! Circuits as calls meet them (R-14, R-20 to R-24).

use super::*;
use crate::{
    breaker::{EXCLUSION_TRIALS, Reason as Ejection, Stand},
    router::MethodList,
};

fn ejected(bench: &mut Bench, endpoint: EndpointId) -> bool {
    matches!(
        bench.view(endpoint).circuit.endpoint.stand,
        Stand::Open { .. }
    )
}

// R-20
#[test]
fn three_failures_in_a_row_eject_for_five_seconds_and_a_good_answer_starts_anew() {
    let mut bench = Setup::new(2).call("eth_call");
    bench.history(A, 2, Duration::ZERO, &unsent());
    bench.history(A, 1, Duration::ZERO, &terminal(Class::ExecutionRevert));
    bench.history(A, 2, Duration::ZERO, &unsent());
    assert!(!ejected(&mut bench, A));
    bench.history(A, 1, Duration::ZERO, &unsent());
    assert!(ejected(&mut bench, A));
    let eject = Event::Eject {
        endpoint: A,
        lane: None,
        why: Ejection::Failures,
        until: bench.now().mono + seconds(5),
    };
    assert!(bench.events().contains(&eject));
    for _ in 0..5 {
        assert_eq!(bench.one("eth_call", millis(900), &Settled::VALUE), B);
    }
    bench.pass(millis(500));
    assert_eq!(bench.one("eth_call", Duration::ZERO, &Settled::VALUE), A);
    let restore = Event::Restore {
        endpoint: A,
        lane: None,
    };
    assert!(bench.events().contains(&restore));
}

// R-20: one trial at a time, and it counts as ejected meanwhile
#[test]
fn a_half_open_endpoint_gets_one_call_that_may_be_repeated() {
    let mut bench = Setup::new(2).call("eth_call");
    bench.history(A, 3, Duration::ZERO, &unsent());
    bench.pass(seconds(5));
    bench.next("eth_sendRawTransaction");
    bench.sends_to(B, FIRST);
    bench.next("eth_call");
    bench.sends_to(A, FIRST);
    let mut trial = bench.beside("eth_call");
    bench.swap(&mut trial);
    for method in ["eth_call", "eth_call", "eth_sendRawTransaction"] {
        assert_eq!(bench.one(method, Duration::ZERO, &Settled::VALUE), B);
    }
    // Where it fails: out again, for longer.
    let mut bench = Setup::new(2).call("eth_call");
    bench.history(A, 3, Duration::ZERO, &unsent());
    bench.pass(seconds(5));
    bench.next("eth_call");
    bench.asks(A, FIRST, &unsent());
    bench.asks(B, SECOND, &Settled::VALUE);
    let until = bench.now().mono + seconds(10);
    let Stand::Open { until: found, .. } = bench.view(A).circuit.endpoint.stand else {
        panic!("not ejected");
    };
    assert_eq!(found, until);
}

// R-20, P-2: what many wait for is a trial only where nobody in good standing is left
#[test]
fn a_head_that_many_wait_for_goes_to_a_half_open_endpoint_last() {
    let urgent = |bench: &mut Bench| {
        let mut plan = bench.plan("eth_blockNumber");
        plan.urgent = true;
        bench.begin(plan);
    };
    let mut bench = Setup::new(2).call("eth_call");
    bench.history(A, 3, Duration::ZERO, &unsent());
    bench.pass(seconds(5));
    urgent(&mut bench);
    bench.asks(B, FIRST, &unsent());
    bench.asks(A, SECOND, &Settled::VALUE);
    // Whoever may not be asked is nobody.
    let denied = MethodList::new(vec![], vec!["eth_blockNumber".to_owned()]);
    let mut bench = Setup::new(3)
        .profile(C, |profile| profile.methods = denied)
        .call("eth_call");
    bench.history(A, 3, Duration::ZERO, &unsent());
    bench.pass(seconds(5));
    urgent(&mut bench);
    bench.asks(B, FIRST, &unsent());
    bench.asks(A, SECOND, &Settled::VALUE);
    // Nobody else is there.
    let mut bench = Setup::new(1).call("eth_call");
    bench.history(A, 3, Duration::ZERO, &unsent());
    bench.pass(seconds(5));
    urgent(&mut bench);
    bench.asks(A, FIRST, &Settled::VALUE);
}

// R-20, R-8: a trial that its caller gives up leaves the place to the next
#[test]
fn an_abandoned_trial_is_free_again() {
    let mut bench = Setup::new(2).call("eth_call");
    bench.history(A, 3, Duration::ZERO, &unsent());
    bench.pass(seconds(5));
    bench.next("eth_call");
    bench.sends_to(A, FIRST);
    let now = bench.now();
    bench.machine.abandon(&mut bench.router, now);
    bench.next("eth_call");
    bench.sends_to(A, FIRST);
}

// R-20, R-31: a pool of one that takes only sends comes back all the same
#[test]
fn a_send_goes_to_a_half_open_endpoint_where_there_is_no_other() {
    let mut bench = Setup::new(1).call("eth_sendRawTransaction");
    bench.history(A, 3, Duration::ZERO, &unsent());
    bench.pass(seconds(5));
    bench.next("eth_sendRawTransaction");
    bench.asks(A, FIRST, &Settled::VALUE);
    assert!(matches!(
        bench.view(A).circuit.endpoint.stand,
        Stand::Closed { .. }
    ));
}

// R-20: after closing the share grows over one probe interval
#[test]
fn a_closed_circuit_gets_a_growing_share_of_the_calls() {
    let mut bench = Setup::new(2)
        .set(|s| s.strategy = Strategy::Random)
        .call("eth_call");
    bench.history(A, 3, Duration::ZERO, &unsent());
    bench.pass(seconds(5));
    bench.next("eth_call");
    bench.asks(A, FIRST, &Settled::VALUE);
    for (quarter, least, most) in [(1, 75, 175), (2, 190, 310), (4, 400, 600)] {
        bench.passed = seconds(5) + seconds(quarter);
        let calls = (0..1000).map(|_| bench.one("eth_call", Duration::ZERO, &Settled::VALUE));
        let to_a = calls.filter(|endpoint| *endpoint == A).count();
        assert!((least..=most).contains(&to_a), "after {quarter} s: {to_a}");
    }
    // The share is a preference: alone it gets all.
    let mut bench = Setup::new(1).call("eth_call");
    bench.history(A, 3, Duration::ZERO, &unsent());
    bench.pass(seconds(5));
    bench.one("eth_call", Duration::ZERO, &Settled::VALUE);
    bench.one("eth_call", Duration::ZERO, &Settled::VALUE);
}

// R-20, lessons B15: failures of one kind of method leave the others alone
#[test]
fn a_lane_that_fails_leaves_the_others_alone() {
    let mut bench = Setup::new(2).call("eth_call");
    bench.history(A, 3, Duration::ZERO, &own_error(Class::Internal));
    assert_eq!(bench.out(A, "eth_call", ""), Some(Why::Ejected));
    for method in ["eth_getLogs", "eth_sendRawTransaction", "eth_blockNumber"] {
        assert_eq!(bench.out(A, method, ""), None, "{method}");
    }
    // Connections and limits are the whole endpoint's.
    for failure in [unsent(), own_error(Class::RateLimited)] {
        let mut bench = Setup::new(2).call("eth_call");
        bench.history(A, 3, Duration::ZERO, &failure);
        assert_eq!(bench.out(A, "eth_getLogs", ""), Some(Why::Ejected));
    }
}

// R-20: where the share of failures counts too
#[test]
fn half_of_twenty_answers_in_ten_seconds_eject_in_a_gateway() {
    for (gateway, out) in [(true, true), (false, false)] {
        let setup = if gateway {
            Setup::gateway(2)
        } else {
            Setup::new(2)
        };
        let mut bench = setup.call("eth_call");
        for _ in 0..10 {
            bench.history(A, 1, Duration::ZERO, &Settled::VALUE);
            bench.history(A, 1, Duration::ZERO, &lost());
        }
        bench.next("eth_call");
        let (endpoint, _) = bench.sends();
        assert_eq!(endpoint == B, out);
    }
}

// R-20
#[test]
fn nothing_is_ejected_where_breakers_are_off() {
    let mut bench = Setup::new(1)
        .set(|s| s.breaker.enabled = false)
        .call("eth_call");
    bench.history(A, 20, Duration::ZERO, &unsent());
    bench.history(
        A,
        1,
        Duration::ZERO,
        &own_error_with_wait(Class::RateLimited, seconds(60)),
    );
    assert!(!ejected(&mut bench, A));
}

// R-21, scenario X12
#[test]
fn a_stated_wait_ejects_at_once_for_that_time_and_a_minute_at_most() {
    for (stated, out) in [(7, 7), (60, 60), (600, 60)] {
        let mut bench = Setup::new(2).call("eth_call");
        bench.asks(
            A,
            FIRST,
            &own_error_with_wait(Class::RateLimited, seconds(stated)),
        );
        bench.asks(B, SECOND, &Settled::VALUE);
        assert_eq!(bench.ends(), Outcome::Answered(SECOND));
        bench.pass(seconds(out) - millis(1));
        assert_eq!(bench.one("eth_call", Duration::ZERO, &Settled::VALUE), B);
        bench.pass(millis(1));
        assert_eq!(bench.one("eth_call", Duration::ZERO, &Settled::VALUE), A);
    }
}

// R-22: an answer to a request from before the ejection teaches the books alone
#[test]
fn a_late_good_answer_does_not_end_an_ejection() {
    let mut bench = Setup::new(2).call("eth_call");
    let mut early = bench.beside("eth_call");
    bench.swap(&mut early);
    bench.sends_to(A, FIRST);
    bench.swap(&mut early);
    bench.history(A, 3, Duration::ZERO, &unsent());
    bench.pass(millis(40));
    bench.swap(&mut early);
    bench.settle(FIRST, &Settled::VALUE);
    assert_eq!(bench.ends(), Outcome::Answered(FIRST));
    assert!(ejected(&mut bench, A));
    assert_eq!(bench.view(A).latency_ms, Some(40.0));
}

// R-23
#[test]
fn a_refusal_in_words_excludes_until_a_reload() {
    let mut bench = Setup::new(2).call("eth_call");
    bench.asks(A, FIRST, &own_error(Class::Unauthorized));
    bench.asks(B, SECOND, &Settled::VALUE);
    for _ in 0..20 {
        bench.pass(seconds(3600));
        assert_eq!(bench.one("eth_call", Duration::ZERO, &Settled::VALUE), B);
    }
    // Where everybody is, a call fails at once and says why.
    bench.history(B, 1, Duration::ZERO, &own_error(Class::Unauthorized));
    bench.next("eth_call");
    assert_eq!(bench.ends(), Outcome::NoEndpoint);
    let refused = [
        (A, None, Class::Unauthorized),
        (B, None, Class::Unauthorized),
    ];
    assert_eq!(bench.classes(), refused);
}

// R-23: by option, one trial after a quarter of an hour
#[test]
fn an_excluded_endpoint_is_tried_again_where_trials_are_on() {
    let mut bench = Setup::new(2)
        .checked()
        .set(|s| s.breaker.exclusion_trial = Some(EXCLUSION_TRIALS))
        .call("eth_call");
    bench.asks(A, FIRST, &own_error(Class::Unauthorized));
    bench.pass(seconds(15 * 60) - millis(1));
    assert_eq!(bench.one("eth_call", Duration::ZERO, &Settled::VALUE), B);
    bench.pass(millis(1));
    // It was out for long: its chain goes first (R-19).
    bench.next("eth_call");
    bench.sends_to(B, FIRST);
    assert_eq!(bench.warms(), A);
    bench.passes(A);
    assert_eq!(bench.one("eth_call", Duration::ZERO, &Settled::VALUE), A);
    assert_eq!(bench.one("eth_call", Duration::ZERO, &Settled::VALUE), B);
}

// R-24, R-14, scenario X15's other side
#[test]
fn a_method_that_is_missing_is_off_there_and_the_endpoint_keeps_the_rest() {
    let mut bench = Setup::new(2).call("eth_call");
    for class in [Class::MethodUnsupported, Class::MethodBlocked] {
        bench.next("debug_traceCall");
        let (endpoint, _) = bench.sends();
        bench.settle(FIRST, &own_error(class));
        assert_eq!(
            endpoint,
            if class == Class::MethodUnsupported {
                A
            } else {
                B
            }
        );
        if endpoint == A {
            bench.asks(B, SECOND, &Settled::VALUE);
        }
    }
    // Nobody has it: it fails at once and names both.
    bench.next("debug_traceCall");
    assert_eq!(bench.ends(), Outcome::NoEndpoint);
    let off = [
        (A, None, Class::MethodUnsupported),
        (B, None, Class::MethodUnsupported),
    ];
    assert_eq!(bench.classes(), off);
    assert_eq!(bench.out(A, "eth_call", ""), None);
    assert_eq!(bench.view(A).circuit.endpoint.strikes, 0);
    // For an hour.
    bench.pass(seconds(3600));
    bench.next("debug_traceCall");
    bench.sends();
}

// R-24, R-37, scenario P15: a tag or a form that is not known is not the method
#[test]
fn an_unknown_tag_is_remembered_for_that_tag_alone() {
    let refused = |word| failure(Class::MethodUnsupported, Some(word), Delivery::Answered);
    let finalized = r#"["finalized",false]"#;
    let mut bench = Setup::new(2).call("eth_call");
    bench.next_with("eth_getBlockByNumber", finalized);
    bench.asks(A, FIRST, &refused("block_tag"));
    bench.asks(B, SECOND, &Settled::VALUE);
    bench.next_with("eth_getBlockByNumber", finalized);
    bench.asks(B, FIRST, &Settled::VALUE);
    assert_eq!(
        bench.out(A, "eth_getBlockByNumber", finalized),
        Some(Why::DoesNotKeep)
    );
    let view = bench.view(A);
    assert_eq!(
        (view.circuit.endpoint.strikes, view.circuit.methods.len()),
        (0, 0)
    );
    for params in [
        r#"["latest",false]"#,
        r#"["safe",false]"#,
        r#"["0x1",false]"#,
    ] {
        assert_eq!(bench.out(A, "eth_getBlockByNumber", params), None);
    }
    // Nobody else is there: it is asked all the same.
    let mut bench = Setup::new(1).call("eth_call");
    for _ in 0..2 {
        bench.next_with("eth_getBlockByNumber", finalized);
        bench.asks(A, FIRST, &refused("block_tag"));
    }
    // A form that cannot be described is only put last for a while.
    let mut bench = Setup::new(2).call("eth_call");
    bench.asks(A, FIRST, &refused("param_form"));
    bench.asks(B, SECOND, &Settled::VALUE);
    bench.next("eth_call");
    bench.asks(B, FIRST, &unsent());
    bench.sends_to(A, SECOND);
    bench.pass(seconds(61));
    assert_eq!(bench.out(A, "eth_call", ""), None);
}
