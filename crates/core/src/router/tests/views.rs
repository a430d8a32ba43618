//! What snapshots show.

use super::*;
use crate::{
    breaker::Reason,
    bucket::{Account, Budget, Rate},
    learn::{Declared, Size},
};

//
#[test]
fn shows_state_streaks_cooldown_reason_and_whole_tokens() {
    let mut two = vec![Profile::default(), Profile::default()];
    let budget = Budget {
        rate: Some(Rate {
            rps: 1.0,
            burst: 5.0,
        }),
        ..Budget::default()
    };
    two[0].account = Arc::new(Account::new("five", &budget));
    two[1].tier = 2;
    two[1].weight = 0.5;
    two[1].declared = Declared {
        largest: vec![(Size::LogRange, 1000)],
        ..Declared::default()
    };
    let mut stage = Stage::with(Settings::default(), two);
    stage.request(A, millis(40), &Settled::VALUE);
    for _ in 0..2 {
        stage.request(A, millis(1), &failed(Class::Internal, Some("connect")));
    }
    let view = stage.view(A);
    assert_eq!(view.circuit.endpoint.strikes, 2);
    assert_eq!(view.circuit.endpoint.stand, Stand::Closed { share: 1.0 });
    assert_eq!((view.tokens, view.in_flight), (Some(2), 0));
    assert_eq!((view.counters.sent, view.counters.good), (3, 1));
    assert_eq!(view.counters.failed.get("internal"), Some(&2));
    stage.request(A, millis(1), &failed(Class::Internal, Some("connect")));
    stage.pass(seconds(2));
    let view = stage.view(A);
    let Stand::Open { reason, .. } = view.circuit.endpoint.stand else {
        panic!("{view:?}");
    };
    assert_eq!(
        (reason, view.circuit.endpoint.left),
        (Reason::Failures, seconds(3))
    );
    let other = stage.view(B);
    assert_eq!((other.tier, other.weight), (2, 0.5));
    assert_eq!(
        (other.tokens, other.latency_ms, other.tail_ms),
        (None, None, None)
    );
    assert_eq!(other.max_log_range, Some(1000));
    assert_eq!(other.identity, Identity::Verified);
}

//
#[test]
fn shows_heads_and_how_far_they_lag() {
    let mut stage = Stage::new(3);
    for (endpoint, height) in [(A, 100), (B, 100), (C, 90)] {
        stage.head(endpoint, height);
    }
    assert_eq!(
        (stage.view(A).head, stage.view(A).excess_lag),
        (Some(100), None)
    );
    assert_eq!(
        (stage.view(C).head, stage.view(C).excess_lag),
        (Some(90), Some(8))
    );
    let settings = Settings {
        heads: None,
        ..Settings::default()
    };
    let mut stage = Stage::with(settings, vec![Profile::default()]);
    stage.head(A, 100);
    assert_eq!((stage.view(A).head, stage.view(A).excess_lag), (None, None));
}

// P-28
#[test]
fn events_tell_what_changed_and_cost_nothing_unheard() {
    let mut stage = Stage::new(1);
    stage.request(A, millis(40), &failed(Class::RateLimited, None));
    let (events, lost) = stage.router.events().drain();
    assert_eq!(lost, 0);
    assert_eq!(
        events,
        [Event::Request {
            endpoint: A,
            method: method::lookup("eth_call").id,
            attempt: AttemptId(0),
            end: crate::event::RequestEnd::Failed(Class::RateLimited),
            took: millis(40),
        }]
    );
    stage.router.events().listen(false);
    stage.request(A, millis(40), &Settled::VALUE);
    assert!(stage.router.events().is_empty());
}
