//! What an application does, done by each library before two nodes that are one chain.

use crate::world::World;
use highwater_compat::{
    ACCOUNT, CELL_REASON, CELL_RUNTIME, CHAIN_ID, KEY, Library, SECOND_ACCOUNT, Shown,
};
use serde_json::{Value, json};

/// A hash that nothing has.
const NOWHERE: &str = "0x00000000000000000000000000000000000000000000000000000000deadbeef";

/// What an account has at first.
const BALANCE: &str = "10000000000000000000000";

fn reads_the_chain(library: Library) {
    let mut world = World::start(library);
    let head = world.chain.mine(&[]);
    world.gateway.sees(1);
    let block = json!({"number": 1, "hash": head["hash"], "transactions": 0});
    for (operation, arguments, expected) in [
        ("connect", json!({}), json!(true)),
        ("chainId", json!({}), json!(CHAIN_ID)),
        ("blockNumber", json!({}), json!(1)),
        ("block", json!({"number": 1}), block.clone()),
        ("block", json!({"hash": head["hash"]}), block),
        ("balance", json!({"address": ACCOUNT}), json!(BALANCE)),
        (
            "balance",
            json!({"address": NOWHERE[..42], "block": 0}),
            json!("0"),
        ),
        ("code", json!({"address": ACCOUNT}), json!("0x")),
    ] {
        assert_eq!(world.get(operation, arguments), expected, "{operation}");
    }
}

/// ethers shows what is not there as null, the others as an error of their own.
fn shows_what_is_not_there(library: Library) {
    let mut world = World::start(library);
    let [block, transaction, receipt] = match library {
        Library::Viem => [
            "BlockNotFoundError",
            "TransactionNotFoundError",
            "TransactionReceiptNotFoundError",
        ],
        Library::Ethers => [""; 3],
        Library::Web3Py => [
            "BlockNotFound",
            "TransactionNotFound",
            "TransactionNotFound",
        ],
    };
    for (operation, arguments, name) in [
        ("block", json!({"number": 99}), block),
        ("block", json!({"hash": NOWHERE}), block),
        ("transaction", json!({"hash": NOWHERE}), transaction),
        ("receipt", json!({"hash": NOWHERE}), receipt),
    ] {
        match world.ask(operation, arguments) {
            Ok(result) => assert_eq!((result, name), (Value::Null, ""), "{operation}"),
            Err(shown) => assert_eq!(shown.name, name, "{operation}: {shown:?}"),
        }
    }
}

fn a_batch_gives_each_caller_its_own_answer(library: Library) {
    let mut world = World::start(library);
    for _ in 0..5 {
        world.chain.mine(&[]);
    }
    world.gateway.sees(5);
    let ok = |text: &str| json!({"ok": text});
    let chain = ok(&CHAIN_ID.to_string());
    // ethers asks who it talks to first, once; everything after that is one body.
    world.get("connect", json!({}));
    let before = world.tap.bodies("/").len();
    let answers = world.get("batch", json!({"address": ACCOUNT}));
    assert_eq!(answers, json!([ok("5"), ok(BALANCE), chain]));
    let bodies = world.tap.bodies("/").split_off(before);
    assert!(bodies.iter().any(|body| body.starts_with('[')
        && body.contains("eth_blockNumber")
        && body.contains("eth_getBalance")
        && body.contains("eth_chainId")));

    match world.ask(
        "batch",
        json!({"address": ACCOUNT, "refused": "eth_nonsense"}),
    ) {
        Ok(answers) => {
            let refused = Shown::of(&answers[1]["error"]);
            assert_eq!(refused.code, Some(-32_601), "{refused:?}");
            assert_eq!(answers[0], ok("5"));
            assert_eq!(answers[2], ok(BALANCE));
            assert_eq!(answers[3], chain);
        }
        // web3.py raises the first error in place of all answers.
        Err(shown) => {
            assert_eq!(library, Library::Web3Py, "{shown:?}");
            assert_eq!(shown.name, "MethodUnavailable");
            assert_eq!(shown.code, Some(-32_601));
        }
    }
}

fn deploys_a_contract_and_works_with_it(library: Library) {
    let mut world = World::start(library);
    let cell = world.deploy();
    assert_eq!(world.get("code", json!({"address": cell})), CELL_RUNTIME);
    assert_eq!(world.get("get", json!({"cell": cell})), "0");

    let hash = world.get("set", json!({"cell": cell, "value": 41, "key": KEY}));
    let receipt = world.mined(&hash);
    let expected = json!({"status": 1, "block": 2, "contract": null, "logs": 1});
    assert_eq!(receipt, expected);
    assert_eq!(world.get("receipt", json!({"hash": hash})), expected);
    let transaction = world.get("transaction", json!({"hash": hash}));
    assert_eq!(transaction, json!({"hash": hash, "block": 2}));
    assert_eq!(world.get("get", json!({"cell": cell})), "41");

    let changed = json!([{"who": ACCOUNT, "value": "41", "transaction": hash, "block": 2}]);
    assert_eq!(world.get("logs", json!({"cell": cell})), changed);
}

fn a_revert_arrives_with_its_reason(library: Library) {
    let mut world = World::start(library);
    let cell = world.deploy();
    for operation in ["failCall", "failEstimate", "failSend"] {
        let arguments = json!({"cell": cell, "account": ACCOUNT, "key": KEY});
        let shown = world.fails(operation, arguments);
        let name = match library {
            Library::Viem => "ContractFunctionExecutionError",
            Library::Ethers => "CALL_EXCEPTION",
            Library::Web3Py => "ContractLogicError",
        };
        assert_eq!(shown.name, name, "{operation}: {shown:?}");
        let reason = shown.reason.as_deref().unwrap_or_default();
        assert!(reason.ends_with(CELL_REASON), "{operation}: {shown:?}");
        let data = shown.data.as_deref().unwrap_or_default();
        assert!(data.starts_with("0x08c379a0"), "{operation}: {shown:?}");
    }
    assert_eq!(world.chain.pending(), 0);

    let shown = world.fails("missingCall", json!({"cell": cell}));
    assert!(shown.text.to_lowercase().contains("revert"), "{shown:?}");
    assert_eq!(shown.data.unwrap_or("0x".to_owned()), "0x");
}

fn the_keys_of_the_nodes_are_nobodys(library: Library) {
    let mut world = World::start(library);
    // The nodes behind it would sign for these accounts.
    let account = json!({"account": SECOND_ACCOUNT});
    assert_ne!(world.chain.ask("eth_accounts", &json!([])), json!([]));
    assert_eq!(world.get("nodeAccounts", account.clone()), json!([]));
    for operation in ["nodeSign", "nodeSend"] {
        let shown = world.fails(operation, account.clone());
        assert_eq!(shown.code, Some(-32_601), "{operation}: {shown:?}");
    }
    assert_eq!(world.chain.pending(), 0);
}

with_each_library! {
    // G-1
    reads_the_chain
    shows_what_is_not_there
    a_batch_gives_each_caller_its_own_answer
    // G-1, G-2
    deploys_a_contract_and_works_with_it
    // G-2
    a_revert_arrives_with_its_reason
    // G-6
    the_keys_of_the_nodes_are_nobodys
}
