//! Many calls in one body.

use crate::site::{Site, balance};
use highwater_lab::sockets::{Answer, Gate};
use serde_json::{Value, json};

fn codes(answers: &Value) -> Vec<(Value, Value)> {
    answers
        .as_array()
        .unwrap()
        .iter()
        .map(|answer| (answer["id"].clone(), answer["error"]["code"].clone()))
        .collect()
}

// hardening B11
#[tokio::test]
async fn a_bad_item_answers_for_itself_and_the_others_are_served_in_order() {
    let mut site = Site::new().await;
    let body = format!(
        r#"[{},5,[{}],{{"id":"x"}},{{"jsonrpc":"2.0","id":8,"method":"admin_peers"}},{},{{"jsonrpc":"2.0","id":10,"method":"eth_chainId"}},{{"jsonrpc":"2.0","id":11,"method":"eth_call","params":3}}]"#,
        balance(1),
        balance(2),
        balance(9),
    );
    let answers = site.call(&body).await;
    assert_eq!(
        codes(&answers),
        [
            (json!(1), Value::Null),
            (Value::Null, json!(-32600)),
            (Value::Null, json!(-32600)),
            (json!("x"), json!(-32600)),
            (json!(8), json!(-32601)),
            (json!(9), Value::Null),
            (json!(10), Value::Null),
            (json!(11), json!(-32602)),
        ]
    );
    assert_eq!(answers[6]["result"], "0x1");
    assert_eq!(site.node.record().count("eth_getBalance"), 2);
    assert!(site.heard() <= 2);
}

// hardening B11
#[tokio::test]
async fn an_empty_batch_is_one_error() {
    let mut site = Site::new().await;
    let answer = site.call(" [ ] ").await;
    assert_eq!(
        (
            answer["error"]["code"].clone(),
            answer["error"]["message"].clone()
        ),
        (json!(-32600), json!("empty batch"))
    );
    assert!(answer["id"].is_null());
    site.heard_nothing();
}

// hardening B12
#[tokio::test]
async fn every_member_of_an_oversized_batch_is_refused_and_nothing_is_sent() {
    let mut site = Site::with(|s| s.server.max_batch = 3).await;
    let body = format!(
        "[{},{},{},{}]",
        balance(1),
        balance(2),
        balance(3),
        balance(4)
    );
    let response = site.post(&body).await;
    assert_eq!(response.status, 200);
    let answers = response.json();
    assert_eq!(
        codes(&answers),
        [1, 2, 3, 4].map(|id| (json!(id), json!(-32600)))
    );
    assert_eq!(answers[3]["error"]["message"], "batch too large");
    site.heard_nothing();
    let body = format!("[{},{},{}]", balance(1), balance(2), balance(3));
    assert_eq!(
        codes(&site.call(&body).await),
        [1, 2, 3].map(|id| (json!(id), Value::Null))
    );
}

// hardening B12
#[tokio::test]
async fn at_most_sixteen_elements_run_at_once_and_the_order_is_kept() {
    let site = Site::with(|s| s.chains[0].engine.batch.client = false).await;
    sixteen_at_once(&site).await;
}

// hardening B12, R-44
#[tokio::test]
async fn of_elements_that_share_requests_sixteen_requests_run_at_once() {
    let site = Site::with(|s| s.chains[0].endpoints[0].max_batch = Some(2)).await;
    sixteen_at_once(&site).await;
    // One that takes no batch too.
    let site = Site::with(|s| s.chains[0].endpoints[0].max_batch = Some(1)).await;
    sixteen_at_once(&site).await;
}

// R-44
#[tokio::test]
async fn elements_that_choose_the_same_endpoint_are_one_request_and_keep_their_order() {
    let site = Site::new().await;
    let before = site.node.record().requests().len();
    site.node.reverse_batches(true);
    let answers = site.call(&fifty()).await;
    assert_eq!(answers.as_array().unwrap().len(), 50);
    let mut bodies = site.node.record().requests().split_off(before);
    bodies.retain(|request| {
        request
            .calls
            .iter()
            .any(|call| call.method == "eth_getBalance")
    });
    let sizes: Vec<_> = bodies.iter().map(|request| request.calls.len()).collect();
    assert_eq!(sizes, [50]);
}

fn fifty() -> String {
    let calls: Vec<String> = (0..50)
        .map(|n| {
            format!(r#"{{"jsonrpc":"2.0","id":{n},"method":"eth_getBalance","params":[{n}]}}"#)
        })
        .collect();
    format!("[{}]", calls.join(","))
}

/// Fifty elements, of which an endpoint holds the first in each request back.
async fn sixteen_at_once(site: &Site) {
    let gate = Gate::new();
    site.node.on("eth_getBalance").with({
        let gate = gate.clone();
        move |call| Answer::result(call.params.clone().unwrap()).held_by(&gate)
    });
    let mut client = site.client().await;
    let request = client.request("POST", "/", &[], fifty().as_bytes());
    client.send(request).await;
    gate.wait_for_held(16).await;
    assert_eq!(gate.held(), 16);
    gate.open();
    let answers = client.response().await.json();
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), 50);
    for (n, answer) in answers.iter().enumerate() {
        assert_eq!(
            (answer["id"].clone(), answer["result"].clone()),
            (json!(n), json!([n]))
        );
    }
}

// hardening B13
#[tokio::test]
async fn a_batch_answer_is_bounded_and_the_rest_of_its_members_say_so() {
    let site = Site::with(|s| {
        s.server.max_batch_response = 10_000;
        s.chains[0].engine.batch.client = false;
    })
    .await;
    site.node
        .on("eth_getBalance")
        .always(Answer::result(format!("\"{}\"", "a".repeat(3000))));
    let calls: Vec<String> = (0..60).map(balance).collect();
    let response = site.post(&format!("[{}]", calls.join(","))).await;
    let answers = response.json();
    let codes = codes(&answers);
    assert_eq!(codes.len(), 60);
    for (n, (id, code)) in codes.into_iter().enumerate() {
        assert_eq!(id, n);
        assert_eq!(code, if n < 3 { Value::Null } else { json!(-32003) }, "{n}");
    }
    assert_eq!(answers[59]["error"]["message"], "response too large");
    assert!(
        site.node.record().count("eth_getBalance") <= 3 + 16,
        "no new ones are started"
    );
    // The next request starts afresh.
    assert_eq!(site.post(&balance(1)).await.status, 200);
}

// hardening B13
#[tokio::test]
async fn a_small_answer_after_one_that_did_not_fit_is_refused_too() {
    let site = Site::with(|s| s.server.max_batch_response = 1000).await;
    site.node
        .on("eth_getBalance")
        .once(Answer::result(format!("\"{}\"", "a".repeat(3000))));
    let body = format!(
        r#"[{},{{"jsonrpc":"2.0","id":2,"method":"eth_chainId"}}]"#,
        balance(1)
    );
    assert_eq!(
        codes(&site.call(&body).await),
        [(json!(1), json!(-32003)), (json!(2), json!(-32003))]
    );
}

// hardening B14
#[tokio::test]
async fn repeated_ids_are_each_answered_in_their_place() {
    let site = Site::new().await;
    site.node
        .on("eth_getBalance")
        .with(|call| Answer::result(call.params.clone().unwrap()));
    let one =
        |n: u32| format!(r#"{{"jsonrpc":"2.0","id":7,"method":"eth_getBalance","params":[{n}]}}"#);
    let answers = site
        .call(&format!("[{},{},{}]", one(1), one(2), one(1)))
        .await;
    let results: Vec<_> = answers
        .as_array()
        .unwrap()
        .iter()
        .map(|a| (a["id"].clone(), a["result"].clone()))
        .collect();
    assert_eq!(results, [1, 2, 1].map(|n| (json!(7), json!([n]))));
}

// G-1, scenario X08
#[tokio::test]
async fn ids_come_back_as_they_were_sent_and_a_notification_leaves_no_gap() {
    let site = Site::new().await;
    site.node
        .on("eth_getBalance")
        .with(|call| Answer::result(call.params.clone().unwrap()));
    let one = |id: &str, n: u32| {
        format!(r#"{{"jsonrpc":"2.0",{id}"method":"eth_getBalance","params":[{n}]}}"#)
    };
    let body = [
        one(r#""id":"a","#, 1),
        one(r#""id":7,"#, 2),
        one("", 3),
        one(r#""id":7,"#, 4),
        one(r#""id":null,"#, 5),
    ];
    let response = site.post(&format!("[{}]", body.join(","))).await;
    assert_eq!(
        response.text(),
        r#"[{"jsonrpc":"2.0","id":"a","result":[1]},{"jsonrpc":"2.0","id":7,"result":[2]},{"jsonrpc":"2.0","id":7,"result":[4]},{"jsonrpc":"2.0","id":null,"result":[5]}]"#
    );
}

// hardening B10
#[tokio::test]
async fn notifications_in_a_batch_are_run_and_get_no_entry() {
    let site = Site::new().await;
    let notification = r#"{"jsonrpc":"2.0","method":"eth_gasPrice"}"#;
    let answers = site
        .call(&format!("[{notification},{},{notification}]", balance(1)))
        .await;
    assert_eq!(codes(&answers), [(json!(1), Value::Null)]);
    site.node.record().wait_for_calls("eth_gasPrice", 2).await;
    let response = site.post(&format!("[{notification},{notification}]")).await;
    assert_eq!((response.status, response.body.len()), (200, 0));
    site.node.record().wait_for_calls("eth_gasPrice", 4).await;
}

// hardening C6
#[tokio::test]
async fn a_batch_is_no_way_around_the_policy() {
    let mut site = Site::new().await;
    let denied: Vec<String> = [
        "admin_peers",
        "debug_traceCall",
        "ETH_CALL",
        "eth_sign",
        "eth_subscribe",
        "unknown_x",
    ]
    .iter()
    .map(|method| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":[]}}"#))
    .collect();
    let answers = site.call(&format!("[{}]", denied.join(","))).await;
    assert_eq!(codes(&answers), vec![(json!(1), json!(-32601)); 6]);
    site.heard_nothing();
}

#[tokio::test]
async fn one_failing_element_leaves_the_others_alone() {
    let site = Site::new().await;
    site.node.on("eth_gasPrice").always(Answer::error_json(
        r#"{"code":3,"message":"execution reverted","data":"0x01"}"#,
    ));
    let failing = r#"{"jsonrpc":"2.0","id":"e","method":"eth_gasPrice"}"#;
    let response = site
        .post(&format!("[{},{failing},{}]", balance(1), balance(2)))
        .await;
    assert_eq!(
        codes(&response.json()),
        [
            (json!(1), Value::Null),
            (json!("e"), json!(3)),
            (json!(2), Value::Null)
        ]
    );
    assert!(response.text().contains(r#"{"jsonrpc":"2.0","id":"e","error":{"code":3,"message":"execution reverted","data":"0x01"}}"#));
}
