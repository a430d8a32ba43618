//! The HTTP upstream: connections, their reuse, and the proof of what was sent.

use crate::bench::{
    AMPLE, SHORT, maybe_sent, message, result_of, send, send_within, unsent, upstream,
};
use highwater::{
    SecretUrl,
    upstream::{HttpOptions, HttpUpstream, SendErrorKind},
};
use highwater_lab::sockets::{Answer, ConnectionFault, Gate, ScriptedNode};
use std::{
    io::{Read, Write},
    time::Duration,
};

/// Lets the event loop notice what has arrived at the sockets.
async fn settle() {
    for _ in 0..4 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn sends_one_plain_post_with_the_upstreams_own_headers() {
    let node = ScriptedNode::start().await;
    let text = format!("http://me:pass%20word@{}/v2/key-0001?apikey=x", node.addr());
    let url = SecretUrl::parse(&text).unwrap();
    let upstream = HttpUpstream::new(&url, HttpOptions::default()).unwrap();
    let reply = send(&upstream, "eth_blockNumber").await.unwrap();
    assert_eq!((reply.status, result_of(&reply)), (200, "\"0x64\""));
    let seen = node.record().requests();
    let http = &seen[0].http;
    assert_eq!(
        (http.method.as_str(), http.target.as_str()),
        ("POST", "/v2/key-0001?apikey=x")
    );
    let body = message("eth_blockNumber");
    let length = body.len().to_string();
    let host = node.addr().to_string();
    let mut headers: Vec<_> = http
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    headers.sort_unstable();
    assert_eq!(
        headers,
        [
            ("authorization", "Basic bWU6cGFzcyB3b3Jk"),
            ("content-length", length.as_str()),
            ("content-type", "application/json"),
            ("host", host.as_str()),
            (
                "user-agent",
                concat!("highwater/", env!("CARGO_PKG_VERSION"))
            ),
        ]
    );
    assert_eq!(http.body, body);
}

#[tokio::test]
async fn uses_one_connection_for_calls_one_after_another() {
    let node = ScriptedNode::start().await;
    let upstream = upstream(&node, HttpOptions::default());
    for _ in 0..20 {
        send(&upstream, "eth_blockNumber").await.unwrap();
    }
    assert_eq!(node.record().connections(), 1);
}

// R-36, hardening E1: a request that must not be repeated looks at the connection first, so one that
// the endpoint closed right after its last answer, unannounced, costs the caller nothing.
#[tokio::test]
async fn a_submission_is_not_written_to_a_connection_that_was_just_closed() {
    const ANSWER: &str =
        "HTTP/1.1 200 OK\r\ncontent-length: 35\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}";
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    // The endpoint is a thread, and the wait for it blocks: the event loop has no turn in which it
    // could notice the close by itself.
    let (close, told) = std::sync::mpsc::channel();
    let (closed, is_closed) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let mut request = vec![0; 4096];
            if socket.read(&mut request).unwrap() == 0 {
                return;
            }
            socket.write_all(ANSWER.as_bytes()).unwrap();
            if told.recv().is_err() {
                return;
            }
            drop(socket);
            closed.send(()).unwrap();
        }
    });
    let url = SecretUrl::parse(&url).unwrap();
    let upstream = HttpUpstream::new(&url, HttpOptions::default()).unwrap();
    for _ in 0..20 {
        let reply = send(&upstream, "eth_sendRawTransaction").await.unwrap();
        assert_eq!(result_of(&reply), "1");
        close.send(()).unwrap();
        is_closed.recv().unwrap();
    }
}

#[tokio::test]
async fn gives_calls_at_the_same_time_connections_of_their_own_and_keeps_them() {
    let node = ScriptedNode::start().await;
    let gate = Gate::new();
    node.on("eth_call")
        .always(Answer::result("1").held_by(&gate));
    let upstream = upstream(&node, HttpOptions::default());
    let calls: Vec<_> = (0..5)
        .map(|_| {
            let upstream = upstream.clone();
            tokio::spawn(async move { send(&upstream, "eth_call").await.unwrap() })
        })
        .collect();
    gate.wait_for_held(5).await;
    gate.open();
    for call in calls {
        assert_eq!(result_of(&call.await.unwrap()), "1");
    }
    for _ in 0..5 {
        send(&upstream, "eth_blockNumber").await.unwrap();
    }
    assert_eq!(node.record().connections(), 5);
}

// hardening E1, semantics W2
#[tokio::test]
async fn takes_a_fresh_connection_when_the_unused_one_was_closed() {
    let node = ScriptedNode::start().await;
    let upstream = upstream(&node, HttpOptions::default());
    send(&upstream, "eth_blockNumber").await.unwrap();
    node.drop_connections();
    node.record().wait_for_open_connections(0).await;
    settle().await;
    let reply = send(&upstream, "eth_sendRawTransaction").await.unwrap();
    assert_eq!(reply.status, 200);
    assert_eq!(node.record().count("eth_sendRawTransaction"), 1);
    assert_eq!(node.record().connections(), 2);
}

// hardening E1, semantics W2
#[tokio::test]
async fn never_sends_twice_when_the_connection_breaks_after_the_request() {
    for broken in [Answer::reset(), Answer::close()] {
        let node = ScriptedNode::start().await;
        node.on("eth_sendRawTransaction").always(broken);
        let upstream = upstream(&node, HttpOptions::default());
        for warm in [false, true] {
            if warm {
                send(&upstream, "eth_blockNumber").await.unwrap();
            }
            let error = send(&upstream, "eth_sendRawTransaction").await.unwrap_err();
            assert_eq!(error, maybe_sent(SendErrorKind::Reset));
        }
        assert_eq!(node.record().count("eth_sendRawTransaction"), 2);
    }
}

// hardening E1, R-36
#[tokio::test]
async fn proves_that_nothing_was_sent_when_the_connection_is_refused() {
    let node = ScriptedNode::start().await;
    let upstream = upstream(&node, HttpOptions::default());
    node.stop().await;
    let error = send(&upstream, "eth_call").await.unwrap_err();
    assert_eq!(error, unsent(SendErrorKind::Connect));
    node.restart().await.unwrap();
    send(&upstream, "eth_blockNumber").await.unwrap();
}

// hardening E1, R-36
#[tokio::test]
async fn proves_that_nothing_was_sent_when_the_name_does_not_resolve() {
    let url = SecretUrl::parse("http://node.invalid:8545/").unwrap();
    let upstream = HttpUpstream::new(&url, HttpOptions::default()).unwrap();
    let error = send(&upstream, "eth_call").await.unwrap_err();
    assert_eq!(error, unsent(SendErrorKind::Resolve));
}

// hardening E1
#[tokio::test]
async fn never_sends_twice_when_the_server_breaks_every_connection() {
    for fault in [ConnectionFault::Reset, ConnectionFault::Close] {
        let node = ScriptedNode::start().await;
        node.fail_all_connections(fault);
        let upstream = upstream(&node, HttpOptions::default());
        let error = send(&upstream, "eth_call").await.unwrap_err();
        assert_eq!(error.kind, SendErrorKind::Reset, "{fault:?}");
        assert_eq!(node.record().total(), 0);
        assert_eq!(node.record().connections(), 1);
    }
}

// hardening E2, E4
#[tokio::test]
async fn says_maybe_sent_when_the_answer_is_cut_or_broken_off() {
    for broken in [
        Answer::result("\"0x1234\"").truncated(9),
        Answer::result("\"0x1234\"").reset_after(9),
        Answer::result("\"0x1234\"")
            .claiming_length(4000)
            .then_close(),
    ] {
        let node = ScriptedNode::start().await;
        node.on("eth_call").always(broken);
        let upstream = upstream(&node, HttpOptions::default());
        let error = send(&upstream, "eth_call").await.unwrap_err();
        assert_eq!(error, maybe_sent(SendErrorKind::Reset));
        assert_eq!(node.record().count("eth_call"), 1);
        node.record().wait_for_open_connections(0).await;
    }
}

#[tokio::test]
async fn reads_an_answer_whatever_its_framing() {
    let node = ScriptedNode::start().await;
    let gate = Gate::new();
    gate.open();
    let plain = Answer::result("\"0x1234567890\"");
    node.on("eth_call").once(plain.clone().chunked(1));
    node.on("eth_call").once(plain.clone().chunked(7));
    node.on("eth_call").once(plain.clone().dripping(3, &gate));
    node.on("eth_call").once(plain.clone().until_close());
    node.on("eth_call").once(plain.clone().then_close());
    let upstream = upstream(&node, HttpOptions::default());
    for _ in 0..5 {
        let reply = send(&upstream, "eth_call").await.unwrap();
        assert_eq!(result_of(&reply), "\"0x1234567890\"");
        settle().await;
    }
    assert_eq!(node.record().connections(), 2);
}

#[tokio::test]
async fn reads_an_answer_of_many_pieces() {
    let node = ScriptedNode::start().await;
    node.on("eth_call").always(Answer::huge(3 << 20));
    let upstream = upstream(&node, HttpOptions::default());
    for _ in 0..2 {
        let reply = send(&upstream, "eth_call").await.unwrap();
        assert_eq!(reply.body.len(), 3 << 20);
        assert!(result_of(&reply).starts_with("\"0x"));
    }
    assert_eq!(node.record().connections(), 1);
}

// hardening C12
#[tokio::test]
async fn follows_no_redirect() {
    let node = ScriptedNode::start().await;
    let other = ScriptedNode::start().await;
    node.on("eth_call")
        .always(Answer::redirect(307, &other.url()));
    let reply = send(&upstream(&node, HttpOptions::default()), "eth_call")
        .await
        .unwrap();
    assert_eq!((reply.status, other.record().connections()), (307, 0));
}

// hardening E24
#[tokio::test]
async fn replaces_a_connection_that_is_over_its_age() {
    let node = ScriptedNode::start().await;
    let options = HttpOptions {
        max_age: Duration::from_millis(1),
        ..HttpOptions::default()
    };
    let upstream = upstream(&node, options);
    let gate = Gate::new();
    node.on("eth_call")
        .always(Answer::result("1").held_by(&gate));
    let old = tokio::spawn({
        let upstream = upstream.clone();
        async move { send(&upstream, "eth_call").await.unwrap() }
    });
    gate.wait_for_held(1).await;
    // Meets its deadline while the other call is still under way, so the age has passed.
    let late = send_within(&upstream, "eth_call", SHORT).await.unwrap_err();
    assert_eq!(late.kind, SendErrorKind::Timeout);
    gate.open();
    old.await.unwrap();
    send(&upstream, "eth_blockNumber").await.unwrap();
    assert_eq!(node.record().connections(), 3);
}

#[tokio::test]
async fn closes_connections_that_lie_unused_without_another_call() {
    let node = ScriptedNode::start().await;
    let options = HttpOptions {
        idle_timeout: SHORT,
        ..HttpOptions::default()
    };
    let upstream = upstream(&node, options);
    send(&upstream, "eth_blockNumber").await.unwrap();
    node.record().wait_for_open_connections(0).await;
    send(&upstream, "eth_blockNumber").await.unwrap();
}

#[tokio::test]
async fn keeps_no_more_unused_connections_than_allowed() {
    let node = ScriptedNode::start().await;
    let gate = Gate::new();
    node.on("eth_call")
        .always(Answer::result("1").held_by(&gate));
    let upstream = upstream(
        &node,
        HttpOptions {
            max_idle: 1,
            ..HttpOptions::default()
        },
    );
    let (first, second) = tokio::join!(send(&upstream, "eth_call"), async {
        gate.wait_for_held(1).await;
        gate.open();
        send(&upstream, "eth_call").await
    });
    first.unwrap();
    second.unwrap();
    node.record().wait_for_open_connections(1).await;
}

#[tokio::test]
async fn has_no_more_connections_than_allowed() {
    let node = ScriptedNode::start().await;
    let options = HttpOptions {
        max_connections: Some(1),
        lanes: 1,
        ..HttpOptions::default()
    };
    let upstream = upstream(&node, options);
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let upstream = upstream.clone();
            tokio::spawn(async move { send(&upstream, "eth_blockNumber").await.unwrap() })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
        assert!(node.record().open_connections() <= 1);
    }
    let gate = Gate::new();
    node.on("eth_call")
        .always(Answer::result("1").held_by(&gate));
    let (held, late) = tokio::join!(send(&upstream, "eth_call"), async {
        gate.wait_for_held(1).await;
        let late = send_within(&upstream, "eth_blockNumber", SHORT).await;
        gate.open();
        late
    });
    held.unwrap();
    assert_eq!(late.unwrap_err(), unsent(SendErrorKind::Timeout));
}

#[tokio::test]
async fn closes_its_connections_when_it_is_dropped() {
    let node = ScriptedNode::start().await;
    let upstream = upstream(&node, HttpOptions::default());
    send(&upstream, "eth_blockNumber").await.unwrap();
    assert_eq!(node.record().open_connections(), 1);
    drop(upstream);
    node.record().wait_for_open_connections(0).await;
}

#[test]
fn outlives_the_runtime_on_which_its_connections_were_opened() {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    let mut server = tokio::runtime::Builder::new_multi_thread();
    let server = server.worker_threads(1).enable_all().build().unwrap();
    let node = server.block_on(ScriptedNode::start());
    let upstream = upstream(
        &node,
        HttpOptions {
            lanes: 1,
            ..HttpOptions::default()
        },
    );
    let first = runtime();
    first.block_on(send(&upstream, "eth_blockNumber")).unwrap();
    // The first runtime still exists, but nothing drives it.
    runtime()
        .block_on(send(&upstream, "eth_blockNumber"))
        .unwrap();
    drop(first);
    runtime()
        .block_on(send(&upstream, "eth_blockNumber"))
        .unwrap();
    assert_eq!(node.record().connections(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn serves_many_calls_from_several_threads() {
    let node = ScriptedNode::start().await;
    let upstream = upstream(&node, HttpOptions::default());
    let calls: Vec<_> = (0..200)
        .map(|_| {
            let upstream = upstream.clone();
            tokio::spawn(async move {
                for _ in 0..5 {
                    let sent = upstream.exchange(message("eth_blockNumber"), AMPLE).await;
                    assert_eq!(result_of(&sent.unwrap()), "\"0x64\"");
                }
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
    assert_eq!(node.record().count("eth_blockNumber"), 1000);
}
