//! The way up.

use crate::site::{Client, balance, settings};
use highwater_gateway::{Gateway, ServeError};
use highwater_lab::sockets::{ConnectionFault, ScriptedNode};

#[tokio::test]
async fn urls_alone_are_enough_and_tell_the_chain() {
    let (one, two) = (ScriptedNode::start().await, ScriptedNode::start().await);
    one.set_chain_id(42_161);
    two.set_chain_id(42_161);
    let gateway = Gateway::start(settings(&[("default", None, &[one.url(), two.url()])]))
        .await
        .unwrap();
    let mut client = Client::connect(gateway.addr).await;
    assert_eq!(client.get("/readyz").await.status, 200);
    let answer = client
        .post(
            "/42161",
            &[],
            br#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}"#,
        )
        .await;
    assert_eq!(answer.json()["result"], "0xa4b1");
}

#[tokio::test]
async fn endpoints_on_different_chains_do_not_start_and_are_named() {
    let (one, two) = (ScriptedNode::start().await, ScriptedNode::start().await);
    two.set_chain_id(10);
    let error = Gateway::start(settings(&[("default", None, &[one.url(), two.url()])]))
        .await
        .unwrap_err();
    assert!(
        matches!(error, ServeError::DifferentChains { .. }),
        "{error}"
    );
    assert_eq!(error.exit_code(), 69);
    let text = error.to_string();
    for part in ["node-0 (", "node-1 (", "(1)", "(10)"] {
        assert!(text.contains(part), "{text}");
    }
    assert!(!text.contains("http"), "{text}");
}

#[tokio::test]
async fn a_hanging_endpoint_does_not_hold_up_the_start() {
    let (hanging, good) = (ScriptedNode::start().await, ScriptedNode::start().await);
    hanging.fail_all_connections(ConnectionFault::Ignore);
    let gateway = Gateway::start(settings(&[("default", None, &[hanging.url(), good.url()])]))
        .await
        .unwrap();
    let mut client = Client::connect(gateway.addr).await;
    assert_eq!(client.get("/readyz").await.status, 200);
}

// hardening H18
#[tokio::test]
async fn with_no_endpoint_up_it_serves_unready_unless_told_not_to() {
    let node = ScriptedNode::start().await;
    node.stop().await;
    let mut settings = settings(&[("default", None, &[node.url()])]);
    let gateway = Gateway::start(settings.clone()).await.unwrap();
    let mut client = Client::connect(gateway.addr).await;
    assert_eq!(client.get("/readyz").await.status, 503);
    assert_eq!(client.get("/healthz").await.status, 200);
    let response = client.post("/", &[], balance(1).as_bytes()).await;
    assert_eq!(response.row(), (200, -32011));
    // It learns the chain from the first answer.
    node.restart().await.unwrap();
    assert_eq!(
        client.post("/", &[], balance(1).as_bytes()).await.status,
        200
    );
    settings.server.require_ready = true;
    node.stop().await;
    let error = Gateway::start(settings).await.unwrap_err();
    assert_eq!(error.exit_code(), 69, "{error}");
}

#[tokio::test]
async fn every_endpoint_on_another_chain_than_configured_is_a_mismatch() {
    let node = ScriptedNode::start().await;
    node.set_chain_id(5);
    let gateway = Gateway::start(settings(&[("ethereum", Some(1), &[node.url()])]))
        .await
        .unwrap();
    let mut client = Client::connect(gateway.addr).await;
    assert_eq!(client.get("/readyz").await.status, 503);
    let response = client.post("/", &[], balance(3).as_bytes()).await;
    assert_eq!(response.row(), (200, -32011));
    assert_eq!(response.json()["error"]["data"]["reason"], "chain_mismatch");
    assert_eq!(node.record().count("eth_getBalance"), 0);
}

#[tokio::test]
async fn a_port_in_use_is_told_also_when_another_gateway_has_it() {
    let node = ScriptedNode::start().await;
    let plain = settings(&[("ethereum", Some(1), &[node.url()])]);
    let first = Gateway::start(plain.clone()).await.unwrap();
    let mut second = plain.clone();
    second.server.listen = first.addr;
    let error = Gateway::start(second).await.unwrap_err();
    assert_eq!(error.exit_code(), 71);
    assert!(
        error.to_string().contains(&first.addr.to_string()),
        "{error}"
    );
    let mut third = plain;
    third.admin.listen = Some(first.addr);
    assert_eq!(Gateway::start(third).await.unwrap_err().exit_code(), 71);
}

#[tokio::test]
async fn the_port_is_free_again_after_the_end() {
    let node = ScriptedNode::start().await;
    let mut settings = settings(&[("ethereum", Some(1), &[node.url()])]);
    let first = Gateway::start(settings.clone()).await.unwrap();
    settings.server.listen = first.addr;
    first.shutdown().await;
    let second = Gateway::start(settings).await.unwrap();
    let mut client = Client::connect(second.addr).await;
    assert_eq!(
        client.post("/", &[], balance(1).as_bytes()).await.status,
        200
    );
}

// hardening H18
#[tokio::test]
async fn readiness_makes_no_upstream_call() {
    let node = ScriptedNode::start().await;
    let gateway = Gateway::start(settings(&[("ethereum", Some(1), &[node.url()])]))
        .await
        .unwrap();
    let before = node.record().total();
    let mut client = Client::connect(gateway.addr).await;
    for _ in 0..20 {
        client.get("/readyz").await;
    }
    assert_eq!(node.record().total(), before);
}

#[tokio::test]
async fn one_endpoint_of_two_may_die_and_no_caller_notices() {
    let (one, two) = (ScriptedNode::start().await, ScriptedNode::start().await);
    let gateway = Gateway::start(settings(&[("ethereum", Some(1), &[one.url(), two.url()])]))
        .await
        .unwrap();
    let mut client = Client::connect(gateway.addr).await;
    for id in 0..50 {
        if id == 25 {
            one.stop().await;
        }
        let answer = client.post("/", &[], balance(id).as_bytes()).await;
        assert_eq!(
            (answer.status, answer.json()["id"].clone()),
            (200, id.into())
        );
        assert!(answer.json().get("error").is_none(), "{}", answer.text());
    }
    assert!(two.record().count("eth_getBalance") >= 25);
}
