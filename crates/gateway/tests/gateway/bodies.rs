//! What may be in a body, and how much of it.

use crate::site::{Site, balance};
use flate2::{Compression, write::GzEncoder};
use std::{io::Write, time::Duration};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A legal call of about so many bytes.
fn padded(len: usize) -> String {
    let call = balance(1);
    format!("{}{call}", " ".repeat(len - call.len()))
}

// hardening B1
#[tokio::test]
async fn a_body_over_the_limit_is_413_by_its_stated_and_by_its_real_length() {
    let mut site = Site::with(|s| s.server.max_body = 1000).await;
    assert_eq!(site.post(&padded(1000)).await.status, 200);
    assert_eq!(site.heard(), 1);
    // Stated.
    let mut client = site.client().await;
    let response = client.post("/", &[], padded(1001).as_bytes()).await;
    assert_eq!(response.row(), (413, -32600));
    assert_eq!(response.header("connection"), Some("close"));
    assert!(client.is_closed().await);
    // Stated, and never sent: refused before a byte is read.
    let mut client = site.client().await;
    client
        .send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n")
        .await;
    assert_eq!(client.response().await.status, 413);
    // In chunks, without a length.
    let mut client = site.client().await;
    let piece = format!("1f4\r\n{}\r\n", " ".repeat(500));
    let chunks = format!("{piece}{piece}{piece}0\r\n\r\n");
    let request = client.request(
        "POST",
        "/",
        &[("Transfer-Encoding", "chunked")],
        chunks.as_bytes(),
    );
    client.send(request).await;
    assert_eq!(client.response().await.row(), (413, -32600));
    assert!(client.is_closed().await);
    site.heard_nothing();
}

// hardening B1
#[tokio::test]
async fn a_large_refused_body_does_not_drown_the_refusal() {
    let mut site = Site::with(|s| s.server.max_body = 1000).await;
    for _ in 0..5 {
        let mut client = site.client().await;
        let response = client.post("/", &[], padded(4_000_000).as_bytes()).await;
        assert_eq!(response.row(), (413, -32600));
    }
    site.heard_nothing();
}

// hardening A7
#[tokio::test]
async fn a_slow_body_is_408() {
    let mut site = Site::with(|s| s.server.body_timeout = Duration::from_millis(30)).await;
    for sent in [0, 1, 20] {
        let mut client = site.client().await;
        let request = client.request("POST", "/", &[], balance(1).as_bytes());
        let head = request.len() - balance(1).len();
        client.send(&request[..head + sent]).await;
        let response = client.response().await;
        assert_eq!(response.row(), (408, -32600), "{sent}");
        assert!(client.is_closed().await);
    }
    site.heard_nothing();
}

// hardening B2
#[tokio::test]
async fn a_compressed_body_is_accepted_within_the_limits_of_what_it_inflates_to() {
    let mut site = Site::with(|s| s.server.max_body = 10_000).await;
    let gz = ("Content-Encoding", "gzip");
    let mut client = site.client().await;
    let response = client.post("/", &[gz], &gzip(balance(3).as_bytes())).await;
    assert_eq!((response.status, &response.json()["id"]), (200, &3.into()));
    assert_eq!(site.heard(), 1);
    // Small as sent, too large inflated; and a bomb, by its ratio.
    let large: String = (0..3000_u32)
        .map(|n| format!("{:07x}", n.wrapping_mul(2_654_435_761)))
        .collect();
    for body in [gzip(large.as_bytes()), gzip(&vec![b' '; 1_900_000])] {
        let response = site.client().await.post("/", &[gz], &body).await;
        assert_eq!(response.row(), (413, -32600));
    }
    for coding in ["br", "zstd", "deflate", "gzip, gzip"] {
        let response = site
            .client()
            .await
            .post("/", &[("Content-Encoding", coding)], b"x")
            .await;
        assert_eq!(response.row(), (415, -32600), "{coding}");
    }
    let response = site.client().await.post("/", &[gz], b"no gzip").await;
    assert_eq!(response.row(), (200, -32700));
    site.heard_nothing();
}

// hardening B3, B4, B8
#[tokio::test]
async fn what_is_no_json_is_a_parse_error_with_a_null_id() {
    let mut site = Site::new().await;
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"eth_call","params":{}{}}}"#,
        "[".repeat(200),
        "]".repeat(200)
    );
    let bomb = "[".repeat(1_000_000);
    let bodies: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b"{".to_vec(),
        b"nope".to_vec(),
        deep.into_bytes(),
        bomb.into_bytes(),
        br#"{"jsonrpc":"2.0","id":NaN,"method":"eth_call"}"#.to_vec(),
        br#"{"jsonrpc":"2.0","id":Infinity,"method":"eth_call"}"#.to_vec(),
        br#"{"jsonrpc":"2.0","id":01,"method":"eth_call"}"#.to_vec(),
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_\xff\"}".to_vec(),
        format!("{}{}", balance(1), balance(2)).into_bytes(),
        format!("{} x", balance(1)).into_bytes(),
    ];
    for body in bodies {
        let response = site
            .client()
            .await
            .post("/", &[("Content-Length", &body.len().to_string())], &body)
            .await;
        assert_eq!(
            response.row(),
            (200, -32700),
            "{:?}",
            String::from_utf8_lossy(&body[..body.len().min(60)])
        );
        assert!(response.json()["id"].is_null());
    }
    site.heard_nothing();
}

// hardening B8
#[tokio::test]
async fn a_byte_order_mark_and_white_space_before_a_call_are_accepted() {
    let mut site = Site::new().await;
    for before in ["\u{feff}", " \r\n\t"] {
        assert_eq!(site.call(&format!("{before}{}", balance(1))).await["id"], 1);
        assert_eq!(site.heard(), 1);
    }
}

// hardening B4, B5
#[tokio::test]
async fn ids_come_back_byte_for_byte() {
    let site = Site::new().await;
    for id in [
        "1",
        "0",
        "-1",
        "1e3",
        "1E+3",
        "-0",
        "1.50",
        "1e999",
        "18446744073709551616",
        "123456789012345678901234567890",
        "null",
        r#""a""#,
        r#""""#,
        r#""\u00e9\n\"""#,
        r#""é""#,
        r#""0x1""#,
    ] {
        let body =
            format!(r#"{{"id":{id},"jsonrpc":"2.0","method":"eth_getBalance","params":[]}}"#);
        let response = site.post(&body).await;
        let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#);
        assert!(
            response.text().starts_with(&expected),
            "{id}: {}",
            response.text()
        );
        let body = format!(r#"{{"id":{id},"jsonrpc":"2.0","method":"no_such","params":[]}}"#);
        let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":"#);
        assert!(site.post(&body).await.text().starts_with(&expected), "{id}");
    }
}

// hardening B5, B6
#[tokio::test]
async fn a_request_that_is_no_request_is_refused_with_its_id_where_it_has_one() {
    let mut site = Site::new().await;
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":"{}","method":"eth_getBalance"}}"#,
        "a".repeat(1_000_000)
    );
    for (body, id) in [
        (
            r#"{"jsonrpc":"2.0","id":true,"method":"eth_getBalance"}"#,
            "null",
        ),
        (
            r#"{"jsonrpc":"2.0","id":{},"method":"eth_getBalance"}"#,
            "null",
        ),
        (
            r#"{"jsonrpc":"2.0","id":[1],"method":"eth_getBalance"}"#,
            "null",
        ),
        (&long, "null"),
        (
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"eth_getBalance"}"#,
            "null",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","method":"eth_getBalance"}"#,
            "1",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","\u006dethod":"eth_chainId"}"#,
            "1",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":[],"params":[1]}"#,
            "1",
        ),
        (r#"{"jsonrpc":"1.0","id":1,"method":"eth_getBalance"}"#, "1"),
        (r#"{"jsonrpc":"2.0","id":1}"#, "1"),
        (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, "1"),
        ("5", "null"),
        ("null", "null"),
        (r#""eth_getBalance""#, "null"),
        ("[]", "null"),
    ] {
        let response = site.post(body).await;
        assert_eq!(
            response.row(),
            (200, -32600),
            "{}",
            &body[..body.len().min(80)]
        );
        assert_eq!(
            response.json()["id"].to_string(),
            id,
            "{}",
            &body[..body.len().min(80)]
        );
    }
    site.heard_nothing();
}
