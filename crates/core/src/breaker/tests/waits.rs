//! Stated waits, rate limits, quotas (R-21, R-23, L-6).

use super::*;

const fn waiting(kind: Kind, wait: Duration) -> Fault {
    Fault {
        scope: Scope::Endpoint,
        kind,
        retry_after: Some(wait),
    }
}

//
#[test]
fn ejects_at_once_for_the_stated_time() {
    for kind in [Kind::RateLimited, Kind::Wait, Kind::Strike] {
        let mut case = Case::new();
        let changes = case.fails(waiting(kind, secs(7)));
        assert_eq!(
            changes[..],
            [Change::Ejected {
                lane: None,
                until: case.now + secs(7),
                reason: Reason::Stated,
                out: secs(7),
            }]
        );
        case.pass(secs(7));
        assert_eq!(case.stand_in(Lane::Write), Stand::HalfOpen);
    }
}

//
#[test]
fn obeys_no_more_than_sixty_seconds_and_takes_zero_for_the_default_step() {
    for (stated, obeyed) in [
        (secs(60) + NANO, secs(60)),
        (secs(86_400), secs(60)),
        (Duration::from_millis(4), Duration::from_millis(4)),
        (Duration::ZERO, secs(5)),
    ] {
        let mut case = Case::new();
        case.fails(waiting(Kind::RateLimited, stated));
        assert_eq!(case.left(), Some(obeyed));
    }
}

//
#[test]
fn survives_one_429_without_a_stated_wait() {
    let mut case = Case::new();
    assert!(case.fails(RATE_LIMITED).is_empty());
    case.fails(RATE_LIMITED);
    assert!(case.is_closed());
    case.fails(RATE_LIMITED);
    assert_eq!(case.left(), Some(secs(5)));
    assert!(matches!(case.stand_in(Lane::Trace), Stand::Open { .. }));
}

//
#[test]
fn counts_no_strike_and_climbs_no_rung_for_a_429_with_a_stated_wait() {
    let mut case = Case::new();
    for _ in 0..6 {
        case.fails(waiting(Kind::RateLimited, secs(1)));
        assert_eq!(case.left(), Some(secs(1)));
        case.pass(secs(1));
        case.succeeds();
    }
    case.eject();
    assert_eq!(case.left(), Some(secs(5)));
}

//
#[test]
fn lets_a_later_wait_lengthen_an_ejection_and_never_shorten_it() {
    let mut case = Case::new();
    let early = [case.send(), case.send()];
    case.fails(waiting(Kind::RateLimited, secs(10)));
    assert!(
        case.bad(early[0], waiting(Kind::RateLimited, secs(3)))
            .is_empty()
    );
    assert_eq!(case.left(), Some(secs(10)));
    assert!(
        case.bad(early[1], waiting(Kind::RateLimited, secs(20)))
            .is_empty()
    );
    assert_eq!(case.left(), Some(secs(20)));
}

//
#[test]
fn keeps_the_longer_time_of_a_failed_trial_and_a_stated_wait() {
    let mut case = Case::new();
    case.eject();
    case.pass(secs(5));
    case.fails(waiting(Kind::Strike, secs(2)));
    assert_eq!(case.left(), Some(secs(10)));
    case.pass(secs(10));
    case.fails(waiting(Kind::Strike, secs(50)));
    assert_eq!(case.left(), Some(secs(50)));
}

//
#[test]
fn opens_longer_than_the_stated_wait_when_the_trial_after_it_fails() {
    let mut case = Case::new();
    case.fails(waiting(Kind::RateLimited, secs(20)));
    case.pass(secs(20));
    case.fails(RATE_LIMITED);
    assert_eq!(case.left(), Some(secs(40)));
}

// the fault of the endpoint ends the trial of a lane.
#[test]
fn frees_the_trial_of_a_lane_that_met_a_stated_wait() {
    let mut case = Case::new();
    for _ in 0..3 {
        case.fails(STRIKE);
    }
    case.pass(secs(5));
    case.fails(waiting(Kind::RateLimited, secs(1)));
    case.pass(secs(1));
    assert_eq!(case.stand(), Stand::HalfOpen);
}

const QUOTA: Fault = Fault {
    scope: Scope::Endpoint,
    kind: Kind::Quota,
    retry_after: None,
};

//
#[test]
fn is_out_of_quota_until_the_stated_reset() {
    let mut case = Case::new();
    case.fails(waiting(Kind::Quota, secs(7_200)));
    assert_eq!(
        case.stand(),
        Stand::Open {
            until: case.now + secs(7_200),
            reason: Reason::Quota
        }
    );
    let mut absurd = Case::new();
    absurd.fails(waiting(Kind::Quota, secs(u64::from(u32::MAX))));
    assert_eq!(absurd.left(), Some(secs(31 * 86_400)));
}

//
#[test]
fn is_out_of_quota_for_a_growing_time_where_no_reset_is_stated() {
    let mut case = Case::new();
    for minutes in [2, 8, 32, 128, 360, 360] {
        // A burst that was in flight climbs one step and not ten.
        let burst = [case.send(), case.send(), case.send()];
        for ticket in burst {
            case.bad(ticket, QUOTA);
        }
        assert_eq!(case.left(), Some(secs(minutes * 60)));
        case.pass(secs(minutes * 60));
    }
}

//
#[test]
fn begins_with_the_shortest_time_again_after_a_minute_with_quota() {
    for (closed, minutes) in [(secs(60) - NANO, 8), (secs(60), 2)] {
        let mut case = Case::new();
        case.fails(QUOTA);
        case.pass(secs(120));
        case.succeeds();
        case.pass(closed);
        case.fails(QUOTA);
        assert_eq!(case.left(), Some(secs(minutes * 60)));
    }
}

// L-6
#[test]
fn cools_down_flat_where_a_caller_calls_the_data_unusable() {
    let mut case = Case::new();
    let unusable = Fault {
        kind: Kind::Unusable,
        ..CONNECT
    };
    for _ in 0..3 {
        case.fails(unusable);
        assert_eq!(case.left(), Some(secs(5)));
        case.pass(secs(5));
        case.succeeds();
    }
}
