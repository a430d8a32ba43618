//! The nodes of a scenario on real sockets do what they do in-process.
#![cfg(feature = "sockets")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::io::Read as _;
use std::net::SocketAddr;
use std::time::Duration;

use highwater_lab::history::Event;
use highwater_lab::scenario::Scenario;
use highwater_lab::sockets::{Fate, Fleet, Question, load, serve, serve_recorded, serve_told};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;

const HEAD: &str =
    "name = 't'\nduration = '1h'\nchain = { block_time = '1h', start = 3, transactions = 1 }\n";

fn scenario(faults: &str) -> Scenario {
    let nodes = format!("[[nodes]]\nname = \"a\"\nlatency = \"0s\"\nfaults = [{faults}]");
    Scenario::parse(&format!("{HEAD}{nodes}"), None).unwrap()
}

fn anywhere() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

async fn fleet(faults: &str) -> Fleet {
    serve(&scenario(faults), anywhere()).await.unwrap()
}

/// One request, and everything that comes until the node closes.
async fn ask(fleet: &Fleet, method: &str, key: &str) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(fleet.members()[0].addr()).await?;
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":[]}}"#);
    let request = format!(
        "POST /{key} HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    while !complete(&answer) && stream.read_buf(&mut answer).await? > 0 {}
    Ok(answer)
}

fn complete(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    let Some((head, _)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let mut lines = head.lines();
    let length = lines.find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.unwrap().parse().unwrap();
    body(answer).len() >= length
}

fn body(answer: &[u8]) -> &[u8] {
    let at = answer.windows(4).position(|four| four == b"\r\n\r\n");
    &answer[at.unwrap() + 4..]
}

// B-1, B-3
#[tokio::test]
async fn answers_over_http_with_the_same_bytes_as_in_process() {
    let scenario = scenario("");
    let fleet = serve(&scenario, anywhere()).await.unwrap();
    let (_, mut nodes) = scenario.build();
    for method in ["eth_blockNumber", "eth_chainId", "eth_nope", "eth_gasPrice"] {
        let there = ask(&fleet, method, "").await.unwrap();
        let call = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":[]}}"#);
        let (_, seen) = nodes[0]
            .ask(Duration::ZERO, "", call.as_bytes())
            .seen()
            .unwrap();
        let highwater_lab::node::Seen::Complete { body: here, .. } = seen else {
            panic!("an honest node answers");
        };
        assert_eq!(body(&there), here);
    }
    let tally = fleet.members()[0].tally();
    assert_eq!((tally.answered, tally.requests()), (4, 4));
    fleet.stop().await;
}

// B-2
#[tokio::test]
async fn breaks_answers_on_the_wire() {
    let cut = fleet("{ kind = 'truncate', bytes = 5 }").await;
    let answer = ask(&cut, "eth_chainId", "").await.unwrap();
    assert_eq!(body(&answer), b"{\"jso");
    assert_eq!(cut.members()[0].tally().failed, [("truncate", 1)].into());

    let reset = fleet("{ kind = 'reset' }").await;
    let error = ask(&reset, "eth_chainId", "").await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);

    let closed = fleet("{ kind = 'close' }").await;
    assert_eq!(ask(&closed, "eth_chainId", "").await.unwrap(), b"");

    let drip = fleet("{ kind = 'drip', piece = 16, pause = '1ms' }").await;
    let answer = ask(&drip, "eth_chainId", "").await.unwrap();
    assert_eq!(
        body(&answer),
        br#"{"jsonrpc":"2.0","id":1,"result":"0xf1b31"}"#
    );

    let stall = fleet("{ kind = 'stall', bytes = 3, pause = '1ms' }").await;
    let answer = ask(&stall, "eth_chainId", "").await.unwrap();
    assert_eq!(
        body(&answer),
        br#"{"jsonrpc":"2.0","id":1,"result":"0xf1b31"}"#
    );

    let gzip = fleet("{ kind = 'gzip' }").await;
    let answer = ask(&gzip, "eth_chainId", "").await.unwrap();
    let mut text = String::new();
    let mut inflated = flate2::read::GzDecoder::new(body(&answer));
    inflated.read_to_string(&mut text).unwrap();
    assert_eq!(text, r#"{"jsonrpc":"2.0","id":1,"result":"0xf1b31"}"#);

    let page = fleet("{ kind = 'page', status = 503, body = 'no', retry_after = 4 }").await;
    let answer = ask(&page, "eth_chainId", "").await.unwrap();
    let text = String::from_utf8(answer).unwrap();
    assert!(
        text.starts_with("HTTP/1.1 503 Service Unavailable\r\n"),
        "{text}"
    );
    assert!(text.contains("\r\nretry-after: 4\r\n"));
    assert_eq!(page.members()[0].tally().failed, [("page", 1)].into());
}

// B-2
#[tokio::test]
async fn hangs_until_the_client_leaves() {
    let fleet = fleet("{ kind = 'hang' }").await;
    let mut stream = TcpStream::connect(fleet.members()[0].addr()).await.unwrap();
    let request = b"POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}";
    stream.write_all(request).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut nothing = Vec::new();
    stream.read_to_end(&mut nothing).await.unwrap();
    assert_eq!(nothing, b"");
    assert_eq!(fleet.members()[0].tally().failed, [("hang", 1)].into());
}

// B-2
#[tokio::test]
async fn refuses_connections_while_down_and_comes_back() {
    let down = fleet("{ kind = 'down' }").await;
    let error = ask(&down, "eth_chainId", "").await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);

    let back = fleet("{ kind = 'down', until = '20ms' }").await;
    back.members()[0].wait_for_listening(true).await;
    let answer = ask(&back, "eth_chainId", "").await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200"));
}

// B-2
#[tokio::test]
async fn tells_clients_apart_by_key() {
    let limit = "{ kind = 'rate-limit', rate = 0.0, burst = 1.0, per_client = true }";
    let fleet = fleet(limit).await;
    for (key, status) in [("k1", "200"), ("k1", "429"), ("k2", "200")] {
        let answer = ask(&fleet, "eth_chainId", key).await.unwrap();
        let text = String::from_utf8(answer).unwrap();
        assert!(
            text.starts_with(&format!("HTTP/1.1 {status}")),
            "{key} {text}"
        );
    }
}

// B-1
#[tokio::test]
async fn puts_every_node_on_a_port_of_its_own_and_frees_them() {
    let text = format!("{HEAD}[[nodes]]\nname = 'a'\n[[nodes]]\nname = 'b'\nlatency = '0s'");
    let scenario = Scenario::parse(&text, None).unwrap();
    let fleet = serve(&scenario, anywhere()).await.unwrap();
    let [a, b] = fleet.members() else {
        panic!("two nodes")
    };
    assert_eq!((a.name(), b.name()), ("a", "b"));
    assert_ne!(a.addr(), b.addr());
    assert_eq!(b.url(), format!("http://{}/", b.addr()));
    let taken = serve(&scenario, a.addr()).await.unwrap_err();
    assert_eq!(taken.kind(), std::io::ErrorKind::AddrInUse);
    let addr = a.addr();
    fleet.stop().await;
    let refused = TcpStream::connect(addr).await.unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    let none = serve(&scenario, ([127, 0, 0, 1], u16::MAX).into()).await;
    assert!(none.is_err());
}

// B-2
#[tokio::test]
async fn tells_of_every_request_and_counts_those_it_cuts_off() {
    let scenario = scenario(
        "{ kind = 'hang', methods = ['eth_gasPrice'] }, { kind = 'close', methods = ['eth_call'] }",
    );
    let (fleet, mut told) = serve_told(&scenario, anywhere()).await.unwrap();
    ask(&fleet, "eth_chainId", "").await.unwrap();
    ask(&fleet, "eth_call", "").await.unwrap();
    let mut fates = vec![told.recv().await.unwrap(), told.recv().await.unwrap()];
    let mut hung = TcpStream::connect(fleet.members()[0].addr()).await.unwrap();
    let body = r#"{"id":1,"method":"eth_gasPrice"}"#;
    let request = format!(
        "POST / HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    // The answer to the first request shows that the second, behind it, has been taken in.
    let first = "POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}";
    hung.write_all(format!("{first}{request}").as_bytes())
        .await
        .unwrap();
    fates.push(told.recv().await.unwrap());
    let [tally] = &fleet.stop().await[..] else {
        panic!("one node")
    };
    while let Some(dealt) = told.recv().await {
        fates.push(dealt);
    }
    assert!(fates.iter().all(|dealt| dealt.node == 0));
    assert!(fates[3].body.ends_with(b"\"eth_gasPrice\"}"));
    let fates: Vec<Fate> = fates.into_iter().map(|dealt| dealt.fate).collect();
    let expected = [
        Fate::Answered,
        Fate::Failed("close"),
        Fate::Answered,
        Fate::Failed("hang"),
    ];
    assert_eq!(fates, expected);
    assert_eq!((tally.answered, tally.failures(), tally.left), (2, 2, 0));
}

// B-1
#[tokio::test]
async fn a_load_asks_until_it_is_stopped_and_knows_the_right_answers() {
    let text = format!(
        "{HEAD}load = {{ clients = 3, every = '2ms' }}\n[[nodes]]\nname = 'a'\nlatency = '0s'\n\
         faults = [{{ kind = 'html', methods = ['eth_call'] }}]"
    );
    let scenario = Scenario::parse(&text, None).unwrap();
    let (fleet, mut told) = serve_told(&scenario, anywhere()).await.unwrap();
    let stop = watch::Sender::new(false);
    let addr = fleet.members()[0].addr();
    let mut samples = load(addr, &scenario.load, &stop.subscribe(), fleet.chronicle());
    let mut over = Vec::new();
    while let Some(sample) = samples.next().await {
        over.push(sample);
        if over.len() == 30 {
            stop.send_replace(true);
        }
    }
    assert_eq!(samples.begun(), over.len() as u64);
    over.sort_by_key(|sample| sample.number);
    for (number, sample) in (0..).zip(&over) {
        assert_eq!(sample.number, number);
        // Every third question is an `eth_call`.
        let expected = match number % 3 {
            1 => Err("no JSON-RPC answer".to_owned()),
            _ => Ok(3),
        };
        assert_eq!(sample.outcome, expected);
    }
    fleet.stop().await;
    let mut asked = Vec::new();
    while let Some(dealt) = told.recv().await {
        asked.push(Question::number_in(&dealt.body).unwrap());
    }
    asked.sort_unstable();
    assert_eq!(asked, (0..over.len() as u64).collect::<Vec<_>>());
}

// B-4
#[tokio::test]
async fn records_what_nodes_received_and_served() {
    let scenario = scenario("{ kind = 'close', methods = ['eth_gasPrice'] }");
    let (fleet, _told) = serve_recorded(&scenario, anywhere()).await.unwrap();
    ask(&fleet, "eth_chainId", "").await.unwrap();
    ask(&fleet, "eth_gasPrice", "").await.unwrap();
    let history = fleet.history();
    let received = history.events().iter().filter_map(|event| match event {
        Event::Received { method, .. } => Some(method.as_str()),
        Event::Called { .. }
        | Event::Answered { .. }
        | Event::Took { .. }
        | Event::Served { .. } => None,
    });
    assert_eq!(
        received.collect::<Vec<_>>(),
        ["eth_chainId", "eth_gasPrice"]
    );
    let served = history
        .events()
        .iter()
        .filter(|event| matches!(event, Event::Served { body, .. } if body.contains("0xf1b31")));
    assert_eq!(served.count(), 1);
}
