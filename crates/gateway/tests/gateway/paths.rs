//! Verbs, paths and probes.

use crate::site::{Client, Site, balance, settings};
use highwater_gateway::Gateway;
use highwater_lab::sockets::ScriptedNode;

// hardening A5
#[tokio::test]
async fn a_probe_of_the_rpc_path_is_an_empty_200_and_calls_nobody() {
    let mut site = Site::new().await;
    let mut client = site.client().await;
    for (method, target) in [
        ("GET", "/"),
        ("HEAD", "/"),
        ("GET", "/ethereum"),
        ("GET", "/1"),
        ("HEAD", "/healthz"),
        ("GET", "/healthz"),
        ("GET", "/readyz"),
    ] {
        let response = client.ask(method, target, &[], b"").await;
        assert_eq!(response.status, 200, "{method} {target}");
        assert_eq!(
            response.body.is_empty(),
            !target.ends_with('z') || method == "HEAD",
            "{method} {target}"
        );
    }
    site.heard_nothing();
}

// hardening A5
#[tokio::test]
async fn a_get_never_executes_a_call() {
    let mut site = Site::new().await;
    let mut client = site.client().await;
    for target in [
        "/?jsonrpc=2.0&id=1&method=eth_getBalance&params=%5B%5D",
        "/ethereum?method=eth_blockNumber",
        "/?",
    ] {
        let response = client.get(target).await;
        assert_eq!(
            (response.status, response.header("allow")),
            (405, Some("POST, OPTIONS")),
            "{target}"
        );
    }
    // Not with a body either.
    let response = client.ask("GET", "/", &[], balance(1).as_bytes()).await;
    assert_eq!((response.status, response.body.len()), (200, 0));
    site.heard_nothing();
}

// hardening A5
#[tokio::test]
async fn other_verbs_are_405_with_the_allowed_ones() {
    let mut site = Site::new().await;
    for method in ["PUT", "DELETE", "PATCH", "TRACE", "FOO"] {
        let response = site.client().await.ask(method, "/", &[], b"").await;
        assert_eq!(response.status, 405, "{method}");
        assert_eq!(response.header("allow"), Some("POST, GET, HEAD, OPTIONS"));
    }
    let response = site.client().await.post("/healthz", &[], b"{}").await;
    assert_eq!(
        (response.status, response.header("allow")),
        (405, Some("GET, HEAD"))
    );
    site.heard_nothing();
}

// hardening A5
#[tokio::test]
async fn an_unknown_path_is_404_with_the_callers_id() {
    let mut site = Site::new().await;
    for target in [
        "/nope",
        "/2",
        "/ethereum/a/b",
        "/metrics",
        "/status",
        "/api/health",
        "//",
        "/0x2",
    ] {
        let response = site
            .client()
            .await
            .post(target, &[], balance(9).as_bytes())
            .await;
        assert_eq!(response.row(), (404, -32001), "{target}");
        assert_eq!(response.json()["id"], 9);
        assert_eq!(
            site.client().await.get(target).await.status,
            404,
            "{target}"
        );
    }
    let batch = format!("[{},{},7]", balance(1), balance(2));
    let response = site
        .client()
        .await
        .post("/nope", &[], batch.as_bytes())
        .await;
    let all = response.json();
    assert_eq!(response.status, 404);
    let ids: Vec<_> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["id"].clone())
        .collect();
    assert_eq!(ids, [1.into(), 2.into(), serde_json::Value::Null]);
    site.heard_nothing();
}

#[tokio::test]
async fn chains_are_told_apart_by_name_alias_and_id() {
    let (one, two) = (ScriptedNode::start().await, ScriptedNode::start().await);
    two.set_chain_id(8453);
    let mut settings = settings(&[
        ("ethereum", Some(1), &[one.url()]),
        ("base", Some(8453), &[two.url()]),
    ]);
    settings.chains[0].aliases = vec!["eth".into()];
    let gateway = Gateway::start(settings).await.unwrap();
    let mut client = Client::connect(gateway.addr).await;
    let ask = br#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}"#;
    for (target, chain) in [
        ("/ethereum", "0x1"),
        ("/eth", "0x1"),
        ("/ETH", "0x1"),
        ("/1", "0x1"),
        ("/0x1", "0x1"),
        ("/base", "0x2105"),
        ("/8453", "0x2105"),
        ("/0x2105", "0x2105"),
        ("/base/", "0x2105"),
    ] {
        assert_eq!(
            client.post(target, &[], ask).await.json()["result"],
            chain,
            "{target}"
        );
    }
    // Which chain the bare path means cannot be told, but it still answers a probe.
    assert_eq!(client.post("/", &[], ask).await.row(), (404, -32001));
    assert_eq!(client.get("/").await.status, 200);
    let balances = one.record().count("eth_getBalance") + two.record().count("eth_getBalance");
    assert_eq!(balances, 0);
    client.post("/base", &[], balance(1).as_bytes()).await;
    assert_eq!(two.record().count("eth_getBalance"), 1);
    assert_eq!(one.record().count("eth_getBalance"), 0);
}

#[tokio::test]
async fn without_any_chain_calls_are_503() {
    let gateway = Gateway::start(settings(&[])).await.unwrap();
    let mut client = Client::connect(gateway.addr).await;
    let response = client.post("/", &[], balance(4).as_bytes()).await;
    assert_eq!(response.row(), (503, -32011));
    assert_eq!(response.json()["id"], 4);
    assert_eq!(client.get("/readyz").await.status, 503);
    assert_eq!(client.get("/healthz").await.status, 200);
}
