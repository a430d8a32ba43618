//! Heads: whose counts, who lags, and what becomes of a block that nobody has.

use crate::fleet::{Fleet, retries};
use highwater_core::{heads::HeadSettings, probe::ProbeSettings, select::Strategy};
use highwater_lab::sockets::Answer;
use serde_json::Value;
use std::time::Duration;

const HEAD: &str = r#"{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}"#;

/// A fleet whose heads are known.
async fn at<const N: usize>(
    heads: [u64; N],
    change: impl FnOnce(&mut highwater_gateway::config::ChainSettings),
) -> Fleet<N> {
    let fleet = Fleet::<N>::with(|chain| {
        chain.engine.strategy = Strategy::RoundRobin;
        // No block comes while the test runs, however long that takes.
        chain.engine.heads = Some(HeadSettings {
            block_time: Some(Duration::from_secs(3600)),
            ..HeadSettings::default()
        });
        change(chain);
    })
    .await;
    for (node, head) in fleet.nodes.iter().zip(heads) {
        node.set_head(head);
    }
    for _ in 0..N {
        fleet.post(HEAD).await;
    }
    assert_eq!(fleet.counts("eth_blockNumber"), [1; N]);
    fleet
}

fn lag(explained: &Value) -> Vec<f64> {
    let endpoints = explained["endpoints"].as_array().unwrap();
    let lag = |endpoint: &Value| endpoint["parts"]["lag"].as_f64().unwrap();
    endpoints.iter().map(lag).collect()
}

// R-7
#[tokio::test]
async fn every_block_behind_past_what_is_allowed_costs() {
    let heads = [1000, 1000, 995];
    let fleet = at(heads, |_| {}).await;
    let explained = fleet.explain("eth_getBalance").await;
    assert_eq!(explained["reference_head"], 1000);
    assert_eq!(lag(&explained), [1.0, 1.0, 4.0]);
    let endpoint = fleet.endpoint(2).await;
    assert_eq!(
        (&endpoint["lag"], &endpoint["excess_lag"]),
        (&5.into(), &3.into())
    );
    let health = fleet.admin("/api/health").await;
    let third = &health["chains"][0]["endpoints"][2];
    assert_eq!((&third["head"], &third["lag"]), (&995.into(), &5.into()));
    let fleet = at(heads, |chain| chain.engine.score.lag_weight = 2.0).await;
    assert_eq!(lag(&fleet.explain("eth_getBalance").await), [1.0, 1.0, 7.0]);
    let fleet = at(heads, |chain| {
        chain.engine.heads.as_mut().unwrap().max_lag = 4;
    })
    .await;
    assert_eq!(lag(&fleet.explain("eth_getBalance").await), [1.0, 1.0, 2.0]);
}

// R-7
#[tokio::test]
async fn without_head_checks_nobody_lags() {
    let fleet = at([1000, 1000, 5], |chain| chain.engine.heads = None).await;
    let explained = fleet.explain("eth_getBalance").await;
    assert!(explained["reference_head"].is_null());
    assert_eq!(lag(&explained), [1.0, 1.0, 1.0]);
}

// R-16
#[tokio::test]
async fn a_group_has_one_voice() {
    let fleet = at([1000, 1000, 900], |_| {}).await;
    assert_eq!(fleet.explain("eth_call").await["reference_head"], 1000);
    let fleet = at([1000, 1000, 900], |chain| {
        for endpoint in &mut chain.endpoints[..2] {
            endpoint.group = Some("g".into());
        }
    })
    .await;
    assert_eq!(fleet.explain("eth_call").await["reference_head"], 900);
}

// R-16
#[tokio::test]
async fn a_head_too_far_ahead_counts_only_where_that_is_allowed() {
    let heads = [1000, 1000, 3000];
    let fleet = at(heads, |_| {}).await;
    assert_eq!(lag(&fleet.explain("eth_call").await), [1.0, 1.0, 1999.0]);
    let fleet = at(heads, |chain| {
        chain.engine.heads.as_mut().unwrap().max_ahead = 5000;
    })
    .await;
    assert_eq!(lag(&fleet.explain("eth_call").await), [1.0, 1.0, 1.0]);
}

// Interface, error table: what an endpoint says of a block that it cannot have is not believed.
#[tokio::test]
async fn a_block_above_every_head_is_not_found() {
    let fleet = at([100, 100], |chain| {
        retries(chain, 0);
        chain.deadline = Some(Duration::from_secs(600));
    })
    .await;
    for node in &fleet.nodes {
        node.on("eth_getBalance").always(Answer::result("\"0x7\""));
    }
    let call = r#"{"jsonrpc":"2.0","id":5,"method":"eth_getBalance","params":["0x00000000000000000000000000000000000000aa","0xfffff"]}"#;
    let answer = fleet.post(call).await;
    assert_eq!(answer.row(), (200, -32000));
    let answer = answer.json();
    assert_eq!(answer["error"]["message"], "header not found");
    assert!(answer["error"].get("data").is_none(), "as a node says it");
    assert_eq!(answer["id"], 5);
}

// R-17: heads are read at the start, and the first call starts the probes, on a thread that serves no
// calls.
#[tokio::test]
async fn endpoints_are_probed_while_calls_come_in() {
    for on in [true, false] {
        let fleet = Fleet::<2>::with(|chain| {
            chain.engine.probe = on.then(ProbeSettings::default);
            chain.endpoints[1].tier = 1;
        })
        .await;
        fleet.nodes[0].set_head(700);
        // The tier above the one in use is left alone.
        assert_eq!(fleet.counts("eth_blockNumber"), [usize::from(on), 0]);
        fleet.balances(1).await;
        if on {
            fleet.nodes[0]
                .record()
                .wait_for_calls("eth_blockNumber", 2)
                .await;
        }
        assert_eq!(fleet.counts("eth_blockNumber"), [2 * usize::from(on), 0]);
    }
}
