//! Reads through the gateway: pinned, never backwards, shared, answered from memory.

use crate::site::{Client, Response, key, settings};
use highwater_core::{heads::HeadSettings, probe::ProbeSettings, settings::ReadSettings};
use highwater_gateway::{Gateway, Running, Settings, config::ChainSettings};
use highwater_lab::sockets::{Answer, ScriptedNode};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);
const ADDRESS: &str = "0x00000000000000000000000000000000000000aa";

/// A gateway before nodes whose heads it knows; no block comes while a test runs.
struct Fleet {
    nodes: Vec<ScriptedNode>,
    gateway: Running,
}

impl Fleet {
    async fn at(heads: &[u64]) -> Self {
        Self::with(heads, |_| {}).await
    }

    async fn with(heads: &[u64], change: impl FnOnce(&mut ChainSettings)) -> Self {
        Self::with_settings(heads, |settings| change(&mut settings.chains[0])).await
    }

    async fn with_settings(heads: &[u64], change: impl FnOnce(&mut Settings)) -> Self {
        let mut nodes = Vec::new();
        for head in heads {
            let node = ScriptedNode::start().await;
            node.set_head(*head);
            nodes.push(node);
        }
        let urls: Vec<String> = nodes.iter().map(ScriptedNode::url).collect();
        let mut settings = settings(&[("ethereum", Some(1), &urls)]);
        let chain = &mut settings.chains[0];
        chain.engine.heads = Some(HeadSettings {
            block_time: Some(HOUR),
            stale: HOUR,
            ..HeadSettings::default()
        });
        // Heads are read once, at the start.
        chain.engine.probe = Some(ProbeSettings {
            interval: HOUR,
            ..ProbeSettings::default()
        });
        chain.engine.retry.max_wait = Duration::from_millis(1);
        chain.engine.reads = ReadSettings::default();
        if let Some(pin) = &mut chain.engine.reads.pin {
            pin.fresh = HOUR;
        }
        if let Some(cache) = &mut chain.engine.reads.cache {
            cache.max_age = HOUR;
            cache.headers = false;
        }
        settings.server.response_headers = true;
        change(&mut settings);
        let gateway = Gateway::start(settings).await.unwrap();
        for node in &nodes {
            assert_eq!(node.record().count("eth_blockNumber"), 1);
        }
        Self { nodes, gateway }
    }

    async fn post(&self, headers: &[(&str, &str)], body: &str) -> Response {
        let mut client = Client::connect(self.gateway.addr).await;
        client.post("/ethereum", headers, body.as_bytes()).await
    }

    /// The block of a call at `latest`, as the nodes got it, for one account.
    async fn read(&self, account: u8) -> Response {
        self.post(&[], &balance(account, "latest")).await
    }

    /// The blocks that each node was asked for.
    fn blocks(&self) -> Vec<Vec<String>> {
        let of = |node: &ScriptedNode| {
            let calls = node.record().calls_of("eth_getBalance");
            let block = |params: &str| params.rsplit('"').nth(1).unwrap_or_default().to_owned();
            calls
                .iter()
                .map(|call| block(call.params.as_deref().unwrap_or_default()))
                .collect()
        };
        self.nodes.iter().map(of).collect()
    }

    fn heard(&self) -> usize {
        let counts = self
            .nodes
            .iter()
            .map(|node| node.record().count("eth_getBalance"));
        counts.sum()
    }
}

fn balance(account: u8, block: &str) -> String {
    let account = format!("{}{account:02x}", &ADDRESS[..40]);
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":["{account}","{block}"]}}"#
    )
}

fn number() -> &'static str {
    r#"{"jsonrpc":"2.0","id":7,"method":"eth_blockNumber","params":[]}"#
}

// P-2, P-3, P-5, scenario P01
#[tokio::test]
async fn latest_is_the_lowest_head_within_the_lag_for_reads_and_for_the_number() {
    let fleet = Fleet::at(&[102, 101, 90]).await;
    for account in 0..10 {
        fleet.read(account).await;
    }
    let blocks = fleet.blocks();
    assert!(blocks[2].is_empty());
    assert!(
        blocks.iter().flatten().all(|block| block == "0x65"),
        "{blocks:?}"
    );
    assert_eq!(blocks.iter().flatten().count(), 10);
    let said = fleet.post(&[], number()).await;
    assert_eq!(said.text(), r#"{"jsonrpc":"2.0","id":7,"result":"0x65"}"#);
    assert_eq!(said.header("x-highwater-block"), Some("101"));
    assert_eq!(said.header("x-highwater-attempts"), Some("0"));
}

// P-1
#[tokio::test]
async fn what_is_turned_off_leaves_the_tag_as_it_is_written() {
    let off = |chain: &mut ChainSettings| chain.engine.reads.pin = None;
    let fleet = Fleet::with(&[102, 101], off).await;
    fleet.read(1).await;
    let blocks = fleet.blocks();
    assert_eq!(blocks.iter().flatten().collect::<Vec<_>>(), ["latest"]);
}

// P-11, P-12, P-16
#[tokio::test]
async fn a_read_is_answered_from_memory_whatever_its_spelling() {
    let fleet = Fleet::at(&[100]).await;
    fleet.nodes[0]
        .on("eth_getBalance")
        .once(Answer::result(r#""0x7""#));
    let first = fleet.read(1).await;
    assert_eq!(first.header("x-highwater-cache"), Some("miss"));
    assert_eq!(first.header("x-highwater-block"), Some("100"));
    let account = format!("{}01", &ADDRESS[..40]);
    let implied = format!(
        r#"{{"jsonrpc":"2.0","id":"x","method":"eth_getBalance","params":["{}"]}}"#,
        account.to_uppercase().replace("0X", "0x")
    );
    for body in [balance(1, "latest"), balance(1, "0x64"), implied] {
        let again = fleet.post(&[], &body).await;
        assert_eq!(again.header("x-highwater-cache"), Some("hit"), "{body}");
        assert_eq!(again.header("x-highwater-endpoint"), Some("node-0"));
        assert!(again.text().ends_with(r#""result":"0x7"}"#));
    }
    assert_eq!(fleet.heard(), 1);
    let bypass = [("X-Highwater-Cache", "bypass")];
    let past = fleet.post(&bypass, &balance(1, "latest")).await;
    assert_eq!(past.header("x-highwater-cache"), Some("bypass"));
    assert_eq!(fleet.heard(), 2);
    let off = |chain: &mut ChainSettings| chain.engine.reads.cache = None;
    let fleet = Fleet::with(&[100], off).await;
    fleet.read(1).await;
    fleet.read(1).await;
    assert_eq!(fleet.heard(), 2);
}

// P-10
#[tokio::test]
async fn identical_reads_under_way_share_one_request() {
    // Elements of one batch are under way at once, whatever the machine does.
    let together = |coalesce| async move {
        let fleet = Fleet::with(&[100], |chain| {
            chain.engine.reads.coalesce = coalesce;
            chain.engine.reads.cache = None;
        })
        .await;
        fleet.nodes[0]
            .on("eth_getBalance")
            .always(Answer::result(r#""0x9""#));
        let body = format!("[{}]", vec![balance(1, "latest"); 10].join(","));
        let answers = fleet.post(&[], &body).await.json();
        let answers = answers.as_array().unwrap();
        assert!(answers.iter().all(|answer| answer["result"] == "0x9"));
        assert_eq!(answers.len(), 10);
        fleet.heard()
    };
    assert_eq!(together(true).await, 1);
    assert_eq!(together(false).await, 10);
}

// P-8, P-9, scenario P19
#[tokio::test]
async fn sessions_and_keys_are_apart_and_none_goes_back() {
    let fleet = Fleet::with_settings(&[100], |settings| {
        settings.keys = vec![key("a", "hw_a"), key("b", "hw_b")];
    })
    .await;
    let node = &fleet.nodes[0];
    // A receipt from a block just above the head that was read.
    let hash = "11".repeat(32);
    let receipt = format!(
        r#"{{"transactionHash":"0x{hash}","blockNumber":"0x66","blockHash":"0x{}"}}"#,
        "22".repeat(32)
    );
    node.on("eth_getTransactionReceipt")
        .once(Answer::result(receipt));
    let ask = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"eth_getTransactionReceipt","params":["0x{hash}"]}}"#
    );
    let a = [("X-Api-Key", "hw_a")];
    let b = [("X-Api-Key", "hw_b")];
    let session = [("X-Api-Key", "hw_a"), ("X-Highwater-Session", "tab")];
    let seen = fleet.post(&a, &ask).await;
    assert_eq!(
        seen.header("x-highwater-block"),
        Some("102"),
        "{}",
        seen.text()
    );
    let behind = fleet.post(&a, &balance(1, "latest")).await.json();
    assert_eq!(behind["error"]["code"], -32000);
    assert_eq!(behind["error"]["message"], "header not found");
    assert_eq!(fleet.heard(), 0);
    for other in [&b[..], &session[..]] {
        let answer = fleet.post(other, &balance(1, "latest")).await.json();
        assert!(answer.get("result").is_some(), "{answer}");
    }
    // The chain goes on, and so does the key.
    node.set_head(102);
    let on = fleet.post(&a, &balance(1, "latest")).await;
    assert!(on.json().get("result").is_some(), "{}", on.text());
    assert_eq!(on.header("x-highwater-block"), Some("102"));
}

// P-8
#[tokio::test]
async fn a_caller_may_say_which_block_it_has_seen() {
    let fleet = Fleet::at(&[100]).await;
    let ask = |block: &'static str| {
        let headers = [("X-Highwater-Min-Block", block)];
        let body = balance(1, "latest");
        let fleet = &fleet;
        async move { fleet.post(&headers, &body).await }
    };
    assert!(ask("100").await.json().get("result").is_some());
    assert!(ask("0x64").await.json().get("result").is_some());
    assert_eq!(ask("101").await.json()["error"]["code"], -32000);
    let refused = ask("newest").await;
    assert_eq!(refused.json()["error"]["code"], -32602);
    assert!(refused.text().contains("X-Highwater-Min-Block"));
}

// P-28
#[tokio::test]
async fn the_admin_listener_counts_what_became_of_reads() {
    let fleet = Fleet::with_settings(&[100], |settings| {
        settings.admin.listen = Some(std::net::SocketAddr::from(([127, 0, 0, 1], 0)));
    })
    .await;
    fleet.read(1).await;
    fleet.read(1).await;
    fleet.post(&[], number()).await;
    let mut admin = Client::connect(fleet.gateway.admin_addr.unwrap()).await;
    let counts = admin.get("/api/reads").await.json();
    let chain = &counts["chains"][0];
    assert_eq!(
        (&chain["hits"], &chain["misses"]),
        (&1.into(), &1.into()),
        "{chain}"
    );
    assert_eq!(chain["misses_by"]["absent"], 1);
    assert_eq!((&chain["kept"], &chain["entries"]), (&1.into(), &1.into()));
    assert_eq!(chain["from_heads"], 1);
    // No endpoint states a price: units, and no money.
    let costs = &chain["costs"];
    assert!(costs["units"].as_u64() > Some(0) && costs["avoided_units"].as_u64() > Some(0));
    assert_eq!(
        (&costs["spent"], &costs["avoided"]),
        (&serde_json::Value::Null, &serde_json::Value::Null)
    );
}

/// An answer to a log query: one log of each block that is asked for, and past 100 blocks a refusal.
fn some_logs(call: &highwater_lab::call::Call) -> Answer {
    let params: serde_json::Value =
        serde_json::from_str(call.params.as_deref().unwrap_or("[]")).unwrap();
    let bound = |name: &str| {
        let text = params[0][name].as_str().unwrap();
        u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
    };
    let (from, to) = (bound("fromBlock"), bound("toBlock"));
    if to - from >= 100 {
        return Answer::error(-32602, "Block range limit exceeded.");
    }
    let log = |number: u64| {
        format!(
            r#"{{"address":"{ADDRESS}","topics":[],"blockNumber":"{number:#x}","blockHash":"0x{number:064x}","logIndex":"0x0","data":"0x"}}"#
        )
    };
    let all: Vec<String> = (from..=to).map(log).collect();
    Answer::result(format!("[{}]", all.join(",")))
}

fn logs(from: u64, to: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"eth_getLogs","params":[{{"fromBlock":"{from:#x}","toBlock":"{to}"}}]}}"#
    )
}

// P-23, P-24, scenario L09
#[tokio::test]
async fn a_range_that_no_node_takes_whole_is_one_answer() {
    let fleet = Fleet::with(&[1000, 1000], |chain| {
        if let Some(logs) = &mut chain.engine.reads.logs {
            logs.most_parts = 8;
        }
    })
    .await;
    for node in &fleet.nodes {
        node.on("eth_getLogs").with(some_logs);
    }
    let answer = fleet.post(&[], &logs(701, "latest")).await;
    assert_eq!(answer.header("x-highwater-block"), Some("1000"));
    let answer = answer.json();
    let all = answer["result"].as_array().unwrap();
    let numbers: Vec<&str> = all
        .iter()
        .map(|log| log["blockNumber"].as_str().unwrap())
        .collect();
    let expected: Vec<String> = (701..=1000).map(|number| format!("{number:#x}")).collect();
    assert_eq!(numbers, expected);
    let refused = fleet.post(&[], &logs(1, "0x3e8")).await.json();
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("block range is too wide"), "{message}");
    // Above every head there is no answer but the specification's.
    let beyond = fleet.post(&[], &logs(990, "0x3f0")).await.json();
    assert_eq!(beyond["error"]["code"], -32602, "{beyond}");
}
