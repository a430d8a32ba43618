//! Histories in which a call goes on too long, too soon, or to the wrong endpoint.

use serde_json::{Value, json};

use super::{MS, Tale, WHO, number};
use crate::checker::{Breach, Course, Promises};

const READ: &str = "eth_getBalance";

fn held_to(change: impl FnOnce(&mut Course)) -> Promises {
    let mut course = Course {
        width: 1,
        copied_after: None,
        flawless: vec![0, 1],
        others: vec![0, 1],
        verify: false,
    };
    change(&mut course);
    Promises {
        course: Some(course),
        sighted: vec![0, 1, 2],
        ..Promises::default()
    }
}

/// A request of the call, at a node and answered at these times.
fn asks(tale: Tale, at: (u32, u32), node: usize, params: &Value, reply: &Value) -> Tale {
    tale.exchange(at, node, (READ, params), (200, reply))
}

// B-4, R-37
#[test]
fn reports_a_call_that_goes_on_after_its_answer() {
    let latest = json!([WHO, "latest"]);
    let tale = |params: &Value, first: Value| {
        let mut first = first;
        first["id"] = json!(7);
        let tale = asks(Tale::default(), (0, 10), 2, params, &first);
        let tale = asks(
            tale,
            (11, 20),
            1,
            params,
            &json!({"id": 7, "result": number(9)}),
        );
        tale.breaches_of(&held_to(|_| ()))
    };
    let reverted = json!({"error": {"code": 3, "message": "execution reverted"}});
    for answer in [json!({"result": number(8)}), reverted] {
        assert_eq!(tale(&latest, answer.clone()), [Breach::AskedOn], "{answer}");
    }
    for failure in [
        json!({"result": null}),
        json!({"error": {"code": -32603, "message": "internal error"}}),
        json!({"result": number(8), "error": {"code": 1}}),
    ] {
        assert_eq!(tale(&latest, failure.clone()), [], "{failure}");
    }
    // Of a height the first may have known nothing.
    assert_eq!(tale(&json!([WHO, "0x9"]), json!({"result": number(8)})), []);
}

// B-4, R-41
#[test]
fn reports_more_requests_at_once_than_may_race() {
    let latest = json!([WHO, "latest"]);
    let promises = held_to(|course| course.width = 2);
    let race = |nodes: usize, at: u32| {
        let ask = |tale: Tale, node| tale.received(at * node as u32, node, READ, &latest);
        (0..nodes).fold(Tale::default(), ask).breaches_of(&promises)
    };
    assert_eq!(race(2, 0), []);
    assert_eq!(race(3, 0), [Breach::Copied]);
    assert_eq!(race(3, 5), []);
}

// B-4, R-40
#[test]
fn reports_a_copy_beside_a_request_that_will_be_answered() {
    let latest = json!([WHO, "latest"]);
    let value = json!({"id": 7, "result": number(8)});
    let tale = |first, at, promises: &Promises| {
        let tale = asks(Tale::default(), (0, 100), first, &latest, &value);
        tale.exchange((at, at + 50), 1, (READ, &latest), (200, &value))
            .breaches_of(promises)
    };
    let never = held_to(|_| ());
    assert_eq!(tale(0, 40, &never), [Breach::Copied]);
    // Whoever asked it may have given it up.
    assert_eq!(tale(2, 40, &never), []);
    let later = held_to(|course| course.copied_after = Some(MS * 40));
    assert_eq!(tale(0, 40, &later), []);
    assert_eq!(tale(0, 39, &later), [Breach::Copied]);
}

// B-4, R-30
#[test]
fn reports_an_endpoint_that_is_asked_again_before_another_one() {
    let latest = json!([WHO, "latest"]);
    let failed = json!({"id": 7, "error": {"code": -32603, "message": "internal error"}});
    let tale = |nodes: &[usize], promises: &Promises| {
        let mut at = 10;
        let ask = |tale: Tale, node: &usize| {
            at += 10;
            asks(tale, (at, at + 5), *node, &latest, &failed)
        };
        let known = ("eth_chainId", &json!([]));
        let chain = json!({"id": 7, "result": "0xf1b31"});
        // Another id than that of the call.
        let mut tale = nodes.iter().fold(Tale::default(), ask);
        let mut check = Tale::default().exchange((0, 1), 1, known, (200, &chain));
        rename(&mut check);
        tale.events.append(&mut check.events);
        tale.breaches_of(promises)
    };
    let promises = held_to(|course| course.flawless.clear());
    assert_eq!(tale(&[2, 0, 2], &promises), [Breach::AskedAgain]);
    assert_eq!(tale(&[2, 0, 1, 2], &promises), []);
    // One whose chain is not known has to be checked first.
    let verified = held_to(|course| {
        course.verify = true;
        course.others = vec![0];
    });
    assert_eq!(tale(&[2, 2], &verified), []);
    let verified = held_to(|course| {
        course.verify = true;
        course.others = vec![1];
    });
    assert_eq!(tale(&[2, 2], &verified), [Breach::AskedAgain]);
}

fn rename(tale: &mut Tale) {
    use crate::history::Event;
    for event in &mut tale.events {
        match event {
            Event::Received { id, .. } => *id = Some("8".to_owned()),
            Event::Served { ids, body, .. } => {
                *ids = vec![Some("8".to_owned())];
                *body = body.replace("\"id\":7", "\"id\":8");
            }
            Event::Called { .. } | Event::Answered { .. } | Event::Took { .. } => {}
        }
    }
}
