//! Which endpoint an operation gets (R-12, L-5).

use super::{numbered, pool, price};
use crate::fake::{Fake, Reply, ms};
use alloy_provider::Provider;
use highwater::{OperationOptions, Pool};

async fn went(pool: &Pool) -> String {
    let got = pool.execute_with_retry(OperationOptions::default(), async |provider| {
        provider.get_gas_price().await?;
        Ok::<_, alloy_transport::TransportError>(provider.endpoint().to_owned())
    });
    got.await.unwrap()
}

fn slow(fake: &Fake, millis: u64) {
    fake.on("eth_gasPrice", Reply::result("\"0x1\"").after(ms(millis)));
}

// R-12, L-5
#[tokio::test(start_paused = true)]
async fn measures_every_endpoint_with_real_requests_and_then_takes_the_quickest() {
    let fakes = numbered(3);
    for (fake, millis) in fakes.iter().zip([30, 10, 20]) {
        slow(fake, millis);
    }
    let pool = pool(&fakes);
    let mut order = Vec::new();
    for _ in 0..5 {
        order.push(went(&pool).await);
    }
    assert_eq!(order, ["a", "b", "c", "b", "b"]);
    // No request of its own: what was sent are the closures' own and the chain checks.
    for fake in &fakes {
        let seen = fake.seen();
        let own = |method: &str| method == "eth_gasPrice" || method == "eth_chainId";
        assert!(seen.iter().all(|seen| own(&seen.method)));
    }
}

// R-12, L-5
#[tokio::test(start_paused = true)]
async fn operations_beside_each_other_spread_by_load() {
    let fakes = numbered(2);
    slow(&fakes[0], 10);
    slow(&fakes[1], 15);
    let pool = pool(&fakes);
    went(&pool).await;
    went(&pool).await;
    let all = (0..5).map(|_| went(&pool));
    let mut all = futures_util::future::join_all(all).await;
    all.sort_unstable();
    assert_eq!(all, ["a", "a", "a", "b", "b"]);
}

// R-12, L-5
#[tokio::test(start_paused = true)]
async fn the_twentieth_operation_explores_with_the_callers_own_request() {
    let fakes = numbered(2);
    slow(&fakes[0], 10);
    slow(&fakes[1], 20);
    let pool = pool(&fakes);
    went(&pool).await;
    went(&pool).await;
    let mut elsewhere = Vec::new();
    for turn in 1..=20 {
        if went(&pool).await == "b" {
            elsewhere.push(turn);
        }
    }
    assert_eq!(elsewhere, [20]);
}

// R-12, L-5
#[tokio::test(start_paused = true)]
async fn single_runs_neither_measure_nor_explore() {
    let fakes = numbered(2);
    slow(&fakes[0], 10);
    price(&fakes[1], 1);
    let pool = pool(&fakes);
    went(&pool).await;
    for _ in 0..40 {
        let got = pool.execute_once(OperationOptions::default(), async |provider| {
            provider.get_gas_price().await?;
            Ok::<_, alloy_transport::TransportError>(provider.endpoint().to_owned())
        });
        assert_eq!(got.await.unwrap(), "a");
    }
}

// L-5, P-8
#[tokio::test(start_paused = true)]
async fn an_endpoint_known_to_be_below_what_operations_have_seen_gets_none_until_it_is_there() {
    let fakes = numbered(2);
    fakes[0].head(200);
    slow(&fakes[0], 50);
    let pool = pool(&fakes);
    let number = || {
        pool.execute_with_retry(OperationOptions::default(), async |provider| {
            provider.get_gas_price().await?;
            provider.get_block_number().await
        })
    };
    // The first of each is how its head becomes known.
    assert_eq!(number().await.unwrap(), 200);
    assert_eq!(number().await.unwrap(), 100);
    for _ in 0..5 {
        assert_eq!(number().await.unwrap(), 200);
    }
    fakes[1].head(201);
    pool.probe().await;
    assert_eq!(number().await.unwrap(), 201, "the quicker one");
}
