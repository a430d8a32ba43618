//! One circuit for calls and operations (L-6).

use super::{numbered, pool, under_way, within};
use crate::{
    bench::call,
    fake::{Reply, s},
};
use alloy_provider::Provider;
use alloy_transport::TransportError;
use highwater::{
    OperationError, OperationOptions, PinnedError, PinnedFault, Pool,
    core::{
        breaker::{Exclusion, Stand},
        method::Lane,
    },
};
use std::sync::atomic::{AtomicUsize, Ordering};

async fn price(pool: &Pool) -> Result<u128, OperationError<TransportError>> {
    let options = within(s(20));
    let got = pool.execute_with_retry(options, async |provider| provider.get_gas_price().await);
    got.await
}

fn stand(pool: &Pool, place: usize) -> Stand {
    let endpoints = pool.snapshot().endpoints;
    let lanes = endpoints[place].circuit.lanes.iter();
    let light = lanes.clone().find(|(lane, _)| *lane == Lane::Light);
    light.unwrap().1.stand
}

// L-6, R-20
#[tokio::test(start_paused = true)]
async fn failures_of_operations_eject_an_endpoint_for_calls_too() {
    let fakes = numbered(2);
    fakes[0].on("eth_gasPrice", Reply::reset());
    let pool = pool(&fakes);
    for _ in 0..3 {
        assert_eq!(price(&pool).await.unwrap(), 1);
        // Keep the other one busy, so that the failing one is chosen again.
    }
    let failed = fakes[0].count("eth_gasPrice");
    assert!(failed >= 1);
    while fakes[0].count("eth_gasPrice") < 3 {
        let fixed = pool.fixed("a").unwrap();
        fixed.get_gas_price().await.unwrap_err();
    }
    assert!(matches!(stand(&pool, 0), Stand::Open { .. }));
    for _ in 0..5 {
        call(&pool, "eth_gasPrice", "[]").await.unwrap();
    }
    assert_eq!(fakes[0].count("eth_gasPrice"), 3);
}

// L-6
#[tokio::test(start_paused = true)]
async fn what_a_closure_gets_wrong_touches_no_endpoint() {
    let fakes = numbered(1);
    let pool = pool(&fakes);
    for _ in 0..5 {
        let ended = pool.execute_with_retry(OperationOptions::default(), async |provider| {
            provider.get_gas_price().await?;
            let broken = serde_json::from_str::<u8>("x").unwrap_err();
            Err::<(), _>(TransportError::ser_err(broken))
        });
        assert!(matches!(ended.await, Err(OperationError::Failed(_))));
    }
    let endpoint = &pool.snapshot().endpoints[0];
    assert_eq!(endpoint.circuit.endpoint.strikes, 0);
    assert_eq!(endpoint.counters.failed.len(), 0);
}

// L-6, R-22
#[tokio::test(start_paused = true)]
async fn after_its_cooldown_an_endpoint_takes_one_operation_and_success_brings_it_back() {
    let fakes = numbered(1);
    fakes[0].on("eth_gasPrice", Reply::reset());
    let pool = pool(&fakes);
    let fixed = pool.fixed("a").unwrap();
    for _ in 0..3 {
        fixed.get_gas_price().await.unwrap_err();
    }
    assert!(matches!(stand(&pool, 0), Stand::Open { .. }));
    fakes[0].on("eth_gasPrice", Reply::result("\"0x9\"").after(s(1)));
    let at_once = AtomicUsize::new(0);
    let most = AtomicUsize::new(0);
    let runs = AtomicUsize::new(0);
    let operation = || {
        pool.execute_with_retry(OperationOptions::default(), async |provider| {
            let now = at_once.fetch_add(1, Ordering::SeqCst) + 1;
            most.fetch_max(now, Ordering::SeqCst);
            let price = provider.get_gas_price().await;
            // Until the first good answer the others wait.
            if now == 1 && runs.fetch_add(1, Ordering::SeqCst) == 0 {
                assert_eq!(most.load(Ordering::SeqCst), 1);
            }
            at_once.fetch_sub(1, Ordering::SeqCst);
            price
        })
    };
    let (one, two, three) = tokio::join!(operation(), operation(), operation());
    for ended in [one, two, three] {
        assert_eq!(ended.unwrap(), 9);
    }
    assert_eq!(most.load(Ordering::SeqCst), 2, "then they went together");
    assert!(matches!(stand(&pool, 0), Stand::Closed { .. }));
    assert_eq!(under_way(&pool), 0);
}

// L-5, L-6
#[tokio::test(start_paused = true)]
async fn an_ejection_by_others_stops_a_run_before_its_next_request() {
    let fakes = numbered(2);
    fakes[0].on("eth_getCode", Reply::reset());
    let pool = pool(&fakes);
    let runs = AtomicUsize::new(0);
    let got = pool.execute_with_retry(OperationOptions::default(), async |provider| {
        runs.fetch_add(1, Ordering::SeqCst);
        provider.get_gas_price().await?;
        if provider.endpoint() == "a" {
            // Somebody else's calls meanwhile.
            let fixed = pool.fixed("a").unwrap();
            for _ in 0..3 {
                fixed.get_code_at(Default::default()).await.unwrap_err();
            }
            let error = provider.get_gas_price().await.unwrap_err();
            let fault = &PinnedError::from_transport(&error).unwrap().fault;
            assert_eq!(*fault, PinnedFault::Stopped);
            return Err(error);
        }
        provider.get_gas_price().await
    });
    assert_eq!(got.await.unwrap(), 1);
    assert_eq!(runs.load(Ordering::SeqCst), 2);
    assert_eq!(fakes[0].count("eth_gasPrice"), 1);
}

// L-6, R-23, R-19
#[tokio::test(start_paused = true)]
async fn a_refused_credential_and_a_wrong_chain_exclude_for_good() {
    let fakes = numbered(3);
    fakes[0].on("eth_gasPrice", Reply::error(-32000, "invalid api key"));
    fakes[1].on("eth_chainId", Reply::result("\"0x5\""));
    let pool = pool(&fakes);
    for _ in 0..5 {
        assert_eq!(price(&pool).await.unwrap(), 2);
        tokio::time::sleep(s(600)).await;
    }
    assert_eq!(fakes[0].count("eth_gasPrice"), 1);
    assert_eq!(fakes[1].count("eth_gasPrice"), 0);
    let excluded = pool.snapshot().endpoints[0].circuit.endpoint.stand;
    assert!(matches!(
        excluded,
        Stand::Excluded {
            reason: Exclusion::Refused,
            ..
        }
    ));
}

// L-6, R-21
#[tokio::test(start_paused = true)]
async fn a_stated_wait_is_heeded() {
    let fakes = numbered(1);
    fakes[0].header("retry-after", "7");
    fakes[0].on("eth_gasPrice", Reply::body(429, ""));
    let pool = pool(&fakes);
    let begun = tokio::time::Instant::now();
    let healed = fakes[0].clone();
    let heal = async move {
        tokio::time::sleep(s(1)).await;
        super::price(&healed, 4);
    };
    let (got, ()) = tokio::join!(price(&pool), heal);
    assert_eq!(got.unwrap(), 4);
    assert!(begun.elapsed() >= s(7) && begun.elapsed() < s(8));
}

// L-6, R-38
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_none_is_the_endpoints_failure_and_empty_values_are_results() {
    for body in [
        "<html>",
        "[]",
        r#"{"jsonrpc":"2.0","id":1000000,"result":"0x9"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":"0x9","error":{"code":1,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
    ] {
        let fakes = numbered(2);
        fakes[0].on("eth_gasPrice", Reply::body(200, body));
        let pool = pool(&fakes);
        assert_eq!(price(&pool).await.unwrap(), 1, "{body}");
    }
    let fakes = numbered(1);
    let pool = pool(&fakes);
    for value in ["null", "false", "0", "\"\""] {
        fakes[0].on("web3_clientVersion", Reply::result(value));
        let got = pool.execute_once(OperationOptions::default(), async |provider| {
            let call =
                provider.raw_request::<_, serde_json::Value>("web3_clientVersion".into(), ());
            call.await
        });
        assert_eq!(got.await.unwrap().to_string(), value);
    }
}
