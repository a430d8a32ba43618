//! M01 to M16: points of the chain that may be missing.

use highwater_lab::history::Got;
use serde_json::{Value, json};

use crate::stage::{Does, Script, Stage};

const RECEIPT: &str = "eth_getTransactionReceipt";
const TRANSACTION: &str = "eth_getTransactionByHash";
const HASH: &str = "0x8888888888888888888888888888888888888888888888888888888888888888";
const WHO: &str = "0x0303030303030303030303030303030303030303";

fn null() -> Does {
    Does::Says(Value::Null)
}

fn object() -> Does {
    Does::Says(json!({"blockNumber": "0x65"}))
}

// M01, R-37
#[test]
fn m01_a_receipt_that_the_lagging_one_lacks_is_found() {
    for options in ["", "race = 0", "preset = 'gateway'"] {
        let lagging = Script::at(100).on_after(RECEIPT, 5, null());
        let holder = Script::at(101).on_after(RECEIPT, 50, object());
        let mut stage = Stage::new(options, vec![lagging, holder]);
        let calls: Vec<u64> = (0..5)
            .map(|n| stage.ask(n * 300, RECEIPT, json!([HASH])))
            .collect();
        stage.run(3_000);
        for call in calls {
            assert_eq!(stage.result(call)["blockNumber"], "0x65", "{options}");
        }
    }
}

// M02, R-37
#[test]
fn m02_null_is_true_where_two_say_so_at_two_requests() {
    for options in ["", "race = 0", "preset = 'gateway'"] {
        let node = || Script::at(101).on(RECEIPT, null());
        let mut stage = Stage::new(options, vec![node(), node(), node()]);
        let call = stage.ask(0, RECEIPT, json!([HASH]));
        stage.run(3_000);
        assert_eq!(stage.result(call), Value::Null);
        let sent: usize = (0..3).map(|node| stage.sent(node)).sum();
        assert_eq!(sent, 2, "{options}");
    }
}

// scenario M03, R-41
#[test]
fn m03_null_does_not_win_a_race() {
    let fast = Script::at(101).on_after(TRANSACTION, 5, null());
    let slow = Script::at(101).on_after(TRANSACTION, 40, object());
    let mut stage = Stage::new("race = 2", vec![fast, slow]);
    let call = stage.ask(0, TRANSACTION, json!([HASH]));
    stage.run(1_000);
    assert_eq!(stage.result(call)["blockNumber"], "0x65");
    assert_eq!((stage.sent(0), stage.sent(1)), (1, 1));
}

// scenario M04, R-41
#[test]
fn m04_null_wins_when_all_say_so() {
    let node = |millis| Script::at(101).on_after(TRANSACTION, millis, null());
    let mut stage = Stage::new("race = 2", vec![node(5), node(40)]);
    let call = stage.ask(0, TRANSACTION, json!([HASH]));
    stage.run(1_000);
    assert_eq!(stage.answer(call), (40, &Got::Result("null".into())));
    assert_eq!(stage.sent(0) + stage.sent(1), 2);
}

// M06, R-37
#[test]
fn m06_a_block_below_the_head_that_one_lacks_is_found_without_a_strike() {
    let block = "eth_getBlockByNumber";
    let lacks = Script::at(100).lat(5).on(block, null());
    let has = Script::at(100)
        .lat(50)
        .on(block, Does::Says(json!({"number": "0x63"})));
    let mut stage = Stage::new("race = 0", vec![lacks, has]);
    for n in 0..10 {
        let call = stage.ask(n * 200, block, json!(["0x63", false]));
        stage.run(n * 200 + 150);
        assert_eq!(stage.result(call)["number"], "0x63");
    }
    assert_eq!(stage.strikes(0), 0);
    assert!(stage.view(0).error.abs() < 1e-9);
}

/// Scripts of a head and of answers about a block above it.
fn quiet(head: u64, millis: u64, answer: Does) -> Script {
    let other = answer.clone();
    Script::at(head)
        .lat(millis)
        .on("eth_getBalance", answer)
        .on("eth_call", other)
}

// M07, R-37
#[test]
fn m07_the_state_of_a_future_block_is_read_where_the_block_is() {
    let behind = quiet(99, 1, Does::Says(json!("0x")));
    let holder = quiet(104, 30, Does::Says(json!("0x2a")));
    let mut stage = Stage::new("race = 0", vec![behind, holder]);
    for n in 0..10 {
        let params = json!([{"to": WHO, "data": "0x01"}, "0x68"]);
        let call = stage.ask(n * 100, "eth_call", params);
        stage.run(n * 100 + 90);
        assert_eq!(stage.result(call), "0x2a");
    }
    assert_eq!(stage.sent(0), 0);
}

// M09, R-37
#[test]
fn m09_pruned_state_is_read_elsewhere_and_remembered() {
    let pruned = Does::Fails(-32000, "missing trie node 0a0b (path ) <nil>");
    let light = Script::at(100).lat(1).on("eth_getBalance", pruned);
    let archive = Script::at(100)
        .lat(60)
        .on("eth_getBalance", Does::Says(json!("0x7")));
    let mut stage = Stage::new("race = 0", vec![light, archive]);
    let mut first_to_light = 0;
    for n in 0..12 {
        let before = stage.sent(0);
        let call = stage.ask(n * 300, "eth_getBalance", json!([WHO, "0xa"]));
        stage.run(n * 300 + 250);
        assert_eq!(stage.result(call), "0x7");
        first_to_light += stage.sent(0) - before;
    }
    assert_eq!(first_to_light, 1, "asked once, then known");
    assert_eq!(stage.strikes(0), 0);
}

// M10, R-37
#[test]
fn m10_the_code_of_pruned_history_moves_on_and_teaches() {
    let pruned = Does::Fails(4444, "pruned history unavailable");
    let light = Script::at(100).lat(1).on(RECEIPT, pruned);
    let archive = Script::at(100).lat(60).on(RECEIPT, object());
    let mut stage = Stage::new("race = 0", vec![light, archive]);
    for n in 0..12 {
        let call = stage.ask(n * 300, RECEIPT, json!([HASH]));
        stage.run(n * 300 + 250);
        assert_eq!(stage.result(call)["blockNumber"], "0x65");
    }
    assert_eq!(stage.sent(0), 1, "asked once, then known");
    assert_eq!(stage.strikes(0), 0);
}

// M12, R-22, R-37
#[test]
fn m12_a_revert_is_the_answer_at_once() {
    let error = json!({"code": 3, "message": "execution reverted: no", "data": "0x08c379a0"});
    let reverts = Script::at(100).on("eth_call", Does::Refuses(error.clone()));
    let idle = Script::at(100).lat(900);
    let mut stage = Stage::new("race = 0", vec![reverts, idle]);
    // Whoever is asked first; the other one is slow and shows it.
    stage.ask(0, "eth_gasPrice", json!([]));
    stage.ask(0, "eth_gasPrice", json!([]));
    stage.run(2_000);
    let before = stage.sent(1);
    let call = stage.ask(2_000, "eth_call", json!([{"to": WHO}, "latest"]));
    stage.run(4_000);
    assert_eq!(stage.error(call), error);
    assert_eq!(stage.sent(1), before);
    assert_eq!(stage.strikes(0), 0);
}

// M15, R-37, R-41
#[test]
fn m15_null_is_no_value_of_the_state() {
    for method in ["eth_getBalance", "eth_call"] {
        let params = match method {
            "eth_call" => json!([{"to": WHO}, "0x64"]),
            _ => json!([WHO, "0x64"]),
        };
        let behind = quiet(99, 3, null());
        let holder = quiet(100, 40, Does::Says(json!("0x7")));
        let mut stage = Stage::new("race = 2", vec![behind, holder]);
        let call = stage.ask(0, method, params.clone());
        stage.run(2_000);
        assert_eq!(stage.result(call), "0x7", "{method}");
        // So far below that it cannot have got there since its head was read.
        let behind = quiet(80, 3, null());
        let mut alone = Stage::new("race = 2\nattempt = '1s'", vec![behind]);
        let call = alone.ask(0, method, params);
        alone.run(40_000);
        let (_, got) = alone.answer(call);
        assert!(!matches!(got, Got::Result(_)), "{method}: {got:?}");
    }
}

// M16, R-37
#[test]
fn m16_an_index_that_is_still_built_is_no_strike() {
    let building = Does::Fails(-32000, "transaction indexing is in progress");
    let young = Script::at(100).lat(1).on(TRANSACTION, building);
    let old = Script::at(100).lat(60).on(TRANSACTION, object());
    let mut stage = Stage::new("race = 0", vec![young, old]);
    for n in 0..12 {
        let call = stage.ask(n * 300, TRANSACTION, json!([HASH]));
        stage.run(n * 300 + 250);
        assert_eq!(stage.result(call)["blockNumber"], "0x65");
    }
    assert_eq!(stage.sent(0), 1, "asked once, then known");
    assert_eq!(stage.strikes(0), 0);
}

// M18, R-3, R-8
#[test]
fn m18_a_node_that_thinks_before_it_says_null_is_no_slower_for_it() {
    for options in ["", "race = 0"] {
        let slow = Script::at(100).on_after(RECEIPT, 1_500, null());
        let other = Script::at(100).lat(25).on(RECEIPT, null());
        let mut stage = Stage::new(options, vec![slow, other]);
        for n in 0..5 {
            stage.ask(n * 100, "eth_getBalance", json!([WHO, "latest"]));
        }
        stage.run(1_000);
        let latency = stage.view(0).latency_ms.unwrap();
        let before = (stage.sent(0), stage.sent(1));
        for n in 0..5 {
            let call = stage.ask(1_000 + n * 4_000, RECEIPT, json!([HASH]));
            stage.run(4_900 + n * 4_000);
            assert_eq!(stage.result(call), Value::Null);
        }
        let polls = stage.sent(0) + stage.sent(1) - before.0 - before.1;
        assert!(polls <= 10, "{options}: {polls}");
        assert!(stage.sent_of(0, RECEIPT) > 0);
        let after = stage.view(0).latency_ms.unwrap();
        assert!(
            (after - latency).abs() < 1e-9,
            "{options}: {latency} {after}"
        );
        assert!(stage.view(0).error.abs() < 1e-9);
    }
}
