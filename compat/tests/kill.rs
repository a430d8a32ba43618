//! A node dies: in the middle of reads, and while nobody reads. No client sees an error.

use highwater_compat::{ACCOUNT, CELL_CREATION, CHAIN_ID, Cast, Chain, GET, Gateway, Http, KEY};
use serde_json::{Value, json};
use std::{
    env,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// How long a node that came back may stay unused.
const PATIENCE: Duration = Duration::from_secs(60);

/// Clients at a time, each with a connection of its own.
const CLIENTS: usize = 8;

/// Reads in one loop; `./test --long` makes twenty times as many.
fn reads() -> usize {
    if env::var_os("HIGHWATER_LONG").is_some() {
        160_000
    } else {
        8_000
    }
}

/// Questions with one right answer each, taken from the chain beforehand.
fn questions(chain: &mut Chain) -> Vec<(String, Value)> {
    let cast = Cast::new(&chain.urls()[0]);
    let deploy = cast.run(&[
        "mktx",
        "--private-key",
        KEY,
        "--chain",
        &CHAIN_ID.to_string(),
        "--nonce",
        "0",
        "--gas-limit",
        "300000",
        "--gas-price",
        "3gwei",
        "--priority-gas-price",
        "1gwei",
        "--create",
        CELL_CREATION,
    ]);
    let block = chain.mine(&[deploy]);
    chain.mine(&[]);
    let hash = &block["transactions"][0];
    let cell = &chain.ask("eth_getTransactionReceipt", &json!([hash]))["contractAddress"];
    let calls = [
        ("eth_blockNumber", json!([])),
        ("eth_getBlockByNumber", json!(["0x1", true])),
        ("eth_getBlockByHash", json!([block["hash"], false])),
        ("eth_getTransactionReceipt", json!([hash])),
        ("eth_getTransactionByHash", json!([hash])),
        ("eth_getBalance", json!([ACCOUNT, "latest"])),
        ("eth_getBalance", json!([ACCOUNT, "0x0"])),
        ("eth_getCode", json!([cell, "0x1"])),
        ("eth_call", json!([{"to": cell, "data": GET}, "latest"])),
        (
            "eth_getLogs",
            json!([{"fromBlock": "0x0", "toBlock": "0x2"}]),
        ),
    ];
    calls
        .into_iter()
        .map(|(method, params)| {
            let answer = chain.ask(method, &params);
            let call = format!("\"method\":\"{method}\",\"params\":{params}");
            (call, answer)
        })
        .collect()
}

/// One read; what is wrong with the answer, if anything is.
fn read(client: &mut Http, id: usize, (call, expected): &(String, Value)) -> Option<String> {
    let body = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{call}}}");
    let answer = match client.post(&body) {
        Ok(answer) => answer,
        Err(error) => return Some(format!("{call}: {error}")),
    };
    let value: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let right = answer.status == 200 && value["id"] == json!(id) && &value["result"] == expected;
    (!right).then(|| format!("{call}: {} {}", answer.status, answer.text()))
}

/// Reads with all clients at once; `event` happens once, when half of the reads are done and the
/// others are going on. Gives how many were right and what went wrong.
fn read_all(
    gateway: &Gateway,
    questions: &[(String, Value)],
    count: usize,
    event: impl FnOnce() + Send,
) -> (usize, Vec<String>) {
    let next = AtomicUsize::new(0);
    let right = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    let event = Mutex::new(Some(event));
    let address = gateway.address();
    let client_loop = || {
        let mut client = Http::new(address);
        loop {
            let id = next.fetch_add(1, Ordering::Relaxed);
            if id >= count {
                return;
            }
            if id == count / 2
                && let Some(event) = event.lock().expect("no panic under this lock").take()
            {
                event();
            }
            match read(&mut client, id, &questions[id % questions.len()]) {
                None => _ = right.fetch_add(1, Ordering::Relaxed),
                Some(fault) => wrong.lock().expect("no panic under this lock").push(fault),
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(client_loop);
        }
    });
    (
        right.into_inner(),
        wrong.into_inner().expect("no panic under this lock"),
    )
}

#[track_caller]
fn assert_all_right(outcome: (usize, Vec<String>), count: usize) {
    let (right, wrong) = outcome;
    assert!(
        wrong.is_empty(),
        "{} of {count} went wrong, first: {}",
        wrong.len(),
        wrong[0]
    );
    assert_eq!(right, count);
}

/// Reads until the gateway relies on a node that came back: the next one can only be survived then.
#[track_caller]
fn read_until_it_is_relied_on(gateway: &Gateway, questions: &[(String, Value)], index: usize) {
    let until = Instant::now() + PATIENCE;
    while !gateway.relies_on(index) {
        assert!(Instant::now() < until, "node {index} is not used again");
        assert_all_right(read_all(gateway, questions, 200, || ()), 200);
    }
}

//
#[test]
fn a_node_killed_in_the_middle_of_reads_costs_no_client_error() {
    let mut chain = Chain::start(2);
    let questions = questions(&mut chain);
    let disk = chain.disk();
    let gateway = Gateway::configured(&chain.urls(), "", "");
    let count = reads();
    // Each node in turn, so that the one the gateway likes is among them.
    for index in [0, 1] {
        let mut node = chain.take(index);
        let outcome = read_all(&gateway, &questions, count, || node.kill());
        assert_all_right(outcome, count);
        println!("{count} reads right, {CLIENTS} clients, node {index} killed after half of them");
        chain.bring_back(index, &disk);
        read_until_it_is_relied_on(&gateway, &questions, index);
    }
    let exit = gateway.stop();
    assert_eq!(exit.code, Some(0), "{}", exit.stderr);
}

// The gateway's idle connections to the node are dead, and it finds out on the next call.
#[test]
fn a_node_killed_while_nobody_reads_costs_no_client_error() {
    let mut chain = Chain::start(2);
    let questions = questions(&mut chain);
    let disk = chain.disk();
    let gateway = Gateway::configured(&chain.urls(), "", "");
    for index in [0, 1] {
        assert_all_right(read_all(&gateway, &questions, 200, || ()), 200);
        chain.kill(index);
        assert_all_right(read_all(&gateway, &questions, 200, || ()), 200);
        chain.bring_back(index, &disk);
        read_until_it_is_relied_on(&gateway, &questions, index);
    }
}
