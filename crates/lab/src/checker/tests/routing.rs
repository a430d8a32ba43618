//! Histories that break what a router promises, and next to each the one that keeps it.

use serde_json::{Value, json};

use super::{MS, Tale, WHO, balance, chain, honest, number};
use crate::checker::{Breach, Outage, Promises};
use crate::history::{Event, Got};
use crate::scenario::Scenario;

const RECEIPT: &str = "eth_getTransactionReceipt";

impl Tale {
    pub(super) fn called(mut self, at: u32, method: &str, params: &Value) -> Self {
        self.calls += 1;
        self.events.push(Event::Called {
            at: MS * at,
            client: self.calls,
            call: self.calls,
            id: "1".into(),
            method: method.into(),
            params: params.to_string(),
        });
        self
    }

    pub(super) fn told(mut self, at: u32, got: Got) -> Self {
        self.events.push(Event::Answered {
            at: MS * at,
            call: self.calls,
            id: Some("1".into()),
            got,
        });
        self
    }

    /// A request to a node, and what it said, as the members of its reply.
    pub(super) fn exchange(
        mut self,
        (from, to): (u32, u32),
        node: usize,
        (method, params): (&str, &Value),
        (status, reply): (u16, &Value),
    ) -> Self {
        let id = Some("7".to_owned());
        self.events.push(Event::Received {
            at: MS * from,
            node,
            id: id.clone(),
            method: method.into(),
            params: params.to_string(),
        });
        self.events.push(Event::Served {
            at: MS * to,
            node,
            methods: vec![method.into()],
            ids: vec![id],
            status,
            body: reply.to_string(),
        });
        self
    }
}

fn result(value: &Value) -> (u16, Value) {
    (200, json!({"id": 7, "result": value}))
}

fn held_to(change: impl FnOnce(&mut Promises)) -> Promises {
    let mut promises = Promises {
        stale_blocks: 2,
        once: vec!["eth_newFilter".into(), "eth_sendRawTransaction".into()],
        ..Promises::default()
    };
    change(&mut promises);
    promises
}

// B-4, R-19
#[test]
fn reports_a_request_to_an_endpoint_that_said_that_it_serves_another_chain() {
    let promises = held_to(|promises| promises.chain_id = Some(990_001));
    let tale = |reply: &Value, at| {
        Tale::default()
            .exchange((0, 10), 0, ("eth_chainId", &json!([])), (200, reply))
            .received(at, 0, "eth_call", &json!([]))
            .received(at + 1, 0, "eth_call", &json!([]))
            .breaches_of(&promises)
    };
    let other = json!({"id": 7, "result": "0x5"});
    assert_eq!(tale(&other, 11), [Breach::OtherChain]);
    assert_eq!(tale(&json!({"id": 7, "result": "0xf1b31"}), 11), []);
    // Before it said so; then "not ready", and replies that answer nothing, which say no chain at all.
    assert_eq!(tale(&other, 1), [Breach::Unchecked]);
    for reply in [
        json!({"id": 7, "result": "0x0"}),
        json!({"id": 7, "result": null}),
        json!({"id": 8, "result": "0x5"}),
        json!({"id": 7, "result": "0x5", "error": {"code": 1}}),
    ] {
        assert_eq!(tale(&reply, 11), [Breach::Unchecked], "{reply}");
    }
}

// B-4, R-30
#[test]
fn reports_a_call_that_cost_more_requests_than_attempts() {
    let promises = held_to(|promises| promises.most_requests = Some(3));
    let tale = |requests| {
        let ask = |tale: Tale, at| tale.received(at, 0, "eth_call", &json!([]));
        (0..requests).fold(Tale::default(), ask)
    };
    assert_eq!(tale(3).breaches_of(&promises), []);
    assert_eq!(tale(4).breaches_of(&promises), [Breach::Amplified]);
    // One more where null may have to be confirmed.
    let nulls = Promises {
        nulls: true,
        ..promises
    };
    assert_eq!(tale(4).breaches_of(&nulls), []);
    assert_eq!(tale(5).breaches_of(&nulls), [Breach::Amplified]);
}

// B-4, R-32
#[test]
fn reports_what_calls_cost_together_while_every_endpoint_fails() {
    let promises = held_to(|promises| {
        promises.outages = vec![Outage {
            during: MS * 1_000..MS * 2_000,
            first: 1,
            share: 0.1,
            per_second: 2.0,
            trials: 3.0,
        }];
    });
    // Ten calls, of which one may be repeated for the share, two for the second, three as trials,
    // and one that was paid for before.
    let tale = |requests| {
        let called = |tale: Tale, n: u32| tale.called(1_000 + n, "eth_call", &json!([]));
        let asked = |tale: Tale, n: u32| tale.received(1_100 + n, 0, "eth_gasPrice", &json!([]));
        let tale = (0..10_u32).fold(Tale::default(), called);
        (0..requests).fold(tale, asked)
    };
    assert_eq!(tale(17).breaches_of(&promises), []);
    assert_eq!(tale(18).breaches_of(&promises), [Breach::Amplified]);
}

// B-4
#[test]
fn reports_a_read_that_failed_though_an_endpoint_was_there() {
    let promises = held_to(|promises| promises.steady = vec![1]);
    let tale = |method, params: Value, got: Got| {
        let tale = Tale::default().called(0, method, &params).told(50, got);
        tale.breaches_of(&promises)
    };
    let failed = || Got::Nothing("Failed(None)".into());
    let error =
        |code: i64, message| Got::Error(json!({"code": code, "message": message}).to_string());
    let (read, there) = ("eth_getBalance", json!([WHO, "0x14"]));
    assert_eq!(tale(read, there.clone(), failed()), [Breach::Unanswered]);
    let busy = error(-32603, "overloaded, try again later");
    assert_eq!(tale(read, there.clone(), busy), [Breach::Unanswered]);
    // The chain's own answer, a block that is not there yet, and what may not be repeated.
    let reverted = error(3, "execution reverted");
    assert_eq!(tale(read, there.clone(), reverted), []);
    assert_eq!(tale(read, json!([WHO, "0x99"]), failed()), []);
    assert_eq!(tale("eth_newFilter", json!([{}]), failed()), []);
    let nobody = held_to(|_| ());
    let alone = Tale::default().called(0, read, &there).told(50, failed());
    assert_eq!(alone.breaches_of(&nobody), []);
}

// B-4
#[test]
fn reports_an_answer_after_its_deadline() {
    let promises = held_to(|promises| promises.deadline = Some(MS * 100));
    let tale = |at, got| {
        let tale = Tale::default().called(0, "eth_call", &json!([]));
        tale.told(at, got).breaches_of(&promises)
    };
    let nothing = || Got::Nothing("no answer in time".into());
    assert_eq!(tale(100, nothing()), []);
    assert_eq!(tale(101, nothing()), [Breach::Late]);
    assert_eq!(tale(150, Got::Error("{}".into())), [Breach::Late]);
}

// B-4, R-36
#[test]
fn a_request_that_was_turned_away_may_go_to_another_endpoint_and_no_other_may() {
    let params = json!([{"address": WHO}]);
    let filter = ("eth_newFilter", &params);
    let tale = |first: (u16, &Value)| {
        Tale::default()
            .called(0, filter.0, &params)
            .exchange((0, 10), 0, filter, first)
            .exchange(
                (11, 20),
                1,
                filter,
                (200, &json!({"id": 7, "result": "0xb"})),
            )
            .told(20, Got::Result("\"0xb\"".into()))
            .breaches_of(&held_to(|_| ()))
    };
    let away = json!({"id": null, "error": {"code": 429, "message": "slow down"}});
    let unknown = json!({"id": 7, "error": {"code": -32601, "message": "no such method"}});
    assert_eq!(tale((429, &away)), []);
    assert_eq!(tale((200, &unknown)), []);
    let broken = json!({"id": 7, "error": {"code": -32603, "message": "internal error"}});
    assert_eq!(tale((200, &broken)), [Breach::SentTwice]);
    let lost = Tale::default()
        .called(0, filter.0, &params)
        .received(1, 0, filter.0, &params)
        .received(2, 0, filter.0, &params);
    assert_eq!(lost.breaches_of(&held_to(|_| ())), [Breach::SentTwice]);
    // The same bytes of a transaction may reach the same endpoint again.
    let raw = json!(["0xf86a"]);
    let again = |second| {
        Tale::default()
            .called(0, "eth_sendRawTransaction", &raw)
            .received(1, 0, "eth_sendRawTransaction", &raw)
            .received(2, second, "eth_sendRawTransaction", &raw)
            .breaches_of(&held_to(|_| ()))
    };
    assert_eq!(again(0), []);
    assert_eq!(again(1), [Breach::SentTwice]);
}

// B-4, R-38
#[test]
fn reports_an_answer_taken_from_a_reply_that_answers_nothing() {
    let params = json!([WHO, "0x14"]);
    let tale = |reply: Value| {
        Tale::default()
            .called(0, "eth_getBalance", &params)
            .exchange((0, 10), 0, ("eth_getBalance", &params), (200, &reply))
            .told(10, Got::Result(balance(20, 0).to_string()))
            .breaches_of(&held_to(|_| ()))
    };
    assert_eq!(tale(json!({"id": 7, "result": balance(20, 0)})), []);
    assert_eq!(tale(json!({"id": "7", "result": balance(20, 0)})), []);
    let foreign = tale(json!({"id": 8, "result": balance(20, 0)}));
    assert_eq!(foreign, [Breach::Unsound]);
    let both = tale(json!({"id": 7, "result": balance(20, 0), "error": {"code": 1}}));
    assert_eq!(both, [Breach::Unsound]);
}

/// A receipt that the chain has, asked for by one call that is told null.
fn null(
    before: impl FnOnce(Tale, &Value, &Value) -> Tale,
    change: fn(&mut Promises),
) -> Vec<Breach> {
    let block = chain().block(&crate::chain::View::healthy(MS), 20).unwrap();
    let params = json!([block.mined[0].tx.tx_hash()]);
    let receipt = honest(0, RECEIPT, &params);
    let known = result(&json!("0xf1b31"));
    let check = |tale: Tale, node| {
        let chain = ("eth_chainId", &json!([]));
        tale.exchange((0, 1), node, chain, (known.0, &known.1))
    };
    let tale = [0, 1].into_iter().fold(Tale::default(), check);
    let tale = tale.called(5, RECEIPT, &params);
    let tale = before(tale, &params, &receipt).told(50, Got::Result("null".into()));
    tale.breaches_of(&held_to(|promises| {
        promises.chain_id = Some(990_001);
        promises.confirming = vec![1];
        promises.sighted = vec![0, 1];
        change(promises);
    }))
}

// B-4, R-37, R-41, M01, M03
#[test]
fn reports_a_null_that_somebody_contradicted_or_nobody_else_was_asked_about() {
    let empty = result(&Value::Null);
    let ask = |tale: Tale, at, node, params: &Value, reply: &(u16, Value)| {
        tale.exchange(at, node, (RECEIPT, params), (reply.0, &reply.1))
    };
    let contradicted = null(
        |tale, params, receipt| {
            let tale = ask(tale, (5, 40), 1, params, &result(receipt));
            ask(tale, (5, 50), 0, params, &empty)
        },
        |_| (),
    );
    assert_eq!(contradicted, [Breach::NullWon]);
    let alone = null(
        |tale, params, _| ask(tale, (5, 50), 0, params, &empty),
        |_| (),
    );
    assert_eq!(alone, [Breach::NullWon]);
    let confirmed = null(
        |tale, params, _| {
            let tale = ask(tale, (5, 40), 0, params, &empty);
            ask(tale, (40, 50), 1, params, &empty)
        },
        |_| (),
    );
    assert_eq!(confirmed, []);
    let nobody = null(
        |tale, params, _| ask(tale, (5, 50), 0, params, &empty),
        |promises| promises.confirming.clear(),
    );
    assert_eq!(nobody, []);
    // What a node without sight of the chain says contradicts nothing.
    let blind = null(
        |tale, params, receipt| {
            let tale = ask(tale, (5, 40), 1, params, &result(receipt));
            ask(tale, (5, 50), 0, params, &empty)
        },
        |promises| promises.sighted = vec![0],
    );
    assert_eq!(blind, []);
}

// B-4
#[test]
fn what_faults_make_unavoidable_is_not_held_against_a_router() {
    let tale = || {
        let first = Tale::default().ask((0, 10), "eth_blockNumber", json!([]), number(30));
        first.ask((20, 30), "eth_blockNumber", json!([]), number(29))
    };
    let promises = |fault: &str| {
        let file =
            format!("name = 't'\nduration = '1s'\n[[nodes]]\nname = 'a'\nfaults = [{fault}]\n");
        let mut promises = Promises::routed(&Scenario::parse(&file, None).unwrap());
        promises.most_requests = None;
        promises
    };
    let blind = promises("{ kind = 'backwards', blocks = 1 }");
    assert_eq!(tale().breaches_of(&blind), []);
    let slow = promises("{ kind = 'slow', add = '1s' }");
    assert_eq!(tale().breaches_of(&slow), [Breach::WentBack]);
}

// B-4
#[test]
fn a_scenario_says_what_a_router_must_keep() {
    let promises = |router: &str, nodes: &str| {
        let file = format!(
            "name = 't'\nduration = '60s'\n[load]\ntimeout = '40s'\n[router]\n{router}\n{nodes}"
        );
        Promises::routed(&Scenario::parse(&file, None).unwrap())
    };
    let good = "[[nodes]]\nname = 'good'\n";
    let bad = "[[nodes]]\nname = 'bad'\nfaults = [{ kind = 'hang', from = '20s' }]\n";
    let both = promises("attempt = '2s'", &format!("{bad}{good}"));
    assert_eq!(both.steady, [1]);
    assert_eq!(both.deadline, Some(MS * 30_000));
    assert_eq!(both.most_requests, Some(4));
    assert_eq!(both.outages, []);
    // Too little time or too few attempts to come to the good one.
    for router in ["attempt = '20s'", "retries = 0"] {
        assert!(promises(router, &format!("{bad}{good}")).steady.is_empty());
    }
    let gateway = promises(
        "preset = 'gateway'\nattempt = '2s'",
        &format!("{bad}{good}"),
    );
    assert_eq!((gateway.steady, gateway.most_requests), (vec![1], None));
    let higher = promises("attempt = '1s'", &format!("{bad}{good}tier = 1\n"));
    assert_eq!((higher.steady, higher.confirming), (vec![1], vec![]));
    assert_eq!(higher.most_requests, Some(5));
    let out = promises("attempt = '1s'", bad);
    // Ten seconds to forget, and one attempt that was under way.
    assert_eq!(out.outages[0].during, MS * 31_000..MS * 60_000);
    assert_eq!(out.outages[0].first, 2);
}
