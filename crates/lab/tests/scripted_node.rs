//! The scripted node does on the wire what its rules say.
#![cfg(feature = "sockets")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::io::Read as _;

use highwater_lab::sockets::{Answer, ConnectionFault, Gate, ReplyId, ScriptedNode};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

fn post(body: &str) -> Vec<u8> {
    format!(
        "POST /v1/chain HTTP/1.1\r\nHost: lab\r\nX-Test: yes\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn call(method: &str) -> Vec<u8> {
    post(&format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":[]}}"#
    ))
}

/// Sends bytes, then reads until the node closes or the answer's announced length is there.
async fn ask(stream: &mut TcpStream, request: &[u8]) -> Vec<u8> {
    stream.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    loop {
        if complete(&answer) || stream.read_buf(&mut answer).await.unwrap() == 0 {
            return answer;
        }
    }
}

fn complete(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .and_then(|length| length.parse().ok());
    length.is_some_and(|length: usize| body.len() >= length)
        || (head.contains("transfer-encoding: chunked") && body.ends_with("0\r\n\r\n"))
}

fn body(answer: &[u8]) -> &[u8] {
    let at = answer
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .unwrap();
    &answer[at + 4..]
}

fn text(answer: &[u8]) -> String {
    String::from_utf8(body(answer).to_vec()).unwrap()
}

async fn fresh(node: &ScriptedNode, request: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(node.addr()).await.unwrap();
    ask(&mut stream, request).await
}

#[tokio::test]
async fn answers_honestly_without_rules_and_records_what_came() {
    let node = ScriptedNode::start().await;
    node.set_chain_id(8453);
    node.set_head(0x1234);
    let mut stream = TcpStream::connect(node.addr()).await.unwrap();
    let chain = ask(&mut stream, &call("eth_chainId")).await;
    assert_eq!(
        text(&chain),
        r#"{"jsonrpc":"2.0","id":7,"result":"0x2105"}"#
    );
    let batch = post(
        r#"[{"id":"a","method":"eth_blockNumber"},{"id":null,"method":"eth_nope","params":[{}]}]"#,
    );
    let answer = ask(&mut stream, &batch).await;
    assert!(text(&answer).starts_with(r#"[{"jsonrpc":"2.0","id":"a","result":"0x1234"},"#));
    assert!(text(&answer).contains(r#""id":null,"error":{"code":-32601"#));

    let seen = node.record().wait_for(2).await;
    assert_eq!(node.record().connections(), 1);
    assert_eq!(seen[1].connection, 1);
    assert!(seen[1].batch && !seen[0].batch);
    assert_eq!(seen[0].http.target, "/v1/chain");
    assert_eq!(seen[0].http.header("x-test"), Some("yes"));
    assert_eq!(seen[1].calls[1].params.as_deref(), Some("[{}]"));
    assert_eq!(node.record().count("eth_blockNumber"), 1);
    assert_eq!(node.record().counts().len(), 3);
}

#[tokio::test]
async fn plays_rules_in_order_and_then_is_honest_again() {
    let node = ScriptedNode::start().await;
    node.on("eth_call").once(Answer::result("\"0x01\""));
    node.on("eth_call")
        .once(Answer::error(3, "execution reverted"));
    node.on("eth_getLogs")
        .with(|call| Answer::result(call.params.clone().unwrap()));
    assert!(text(&fresh(&node, &call("eth_call")).await).contains("0x01"));
    assert!(text(&fresh(&node, &call("eth_call")).await).contains(r#""code":3"#));
    assert!(text(&fresh(&node, &call("eth_call")).await).contains("-32601"));
    assert!(text(&fresh(&node, &call("eth_getLogs")).await).contains(r#""result":[]"#));
    node.on_any().always(Answer::error(-32603, "internal"));
    node.on_request().once(Answer::html(502, "<html>"));
    let page = fresh(&node, &call("eth_chainId")).await;
    assert!(page.starts_with(b"HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/html"));
    assert!(text(&fresh(&node, &call("eth_chainId")).await).contains("-32603"));
    node.honest();
    assert!(text(&fresh(&node, &call("eth_chainId")).await).contains("0x1"));
}

#[tokio::test]
async fn gets_ids_and_members_wrong_on_demand() {
    let node = ScriptedNode::start().await;
    let cases = [
        (
            Answer::result("1").with_id(ReplyId::AsString),
            r#"{"jsonrpc":"2.0","id":"7","result":1}"#,
        ),
        (
            Answer::result("1").with_id(ReplyId::Raw("8".into())),
            r#"{"jsonrpc":"2.0","id":8,"result":1}"#,
        ),
        (
            Answer::result("1").with_id(ReplyId::Missing),
            r#"{"jsonrpc":"2.0","result":1}"#,
        ),
        (
            Answer::both("1", "null"),
            r#"{"jsonrpc":"2.0","id":7,"result":1,"error":null}"#,
        ),
        (Answer::neither(), r#"{"jsonrpc":"2.0","id":7}"#),
        (
            Answer::error_json("\"text\""),
            r#"{"jsonrpc":"2.0","id":7,"error":"text"}"#,
        ),
    ];
    for (answer, expected) in cases {
        node.on("eth_call").once(answer);
        assert_eq!(text(&fresh(&node, &call("eth_call")).await), expected);
    }
}

#[tokio::test]
async fn reorders_doubles_and_omits_batch_elements() {
    let node = ScriptedNode::start().await;
    node.reverse_batches(true);
    node.on("eth_gasPrice").always(Answer::omitted());
    node.on("eth_syncing")
        .always(Answer::result("true").copies(2));
    let batch = post(
        r#"[{"id":1,"method":"eth_chainId"},{"id":2,"method":"eth_gasPrice"},{"id":3,"method":"eth_syncing"}]"#,
    );
    let answer = text(&fresh(&node, &batch).await);
    let ids: Vec<u64> = serde_json::from_str::<Vec<serde_json::Value>>(&answer)
        .unwrap()
        .iter()
        .map(|element| element["id"].as_u64().unwrap())
        .collect();
    assert_eq!(ids, [3, 3, 1]);
    node.on("eth_chainId")
        .once(Answer::body(429, "slow down").header("retry-after", "2"));
    let refused = fresh(&node, &batch).await;
    assert!(refused.starts_with(b"HTTP/1.1 429"));
    assert_eq!(text(&refused), "slow down");
    node.on_batch()
        .once(Answer::error(-32600, "batch too large"));
    assert!(text(&fresh(&node, &batch).await).starts_with("{"));
}

#[tokio::test]
async fn truncates_claims_and_chunks() {
    let node = ScriptedNode::start().await;
    node.on("eth_call")
        .once(Answer::result("\"0x0102\"").truncated(10));
    let cut = fresh(&node, &call("eth_call")).await;
    assert_eq!(text(&cut), r#"{"jsonrpc""#);
    assert!(String::from_utf8_lossy(&cut).contains("content-length: 42\r\n"));

    node.on("eth_call")
        .once(Answer::result("1").claiming_length(5));
    let short = fresh(&node, &call("eth_call")).await;
    assert!(String::from_utf8_lossy(&short).contains("content-length: 5\r\n"));

    node.on("eth_call")
        .once(Answer::body(200, "abcdefg").chunked(3));
    let chunked = fresh(&node, &call("eth_call")).await;
    assert_eq!(
        text(&chunked),
        "3\r\nabc\r\n3\r\ndef\r\n1\r\ng\r\n0\r\n\r\n"
    );

    node.on("eth_call")
        .once(Answer::body(200, "abcdefg").chunked(3).truncated(4));
    let chunked = fresh(&node, &call("eth_call")).await;
    assert_eq!(text(&chunked), "3\r\nabc\r\n1\r\nd\r\n");

    node.on("eth_call")
        .once(Answer::body(200, "to the end").until_close());
    let unframed = fresh(&node, &call("eth_call")).await;
    assert_eq!(text(&unframed), "to the end");
    assert!(!String::from_utf8_lossy(&unframed).contains("content-length"));
}

#[tokio::test]
async fn holds_answers_until_the_gate_lets_them_through() {
    let node = ScriptedNode::start().await;
    let gate = Gate::new();
    node.on("eth_call")
        .always(Answer::result("1").held_by(&gate));
    let (first, second) = (call("eth_call"), call("eth_call"));
    let both = async { tokio::join!(fresh(&node, &first), fresh(&node, &second)) };
    let release = async {
        gate.wait_for_held(2).await;
        assert_eq!(node.record().count("eth_call"), 2);
        gate.release(2);
    };
    let ((one, two), ()) = tokio::join!(both, release);
    assert_eq!(body(&one), body(&two));
}

#[tokio::test]
async fn drips_one_piece_per_passage() {
    let node = ScriptedNode::start().await;
    let gate = Gate::new();
    node.on("eth_call")
        .once(Answer::body(200, "abcd").dripping(2, &gate));
    let mut stream = TcpStream::connect(node.addr()).await.unwrap();
    stream.write_all(&call("eth_call")).await.unwrap();
    gate.wait_for_held(1).await;
    let mut seen = vec![0; 4096];
    let head = stream.read(&mut seen).await.unwrap();
    assert!(seen[..head].ends_with(b"\r\n\r\n"));
    gate.release(1);
    let first = stream.read(&mut seen).await.unwrap();
    assert_eq!(&seen[..first], b"ab");
    gate.open();
    let second = stream.read(&mut seen).await.unwrap();
    assert_eq!(&seen[..second], b"cd");
}

#[tokio::test]
async fn notices_a_client_that_gives_up() {
    let node = ScriptedNode::start().await;
    let gate = Gate::new();
    node.on("eth_call").once(Answer::hang(&gate));
    let mut stream = TcpStream::connect(node.addr()).await.unwrap();
    stream.write_all(&call("eth_call")).await.unwrap();
    node.record().wait_for_calls("eth_call", 1).await;
    assert_eq!(node.record().open_connections(), 1);
    drop(stream);
    node.record().wait_for_abandoned(1).await;
    node.record().wait_for_open_connections(0).await;
}

#[tokio::test]
async fn resets_and_closes_at_every_stage() {
    let node = ScriptedNode::start().await;
    node.fail_connections(ConnectionFault::Reset, 1);
    node.fail_connections(ConnectionFault::Close, 1);
    let mut byte = [0; 1];
    // The reset may overtake the client's own look at its new connection.
    let reset = async { TcpStream::connect(node.addr()).await?.read(&mut byte).await };
    let error = reset.await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    let mut closed = TcpStream::connect(node.addr()).await.unwrap();
    assert_eq!(closed.read(&mut byte).await.unwrap(), 0);
    assert_eq!(node.record().total(), 0);

    node.on("eth_call").once(Answer::reset());
    node.on("eth_call").once(Answer::result("1").reset_after(4));
    node.on("eth_call").once(Answer::close());
    node.on("eth_call").once(Answer::result("1").then_close());
    for (expected, reset) in [("", true), ("{\"js", true), ("", false), ("{", false)] {
        let mut stream = TcpStream::connect(node.addr()).await.unwrap();
        stream.write_all(&call("eth_call")).await.unwrap();
        let mut answer = Vec::new();
        let ended = stream.read_to_end(&mut answer).await;
        assert_eq!(ended.is_err(), reset);
        let at = answer.windows(4).position(|four| four == b"\r\n\r\n");
        let rest = at.map_or(&b""[..], |at| &answer[at + 4..]);
        assert!(rest.starts_with(expected.as_bytes()));
    }
    assert_eq!(node.record().count("eth_call"), 4);
}

#[tokio::test]
async fn compresses_bombs_and_generates_huge_bodies() {
    let node = ScriptedNode::start().await;
    node.on("eth_call").once(Answer::result("\"0x01\"").gzip());
    let small = fresh(&node, &call("eth_call")).await;
    let mut inflated = String::new();
    flate2::read::GzDecoder::new(body(&small))
        .read_to_string(&mut inflated)
        .unwrap();
    assert_eq!(inflated, r#"{"jsonrpc":"2.0","id":7,"result":"0x01"}"#);

    node.on("eth_call")
        .once(Answer::gzip_bomb(8 << 20).then_close());
    let mut stream = TcpStream::connect(node.addr()).await.unwrap();
    stream.write_all(&call("eth_call")).await.unwrap();
    let mut bomb = Vec::new();
    stream.read_to_end(&mut bomb).await.unwrap();
    assert!(bomb.len() < 64 << 10);
    let inflated = std::io::copy(
        &mut flate2::read::GzDecoder::new(body(&bomb)),
        &mut std::io::sink(),
    );
    assert_eq!(inflated.unwrap(), 8 << 20);

    node.on("eth_call").once(Answer::huge(300_000));
    let huge = fresh(&node, &call("eth_call")).await;
    assert_eq!(body(&huge).len(), 300_000);
    serde_json::from_slice::<serde_json::Value>(body(&huge)).unwrap();

    node.on("eth_call").once(Answer::endless());
    let mut stream = TcpStream::connect(node.addr()).await.unwrap();
    stream.write_all(&call("eth_call")).await.unwrap();
    let mut start = vec![0; 1 << 20];
    stream.read_exact(&mut start).await.unwrap();
    drop(stream);
    node.record().wait_for_abandoned(1).await;
}

#[tokio::test]
async fn stops_refusing_connections_and_comes_back_on_the_same_port() {
    let node = ScriptedNode::start().await;
    let mut kept = TcpStream::connect(node.addr()).await.unwrap();
    ask(&mut kept, &call("eth_chainId")).await;
    node.stop().await;
    let mut byte = [0; 1];
    assert_eq!(kept.read(&mut byte).await.unwrap_or(0), 0);
    let refused = TcpStream::connect(node.addr()).await.unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    assert_eq!(node.record().open_connections(), 0);
    node.restart().await.unwrap();
    assert!(text(&fresh(&node, &call("eth_chainId")).await).contains("0x1"));
    assert_eq!(node.record().count("eth_chainId"), 2);

    let addr = node.addr();
    node.stop().await;
    drop(node);
    let other = ScriptedNode::start_on(addr).await.unwrap();
    assert_eq!(other.url(), format!("http://{addr}/"));
}

#[tokio::test]
async fn drops_live_connections_and_serves_new_ones() {
    let node = ScriptedNode::start().await;
    let mut idle = TcpStream::connect(node.addr()).await.unwrap();
    ask(&mut idle, &call("eth_chainId")).await;
    node.drop_connections();
    let mut byte = [0; 1];
    assert_eq!(idle.read(&mut byte).await.unwrap(), 0);
    fresh(&node, &call("eth_chainId")).await;
    assert_eq!(node.record().connections(), 2);
}

#[tokio::test]
async fn reads_chunked_and_pipelined_requests() {
    let node = ScriptedNode::start().await;
    let mut both = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\
        10\r\n{\"method\":\"eth_c\r\n9\r\nhainId\"} \r\n0\r\n\r\n"
        .to_vec();
    both.extend(call("eth_syncing"));
    let mut stream = TcpStream::connect(node.addr()).await.unwrap();
    stream.write_all(&both).await.unwrap();
    let seen = node.record().wait_for(2).await;
    assert_eq!(seen[0].calls[0].method, "eth_chainId");
    assert_eq!(seen[1].calls[0].method, "eth_syncing");
    let get = fresh(&node, b"GET / HTTP/1.1\r\n\r\n").await;
    assert!(get.starts_with(b"HTTP/1.1 405"));
}

#[tokio::test]
async fn ignores_a_connection_until_it_stops() {
    let node = ScriptedNode::start().await;
    node.fail_all_connections(ConnectionFault::Ignore);
    let mut stream = TcpStream::connect(node.addr()).await.unwrap();
    stream.write_all(&call("eth_chainId")).await.unwrap();
    node.record().wait_for_open_connections(1).await;
    assert_eq!(node.record().total(), 0);
    node.stop().await;
    let mut byte = [0; 1];
    assert_eq!(stream.read(&mut byte).await.unwrap_or(0), 0);
}
