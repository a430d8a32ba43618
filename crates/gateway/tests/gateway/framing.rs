//! Requests that two servers could read differently, and heads out of bounds.

use crate::site::{Site, balance};
use std::time::Duration;

fn smuggled() -> Vec<(&'static str, String)> {
    let call = balance(1);
    let len = call.len();
    let start = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    vec![
        (
            "CL and TE",
            format!("{start}Content-Length: {len}\r\nTransfer-Encoding: chunked\r\n\r\n{call}"),
        ),
        (
            "TE and CL",
            format!("{start}Transfer-Encoding: chunked\r\nContent-Length: {len}\r\n\r\n0\r\n\r\n"),
        ),
        (
            "two CL",
            format!("{start}Content-Length: {len}\r\nContent-Length: 3\r\n\r\n{call}"),
        ),
        (
            "the same CL twice",
            format!("{start}Content-Length: {len}\r\nContent-Length: {len}\r\n\r\n{call}"),
        ),
        (
            "CL list",
            format!("{start}Content-Length: {len}, {len}\r\n\r\n{call}"),
        ),
        (
            "CL with sign",
            format!("{start}Content-Length: +{len}\r\n\r\n{call}"),
        ),
        (
            "TE other",
            format!("{start}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        ),
        (
            "TE twice",
            format!(
                "{start}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            ),
        ),
        (
            "obs-fold",
            format!("{start}X-A: b\r\n Content-Length: 3\r\nContent-Length: {len}\r\n\r\n{call}"),
        ),
        (
            "bare LF in a header",
            format!("{start}X-A: b\nContent-Length: {len}\r\n\r\n{call}"),
        ),
        (
            "bare LF everywhere",
            format!("POST / HTTP/1.1\nHost: localhost\nContent-Length: {len}\n\n{call}"),
        ),
        (
            "bare CR",
            format!("{start}X-A: b\rc\r\nContent-Length: {len}\r\n\r\n{call}"),
        ),
        (
            "space before the colon",
            format!("{start}Content-Length : {len}\r\n\r\n{call}"),
        ),
        (
            "NUL",
            format!("{start}X-A: \0\r\nContent-Length: {len}\r\n\r\n{call}"),
        ),
    ]
}

// hardening A10
#[tokio::test]
async fn ambiguous_framing_is_400_and_the_connection_ends() {
    let mut site = Site::new().await;
    for (what, bytes) in smuggled() {
        let mut client = site.client().await;
        client.send(&bytes).await;
        let response = client.response().await;
        assert_eq!(response.status, 400, "{what}");
        assert!(client.is_closed().await, "{what}");
        site.heard_nothing();
    }
}

// hardening A10
#[tokio::test]
async fn a_good_request_before_a_smuggled_one_is_served_and_nothing_after_it() {
    let mut site = Site::new().await;
    for (what, bytes) in smuggled() {
        let mut client = site.client().await;
        let good = client.request("POST", "/", &[], balance(7).as_bytes());
        let again = client.request("POST", "/", &[], balance(8).as_bytes());
        client
            .send([good, bytes.into_bytes(), again].concat())
            .await;
        let first = client.response().await;
        assert_eq!(
            (first.status, &first.json()["id"]),
            (200, &7.into()),
            "{what}"
        );
        assert_eq!(client.response().await.status, 400, "{what}");
        assert!(client.is_closed().await, "{what}");
        assert_eq!(site.heard(), 1, "{what}");
    }
}

// hardening A10
#[tokio::test]
async fn a_chunked_request_is_served_and_its_connection_closed() {
    let mut site = Site::new().await;
    let mut client = site.client().await;
    let call = balance(1);
    let chunked = format!("{:x}\r\n{call}\r\n0\r\n\r\n", call.len());
    let request = client.request(
        "POST",
        "/",
        &[("Transfer-Encoding", "chunked")],
        chunked.as_bytes(),
    );
    let hidden = client.request("POST", "/", &[], balance(2).as_bytes());
    client.send([request, hidden].concat()).await;
    let response = client.response().await;
    assert_eq!(
        (response.status, response.header("connection")),
        (200, Some("close"))
    );
    assert!(client.is_closed().await);
    assert_eq!(site.heard(), 1);
}

// hardening A10
#[tokio::test]
async fn nothing_of_the_callers_headers_goes_upstream() {
    let site = Site::new().await;
    let headers = [
        ("X-Marker", "canary-1"),
        ("Cookie", "canary-2"),
        ("Connection", "keep-alive, x-marker"),
        ("TE", "trailers"),
        ("Authorization", "Bearer canary-3"),
    ];
    assert_eq!(site.post_with(&headers, &balance(1)).await.status, 200);
    let request = site.node.record().requests().pop().unwrap();
    let all = format!("{:?}", request.http.headers);
    assert!(
        !all.contains("canary") && !all.contains("trailers"),
        "{all}"
    );
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order_on_one_connection() {
    let mut site = Site::new().await;
    let mut client = site.client().await;
    let mut all = Vec::new();
    for id in 1..=20 {
        all.extend(client.request("POST", "/", &[], balance(id).as_bytes()));
    }
    client.send(all).await;
    for id in 1..=20 {
        assert_eq!(client.response().await.json()["id"], id);
    }
    assert_eq!(site.heard(), 20);
}

// hardening A9
#[tokio::test]
async fn heads_out_of_bounds_are_431_and_long_targets_414() {
    let mut site = Site::new().await;
    let many: String = (0..101).map(|n| format!("X-{n}: a\r\n")).collect();
    let cases = [
        (
            431,
            format!("GET / HTTP/1.1\r\nHost: localhost\r\n{many}\r\n"),
        ),
        (
            431,
            format!(
                "GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n",
                "a".repeat(70_000)
            ),
        ),
        // No line end at all: refused before it is stored.
        (
            431,
            format!(
                "GET / HTTP/1.1\r\nHost: localhost\r\nX: {}",
                "a".repeat(300_000)
            ),
        ),
        (
            414,
            format!(
                "GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n",
                "a".repeat(8_192)
            ),
        ),
        (
            414,
            format!(
                "GET /?{} HTTP/1.1\r\nHost: localhost\r\n\r\n",
                "a".repeat(8_192)
            ),
        ),
    ];
    for (status, bytes) in cases {
        let mut client = site.client().await;
        client.send(bytes).await;
        assert_eq!(client.response().await.status, status);
        assert!(client.is_closed().await);
    }
    let some: String = (0..90).map(|n| format!("X-{n}: a\r\n")).collect();
    let mut client = site.client().await;
    client
        .send(format!("GET / HTTP/1.1\r\nHost: localhost\r\n{some}\r\n"))
        .await;
    assert_eq!(client.response().await.status, 200);
    site.heard_nothing();
}

// hardening A6
#[tokio::test]
async fn an_unfinished_head_ends_the_connection() {
    let mut site = Site::with(|s| s.server.header_timeout = Duration::from_millis(40)).await;
    let mut client = site.client().await;
    client.send("POST / HTTP/1.1\r\nHost: local").await;
    assert!(client.is_closed().await);
    site.heard_nothing();
}

#[tokio::test]
async fn http_1_0_without_a_host_is_served_and_http_1_1_without_one_is_not() {
    let mut site = Site::new().await;
    for (version, host, status) in [
        ("1.0", "", 200),
        ("1.1", "", 400),
        ("1.1", "Host: localhost\r\nHost: localhost\r\n", 400),
    ] {
        let mut client = site.client().await;
        client
            .send(format!("GET / HTTP/{version}\r\n{host}\r\n"))
            .await;
        assert_eq!(client.response().await.status, status, "{version} {host:?}");
    }
    site.heard_nothing();
}
