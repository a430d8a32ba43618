//! Raw transactions through the gateway (R-35).

use crate::{
    fleet::Fleet,
    site::{Client, key},
};
use highwater_gateway::config::{ChainSettings, WritePolicy};
use highwater_lab::sockets::{Answer, Gate};
use serde_json::{Value, json};

/// The example of EIP-155, and what every node calls it.
const RAW: &str = "0xf86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008025a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83";
const HASH: &str = "0x33469b22e9f636356c4160a87eb19df52b7412e8eac32a4a55ffe88ea8350788";
const SEND: &str = "eth_sendRawTransaction";
const LOOK_UP: &str = "eth_getTransactionByHash";

fn send(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{SEND}","params":["{RAW}"]}}"#)
}

fn accepted() -> Answer {
    Answer::result(format!("\"{HASH}\""))
}

fn known() -> Answer {
    Answer::error(-32000, "already known")
}

/// The first node is asked first.
fn in_order(chain: &mut ChainSettings) {
    for (endpoint, tier) in chain.endpoints.iter_mut().zip(0..) {
        endpoint.tier = tier;
    }
}

fn failover(chain: &mut ChainSettings) {
    in_order(chain);
    chain.writes = WritePolicy::Failover;
}

async fn sent<const N: usize>(fleet: &Fleet<N>) -> Value {
    let response = fleet.post(&send(1)).await;
    assert_eq!(response.status, 200);
    response.json()
}

// R-35, scenario W09: the default
#[tokio::test]
async fn a_lost_answer_is_an_ambiguous_end_and_nobody_else_is_asked() {
    let fleet = Fleet::<2>::with(in_order).await;
    fleet.nodes[0].on(SEND).once(Answer::reset());
    let answer = sent(&fleet).await;
    let expected = json!({
        "code": -32011,
        "message": "the transaction may have been accepted",
        "data": {"source": "gateway", "reason": "ambiguous", "hash": HASH},
    });
    assert_eq!(answer["error"], expected);
    assert_eq!(fleet.counts(SEND), [1, 0]);
    assert_eq!(fleet.counts(LOOK_UP), [0, 0]);
    // The client sends the same bytes again by itself.
    fleet.nodes[0].on(SEND).always(known());
    let again = sent(&fleet).await;
    assert_eq!(again["result"], HASH, "{again}");
}

// R-35, scenario W02
#[tokio::test]
async fn already_known_of_somebody_elses_sending_comes_as_it_is() {
    let fleet = Fleet::<2>::with(failover).await;
    fleet.nodes[0].on(SEND).always(known());
    let answer = sent(&fleet).await;
    assert_eq!(
        answer["error"],
        json!({"code": -32000, "message": "already known"})
    );
    assert_eq!(fleet.counts(SEND), [1, 0]);
}

// R-35, scenario W01, scenario W03
#[tokio::test]
async fn failover_sends_the_same_bytes_on_and_looks_up_what_stays_open() {
    let fleet = Fleet::<3>::with(failover).await;
    fleet.nodes[0].on(SEND).always(Answer::reset());
    fleet.nodes[1].on(SEND).once(known());
    assert_eq!(sent(&fleet).await["result"], HASH);
    assert_eq!(fleet.counts(SEND), [1, 1, 0]);
    let fleet = Fleet::<3>::with(failover).await;
    fleet.nodes[0].on(SEND).always(Answer::reset());
    fleet.nodes[1]
        .on(SEND)
        .always(Answer::error(-32000, "nonce too low"));
    fleet.nodes[2].on(LOOK_UP).once(Answer::result("null"));
    let answer = sent(&fleet).await;
    let expected = json!({
        "code": -32000,
        "message": "the transaction may have been accepted: nonce too low",
        "data": {
            "source": "gateway",
            "reason": "ambiguous",
            "hash": HASH,
            "error": {"code": -32000, "message": "nonce too low"},
        },
    });
    assert_eq!(answer["error"], expected);
    let stored = Answer::result(json!({"hash": HASH}).to_string());
    fleet.nodes[2].on(LOOK_UP).always(stored);
    fleet.nodes[1].on(LOOK_UP).always(Answer::result("null"));
    assert_eq!(sent(&fleet).await["result"], HASH);
    assert_eq!(fleet.counts(SEND), [2, 2, 0]);
}

// R-35
#[tokio::test]
async fn the_look_up_is_an_option_of_its_own() {
    let fleet = Fleet::<1>::with(|chain| chain.verify_writes = Some(true)).await;
    fleet.nodes[0].on(SEND).always(Answer::reset());
    let stored = Answer::result(json!({"hash": HASH}).to_string());
    fleet.nodes[0].on(LOOK_UP).always(stored);
    assert_eq!(sent(&fleet).await["result"], HASH);
    let fleet = Fleet::<2>::with(|chain| {
        failover(chain);
        chain.verify_writes = Some(false);
    })
    .await;
    for node in &fleet.nodes {
        node.on(SEND).always(Answer::reset());
    }
    assert_eq!(sent(&fleet).await["error"]["data"]["reason"], "ambiguous");
    assert_eq!(fleet.counts(SEND), [1, 1]);
    assert_eq!(fleet.counts(LOOK_UP), [0, 0]);
}

// R-35, scenario W16
#[tokio::test]
async fn a_broadcast_reaches_as_many_as_it_is_told_to() {
    for (width, expected) in [(2, 2), (3, 3)] {
        let fleet = Fleet::<4>::with(|chain| {
            chain.writes = WritePolicy::Broadcast;
            chain.broadcast_to = width;
        })
        .await;
        let gate = Gate::new();
        for node in &fleet.nodes {
            node.on(SEND).always(accepted().held_by(&gate));
        }
        let mut client = Client::connect(fleet.gateway.addr).await;
        let request = client.request("POST", "/ethereum", &[], send(1).as_bytes());
        client.send(request).await;
        gate.wait_for_held(expected).await;
        gate.open();
        assert_eq!(client.response().await.json()["result"], HASH);
        assert_eq!(fleet.counts(SEND).iter().sum::<usize>(), expected);
    }
}

// R-35, G-1
#[tokio::test]
async fn sends_inside_a_batch_end_each_for_itself() {
    let fleet = Fleet::<1>::with(|_| {}).await;
    let gate = Gate::new();
    fleet.nodes[0].on(SEND).once(accepted().held_by(&gate));
    fleet.nodes[0].on(SEND).always(known());
    let body = format!(
        r#"[{{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}},{},{},{{"jsonrpc":"2.0","id":4,"method":"{SEND}","params":["0x"]}}]"#,
        send(2),
        send(3)
    );
    let mut client = Client::connect(fleet.gateway.addr).await;
    let request = client.request("POST", "/ethereum", &[], body.as_bytes());
    client.send(request).await;
    gate.wait_for_held(1).await;
    gate.open();
    let answers = client.response().await.json();
    assert_eq!(answers[0]["result"], "0x1");
    // The same bytes twice: one is accepted, the other known because of it.
    assert_eq!(
        (&answers[1]["result"], &answers[2]["result"]),
        (&json!(HASH), &json!(HASH))
    );
    assert_eq!(answers[3]["error"]["message"], "already known");
}

// As a node takes them: one nonce before the next.
#[tokio::test]
async fn the_sends_of_a_batch_go_out_in_its_order() {
    let fleet = Fleet::<1>::with(|_| {}).await;
    let gate = Gate::new();
    fleet.nodes[0].on(SEND).with({
        let gate = gate.clone();
        move |_| accepted().held_by(&gate)
    });
    fleet.nodes[0]
        .on("eth_call")
        .always(Answer::result("1").held_by(&gate));
    let raw = |id: usize| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{SEND}","params":["0x05{id:02}"]}}"#)
    };
    let call = r#"{"jsonrpc":"2.0","id":9,"method":"eth_call","params":[{}]}"#;
    let body = format!("[{},{},{call},{}]", raw(1), raw(2), raw(3));
    let mut client = Client::connect(fleet.gateway.addr).await;
    let request = client.request("POST", "/ethereum", &[], body.as_bytes());
    client.send(request).await;
    // The first of them, and the read beside it.
    gate.wait_for_held(2).await;
    assert_eq!(fleet.counts(SEND), [1]);
    gate.open();
    assert_eq!(
        client.response().await.json().as_array().map(Vec::len),
        Some(4)
    );
    let calls = fleet.nodes[0].record().calls();
    let sends = calls.iter().filter(|call| call.method == SEND);
    let params: Vec<_> = sends.filter_map(|call| call.params.clone()).collect();
    assert_eq!(params, [r#"["0x0501"]"#, r#"["0x0502"]"#, r#"["0x0503"]"#]);
}

// R-35: "response too large" would pass for a failure of what was sent.
#[tokio::test]
async fn a_full_batch_answer_still_says_what_became_of_a_transaction() {
    let fleet = Fleet::<1>::with_settings(|settings| {
        settings.server.max_batch_response = 100;
    })
    .await;
    let node = &fleet.nodes[0];
    node.on("eth_call")
        .always(Answer::result(format!("\"{}\"", "a".repeat(1000))));
    node.on(SEND).always(accepted());
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{}]}"#;
    let response = fleet.post(&format!("[{call},{},{call}]", send(2))).await;
    let answers = response.json();
    assert_eq!(answers[0]["error"]["code"], -32003);
    assert_eq!(answers[1]["result"], HASH);
    assert_eq!(answers[2]["error"]["code"], -32003);
}

// R-1, scenario W10
#[tokio::test]
async fn a_private_endpoint_gets_what_is_private_and_nobody_else_does() {
    let fleet = Fleet::<2>::with(|chain| {
        in_order(chain);
        chain.endpoints[1].private = true;
    })
    .await;
    for node in &fleet.nodes {
        node.on(SEND).always(accepted());
        node.on("eth_sendBundle").always(Answer::result("{}"));
    }
    let bundle = r#"{"jsonrpc":"2.0","id":1,"method":"eth_sendBundle","params":[{"txs":[]}]}"#;
    assert_eq!(fleet.post(bundle).await.json()["result"], json!({}));
    assert_eq!(fleet.counts("eth_sendBundle"), [0, 1]);
    assert_eq!(sent(&fleet).await["result"], HASH);
    assert_eq!(fleet.counts(SEND), [1, 0]);
    fleet.nodes[1].stop().await;
    let refused = fleet.post(bundle).await.json();
    assert_eq!(refused["error"]["code"], -32011);
    assert_eq!(fleet.counts("eth_sendBundle"), [0, 1]);
}

// R-35: by chain, and by key.
#[tokio::test]
async fn all_sends_of_a_chain_or_of_a_key_may_be_private() {
    let fleet = Fleet::<2>::with(|chain| {
        chain.endpoints[1].private = true;
        chain.private_writes = true;
    })
    .await;
    for node in &fleet.nodes {
        node.on(SEND).always(accepted());
    }
    assert_eq!(sent(&fleet).await["result"], HASH);
    assert_eq!(fleet.counts(SEND), [0, 1]);
    let fleet = Fleet::<2>::with_settings(|settings| {
        let chain = &mut settings.chains[0];
        in_order(chain);
        chain.endpoints[1].private = true;
        let mut quiet = key("quiet", "hw_quiet");
        quiet.private_writes = Some(true);
        let mut twice = key("twice", "hw_twice");
        twice.writes = Some(WritePolicy::Failover);
        settings.keys = vec![quiet, twice];
    })
    .await;
    for node in &fleet.nodes {
        node.on(SEND).always(accepted());
    }
    let post = async |key: &str| {
        let mut client = Client::connect(fleet.gateway.addr).await;
        let headers = [("X-Api-Key", key)];
        client
            .post("/ethereum", &headers, send(1).as_bytes())
            .await
            .json()
    };
    assert_eq!(post("hw_quiet").await["result"], HASH);
    assert_eq!(fleet.counts(SEND), [0, 1]);
    assert_eq!(post("hw_twice").await["result"], HASH);
    assert_eq!(fleet.counts(SEND), [1, 1]);
}

// R-34, scenario W11
#[tokio::test]
async fn w11_signer_methods_are_refused() {
    let fleet = Fleet::<1>::with(|_| {}).await;
    for method in ["eth_sendTransaction", "personal_sign", "wallet_sendCalls"] {
        let call = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":[{{}}]}}"#);
        assert_eq!(fleet.post(&call).await.json()["error"]["code"], -32601);
        assert_eq!(fleet.counts(method), [0]);
    }
}

// semantics W5, W6
#[tokio::test]
async fn a_key_is_never_told_a_lower_pending_nonce() {
    let fleet = Fleet::<1>::with_settings(|settings| {
        settings.keys = vec![key("one", "hw_one"), key("two", "hw_two")];
    })
    .await;
    let method = "eth_getTransactionCount";
    fleet.nodes[0].on(method).once(Answer::result("\"0x8\""));
    fleet.nodes[0].on(method).always(Answer::result("\"0x7\""));
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":["0x{}","pending"]}}"#,
        "ab".repeat(20)
    );
    let ask = async |key: &str| {
        let mut client = Client::connect(fleet.gateway.addr).await;
        let headers = [("X-Api-Key", key)];
        client
            .post("/ethereum", &headers, body.as_bytes())
            .await
            .json()["result"]
            .clone()
    };
    assert_eq!(ask("hw_one").await, "0x8");
    assert_eq!(ask("hw_one").await, "0x8");
    assert_eq!(ask("hw_two").await, "0x7");
}
