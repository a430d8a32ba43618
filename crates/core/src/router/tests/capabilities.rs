//! What endpoints say of themselves (semantics §7 row 4).

use super::*;
use crate::learn::{Capabilities, capabilities::parse};

const SAID: &str =
    r#"{"head":{"number":"0x3e8"},"state":{"oldestBlock":"0x384"},"logs":{"disabled":true}}"#;

fn said() -> Capabilities {
    parse(SAID).expect("a head and two kinds")
}

fn wants(stage: &Stage) -> bool {
    stage.router.wants_capabilities(A, stage.now())
}

fn out(stage: &mut Stage, method: &str, params: &str) -> Option<Why> {
    let mut plan = stage.plan(method);
    plan.need = Need::of(plan.method, params);
    let now = stage.now();
    stage.router.explain(&plan, now).considered[0].out
}

// Semantics §7 row 4, R-15
#[test]
fn what_an_endpoint_says_of_itself_is_asked_once_and_decides_what_it_is_asked() {
    let mut stage = Stage::new(2);
    assert!(wants(&stage));
    let now = stage.now();
    stage.router.on_capabilities(A, Some(&said()), now);
    assert!(!wants(&stage));
    assert_eq!(stage.view(A).head, Some(1000));
    let old = r#"[{"to":"0x1"},"0x64"]"#;
    assert_eq!(out(&mut stage, "eth_call", old), Some(Why::DoesNotKeep));
    assert_eq!(
        out(&mut stage, "eth_call", r#"[{"to":"0x1"},"0x384"]"#),
        None
    );
    let logs = r#"[{"fromBlock":"0x3e0","toBlock":"0x3e8"}]"#;
    assert_eq!(out(&mut stage, "eth_getLogs", logs), Some(Why::DoesNotKeep));
    // After a reconnect it may be another node.
    stage.router.on_reconnected(A);
    assert!(wants(&stage));
    // And in an hour it may say something else.
    let now = stage.now();
    stage.router.on_capabilities(A, Some(&said()), now);
    stage.pass(seconds(3600));
    assert!(wants(&stage));
    assert_eq!(out(&mut stage, "eth_call", old), None);
}

// Semantics §7 row 4: -32601 is remembered, and no strike
#[test]
fn who_does_not_know_the_question_is_left_alone() {
    let mut stage = Stage::new(1);
    let now = stage.now();
    stage.router.on_capabilities(A, None, now);
    assert!(!wants(&stage));
    stage.router.on_reconnected(A);
    assert!(!wants(&stage));
    stage.pass(seconds(3600));
    assert!(wants(&stage));
    let view = stage.view(A);
    assert_eq!((view.circuit.endpoint.strikes, view.error), (0, 0.0));
}

// R-14
#[test]
fn asks_nobody_ejected_or_without_the_method() {
    let mut stage = Stage::new(1);
    for _ in 0..3 {
        stage.request(A, millis(1), &failed(Class::Internal, Some("connect")));
    }
    assert!(!wants(&stage));
    let listed = Profile {
        methods: MethodList::new(vec![], vec!["eth_capabilities".to_owned()]),
        ..Profile::default()
    };
    assert!(!wants(&Stage::with(Settings::default(), vec![listed])));
}
