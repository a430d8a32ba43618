//! Whom a read's own look at a head has asked beside it.

use super::*;

fn three() -> Stage {
    let profiles = vec![Profile::default(), Profile::default(), Profile::default()];
    let mut stage = Stage::with(Settings::default(), profiles);
    for endpoint in [A, B, C] {
        stage.head(endpoint, 100);
    }
    stage
}

fn second(stage: &mut Stage) -> Option<EndpointId> {
    let now = stage.now();
    stage.router.second_voice(now)
}

//
#[test]
fn nobody_is_asked_while_a_second_voice_is_near() {
    let mut stage = three();
    assert_eq!(second(&mut stage), None);
    stage.head(A, 101);
    assert_eq!(second(&mut stage), None);
    stage.head(C, 101);
    stage.head(A, 102);
    assert_eq!(second(&mut stage), None);
}

//
#[test]
fn one_that_is_not_being_asked_is_asked_about_a_lone_leaders_blocks() {
    let mut stage = three();
    let row = method::lookup("eth_blockNumber");
    stage.head(A, 102);
    stage.pass(seconds(1));
    let first = second(&mut stage).unwrap();
    assert!([B, C].contains(&first));
    let now = stage.now();
    assert!(stage.router.begin_aside(first, row, now));
    let other = second(&mut stage).unwrap();
    assert!([B, C].contains(&other) && other != first);
    assert!(stage.router.begin_aside(other, row, now));
    assert_eq!(second(&mut stage), None);
    // Who answered may be asked again, who did not is left alone.
    stage.pass(seconds(1));
    let now = stage.now();
    stage.router.on_probe(first, 102, now);
    stage.head(A, 104);
    assert_eq!(second(&mut stage), Some(first));
    stage.pass(millis(1));
    stage.head(first, 104);
    assert_eq!(stage.router.reference_head(stage.now()), Some(104));
    assert_eq!(second(&mut stage), None);
}

//
#[test]
fn one_backend_is_no_second_voice_and_without_probes_nobody_is_asked() {
    let grouped = |group| Profile {
        group,
        ..Profile::default()
    };
    let profiles = vec![grouped(Some(7)), grouped(Some(7))];
    let mut stage = Stage::with(Settings::default(), profiles);
    stage.head(A, 100);
    stage.head(B, 104);
    assert_eq!(second(&mut stage), None);
    for (probe, asked) in [(Some(ProbeSettings::default()), Some(A)), (None, None)] {
        let settings = Settings {
            probe,
            ..Settings::default()
        };
        let mut stage = Stage::with(settings, vec![grouped(None), grouped(None)]);
        stage.head(A, 100);
        stage.head(B, 104);
        assert_eq!(second(&mut stage), asked);
    }
}
