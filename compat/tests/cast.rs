//! The command-line client `cast` through the gateway, before two nodes that are one chain.

use highwater_compat::{
    ACCOUNT, CELL_CREATION, CELL_REASON, CELL_RUNTIME, CHAIN_ID, CHANGED_TOPIC, Cast, Chain,
    Gateway, KEY,
};
use serde_json::{Value, json};
use std::{
    thread,
    time::{Duration, Instant},
};

/// For the one test that must wait for another process to have sent something.
const PATIENCE: Duration = Duration::from_secs(60);

fn behind_a_gateway() -> (Chain, Gateway, Cast) {
    let chain = Chain::start(2);
    let gateway = Gateway::configured(&chain.urls(), "", "");
    let cast = Cast::new(&gateway.url());
    (chain, gateway, cast)
}

/// Sends without waiting for a receipt, mines on both nodes, and gives the transaction's hash.
fn send(chain: &mut Chain, cast: &Cast, what: &[&str]) -> String {
    let hash = cast.run(&[&["send", "--async", "--private-key", KEY], what].concat());
    chain.mine_pools();
    hash
}

fn receipt(cast: &Cast, hash: &str) -> Value {
    serde_json::from_str(&cast.run(&["receipt", "--json", hash])).expect("JSON")
}

fn deploy(chain: &mut Chain, cast: &Cast) -> String {
    let hash = send(chain, cast, &["--create", CELL_CREATION]);
    receipt(cast, &hash)["contractAddress"]
        .as_str()
        .expect("a contract")
        .to_owned()
}

// G-13
#[test]
fn two_urls_are_all_it_takes_to_serve() {
    let mut chain = Chain::start(2);
    chain.mine(&[]);
    let gateway = Gateway::urls(&chain.urls());
    let begun = Instant::now();
    let number = Cast::new(&gateway.url()).run(&["block-number"]);
    println!(
        "listening after {:?}, first answer to a new cast process {:?} later",
        gateway.started_in(),
        begun.elapsed()
    );
    assert_eq!(number, "1");
    let exit = gateway.stop();
    assert_eq!(exit.code, Some(0), "{}", exit.stderr);
}

// G-1
#[test]
fn answers_what_a_person_asks_first() {
    let (mut chain, gateway, cast) = behind_a_gateway();
    chain.mine(&[]);
    chain.mine(&[]);
    gateway.sees(2);
    assert_eq!(cast.run(&["block-number"]), "2");
    assert_eq!(cast.run(&["chain-id"]), CHAIN_ID.to_string());
    assert_eq!(cast.run(&["balance", ACCOUNT]), "10000000000000000000000");
    let hash = chain.ask("eth_getBlockByNumber", &json!(["0x1", false]))["hash"].clone();
    assert_eq!(json!(cast.run(&["block", "1", "--field", "hash"])), hash);
}

// G-1, G-2
#[test]
fn deploys_calls_sends_and_reads_the_logs() {
    let (mut chain, _gateway, cast) = behind_a_gateway();
    let cell = deploy(&mut chain, &cast);
    assert_eq!(cast.run(&["code", &cell]), CELL_RUNTIME);
    assert_eq!(cast.run(&["call", &cell, "get()(uint256)"]), "0");

    let hash = send(&mut chain, &cast, &[&cell, "set(uint256)", "41"]);
    let receipt = receipt(&cast, &hash);
    assert_eq!(receipt["status"], "0x1");
    assert_eq!(receipt["logs"][0]["topics"][0], CHANGED_TOPIC);
    assert_eq!(cast.run(&["call", &cell, "get()(uint256)"]), "41");

    let logs = cast.run(&[
        "logs",
        "--json",
        "--address",
        &cell,
        "Changed(address indexed,uint256)",
    ]);
    let logs: Value = serde_json::from_str(&logs).unwrap();
    assert_eq!(logs.as_array().map(Vec::len), Some(1), "{logs}");
    assert_eq!(logs[0]["transactionHash"], json!(hash));
    assert_eq!(logs[0]["data"], json!(format!("0x{:064x}", 41)));
}

// G-2
#[test]
fn a_revert_arrives_with_its_reason() {
    let (mut chain, _gateway, cast) = behind_a_gateway();
    let cell = deploy(&mut chain, &cast);
    let error = cast.fails(&["call", &cell, "fail()"]);
    assert!(error.contains(CELL_REASON), "{error}");
    let error = cast.fails(&["estimate", &cell, "fail()"]);
    assert!(error.contains(CELL_REASON), "{error}");
}

// G-1
#[test]
fn a_send_that_waits_for_its_receipt_gets_it() {
    let (mut chain, _gateway, cast) = behind_a_gateway();
    let waiting = thread::spawn(move || {
        let to = [
            "send",
            "--json",
            "--private-key",
            KEY,
            ACCOUNT,
            "--value",
            "3",
        ];
        cast.run(&to)
    });
    let until = Instant::now() + PATIENCE;
    while chain.pending() == 0 {
        assert!(Instant::now() < until, "nothing was sent");
        assert!(!waiting.is_finished(), "cast gave up: {:?}", waiting.join());
        thread::yield_now();
    }
    chain.mine_pools();
    let receipt: Value = serde_json::from_str(&waiting.join().unwrap()).unwrap();
    assert_eq!(
        (&receipt["status"], &receipt["blockNumber"]),
        (&json!("0x1"), &json!("0x1"))
    );
}

// G-6
#[test]
fn a_send_with_the_nodes_own_key_is_refused() {
    let (chain, _gateway, cast) = behind_a_gateway();
    let error = cast.fails(&["send", "--async", "--unlocked", "--from", ACCOUNT, ACCOUNT]);
    assert!(error.contains("-32601"), "{error}");
    assert_eq!(chain.pending(), 0);
}
