//! Histories of reads that are pinned, shared and kept.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Breach, MS, Promises, WHO, balance, breaches, honest, number};
use crate::chain::{TRANSFER, View};
use crate::checker::Reading;
use crate::history::{Event, Got, History};
use crate::node::{Carries, Fault, Sees, What};

const LATEST: &str = "eth_getBalance";

/// Three endpoints without a fault.
fn promises() -> Promises {
    Promises {
        stale_blocks: 2,
        local: vec!["eth_blockNumber".into()],
        reading: Some(Reading {
            faults: vec![Vec::new(); 3],
            firm: vec![0, 1, 2],
            honest: vec![0, 1, 2],
            stale_blocks: 2,
            max_age: MS * 2_000,
            max_ahead: 1_000,
            stale: MS * 30_000,
            notice: MS * 500,
        }),
        ..Promises::default()
    }
}

/// A history under construction.
#[derive(Default)]
struct Tale {
    events: Vec<Event>,
    requests: u64,
    calls: u64,
}

impl Tale {
    /// A request to an endpoint, and its answer.
    fn exchange(
        mut self,
        (from, to): (u32, u32),
        node: usize,
        method: &str,
        params: &Value,
        result: &Value,
    ) -> Self {
        self.requests += 1;
        let id = self.requests.to_string();
        self.events.push(Event::Received {
            at: MS * from,
            node,
            id: Some(id.clone()),
            method: method.into(),
            params: params.to_string(),
        });
        self.events.push(Event::Served {
            at: MS * to,
            node,
            methods: vec![method.into()],
            ids: vec![Some(id)],
            status: 200,
            body: json!({"id": self.requests, "result": result}).to_string(),
        });
        self
    }

    /// Endpoints tell their heads.
    fn heads(self, at: u32, heads: &[u64]) -> Self {
        (0..).zip(heads).fold(self, |tale, (node, head)| {
            let head = number(*head);
            tale.exchange((at, at), node, "eth_blockNumber", &json!([]), &head)
        })
    }

    /// An endpoint tells the header at a height, as a perfect node has it at a moment.
    fn header(self, at: u32, node: usize, height: u64, seen_at: u32) -> Self {
        let params = json!([format!("{height:#x}"), false]);
        let block = honest(seen_at, "eth_getBlockByNumber", &params);
        self.exchange((at, at), node, "eth_getBlockByNumber", &params, &block)
    }

    /// A call of client 1, answered from memory unless something was served meanwhile.
    fn call(
        mut self,
        (from, to): (u32, u32),
        method: &str,
        params: &Value,
        result: &Value,
    ) -> Self {
        self.calls += 1;
        self.events.push(Event::Called {
            at: MS * from,
            client: 1,
            call: self.calls,
            id: "1".into(),
            method: method.into(),
            params: params.to_string(),
        });
        self.events.push(Event::Answered {
            at: MS * to,
            call: self.calls,
            id: Some("1".into()),
            got: Got::Result(result.to_string()),
        });
        self
    }

    /// A read at `latest` that an endpoint answers at this block.
    fn latest(self, at: u32, height: u64, branch: u16) -> Self {
        let (pinned, result) = (json!([WHO, number(height)]), balance(height, branch));
        let params = json!([WHO, "latest"]);
        self.call((at, at + 10), LATEST, &params, &result).exchange(
            (at + 1, at + 5),
            0,
            LATEST,
            &pinned,
            &result,
        )
    }

    fn number(self, at: u32, height: u64) -> Self {
        self.call((at, at), "eth_blockNumber", &json!([]), &number(height))
    }

    /// A call that an endpoint answers.
    fn asked(self, at: u32, method: &str, params: &Value, result: &Value) -> Self {
        self.call((at, at + 10), method, params, result).exchange(
            (at + 1, at + 5),
            0,
            method,
            params,
            result,
        )
    }

    fn breaches(self) -> Vec<Breach> {
        self.breaches_of(&promises())
    }

    fn breaches_of(mut self, promises: &Promises) -> Vec<Breach> {
        self.events.sort_by_key(Event::at);
        let history: History = self.events.into_iter().collect();
        breaches(&history, promises)
    }
}

fn start() -> Tale {
    Tale::default().heads(0, &[30, 30, 30])
}

// P-8, P-9
#[test]
fn whatever_names_a_block_binds_what_is_told_later() {
    let at = 1_000;
    let block = honest(at, "eth_getBlockByNumber", &json!(["0x1f", true]));
    let (hash, sent) = (&block["hash"], &block["transactions"][0]["hash"]);
    let range = json!([{"fromBlock": "0x1f", "toBlock": "0x1f", "topics": [TRANSFER]}]);
    let named = [
        ("eth_getBlockByNumber", json!(["0x1f", false])),
        ("eth_getBlockByHash", json!([hash, false])),
        ("eth_getTransactionReceipt", json!([sent])),
        ("eth_getTransactionByHash", json!([sent])),
        ("eth_getLogs", range),
    ];
    for (method, params) in named {
        let tale = || {
            let result = honest(at, method, &params);
            start()
                .heads(at, &[31, 31, 31])
                .asked(at + 10, method, &params, &result)
        };
        assert_eq!(
            tale().latest(1_100, 30, 0).breaches(),
            [Breach::WentBack],
            "{method}"
        );
        assert_eq!(
            tale().number(1_100, 30).breaches(),
            [Breach::WentBack],
            "{method}"
        );
        assert_eq!(tale().latest(1_100, 31, 0).breaches(), [], "{method}");
    }
    // A state read at a number names no block.
    let params = json!([WHO, "0x1f"]);
    let tale = start().heads(at, &[31, 31, 31]);
    let tale = tale.asked(at + 10, LATEST, &params, &balance(31, 0));
    assert_eq!(tale.latest(1_100, 30, 0).breaches(), []);
}

// P-7
#[test]
fn finality_does_not_go_back() {
    let tale = |second: u32| {
        let told = |tale: Tale, at, seen_at| {
            let params = json!(["safe", false]);
            let block = honest(seen_at, "eth_getBlockByNumber", &params);
            tale.asked(at, "eth_getBlockByNumber", &params, &block)
        };
        told(told(start(), 5_000, 5_000), 6_000, second)
    };
    assert_eq!(tale(4_000).breaches(), [Breach::WentBack]);
    assert_eq!(tale(5_000).breaches(), []);
}

// P-8: the ways down
#[test]
fn a_floor_falls_with_its_branch_and_after_a_time_without_anybody_there() {
    // The network leaves 39 and what is above it at 10 s; two are at 39 then.
    let fallen = |told: u64, heads: [u64; 3], then: u64| {
        let tale = start().heads(9_500, &[39, 39, 39]).number(9_600, told);
        let branch = u16::from(then > 38);
        tale.heads(10_500, &heads)
            .latest(10_600, then, branch)
            .breaches()
    };
    assert_eq!(fallen(39, [38, 38, 38], 38), []);
    assert_eq!(fallen(39, [39, 39, 38], 38), [Breach::WentBack]);
    // 38 is on both branches.
    assert_eq!(fallen(38, [37, 37, 37], 37), [Breach::WentBack]);
    let unserved = |after: u32| {
        let tale = start().heads(3_000, &[33, 33, 33]).number(3_000, 33);
        tale.heads(after, &[32, 32, 32])
            .latest(after + 100, 32, 0)
            .breaches()
    };
    assert_eq!(unserved(8_000), [Breach::WentBack]);
    // The block of branch 0 has gone by then, and nobody was told.
    let kept: Vec<Breach> = unserved(33_000);
    assert!(!kept.contains(&Breach::WentBack), "{kept:?}");
}

// P-2
#[test]
fn a_tag_goes_out_as_it_is_only_where_no_head_is_known() {
    let (params, result) = (json!([WHO, "latest"]), balance(30, 0));
    let tagged = |tale: Tale| tale.asked(100, LATEST, &params, &result).breaches();
    assert_eq!(tagged(start()), [Breach::Unpinned]);
    assert_eq!(tagged(Tale::default()), []);
    let mut half = promises();
    if let Some(reading) = &mut half.reading {
        reading.honest = vec![0];
    }
    let tale = start().asked(100, LATEST, &params, &result);
    assert_eq!(tale.breaches_of(&half), []);
}

// P-2, P-11
#[test]
fn the_newest_block_is_as_new_as_two_endpoints_have_told() {
    let stale = |heads: [u64; 3]| start().heads(4_000, &heads).latest(4_100, 31, 0).breaches();
    assert_eq!(stale([34, 34, 31]), [Breach::TooStale]);
    assert_eq!(stale([34, 33, 31]), []);
    assert_eq!(stale([34, 31, 31]), []);
    // From memory it is not older than it may be, whatever the block.
    let kept = |at: u32| {
        let tale = start().latest(100, 30, 0);
        let params = json!([WHO, "latest"]);
        tale.call((at, at), LATEST, &params, &balance(30, 0))
            .breaches()
    };
    assert_eq!(kept(2_200), [Breach::TooStale]);
    assert_eq!(kept(2_050), []);
}

//
#[test]
fn what_a_liar_alone_says_is_told_to_nobody() {
    let mut promises = promises();
    if let Some(reading) = &mut promises.reading {
        reading.honest = vec![0, 1];
    }
    let told = |height| {
        let tale = Tale::default().heads(0, &[30, 30, 32]).number(100, height);
        tale.breaches_of(&promises)
    };
    assert_eq!(told(32), [Breach::Unfounded]);
    assert_eq!(told(30), []);
}

// P-3
#[test]
fn a_call_has_one_number_and_goes_to_who_has_told_it() {
    let pinned = |node: usize, height: u64| {
        let params = json!([WHO, number(height)]);
        let tale = Tale::default().heads(0, &[30, 29, 30]);
        tale.exchange((10, 20), node, LATEST, &params, &balance(height, 0))
    };
    assert_eq!(pinned(1, 30).breaches(), [Breach::NotHeld]);
    assert_eq!(pinned(1, 29).breaches(), []);
    // A client that writes the number may ask anybody.
    let written = pinned(1, 30);
    let written = written.call((5, 30), LATEST, &json!([WHO, number(30)]), &balance(30, 0));
    assert_eq!(written.breaches(), []);
    let mut twice = pinned(0, 29);
    twice.events.push(Event::Received {
        at: MS * 15,
        node: 2,
        id: Some(twice.requests.to_string()),
        method: LATEST.into(),
        params: json!([WHO, number(30)]).to_string(),
    });
    assert_eq!(twice.breaches(), [Breach::OtherPin]);
}

// P-3
#[test]
fn an_answer_is_from_the_block_that_was_asked_for() {
    let params = json!([WHO, "latest"]);
    let tale = |height| {
        let asked = json!([WHO, number(30)]);
        start()
            .call((100, 110), LATEST, &params, &balance(height, 0))
            .exchange((101, 105), 0, LATEST, &asked, &balance(height, 0))
            .breaches()
    };
    assert_eq!(tale(29), [Breach::WrongHeight]);
    assert_eq!(tale(30), []);
}

// P-14
#[test]
fn an_answer_from_a_branch_that_all_have_left_is_reported() {
    let tale = || {
        let heads = start().heads(9_500, &[39, 39, 39]);
        heads.heads(11_500, &[41, 41, 41]).asked(
            12_000,
            LATEST,
            &json!([WHO, number(39)]),
            &balance(39, 0),
        )
    };
    assert_eq!(tale().breaches(), [Breach::Orphaned]);
    // One of them sees everything late.
    let mut late = promises();
    if let Some(reading) = &mut late.reading {
        reading.faults[2] = vec![Fault {
            from: Duration::ZERO,
            until: None,
            every: None,
            share: 1.0,
            methods: Vec::new(),
            what: What::Sees(Sees::Delayed(MS * 2_500)),
        }];
    }
    assert_eq!(tale().breaches_of(&late), []);
}

// P-14
#[test]
fn what_is_kept_goes_when_a_header_of_the_new_branch_is_told() {
    let kept = |change: fn(Tale) -> Tale| {
        let tale = start()
            .heads(9_500, &[39, 39, 39])
            .header(9_600, 0, 39, 9_600);
        let tale = change(tale.latest(9_900, 39, 0));
        let params = json!([WHO, "latest"]);
        tale.call((10_900, 10_900), LATEST, &params, &balance(39, 0))
            .breaches()
    };
    assert_eq!(kept(|tale| tale), []);
    let told = |tale: Tale| tale.header(10_500, 0, 39, 10_500);
    assert_eq!(kept(told), [Breach::Orphaned]);
    // One of two is believed as little as the other; one of three is outvoted.
    let one = |tale: Tale| tale.header(10_500, 1, 39, 10_500);
    assert_eq!(kept(one), [Breach::Orphaned]);
    let outvoted = |tale: Tale| {
        let tale = tale.header(9_950, 2, 39, 9_950);
        tale.header(10_500, 1, 39, 10_500)
    };
    assert_eq!(kept(outvoted), []);
    // What was given after the header was known comes from an endpoint that had gone back.
    let before = start()
        .heads(9_500, &[39, 39, 39])
        .header(9_600, 0, 39, 9_600);
    let before = before.header(10_100, 0, 39, 10_100);
    let mut late = promises();
    if let Some(reading) = &mut late.reading {
        reading.faults[2] = vec![Fault {
            from: Duration::ZERO,
            until: None,
            every: None,
            share: 1.0,
            methods: Vec::new(),
            what: What::Sees(Sees::Delayed(MS * 500)),
        }];
    }
    let again = before.latest(10_200, 39, 0);
    let params = json!([WHO, "latest"]);
    let again = again.call((10_900, 10_900), LATEST, &params, &balance(39, 0));
    assert_eq!(again.breaches_of(&late), []);
}

// P-13, P-16
#[test]
fn an_answer_is_what_its_block_holds() {
    let told = |method: &str, params: &Value, spoil: fn(&mut Value)| {
        let mut result = honest(1_000, method, params);
        spoil(&mut result);
        start()
            .heads(900, &[30, 30, 30])
            .asked(1_000, method, params, &result)
            .breaches()
    };
    let block = json!(["0x1e", true]);
    let fine = |_: &mut Value| {};
    let gas = |block: &mut Value| block["gasUsed"] = json!("0x1");
    assert_eq!(told("eth_getBlockByNumber", &block, gas), [Breach::Untrue]);
    assert_eq!(told("eth_getBlockByNumber", &block, fine), []);
    let sent = honest(1_000, "eth_getBlockByNumber", &block)["transactions"][0]["hash"].clone();
    let status = |receipt: &mut Value| receipt["gasUsed"] = json!("0x1");
    let receipt = json!([sent]);
    assert_eq!(
        told("eth_getTransactionReceipt", &receipt, status),
        [Breach::Untrue]
    );
    assert_eq!(told("eth_getTransactionReceipt", &receipt, fine), []);
    let logs = json!([{"fromBlock": "0x1c", "toBlock": "0x1e", "topics": [TRANSFER]}]);
    let cut = |logs: &mut Value| drop(logs.as_array_mut().unwrap().remove(1));
    assert_eq!(told("eth_getLogs", &logs, cut), [Breach::LogsMissing]);
    assert_eq!(told("eth_getLogs", &logs, fine), []);
    // Logs above the last one of the answer are missed where the network had one branch.
    let ends = |logs: &mut Value| {
        let all = logs.as_array_mut().unwrap();
        all.retain(|log| log["blockNumber"] != "0x1e");
    };
    assert_eq!(told("eth_getLogs", &logs, ends), [Breach::LogsMissing]);
}

// P-8
#[test]
fn a_block_that_was_shown_by_its_hash_does_not_vanish() {
    let block = super::chain().block(&View::healthy(MS * 100), 30).unwrap();
    let params = json!([block.hash.to_string(), false]);
    let result = honest(100, "eth_getBlockByHash", &params);
    let first = start().asked(100, "eth_getBlockByHash", &params, &result);
    let then = first.asked(200, "eth_getBlockByHash", &params, &Value::Null);
    assert_eq!(then.breaches(), [Breach::ReceiptVanished]);
    let never = start().asked(200, "eth_getBlockByHash", &params, &Value::Null);
    assert_eq!(never.breaches(), []);
}

// P-8, R-37
#[test]
fn null_is_believed_of_two_and_of_one_that_is_alone_at_the_reference() {
    let block = super::chain().block(&View::healthy(MS * 100), 30).unwrap();
    let params = json!([block.hash.to_string(), false]);
    let result = honest(100, "eth_getBlockByHash", &params);
    let gone = |heads: [u64; 3], firm: &[usize], again: bool| {
        let mut promises = promises();
        if let Some(reading) = &mut promises.reading {
            reading.firm = firm.to_vec();
        }
        let shown = Tale::default().heads(0, &heads);
        let shown = shown.asked(100, "eth_getBlockByHash", &params, &result);
        let then = shown.asked(200, "eth_getBlockByHash", &params, &Value::Null);
        let then = if again {
            then.exchange((202, 206), 1, "eth_getBlockByHash", &params, &Value::Null)
        } else {
            then
        };
        then.breaches_of(&promises)
    };
    let all = [0, 1, 2];
    assert_eq!(gone([30, 30, 30], &all, false), [Breach::ReceiptVanished]);
    assert_eq!(gone([30, 30, 30], &all, true), []);
    // A request that this call came to share is its own.
    let late = start().asked(100, "eth_getBlockByHash", &params, &result);
    let late = late.exchange((190, 203), 1, "eth_getBlockByHash", &params, &Value::Null);
    let late = late.asked(200, "eth_getBlockByHash", &params, &Value::Null);
    assert_eq!(late.breaches(), []);
    // Who says so is below the reference; at it, with others there; at it, and nobody else is.
    assert_eq!(gone([29, 30, 30], &[0], false), [Breach::ReceiptVanished]);
    assert_eq!(gone([29, 30, 29], &all, false), [Breach::ReceiptVanished]);
    assert_eq!(
        gone([29, 30, 27], &[0, 2], false),
        [Breach::ReceiptVanished]
    );
    assert_eq!(gone([29, 30, 26], &[0, 2], false), []);
    // The one extra request went to an endpoint that was down.
    let down = |until: u32| {
        let mut promises = promises();
        if let Some(reading) = &mut promises.reading {
            reading.faults[2] = vec![Fault {
                from: Duration::ZERO,
                until: Some(MS * until),
                every: None,
                share: 1.0,
                methods: Vec::new(),
                what: What::Carries(Carries::Down),
            }];
        }
        let shown = start().asked(100, "eth_getBlockByHash", &params, &result);
        let then = shown.asked(200, "eth_getBlockByHash", &params, &Value::Null);
        then.breaches_of(&promises)
    };
    assert_eq!(down(300), []);
    assert_eq!(down(150), [Breach::ReceiptVanished]);
}
