//! Head probes.

use super::*;
use crate::bucket::{Account, Budget, Rate};

fn due(stage: &mut Stage) -> Vec<EndpointId> {
    let now = stage.now();
    stage.router.probe_tick(true, now).to_vec()
}

fn probed(settings: ProbeSettings, profiles: Vec<Profile>) -> Stage {
    let settings = Settings {
        probe: Some(settings),
        ..Settings::default()
    };
    Stage::with(settings, profiles)
}

fn profiles(endpoints: usize) -> Vec<Profile> {
    (0..endpoints).map(|_| Profile::default()).collect()
}

fn steady() -> ProbeSettings {
    ProbeSettings {
        jitter: 0.0,
        ..ProbeSettings::default()
    }
}

//
#[test]
fn the_first_call_asks_everybody_at_once_and_every_four_seconds_from_then_on() {
    let mut stage = probed(steady(), profiles(2));
    assert_eq!(stage.router.next_probe(), None);
    assert!(due(&mut stage).is_empty());
    let now = stage.now();
    assert!(stage.router.on_call(now), "the timer was standing");
    assert!(!stage.router.on_call(now));
    assert_eq!(stage.router.next_probe(), Some(now.mono));
    assert_eq!(due(&mut stage), [A, B]);
    assert_eq!(stage.router.next_probe(), Some(now.mono + seconds(4)));
    stage.pass(millis(3999));
    assert!(due(&mut stage).is_empty());
    stage.pass(millis(1));
    assert_eq!(due(&mut stage), [A, B]);
}

// probes are no activity
#[test]
fn a_minute_without_a_call_stops_them_and_the_next_call_starts_them() {
    let mut stage = probed(steady(), profiles(1));
    let now = stage.now();
    stage.router.on_call(now);
    let mut ticks = 0;
    while let Some(next) = stage.router.next_probe() {
        stage.passed = next.saturating_duration_since(stage.start);
        let asked = due(&mut stage);
        ticks += asked.len();
        for endpoint in asked {
            let now = stage.now();
            stage.router.on_probe(endpoint, 100, now);
        }
        assert!(stage.passed <= seconds(60));
    }
    assert_eq!(ticks, 15);
    stage.pass(seconds(100));
    let now = stage.now();
    assert!(stage.router.on_call(now));
    assert_eq!(due(&mut stage), [A]);
}

//
#[test]
fn no_probe_is_sent_where_they_are_off() {
    let settings = Settings {
        probe: None,
        ..Settings::default()
    };
    let mut stage = Stage::with(settings, profiles(1));
    let now = stage.now();
    assert!(!stage.router.on_call(now));
    assert_eq!(stage.router.next_probe(), None);
    assert!(due(&mut stage).is_empty());
    assert!(!stage.router.on_active(now));
}

//
#[test]
fn an_inactive_owner_skips_ticks_and_gets_one_when_it_comes_back() {
    let mut stage = probed(steady(), profiles(1));
    let now = stage.now();
    stage.router.on_call(now);
    assert!(stage.router.probe_tick(false, now).is_empty());
    stage.pass(seconds(1));
    let now = stage.now();
    assert!(stage.router.on_active(now));
    assert_eq!(due(&mut stage), [A]);
    // One ran just now.
    stage.pass(seconds(1));
    let now = stage.now();
    assert!(!stage.router.on_active(now));
    // What it is told to do it does all the same.
    assert_eq!(stage.router.probe_targets(now).to_vec(), [A]);
}

//
#[test]
fn skips_the_ejected_the_quarantined_the_spent_and_those_without_the_method() {
    let spent = Budget {
        rate: Some(Rate {
            rps: 0.001,
            burst: 1.0,
        }),
        ..Budget::default()
    };
    let mut five = profiles(5);
    five[1].account = Arc::new(Account::new("spent", &spent));
    five[2].methods = MethodList::new(vec![], vec!["eth_blockNumber".to_owned()]);
    let settings = Settings {
        probe: Some(steady()),
        ..Settings::default()
    };
    let mut stage = Stage::checking(settings, five);
    let now = stage.now();
    for id in 0..5 {
        let endpoint = EndpointId(id);
        let check = stage.router.begin_check(endpoint, now).expect("a token");
        let found = if id == 3 { 10 } else { 1 };
        stage.router.on_chain_id(endpoint, check, ChainId(found));
    }
    for _ in 0..3 {
        stage.request(
            EndpointId(4),
            millis(1),
            &failed(Class::Internal, Some("connect")),
        );
    }
    let now = stage.now();
    stage.router.on_call(now);
    assert_eq!(due(&mut stage), [A]);
    // Once the ejection is over it is asked again.
    stage.pass(seconds(6));
    let now = stage.now();
    stage.router.on_call(now);
    assert_eq!(due(&mut stage), [A, EndpointId(4)]);
}

//
#[test]
fn asks_nobody_above_the_tier_in_use() {
    let mut three = profiles(3);
    three[1].tier = 1;
    three[2].tier = 2;
    let mut stage = probed(steady(), three);
    let now = stage.now();
    stage.router.on_call(now);
    assert_eq!(due(&mut stage), [A]);
    for _ in 0..3 {
        stage.request(A, millis(1), &failed(Class::Internal, Some("connect")));
    }
    stage.pass(seconds(4));
    assert_eq!(due(&mut stage), [B]);
    stage.pass(seconds(4));
    assert_eq!(due(&mut stage), [A]);
}

//
#[test]
fn a_probe_that_works_moves_the_head_and_cools_the_error_and_no_latency() {
    let mut stage = Stage::new(1);
    stage.request(A, millis(80), &Settled::VALUE);
    for _ in 0..2 {
        stage.request(A, millis(1), &failed(Class::Internal, None));
    }
    let before = stage.view(A);
    let now = stage.now();
    stage.router.on_probe(A, 100, now);
    let after = stage.view(A);
    assert_eq!(after.head, Some(100));
    assert!((after.error - before.error * 0.7).abs() < 1e-9);
    assert_eq!(
        (after.latency_ms, after.tail_ms),
        (before.latency_ms, before.tail_ms)
    );
    // Strikes of calls stay.
    let lane = |view: &EndpointView| view.circuit.lanes[Lane::State as usize].1.strikes;
    assert_eq!((lane(&before), lane(&after)), (2, 2));
}

//
#[test]
fn a_probe_that_fails_pushes_the_tail_and_strikes_and_a_good_one_clears_only_such_strikes() {
    let mut stage = Stage::new(1);
    stage.request(A, millis(80), &Settled::VALUE);
    let verdict = of_class(Class::Internal, Some("connect"));
    for _ in 0..2 {
        let now = stage.now();
        stage
            .router
            .on_probe_failed(A, &verdict, meaning(&verdict), seconds(4), now);
    }
    let view = stage.view(A);
    assert_eq!(view.circuit.endpoint.strikes, 2);
    assert!(view.tail_ms > Some(2000.0));
    assert_eq!(view.latency_ms, Some(80.0));
    let now = stage.now();
    stage.router.on_probe(A, 100, now);
    assert_eq!(stage.view(A).circuit.endpoint.strikes, 0);
}

//
#[test]
fn a_probe_ends_no_ejection() {
    let mut stage = Stage::new(1);
    for _ in 0..3 {
        stage.request(A, millis(1), &failed(Class::Internal, Some("connect")));
    }
    stage.pass(seconds(6));
    let now = stage.now();
    stage.router.on_probe(A, 100, now);
    assert_eq!(stage.view(A).circuit.endpoint.stand, Stand::HalfOpen);
}

// Lessons P5: a node without the method is not ill
#[test]
fn a_node_that_does_not_know_the_probe_is_left_alone() {
    let mut stage = probed(steady(), profiles(2));
    let now = stage.now();
    stage.router.on_call(now);
    let verdict = of_class(Class::MethodUnsupported, None);
    stage
        .router
        .on_probe_failed(A, &verdict, meaning(&verdict), seconds(4), now);
    let view = stage.view(A);
    assert_eq!((view.circuit.endpoint.strikes, view.error), (0, 0.0));
    assert_eq!(due(&mut stage), [B]);
}

// a probe that is refused as one too many is a refusal too
#[test]
fn learns_a_limit_from_refused_probes() {
    let mut stage = Stage::new(1);
    let verdict = of_class(Class::RateLimited, None);
    for _ in 0..3 {
        let now = stage.now();
        assert!(
            stage
                .router
                .begin_aside(A, method::lookup("eth_blockNumber"), now)
        );
        stage
            .router
            .on_probe_failed(A, &verdict, meaning(&verdict), seconds(4), now);
    }
    assert_eq!(stage.view(A).tokens, Some(1));
    assert_eq!(stage.view(A).counters.sent, 3);
}

// a node that drifts is ejected by heads alone, and comes back when it caught up
#[test]
fn drift_ejects_and_catching_up_brings_back() {
    let mut stage = Stage::new(3);
    let mut ejected = 0;
    for second in 0..200_u64 {
        stage.passed = seconds(second);
        for (endpoint, height) in [(A, 1000 + second), (B, 1000 + second)] {
            stage.head(endpoint, height);
        }
        stage.head(C, 900 + second);
        let stand = stage.view(C).circuit.endpoint.stand;
        ejected += u32::from(matches!(stand, Stand::Open { .. }));
    }
    assert!(ejected >= 5, "{ejected}");
    stage.head(C, 1199);
    stage.pass(seconds(61));
    stage.request(C, millis(1), &Settled::VALUE);
    for second in 260..300_u64 {
        stage.passed = seconds(second);
        for endpoint in [A, B, C] {
            stage.head(endpoint, 1000 + second);
        }
        assert!(matches!(
            stage.view(C).circuit.endpoint.stand,
            Stand::Closed { .. }
        ));
    }
}
