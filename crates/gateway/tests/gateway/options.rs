//! Options whose effect no other room shows.

use crate::site::{Client, Site, balance, settings};
use highwater_core::settings::RetryCount;
use highwater_gateway::Gateway;
use highwater_lab::sockets::{Answer, Gate, ScriptedNode};
use std::time::Duration;

#[tokio::test]
async fn strict_refuses_a_request_without_the_version_and_lenient_does_not() {
    let bare = r#"{"id":4,"method":"eth_gasPrice"}"#;
    let lenient = Site::new().await;
    assert_eq!(lenient.call(bare).await["error"], serde_json::Value::Null);
    let mut strict = Site::with(|s| s.server.strict = true).await;
    let response = strict.post(bare).await;
    assert_eq!(response.row(), (200, -32600));
    assert_eq!(response.json()["id"], 4);
    strict.heard_nothing();
    let answer = strict.call(&balance(1)).await;
    assert_eq!(answer["error"], serde_json::Value::Null);
}

// hardening E2
#[tokio::test]
async fn an_answer_beyond_max_reply_is_no_answer() {
    let site = Site::with(|s| {
        s.chains[0].max_reply = 2000;
        s.chains[0].engine.retry.count = RetryCount::Times(0);
    })
    .await;
    let long = |len: usize| Answer::result(format!("\"{}\"", "a".repeat(len)));
    site.node.on("eth_getBalance").once(long(5000));
    site.node.on("eth_getBalance").always(long(1000));
    assert_eq!(site.post(&balance(1)).await.row(), (200, -32011));
    assert_eq!(
        site.call(&balance(2)).await["result"]
            .as_str()
            .unwrap()
            .len(),
        1000
    );
}

// R-19
#[tokio::test]
async fn without_the_chain_check_nobody_is_asked_and_nobody_quarantined() {
    let node = ScriptedNode::start().await;
    node.set_chain_id(5);
    let mut settings = settings(&[("ethereum", Some(1), &[node.url()])]);
    settings.chains[0].engine.verify_chain_id = false;
    let gateway = Gateway::start(settings).await.unwrap();
    let mut client = Client::connect(gateway.addr).await;
    assert_eq!(client.get("/readyz").await.status, 200);
    let response = client.post("/", &[], balance(1).as_bytes()).await;
    assert_eq!(response.json()["error"], serde_json::Value::Null);
    assert_eq!(node.record().count("eth_getBalance"), 1);
    assert_eq!(node.record().count("eth_chainId"), 0);
}

// R-30
#[tokio::test]
async fn an_attempt_that_outlives_the_chains_timeout_is_given_to_the_next_endpoint() {
    let (slow, other) = (ScriptedNode::start().await, ScriptedNode::start().await);
    let gate = Gate::new();
    slow.on("eth_getBalance").always(Answer::hang(&gate));
    other.on("eth_getBalance").always(Answer::result("\"0x7\""));
    let mut settings = settings(&[("ethereum", Some(1), &[slow.url(), other.url()])]);
    settings.chains[0].endpoints[1].tier = 1;
    settings.chains[0].timeout = Duration::from_millis(300);
    settings.server.deadline = Duration::from_secs(600);
    let gateway = Gateway::start(settings).await.unwrap();
    let mut client = Client::connect(gateway.addr).await;
    let response = client.post("/", &[], balance(1).as_bytes()).await;
    assert_eq!(response.json()["result"], "0x7");
    assert_eq!(slow.record().count("eth_getBalance"), 1);
}
