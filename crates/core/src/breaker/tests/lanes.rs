//! Lanes, the endpoint, one method.

use super::*;

// R-20 and lesson 15: verdicts on transactions must not close the way for reads.
#[test]
fn opens_one_lane_and_leaves_the_others_alone() {
    let mut case = Case::new();
    for _ in 0..3 {
        case.fails_in(Lane::Write, STRIKE);
    }
    assert!(matches!(case.stand_in(Lane::Write), Stand::Open { .. }));
    for lane in [Lane::Light, Lane::State, Lane::Range, Lane::Trace] {
        assert_eq!(case.stand_in(lane), Stand::Closed { share: 1.0 });
    }
    case.pass(secs(5));
    let trial = case.send_in(Lane::Write);
    assert!(trial.is_trial());
    assert!(!case.send_in(Lane::State).is_trial());
    assert_eq!(
        case.good(trial)[..],
        [Change::Restored {
            lane: Some(Lane::Write)
        }]
    );
}

//
#[test]
fn counts_faults_of_a_lane_in_that_lane_only() {
    let mut case = Case::new();
    for lane in [Lane::Light, Lane::State, Lane::Range, Lane::Trace] {
        case.fails_in(lane, STRIKE);
        case.fails_in(lane, STRIKE);
    }
    assert!(case.is_closed());
    assert_eq!(case.circuit.view(case.now).endpoint.strikes, 0);
}

//
#[test]
fn counts_connection_faults_in_all_lanes() {
    let mut case = Case::new();
    case.fails_in(Lane::Light, CONNECT);
    case.fails_in(Lane::Trace, CONNECT);
    let changes = case.fails_in(Lane::Write, CONNECT);
    assert!(matches!(changes[..], [Change::Ejected { lane: None, .. }]));
    for lane in [Lane::Light, Lane::State, Lane::Stream] {
        assert!(matches!(case.stand_in(lane), Stand::Open { .. }));
    }
}

//
#[test]
fn adds_the_faults_of_the_endpoint_to_those_of_a_lane() {
    let mut case = Case::new();
    case.fails_in(Lane::Range, STRIKE);
    case.fails_in(Lane::Trace, STRIKE);
    case.fails_in(Lane::Light, CONNECT);
    let changes = case.fails_in(Lane::State, CONNECT);
    // Two of the endpoint and one of their own: both, and nobody else.
    let lanes = changes.iter().map(|change| match change {
        Change::Ejected { lane, .. } => *lane,
        Change::Restored { .. } | Change::Excluded { .. } | Change::MethodOff(_) => None,
    });
    assert_eq!(
        lanes.collect::<Vec<_>>(),
        [Some(Lane::Range), Some(Lane::Trace)]
    );
    assert!(case.is_closed());
}

//
#[test]
fn lets_an_answer_in_any_lane_clear_the_faults_of_the_endpoint() {
    let mut case = Case::new();
    case.fails_in(Lane::Light, CONNECT);
    case.fails_in(Lane::Light, CONNECT);
    let fine = case.send_in(Lane::Trace);
    case.good(fine);
    case.fails_in(Lane::State, CONNECT);
    assert!(case.is_closed());
}

//
#[test]
fn admits_one_trial_where_the_endpoint_and_a_lane_are_both_half_open() {
    let mut case = Case::new();
    for _ in 0..3 {
        case.fails_in(Lane::State, STRIKE);
    }
    case.eject_by(Lane::Light);
    case.pass(secs(5));
    let trial = case.send_in(Lane::State);
    assert!(trial.is_trial());
    for lane in [Lane::Light, Lane::State] {
        assert_eq!(case.stand_in(lane), Stand::Trial);
    }
    assert_eq!(case.good(trial)[..], [Change::Restored { lane: None }]);
    assert!(case.is_closed());
}

//
#[test]
fn stays_out_in_a_lane_that_is_open_for_longer_than_the_endpoint() {
    let mut case = Case::new();
    for _ in 0..3 {
        case.fails(STRIKE);
    }
    case.pass(secs(5));
    case.fails(STRIKE);
    case.eject_by(Lane::Light);
    case.pass(secs(5));
    assert_eq!(case.stand_in(Lane::Light), Stand::HalfOpen);
    assert_eq!(case.left(), Some(secs(5)));
}

// a strike of the endpoint is one in every lane.
#[test]
fn disturbs_the_quiet_of_every_lane_by_a_fault_of_the_endpoint() {
    for (fault, expected) in [(None, secs(5)), (Some(CONNECT), secs(10))] {
        let mut case = Case::new();
        for _ in 0..3 {
            case.fails(STRIKE);
        }
        case.pass(secs(5));
        case.succeeds();
        case.pass(secs(30));
        if let Some(fault) = fault {
            case.fails_in(Lane::Trace, fault);
            let fine = case.send_in(Lane::Trace);
            case.good(fine);
        }
        case.pass(secs(30));
        for _ in 0..3 {
            case.fails(STRIKE);
        }
        assert_eq!(case.left(), Some(expected));
    }
}

//
#[test]
fn turns_one_method_off_for_an_hour_without_a_strike() {
    let mut case = Case::new();
    let until = case.now + secs(3_600);
    let off = MethodOff {
        method: case.method,
        until,
        reason: MethodReason::Unsupported,
    };
    let turn_off = |case: &mut Case| {
        case.circuit
            .method_off(case.method, MethodReason::Unsupported, case.now)
    };
    assert_eq!(turn_off(&mut case), Some(Change::MethodOff(off)));
    assert_eq!(turn_off(&mut case), None);
    assert_eq!(
        case.stand(),
        Stand::MethodOff {
            until,
            reason: MethodReason::Unsupported
        }
    );
    let other = MethodKey::of("eth_getBalance");
    assert_eq!(
        case.circuit.stand(Lane::State, other, case.now),
        Stand::Closed { share: 1.0 }
    );
    case.pass(secs(3_600));
    assert!(case.is_closed());
}

// an endpoint without the method is out even where an ejected one would be asked.
#[test]
fn tells_that_the_method_is_off_before_it_tells_that_it_is_ejected() {
    let mut case = Case::new();
    case.eject();
    case.circuit
        .method_off(case.method, MethodReason::Blocked, case.now);
    assert!(matches!(case.stand(), Stand::MethodOff { .. }));
}

//
#[test]
fn turns_a_method_on_again_when_it_is_answered() {
    let mut case = Case::new();
    let early = case.send();
    case.circuit
        .method_off(case.method, MethodReason::Blocked, case.now);
    case.good(early);
    assert!(matches!(case.stand(), Stand::MethodOff { .. }));
    case.succeeds();
    assert!(case.is_closed());
}

//
#[test]
fn shows_state_streaks_time_left_and_reason() {
    let mut case = Case::new();
    case.fails_in(Lane::Light, CONNECT);
    for _ in 0..2 {
        case.fails(STRIKE);
    }
    case.circuit
        .method_off(case.method, MethodReason::Range, case.now);
    let until = case.now + secs(5);
    case.pass(secs(2));
    let view = case.circuit.view(case.now);
    assert_eq!(
        view.endpoint,
        GateView {
            stand: Stand::Closed { share: 1.0 },
            strikes: 1,
            left: Duration::ZERO
        }
    );
    let gate = |lane| view.lanes.iter().find(|(l, _)| *l == lane).unwrap().1;
    assert_eq!(
        gate(Lane::State),
        GateView {
            stand: Stand::Open {
                until,
                reason: Reason::Failures
            },
            strikes: 3,
            left: secs(3)
        }
    );
    assert_eq!(gate(Lane::Trace).strikes, 1);
    assert_eq!(view.methods.len(), 1);
    assert_eq!(view.methods[0].method.row(), case.method.row());
    assert_eq!(Reason::Failures.name(), "failures");
}

impl Case {
    fn eject_by(&mut self, lane: Lane) {
        for _ in 0..3 {
            self.fails_in(lane, CONNECT);
        }
    }
}
