//! Histories in which an endpoint gets more or less than it deserves.

use std::time::Duration;

use serde_json::{Value, json};

use super::{MS, Tale, WHO};
use crate::checker::{Breach, Dead, Pause, Promises, Return, Said, Share};
use crate::scenario::Scenario;

const READ: &str = "eth_getBalance";

fn reads(tale: Tale, node: usize, at: impl IntoIterator<Item = u32>) -> Tale {
    let ask = |tale: Tale, at| tale.received(at, node, READ, &json!([WHO, "latest"]));
    at.into_iter().fold(tale, ask)
}

// B-4, R-19
#[test]
fn reports_a_request_before_the_chain_is_known() {
    let promises = Promises {
        chain_id: Some(990_001),
        ..Promises::default()
    };
    let tale = |at| {
        let known = json!({"id": 7, "result": "0xf1b31"});
        let tale = Tale::default().exchange((0, 10), 0, ("eth_chainId", &json!([])), (200, &known));
        reads(tale, 0, [at]).breaches_of(&promises)
    };
    assert_eq!(tale(11), []);
    assert_eq!(tale(9), [Breach::Unchecked]);
    let never = reads(Tale::default(), 0, [11]).breaches_of(&promises);
    assert_eq!(never, [Breach::Unchecked]);
}

// B-4, R-20
#[test]
fn reports_more_than_trials_at_an_endpoint_that_is_out() {
    let promises = Promises {
        dead: vec![Dead {
            node: 0,
            during: MS * 1_000..MS * 41_000,
            notice: MS * 1_000,
        }],
        ..Promises::default()
    };
    let tale = |later: &[u32]| {
        let tale = reads(Tale::default(), 0, [500, 1_100, 1_200, 1_300]);
        reads(tale, 0, later.iter().copied()).breaches_of(&promises)
    };
    // Known to be out from 2.3 s on; trials after 5, 15 and 35 s fit, and two more are not counted.
    assert_eq!(
        tale(&[2_000, 2_300, 7_000, 17_000, 37_000, 39_000, 40_000]),
        []
    );
    let sixth = tale(&[7_000, 17_000, 37_000, 38_000, 39_000, 40_000]);
    assert_eq!(sixth, [Breach::Crowded]);
    // Too far apart to be three in a row.
    let sparse = reads(Tale::default(), 0, (0..12).map(|n| 1_000 + n * 20_000));
    assert_eq!(sparse.breaches_of(&promises), []);
}

// B-4, R-20, R-34
#[test]
fn reports_a_trial_of_what_may_not_be_repeated() {
    let promises = Promises {
        dead: vec![Dead {
            node: 0,
            during: MS * 1_000..MS * 41_000,
            notice: MS * 1_000,
        }],
        ..Promises::default()
    };
    let ask = |tale: Tale, at| tale.received(at, 0, "eth_newFilter", &json!([{}]));
    let before = [1_100, 1_200, 1_300].into_iter().fold(Tale::default(), ask);
    assert_eq!(before.breaches_of(&promises), []);
    let trial = [1_100, 1_200, 1_300, 9_000].into_iter();
    let trial = trial.fold(Tale::default(), ask);
    assert_eq!(trial.breaches_of(&promises), [Breach::Crowded]);
}

fn said(tale: Tale, at: u32, status: u16, reply: &Value) -> Tale {
    let params = json!([WHO, "latest"]);
    tale.exchange((at - 1, at), 0, (READ, &params), (status, reply))
}

// B-4, R-21, R-23, R-24
#[test]
fn reports_a_request_before_a_pause_is_over() {
    let promises = |said, wait| Promises {
        pauses: vec![Pause {
            node: 0,
            said,
            wait: Duration::from_secs(wait),
        }],
        ..Promises::default()
    };
    let busy = || said(Tale::default(), 1_000, 503, &json!({}));
    let stated = promises(Said::Status(503), 7);
    assert_eq!(reads(busy(), 0, [8_000]).breaches_of(&stated), []);
    assert_eq!(reads(busy(), 1, [1_001]).breaches_of(&stated), []);
    assert_eq!(
        reads(busy(), 0, [7_999]).breaches_of(&stated),
        [Breach::Hasty]
    );
    let unknown = json!({"id": 7, "error": {"code": -32601, "message": "no such method"}});
    // After a minute the chain is asked again.
    let long = Promises {
        chain_id: Some(990_001),
        ..promises(Said::Status(503), 60)
    };
    let known = json!({"id": 7, "result": "0xf1b31"});
    let check =
        |tale: Tale, at| tale.exchange((at, at + 1), 0, ("eth_chainId", &json!([])), (200, &known));
    let back = |tale: Tale| reads(tale, 0, [61_010]).breaches_of(&long);
    assert_eq!(
        back(check(
            said(check(Tale::default(), 0), 1_000, 503, &json!({})),
            61_000
        )),
        []
    );
    assert_eq!(
        back(said(check(Tale::default(), 0), 1_000, 503, &json!({}))),
        [Breach::Unchecked]
    );
    let lacks = || said(Tale::default(), 1_000, 200, &unknown);
    let method = promises(Said::Unknown(READ.into()), 3_600);
    let other = lacks().received(2_000, 0, "eth_call", &json!([]));
    assert_eq!(other.breaches_of(&method), []);
    assert_eq!(
        reads(lacks(), 0, [2_000]).breaches_of(&method),
        [Breach::Hasty]
    );
}

// B-4, R-1
#[test]
fn reports_a_reserve_that_was_asked() {
    let promises = Promises {
        reserve: vec![1],
        ..Promises::default()
    };
    assert_eq!(reads(Tale::default(), 0, [1, 2]).breaches_of(&promises), []);
    let asked = reads(Tale::default(), 1, [1]).breaches_of(&promises);
    assert_eq!(asked, [Breach::OutOfTier]);
}

// B-4, R-5, R-7
#[test]
fn reports_a_share_that_nobody_deserves() {
    let promises = Promises {
        shares: vec![Share {
            node: 1,
            from: MS * 100,
            least: 0.1,
            most: 0.25,
            fewest: 60,
        }],
        ..Promises::default()
    };
    let tale = |own: u32, others: u32| {
        // What comes before is not counted.
        let tale = reads(Tale::default(), 1, 0..100);
        let tale = reads(tale, 1, (0..own).map(|n| 200 + n));
        reads(tale, 0, (0..others).map(|n| 200 + n)).breaches_of(&promises)
    };
    assert_eq!(tale(15, 60), []);
    assert_eq!(tale(30, 60), [Breach::Misrouted]);
    assert_eq!(tale(5, 70), [Breach::Misrouted]);
    assert_eq!(tale(30, 10), [], "too few to say anything");
}

// B-4, R-17
#[test]
fn reports_requests_long_after_the_last_call() {
    let promises = Promises {
        probes: true,
        deadline: Some(MS * 5_000),
        ..Promises::default()
    };
    let tale = |at| {
        let tale = Tale::default().called(1_000, READ, &json!([WHO, "latest"]));
        let tale = tale.received(at, 0, "eth_blockNumber", &json!([]));
        tale.breaches_of(&promises)
    };
    assert_eq!(tale(71_000), []);
    assert_eq!(tale(71_001), [Breach::Restless]);
}

// B-4, R-17
#[test]
fn reports_a_head_that_nobody_asks_for() {
    let promises = Promises {
        probed: vec![0],
        ..Promises::default()
    };
    let tale = |probes: &[u32], last| {
        let tale = Tale::default().called(1_000, READ, &json!([WHO, "latest"]));
        let ask = |tale: Tale, at: &u32| tale.received(*at, 0, "eth_blockNumber", &json!([]));
        let tale = probes.iter().fold(tale, ask);
        tale.called(last, READ, &json!([WHO, "latest"]))
            .breaches_of(&promises)
    };
    assert_eq!(tale(&[1_000, 5_000, 15_000], 20_000), []);
    assert_eq!(tale(&[1_000, 5_000, 15_001], 20_000), [Breach::Unprobed]);
    assert_eq!(tale(&[1_000, 5_000], 20_000), [Breach::Unprobed]);
    assert_eq!(tale(&[], 11_001), [Breach::Unprobed]);
    assert_eq!(tale(&[], 11_000), []);
}

// B-4, R-20, R-22
#[test]
fn reports_an_endpoint_that_works_again_and_gets_nothing() {
    let promises = Promises {
        returns: vec![Return {
            node: 0,
            during: MS * 1_000..MS * 10_000,
            tried: MS * 75_000,
        }],
        budgets: vec![None, None],
        ..Promises::default()
    };
    let tale = |before: &[u32], after: &[u32], calls: u32| {
        let tale = reads(Tale::default(), 0, before.iter().copied());
        let tale = reads(tale, 0, after.iter().copied());
        let call = |tale: Tale, n: u32| tale.called(75_000 + n, READ, &json!([WHO, "latest"]));
        (0..calls).fold(tale, call).breaches_of(&promises)
    };
    let out = [1_100, 1_200, 1_300];
    assert_eq!(tale(&out, &[], 3), [Breach::Forgotten]);
    assert_eq!(tale(&out, &[74_000], 3), []);
    // Too few calls to be its turn, and one that was never thrown out.
    assert_eq!(tale(&out, &[], 2), []);
    assert_eq!(tale(&out[1..], &[], 3), []);
}

fn routed(router: &str, nodes: &str) -> Promises {
    let file = format!(
        "name = 't'\nduration = '60s'\n[load]\nclients = 1\nevery = '200ms'\ntimeout = '40s'\n\
         [router]\nattempt = '1s'\nrace = 0\n{router}\n{nodes}"
    );
    Promises::routed(&Scenario::parse(&file, None).unwrap())
}

// B-4
#[test]
fn a_scenario_says_who_is_out_and_who_asks_for_a_pause() {
    let good = "[[nodes]]\nname = 'good'\n";
    let with = |fault: &str| {
        routed(
            "",
            &format!("[[nodes]]\nname = 'n'\nfaults = [{fault}]\n{good}"),
        )
    };
    let out = with("{ kind = 'reset', from = '5s' }");
    assert_eq!(out.dead.len(), 1);
    assert_eq!(out.dead[0].during, MS * 5_000..MS * 60_000);
    for fault in [
        "{ kind = 'reset', share = 0.5 }",
        "{ kind = 'reset', until = '50s' }",
        "{ kind = 'reset', methods = ['eth_call'] }",
        "{ kind = 'slow', add = '1s' }",
    ] {
        assert_eq!(with(fault).dead, [], "{fault}");
    }
    for (fault, said, seconds) in [
        (
            "kind = 'page', status = 503, retry_after = 7",
            Said::Status(503),
            7,
        ),
        (
            "kind = 'page', status = 503, retry_after = 900",
            Said::Status(503),
            60,
        ),
        (
            "kind = 'rate-limit', rate = 1, retry_after = 2",
            Said::Status(429),
            2,
        ),
        ("kind = 'quota', requests = 3", Said::Status(402), 120),
        (
            "kind = 'no-method', methods = ['eth_call']",
            Said::Unknown("eth_call".into()),
            3_600,
        ),
    ] {
        let found = with(&format!("{{ {fault} }}")).pauses;
        let wait = Duration::from_secs(seconds);
        assert_eq!(
            found,
            [Pause {
                node: 0,
                said,
                wait
            }],
            "{fault}"
        );
    }
    assert_eq!(with("{ kind = 'page', status = 503 }").pauses, []);
    let back = with("{ kind = 'reset', from = '5s', until = '9s' }");
    assert_eq!(back.returns, [], "too short to see it come back");
    let file = format!(
        "name = 't'\nduration = '80s'\n[router]\nattempt = '1s'\ndeadline = '4s'\nrace = 0\n\
         [[nodes]]\nname = 'n'\nfaults = [{{ kind = 'reset', from = '5s', until = '9s' }}]\n{good}"
    );
    let back = Promises::routed(&Scenario::parse(&file, None).unwrap()).returns;
    let tried = MS * (69_000 + 4_020);
    assert_eq!(
        back,
        [Return {
            node: 0,
            during: MS * 5_000..MS * 9_000,
            tried
        }]
    );
    // Nobody else is there, or breakers are off: nothing is promised.
    let alone = routed("", "[[nodes]]\nname = 'n'\nfaults = [{ kind = 'reset' }]\n");
    assert_eq!(alone.dead, []);
    let off = format!("[[nodes]]\nname = 'n'\nfaults = [{{ kind = 'reset' }}]\n{good}");
    assert_eq!(routed("breaker = false", &off).dead, []);
}

// B-4
#[test]
fn a_scenario_says_who_is_worse_than_others_and_who_is_a_reserve() {
    let node = |name: &str, lines: &str| format!("[[nodes]]\nname = '{name}'\n{lines}\n");
    let good = format!("{}{}", node("a", ""), node("b", ""));
    let with = |lines: &str| routed("", &format!("{good}{}", node("n", lines))).shares;
    for lines in [
        "latency = '60ms'",
        "faults = [{ kind = 'lag', blocks = 200 }]",
        "faults = [{ kind = 'error', class = 'internal', share = 0.3 }]",
        "latency = '60ms'\nfaults = [{ kind = 'ahead', blocks = 400 }]",
    ] {
        let shares = with(lines);
        assert_eq!(shares.len(), 1, "{lines}");
        assert_eq!((shares[0].node, shares[0].least), (2, 0.0));
    }
    for lines in [
        "latency = '50ms'",
        "faults = [{ kind = 'lag', blocks = 2 }]",
        "faults = [{ kind = 'error', class = 'execution_revert', share = 0.3 }]",
        "latency = '10ms'\nfaults = [{ kind = 'lag', blocks = 200 }]",
        "faults = [{ kind = 'ahead', blocks = 400 }]",
    ] {
        assert_eq!(with(lines), [], "{lines}");
    }
    let late = node("n", "faults = [{ kind = 'lag', blocks = 200 }]");
    let drift = |seconds: u32| {
        let file = format!(
            "name = 't'\nduration = '{seconds}s'\n[router]\nattempt = '1s'\ndeadline = '4s'\nrace = 0\n\
             strategy = 'random'\n{good}{late}"
        );
        Promises::routed(&Scenario::parse(&file, None).unwrap()).shares
    };
    assert_eq!(drift(179), []);
    let out = drift(180);
    assert_eq!((out.len(), out[0].node, out[0].from), (1, 2, MS * 90_000));
    let reverts = "faults = [{ kind = 'error', class = 'execution_revert', share = 0.5 }]";
    let alike = routed(
        "strategy = 'round-robin'",
        &format!("{good}{}", node("n", reverts)),
    )
    .shares;
    assert_eq!(alike.len(), 3);
    assert!(
        alike.iter().all(|share| (0.1..0.14).contains(&share.least)),
        "{alike:?}"
    );
    let loaded = routed("strategy = 'least-loaded'", &good).shares;
    assert!((0.025..0.035).contains(&loaded[0].least), "{loaded:?}");
    let weights = node("a", "weight = 3") + &node("b", "");
    let shares = routed("strategy = 'weighted'", &weights).shares;
    assert!((0.5..0.65).contains(&shares[0].least), "{shares:?}");
    let reserve = format!("{good}{}", node("r", "tier = 1"));
    assert_eq!(routed("", &reserve).reserve, [2]);
    let needed = node("a", "budget = { rps = 1, burst = 1 }") + &node("r", "tier = 1");
    assert!(routed("", &needed).reserve.is_empty());
}
