//! Refused credentials.

use super::*;

const REFUSED: Fault = Fault {
    kind: Kind::Refused,
    ..CONNECT
};

const BARE: Fault = Fault {
    kind: Kind::Bare403,
    ..CONNECT
};

const OUT: Stand = Stand::Excluded {
    reason: Exclusion::Refused,
    trial_at: None,
};

//
#[test]
fn excludes_at_once_and_for_good_where_words_refuse_the_credential() {
    for enabled in [true, false] {
        let mut case = Case::with(BreakerSettings {
            enabled,
            ..BreakerSettings::default()
        });
        let early = case.send();
        assert_eq!(
            case.fails(REFUSED)[..],
            [Change::Excluded {
                reason: Exclusion::Refused,
                trial_at: None
            }]
        );
        assert!(case.good(early).is_empty());
        case.pass(secs(30 * 86_400));
        assert!(!case.send().is_trial());
        assert!(case.succeeds().is_empty());
        assert!(case.fails(CONNECT).is_empty());
        assert_eq!(case.stand(), OUT);
    }
}

//
#[test]
fn excludes_after_three_bare_403_in_a_row_and_cools_down_until_then() {
    let mut case = Case::new();
    case.fails(BARE);
    assert_eq!(case.left(), Some(secs(5)));
    case.pass(secs(5));
    case.fails(BARE);
    assert_eq!(case.left(), Some(secs(10)));
    assert_eq!(case.circuit.view(case.now).bare_403s, 2);
    case.pass(secs(10));
    case.fails(BARE);
    assert_eq!(
        case.stand(),
        Stand::Excluded {
            reason: Exclusion::Forbidden,
            trial_at: None
        }
    );
}

//
#[test]
fn does_not_exclude_where_an_answer_stands_between_bare_403s() {
    let mut case = Case::new();
    for _ in 0..5 {
        case.fails(BARE);
        case.pass(secs(60));
        case.fails(BARE);
        case.pass(secs(60));
        case.succeeds();
    }
    assert!(case.is_closed());
}

// one firewall page for a burst is one refusal.
#[test]
fn counts_the_bare_403s_of_one_burst_once() {
    for enabled in [true, false] {
        let mut case = Case::with(BreakerSettings {
            enabled,
            ..BreakerSettings::default()
        });
        let burst = [case.send(), case.send(), case.send(), case.send()];
        for ticket in burst {
            case.bad(ticket, BARE);
        }
        assert_eq!(case.circuit.view(case.now).bare_403s, 1);
        assert_eq!(case.left(), enabled.then_some(secs(5)));
    }
}

fn with_trials() -> Case {
    Case::with(BreakerSettings {
        exclusion_trial: Some(EXCLUSION_TRIALS),
        ..BreakerSettings::default()
    })
}

//
#[test]
fn lets_one_trial_through_after_15_minutes_doubling_to_6_hours() {
    let mut case = with_trials();
    case.fails(REFUSED);
    for minutes in [15, 30, 60, 120, 240, 360, 360] {
        case.pass(secs(minutes * 60) - NANO);
        assert!(matches!(case.stand(), Stand::Excluded { .. }));
        case.pass(NANO);
        assert_eq!(case.stand(), Stand::HalfOpen);
        let trial = case.send();
        assert!(trial.is_trial());
        assert_eq!(case.stand(), Stand::Trial);
        assert_eq!(case.bad(trial, REFUSED).len(), 1);
    }
}

//
#[test]
fn comes_back_when_the_trial_is_answered_and_has_its_chain_checked() {
    let mut case = with_trials();
    case.fails(REFUSED);
    assert!(!case.circuit.take_recheck(case.now));
    case.pass(secs(900));
    assert!(case.circuit.take_recheck(case.now));
    let trial = case.send();
    case.circuit.abandon(&trial);
    assert_eq!(case.stand(), Stand::HalfOpen);
    assert_eq!(case.succeeds()[..], [Change::Restored { lane: None }]);
    assert!(case.is_closed());
    assert!(!case.circuit.take_recheck(case.now));
}
