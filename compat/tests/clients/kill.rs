//! Two nodes die and come back in turn while a program reads. It sees no error.

use highwater_compat::{
    ACCOUNT, CELL_CREATION, CHAIN_ID, Cast, Chain, Client, Gateway, KEY, Library, Read,
};
use serde_json::{Value, json};
use std::{
    env,
    time::{Duration, Instant},
};

/// How long a node that came back may stay unused.
const PATIENCE: Duration = Duration::from_secs(60);

/// Reads under way at a time.
const LANES: usize = 8;

/// Reads between one event and the next; `./test --long` makes twenty times as many.
fn stretch() -> usize {
    if env::var_os("HIGHWATER_LONG").is_some() {
        4_000
    } else {
        200
    }
}

/// A chain with a contract that was written to once, and what a program may ask about it.
fn chain_with_questions() -> (Chain, Vec<(&'static str, Value)>) {
    let mut chain = Chain::start(2);
    let signer = Cast::new(&chain.urls()[0]);
    let signed = |nonce: u64, rest: &[&str]| {
        let fixed = format!(
            "mktx --private-key {KEY} --chain {CHAIN_ID} --nonce {nonce} --gas-limit 300000 \
             --gas-price 3gwei --priority-gas-price 1gwei"
        );
        let fixed: Vec<&str> = fixed.split(' ').collect();
        signer.run(&[&fixed, rest].concat())
    };
    let deployed = chain.mine(&[signed(0, &["--create", CELL_CREATION])]);
    let receipt = json!([deployed["transactions"][0]]);
    let cell = chain.ask("eth_getTransactionReceipt", &receipt)["contractAddress"].clone();
    let to = cell.as_str().expect("a contract");
    let written = chain.mine(&[signed(1, &[to, "set(uint256)", "41"])]);
    let hash = &written["transactions"][0];
    let questions = vec![
        ("blockNumber", json!({})),
        ("block", json!({"number": 1})),
        ("block", json!({"hash": written["hash"]})),
        ("balance", json!({"address": ACCOUNT})),
        ("balance", json!({"address": ACCOUNT, "block": 0})),
        ("code", json!({"address": cell})),
        ("transaction", json!({"hash": hash})),
        ("receipt", json!({"hash": hash})),
        ("get", json!({"cell": cell})),
        ("logs", json!({"cell": cell})),
    ];
    (chain, questions)
}

/// Orders for `url`. The library's own retries are off: they would hide what this is about.
fn orders(questions: &[(&str, Value)], url: &str) -> Vec<Value> {
    let order = |(operation, arguments): &(&str, Value)| {
        let mut order = arguments.clone();
        order["op"] = json!(operation);
        order["url"] = json!(url);
        order["retries"] = json!(false);
        order
    };
    questions.iter().map(order).collect()
}

fn nodes_that_die_and_come_back_cost_no_error(library: Library) {
    let (mut chain, questions) = chain_with_questions();
    let disk = chain.disk();
    let mut client = Client::start(library);
    let mut ask = |url: &String| -> Vec<Value> {
        let answers = orders(&questions, url).into_iter();
        answers
            .map(|order| client.ask(&order).expect("a node answers"))
            .collect()
    };
    let expected = ask(&chain.urls()[0]);
    assert_eq!(expected, ask(&chain.urls()[1]));

    let gateway = Gateway::configured(&chain.urls(), "", "");
    client.begin_reads(&orders(&questions, &gateway.url()), LANES);
    let mut reads = client.reads(stretch());
    for index in [0, 1] {
        chain.kill(index);
        reads.extend(client.reads(stretch()));
        chain.bring_back(index, &disk);
        reads.extend(client.reads(stretch()));
        // The death of the next one can only be survived if this one is used again.
        let until = Instant::now() + PATIENCE;
        while !gateway.relies_on(index) {
            assert!(Instant::now() < until, "node {index} is not used again");
            reads.extend(client.reads(stretch()));
        }
    }
    reads.extend(client.end_reads());

    let wrong: Vec<&Read> = reads
        .iter()
        .filter(|read| read.outcome.as_ref() != Ok(&expected[read.question]))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {}: {:?}",
        wrong.len(),
        reads.len(),
        wrong[0]
    );
    println!(
        "{} reads right, {LANES} at a time, both nodes killed in turn",
        reads.len()
    );
}

with_each_library! {
    //
    nodes_that_die_and_come_back_cost_no_error
}
