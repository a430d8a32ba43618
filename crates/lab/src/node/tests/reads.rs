//! Honest answers, read back with alloy's types.

use alloy_consensus::transaction::SignerRecoverable as _;
use alloy_primitives::{Address, B256};
use alloy_rpc_types_eth::{Block, Filter, Log, Transaction, TransactionReceipt};
use serde_json::{Value, json};

use super::{MS, S, chain, exchange, honest, refusal, reply, result};
use crate::chain::state::{self, read_at};
use crate::chain::{TRANSFER, View, contract};

// B-1
#[test]
fn blocks_and_transactions_are_what_alloy_expects() {
    let node = &mut honest();
    for full in [true, false] {
        let block = result(node, S, "eth_getBlockByNumber", json!(["0x28", full]));
        let block: Block = serde_json::from_value(block).unwrap();
        assert_eq!(block.header.inner.hash_slow(), block.header.hash);
        assert_eq!(block.transactions.len(), 3);
        let hash = block.header.hash;
        let same = result(node, S, "eth_getBlockByHash", json!([hash, full]));
        assert_eq!(serde_json::from_value::<Block>(same).unwrap(), block);
        for tx in block.transactions.txns() {
            assert_eq!(tx.inner.recover_signer().unwrap(), tx.inner.signer());
            let again = result(
                node,
                S,
                "eth_getTransactionByHash",
                json!([tx.inner.tx_hash()]),
            );
            assert_eq!(&serde_json::from_value::<Transaction>(again).unwrap(), tx);
        }
    }
    let above = result(node, S, "eth_getBlockByNumber", json!(["0x100", true]));
    assert_eq!(above, Value::Null);
}

// B-1
#[test]
fn receipts_agree_with_their_block_and_with_the_logs() {
    let node = &mut honest();
    let receipts = result(node, S, "eth_getBlockReceipts", json!(["latest"]));
    let receipts: Vec<TransactionReceipt> = serde_json::from_value(receipts).unwrap();
    assert_eq!(receipts.len(), 3);
    let filter = Filter::new().from_block(41).to_block(41);
    let logs = result(node, S, "eth_getLogs", json!([filter]));
    let logs: Vec<Log> = serde_json::from_value(logs).unwrap();
    let from_receipts: Vec<Log> = receipts
        .iter()
        .flat_map(|receipt| receipt.logs().to_vec())
        .collect();
    assert_eq!(logs, from_receipts);
    assert!(!logs.is_empty());
    let one = json!([receipts[1].transaction_hash]);
    let one = result(node, S, "eth_getTransactionReceipt", one);
    let one: TransactionReceipt = serde_json::from_value(one).unwrap();
    assert_eq!(one, receipts[1]);
}

// B-1
#[test]
fn finds_the_same_logs_as_a_naive_scan() {
    let node = &mut honest();
    let chain = chain();
    let everything: Vec<Log> = {
        let all = result(
            node,
            S,
            "eth_getLogs",
            json!([{"fromBlock": "0x0", "toBlock": "latest"}]),
        );
        serde_json::from_value(all).unwrap()
    };
    let senders = chain.senders();
    let two = json!([contract(1, 0), contract(1, 2)]);
    let cases = [
        json!({"address": two}),
        json!({"topics": [TRANSFER, senders[1].into_word()]}),
        json!({"topics": [null, [senders[0].into_word(), senders[2].into_word()]]}),
        json!({"address": contract(1, 1), "topics": [[], null]}),
        json!({"topics": [senders[0].into_word()]}),
        json!({"topics": [[TRANSFER, null], senders[0].into_word()]}),
        json!({"topics": [null, null, null, null]}),
    ];
    let word = |at: usize| senders[at].into_word();
    let wanted = |case: usize, log: &Log| {
        let (address, from) = (log.address(), log.topics()[1]);
        match case {
            0 => address == contract(1, 0) || address == contract(1, 2),
            1 => from == word(1),
            2 => from == word(0) || from == word(2),
            3 => address == contract(1, 1),
            5 => from == word(0),
            _ => false,
        }
    };
    for (case, filter) in cases.into_iter().enumerate() {
        let mut filter = filter;
        filter["fromBlock"] = json!("0x0");
        let found = result(node, S, "eth_getLogs", json!([filter]));
        let found: Vec<Log> = serde_json::from_value(found).unwrap();
        let naive = everything.iter().filter(|log| wanted(case, log));
        assert_eq!(found, naive.cloned().collect::<Vec<_>>(), "{filter}");
    }
}

// B-1
#[test]
fn state_names_the_block_it_was_read_at() {
    let node = &mut honest();
    let account = Address::repeat_byte(9);
    let hash = chain().block(&View::healthy(S), 30).unwrap().hash;
    for (block, height) in [
        (json!("latest"), 42),
        (json!("safe"), 38),
        (json!("finalized"), 34),
        (json!("0x7"), 7),
        (json!({"blockNumber": "0x8"}), 8),
        (json!({"blockHash": hash, "requireCanonical": true}), 30),
    ] {
        let balance = result(node, S * 2, "eth_getBalance", json!([account, block]));
        let place = read_at(balance.as_str().unwrap()).unwrap();
        assert_eq!(
            (place.height, place.tag),
            (height, state::balance_tag(account))
        );
        let call = json!([{"to": account, "data": "0x1234"}, block]);
        let answer = result(node, S * 2, "eth_call", call);
        assert_eq!(read_at(answer.as_str().unwrap()).unwrap().height, height);
        let slot = json!([account, "0x1", block]);
        let word = result(node, S * 2, "eth_getStorageAt", slot);
        assert_eq!(read_at(word.as_str().unwrap()).unwrap().height, height);
    }
    let implied = result(node, S * 2, "eth_getBalance", json!([account]));
    assert_eq!(read_at(implied.as_str().unwrap()).unwrap().height, 42);
}

#[test]
fn answers_the_small_questions() {
    let node = &mut honest();
    for (method, expected) in [
        ("eth_chainId", json!("0xf1b31")),
        ("net_version", json!("990001")),
        ("eth_blockNumber", json!("0x29")),
        ("eth_syncing", json!(false)),
    ] {
        assert_eq!(result(node, S, method, json!([])), expected, "{method}");
    }
    let history = json!(["0x4", "latest", [25, 75]]);
    let history = result(node, S, "eth_feeHistory", history);
    assert_eq!(history["oldestBlock"], "0x26");
    assert_eq!(history["baseFeePerGas"].as_array().unwrap().len(), 5);
    assert_eq!(history["reward"][3].as_array().unwrap().len(), 2);
    let revert = json!([{"to": Address::ZERO, "data": "0x08c379a0aa"}, "latest"]);
    let revert = reply(node, S, "eth_call", revert);
    assert_eq!(revert["error"]["code"], 3);
    assert_eq!(revert["error"]["data"], "0x08c379a0aa");
    assert_eq!(refusal(node, "eth_nope", json!([])).0, -32601);
    assert_eq!(refusal(node, "eth_getBalance", json!([])).0, -32602);
    let inverted = json!([{"blockHash": B256::ZERO, "fromBlock": "0x1"}]);
    let (code, text) = refusal(node, "eth_getLogs", inverted);
    assert_eq!(code, -32602);
    assert!(text.contains("cannot specify both BlockHash and FromBlock/ToBlock"));
}

// R-15
#[test]
fn tells_its_capabilities_without_params() {
    let node = &mut honest();
    let answer = node.ask(
        S,
        "me",
        br#"{"jsonrpc":"2.0","id":1,"method":"eth_capabilities"}"#,
    );
    let answer: Value = serde_json::from_slice(&super::delivery(answer).body).unwrap();
    assert_eq!(answer["result"]["head"]["number"], "0x29");
    assert_eq!(answer["result"]["state"]["oldestBlock"], "0x0");
}

#[test]
fn keeps_filters_by_id() {
    let node = &mut honest();
    let blocks = result(node, S, "eth_newBlockFilter", json!([]));
    let logs = json!([{"address": contract(1, 0)}]);
    let logs = result(node, S, "eth_newFilter", logs);
    assert_ne!(blocks, logs);
    let changed = result(node, S * 4, "eth_getFilterChanges", json!([blocks]));
    assert_eq!(changed.as_array().unwrap().len(), 3);
    let changed = result(node, S * 4, "eth_getFilterChanges", json!([blocks]));
    assert_eq!(changed, json!([]));
    let found = result(node, S * 4, "eth_getFilterChanges", json!([logs]));
    assert!(found.as_array().unwrap().len() >= 3);
    assert_eq!(result(node, S, "eth_uninstallFilter", json!([logs])), true);
    assert_eq!(result(node, S, "eth_uninstallFilter", json!([logs])), false);
    let gone = refusal(node, "eth_getFilterChanges", json!([logs]));
    assert_eq!(gone, (-32000, "filter not found".into()));
}

#[test]
fn answers_batches_in_order_and_notifications_not_at_all() {
    let node = &mut honest();
    let batch =
        br#"[{"id":"a","method":"eth_chainId"},{"method":"eth_chainId"},{"id":2,"method":"x"}]"#;
    let answer = super::delivery(node.ask(S, "me", batch));
    let answer: Vec<Value> = serde_json::from_slice(&answer.body).unwrap();
    let ids: Vec<&Value> = answer.iter().map(|reply| &reply["id"]).collect();
    assert_eq!(ids, [&json!("a"), &json!(2)]);
    let parse = super::delivery(node.ask(S, "me", b"{"));
    assert!(String::from_utf8_lossy(&parse.body).contains("-32700"));
    assert_eq!(exchange(node, S, "eth_chainId").delay, MS * 20);
}

#[test]
fn survives_params_of_every_shape() {
    let methods = [
        "eth_getBlockByNumber",
        "eth_getBlockByHash",
        "eth_getTransactionByHash",
        "eth_getTransactionByBlockNumberAndIndex",
        "eth_getBlockReceipts",
        "eth_getLogs",
        "eth_getBalance",
        "eth_getTransactionCount",
        "eth_getStorageAt",
        "eth_call",
        "eth_estimateGas",
        "eth_sendRawTransaction",
        "eth_newFilter",
        "eth_getFilterChanges",
        "eth_feeHistory",
    ];
    let max = "0xffffffffffffffff";
    let odd = [
        json!(null),
        json!(-1.5e300),
        json!(""),
        json!("0x"),
        json!("0x+1"),
        json!("\u{e9}x"),
        json!(max),
        json!("0x0"),
        json!(format!("0x{}", "f".repeat(64))),
        json!(format!("0x{}", "0".repeat(40))),
        json!({"fromBlock": "0x0", "toBlock": max}),
        json!({"fromBlock": max, "toBlock": max, "topics": [[[]]]}),
        json!({"blockNumber": max}),
        json!({"to": 5, "data": "0x0"}),
        json!([[["latest"]]]),
    ];
    for dialect in [super::Dialect::Geth, super::Dialect::Monad] {
        let node = &mut super::node(dialect, Vec::new());
        let mut answers = 0;
        for method in methods {
            for first in &odd {
                for second in &odd {
                    reply(node, S, method, json!([first, second, first]));
                    answers += 1;
                }
            }
            for params in [json!({}), json!(7), json!("0x1")] {
                reply(node, S, method, params);
                answers += 1;
            }
        }
        assert_eq!(answers, methods.len() * (odd.len() * odd.len() + 3));
    }
}
