//! Web pages, browsers and names.

use crate::site::{Response, Site, balance};
use highwater_lab::sockets::Answer;

// hardening A1
#[tokio::test]
async fn a_foreign_page_is_refused_whatever_type_it_claims() {
    let mut site = Site::new().await;
    for kind in [
        "text/plain",
        "application/json",
        "application/x-www-form-urlencoded",
        "",
    ] {
        let headers = [("Origin", "https://evil.test"), ("Content-Type", kind)];
        let response = site.post_with(&headers, &balance(1)).await;
        assert_eq!(response.row(), (403, -32001), "{kind}");
        assert!(response.json()["id"].is_null(), "refused before parsing");
        assert_eq!(response.header("access-control-allow-origin"), None);
        site.heard_nothing();
    }
}

// hardening A1
#[tokio::test]
async fn every_json_like_type_is_accepted_from_programs_and_forms_are_not() {
    let mut site = Site::new().await;
    for kind in [
        "application/json",
        "application/json; charset=utf-8",
        "APPLICATION/JSON",
        "application/json-rpc",
        "application/jsonrequest",
        "text/plain",
        "text/plain;charset=UTF-8",
        "",
    ] {
        let response = site.post_with(&[("Content-Type", kind)], &balance(1)).await;
        assert_eq!(response.status, 200, "{kind}");
        assert_eq!(response.header("content-type"), Some("application/json"));
        assert_eq!(response.header("access-control-allow-origin"), None);
        assert_eq!(site.heard(), 1);
    }
    for kind in [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "Multipart/Form-Data",
        "application/xml",
        "image/png",
    ] {
        let response = site.post_with(&[("Content-Type", kind)], &balance(1)).await;
        assert_eq!(response.row(), (415, -32600), "{kind}");
        site.heard_nothing();
    }
}

#[tokio::test]
async fn no_content_type_at_all_is_accepted() {
    let mut site = Site::new().await;
    let mut client = site.client().await;
    let call = balance(1);
    client
        .send(format!(
            "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{call}",
            call.len()
        ))
        .await;
    assert_eq!(client.response().await.status, 200);
    assert_eq!(site.heard(), 1);
}

// hardening A2
#[tokio::test]
async fn a_loopback_listener_refuses_foreign_host_names() {
    let mut site = Site::with(|s| s.server.allowed_hosts = vec!["rpc.example.com".into()]).await;
    let port = site.gateway.addr.port();
    for host in [
        "evil.test",
        "EVIL.test:80",
        "127.0.0.1.nip.io",
        "localhost.evil.test",
        "10.1.2.3",
        "[2001:db8::1]",
    ] {
        let response = site.post_with(&[("Host", host)], &balance(1)).await;
        assert_eq!(response.row(), (403, -32001), "{host}");
        let mut client = site.client().await;
        assert_eq!(
            client.ask("GET", "/", &[("Host", host)], b"").await.status,
            403
        );
        site.heard_nothing();
    }
    let own = format!("[::1]:{port}");
    for host in [
        "localhost",
        "LOCALHOST.",
        &own,
        "127.0.0.1:1",
        "RPC.example.com:443",
        "rpc.example.com.",
    ] {
        assert_eq!(
            site.post_with(&[("Host", host)], &balance(1)).await.status,
            200,
            "{host}"
        );
        assert_eq!(site.heard(), 1);
    }
}

// hardening A2
#[tokio::test]
async fn the_host_of_an_absolute_target_counts_too() {
    let mut site = Site::new().await;
    let mut client = site.client().await;
    let response = client
        .post(
            "http://evil.test/",
            &[("Host", "localhost")],
            balance(1).as_bytes(),
        )
        .await;
    assert_eq!(response.row(), (403, -32001));
    site.heard_nothing();
    let mut client = site.client().await;
    let response = client
        .post(
            "http://localhost/",
            &[("Host", "localhost")],
            balance(1).as_bytes(),
        )
        .await;
    assert_eq!(response.status, 200);
}

// hardening A3
#[tokio::test]
async fn an_allowed_page_may_read_its_answer_and_a_refused_one_gets_no_header() {
    let page = "https://app.example.com";
    let mut site = Site::with(|s| s.server.allowed_origins = vec![page.into()]).await;
    let response = site.post_with(&[("Origin", page)], &balance(1)).await;
    assert_eq!(response.status, 200);
    assert_eq!(response.header("access-control-allow-origin"), Some(page));
    assert_eq!(response.header("vary"), Some("Origin"));
    assert_eq!(response.header("access-control-allow-credentials"), None);
    let exposed = response.header("access-control-expose-headers").unwrap();
    assert!(exposed.contains("Retry-After") && exposed.contains("X-Highwater-Endpoint"));
    assert_eq!(site.heard(), 1);
    for origin in [
        "https://app.example.com.evil.test",
        "http://app.example.com",
        "https://app.example.com:444",
        "null",
    ] {
        let response = site.post_with(&[("Origin", origin)], &balance(1)).await;
        assert_eq!(response.row(), (403, -32001), "{origin}");
        assert_eq!(response.header("access-control-allow-origin"), None);
        site.heard_nothing();
    }
}

// hardening A3
#[tokio::test]
async fn a_preflight_is_answered_for_allowed_pages_only() {
    let page = "https://app.example.com";
    let mut site = Site::with(|s| s.server.allowed_origins = vec![page.into()]).await;
    let asked = ("Access-Control-Request-Headers", "content-type, x-api-key");
    let method = ("Access-Control-Request-Method", "POST");
    let mut client = site.client().await;
    let response = client
        .ask(
            "OPTIONS",
            "/ethereum",
            &[("Origin", page), asked, method],
            b"",
        )
        .await;
    assert_eq!((response.status, response.body.len()), (204, 0));
    assert_eq!(response.header("access-control-allow-origin"), Some(page));
    assert_eq!(
        response.header("access-control-allow-methods"),
        Some("POST, GET, OPTIONS")
    );
    assert_eq!(
        response.header("access-control-allow-headers"),
        Some(asked.1)
    );
    assert_eq!(response.header("access-control-max-age"), Some("600"));
    assert_eq!(response.header("vary"), Some("Origin"));
    let refused = client
        .ask(
            "OPTIONS",
            "/",
            &[("Origin", "https://evil.test"), asked, method],
            b"",
        )
        .await;
    assert_eq!(refused.status, 403);
    assert_eq!(refused.header("access-control-allow-origin"), None);
    let plain = site.client().await.ask("OPTIONS", "/", &[], b"").await;
    assert_eq!(
        (plain.status, plain.header("access-control-allow-origin")),
        (204, None)
    );
    site.heard_nothing();
}

// hardening A3
#[tokio::test]
async fn a_wildcard_is_answered_as_one_and_never_with_credentials() {
    let site = Site::with(|s| s.server.allowed_origins = vec!["*".into()]).await;
    let response = site
        .post_with(&[("Origin", "https://any.test")], &balance(1))
        .await;
    assert_eq!(response.header("access-control-allow-origin"), Some("*"));
    assert_eq!(response.header("access-control-allow-credentials"), None);
    assert_eq!(
        site.post_with(&[("Origin", "null")], &balance(1))
            .await
            .status,
        403
    );
}

// hardening A4
#[tokio::test]
async fn an_upgrade_from_a_foreign_page_is_refused_like_any_request() {
    let mut site =
        Site::with(|s| s.server.allowed_origins = vec!["https://app.example.com".into()]).await;
    let upgrade = [
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    for (origin, status) in [
        ("https://evil.test", 403),
        ("null", 403),
        ("https://APP.example.com.", 403),
        ("https://app.example.com:8443", 403),
        // Allowed pages learn that there is no WebSocket here.
        ("https://App.Example.com", 405),
        ("https://app.example.com:443", 405),
    ] {
        let headers: Vec<_> = upgrade.into_iter().chain([("Origin", origin)]).collect();
        let response = site.client().await.ask("GET", "/", &headers, b"").await;
        assert_eq!(response.status, status, "{origin}");
    }
    assert_eq!(
        site.client()
            .await
            .ask("GET", "/", &upgrade, b"")
            .await
            .status,
        405
    );
    site.heard_nothing();
}

// hardening A3
#[tokio::test]
async fn a_compressed_answer_to_a_page_varies_by_its_origin_and_by_its_encoding() {
    let site = Site::with(|s| s.server.allowed_origins = vec!["https://a.test".into()]).await;
    site.node
        .on("eth_getBalance")
        .always(Answer::result(format!("\"{}\"", "a".repeat(5000))));
    let headers = [("Origin", "https://a.test"), ("Accept-Encoding", "gzip")];
    let response = site.post_with(&headers, &balance(1)).await;
    assert_eq!(response.header("content-encoding"), Some("gzip"));
    let vary = |response: &Response| {
        let names = response.headers.iter().filter(|(name, _)| name == "vary");
        let mut values: Vec<_> = names.map(|(_, value)| value.clone()).collect();
        values.sort();
        values
    };
    assert_eq!(vary(&response), ["Accept-Encoding", "Origin"]);
    let mut client = site.client().await;
    let response = client.ask("OPTIONS", "/", &headers[..1], b"").await;
    assert_eq!(vary(&response), ["Origin"]);
}
