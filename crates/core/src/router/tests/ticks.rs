//! Whom a tick asks for its head (P-19), and who may be asked unasked (P-18).

use super::*;
use crate::{
    bucket::{Account, Budget, Rate},
    method::lookup,
};

fn target(stage: &mut Stage) -> Option<EndpointId> {
    let now = stage.now();
    stage.router.tick_target(now)
}

fn spent() -> Profile {
    let budget = Budget {
        rate: Some(Rate {
            rps: 0.001,
            burst: 1.0,
        }),
        ..Budget::default()
    };
    Profile {
        account: Arc::new(Account::new("", &budget)),
        ..Profile::default()
    }
}

fn heavy() -> Profile {
    Profile {
        weight: 10.0,
        ..Profile::default()
    }
}

// P-19, R-16
#[test]
fn a_tick_asks_the_two_best_voices_in_turn() {
    let profiles = vec![Profile::default(), heavy(), heavy()];
    let mut stage = Stage::with(Settings::default(), profiles);
    let mut asked = Vec::new();
    for height in 100..104 {
        let endpoint = target(&mut stage).unwrap();
        asked.push(endpoint);
        stage.pass(seconds(1));
        stage.head(endpoint, height);
    }
    assert_eq!(asked, [B, C, B, C]);
    // One that does not answer had its turn.
    let now = stage.now();
    let verdict = of_class(Class::Timeout, None);
    stage.pass(seconds(1));
    let late = stage.now();
    stage
        .router
        .on_probe_failed(B, &verdict, Meaning::Neutral, TIMEOUT, late);
    assert_eq!(stage.router.tick_target(now), Some(C));
}

// P-19
#[test]
fn one_voice_is_asked_alone() {
    let profiles = vec![
        Profile {
            group: Some(7),
            ..heavy()
        },
        Profile {
            group: Some(7),
            ..Profile::default()
        },
    ];
    let mut stage = Stage::with(Settings::default(), profiles);
    for height in 100..103 {
        assert_eq!(target(&mut stage), Some(A));
        stage.pass(seconds(1));
        stage.head(A, height);
    }
}

// P-19
#[test]
fn a_tick_asks_only_who_is_checked_and_closed_and_has_a_token_in_the_lowest_tier() {
    let mut stage = Stage::checking(
        Settings::default(),
        vec![Profile::default(), Profile::default()],
    );
    assert_eq!(target(&mut stage), None);
    let now = stage.now();
    let check = stage.router.begin_check(B, now).unwrap();
    stage.router.on_chain_id(B, check, ChainId(1));
    assert_eq!(target(&mut stage), Some(B));

    let higher = Profile { tier: 1, ..heavy() };
    let profiles = vec![spent(), higher, Profile::default()];
    let mut stage = Stage::with(Settings::default(), profiles);
    let now = stage.now();
    assert!(stage.router.begin_aside(A, lookup("eth_chainId"), now));
    assert_eq!(target(&mut stage), Some(C));
    for _ in 0..5 {
        stage.request(C, millis(1), &failed(Class::Internal, Some("connect")));
    }
    assert_eq!(target(&mut stage), Some(B));
}

// P-18
#[test]
fn a_free_holder_is_known_to_be_there_and_has_a_token() {
    let mut stage = Stage::with(Settings::default(), vec![spent(), Profile::default()]);
    let row = lookup("eth_call");
    let free = |stage: &Stage, height: u64| {
        let reader = Reader::new(row, "eth_call", None);
        stage.router.has_free_holder(&reader, height, stage.now())
    };
    assert!(!free(&stage, 100));
    stage.head(A, 101);
    stage.head(B, 100);
    assert!(free(&stage, 100) && free(&stage, 101));
    let now = stage.now();
    assert!(stage.router.begin_aside(A, lookup("eth_chainId"), now));
    assert!(free(&stage, 100) && !free(&stage, 101));
    for _ in 0..5 {
        stage.request(B, millis(1), &failed(Class::Internal, Some("connect")));
    }
    assert!(!free(&stage, 100));
}
