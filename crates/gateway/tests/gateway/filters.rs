//! Filters under ids of ours (L-4), through the gateway.

use crate::{
    fleet::{Fleet, prefer},
    site::{Client, key},
};
use highwater_lab::{
    call::Call,
    sockets::{Answer, ConnectionFault, ScriptedNode},
};
use serde_json::{Value, json};

const ONE: &str = "hw_0123456789abcdef";
const OTHER: &str = "hw_fedcba9876543210";

/// The hash of a block.
fn hash(number: u64) -> String {
    format!("0x{number:064x}")
}

fn log(number: u64) -> Value {
    json!({
        "address": "0x00000000000000000000000000000000000000aa", "topics": [], "data": "0x",
        "blockNumber": format!("{number:#x}"), "blockHash": hash(number), "logIndex": "0x0",
        "removed": false,
    })
}

fn number(value: &Value) -> u64 {
    let digits = value.as_str().unwrap().strip_prefix("0x").unwrap();
    u64::from_str_radix(digits, 16).unwrap()
}

fn params(call: &Call) -> Value {
    serde_json::from_str(call.params.as_deref().unwrap()).unwrap()
}

/// At this block, with one log in each, and a filter `0x1` that tells of one block.
fn shows(node: &ScriptedNode, head: u64, told: u64) {
    node.set_head(head);
    node.on("eth_getBlockByNumber").with(move |call| {
        let block = match &params(call)[0] {
            Value::String(tag) if tag == "latest" => head,
            height => number(height),
        };
        let block = json!({
            "number": format!("{block:#x}"), "hash": hash(block), "parentHash": hash(block - 1),
        });
        Answer::result(block.to_string())
    });
    node.on("eth_getLogs").with(|call| {
        let wanted = &params(call)[0];
        let range = number(&wanted["fromBlock"])..=number(&wanted["toBlock"]);
        Answer::result(range.map(log).collect::<Value>().to_string())
    });
    node.on("eth_newFilter").always(Answer::result("\"0x1\""));
    let changes = json!([log(told)]).to_string();
    node.on("eth_getFilterChanges")
        .always(Answer::result(changes));
    node.on("eth_uninstallFilter")
        .always(Answer::result("true"));
}

async fn call(fleet: &Fleet<2>, key: &str, method: &str, params: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string();
    let mut client = Client::connect(fleet.gateway.addr).await;
    let headers = [("X-Api-Key", key)];
    let answer = client.post("/ethereum", &headers, body.as_bytes()).await;
    assert_eq!(answer.status, 200, "{method}");
    assert_eq!(answer.json()["id"], 7);
    answer.json()
}

async fn fleet() -> Fleet<2> {
    let fleet = Fleet::with_settings(|settings| {
        settings.keys = vec![key("one", ONE), key("other", OTHER)];
        prefer(&mut settings.chains[0].endpoints[0]);
    })
    .await;
    shows(&fleet.nodes[0], 100, 101);
    shows(&fleet.nodes[1], 103, 200);
    fleet
}

// scenarios X01, X02, X03
#[tokio::test]
async fn a_filter_survives_its_maker_under_the_same_id() {
    let fleet = fleet().await;
    let first = call(&fleet, ONE, "eth_newFilter", json!([{}])).await;
    let second = call(&fleet, ONE, "eth_newFilter", json!([{}])).await;
    assert_ne!(first["result"], second["result"]);
    let id = json!([first["result"]]);
    let told = call(&fleet, ONE, "eth_getFilterChanges", id.clone()).await;
    assert_eq!(told["result"], json!([log(101)]));
    assert_eq!(fleet.counts("eth_getFilterChanges"), [1, 0]);
    fleet.nodes[0].fail_all_connections(ConnectionFault::Reset);
    fleet.nodes[0].drop_connections();
    let told = call(&fleet, ONE, "eth_getFilterChanges", id.clone()).await;
    assert_eq!(told["result"], json!([log(102), log(103)]));
    let told = call(&fleet, ONE, "eth_getFilterChanges", id.clone()).await;
    assert_eq!(told["result"], json!([]));
    assert_eq!(fleet.counts("eth_getFilterChanges")[1], 0);
    let ended = call(&fleet, ONE, "eth_uninstallFilter", id.clone()).await;
    assert_eq!(ended["result"], true);
    let gone = call(&fleet, ONE, "eth_getFilterChanges", id).await;
    let expected = json!({"code": -32000, "message": "filter not found"});
    assert_eq!(gone["error"], expected);
}

// L-4: a filter belongs to the key that made it
#[tokio::test]
async fn a_filter_is_not_there_for_another_key() {
    let fleet = fleet().await;
    let made = call(&fleet, ONE, "eth_newFilter", json!([{}])).await;
    let id = json!([made["result"]]);
    let expected = json!({"code": -32000, "message": "filter not found"});
    for method in ["eth_getFilterChanges", "eth_getFilterLogs"] {
        let other = call(&fleet, OTHER, method, id.clone()).await;
        assert_eq!(other["error"], expected, "{method}");
    }
    let other = call(&fleet, OTHER, "eth_uninstallFilter", id.clone()).await;
    assert_eq!(other["result"], false);
    assert_eq!(fleet.counts("eth_getFilterChanges"), [0, 0]);
    let own = call(&fleet, ONE, "eth_getFilterChanges", id).await;
    assert_eq!(own["result"], json!([log(101)]));
}
