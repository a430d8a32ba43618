//! Options of the routing engine, each by what it does.

use crate::{
    fleet::{Fleet, fault, prefer, retries},
    site::{Client, balance, key, settings},
};
use highwater_core::{
    bucket::{Budget, Every, LearnSettings, Period, Rate},
    select::{Strategy, Weights},
    settings::HedgeSettings,
};
use highwater_gateway::{Gateway, config::MethodRules};
use highwater_lab::sockets::{Answer, Gate, ScriptedNode};
use std::time::Duration;

/// A budget of so many requests, and no more for hours.
fn only(requests: f64) -> Budget {
    Budget {
        rate: Some(Rate {
            rps: 0.001,
            burst: requests,
        }),
        ..Budget::default()
    }
}

fn deny(method: &str) -> MethodRules {
    MethodRules {
        allow: vec![],
        deny: vec![method.to_ascii_lowercase()],
    }
}

// R-11
#[tokio::test]
async fn round_robin_takes_turns() {
    let fleet = Fleet::<2>::with(|chain| chain.engine.strategy = Strategy::RoundRobin).await;
    fleet.balances(6).await;
    assert_eq!(fleet.heard(), [3, 3]);
}

// R-5, R-11
#[tokio::test]
async fn the_heavier_endpoint_is_preferred() {
    for strategy in [Strategy::Adaptive, Strategy::Weighted] {
        let fleet = Fleet::<2>::with(|chain| {
            chain.engine.strategy = strategy;
            prefer(&mut chain.endpoints[1]);
            chain.endpoints[0].weight = 1e-6;
        })
        .await;
        fleet.balances(10).await;
        assert_eq!(fleet.heard(), [0, 10], "{strategy}");
    }
}

// R-11
#[tokio::test]
async fn weights_and_regions_decide_a_weighted_sum() {
    let fleet = Fleet::<2>::with_settings(|settings| {
        settings.server.region = Some("eu-west".into());
        let chain = &mut settings.chains[0];
        chain.engine.strategy = Strategy::WeightedSum(Weights {
            latency: 0.0,
            error: 0.0,
            quota: 0.0,
            affinity: 1.0,
        });
        chain.endpoints[0].region = Some("us-east".into());
        chain.endpoints[1].region = Some("eu-north".into());
    })
    .await;
    fleet.balances(6).await;
    assert_eq!(fleet.heard(), [0, 6]);
}

// R-11
#[tokio::test]
async fn a_keys_calls_are_served_by_its_own_strategy() {
    let fleet = Fleet::<2>::with_settings(|settings| {
        prefer(&mut settings.chains[0].endpoints[0]);
        let mut own = key("own", "hw_own");
        own.strategy = Some(Strategy::RoundRobin);
        settings.keys = vec![key("plain", "hw_plain"), own];
    })
    .await;
    for (key, expected) in [("hw_plain", [4, 0]), ("hw_own", [6, 2])] {
        for _ in 0..4 {
            let mut client = Client::connect(fleet.gateway.addr).await;
            let headers = [("X-Api-Key", key)];
            let answer = client.post("/", &headers, balance(1).as_bytes()).await;
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
        assert_eq!(fleet.heard(), expected, "{key}");
    }
}

// R-1
#[tokio::test]
async fn a_higher_tier_serves_only_what_no_lower_one_can() {
    let fleet = Fleet::<2>::with(|chain| {
        chain.endpoints[0].tier = 1;
        prefer(&mut chain.endpoints[0]);
    })
    .await;
    fleet.balances(5).await;
    assert_eq!(fleet.heard(), [0, 5]);
    fleet.nodes[1].stop().await;
    fleet.balances(1).await;
    assert_eq!(fleet.heard()[0], 1);
}

// R-14: the list folds case, the wire does not.
#[tokio::test]
async fn a_method_that_an_endpoint_is_not_to_be_asked_goes_to_others_or_nowhere() {
    let fleet = Fleet::<2>::with(|chain| {
        prefer(&mut chain.endpoints[0]);
        chain.endpoints[0].methods = deny("eth_getBalance");
        chain.endpoints[1].methods = deny("eth_gasPrice");
        chain.endpoints[0].methods.deny.push("net_*".into());
        chain.endpoints[1].methods.deny.push("net_*".into());
    })
    .await;
    fleet.balances(3).await;
    assert_eq!(fleet.heard(), [0, 3]);
    let price = r#"{"jsonrpc":"2.0","id":1,"method":"eth_gasPrice"}"#;
    fleet.post(price).await;
    assert_eq!(fleet.counts("eth_gasPrice"), [1, 0]);
    let peers = r#"{"jsonrpc":"2.0","id":4,"method":"net_peerCount"}"#;
    let answer = fleet.post(peers).await;
    assert_eq!(answer.row(), (200, -32011));
    let answer = answer.json();
    assert_eq!(answer["id"], 4);
    assert_eq!(answer["error"]["data"]["reason"], "none_eligible");
    assert_eq!(fleet.counts("net_peerCount"), [0, 0]);
}

// R-26, R-27: the chain check at the start takes one token.
#[tokio::test]
async fn nothing_is_sent_past_a_budget_and_the_error_says_what_it_would_take() {
    let fleet = Fleet::<1>::with(|chain| chain.endpoints[0].budget = only(3.0)).await;
    fleet.balances(2).await;
    let answer = fleet.balance().await;
    assert_eq!(answer.row(), (200, -32011));
    let error = &answer.json()["error"]["data"];
    assert_eq!(error["source"], "gateway");
    assert_eq!(error["reason"], "budget");
    assert!(error["retryAfterMs"].as_u64().unwrap() > 900_000);
    assert_eq!(answer.header("retry-after"), None);
    assert_eq!(fleet.heard(), [2]);
    assert_eq!(fleet.endpoint(0).await["tokens"], 0);
}

// R-26
#[tokio::test]
async fn a_budget_that_is_off_limits_nothing() {
    let fleet = Fleet::<1>::with(|chain| {
        chain.endpoints[0].budget = Budget {
            off: true,
            ..only(1.0)
        };
    })
    .await;
    fleet.balances(5).await;
    assert!(fleet.endpoint(0).await["tokens"].is_null());
}

// R-26
#[tokio::test]
async fn endpoints_of_one_account_spend_one_budget_over_all_chains() {
    let (one, two) = (ScriptedNode::start().await, ScriptedNode::start().await);
    two.set_chain_id(8453);
    let chains = [one.url(), two.url()].map(|url| [url]);
    let mut settings = settings(&[
        ("ethereum", Some(1), &chains[0]),
        ("base", Some(8453), &chains[1]),
    ]);
    for chain in &mut settings.chains {
        chain.endpoints[0].account = Some("main".into());
        chain.endpoints[0].budget = only(3.0);
    }
    let gateway = Gateway::start(settings).await.unwrap();
    let mut client = Client::connect(gateway.addr).await;
    let mut post = async |path| client.post(path, &[], balance(1).as_bytes()).await.json();
    // Two chain checks, one call, and nothing more for either.
    assert!(post("/ethereum").await.get("error").is_none());
    for path in ["/base", "/ethereum"] {
        let reason = &post(path).await["error"]["data"]["reason"];
        assert_eq!(reason, "budget", "{path}");
    }
    assert_eq!(one.record().count("eth_getBalance"), 1);
    assert_eq!(two.record().count("eth_getBalance"), 0);
}

// R-27
#[tokio::test]
async fn a_spent_endpoint_is_skipped_while_another_has_a_token() {
    let fleet = Fleet::<2>::with(|chain| {
        prefer(&mut chain.endpoints[0]);
        chain.endpoints[0].budget = only(2.0);
    })
    .await;
    fleet.balances(4).await;
    assert_eq!(fleet.heard(), [1, 3]);
}

// R-1, R-30: the token comes back after a second, or after many minutes.
#[tokio::test]
async fn a_call_waits_for_the_budget_of_a_lower_tier_where_it_is_told_to() {
    for (rps, wait, expected) in [
        (0.001, Duration::ZERO, [1, 1]),
        (1.0, Duration::from_secs(2), [2, 0]),
    ] {
        let fleet = Fleet::<2>::with(|chain| {
            chain.endpoints[1].tier = 1;
            chain.endpoints[0].budget.rate = Some(Rate { rps, burst: 2.0 });
            chain.engine.tier_wait = wait;
        })
        .await;
        // One token went to the chain check.
        let (first, second) = tokio::join!(fleet.balance(), fleet.balance());
        for answer in [first, second] {
            assert!(answer.json().get("error").is_none(), "{}", answer.text());
        }
        assert_eq!(fleet.heard(), expected, "{wait:?}");
    }
}

// R-30
#[tokio::test]
async fn a_call_waits_for_a_token_no_longer_than_it_is_told_to() {
    for (rps, wait, served) in [
        (1.0, Duration::from_secs(60), true),
        (0.001, Duration::from_secs(60), false),
        (0.1, Duration::from_millis(1), false),
    ] {
        let fleet = Fleet::<1>::with(|chain| {
            chain.endpoints[0].budget.rate = Some(Rate { rps, burst: 2.0 });
            chain.engine.retry.max_wait = wait;
        })
        .await;
        let (first, second) = tokio::join!(fleet.balance(), fleet.balance());
        let errors = [first, second].map(|answer| answer.json()["error"]["data"]["reason"].clone());
        let refused = errors.iter().filter(|reason| *reason == "budget").count();
        assert_eq!(refused, usize::from(!served), "{errors:?}");
    }
}

// R-28
#[tokio::test]
async fn an_allowance_of_compute_units_ends_for_the_day() {
    let fleet = Fleet::<1>::with(|chain| {
        chain.endpoints[0].budget.periods = vec![Period::new(Every::Day, 1)];
    })
    .await;
    fleet.balances(1).await;
    let answer = fleet.balance().await.json();
    assert_eq!(answer["error"]["data"]["reason"], "budget");
    assert_eq!(fleet.heard(), [1]);
    let spent = &fleet.endpoint(0).await["account"]["spent"][0];
    assert_eq!(
        (&spent["every"], &spent["limit"]),
        (&"day".into(), &1.into())
    );
    assert!(spent["units"].as_u64().unwrap() > 1);
}

// R-29
#[tokio::test]
async fn a_limit_is_learned_from_refusals_where_that_is_on() {
    let learn = LearnSettings {
        refusals: 1,
        ..LearnSettings::default()
    };
    for (learn, learned) in [(Some(learn), true), (None, false)] {
        let fleet = Fleet::<1>::with(|chain| {
            retries(chain, 0);
            chain.endpoints[0].budget.learn = learn;
        })
        .await;
        fleet.nodes[0]
            .on("eth_getBalance")
            .always(Answer::error(-32005, "rate limit exceeded").status(429));
        fleet.balance().await;
        let account = &fleet.endpoint(0).await["account"];
        assert_eq!(!account["learned_rps"].is_null(), learned, "{account}");
    }
}

// R-41
#[tokio::test]
async fn a_race_asks_several_at_once_and_takes_the_first_answer() {
    let fleet = Fleet::<2>::with(|chain| chain.engine.race = 2).await;
    let gate = Gate::new();
    let slow = Answer::result("\"0x1\"").held_by(&gate);
    fleet.nodes[0].on("eth_getBalance").always(slow);
    fleet.nodes[1]
        .on("eth_getBalance")
        .always(Answer::result("\"0x2\""));
    assert_eq!(fleet.balance().await.json()["result"], "0x2");
    gate.wait_for_held(1).await;
    assert_eq!(fleet.heard(), [1, 1]);
    gate.open();
}

// R-40
#[tokio::test]
async fn a_slow_read_is_copied_to_a_second_endpoint() {
    let fleet = Fleet::<2>::with(|chain| {
        prefer(&mut chain.endpoints[0]);
        chain.engine.hedge = Some(HedgeSettings {
            min_delay: Duration::from_millis(1),
            tails: 0.0,
        });
    })
    .await;
    let gate = Gate::new();
    fleet.nodes[0]
        .on("eth_getBalance")
        .always(Answer::hang(&gate));
    fleet.nodes[1]
        .on("eth_getBalance")
        .always(Answer::result("\"0x2\""));
    assert_eq!(fleet.balance().await.json()["result"], "0x2");
    assert_eq!(fleet.heard(), [1, 1]);
}

// R-30
#[tokio::test]
async fn an_endpoint_is_asked_again_as_often_as_the_retry_count_says() {
    for count in [0, 1, 4] {
        let fleet = Fleet::<1>::with(|chain| {
            retries(chain, count);
            chain.engine.breaker.enabled = false;
            chain.engine.retry_budget.per_second = 1e6;
            chain.engine.retry.base = Duration::from_millis(1);
            chain.engine.retry.cap = Duration::from_millis(1);
        })
        .await;
        fleet.nodes[0].on("eth_getBalance").always(fault());
        let answer = fleet.balance().await;
        assert_eq!(answer.row(), (200, -32011));
        assert_eq!(fleet.heard(), [usize::from(count) + 1]);
    }
}

// R-32: another round is paid for, so with nothing to pay the last error is the answer.
#[tokio::test]
async fn with_an_empty_retry_budget_the_last_error_is_the_answer() {
    let fleet = Fleet::<1>::with(|chain| {
        chain.engine.retry_budget.ratio = 0.0;
        chain.engine.retry_budget.per_second = 0.0;
    })
    .await;
    fleet.nodes[0].on("eth_getBalance").once(fault());
    let answer = fleet.balance().await;
    assert_eq!(answer.row(), (200, -32011));
    assert_eq!(answer.json()["error"]["data"]["reason"], "all_failed");
    assert_eq!(fleet.heard(), [1]);
    let own = r#"{"code":-32000,"message":"flux capacitor drained"}"#;
    fleet.nodes[0]
        .on("eth_getBalance")
        .always(Answer::error_json(own));
    let answer = fleet.balance().await;
    assert_eq!(answer.json()["error"]["message"], "flux capacitor drained");
    assert_eq!(fleet.heard(), [2]);
}

// R-20
#[tokio::test]
async fn failures_in_a_row_eject_an_endpoint_unless_that_is_off() {
    for (enabled, threshold, expected) in [(true, 1, 1), (true, 3, 3), (false, 1, 6)] {
        let fleet = Fleet::<2>::with(|chain| {
            prefer(&mut chain.endpoints[0]);
            // Errors may not outweigh the weight.
            chain.engine.score.error_weight = 0.0;
            chain.engine.breaker.enabled = enabled;
            chain.engine.breaker.threshold = threshold;
            chain.engine.breaker.cooldown = Duration::from_secs(3600);
            chain.engine.breaker.max_cooldown = Duration::from_secs(3600);
        })
        .await;
        fleet.nodes[0].on("eth_getBalance").always(fault());
        fleet.balances(6).await;
        assert_eq!(fleet.heard(), [expected, 6], "{enabled} {threshold}");
    }
}

// R-34, R-36
#[tokio::test]
async fn a_method_that_is_never_to_be_repeated_is_sent_once() {
    for (never, heard) in [(false, [1, 1]), (true, [1, 0])] {
        let fleet = Fleet::<2>::with(|chain| {
            prefer(&mut chain.endpoints[0]);
            if never {
                chain.never_repeat = vec!["eth_getbal*".into()];
            }
        })
        .await;
        fleet.nodes[0].on("eth_getBalance").always(fault());
        let answer = fleet.balance().await.json();
        assert_eq!(answer.get("error").is_some(), never, "{answer}");
        assert_eq!(fleet.heard(), heard);
    }
}

// R-1, R-14
#[tokio::test]
async fn a_range_that_is_too_wide_for_one_goes_to_another() {
    let logs = |to: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{{"fromBlock":"0x1","toBlock":"{to}"}}]}}"#
        )
    };
    let fleet = Fleet::<2>::with(|chain| {
        prefer(&mut chain.endpoints[0]);
        chain.endpoints[0].max_log_range = Some(10);
    })
    .await;
    for node in &fleet.nodes {
        node.on("eth_getLogs").always(Answer::result("[{}]"));
    }
    fleet.post(&logs("0xa")).await;
    assert_eq!(fleet.counts("eth_getLogs"), [1, 0]);
    fleet.post(&logs("0xb")).await;
    assert_eq!(fleet.counts("eth_getLogs"), [1, 1]);
}

// R-30
#[tokio::test]
async fn a_chain_may_have_a_deadline_of_its_own() {
    let fleet = Fleet::<1>::with(|chain| chain.deadline = Some(Duration::from_millis(50))).await;
    let gate = Gate::new();
    fleet.nodes[0]
        .on("eth_getBalance")
        .always(Answer::hang(&gate));
    assert_eq!(fleet.balance().await.row(), (200, -32015));
}

// R-30
#[tokio::test]
async fn a_submission_has_the_write_timeout() {
    let fleet = Fleet::<1>::with(|chain| {
        chain.timeout = Duration::from_secs(600);
        chain.write_timeout = Some(Duration::from_millis(50));
    })
    .await;
    let gate = Gate::new();
    fleet.nodes[0]
        .on("eth_sendRawTransaction")
        .always(Answer::hang(&gate));
    let send = r#"{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["0x02"]}"#;
    assert_eq!(fleet.post(send).await.row(), (200, -32011));
    assert_eq!(fleet.counts("eth_sendRawTransaction"), [1]);
}
