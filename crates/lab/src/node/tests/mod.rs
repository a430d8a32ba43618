//! A node asked in-process.

mod faults;
mod reads;
mod words;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Value, json};

use super::{
    Carriage, Carries, Delivery, Dialect, Exchange, Fault, Latency, Node, Profile, Says, Sees, What,
};
use crate::chain::{Chain, ChainSpec, Fork, Reach};

const S: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);

#[expect(
    clippy::needless_pass_by_value,
    reason = "a literal is easier to read than a borrowed one"
)]
fn reply(node: &mut Node, at: Duration, method: &str, params: Value) -> Value {
    let exchange = node.ask(at, "me", &body(method, &params));
    serde_json::from_slice(&delivery(exchange).body).unwrap()
}

/// One chain for all tests that change nothing on it: its blocks are costly without optimisation.
fn chain() -> Arc<Chain> {
    static CHAIN: OnceLock<Arc<Chain>> = OnceLock::new();
    Arc::clone(CHAIN.get_or_init(fresh_chain))
}

fn fresh_chain() -> Arc<Chain> {
    Arc::new(Chain::new(ChainSpec {
        start: 40,
        safe_lag: 4,
        finalized_lag: 8,
        forks: vec![
            Fork {
                at: S * 10,
                depth: 2,
                reach: Reach::Everyone,
            },
            Fork {
                at: S * 10,
                depth: 5,
                reach: Reach::Strayed,
            },
        ],
        ..ChainSpec::default()
    }))
}

fn always(what: What) -> Fault {
    Fault {
        from: Duration::ZERO,
        until: None,
        every: None,
        share: 1.0,
        methods: Vec::new(),
        what,
    }
}

fn node(dialect: Dialect, faults: Vec<Fault>) -> Node {
    let profile = Profile {
        name: "n".into(),
        dialect,
        latency: Latency::Constant(MS * 20),
        faults,
    };
    Node::new(profile, chain(), 0)
}

fn honest() -> Node {
    node(Dialect::Geth, Vec::new())
}

fn sees(sees: Sees) -> Node {
    node(Dialect::Geth, vec![always(What::Sees(sees))])
}

fn says(says: Says) -> Node {
    node(Dialect::Geth, vec![always(What::Says(says))])
}

fn carries(carries: Carries) -> Node {
    node(Dialect::Geth, vec![always(What::Carries(carries))])
}

fn body(method: &str, params: &Value) -> Vec<u8> {
    json!({"jsonrpc": "2.0", "id": 5, "method": method, "params": params})
        .to_string()
        .into_bytes()
}

fn exchange(node: &mut Node, at: Duration, method: &str) -> Exchange {
    node.ask(at, "me", &body(method, &json!([])))
}

fn delivery(exchange: Exchange) -> Delivery {
    match exchange.carriage {
        Carriage::Answer(delivery) => delivery,
        other => panic!("no answer: {other:?}"),
    }
}

fn result(node: &mut Node, at: Duration, method: &str, params: Value) -> Value {
    let reply = reply(node, at, method, params);
    assert!(reply.get("error").is_none(), "{reply}");
    reply["result"].clone()
}

/// Code and message of the error, or what came instead.
fn refusal(node: &mut Node, method: &str, params: Value) -> (i64, String) {
    let reply = reply(node, S, method, params);
    match reply.get("error") {
        Some(error) => (
            error["code"].as_i64().unwrap(),
            error["message"].as_str().unwrap().to_owned(),
        ),
        None => (0, reply["result"].to_string()),
    }
}
