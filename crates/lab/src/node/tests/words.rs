//! The dialects, row by row.

use alloy_primitives::{Address, B256};
use serde_json::{Value, json};

use super::{Dialect, Node, S, Sees, What, always, node, refusal};

fn with(dialect: Dialect, sees: Sees) -> Node {
    node(dialect, vec![always(What::Sees(sees))])
}

fn check(method: &str, params: &Value, expected: &[(Dialect, i64, &str)]) {
    for (dialect, code, text) in expected {
        let node = &mut node(*dialect, Vec::new());
        let (got, message) = refusal(node, method, params.clone());
        assert_eq!(got, *code, "{dialect:?} {message}");
        assert!(message.contains(text), "{dialect:?} {message}");
    }
}

// semantics 10
#[test]
fn state_above_the_head_is_an_error_or_a_null() {
    let params = json!([Address::ZERO, "0x1000"]);
    let expected = [
        (Dialect::Geth, -32000, "header not found"),
        (Dialect::Besu, 0, "null"),
        (Dialect::Monad, -32602, "Block requested not found"),
        (Dialect::Coreth, -32000, "cannot query unfinalized data"),
        (Dialect::CosmosEvm, -32000, "height"),
        (
            Dialect::Zksync,
            -32602,
            "Block with such an ID doesn't exist yet",
        ),
        (Dialect::Reth, -32001, "block not found"),
    ];
    check("eth_getBalance", &params, &expected);
    let params = json!([Address::ZERO, {"blockHash": B256::repeat_byte(1)}]);
    let expected = [
        (Dialect::Geth, -32000, "header for hash not found"),
        (Dialect::Besu, 0, "null"),
        (Dialect::CosmosEvm, -32000, "header not found for hash"),
    ];
    check("eth_getBalance", &params, &expected);
}

// semantics 10
#[test]
fn logs_above_the_head_are_refused_cut_or_both() {
    let params = json!([{"fromBlock": "0x29", "toBlock": "0x1000"}]);
    let expected = [
        (Dialect::Geth, -32602, "extends beyond current head block"),
        (Dialect::Besu, -32602, "Invalid params"),
        (Dialect::Monad, 0, "logIndex"),
        (Dialect::Bsc, -32000, "invalid block range params"),
        (
            Dialect::Coreth,
            -32000,
            "requested to block 4096 after last accepted block 41",
        ),
        (Dialect::Sei, -32000, "after latest available block"),
        (Dialect::CosmosEvm, -32000, "invalid block range params"),
        (Dialect::Reth, -32602, "requested 4096, head 41"),
    ];
    check("eth_getLogs", &params, &expected);
}

// semantics 10
#[test]
fn inverted_ranges_and_unknown_hashes_have_their_words() {
    let params = json!([{"fromBlock": "0x9", "toBlock": "0x8"}]);
    let expected = [
        (Dialect::Geth, -32602, "invalid block range params"),
        (Dialect::Besu, -32602, "Invalid params"),
        (Dialect::Monad, -32602, "invalid block range"),
        (Dialect::Bsc, -32000, "invalid block range params"),
        (
            Dialect::Coreth,
            -32000,
            "begin block 9 is greater than end block 8",
        ),
        (Dialect::Sei, -32000, "greater than"),
    ];
    check("eth_getLogs", &params, &expected);
    let params = json!([{"blockHash": B256::repeat_byte(1)}]);
    let expected = [
        (Dialect::Geth, -32000, "unknown block"),
        (Dialect::Besu, -32000, "Block not found"),
        (Dialect::Monad, 0, "[]"),
    ];
    check("eth_getLogs", &params, &expected);
}

// semantics 10
#[test]
fn a_block_above_the_head_is_null_except_where_it_is_an_error() {
    let params = json!(["0x1000", false]);
    let expected = [
        (Dialect::Geth, 0, "null"),
        (Dialect::Besu, 0, "null"),
        (Dialect::Coreth, -32000, ""),
    ];
    check("eth_getBlockByNumber", &params, &expected);
}

// semantics 10
#[test]
fn pruned_and_gone_history_has_its_words() {
    let params = json!([{"fromBlock": "0x1", "toBlock": "0x2"}]);
    for (dialect, code, text) in [
        (Dialect::Geth, 4444, "pruned history unavailable"),
        (
            Dialect::Sei,
            -32000,
            "requested fromBlock 1 is before earliest available block 31",
        ),
        (Dialect::Zksync, -32602, "first retained block is 31"),
    ] {
        let node = &mut with(dialect, Sees::PrunedBlocks(10));
        let (got, message) = refusal(node, "eth_getLogs", params.clone());
        assert_eq!(got, code, "{dialect:?}");
        assert!(message.contains(text), "{message}");
    }
    for (dialect, code, text) in [
        (Dialect::Geth, -32000, "missing trie node"),
        (Dialect::Besu, -32000, "World state unavailable"),
        (Dialect::CosmosEvm, -32000, "Node state is pruned"),
    ] {
        let node = &mut with(dialect, Sees::PrunedState(10));
        let (got, message) = refusal(node, "eth_getBalance", json!([Address::ZERO, "0x1"]));
        assert_eq!(got, code, "{dialect:?}");
        assert!(message.contains(text), "{message}");
        let block = refusal(node, "eth_getBlockByNumber", json!(["0x1", false]));
        assert_eq!(block.0, 0);
    }
    let besu = &mut with(Dialect::Besu, Sees::PrunedBlocks(10));
    let gone = refusal(besu, "eth_getBlockReceipts", json!(["0x1"]));
    assert_eq!(gone, (0, "[]".into()));
    let geth = &mut with(Dialect::Geth, Sees::PrunedBlocks(10));
    let gone = refusal(geth, "eth_getBlockReceipts", json!(["0x1"]));
    assert_eq!(gone, (-32000, "receipts length mismatch".into()));
    let earliest = refusal(geth, "eth_getBlockByNumber", json!(["earliest", false]));
    assert!(earliest.1.contains(r#""number":"0x1f""#));
}

// semantics 10
#[test]
fn tags_may_name_nothing_or_the_head() {
    for (dialect, code) in [(Dialect::Geth, -32000), (Dialect::Besu, -39001)] {
        let node = &mut with(dialect, Sees::NoTags);
        let got = refusal(node, "eth_getBlockByNumber", json!(["finalized", false]));
        assert_eq!(got.0, code);
    }
    let node = &mut node(Dialect::Coreth, Vec::new());
    let block = refusal(node, "eth_getBlockByNumber", json!(["finalized", false]));
    assert!(block.1.contains(r#""number":"0x29""#));
}

// semantics 10
#[test]
fn an_orphan_is_refused_where_a_canonical_block_is_required() {
    let chain = super::chain();
    let view = crate::chain::View::healthy(S * 9);
    let orphan = chain.block(&view, 49).unwrap().hash;
    for (dialect, code, text) in [
        (Dialect::Geth, -32000, "not currently canonical"),
        (Dialect::Besu, -32000, "Invalid input"),
        (Dialect::Monad, 0, "0x"),
    ] {
        let node = &mut node(dialect, Vec::new());
        let block = json!({"blockHash": orphan, "requireCanonical": true});
        let params = json!([Address::ZERO, block]);
        let reply = super::reply(node, S * 11, "eth_getBalance", params);
        assert_eq!(reply["error"]["code"].as_i64().unwrap_or(0), code);
        assert!(reply.to_string().contains(text), "{reply}");
    }
}

// semantics 10
#[test]
fn too_many_calls_in_a_batch_are_refused() {
    let call = r#"{"id":1,"method":"eth_chainId"}"#;
    let batch = format!("[{}]", vec![call; 1_025].join(","));
    for (dialect, code) in [(Dialect::Geth, "-32600"), (Dialect::Besu, "-32005")] {
        let node = &mut node(dialect, Vec::new());
        let answer = super::delivery(node.ask(S, "me", batch.as_bytes()));
        assert!(String::from_utf8_lossy(&answer.body).contains(code));
    }
}

// R-35
#[test]
fn a_transaction_sent_again_is_known_in_every_tongue() {
    let chain = super::chain();
    let view = crate::chain::View::healthy(S);
    let block = chain.block(&view, 41).unwrap();
    let raw = crate::node::render::raw(&block.mined[0].tx);
    let hash = block.mined[0].tx.tx_hash().to_string();
    let raw: Value = serde_json::from_str(&raw).unwrap();
    for (dialect, code, text) in [
        (Dialect::Geth, -32000, "already known"),
        (Dialect::Besu, -32000, "Known transaction"),
        (Dialect::Sei, -32000, "tx already exists in cache"),
        (Dialect::Zksync, 3, "known transaction"),
        (Dialect::Monad, 0, hash.as_str()),
    ] {
        let node = &mut node(dialect, Vec::new());
        // The block must be built before the node can know its transactions.
        super::result(node, S, "eth_getTransactionReceipt", json!([hash]));
        let (got, message) = refusal(node, "eth_sendRawTransaction", json!([raw]));
        assert_eq!(got, code, "{dialect:?} {message}");
        assert!(message.contains(text), "{message}");
    }
}

// semantics 10
#[test]
fn a_client_without_filters_has_no_such_methods() {
    let expected = [(Dialect::Monad, -32601, ""), (Dialect::Besu, 0, "0x")];
    check("eth_newBlockFilter", &json!([]), &expected);
}

// semantics 10
#[test]
fn a_sequencer_answers_a_send_with_its_block() {
    let (raw, _) = crate::chain::Sender::new(1, 990_001, 5).transfer(0);
    let body = super::body("eth_sendRawTransaction", &json!([raw]));
    for (dialect, delay) in [(Dialect::Nitro, 700), (Dialect::Geth, 20)] {
        let node = &mut node(dialect, Vec::new());
        node.chain = super::fresh_chain();
        let exchange = node.ask(S * 3 + super::MS * 300, "me", &body);
        assert_eq!(exchange.delay, super::MS * delay);
    }
}
