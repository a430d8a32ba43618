//! How an operation can end without a value (L-5).

use super::{numbered, over, pool, under_way, within};
use crate::fake::{Reply, endpoint, ms, s, still};
use alloy_provider::Provider;
use highwater::{
    OperationError, OperationOptions, Pool,
    core::{
        ChainId,
        bucket::{Account, Budget, Rate},
        router::Profile,
    },
};
use std::sync::Arc;

async fn ended(
    pool: &Pool,
    options: OperationOptions,
) -> OperationError<alloy_transport::TransportError> {
    let run = pool.execute_with_retry(options, async |provider| provider.get_gas_price().await);
    run.await.unwrap_err()
}

// L-5, R-23
#[tokio::test(start_paused = true)]
async fn with_all_endpoints_excluded_it_ends_at_once() {
    let fakes = numbered(2);
    for fake in &fakes {
        fake.on("eth_gasPrice", Reply::error(-32000, "invalid api key"));
    }
    let pool = pool(&fakes);
    let begun = tokio::time::Instant::now();
    let error = ended(&pool, OperationOptions::default()).await;
    let OperationError::NoUsableEndpoint { attempts } = error else {
        panic!("{error:?}")
    };
    assert_eq!(attempts.len(), 2);
    assert!(begun.elapsed() < s(1));
}

// L-5, R-19
#[tokio::test(start_paused = true)]
async fn with_all_endpoints_on_another_chain_it_names_each() {
    let fakes = numbered(2);
    for fake in &fakes {
        fake.on("eth_chainId", Reply::result("\"0x5\""));
    }
    let error = ended(&pool(&fakes), OperationOptions::default()).await;
    let OperationError::ChainMismatch { expected, found } = error else {
        panic!("{error:?}")
    };
    assert_eq!(expected, ChainId(1));
    let all = [("a".to_owned(), ChainId(5)), ("b".to_owned(), ChainId(5))];
    assert_eq!(found, all);
}

// L-5, R-27
#[tokio::test(start_paused = true)]
async fn without_a_token_in_time_it_says_so_and_sends_nothing() {
    let fakes = numbered(1);
    let budget = Budget {
        rate: Some(Rate {
            rps: 0.01,
            burst: 2.0,
        }),
        ..Budget::default()
    };
    let profile = Profile {
        account: Arc::new(Account::new("", &budget)),
        ..Profile::default()
    };
    let pool = Pool::builder()
        .chain(1)
        .settings(still())
        .endpoint(endpoint(&fakes[0], "a").profile(profile))
        .build()
        .unwrap();
    let run =
        |options| pool.execute_with_retry(options, async |provider| provider.get_gas_price().await);
    // One for the chain check, one for the request.
    assert_eq!(run(OperationOptions::default()).await.unwrap(), 0);
    let error = run(OperationOptions::default()).await.unwrap_err();
    let OperationError::BudgetExhausted { endpoints, wait } = error else {
        panic!("{error:?}")
    };
    assert_eq!(endpoints, ["a"]);
    assert!(wait > s(90));
    assert_eq!(fakes[0].count("eth_gasPrice"), 1);
    // It waits as long as its own time allows.
    assert_eq!(run(within(s(200))).await.unwrap(), 0);
}

// L-1, L-5
#[tokio::test(start_paused = true)]
async fn a_closed_pool_begins_nothing_and_ends_what_waits() {
    let fakes = numbered(1);
    fakes[0].everything(Some(Reply::refused()));
    let pool = pool(&fakes);
    let begun = tokio::time::Instant::now();
    let close = async {
        tokio::time::sleep(ms(2500)).await;
        pool.close();
    };
    let (error, ()) = tokio::join!(ended(&pool, OperationOptions::default()), close);
    assert!(matches!(error, OperationError::Closed), "{error:?}");
    assert_eq!(begun.elapsed(), ms(2500));
    let sent = fakes[0].seen().len();
    let error = ended(&pool, OperationOptions::default()).await;
    assert!(matches!(error, OperationError::Closed));
    assert_eq!(fakes[0].seen().len(), sent);
}

// L-1, L-5
#[tokio::test(start_paused = true)]
async fn a_request_under_way_finishes_when_the_pool_closes_and_the_next_fails() {
    let fakes = numbered(1);
    fakes[0].on("eth_gasPrice", Reply::result("\"0x1\"").after(s(1)));
    let pool = pool(&fakes);
    let run = pool.execute_with_retry(OperationOptions::default(), async |provider| {
        assert_eq!(provider.get_gas_price().await?, 1);
        provider.get_gas_price().await
    });
    let close = async {
        tokio::time::sleep(ms(500)).await;
        pool.close();
    };
    let (ended, ()) = tokio::join!(run, close);
    assert!(matches!(ended, Err(OperationError::Closed)), "{ended:?}");
    assert_eq!(fakes[0].count("eth_gasPrice"), 1);
    assert_eq!(under_way(&pool), 0);
}

// L-5, L-8
#[tokio::test(start_paused = true)]
async fn a_closure_that_panics_gives_its_place_back() {
    let fakes = numbered(1);
    let pool = over(&fakes, still());
    let run = tokio::spawn({
        let pool = pool.clone();
        async move {
            let run = pool.execute_with_retry(OperationOptions::default(), |_| async {
                assert_eq!(1, 2, "a test");
                Ok::<_, alloy_transport::TransportError>(())
            });
            drop(run.await);
        }
    });
    assert!(run.await.unwrap_err().is_panic());
    assert_eq!(under_way(&pool), 0);
}
