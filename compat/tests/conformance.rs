//! The exchanges of the execution API's own test suite, played by a scripted endpoint behind the
//! gateway: each comes back byte for byte.

use highwater_compat::{Gateway, Http, fresh_address};
use highwater_lab::sockets::{Answer, Call, ScriptedNode};
use serde_json::{Value, value::RawValue};
use std::{collections::BTreeMap, sync::Arc};

const PAIRS: &str = include_str!("../../crates/core/tests/data/conformance.jsonl");

/// The chain of those tests.
const CHAIN_ID: u64 = 0x000c_72dd_9d5e_883e;

/// Methods of the exchanges that are off by default, or that the method table does not know.
const ON: &str =
    "methods = { allow = [\"debug_*\", \"txpool_*\", \"eth_capabilities\", \"eth_simulateV1\"] }";

/// A block that is asked for two blocks ahead is not there before any deadline.
const CHAIN: &str = "heads = { block_time = \"12s\" }\npin_latest = false\ncache = false";

/// The first endpoint is met however often it failed, and whoever serves the call is asked once. To find
/// that an endpoint is gone is no attempt, to be failed by it is one.
const PAST_THE_GONE: &str = "breaker = false\nretry_count = 0";
const PAST_THE_FAILING: &str = "breaker = false\nretry_count = 1";

/// What the gateway asks of its own accord: which chain an endpoint serves, where it is, what it keeps.
const OWN: [&str; 3] = ["eth_chainId", "eth_blockNumber", "eth_capabilities"];

/// Answered by the gateway, to the same bytes.
const LOCAL: [&str; 2] = ["eth_chainId", "net_version"];

/// Ids for the members of a batch.
const IDS: [&str; 6] = [
    "0",
    "-1",
    "1e3",
    "18446744073709551616",
    "\"\\u00e9\"",
    "null",
];

struct Pair {
    case: String,
    method: String,
    params: String,
    request: String,
    response: String,
}

impl Pair {
    fn read(line: &str) -> Self {
        let line: BTreeMap<String, String> = serde_json::from_str(line).expect("a line");
        let request: BTreeMap<&str, &RawValue> =
            serde_json::from_str(&line["request"]).expect("a request");
        // Every spelling of no params goes out as `[]`.
        let params = request.get("params").map_or("[]", |params| params.get());
        Self {
            case: line["case"].clone(),
            method: serde_json::from_str(request["method"].get()).expect("a method"),
            params: params.to_owned(),
            request: line["request"].clone(),
            response: line["response"].clone(),
        }
    }

    /// The bytes of the result or the error, so that an element of a batch has them too.
    fn answer(&self) -> Answer {
        let (_, member) = self.response.split_once("\"id\":1,").expect("an id");
        let (name, value) = member.split_once(':').expect("a member");
        let value = value.strip_suffix('}').expect("the end of the answer");
        match name {
            "\"result\"" => Answer::result(value),
            "\"error\"" => Answer::error_json(value),
            _ => panic!("{name}"),
        }
    }

    fn is_local(&self) -> bool {
        LOCAL.contains(&self.method.as_str())
    }

    fn is_asked_by(&self, call: &Call) -> bool {
        self.method == call.method && Some(&self.params) == call.params.as_ref()
    }
}

fn pairs() -> Arc<Vec<Pair>> {
    let pairs: Vec<Pair> = PAIRS.lines().map(Pair::read).collect();
    assert_eq!(pairs.len(), 33);
    Arc::new(pairs)
}

fn with_id(text: &str, id: &str) -> String {
    assert!(text.contains("\"id\":1,"), "{text}");
    text.replacen("\"id\":1,", &format!("\"id\":{id},"), 1)
}

/// An endpoint that knows the exchanges and nothing else.
async fn player(pairs: &Arc<Vec<Pair>>) -> ScriptedNode {
    let node = ScriptedNode::start_on(fresh_address()).await;
    let node = node.expect("the address is free");
    let pairs = Arc::clone(pairs);
    node.on_any().with(
        move |call| match pairs.iter().find(|pair| pair.is_asked_by(call)) {
            Some(pair) => pair.answer(),
            None => Answer::error(-32_000, "no such exchange"),
        },
    );
    node
}

/// A gateway that asks the first node first.
fn gateway(nodes: &[&ScriptedNode], more: &str) -> (Gateway, Http) {
    let urls = nodes.iter().map(|node| node.url()).collect();
    let chain = format!("{CHAIN}\n{more}");
    let gateway = Gateway::chains(&[("tests".to_owned(), CHAIN_ID, urls)], ON, &chain);
    let client = gateway.client();
    (gateway, client)
}

/// Plays the exchanges one by one; all that differ are told at once.
#[track_caller]
fn assert_all_come_back<'a>(pairs: impl IntoIterator<Item = &'a Pair>, client: &mut Http) {
    let mut differences = Vec::new();
    for pair in pairs {
        let answer = client.post(&pair.request).expect("an answer");
        let text = answer.text();
        if (answer.status, &text) != (200, &pair.response) {
            differences.push(format!(
                "{}: {}\n expected {}\n      got {} {text}",
                pair.case, pair.request, pair.response, answer.status
            ));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// What was asked is what the client wrote, once, and nothing else but the gateway's own questions.
fn assert_asked_as_written(pairs: &[Pair], node: &ScriptedNode) {
    for pair in pairs.iter().filter(|pair| !pair.is_local()) {
        let calls = node.record().calls_of(&pair.method);
        let same = calls.iter().filter(|call| pair.is_asked_by(call)).count();
        if OWN.contains(&pair.method.as_str()) {
            assert!(same >= 1, "{}: {calls:?}", pair.case);
        } else {
            assert_eq!(same, 1, "{}: {calls:?}", pair.case);
        }
    }
    let mut strange = node.record().calls();
    strange.retain(|call| {
        let is_own = OWN.contains(&call.method.as_str());
        let is_written = pairs.iter().any(|pair| pair.is_asked_by(call));
        !is_own && !is_written
    });
    assert!(strange.is_empty(), "{strange:?}");
    assert_eq!(node.record().count("eth_chainId"), 1);
}

// G-1, G-2
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn each_exchange_comes_back_byte_for_byte() {
    let pairs = pairs();
    let node = player(&pairs).await;
    let (_gateway, mut client) = gateway(&[&node], "");
    assert_all_come_back(pairs.iter(), &mut client);
    assert_asked_as_written(&pairs, &node);
}

// G-1, G-2, R-36
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn each_exchange_comes_back_byte_for_byte_when_the_first_endpoint_is_gone() {
    let pairs = pairs();
    let (gone, node) = (player(&pairs).await, player(&pairs).await);
    gone.stop().await;
    let (_gateway, mut client) = gateway(&[&gone, &node], PAST_THE_GONE);
    assert_all_come_back(pairs.iter(), &mut client);
    assert_asked_as_written(&pairs, &node);
}

// G-1, G-2
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn all_exchanges_come_back_in_one_batch_under_ids_of_every_shape() {
    let pairs = pairs();
    let node = player(&pairs).await;
    let (_gateway, mut client) = gateway(&[&node], "");
    // Where the chain is decides what is said of blocks ahead of it.
    let head = pairs.iter().find(|pair| pair.method == "eth_blockNumber");
    assert_all_come_back(head, &mut client);
    let under_ids = |text: fn(&Pair) -> &String| {
        let members: Vec<String> = pairs
            .iter()
            .zip(IDS.iter().cycle())
            .map(|(pair, id)| with_id(text(pair), id))
            .collect();
        format!("[{}]", members.join(","))
    };
    let answer = client.post(&under_ids(|pair| &pair.request)).unwrap();
    assert_eq!(answer.status, 200);
    assert_eq!(answer.text(), under_ids(|pair| &pair.response));
    assert_asked_as_written(&pairs, &node);
}

//
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn behind_an_endpoint_that_fails_only_the_send_is_lost_since_it_may_have_arrived() {
    let pairs = pairs();
    let node = player(&pairs).await;
    let failing = ScriptedNode::start_on(fresh_address()).await.unwrap();
    failing.set_chain_id(CHAIN_ID);
    for pair in pairs.iter().filter(|pair| !pair.is_local()) {
        failing.on(&pair.method).always(Answer::body(500, "oops"));
    }
    let (_gateway, mut client) = gateway(&[&failing, &node], PAST_THE_FAILING);
    let is_send = |pair: &&Pair| pair.method == "eth_sendRawTransaction";
    assert_all_come_back(pairs.iter().filter(|pair| !is_send(pair)), &mut client);
    let send = pairs.iter().find(is_send).unwrap();
    let answer = client.post(&send.request).unwrap().text();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["error"]["code"], -32_011, "{answer}");
    assert_eq!(node.record().count(&send.method), 0);
    for pair in pairs.iter().filter(|pair| !pair.is_local()) {
        assert!(failing.record().count(&pair.method) > 0, "{}", pair.case);
    }
}
