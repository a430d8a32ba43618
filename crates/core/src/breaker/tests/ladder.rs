//! Opening, half-open, closing, and how long.

use super::*;

//
#[test]
fn opens_on_the_third_failure_in_a_row_for_five_seconds() {
    let mut case = Case::new();
    assert!(case.fails(STRIKE).is_empty());
    assert!(case.fails(STRIKE).is_empty());
    assert_eq!(case.stand(), Stand::Closed { share: 1.0 });
    let until = case.now + secs(5);
    assert_eq!(
        case.fails(STRIKE)[..],
        [Change::Ejected {
            lane: Some(Lane::State),
            until,
            reason: Reason::Failures,
            out: secs(5),
        }]
    );
    assert_eq!(
        case.stand(),
        Stand::Open {
            until,
            reason: Reason::Failures
        }
    );
}

//
#[test]
fn does_not_open_while_an_answer_stands_between_the_failures() {
    let mut case = Case::new();
    for _ in 0..10 {
        case.fails(STRIKE);
        case.fails(CONNECT);
        assert!(case.succeeds().is_empty());
    }
    assert!(case.is_closed());
}

//
#[test]
fn is_half_open_when_the_cooldown_is_over_and_not_before() {
    let mut case = Case::new();
    case.eject();
    case.pass(secs(5) - NANO);
    assert_eq!(case.left(), Some(NANO));
    case.pass(NANO);
    assert_eq!(case.stand(), Stand::HalfOpen);
}

//
#[test]
fn admits_one_trial_and_counts_as_ejected_while_it_runs() {
    let mut case = Case::new();
    case.eject();
    assert!(!case.send().is_trial());
    case.pass(secs(5));
    let trial = case.send();
    assert!(trial.is_trial());
    assert_eq!(case.stand(), Stand::Trial);
    assert!(!case.send().is_trial());
    assert_eq!(case.good(trial)[..], [Change::Restored { lane: None }]);
    assert_eq!(case.stand(), Stand::Closed { share: 0.0 });
}

//
#[test]
fn lets_another_trial_follow_one_that_was_cancelled() {
    let mut case = Case::new();
    case.eject();
    case.pass(secs(5));
    let trial = case.send();
    case.circuit.abandon(&trial);
    assert_eq!(case.stand(), Stand::HalfOpen);
    let second = case.send();
    assert!(second.is_trial());
    case.circuit.abandon(&trial);
    assert_eq!(case.stand(), Stand::Trial);
}

//
#[test]
fn waits_for_a_lost_trial_no_longer_than_its_lease() {
    let mut case = Case::new();
    case.eject();
    case.pass(secs(5));
    let lost = case.send();
    case.pass(secs(30) - NANO);
    assert_eq!(case.stand(), Stand::Trial);
    case.pass(NANO);
    assert_eq!(case.stand(), Stand::HalfOpen);
    assert!(case.send().is_trial());
    // The lost one turns up: it failed, and the one that runs now decides.
    assert!(case.bad(lost, STRIKE).is_empty());
    assert_eq!(case.stand(), Stand::Trial);
}

//
#[test]
fn opens_for_5_10_20_40_60_and_60_seconds() {
    let mut case = Case::new();
    case.eject();
    let mut seen = vec![case.left().unwrap()];
    for _ in 0..5 {
        case.pass(*seen.last().unwrap());
        case.fails(STRIKE);
        seen.push(case.left().unwrap());
    }
    assert_eq!(seen, [5, 10, 20, 40, 60, 60].map(secs));
}

//
#[test]
fn climbs_on_although_it_closed_in_between() {
    let mut case = Case::new();
    case.eject();
    case.pass(secs(5));
    case.succeeds();
    case.eject();
    assert_eq!(case.left(), Some(secs(10)));
}

//
#[test]
fn begins_the_ladder_again_after_sixty_seconds_closed_without_a_strike() {
    for (quiet, expected) in [(secs(60) - NANO, secs(10)), (secs(60), secs(5))] {
        let mut case = Case::new();
        case.eject();
        case.pass(secs(5));
        case.succeeds();
        case.pass(quiet);
        case.eject();
        assert_eq!(case.left(), Some(expected));
    }
}

//
#[test]
fn counts_the_quiet_time_from_the_last_strike() {
    let mut case = Case::new();
    case.eject();
    case.pass(secs(5));
    case.succeeds();
    case.pass(secs(30));
    case.fails(STRIKE);
    case.succeeds();
    case.pass(secs(59));
    case.eject();
    assert_eq!(case.left(), Some(secs(10)));
}

//
#[test]
fn gives_a_closed_circuit_its_share_back_over_one_probe_interval() {
    let mut case = Case::new();
    case.eject();
    case.pass(secs(5));
    case.succeeds();
    for (passed, share) in [(0, 0.0), (1, 0.25), (3, 0.75), (4, 1.0), (400, 1.0)] {
        let at = case.now + secs(passed);
        assert_eq!(
            case.circuit.stand(Lane::State, case.method, at),
            Stand::Closed { share }
        );
    }
}

//
#[test]
fn opens_at_half_of_twenty_answers_in_ten_seconds() {
    let settings = BreakerSettings {
        failure_rate: Some(FailureRate::default()),
        ..BreakerSettings::default()
    };
    let mut case = Case::with(settings);
    for _ in 0..9 {
        case.succeeds();
        case.fails(STRIKE);
    }
    case.succeeds();
    assert!(case.is_closed());
    assert_eq!(
        case.fails(STRIKE)[..],
        [Change::Ejected {
            lane: Some(Lane::State),
            until: case.now + secs(5),
            reason: Reason::FailureRate,
            out: secs(5),
        }]
    );
    // What opened it once does not open it again.
    case.pass(secs(5));
    case.succeeds();
    case.fails(STRIKE);
    assert!(case.is_closed());
}

// what came before an ejection of the endpoint does not count after it.
#[test]
fn begins_the_share_of_failures_anew_after_the_endpoint_was_out() {
    let mut case = Case::with(BreakerSettings {
        failure_rate: Some(FailureRate::default()),
        ..BreakerSettings::default()
    });
    for _ in 0..9 {
        case.succeeds();
        case.fails(STRIKE);
    }
    case.circuit.drift(case.now);
    case.pass(secs(5));
    case.succeeds();
    case.fails(STRIKE);
    assert!(case.is_closed());
}

//
#[test]
fn does_not_open_below_half_or_outside_the_window() {
    let settings = BreakerSettings {
        failure_rate: Some(FailureRate::default()),
        ..BreakerSettings::default()
    };
    let mut below = Case::with(settings);
    for _ in 0..30 {
        below.succeeds();
        below.succeeds();
        below.fails(STRIKE);
    }
    assert!(below.is_closed());
    let mut slow = Case::with(settings);
    for _ in 0..9 {
        slow.succeeds();
        slow.fails(STRIKE);
    }
    slow.pass(secs(10));
    slow.succeeds();
    slow.fails(STRIKE);
    assert!(slow.is_closed());
}

//
#[test]
fn leaves_the_share_of_failures_alone_unless_it_is_on() {
    let mut case = Case::new();
    for _ in 0..40 {
        case.succeeds();
        case.fails(STRIKE);
        case.fails(STRIKE);
    }
    assert!(case.is_closed());
}

//
#[test]
fn ejects_nothing_where_the_breaker_is_off() {
    let mut case = Case::with(BreakerSettings {
        enabled: false,
        failure_rate: Some(FailureRate::default()),
        ..BreakerSettings::default()
    });
    let faults = [
        Kind::Strike,
        Kind::RateLimited,
        Kind::Quota,
        Kind::Unusable,
        Kind::Wait,
    ];
    for kind in faults.into_iter().cycle().take(50) {
        let fault = Fault {
            scope: Scope::Endpoint,
            kind,
            retry_after: Some(secs(9)),
        };
        assert!(case.fails(fault).is_empty());
        assert!(case.circuit.drift(case.now).is_empty());
    }
    assert_eq!(case.stand(), Stand::Closed { share: 1.0 });
}

//
#[test]
fn closes_on_an_answer_to_a_call_that_was_sent_although_it_was_ejected() {
    let mut case = Case::new();
    case.eject();
    case.pass(secs(1));
    assert_eq!(case.succeeds()[..], [Change::Restored { lane: None }]);
    assert!(case.is_closed());
}

//
#[test]
fn is_neither_closed_nor_opened_longer_by_what_was_sent_before_the_ejection() {
    let mut case = Case::new();
    let early = [case.send(), case.send(), case.send(), case.send()];
    case.eject();
    case.pass(secs(1));
    assert!(case.good(early[0]).is_empty());
    assert!(case.bad(early[1], CONNECT).is_empty());
    assert_eq!(case.left(), Some(secs(4)));
    // Not even after it closed: three late timeouts are no news.
    case.pass(secs(4));
    case.succeeds();
    for ticket in [early[2], early[3], early[3]] {
        assert!(case.bad(ticket, CONNECT).is_empty());
    }
    assert!(case.is_closed());
    case.fails(CONNECT);
    case.fails(CONNECT);
    assert!(case.is_closed());
}

//
#[test]
fn is_not_opened_longer_by_calls_sent_while_it_is_ejected() {
    let mut case = Case::new();
    case.eject();
    for _ in 0..4 {
        case.pass(secs(1));
        assert!(case.fails(CONNECT).is_empty());
    }
    assert_eq!(case.left(), Some(secs(1)));
}

// a chain check that goes before the trial and fails is the endpoint failing.
#[test]
fn opens_longer_when_a_check_fails_while_half_open() {
    let mut case = Case::new();
    case.eject();
    case.pass(secs(5));
    let check = case.circuit.begin_probe();
    assert!(!check.is_trial());
    assert_eq!(case.bad(check, CONNECT).len(), 1);
    assert_eq!(case.left(), Some(secs(10)));
}

//
#[test]
fn is_not_closed_by_a_probe() {
    let mut case = Case::new();
    case.eject();
    for passed in [0, 5, 60] {
        case.pass(secs(passed));
        let probe = case.circuit.begin_probe();
        assert!(case.good(probe).is_empty());
        assert!(!case.is_closed());
    }
}

//
#[test]
fn lets_a_probe_clear_strikes_of_probes_only() {
    let mut probes = Case::new();
    for _ in 0..4 {
        let failed = probes.circuit.begin_probe();
        probes.bad(failed, CONNECT);
        let failed = probes.circuit.begin_probe();
        probes.bad(failed, CONNECT);
        let fine = probes.circuit.begin_probe();
        probes.good(fine);
    }
    assert!(probes.is_closed());

    let mut mixed = Case::new();
    let failed = mixed.circuit.begin_probe();
    mixed.bad(failed, CONNECT);
    mixed.fails(CONNECT);
    let fine = mixed.circuit.begin_probe();
    mixed.good(fine);
    mixed.fails(CONNECT);
    assert_eq!(mixed.left(), Some(secs(5)));
}

//
#[test]
fn counts_failed_checks_toward_the_breaker() {
    let mut case = Case::new();
    for _ in 0..3 {
        let check = case.circuit.begin_probe();
        case.bad(check, CONNECT);
    }
    assert_eq!(case.left(), Some(secs(5)));
}

//
#[test]
fn opens_on_drift_alone_and_closes_on_a_trial() {
    let mut case = Case::new();
    assert_eq!(
        case.circuit.drift(case.now)[..],
        [Change::Ejected {
            lane: None,
            until: case.now + secs(5),
            reason: Reason::Drift,
            out: secs(5),
        }]
    );
    assert!(case.circuit.drift(case.now).is_empty());
    for lane in [Lane::Light, Lane::Write] {
        assert!(matches!(case.stand_in(lane), Stand::Open { .. }));
    }
    case.pass(secs(5));
    assert_eq!(case.succeeds().len(), 1);
    case.circuit.drift(case.now);
    assert_eq!(case.left(), Some(secs(10)));
}

//
#[test]
fn asks_for_the_chain_again_after_sixty_seconds_out() {
    let mut short = Case::new();
    short.eject();
    short.pass(secs(60) - NANO);
    assert!(!short.circuit.take_recheck(short.now));
    short.succeeds();
    assert!(!short.circuit.take_recheck(short.now));

    let mut long = Case::new();
    long.eject();
    long.pass(secs(60));
    assert!(long.circuit.take_recheck(long.now));
    assert!(!long.circuit.take_recheck(long.now));
    long.succeeds();
    assert!(!long.circuit.take_recheck(long.now));
}

//
#[test]
fn asks_for_the_chain_again_where_nobody_asked_before_it_closed() {
    let mut case = Case::new();
    case.eject();
    for length in [5, 10, 20] {
        case.pass(secs(length));
        case.fails(STRIKE);
    }
    // 35 s out, and 40 more to go: not before the cooldown is over.
    case.pass(secs(39));
    assert!(!case.circuit.take_recheck(case.now));
    case.succeeds();
    assert!(case.circuit.take_recheck(case.now));
    assert!(!case.circuit.take_recheck(case.now));
}
