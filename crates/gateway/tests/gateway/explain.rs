//! What the admin listener tells of endpoints and decisions.

use crate::{
    fleet::{Fleet, fault, prefer, retries},
    site::{Client, balance, settings},
};
use highwater_core::{bucket::Rate, select::Strategy};
use highwater_gateway::Gateway;
use highwater_lab::sockets::{Answer, ScriptedNode};
use std::{net::SocketAddr, time::Duration};

// R-5, R-10
#[tokio::test]
async fn a_call_is_explained_by_every_score_and_its_parts() {
    let fleet = Fleet::<2>::with(|chain| {
        chain.endpoints[1].weight = 2.0;
        chain.engine.score.prior_ms = 500.0;
    })
    .await;
    let explained = fleet.admin("/api/explain?method=eth_call").await;
    assert_eq!(
        (&explained["chain"], &explained["id"]),
        (&"ethereum".into(), &1.into())
    );
    let now = &explained["now"];
    assert_eq!(
        (&now["method"], &now["strategy"]),
        (&"eth_call".into(), &"adaptive".into())
    );
    for (at, (weight, score)) in [(1.0, 500.0), (2.0, 250.0)].into_iter().enumerate() {
        let endpoint = &now["endpoints"][at];
        assert_eq!(endpoint["label"], format!("node-{at}"));
        assert_eq!(endpoint["host"], "127.0.0.1");
        assert!(endpoint["out"].is_null());
        assert_eq!(endpoint["score"], score);
        assert_eq!(endpoint["value"], score);
        let parts = &endpoint["parts"];
        assert_eq!(
            (&parts["service_ms"], &parts["weight"]),
            (&500.0.into(), &weight.into())
        );
        for factor in ["slope", "load", "errors", "lag"] {
            assert_eq!(parts[factor], 1.0, "{factor}");
        }
    }
    assert_eq!(explained["decisions"].as_array().unwrap().len(), 0);
}

#[tokio::test]
async fn decisions_are_kept_with_whom_they_were_taken_for() {
    let fleet = Fleet::<2>::with(|chain| {
        prefer(&mut chain.endpoints[1]);
        chain.endpoints[0].tier = 3;
    })
    .await;
    fleet.balances(3).await;
    let explained = fleet.admin("/api/explain").await;
    assert!(explained["now"].is_null());
    let decisions = explained["decisions"].as_array().unwrap();
    let decision = decisions.last().unwrap();
    assert_eq!(decision["method"], "eth_getBalance");
    assert_eq!(decision["chosen"], "node-1");
    assert_eq!(decision["endpoints"][0]["out"], "a lower tier can serve");
    assert!(decision["age_ms"].is_u64());
    let other = fleet.admin("/api/explain?method=eth_call").await;
    assert_eq!(other["decisions"].as_array().unwrap().len(), 0);
    let same = fleet.admin("/api/explain?method=eth_getBalance").await;
    assert_eq!(same["decisions"].as_array().unwrap().len(), decisions.len());
}

// R-11: what chooses is shown, not only the score.
#[tokio::test]
async fn the_value_is_the_strategys_own() {
    let fleet = Fleet::<2>::with(|chain| chain.engine.strategy = Strategy::RoundRobin).await;
    let turns = async || {
        let now = fleet.explain("eth_getBalance").await;
        assert_eq!(now["strategy"], "round-robin");
        [0, 1].map(|at| now["endpoints"][at]["value"].as_f64().unwrap())
    };
    assert_eq!(turns().await, [0.0, 1.0]);
    fleet.balances(1).await;
    assert_eq!(turns().await, [1.0, 0.0]);
}

// R-14, R-20, R-25, R-27
#[tokio::test]
async fn whoever_is_out_is_shown_with_the_reason_and_the_time_left() {
    let fleet = Fleet::<4>::with(|chain| {
        retries(chain, 0);
        chain.engine.breaker.threshold = 1;
        chain.engine.strategy = Strategy::RoundRobin;
        chain.endpoints[1].methods.deny = vec!["eth_getbalance".into()];
        chain.endpoints[2].budget.rate = Some(Rate {
            rps: 0.001,
            burst: 1.0,
        });
    })
    .await;
    fleet.nodes[0]
        .on("eth_getBalance")
        .always(fault().header("Retry-After", "60"));
    fleet.nodes[3].on("eth_getBalance").always(Answer::error(
        -32601,
        "the method eth_getBalance does not exist/is not available",
    ));
    fleet.balance().await;
    fleet.balance().await;
    let now = fleet.explain("eth_getBalance").await;
    let outs = [0, 1, 2, 3].map(|at| now["endpoints"][at]["out"].clone());
    assert_eq!(
        outs,
        [
            "its circuit is open",
            "the method is not on its list",
            "its budget is spent",
            "the method is off there for a while",
        ]
    );
    assert!(now["endpoints"][0]["value"].is_null());
    let health = fleet.admin("/api/health").await;
    let endpoints = &health["chains"][0]["endpoints"];
    let ejected = &endpoints[0];
    assert_eq!(
        (&ejected["breaker"], &ejected["reason"]),
        (&"open".into(), &"retry_after".into())
    );
    let left = ejected["cooldown_left_ms"].as_u64().unwrap();
    assert!((1..=60_000).contains(&left), "{left}");
    assert_eq!(endpoints[1]["breaker"], "closed");
    assert!(endpoints[1]["tokens"].is_null());
    assert_eq!(endpoints[2]["tokens"], 0);
    let off = &fleet.endpoint(3).await["methods_off"][0];
    assert_eq!(
        (&off["method"], &off["reason"]),
        (&"eth_getBalance".into(), &"unsupported".into())
    );
}

// R-25
#[tokio::test]
async fn what_was_counted_of_an_endpoint_is_shown() {
    let fleet = Fleet::<1>::with(|chain| {
        retries(chain, 0);
        chain.endpoints[0].account = Some("main".into());
        chain.endpoints[0].budget.rate = Some(Rate::of(50.0));
    })
    .await;
    fleet.balances(2).await;
    fleet.nodes[0].on("eth_getBalance").once(fault());
    fleet.balance().await;
    let endpoint = fleet.endpoint(0).await;
    let requests = &endpoint["requests"];
    // With the chain check.
    assert_eq!(
        (&requests["sent"], &requests["good"]),
        (&4.into(), &3.into())
    );
    let balance = &requests["methods"]["eth_getBalance"];
    let ended = ["sent", "good", "failed"].map(|end| balance[end].as_u64());
    assert_eq!(ended, [Some(3), Some(2), Some(1)]);
    let failed: u64 = requests["failed"]
        .as_object()
        .unwrap()
        .values()
        .map(|count| count.as_u64().unwrap())
        .sum();
    assert_eq!(failed, 1);
    assert!(endpoint["latency_ms"].as_f64().unwrap() > 0.0);
    assert!(endpoint["error_rate"].as_f64().unwrap() > 0.0);
    let state = endpoint["lanes"].as_array().unwrap();
    assert_eq!(
        (&state[0]["lane"], &state[0]["strikes"]),
        (&"state".into(), &1.into())
    );
    let account = &endpoint["account"];
    assert_eq!(
        (&account["name"], &account["rps"]),
        (&"main".into(), &50.0.into())
    );
    assert!(endpoint["head"].is_null());
}

#[tokio::test]
async fn a_question_that_cannot_be_answered_is_told_why() {
    let (one, two) = (ScriptedNode::start().await, ScriptedNode::start().await);
    two.set_chain_id(8453);
    let chains = [one.url(), two.url()].map(|url| [url]);
    let mut settings = settings(&[
        ("ethereum", Some(1), &chains[0]),
        ("base", Some(8453), &chains[1]),
    ]);
    settings.chains[1].aliases = vec!["b".into()];
    settings.admin.listen = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    let gateway = Gateway::start(settings).await.unwrap();
    let mut admin = Client::connect(gateway.admin_addr.unwrap()).await;
    for (query, status, text) in [
        (
            "",
            400,
            "several chains are configured: say which with chain",
        ),
        ("?chain=nope", 404, "no such chain"),
        ("?chain=base&params=[]", 400, "params need a method"),
        (
            "?chain=base&method=eth_call&params={}",
            400,
            "params must be a JSON array",
        ),
        (
            "?chane=base",
            400,
            "unknown parameter: expected chain, method or params",
        ),
    ] {
        let response = admin.get(&format!("/api/explain{query}")).await;
        assert_eq!(response.status, status, "{query}");
        assert_eq!(response.json()["error"], text);
    }
    for name in ["base", "BASE", "b", "8453"] {
        let response = admin.get(&format!("/api/explain?chain={name}")).await;
        assert_eq!(response.json()["chain"], "base", "{name}");
    }
}

// Whom a call's blocks leave out depends on the parameters.
#[tokio::test]
async fn parameters_say_which_blocks_a_call_needs() {
    let fleet = Fleet::<2>::with(|chain| {
        chain.endpoints[0].max_log_range = Some(10);
    })
    .await;
    let out = async |to: &str| {
        let params = format!(r#"[{{"fromBlock":"0x1","toBlock":"{to}"}}]"#);
        let query: String = url::form_urlencoded::byte_serialize(params.as_bytes()).collect();
        let target = format!("/api/explain?method=eth_getLogs&params={query}");
        fleet.admin(&target).await["now"]["endpoints"][0]["out"].clone()
    };
    assert!(out("0xa").await.is_null());
    let text = "does not keep the block or does not take the range";
    assert_eq!(out("0xb").await, text);
}

// R-2, hardening C11
#[tokio::test]
async fn nothing_on_the_admin_listener_shows_a_url_or_what_is_in_it() {
    const CANARY: &str = "s3cret-canary";
    let node = ScriptedNode::start().await;
    let url = format!(
        "{}/v2/{CANARY}?key={CANARY}",
        node.url().trim_end_matches('/')
    );
    let mut settings = settings(&[("ethereum", Some(1), &[url])]);
    settings.admin.listen = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    settings.chains[0].engine.retry.max_wait = Duration::from_millis(1);
    let gateway = Gateway::start(settings).await.unwrap();
    node.on("eth_getBalance")
        .once(Answer::error(-32000, CANARY));
    node.on("eth_getBalance").once(fault());
    let mut client = Client::connect(gateway.addr).await;
    for id in 0..3 {
        client.post("/", &[], balance(id).as_bytes()).await;
    }
    let mut admin = Client::connect(gateway.admin_addr.unwrap()).await;
    let port = node.addr().port().to_string();
    for target in [
        "/api/health",
        "/api/endpoints",
        "/api/explain",
        "/api/explain?method=eth_getBalance&params=[%22s3cret-canary%22]",
        "/api/explain?chain=s3cret-canary",
    ] {
        let response = admin.get(target).await;
        let text = response.text();
        assert!(!text.contains(CANARY), "{target}: {text}");
        assert!(
            !text.contains("http") && !text.contains(&format!(":{port}")),
            "{text}"
        );
    }
}
