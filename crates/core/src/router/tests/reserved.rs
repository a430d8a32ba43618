//! Operations that are pinned to one endpoint: choice, trials, rounds, waits (L-5, L-6, R-12).

use super::*;
use crate::{
    bucket::{Account, Budget, Rate},
    operation::{Course, Next, Reservation, Stop},
    settings::RetrySettings,
};

const DEADLINE: Duration = Duration::from_secs(30);

fn course(stage: &Stage, repeats: bool) -> Course {
    Course::new(stage.now().mono + DEADLINE, repeats)
}

impl Stage {
    fn next(&mut self, course: &mut Course) -> Next {
        let now = self.now();
        course.next(&mut self.router, None, now)
    }

    /// The endpoint that an operation gets now.
    fn run(&mut self, course: &mut Course) -> Reservation {
        match self.next(course) {
            Next::Run(reservation) => reservation,
            other => panic!("{other:?}"),
        }
    }

    /// A whole operation of one request that takes so long; where it went.
    fn operate(&mut self, repeats: bool, took: Duration) -> EndpointId {
        let mut course = course(self, repeats);
        let reservation = self.run(&mut course);
        self.request(reservation.endpoint(), took, &Settled::VALUE);
        self.release(&reservation, true);
        reservation.endpoint()
    }

    fn release(&mut self, reservation: &Reservation, good: bool) {
        let now = self.now();
        self.router.release(reservation, good, now);
    }

    fn eject(&mut self, endpoint: EndpointId) {
        for _ in 0..3 {
            self.request(endpoint, millis(1), &failed(Class::Internal, None));
        }
    }
}

// R-12, L-5
#[test]
fn measures_every_free_endpoint_first_then_takes_the_least_loaded() {
    let mut stage = Stage::new(3);
    let took = [millis(30), millis(10), millis(20)];
    let measured: Vec<_> = took.map(|took| stage.operate(true, took)).into();
    assert_eq!(measured, [A, B, C]);
    assert_eq!(stage.operate(true, millis(10)), B);
    // 10 ms by two operations is 20 ms, and there the turn decides.
    let mut first = course(&stage, true);
    let held = stage.run(&mut first);
    assert_eq!(held.endpoint(), B);
    let mut second = course(&stage, true);
    assert_eq!(stage.run(&mut second).endpoint(), C);
    let mut third = course(&stage, true);
    assert_eq!(stage.run(&mut third).endpoint(), B);
    assert_eq!(stage.view(B).operations, 2);
    stage.release(&held, true);
    assert_eq!(stage.view(B).operations, 1);
}

// R-12, L-5
#[test]
fn an_occupied_endpoint_is_not_measured() {
    let mut stage = Stage::new(2);
    let mut first = course(&stage, true);
    let held = stage.run(&mut first);
    assert_eq!(held.endpoint(), A);
    assert_eq!(stage.operate(true, millis(50)), B);
    // A is busy and unmeasured: the measured one wins.
    assert_eq!(stage.operate(true, millis(50)), B);
    stage.release(&held, false);
    assert_eq!(stage.operate(true, millis(50)), A);
}

// R-12, L-5
#[test]
fn every_twentieth_primary_reservation_explores_and_others_do_not_count() {
    let mut stage = Stage::new(3);
    for took in [millis(10), millis(20), millis(30)] {
        stage.operate(true, took);
    }
    let mut explored = Vec::new();
    for turn in 1..=40 {
        // Single-attempt operations neither explore nor count.
        assert_eq!(stage.operate(false, millis(10)), A);
        if stage.operate(true, millis(10)) != A {
            explored.push(turn);
        }
    }
    assert_eq!(explored, [20, 40]);
}

// R-12, L-5
#[test]
fn a_second_attempt_does_not_count_toward_exploration() {
    let mut stage = Stage::new(2);
    for took in [millis(10), millis(20)] {
        stage.operate(true, took);
    }
    for _ in 0..18 {
        assert_eq!(stage.operate(true, millis(10)), A);
    }
    let mut retried = course(&stage, true);
    let first = stage.run(&mut retried);
    stage.release(&first, false);
    retried.failed(&first);
    assert_eq!(stage.run(&mut retried).endpoint(), B);
    // That was the nineteenth with its retry; B is busy, so the twentieth position is used up.
    assert_eq!(stage.operate(true, millis(10)), A);
}

// L-6, R-20, R-22
#[test]
fn an_endpoint_that_cooled_down_admits_one_trial_and_success_restores_it() {
    let mut stage = Stage::new(1);
    stage.eject(A);
    let mut waits = course(&stage, true);
    let until = stage.now().mono + seconds(5);
    assert_eq!(stage.next(&mut waits), Next::Wait(until));
    stage.pass(seconds(5));
    let trial = stage.run(&mut waits);
    assert!(trial.is_trial());
    let mut other = course(&stage, true);
    let end = stage.now().mono + DEADLINE;
    assert_eq!(stage.next(&mut other), Next::Wait(end), "one at a time");
    let changes = stage.router.changes();
    stage.release(&trial, true);
    assert_ne!(stage.router.changes(), changes, "who waits is told");
    assert!(!stage.run(&mut other).is_trial());
}

// L-6
#[test]
fn a_trial_that_proves_nothing_leaves_the_endpoint_to_the_next() {
    let mut stage = Stage::new(1);
    stage.eject(A);
    stage.pass(seconds(5));
    let mut first = course(&stage, true);
    let trial = stage.run(&mut first);
    stage.release(&trial, false);
    let mut second = course(&stage, true);
    assert!(stage.run(&mut second).is_trial());
}

// L-6, R-12
#[test]
fn exploration_tries_an_endpoint_that_cooled_down() {
    let mut stage = Stage::new(2);
    for took in [millis(10), millis(500)] {
        stage.operate(true, took);
    }
    stage.eject(B);
    stage.pass(seconds(6));
    let went: Vec<_> = (0..20).map(|_| stage.operate(true, millis(10))).collect();
    assert_eq!(went.iter().filter(|to| **to == B).count(), 1);
    let stand = stage.view(B).circuit.endpoint.stand;
    assert!(matches!(stand, Stand::Closed { .. }), "{stand:?}");
}

// L-5
#[test]
fn a_reservation_ends_with_the_next_ejection_even_of_another_lane() {
    let mut stage = Stage::new(2);
    let mut course = course(&stage, true);
    let reservation = stage.run(&mut course);
    assert_eq!(stage.router.reserved(&reservation), Some(A));
    stage.eject(B);
    assert_eq!(stage.router.reserved(&reservation), Some(A));
    stage.eject(A);
    assert_eq!(stage.router.reserved(&reservation), None);
    stage.pass(seconds(6));
    stage.request(A, millis(1), &Settled::VALUE);
    assert_eq!(stage.router.reserved(&reservation), None, "for good");
}

// L-5, L-10
#[test]
fn a_reservation_follows_its_endpoint_when_the_list_changes() {
    let mut stage = Stage::new(2);
    let mut course = course(&stage, true);
    let reservation = stage.run(&mut course);
    let (settings, now) = (stage.router.shared_settings(), stage.now());
    let profiles = vec![Profile::default(), Profile::default()];
    stage
        .router
        .replace(profiles, &[Some(B), Some(A)], Arc::clone(&settings), now);
    assert_eq!(stage.router.reserved(&reservation), Some(B));
    assert_eq!(stage.view(B).operations, 1);
    stage
        .router
        .replace(vec![Profile::default()], &[None], settings, now);
    assert_eq!(stage.router.reserved(&reservation), None);
    stage.release(&reservation, true);
    assert_eq!(stage.view(A).operations, 0);
}

// L-5, R-30
#[test]
fn each_endpoint_is_tried_once_a_round_with_one_backoff_between() {
    let mut stage = Stage::new(2);
    let mut course = course(&stage, true);
    for round in 0..3 {
        let mut tried = Vec::new();
        for _ in 0..2 {
            let reservation = stage.run(&mut course);
            tried.push(reservation.endpoint());
            stage.release(&reservation, false);
            course.failed(&reservation);
        }
        tried.sort_unstable();
        assert_eq!(tried, [A, B]);
        let Next::Wait(until) = stage.next(&mut course) else {
            panic!("no backoff")
        };
        let wait = until - stage.now().mono;
        let full = millis(100 << round);
        assert!(wait >= full / 2 && wait <= full, "{wait:?}");
        // Nothing shortens it.
        assert_eq!(stage.next(&mut course), Next::Wait(until));
        stage.pass(wait);
    }
}

// L-5
#[test]
fn another_round_after_the_deadline_is_none() {
    let mut stage = Stage::with(
        Settings {
            retry: RetrySettings {
                base: DEADLINE * 3,
                cap: DEADLINE * 3,
                ..RetrySettings::default()
            },
            ..Settings::default()
        },
        vec![Profile::default()],
    );
    let mut course = course(&stage, true);
    let reservation = stage.run(&mut course);
    stage.release(&reservation, false);
    course.failed(&reservation);
    assert_eq!(stage.next(&mut course), Next::End(Stop::AllFailed));
}

// L-5
#[test]
fn waits_for_an_endpoint_longer_than_a_call_does_and_no_longer_than_its_deadline() {
    let mut stage = Stage::new(1);
    stage.eject(A);
    for _ in 0..3 {
        stage.pass(seconds(60));
        stage.request(A, millis(1), &failed(Class::Internal, None));
    }
    // Out for 40 s: the deadline comes first.
    let mut course = course(&stage, true);
    let end = stage.now().mono + DEADLINE;
    assert_eq!(stage.next(&mut course), Next::Wait(end));
    stage.pass(DEADLINE);
    assert_eq!(stage.next(&mut course), Next::End(Stop::Deadline));
}

// L-5, P-8
#[test]
fn an_endpoint_below_what_operations_have_seen_gets_none_until_it_is_there() {
    let mut stage = Stage::new(2);
    stage.head(A, 90);
    stage.head(B, 100);
    let mut seen = course(&stage, true);
    let now = stage.now();
    let Next::Run(only) = seen.next(&mut stage.router, Some(100), now) else {
        panic!("nobody")
    };
    assert_eq!(only.endpoint(), B);
    stage.eject(B);
    let mut waits = course(&stage, true);
    let again = Next::Wait(now.mono + seconds(1) + millis(3));
    let now = stage.now();
    assert_eq!(waits.next(&mut stage.router, Some(100), now), again);
    stage.head(A, 100);
    let now = stage.now();
    assert!(matches!(
        waits.next(&mut stage.router, Some(100), now),
        Next::Run(_)
    ));
}

// L-5, R-19, R-23
#[test]
fn endpoints_that_no_time_brings_back_end_it_at_once() {
    let mut stage = Stage::checking(Settings::default(), vec![Profile::default(); 2]);
    for endpoint in [A, B] {
        let now = stage.now();
        let check = stage.router.begin_check(endpoint, now).unwrap();
        stage.router.on_chain_id(endpoint, check, ChainId(5));
    }
    let mut course = course(&stage, true);
    assert_eq!(stage.next(&mut course), Next::End(Stop::ChainMismatch));

    let mut stage = Stage::new(1);
    stage.request(A, millis(1), &failed(Class::Unauthorized, None));
    let mut course = Course::new(stage.now().mono + DEADLINE, true);
    assert_eq!(stage.next(&mut course), Next::End(Stop::NoUsable));
}

// L-5, R-27
#[test]
fn waits_for_a_token_and_ends_where_none_comes_in_time() {
    let rate = |rps| {
        let budget = Budget {
            rate: Some(Rate { rps, burst: 1.0 }),
            ..Budget::default()
        };
        vec![Profile {
            account: Arc::new(Account::new("", &budget)),
            ..Profile::default()
        }]
    };
    let mut stage = Stage::with(Settings::default(), rate(0.1));
    stage.request(A, millis(1), &Settled::VALUE);
    let mut waits = course(&stage, true);
    let Next::Wait(until) = stage.next(&mut waits) else {
        panic!("no wait")
    };
    assert!(until < stage.now().mono + seconds(10));
    let mut stage = Stage::with(Settings::default(), rate(0.01));
    stage.request(A, millis(1), &Settled::VALUE);
    let mut ends = course(&stage, true);
    let Next::End(Stop::Budget { wait }) = stage.next(&mut ends) else {
        panic!("no end")
    };
    assert!(wait > seconds(99), "{wait:?}");
}

// L-6
#[test]
fn unusable_data_cools_the_endpoint_for_a_flat_five_seconds_without_a_strike() {
    let mut stage = Stage::new(2);
    for _ in 0..3 {
        let mut course = course(&stage, false);
        let reservation = stage.run(&mut course);
        let endpoint = reservation.endpoint();
        let now = stage.now();
        stage.router.unusable(&reservation, now);
        stage.release(&reservation, false);
        let circuit = stage.view(endpoint).circuit.endpoint;
        assert_eq!((circuit.left, circuit.strikes), (seconds(5), 0));
        assert_eq!(stage.router.reserved(&reservation), None);
        stage.pass(seconds(60));
    }
}

// L-6, R-1
#[test]
fn who_is_fit_for_everything_comes_first_and_a_lower_tier_before_a_higher_one() {
    let tier = |tier| Profile {
        tier,
        ..Profile::default()
    };
    let mut stage = Stage::with(Settings::default(), vec![tier(1), tier(0), tier(0)]);
    let all = |stage: &mut Stage| {
        let mut course = course(stage, false);
        let mut order = Vec::new();
        for _ in 0..3 {
            let reservation = stage.run(&mut course);
            order.push(reservation.endpoint());
            stage.release(&reservation, false);
            course.failed(&reservation);
        }
        order
    };
    assert_eq!(all(&mut stage), [B, C, A]);
    // B is ejected for log queries alone: it serves, after all others.
    for _ in 0..3 {
        let ticket = stage.begin(B, "eth_getLogs");
        let now = stage.now();
        let down = failed(Class::Internal, None);
        stage.router.settle(&ticket, &down, now);
    }
    assert_eq!(all(&mut stage), [C, A, B]);
}
