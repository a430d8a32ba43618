//! Every fault, seen by a caller.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    Carriage, Carries, Dialect, Fault, MS, Node, S, Says, Sees, What, always, body, carries,
    delivery, exchange, honest, node, refusal, reply, result, says, sees,
};
use crate::node::{Ending, Pace, Seen};

fn head(node: &mut Node, at: Duration) -> u64 {
    let head = result(node, at, "eth_blockNumber", json!([]));
    u64::from_str_radix(&head.as_str().unwrap()[2..], 16).unwrap()
}

// B-2
#[test]
fn heads_lag_stand_still_run_ahead_and_go_back() {
    assert_eq!(head(&mut sees(Sees::Lag(5)), S * 4), 39);
    let stuck = Fault {
        from: S * 3,
        ..always(What::Sees(Sees::Stuck))
    };
    let stuck = &mut node(Dialect::Geth, vec![stuck]);
    assert_eq!([head(stuck, S * 2), head(stuck, S * 9)], [42, 43]);
    let delayed = &mut sees(Sees::Delayed(S * 2));
    assert_eq!([head(delayed, S), head(delayed, S * 9)], [40, 47]);
    let ahead = &mut sees(Sees::Ahead(1_000));
    assert_eq!(head(ahead, S), 1_041);
    let block = result(ahead, S, "eth_getBlockByNumber", json!(["0x300", false]));
    assert_eq!(block, Value::Null);
    let back = &mut sees(Sees::Backwards {
        blocks: 2,
        share: 0.5,
    });
    let heads: Vec<u64> = (0..20).map(|_| head(back, S * 5)).collect();
    assert!(heads.contains(&45) && heads.contains(&43), "{heads:?}");
}

// B-2
#[test]
fn an_older_block_is_answered_for_the_one_asked_for() {
    let older = &mut says(Says::Older(3));
    let block = result(older, S, "eth_getBlockByNumber", json!(["0x20", false]));
    assert_eq!(block["number"], "0x1d");
    let lowest = result(older, S, "eth_getBlockByNumber", json!(["0x1", false]));
    assert_eq!(lowest["number"], "0x0");
    assert_eq!(result(older, S, "eth_blockNumber", json!([])), "0x29");
}

// B-2
#[test]
fn a_strayed_node_shows_other_blocks_and_a_wrong_chain_another_id() {
    let hash = |node: &mut Node| {
        let block = result(node, S * 11, "eth_getBlockByNumber", json!(["0x2f", false]));
        block["hash"].clone()
    };
    assert_ne!(hash(&mut sees(Sees::Strayed(1))), hash(&mut honest()));
    let wrong = &mut sees(Sees::WrongChain(5));
    assert_eq!(result(wrong, S, "eth_chainId", json!([])), "0x5");
    assert_eq!(result(wrong, S, "net_version", json!([])), "5");
}

// B-2
#[test]
fn log_limits_bind_and_short_logs_are_always_the_same_ones() {
    let all = json!([{"fromBlock": "0x1", "toBlock": "0x28"}]);
    let count = |node: &mut Node| result(node, S, "eth_getLogs", all.clone());
    let whole = count(&mut honest());
    let limit = Sees::LogLimit {
        blocks: Some(10),
        results: Some(50),
    };
    let limited = &mut sees(limit);
    let (code, text) = refusal(limited, "eth_getLogs", all.clone());
    assert_eq!(
        (code, text.as_str()),
        (-32602, "exceed maximum block range 10")
    );
    let eleven = json!([{"fromBlock": "0x1", "toBlock": "0xb"}]);
    let (code, text) = refusal(limited, "eth_getLogs", eleven);
    assert_eq!(
        (code, text.as_str()),
        (-32000, "query returned more than 50 results")
    );

    let short = &mut sees(Sees::ShortLogs(0.3));
    let first = count(short);
    assert_eq!(first, count(short));
    let (less, more) = (first.as_array().unwrap(), whole.as_array().unwrap());
    assert!(less.len() < more.len() && !less.is_empty());
    assert!(less.iter().all(|log| more.contains(log)));
}

// B-2
#[test]
fn missing_methods_and_late_receipts() {
    let mut fault = always(What::Sees(Sees::NoMethod));
    fault.methods = vec!["eth_get*".into()];
    let node_without = &mut node(Dialect::Geth, vec![fault]);
    assert_eq!(refusal(node_without, "eth_getLogs", json!([{}])).0, -32601);
    assert_eq!(refusal(node_without, "eth_chainId", json!([])).0, 0);

    let late = &mut sees(Sees::LateReceipts(MS * 1_500));
    let block = result(late, S, "eth_getBlockByNumber", json!(["0x29", false]));
    let hash = &block["transactions"][0];
    let receipt =
        |late: &mut Node, at| result(late, at, "eth_getTransactionReceipt", json!([hash]));
    assert_eq!(receipt(late, S * 2), Value::Null);
    assert_eq!(receipt(late, MS * 2_500)["blockNumber"], "0x29");
}

// B-2
#[test]
fn replies_carry_wrong_members_and_ids() {
    let said = |fault: Says| reply(&mut says(fault), S, "eth_chainId", json!([]));
    assert_ne!(said(Says::WrongId)["id"], 5);
    assert_eq!(said(Says::StringId)["id"], "5");
    assert!(said(Says::MissingId).get("id").is_none());
    let both = said(Says::Both);
    assert!(both.get("result").is_some() && both.get("error").is_some());
    assert_eq!(said(Says::Neither), json!({"jsonrpc": "2.0", "id": 5}));
    assert_eq!(said(Says::Null)["result"], Value::Null);
    let batch = br#"[{"id":1,"method":"eth_chainId"},{"id":2,"method":"eth_chainId"}]"#;
    for (fault, expected) in [(Says::Twice, 4), (Says::Omitted, 0)] {
        let answer = delivery(says(fault).ask(S, "me", batch));
        let answer: Vec<Value> = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(answer.len(), expected);
    }
    let error = Says::Error {
        status: 503,
        code: -32009,
        message: "busy \"now\"".into(),
        data: Some("{\"a\":1}".into()),
    };
    let answer = delivery(exchange(&mut says(error), S, "eth_chainId"));
    assert_eq!(answer.status, 503);
    let answer: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(answer["error"]["message"], "busy \"now\"");
    assert_eq!(answer["error"]["data"]["a"], 1);
}

// B-2
#[test]
fn answers_are_refused_withheld_cut_and_slowed() {
    let seen = |fault: Carries| exchange(&mut carries(fault), S, "eth_chainId").seen();
    assert_eq!(seen(Carries::Down), Some((Duration::ZERO, Seen::Refused)));
    assert_eq!(seen(Carries::Hang), None);
    for fault in [
        Carries::Close,
        Carries::Reset,
        Carries::Truncate(9),
        Carries::ResetBody(9),
    ] {
        assert_eq!(seen(fault), Some((MS * 20, Seen::Broken)));
    }
    let slow = |ramp| Carries::Slow { add: S, ramp };
    assert_eq!(seen(slow(false)).unwrap().0, MS * 1_020);
    let ramp = Fault {
        until: Some(S * 10),
        ..always(What::Carries(slow(true)))
    };
    let ramp = &mut node(Dialect::Geth, vec![ramp]);
    assert_eq!(exchange(ramp, S * 5, "eth_chainId").delay, MS * 520);
    let shaped = |fault: Carries| delivery(exchange(&mut carries(fault), S, "eth_chainId"));
    let stall = shaped(Carries::Stall { after: 4, pause: S });
    assert_eq!(stall.pace, Pace::Stall { after: 4, pause: S });
    let drip = shaped(Carries::Drip { piece: 1, every: S });
    assert_eq!(drip.pace, Pace::Drip { piece: 1, every: S });
    assert_eq!(shaped(Carries::Truncate(3)).ending, Ending::ClosedAfter(3));
    assert!(shaped(Carries::Gzip).gzip);
    let huge = shaped(Carries::Huge(100_000)).body;
    assert_eq!(huge.len(), 100_000);
    serde_json::from_slice::<Value>(&huge).unwrap();
    serde_json::from_slice::<Value>(&shaped(Carries::InvalidJson).body).unwrap_err();
    let page = shaped(Carries::Page {
        status: 502,
        content_type: "text/html".into(),
        body: "<html>".into(),
        retry_after: Some(7),
    });
    assert_eq!((page.status, &page.body[..]), (502, &b"<html>"[..]));
    assert_eq!(page.headers, [("retry-after".into(), "7".into())]);
}

// B-2
#[test]
fn limits_count_per_node_or_per_client() {
    let limit = |per_client| Carries::RateLimit {
        rate: 1.0,
        burst: 2.0,
        retry_after: Some(3),
        per_client,
    };
    let status = |node: &mut Node, who: &str| {
        delivery(node.ask(S, who, &body("eth_chainId", &json!([])))).status
    };
    let shared = &mut carries(limit(false));
    assert_eq!(
        ["a", "b", "c"].map(|who| status(shared, who)),
        [200, 200, 429]
    );
    let each = &mut carries(limit(true));
    assert_eq!(
        ["a", "a", "a", "b"].map(|who| status(each, who)),
        [200, 200, 429, 200]
    );
    let quota = &mut carries(Carries::Quota(1));
    assert_eq!([status(quota, "a"), status(quota, "a")], [200, 402]);
}

// B-2
#[test]
fn a_lost_send_lands_all_the_same() {
    let (raw, hash) = crate::chain::Sender::new(1, 990_001, 0).transfer(0);
    let fault = Fault {
        methods: vec!["eth_sendRawTransaction".into()],
        ..always(What::Says(Says::LostSend))
    };
    let mut lossy = node(Dialect::Geth, vec![fault]);
    lossy.chain = super::fresh_chain();
    let lossy = &mut lossy;
    let sent = lossy.ask(S, "me", &body("eth_sendRawTransaction", &json!([raw])));
    assert_eq!(sent.carriage, Carriage::Closed);
    let receipt = result(lossy, S * 2, "eth_getTransactionReceipt", json!([hash]));
    assert_eq!(receipt["blockNumber"], "0x2a");
}

// B-2
#[test]
fn an_exchange_names_the_gravest_fault_it_suffers() {
    let cue = |node: &mut Node, body: &[u8]| {
        let cue = node.ask(S, "me", body).cue;
        cue.map(|cue| (cue.kind, cue.spoils))
    };
    let single = body("eth_chainId", &json!([]));
    let batch = [b"[", &single[..], b"]"].concat();
    let alone = |fault: Carries| cue(&mut carries(fault), &single);
    assert_eq!(cue(&mut honest(), &single), None);
    assert_eq!(cue(&mut sees(Sees::Lag(5)), &single), None);
    assert_eq!(alone(Carries::Gzip), None);
    assert_eq!(alone(Carries::Hang), Some(("hang", true)));
    assert_eq!(alone(Carries::Truncate(3)), Some(("truncate", true)));
    assert_eq!(alone(Carries::Truncate(3_000)), None);
    assert_eq!(alone(Carries::Huge(3_000)), Some(("huge", false)));
    let slow = Carries::Slow {
        add: S,
        ramp: false,
    };
    assert_eq!(alone(slow.clone()), Some(("slow", false)));
    let both = vec![
        always(What::Carries(slow)),
        always(What::Says(Says::WrongId)),
    ];
    let both = &mut node(Dialect::Geth, both);
    assert_eq!(cue(both, &single), Some(("wrong-id", true)));
    let twice = &mut says(Says::Twice);
    assert_eq!(cue(twice, &single), None);
    assert_eq!(cue(twice, &batch), Some(("twice", true)));
    let quota = &mut carries(Carries::Quota(1));
    let used = [cue(quota, &single), cue(quota, &single)];
    assert_eq!(used, [None, Some(("quota", true))]);
}

// B-2
#[test]
fn strikes_its_share_of_requests_and_the_same_ones_each_run() {
    let fault = || Fault {
        share: 0.3,
        ..always(What::Carries(Carries::Hang))
    };
    let run = || -> Vec<bool> {
        let node = &mut node(Dialect::Geth, vec![fault()]);
        (0..200)
            .map(|_| exchange(node, S, "eth_chainId").carriage == Carriage::Silence)
            .collect()
    };
    let struck = run();
    assert_eq!(struck, run());
    let count = struck.iter().filter(|hit| **hit).count();
    assert!((40..80).contains(&count), "{count}");
}

// B-2
#[test]
fn knows_when_it_goes_down_and_comes_back() {
    let window = |from, until| Fault {
        from: S * from,
        until: Some(S * until),
        ..always(What::Carries(Carries::Down))
    };
    let node = node(Dialect::Geth, vec![window(5, 9), window(2, 3)]);
    let turns: Vec<_> = [0, 2, 3, 5, 9].map(|at| node.next_turn(S * at)).into();
    assert_eq!(
        turns,
        [Some(S * 2), Some(S * 3), Some(S * 5), Some(S * 9), None]
    );
    let down = [0, 2, 3, 8, 9].map(|at| node.down(S * at));
    assert_eq!(down, [false, true, false, true, false]);
}

// B-2, R-35
#[test]
fn a_node_that_forgets_takes_a_transaction_and_passes_it_on_to_nobody() {
    let (raw, hash) = crate::chain::Sender::new(1, 990_001, 6).transfer(0);
    let (raw, hash) = (json!([raw]), json!(hash.to_string()));
    let chain = super::fresh_chain();
    let [honest, forgets] = &mut [honest(), sees(Sees::Forgets)];
    honest.chain = std::sync::Arc::clone(&chain);
    forgets.chain = chain;
    let send = "eth_sendRawTransaction";
    let find = |node: &mut Node, at| result(node, at, "eth_getTransactionByHash", json!([hash]));
    assert_eq!(result(forgets, S, send, raw.clone()), hash);
    assert_eq!(forgets.taken().len(), 1);
    assert_eq!(find(honest, S * 3), Value::Null);
    assert!(forgets.taken().len() == 1 && honest.taken().is_empty());

    assert_eq!(result(honest, S * 3, send, raw.clone()), hash);
    assert_eq!(honest.taken().len(), 1);
    let waiting = find(honest, S * 3);
    assert_eq!(
        (&waiting["hash"], &waiting["blockHash"]),
        (&hash, &Value::Null)
    );
    assert_eq!(find(forgets, S * 3), Value::Null);
    // It takes once more what the network has, and calls the nonce used once it is.
    assert_eq!(result(forgets, S * 3, send, raw.clone()), hash);
    assert!(find(honest, S * 5)["blockHash"].is_string());
    let body = body(send, &raw);
    let said = delivery(forgets.ask(S * 5, "me", &body)).body;
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(
        said.contains("nonce too low: next nonce 1, tx nonce 0"),
        "{said}"
    );
    assert!(forgets.taken().is_empty());
}

// B-2, R-35
#[test]
fn a_node_that_loses_an_answer_or_reads_no_body_says_what_it_took() {
    let send = "eth_sendRawTransaction";
    let (raw, _) = crate::chain::Sender::new(1, 990_001, 7).transfer(0);
    let body = body(send, &json!([raw]));
    let [lost, reset] = &mut [says(Says::LostSend), carries(Carries::Reset)];
    for node in [&mut *lost, &mut *reset] {
        node.chain = super::fresh_chain();
        let _ = node.ask(S, "me", &body);
    }
    assert_eq!((lost.taken().len(), reset.taken().len()), (1, 0));
}
