//! The admin listener.

use crate::site::{Client, Site, settings};
use highwater_gateway::{Gateway, config::Secret};
use highwater_lab::sockets::ScriptedNode;
use std::net::SocketAddr;

async fn with_admin(token: Option<&str>) -> Site {
    Site::with(|s| {
        s.admin.listen = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
        s.admin.token = token.map(|t| Secret::new(t.into()));
    })
    .await
}

// hardening C10
#[tokio::test]
async fn health_details_are_on_the_admin_listener_and_nowhere_else() {
    let mut site = with_admin(None).await;
    let mut admin = Client::connect(site.gateway.admin_addr.unwrap()).await;
    let health = admin.get("/api/health").await;
    assert_eq!(health.status, 200);
    let health = health.json();
    assert_eq!(health["status"], "ready");
    let chain = &health["chains"][0];
    assert_eq!(
        (&chain["name"], &chain["id"], &chain["ready"]),
        (&"ethereum".into(), &1.into(), &true.into())
    );
    let endpoint = &chain["endpoints"][0];
    assert_eq!(endpoint["label"], "node-0");
    assert_eq!(endpoint["host"], "127.0.0.1");
    assert_eq!(endpoint["chain_check"], "verified");
    assert_eq!(admin.get("/healthz").await.status, 200);
    assert_eq!(admin.get("/readyz").await.status, 200);
    for target in ["/", "/ethereum", "/api", "/api/health/x"] {
        assert_eq!(admin.get(target).await.status, 404, "{target}");
    }
    let response = Client::connect(site.gateway.admin_addr.unwrap())
        .await
        .post("/api/health", &[], b"{}")
        .await;
    assert_eq!(
        (response.status, response.header("allow")),
        (405, Some("GET, HEAD"))
    );
    for target in ["/api/health", "/metrics", "/status"] {
        assert_eq!(
            site.client().await.get(target).await.status,
            404,
            "{target}"
        );
    }
    site.heard_nothing();
}

// hardening C10
#[tokio::test]
async fn a_token_is_needed_for_everything_but_the_probes() {
    let site = with_admin(Some("a secret")).await;
    let mut admin = Client::connect(site.gateway.admin_addr.unwrap()).await;
    for headers in [
        &[][..],
        &[("Authorization", "Bearer wrong")],
        &[("Authorization", "a secret")],
        &[
            ("Authorization", "Bearer a secret"),
            ("Authorization", "Bearer a secret"),
        ],
    ] {
        assert_eq!(
            admin.ask("GET", "/api/health", headers, b"").await.status,
            401,
            "{headers:?}"
        );
        assert_eq!(
            admin.ask("GET", "/nope", headers, b"").await.status,
            401,
            "{headers:?}"
        );
    }
    assert_eq!(
        admin
            .ask(
                "GET",
                "/api/health",
                &[("Authorization", "Bearer a secret")],
                b""
            )
            .await
            .status,
        200
    );
    assert_eq!(admin.get("/healthz").await.status, 200);
}

// hardening A2
#[tokio::test]
async fn the_admin_listener_has_the_same_host_rule_and_is_for_no_page() {
    let site = with_admin(None).await;
    let mut admin = Client::connect(site.gateway.admin_addr.unwrap()).await;
    assert_eq!(
        admin
            .ask("GET", "/api/health", &[("Host", "evil.test")], b"")
            .await
            .status,
        403
    );
    assert_eq!(
        admin
            .ask(
                "GET",
                "/api/health",
                &[("Origin", "https://evil.test")],
                b""
            )
            .await
            .status,
        403
    );
    assert_eq!(
        admin
            .ask("GET", "/api/health", &[("Host", "localhost")], b"")
            .await
            .status,
        200
    );
}

// hardening C10
#[tokio::test]
async fn an_admin_listener_that_others_can_reach_does_not_start_without_a_token() {
    let node = ScriptedNode::start().await;
    let mut settings = settings(&[("ethereum", Some(1), &[node.url()])]);
    settings.admin.listen = Some(SocketAddr::from(([0, 0, 0, 0], 0)));
    let error = Gateway::start(settings.clone()).await.unwrap_err();
    assert_eq!(error.exit_code(), 64);
    assert!(error.to_string().contains("token"), "{error}");
    settings.admin.token = Some(Secret::new("t".into()));
    assert!(Gateway::start(settings).await.is_ok());
}

// hardening H18
#[tokio::test]
async fn a_quarantined_endpoint_is_shown_with_what_it_serves() {
    let (good, stray) = (ScriptedNode::start().await, ScriptedNode::start().await);
    stray.set_chain_id(5);
    let mut settings = settings(&[("ethereum", Some(1), &[stray.url(), good.url()])]);
    settings.admin.listen = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    let gateway = Gateway::start(settings).await.unwrap();
    let mut admin = Client::connect(gateway.admin_addr.unwrap()).await;
    let health = admin.get("/api/health").await.json();
    let endpoints = &health["chains"][0]["endpoints"];
    assert_eq!(
        (&endpoints[0]["chain_check"], &endpoints[0]["found_chain"]),
        (&"wrong_chain".into(), &5.into())
    );
    assert_eq!(endpoints[1]["chain_check"], "verified");
    assert_eq!(health["status"], "ready");
}
