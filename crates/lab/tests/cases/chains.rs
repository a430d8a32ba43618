//! X05 to X08: chains and batches.

use highwater_core::jsonrpc::{Limits, Message, parse};
use highwater_core::router::Identity;
use highwater_core::{ChainId, event};
use highwater_lab::history::Got;
use serde_json::json;

use crate::stage::{Does, Script, Stage};

// X05, R-19
#[test]
fn x05_a_node_on_another_chain_gets_no_call_at_all() {
    let mut stage = Stage::cold("", vec![Script::at(100), Script::at(100).chain(5).lat(1)]);
    stage.subject.router().events().listen(true);
    let calls: Vec<u64> = (0..20)
        .map(|n| stage.ask(n * 100, "eth_gasPrice", json!([])))
        .collect();
    stage.run(9_000);
    for call in calls {
        assert_eq!(stage.result(call), "0x1");
    }
    assert_eq!(stage.sent(1), 0);
    assert_eq!(stage.sent_of(1, "eth_blockNumber"), 0);
    assert_eq!(stage.sent_of(1, "eth_chainId"), 1);
    let found = ChainId(5);
    assert_eq!(stage.view(1).identity, Identity::Quarantined { found });
    let (events, _) = stage.subject.router().events().drain();
    let told = events
        .iter()
        .filter(|told| matches!(told, event::Event::Quarantine { .. }));
    assert_eq!(told.count(), 1);
}

// X06, R-19
#[test]
fn x06_with_all_nodes_on_another_chain_the_caller_is_told_so() {
    let wrong = || Script::at(100).chain(5);
    let mut stage = Stage::cold("", vec![wrong(), wrong()]);
    let first = stage.ask(0, "eth_gasPrice", json!([]));
    let second = stage.ask(500, "eth_gasPrice", json!([]));
    stage.run(2_000);
    for call in [first, second] {
        assert_eq!(stage.answer(call).1, &Got::Nothing("ChainMismatch".into()));
    }
    assert_eq!((stage.sent(0), stage.sent(1)), (0, 0));
}

// X07, R-19
#[test]
fn x07_a_check_that_the_network_lost_is_made_again() {
    let mut resets = 1;
    let lossy = Script::at(100).lat(1).when(move |asked| {
        if asked.method != "eth_chainId" || resets == 0 {
            return None;
        }
        resets -= 1;
        Some(Does::Resets)
    });
    let options = "race = 0\nprobes = false\nstrategy = 'round-robin'";
    let mut stage = Stage::cold(options, vec![lossy, Script::at(100)]);
    let first = stage.ask(0, "eth_gasPrice", json!([]));
    stage.run(500);
    assert_eq!(stage.result(first), "0x1");
    assert_eq!(stage.view(0).identity, Identity::Unchecked);
    for n in 1..12 {
        stage.ask(n * 500, "eth_gasPrice", json!([]));
    }
    stage.run(20_000);
    assert_eq!(stage.view(0).identity, Identity::Verified);
    assert_eq!(stage.sent_of(0, "eth_chainId"), 2);
    assert!(stage.sent(0) > 0, "it serves");
}

// X08, G-1
#[test]
fn x08_a_batch_is_answered_one_by_one_with_the_ids_as_sent() {
    let batch = br#"[{"jsonrpc":"2.0","id":"a","method":"eth_gasPrice","params":[]},
        {"jsonrpc":"2.0","id":7,"method":"eth_blobBaseFee","params":[]},
        {"jsonrpc":"2.0","method":"eth_gasPrice","params":[]},
        {"jsonrpc":"2.0","id":7,"method":"eth_gasPrice","params":[]}]"#;
    let Ok(Message::Batch(elements)) = parse(batch, &Limits::default()) else {
        panic!("a batch");
    };
    let ids: Vec<_> = elements
        .iter()
        .map(|element| element.as_ref().unwrap().id)
        .collect();
    let tokens: Vec<_> = ids.iter().map(|id| id.map(|id| id.as_str())).collect();
    assert_eq!(tokens, [Some("\"a\""), Some("7"), None, Some("7")]);
    // Each element that is owed an answer is a call of its own.
    let blob = Does::Says(json!("0x2"));
    let mut stage = Stage::new("", vec![Script::at(100).on("eth_blobBaseFee", blob)]);
    let answered = tokens
        .into_iter()
        .zip(elements)
        .filter_map(|(token, element)| {
            let method = element.unwrap().method.into_owned();
            token.map(|token| (token, method))
        });
    let answered: Vec<_> = answered
        .map(|(token, method)| stage.call_as(token, &method))
        .collect();
    assert_eq!(
        answered,
        [
            r#"{"jsonrpc":"2.0","id":"a","result":"0x1"}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":"0x2"}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":"0x1"}"#,
        ]
    );
}
