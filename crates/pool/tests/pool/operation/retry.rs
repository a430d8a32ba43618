//! Attempts: what starts a closure again, and what does not (L-5).

use super::{numbered, over, pool, price, under_way, within};
use crate::fake::{Reply, ms, s, still};
use alloy_primitives::Address;
use alloy_provider::Provider;
use alloy_transport::TransportError;
use highwater::{
    AttemptError, EndpointDataError, OperationError, OperationOptions,
    core::{classify::Class, settings::RetryCount},
};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use tokio::time::Instant;

// L-5
#[tokio::test(start_paused = true)]
async fn a_closure_runs_against_one_endpoint_and_gets_its_whole_provider() {
    let fakes = numbered(3);
    for fake in &fakes {
        fake.on("eth_getBalance", Reply::result("\"0x5\""));
        fake.on("eth_getTransactionCount", Reply::result("\"0x7\""));
    }
    let pool = pool(&fakes);
    let got = pool.execute_with_retry(OperationOptions::default(), async |provider| {
        let account = Address::ZERO;
        let (number, balance, count) = futures_util::join!(
            provider.get_block_number().into_future(),
            provider.get_balance(account).into_future(),
            provider.get_transaction_count(account).into_future(),
        );
        let price = provider.raw_request::<_, String>("eth_gasPrice".into(), ());
        Ok::<_, TransportError>((number?, balance?, count?, price.await?, provider))
    });
    let (number, balance, count, price, provider) = got.await.unwrap();
    assert_eq!((number, count), (100, 7));
    assert_eq!(balance.to_string(), "5");
    let used: Vec<_> = fakes.iter().filter(|fake| fake.sent() > 0).collect();
    assert_eq!(used.len(), 1);
    assert_eq!(used[0].sent(), 3);
    assert_eq!((price.as_str(), provider.endpoint()), ("0x0", "a"));
    assert_eq!(under_way(&pool), 0);
}

// L-5
#[tokio::test(start_paused = true)]
async fn an_endpoints_failure_starts_the_whole_closure_again_elsewhere() {
    let fakes = numbered(2);
    fakes[0].on("eth_getCode", Reply::reset());
    fakes[1].on("eth_getCode", Reply::result("\"0xfe\""));
    let pool = pool(&fakes);
    let got = pool.execute_with_retry(OperationOptions::default(), async |provider| {
        let price = provider.get_gas_price().await?;
        let code = provider.get_code_at(Address::ZERO).await?;
        Ok::<_, TransportError>((price, code.len()))
    });
    // From the beginning: nothing of the first run is left.
    assert_eq!(got.await.unwrap(), (1, 1));
    assert_eq!(fakes[0].count("eth_gasPrice"), 1);
    assert_eq!(fakes[0].count("eth_getCode"), 1, "one request a call");
}

// L-5
#[tokio::test(start_paused = true)]
async fn a_future_of_a_plain_closure_can_be_spawned() {
    let pool = pool(&numbered(1));
    let plain = tokio::spawn({
        let pool = pool.clone();
        async move {
            let options = OperationOptions::default();
            let got = pool.execute_with_retry(options, |provider| async move {
                provider.get_gas_price().await
            });
            got.await.unwrap()
        }
    });
    assert_eq!(plain.await.unwrap(), 0);
    let borrowing = tokio::spawn(async move {
        let text = String::from("seven");
        let options = OperationOptions::default();
        let got = pool.execute_with_retry(options, async |provider| {
            let price = provider.get_gas_price().await?;
            Ok::<_, TransportError>((price, text.len()))
        });
        got.await.unwrap()
    });
    assert_eq!(borrowing.await.unwrap(), (0, 5));
}

// L-5
#[tokio::test(start_paused = true)]
async fn attempts_go_on_until_one_works_within_the_operations_time() {
    let fakes = numbered(2);
    for fake in &fakes {
        fake.everything(Some(Reply::refused()));
    }
    let pool = pool(&fakes);
    let healed = fakes[1].clone();
    tokio::spawn(async move {
        tokio::time::sleep(s(8)).await;
        healed.everything(None);
    });
    let begun = Instant::now();
    let got = pool.execute_with_retry(OperationOptions::default(), async |provider| {
        provider.get_gas_price().await
    });
    assert_eq!(got.await.unwrap(), 1);
    // Past the 2 s that a call waits for an endpoint.
    assert!(begun.elapsed() >= s(8) && begun.elapsed() < s(30));
}

// L-5
#[tokio::test(start_paused = true)]
async fn its_time_covers_checks_waits_and_switches() {
    let fakes = numbered(2);
    for fake in &fakes {
        fake.everything(Some(Reply::refused()));
    }
    let pool = pool(&fakes);
    let begun = Instant::now();
    let got = pool.execute_with_retry(within(s(12)), async |provider| {
        provider.get_gas_price().await
    });
    let OperationError::TimedOut { attempts, last } = got.await.unwrap_err() else {
        panic!("no timeout")
    };
    assert_eq!(begun.elapsed(), s(12));
    assert!(attempts.len() >= 4, "{attempts:?}");
    assert!(last.is_none(), "no run ever began");
    assert_eq!(under_way(&pool), 0);
}

// L-5
#[tokio::test(start_paused = true)]
async fn a_slow_closure_is_cut_off_at_its_time() {
    let fakes = numbered(1);
    fakes[0].on("eth_gasPrice", Reply::hang());
    let pool = pool(&fakes);
    let begun = Instant::now();
    let options = OperationOptions {
        request_timeout: Some(s(60)),
        ..within(s(3))
    };
    let got = pool.execute_with_retry(options, async |provider| provider.get_gas_price().await);
    let error = got.await.unwrap_err();
    assert!(matches!(error, OperationError::TimedOut { .. }));
    assert_eq!(begun.elapsed(), s(3));
    assert_eq!((fakes[0].open(), under_way(&pool)), (0, 0));
}

// L-5
#[tokio::test(start_paused = true)]
async fn one_request_has_a_time_of_its_own() {
    let fakes = numbered(2);
    fakes[0].on("eth_gasPrice", Reply::hang());
    let pool = pool(&fakes);
    let begun = Instant::now();
    let options = OperationOptions {
        request_timeout: Some(ms(500)),
        ..OperationOptions::default()
    };
    let got = pool.execute_with_retry(options, async |provider| provider.get_gas_price().await);
    assert_eq!(got.await.unwrap(), 1);
    assert!(begun.elapsed() < s(1));
}

// L-5
#[tokio::test(start_paused = true)]
async fn a_single_run_is_never_repeated() {
    let fakes = numbered(2);
    fakes[0].on("eth_gasPrice", Reply::reset());
    let pool = pool(&fakes);
    let runs = AtomicUsize::new(0);
    let got = pool.execute_once(OperationOptions::default(), async |provider| {
        runs.fetch_add(1, Ordering::SeqCst);
        provider.get_gas_price().await
    });
    let OperationError::Failed(error) = got.await.unwrap_err() else {
        panic!("another end")
    };
    assert!(highwater::PinnedError::from_transport(&error).is_some());
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert_eq!(fakes[1].sent(), 0);
}

// L-5
#[tokio::test(start_paused = true)]
async fn a_single_run_may_find_another_endpoint_before_it_begins() {
    let fakes = numbered(2);
    fakes[0].everything(Some(Reply::refused()));
    let pool = pool(&fakes);
    let got = pool.execute_once(OperationOptions::default(), async |provider| {
        provider.get_gas_price().await
    });
    assert_eq!(got.await.unwrap(), 1);
}

// L-5, L-6
#[tokio::test(start_paused = true)]
async fn unusable_data_starts_the_closure_again_and_cools_the_endpoint_down() {
    let fakes = numbered(2);
    let pool = pool(&fakes);
    let got = pool.execute_with_retry(OperationOptions::default(), async |provider| {
        let price = provider.get_gas_price().await?;
        if price == 0 {
            return Err(provider.bad_data("a price of nothing").into());
        }
        Ok::<_, AttemptError>(price)
    });
    assert_eq!(got.await.unwrap(), 1);
    let circuit = &pool.snapshot().endpoints[0].circuit.endpoint;
    assert_eq!((circuit.left, circuit.strikes), (s(5) - ms(2), 0));
    let got = pool.execute_once(OperationOptions::default(), async |_| {
        Err::<(), _>(EndpointDataError::new("odd"))
    });
    let OperationError::EndpointData { endpoint, error } = got.await.unwrap_err() else {
        panic!("another end")
    };
    assert_eq!((endpoint.as_str(), error.reason.as_str()), ("b", "odd"));
}

// L-5, R-30
#[tokio::test(start_paused = true)]
async fn every_endpoint_is_tried_once_then_comes_a_backoff() {
    let fakes = numbered(3);
    let behind = r#"{"code":-32000,"message":"header not found"}"#;
    for fake in &fakes {
        fake.on("eth_gasPrice", Reply::error_json(behind));
    }
    // What calls may repeat does not bind operations.
    let mut settings = still();
    settings.retry.count = RetryCount::Times(0);
    let pool = over(&fakes, settings);
    let got = pool.execute_with_retry(within(s(5)), async |provider| {
        provider.get_gas_price().await
    });
    let error = got.await.unwrap_err();
    let OperationError::AllEndpointsFailed { attempts, last } = error else {
        panic!("{error:?}")
    };
    assert!(
        attempts
            .iter()
            .all(|attempt| attempt.class == Class::Behind)
    );
    let last = last.unwrap();
    assert_eq!(last.as_error_resp().unwrap().message, "header not found");
    for (round, names) in attempts.chunks(3).enumerate() {
        let mut names: Vec<_> = names.iter().map(|a| a.endpoint.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["a", "b", "c"], "round {round}");
    }
    let begun: Vec<_> = fakes[0].seen().iter().map(|seen| seen.at).collect();
    assert!(
        begun
            .windows(2)
            .skip(1)
            .all(|two| two[1] - two[0] >= ms(50))
    );
}

// L-5
#[tokio::test(start_paused = true)]
async fn an_operation_ends_when_it_is_dropped_or_cancelled_and_leaves_nothing() {
    let fakes = numbered(1);
    fakes[0].on("eth_gasPrice", Reply::hang());
    let pool = pool(&fakes);
    let run = pool.execute_with_retry(OperationOptions::default(), async |provider| {
        provider.get_gas_price().await
    });
    tokio::time::timeout(ms(100), run).await.unwrap_err();
    assert_eq!((fakes[0].open(), under_way(&pool)), (0, 0));

    let cancel = highwater::CancellationToken::new();
    let options = OperationOptions {
        cancel: Some(cancel.clone()),
        ..OperationOptions::default()
    };
    let run = pool.execute_with_retry(options.clone(), async |provider| {
        provider.get_gas_price().await
    });
    let stop = async {
        tokio::time::sleep(ms(100)).await;
        cancel.cancel();
    };
    let (ended, ()) = tokio::join!(run, stop);
    assert!(matches!(ended, Err(OperationError::Cancelled)));
    assert_eq!((fakes[0].open(), under_way(&pool)), (0, 0));
    // Before it begins, and while it waits for an endpoint, too.
    let sent = fakes[0].seen().len();
    let run = pool.execute_once(options, async |provider| provider.get_gas_price().await);
    assert!(matches!(run.await, Err(OperationError::Cancelled)));
    assert_eq!(fakes[0].seen().len(), sent);
    price(&fakes[0], 3);
    let again = pool.execute_with_retry(OperationOptions::default(), async |provider| {
        provider.get_gas_price().await
    });
    assert_eq!(again.await.unwrap(), 3);
}

// L-5
#[tokio::test(start_paused = true)]
async fn a_wait_for_an_endpoint_can_be_cancelled() {
    let fakes = numbered(1);
    fakes[0].everything(Some(Reply::refused()));
    let pool = pool(&fakes);
    let cancel = highwater::CancellationToken::new();
    let options = OperationOptions {
        cancel: Some(cancel.clone()),
        ..OperationOptions::default()
    };
    let begun = Instant::now();
    let run = pool.execute_with_retry(options, async |provider| provider.get_gas_price().await);
    let stop = async {
        tokio::time::sleep(s(4)).await;
        cancel.cancel();
    };
    let (ended, ()) = tokio::join!(run, stop);
    assert!(matches!(ended, Err(OperationError::Cancelled)));
    assert_eq!(begun.elapsed(), s(4));
}

// L-5
#[tokio::test(start_paused = true)]
async fn work_that_outlives_its_run_sends_nothing_more() {
    let fakes = numbered(1);
    let pool = pool(&fakes);
    let late = Arc::new(tokio::sync::Notify::new());
    let waits = Arc::clone(&late);
    let got = pool.execute_with_retry(OperationOptions::default(), async |provider| {
        let (kept, waits) = (provider.clone(), Arc::clone(&waits));
        let spawned = tokio::spawn(async move {
            waits.notified().await;
            kept.get_gas_price().await
        });
        provider.get_gas_price().await?;
        Ok::<_, TransportError>(spawned)
    });
    let spawned = got.await.unwrap();
    late.notify_one();
    let error = spawned.await.unwrap().unwrap_err();
    let ended = highwater::PinnedError::from_transport(&error).unwrap();
    assert_eq!(ended.fault, highwater::PinnedFault::Ended);
    assert_eq!(fakes[0].count("eth_gasPrice"), 1);
}

// L-5, R-36
#[tokio::test(start_paused = true)]
async fn a_transaction_whose_answer_is_lost_fails_the_single_run_and_was_sent_once() {
    let fakes = numbered(2);
    fakes[0].on("eth_sendRawTransaction", Reply::reset());
    let pool = pool(&fakes);
    let got = pool.execute_once(OperationOptions::default(), async |provider| {
        let sent = provider.send_raw_transaction(&[2, 1]).await?;
        Ok::<_, TransportError>(*sent.tx_hash())
    });
    let OperationError::Failed(error) = got.await.unwrap_err() else {
        panic!("another end")
    };
    let fault = &highwater::PinnedError::from_transport(&error)
        .unwrap()
        .fault;
    assert!(matches!(fault, highwater::PinnedFault::Failed(_)));
    let sent = |fake: &crate::fake::Fake| fake.count("eth_sendRawTransaction");
    assert_eq!(fakes.iter().map(sent).collect::<Vec<_>>(), [1, 0]);
}
