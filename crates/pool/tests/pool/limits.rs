//! Deadlines and size limits of the HTTP upstream.

use crate::bench::{AMPLE, SHORT, maybe_sent, result_of, send, send_within, unsent, upstream};
use highwater::upstream::{HttpOptions, SendErrorKind};
use highwater_lab::sockets::{Answer, ConnectionFault, Gate, ScriptedNode};

// hardening E2
#[tokio::test]
async fn gives_up_on_an_endpoint_that_does_not_answer_and_closes_the_connection() {
    let node = ScriptedNode::start().await;
    let gate = Gate::new();
    node.on("eth_call").always(Answer::hang(&gate));
    let upstream = upstream(&node, HttpOptions::default());
    let error = send_within(&upstream, "eth_call", SHORT).await.unwrap_err();
    assert_eq!(error, maybe_sent(SendErrorKind::Timeout));
    gate.open();
    node.record().wait_for_open_connections(0).await;
}

// hardening E2
#[tokio::test]
async fn gives_up_on_a_server_that_never_reads() {
    let node = ScriptedNode::start().await;
    node.fail_all_connections(ConnectionFault::Ignore);
    let upstream = upstream(&node, HttpOptions::default());
    let error = send_within(&upstream, "eth_call", SHORT).await.unwrap_err();
    assert_eq!(error, maybe_sent(SendErrorKind::Timeout));
}

// hardening E2
#[tokio::test]
async fn counts_the_wait_for_the_head_by_itself_where_that_is_asked() {
    let node = ScriptedNode::start().await;
    let gate = Gate::new();
    node.on("eth_call").always(Answer::hang(&gate));
    let options = HttpOptions {
        header_timeout: Some(SHORT),
        ..HttpOptions::default()
    };
    let error = send(&upstream(&node, options), "eth_call")
        .await
        .unwrap_err();
    assert_eq!(error, maybe_sent(SendErrorKind::Timeout));
}

// hardening E2
#[tokio::test]
async fn gives_up_on_a_body_that_stalls_between_its_pieces() {
    let node = ScriptedNode::start().await;
    let gate = Gate::new();
    node.on("eth_call")
        .always(Answer::result("\"0x1234567890\"").dripping(4, &gate));
    gate.release(2);
    let options = HttpOptions {
        stall_timeout: SHORT,
        ..HttpOptions::default()
    };
    let error = send(&upstream(&node, options), "eth_call")
        .await
        .unwrap_err();
    assert_eq!(error, maybe_sent(SendErrorKind::Timeout));
}

// hardening E2
#[tokio::test]
async fn bounds_a_body_by_the_attempt_however_long_it_may_stall() {
    let node = ScriptedNode::start().await;
    let gate = Gate::new();
    node.on("eth_call")
        .always(Answer::result("\"0x1234567890\"").dripping(4, &gate));
    gate.release(1);
    let options = HttpOptions {
        stall_timeout: AMPLE,
        ..HttpOptions::default()
    };
    let error = send_within(&upstream(&node, options), "eth_call", SHORT)
        .await
        .unwrap_err();
    assert_eq!(error, maybe_sent(SendErrorKind::Timeout));
}

// hardening E1
#[tokio::test]
async fn counts_the_making_of_a_connection_by_itself() {
    // A listener whose queue is full: the kernel answers no further handshake.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut queued = Vec::new();
    while let Ok(Ok(stream)) =
        tokio::time::timeout(SHORT, tokio::net::TcpStream::connect(address)).await
    {
        queued.push(stream);
    }
    let url = highwater::SecretUrl::parse(&format!("http://{address}/")).unwrap();
    let options = HttpOptions {
        connect_timeout: SHORT,
        ..HttpOptions::default()
    };
    let upstream = highwater::upstream::HttpUpstream::new(&url, options).unwrap();
    let error = send(&upstream, "eth_call").await.unwrap_err();
    assert_eq!(error, unsent(SendErrorKind::Timeout));
}

// hardening E2
#[tokio::test]
async fn refuses_a_body_over_the_cap_stated_or_not() {
    let node = ScriptedNode::start().await;
    node.on("eth_call").once(Answer::huge(1 << 20));
    node.on("eth_call").once(Answer::endless());
    node.on("eth_call")
        .once(Answer::result("1").claiming_length(u64::MAX));
    let options = HttpOptions {
        max_reply: 64 << 10,
        ..HttpOptions::default()
    };
    let upstream = upstream(&node, options);
    for _ in 0..2 {
        let error = send(&upstream, "eth_call").await.unwrap_err();
        assert_eq!(error, maybe_sent(SendErrorKind::TooLarge));
        node.record().wait_for_open_connections(0).await;
    }
    // 2^64-1 is no length that HTTP libraries take.
    let error = send(&upstream, "eth_call").await.unwrap_err();
    assert!(
        matches!(
            error.kind,
            SendErrorKind::TooLarge | SendErrorKind::Protocol
        ),
        "{error:?}"
    );
}

#[tokio::test]
async fn inflates_what_is_packed_and_asks_for_it_only_where_told() {
    let node = ScriptedNode::start().await;
    node.on("eth_call")
        .always(Answer::result("\"0x1234\"").gzip());
    for gzip in [Some(true), None] {
        let upstream = upstream(
            &node,
            HttpOptions {
                gzip,
                ..HttpOptions::default()
            },
        );
        let reply = send(&upstream, "eth_call").await.unwrap();
        assert_eq!(result_of(&reply), "\"0x1234\"");
        let seen = node.record().requests();
        let asked = seen
            .last()
            .unwrap()
            .http
            .header("accept-encoding")
            .map(str::to_owned);
        assert_eq!(asked.as_deref(), gzip.map(|_| "gzip"));
    }
}

// hardening E3
#[tokio::test]
async fn refuses_a_gzip_bomb() {
    let node = ScriptedNode::start().await;
    node.on("eth_call").always(Answer::gzip_bomb(6 << 20));
    let error = send(&upstream(&node, HttpOptions::default()), "eth_call")
        .await
        .unwrap_err();
    assert_eq!(error, maybe_sent(SendErrorKind::TooLarge));
}

// hardening E4
#[tokio::test]
async fn calls_a_coding_that_is_not_what_it_says_bad_http() {
    let node = ScriptedNode::start().await;
    node.on("eth_call")
        .once(Answer::result("1").header("content-encoding", "gzip"));
    node.on("eth_call")
        .once(Answer::result("1").header("content-encoding", "br"));
    let upstream = upstream(&node, HttpOptions::default());
    for _ in 0..2 {
        let error = send(&upstream, "eth_call").await.unwrap_err();
        assert_eq!(error, maybe_sent(SendErrorKind::Protocol));
    }
}

#[tokio::test]
async fn calls_bytes_that_are_no_http_bad_http() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_u8().await.unwrap();
        stream
            .write_all(b"SSH-2.0-OpenSSH_9.9\r\n\r\n")
            .await
            .unwrap();
        stream
    });
    let url = highwater::SecretUrl::parse(&url).unwrap();
    let upstream = highwater::upstream::HttpUpstream::new(&url, HttpOptions::default()).unwrap();
    let error = send(&upstream, "eth_call").await.unwrap_err();
    assert_eq!(error, maybe_sent(SendErrorKind::Protocol));
    server.await.unwrap();
}

#[test]
fn names_the_option_that_is_out_of_range() {
    use std::time::Duration;
    let node = highwater::SecretUrl::parse("http://127.0.0.1:1/").unwrap();
    let zero = Duration::ZERO;
    let bad = [
        (
            "connect_timeout",
            HttpOptions {
                connect_timeout: zero,
                ..HttpOptions::default()
            },
        ),
        (
            "header_timeout",
            HttpOptions {
                header_timeout: Some(zero),
                ..HttpOptions::default()
            },
        ),
        (
            "stall_timeout",
            HttpOptions {
                stall_timeout: zero,
                ..HttpOptions::default()
            },
        ),
        (
            "idle_timeout",
            HttpOptions {
                idle_timeout: zero,
                ..HttpOptions::default()
            },
        ),
        (
            "max_age",
            HttpOptions {
                max_age: zero,
                ..HttpOptions::default()
            },
        ),
        (
            "max_reply",
            HttpOptions {
                max_reply: 0,
                ..HttpOptions::default()
            },
        ),
        (
            "lanes",
            HttpOptions {
                lanes: 0,
                ..HttpOptions::default()
            },
        ),
        (
            "max_connections",
            HttpOptions {
                max_connections: Some(1),
                lanes: 2,
                ..HttpOptions::default()
            },
        ),
    ];
    for (field, options) in bad {
        let error = highwater::upstream::HttpUpstream::new(&node, options).unwrap_err();
        assert_eq!(error.field, field);
    }
}

// hardening E2
#[tokio::test]
async fn gives_up_on_an_endpoint_that_sends_1xx_heads_without_end() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let flood = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        socket.read_u8().await.unwrap();
        let heads = b"HTTP/1.1 103 Early Hints\r\n\r\n".repeat(1000);
        while socket.write_all(&heads).await.is_ok() {}
    });
    let url = highwater::SecretUrl::parse(&format!("http://{address}")).unwrap();
    let upstream = highwater::upstream::HttpUpstream::new(&url, HttpOptions::default()).unwrap();
    let error = send(&upstream, "eth_call").await.unwrap_err();
    assert_eq!(error, maybe_sent(error.kind));
    // It ends when its connection does.
    flood.await.unwrap();
}
