//! Histories written by hand: each kind of breach, and next to each the history that keeps the
//! promise.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use alloy_primitives::Address;
use serde_json::{Value, json};

use super::{Breach, Promises, check};
use crate::chain::{Chain, ChainSpec, Fork, Reach, View, state};
use crate::history::{Event, Got, History};
use crate::node::{Carriage, Dialect, Latency, Node, Profile};
use crate::scenario::Budget;

mod course;
mod reading;
mod routing;
mod sends;
mod standing;

const MS: Duration = Duration::from_millis(1);
const WHO: Address = Address::repeat_byte(3);

/// Head 30 at zero, a block a second, and a reorg of two at ten seconds.
fn chain() -> Arc<Chain> {
    static CHAIN: OnceLock<Arc<Chain>> = OnceLock::new();
    let fork = Fork {
        at: MS * 10_000,
        depth: 2,
        reach: Reach::Everyone,
    };
    let spec = ChainSpec {
        start: 30,
        forks: vec![fork],
        ..ChainSpec::default()
    };
    Arc::clone(CHAIN.get_or_init(|| Arc::new(Chain::new(spec))))
}

fn promises() -> Promises {
    Promises {
        stale_blocks: 2,
        budgets: vec![Some(Budget {
            rps: 1.0,
            burst: 2.0,
        })],
        once: vec!["eth_sendTransaction".into()],
        local: vec!["eth_blockNumber".into()],
        ..Promises::default()
    }
}

fn breaches(history: &History, promises: &Promises) -> Vec<Breach> {
    let found = check(history, &chain(), promises);
    found
        .into_iter()
        .map(|violation| violation.breach)
        .collect()
}

/// A history under construction. Every answer is also served, unless a test says otherwise.
#[derive(Default)]
struct Tale {
    events: Vec<Event>,
    calls: u64,
}

impl Tale {
    /// A call of client 1 at `from`, answered at `to`.
    fn ask(mut self, (from, to): (u32, u32), method: &str, params: Value, result: Value) -> Self {
        self.served(to, method, &result);
        self.unserved((from, to), method, params, result)
    }

    #[expect(clippy::needless_pass_by_value, reason = "a literal is easier to read")]
    fn unserved(
        mut self,
        (from, to): (u32, u32),
        method: &str,
        params: Value,
        result: Value,
    ) -> Self {
        self.calls += 1;
        self.events.push(Event::Called {
            at: MS * from,
            client: 1,
            call: self.calls,
            id: "1".into(),
            method: method.into(),
            params: params.to_string(),
        });
        self.events.push(Event::Answered {
            at: MS * to,
            call: self.calls,
            id: Some("1".into()),
            got: Got::Result(result.to_string()),
        });
        self
    }

    fn served(&mut self, at: u32, method: &str, result: &Value) {
        self.events.push(Event::Served {
            at: MS * at,
            node: 0,
            methods: vec![method.into()],
            ids: vec![Some("1".into())],
            status: 200,
            body: json!({"id": 1, "result": result}).to_string(),
        });
    }

    fn received(mut self, at: u32, node: usize, method: &str, params: &Value) -> Self {
        self.events.push(Event::Received {
            at: MS * at,
            node,
            id: Some(self.calls.to_string()),
            method: method.into(),
            params: params.to_string(),
        });
        self
    }

    fn breaches(self) -> Vec<Breach> {
        self.breaches_of(&promises())
    }

    fn breaches_of(mut self, promises: &Promises) -> Vec<Breach> {
        self.events.sort_by_key(Event::at);
        breaches(&self.events.into_iter().collect(), promises)
    }
}

fn number(height: u64) -> Value {
    json!(format!("{height:#x}"))
}

fn balance(height: u64, branch: u16) -> Value {
    json!(format!("{:#x}", state::balance(WHO, height, branch)))
}

/// What a perfect node answers.
fn honest(at: u32, method: &str, params: &Value) -> Value {
    let profile = Profile {
        name: "honest".into(),
        dialect: Dialect::Geth,
        latency: Latency::Constant(Duration::ZERO),
        faults: Vec::new(),
    };
    let body = json!({"id": 1, "method": method, "params": params}).to_string();
    let mut node = Node::new(profile, chain(), 0);
    let Carriage::Answer(delivery) = node.ask(MS * at, "", body.as_bytes()).carriage else {
        panic!("an honest node answers");
    };
    let mut reply: Value = serde_json::from_slice(&delivery.body).unwrap();
    reply["result"].take()
}

// B-4
#[test]
fn reports_a_head_that_went_back() {
    let first = Tale::default().ask((0, 10), "eth_blockNumber", json!([]), number(30));
    let back = first.ask((20, 30), "eth_blockNumber", json!([]), number(29));
    assert_eq!(back.breaches(), [Breach::WentBack]);
    let read = Tale::default()
        .ask((0, 10), "eth_blockNumber", json!([]), number(30))
        .ask(
            (20, 30),
            "eth_getBalance",
            json!([WHO, "latest"]),
            balance(29, 0),
        );
    assert_eq!(read.breaches(), [Breach::WentBack]);
    let together = Tale::default()
        .ask((0, 10), "eth_blockNumber", json!([]), number(30))
        .ask((5, 30), "eth_blockNumber", json!([]), number(29));
    assert_eq!(together.breaches(), []);
}

// B-4
#[test]
fn reports_a_read_from_another_height() {
    let tale = |height| {
        let params = json!([WHO, "0x14"]);
        Tale::default().ask((0, 10), "eth_getBalance", params, balance(height, 0))
    };
    assert_eq!(tale(21).breaches(), [Breach::WrongHeight]);
    assert_eq!(tale(20).breaches(), []);
    let params = json!(["0x14", false]);
    let block = honest(0, "eth_getBlockByNumber", &json!(["0x15", false]));
    let block = Tale::default().ask((0, 10), "eth_getBlockByNumber", params, block);
    assert_eq!(block.breaches(), [Breach::WrongHeight]);
}

// B-4
#[test]
fn reports_a_read_from_another_fork() {
    let tale = |from, to, branch| {
        let params = json!([WHO, "0x27"]);
        Tale::default().ask((from, to), "eth_getBalance", params, balance(39, branch))
    };
    assert_eq!(tale(11_000, 11_010, 0).breaches(), [Breach::Orphaned]);
    assert_eq!(tale(11_000, 11_010, 1).breaches(), []);
    assert_eq!(tale(9_500, 9_510, 1).breaches(), [Breach::Orphaned]);
    assert_eq!(tale(9_990, 10_010, 0).breaches(), []);
    let old = chain().block(&View::healthy(MS * 9_500), 39).unwrap().hash;
    let params = json!([WHO, {"blockHash": old}]);
    let by_hash = Tale::default().ask((11_000, 11_010), "eth_getBalance", params, balance(39, 0));
    assert_eq!(by_hash.breaches(), []);
}

// B-4
#[test]
fn reports_a_read_staler_than_the_bound() {
    let tale = |height| {
        let mut tale = Tale::default();
        tale.served(5_000, "eth_blockNumber", &number(35));
        let params = json!([WHO, "latest"]);
        tale.ask((5_100, 5_110), "eth_getBalance", params, balance(height, 0))
    };
    assert_eq!(tale(32).breaches(), [Breach::TooStale]);
    assert_eq!(tale(33).breaches(), []);
    let mut liar = Tale::default();
    liar.served(0, "eth_blockNumber", &number(5_000));
    let liar = liar.ask(
        (100, 110),
        "eth_getBalance",
        json!([WHO, "latest"]),
        balance(30, 0),
    );
    assert_eq!(liar.breaches(), []);
}

// B-4
#[test]
fn reports_logs_missing_doubled_and_out_of_order() {
    let params = json!([{"fromBlock": "0x14", "toBlock": "0x16"}]);
    let whole = honest(0, "eth_getLogs", &params);
    let tale = |change: fn(&mut Vec<Value>)| {
        let mut logs = whole.as_array().unwrap().clone();
        change(&mut logs);
        Tale::default()
            .ask((0, 10), "eth_getLogs", params.clone(), json!(logs))
            .breaches()
    };
    assert_eq!(tale(|_| ()), []);
    assert_eq!(tale(|logs| drop(logs.remove(3))), [Breach::LogsMissing]);
    assert_eq!(
        tale(|logs| logs.insert(1, logs[0].clone())),
        [Breach::LogsDoubled]
    );
    assert_eq!(tale(|logs| logs.swap(0, 4)), [Breach::LogsDisordered]);
    let empty = tale(Vec::clear);
    assert_eq!(empty, [Breach::LogsMissing]);
    let above = json!([{"fromBlock": "0x14", "toBlock": "0x99"}]);
    let above = Tale::default().ask((0, 10), "eth_getLogs", above, json!([]));
    assert_eq!(above.breaches(), [Breach::WrongHeight]);
}

// B-4
#[test]
fn reports_logs_of_an_orphaned_block() {
    let params = json!([{"fromBlock": "0x27", "toBlock": "0x27"}]);
    let old = honest(9_500, "eth_getLogs", &params);
    let late = Tale::default().ask((11_000, 11_010), "eth_getLogs", params.clone(), old.clone());
    assert_eq!(late.breaches(), [Breach::Orphaned, Breach::LogsMissing]);
    let across = Tale::default().ask((9_990, 10_010), "eth_getLogs", params, old);
    assert_eq!(across.breaches(), []);
}

// B-4
#[test]
fn reports_a_receipt_that_vanished_but_not_one_that_a_reorg_took() {
    let kept = chain().block(&View::healthy(MS * 9_500), 39).unwrap();
    for (index, expected) in [(0, vec![Breach::ReceiptVanished]), (1, vec![])] {
        let params = json!([kept.mined[index].tx.tx_hash()]);
        let method = "eth_getTransactionReceipt";
        let receipt = honest(9_500, method, &params);
        let tale = Tale::default()
            .ask((9_500, 9_510), method, params.clone(), receipt)
            .ask((11_000, 11_010), method, params, Value::Null);
        assert_eq!(tale.breaches(), expected);
    }
}

// B-4
#[test]
fn reports_a_request_that_reached_two_endpoints() {
    let params = json!([{"from": WHO, "value": "0x1"}]);
    let method = "eth_sendTransaction";
    let tale = || Tale::default().ask((0, 50), method, params.clone(), json!("0xaa"));
    let one = tale().received(1, 0, method, &params);
    assert_eq!(one.breaches(), []);
    let two = tale()
        .received(1, 0, method, &params)
        .received(2, 1, method, &params);
    assert_eq!(two.breaches(), [Breach::SentTwice]);
    let asked_twice = tale()
        .ask((60, 70), method, params.clone(), json!("0xbb"))
        .received(1, 0, method, &params)
        .received(61, 1, method, &params);
    assert_eq!(asked_twice.breaches(), []);
}

// B-4
#[test]
fn reports_an_answer_with_another_id() {
    let mut tale = Tale::default().ask((0, 10), "eth_blockNumber", json!([]), number(30));
    for event in &mut tale.events {
        if let Event::Answered { id, .. } = event {
            *id = Some("\"1\"".into());
        }
    }
    assert_eq!(tale.breaches(), [Breach::WrongId]);
}

// B-4
#[test]
fn reports_an_answer_to_another_question() {
    let params = json!([Address::ZERO, "0x14"]);
    let tale = Tale::default().ask((0, 10), "eth_getBalance", params, balance(20, 0));
    assert_eq!(tale.breaches(), [Breach::WrongCaller]);
    let block = chain().block(&View::healthy(MS), 20).unwrap();
    let [one, two] = [0, 1].map(|index| json!([block.mined[index].tx.tx_hash()]));
    let receipt = honest(0, "eth_getTransactionReceipt", &two);
    let tale = Tale::default().ask((0, 10), "eth_getTransactionReceipt", one, receipt);
    assert_eq!(tale.breaches(), [Breach::WrongCaller]);
}

// B-4
#[test]
fn reports_requests_over_a_budget() {
    let ask = |tale: Tale, at| tale.received(at, 0, "eth_call", &json!([]));
    let within = [0, 0, 1_000, 2_000].into_iter().fold(Tale::default(), ask);
    assert_eq!(within.breaches(), []);
    let over = [0, 0, 999, 2_000].into_iter().fold(Tale::default(), ask);
    assert_eq!(over.breaches(), [Breach::OverBudget]);
}

// B-4
#[test]
fn reports_an_answer_that_no_endpoint_gave() {
    let params = json!([WHO, "0x14"]);
    let tale = Tale::default().unserved((0, 10), "eth_getBalance", params.clone(), balance(20, 0));
    assert_eq!(tale.breaches(), [Breach::Invented]);
    let mut late = Tale::default().unserved((0, 10), "eth_getBalance", params, balance(20, 0));
    late.served(11, "eth_getBalance", &balance(20, 0));
    assert_eq!(late.breaches(), [Breach::Invented]);
    let ranges = ["0x14", "0x15"].map(|at| json!([{"fromBlock": at, "toBlock": at}]));
    let [one, two] = ranges.map(|range| honest(0, "eth_getLogs", &range));
    let mut joined = Tale::default();
    joined.served(5, "eth_getLogs", &one);
    joined.served(6, "eth_getLogs", &two);
    let both = [
        one.as_array().unwrap().clone(),
        two.as_array().unwrap().clone(),
    ]
    .concat();
    let range = json!([{"fromBlock": "0x14", "toBlock": "0x15"}]);
    let joined = joined.unserved((0, 10), "eth_getLogs", range, json!(both));
    assert_eq!(joined.breaches(), []);
    let local = Tale::default().unserved((0, 10), "eth_blockNumber", json!([]), number(30));
    assert_eq!(local.breaches(), []);
}
