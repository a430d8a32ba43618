//! Races and hedges (R-40 to R-43), and what counts as under way (R-6).

use crate::{
    bench::{call, call_within, result},
    fake::{Fake, Reply, builder, ms, pool, s, still},
};
use bytes::Bytes;
use futures_util::{future::BoxFuture, poll};
use highwater::{
    CallOptions, Endpoint, Error, Event, Payload, Pool,
    core::{
        classify::Class,
        settings::{HedgeSettings, RetryCount, Settings},
    },
    upstream::{RawReply, SendError, Upstream},
};
use std::{
    pin::pin,
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};
use tokio::{
    runtime::Handle,
    time::{Instant, sleep},
};

fn racing() -> Settings {
    Settings { race: 2, ..still() }
}

fn hedging() -> Settings {
    let hedge = HedgeSettings {
        min_delay: ms(250),
        tails: 2.0,
    };
    Settings {
        hedge: Some(hedge),
        ..still()
    }
}

/// An endpoint that answers `eth_call` so late with so much.
fn node(after: Duration, result: &str) -> Fake {
    let fake = Fake::new();
    fake.on("eth_call", Reply::result(result).after(after));
    fake
}

fn latencies(pool: &Pool) -> Vec<Option<f64>> {
    let endpoints = pool.snapshot().endpoints;
    endpoints
        .iter()
        .map(|endpoint| endpoint.latency_ms)
        .collect()
}

fn in_flight(pool: &Pool) -> Vec<u32> {
    let endpoints = pool.snapshot().endpoints;
    endpoints
        .iter()
        .map(|endpoint| endpoint.in_flight)
        .collect()
}

// R-41, R-43
#[tokio::test(start_paused = true)]
async fn the_first_answer_wins_and_the_loser_runs_on_and_is_measured() {
    let (slow, fast) = (node(ms(80), "1"), node(ms(20), "2"));
    let pool = pool(&[&slow, &fast], racing());
    pool.check_all(s(1)).await;
    let start = Instant::now();
    let answer = call(&pool, "eth_call", "[]").await.unwrap();
    assert_eq!(
        (answer.payload(), answer.endpoint()),
        (Payload::Result("2"), "b")
    );
    assert_eq!((start.elapsed(), answer.attempts()), (ms(20), 2));
    assert_eq!((in_flight(&pool), slow.open()), (vec![1, 0], 1));
    assert_eq!(latencies(&pool), [None, Some(20.0)]);
    sleep(ms(61)).await;
    assert_eq!((in_flight(&pool), slow.open()), (vec![0, 0], 0));
    assert_eq!(latencies(&pool), [Some(80.0), Some(20.0)]);
}

// R-43
#[tokio::test(start_paused = true)]
async fn a_loser_records_its_errors_and_its_deadline() {
    let (failing, hung, fast) = (node(ms(1), "0"), node(ms(1), "0"), node(ms(20), "3"));
    failing.on("eth_call", Reply::reset().after(ms(30)));
    hung.on("eth_call", Reply::hang());
    let settings = Settings { race: 3, ..still() };
    let builder = builder(&[&failing, &hung, &fast], settings);
    let pool = builder.timeout(s(2)).build().unwrap();
    pool.check_all(s(1)).await;
    assert_eq!(result(&pool, "eth_call").await, "3");
    let failed = |pool: &Pool| {
        let endpoints = pool.snapshot().endpoints.into_iter();
        let failed = endpoints.map(|endpoint| endpoint.counters.failed);
        failed.collect::<Vec<_>>()
    };
    assert!(
        failed(&pool)
            .iter()
            .all(std::collections::BTreeMap::is_empty)
    );
    sleep(s(3)).await;
    let failed = failed(&pool);
    assert_eq!(failed[0].get(Class::Internal.name()), Some(&1));
    assert_eq!(failed[1].get(Class::Timeout.name()), Some(&1));
    assert_eq!((in_flight(&pool), hung.open()), (vec![0; 3], 0));
}

// R-41, R-33
#[tokio::test(start_paused = true)]
async fn a_racer_that_fails_does_not_fail_the_call_and_all_of_them_are_named() {
    let (one, two) = (node(ms(1), "0"), node(ms(30), "2"));
    one.on("eth_call", Reply::reset());
    let racing = |settings: Settings| pool(&[&one, &two], settings);
    let pool = racing(racing_once());
    pool.check_all(s(1)).await;
    assert_eq!(result(&pool, "eth_call").await, "2");
    two.on("eth_call", Reply::refused().after(ms(5)));
    let error = call(&pool, "eth_call", "[]").await.unwrap_err();
    let Error::AllEndpointsFailed { attempts } = error else {
        panic!("{error:?}")
    };
    let named: Vec<_> = attempts
        .iter()
        .map(|attempt| (attempt.endpoint.as_str(), attempt.detail))
        .collect();
    assert_eq!(named, [("a", Some("reset")), ("b", Some("connect"))]);
}

/// A race and nothing after it.
fn racing_once() -> Settings {
    let mut settings = racing();
    settings.retry.count = RetryCount::Times(0);
    settings
}

// R-41
#[tokio::test(start_paused = true)]
async fn a_terminal_answer_settles_it_at_once() {
    let (reverting, slow) = (node(ms(5), "0"), node(ms(500), "2"));
    let revert = r#"{"code":3,"message":"execution reverted","data":"0x08c379a0"}"#;
    reverting.on("eth_call", Reply::error_json(revert).after(ms(5)));
    let pool = pool(&[&reverting, &slow], racing());
    pool.check_all(s(1)).await;
    let start = Instant::now();
    let answer = call(&pool, "eth_call", "[]").await.unwrap();
    assert_eq!(
        (answer.payload(), start.elapsed()),
        (Payload::Error(revert), ms(5))
    );
}

// R-42
#[tokio::test(start_paused = true)]
async fn only_checked_endpoints_race_and_the_others_are_checked_beside_the_call() {
    let (one, two) = (node(ms(10), "1"), node(ms(10), "2"));
    two.on("eth_chainId", Reply::result("\"0x1\"").after(ms(300)));
    let pool = pool(&[&one, &two], racing());
    // The first call waits for one check, not for both.
    let start = Instant::now();
    assert_eq!(result(&pool, "eth_call").await, "1");
    assert!(start.elapsed() < ms(20), "{:?}", start.elapsed());
    assert_eq!((two.count("eth_chainId"), two.count("eth_call")), (1, 0));
    assert_eq!(result(&pool, "eth_call").await, "1");
    assert_eq!((two.count("eth_chainId"), two.count("eth_call")), (1, 0));
    sleep(ms(301)).await;
    result(&pool, "eth_call").await;
    assert_eq!((two.count("eth_chainId"), two.count("eth_call")), (1, 1));
}

// R-43: a loser the caller aborts records nothing, and its in-flight ends with it.
#[tokio::test(start_paused = true)]
async fn racers_of_a_call_that_is_dropped_are_gone_with_it() {
    let (one, two) = (node(ms(50), "1"), node(ms(50), "2"));
    let pool = pool(&[&one, &two], racing());
    pool.check_all(s(1)).await;
    {
        let mut running = pin!(call(&pool, "eth_call", "[]"));
        assert!(poll!(running.as_mut()).is_pending());
        assert_eq!((in_flight(&pool), one.open() + two.open()), (vec![1, 1], 2));
    }
    assert_eq!((in_flight(&pool), one.open() + two.open()), (vec![0, 0], 0));
    sleep(s(1)).await;
    assert_eq!(latencies(&pool), [None, None]);
}

// R-43: the runtime ends before the loser does.
#[test]
fn a_loser_whose_runtime_ends_is_cancelled() {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(true).build().unwrap();
    let (slow, fast) = (node(s(5), "1"), node(ms(20), "2"));
    let pool = pool(&[&slow, &fast], racing());
    runtime.block_on(async {
        pool.check_all(s(1)).await;
        assert_eq!(result(&pool, "eth_call").await, "2");
    });
    assert_eq!(in_flight(&pool), [1, 0]);
    drop(runtime);
    assert_eq!((in_flight(&pool), slow.open()), (vec![0, 0], 0));
    assert_eq!(pool.snapshot().endpoints[0].counters.cancelled, 1);
}

/// Answers its chain, and panics on everything else once polled a second time.
struct Brittle;

impl Upstream for Brittle {
    fn send(
        &self,
        message: Bytes,
        _timeout: Duration,
    ) -> BoxFuture<'static, Result<RawReply, SendError>> {
        Box::pin(async move {
            let text = String::from_utf8(message.to_vec()).unwrap();
            if !text.contains("eth_chainId") {
                sleep(ms(50)).await;
                std::panic::resume_unwind(Box::new("a transport of the caller's own"));
            }
            let id = text.split("\"id\":").nth(1).unwrap();
            let id = id.split(',').next().unwrap();
            Ok(RawReply {
                status: 200,
                headers: http::HeaderMap::new(),
                body: format!("{{\"id\":{id},\"result\":\"0x1\"}}").into(),
            })
        })
    }
}

// R-6
#[tokio::test(start_paused = true)]
async fn a_loser_that_panics_stops_counting() {
    let fast = node(ms(20), "2");
    let pool = builder(&[&fast], racing())
        .endpoint(Endpoint::upstream("brittle", Arc::new(Brittle)))
        .build()
        .unwrap();
    pool.check_all(s(1)).await;
    assert_eq!(result(&pool, "eth_call").await, "2");
    assert_eq!(in_flight(&pool), [0, 1]);
    sleep(ms(40)).await;
    assert_eq!(in_flight(&pool), [0, 0]);
}

// R-6
#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_drives_any_more_stops_counting_a_second_after_its_timeout() {
    let fake = node(ms(50), "1");
    let pool = builder(&[&fake], still()).timeout(s(3)).build().unwrap();
    pool.check_all(s(1)).await;
    let mut forgotten = Box::pin(call(&pool, "eth_call", "[]"));
    assert!(poll!(forgotten.as_mut()).is_pending());
    sleep(ms(3999)).await;
    assert_eq!(in_flight(&pool), [1]);
    sleep(ms(2)).await;
    assert_eq!(in_flight(&pool), [0]);
    drop(forgotten);
    assert_eq!(in_flight(&pool), [0]);
}

// R-40
#[tokio::test(start_paused = true)]
async fn a_slow_read_is_copied_once_and_the_loser_is_cancelled_and_teaches_nothing() {
    let (slow, fast) = (node(s(2), "1"), node(ms(20), "2"));
    // The endpoint that was never slow before is drawn first, by its weight.
    let pool = weighted(&slow, &fast, hedging());
    pool.check_all(s(1)).await;
    let start = Instant::now();
    let answer = call(&pool, "eth_call", "[]").await.unwrap();
    assert_eq!((answer.endpoint(), answer.attempts()), ("b", 2));
    assert_eq!(start.elapsed(), ms(270));
    assert_eq!((in_flight(&pool), slow.open()), (vec![0, 0], 0));
    sleep(s(5)).await;
    let snapshot = pool.snapshot();
    assert_eq!(snapshot.endpoints[0].latency_ms, None);
    assert_eq!(snapshot.endpoints[0].counters.cancelled, 1);
}

/// A pool whose first choice is the first of the two.
fn weighted(first: &Fake, second: &Fake, settings: Settings) -> Pool {
    let profile = |weight| highwater::core::router::Profile {
        weight,
        ..Default::default()
    };
    let profiles = vec![profile(1000.0), profile(1.0)];
    crate::fake::with_profiles(&[first, second], profiles, settings)
        .build()
        .unwrap()
}

// R-40: the second of the two may be the slower one.
#[tokio::test(start_paused = true)]
async fn the_copied_attempt_may_still_win_and_then_the_copy_is_cancelled() {
    let (slow, hung) = (node(ms(600), "1"), node(ms(1), "0"));
    hung.on("eth_call", Reply::hang());
    let pool = weighted(&slow, &hung, hedging());
    pool.check_all(s(1)).await;
    let answer = call(&pool, "eth_call", "[]").await.unwrap();
    assert_eq!((answer.endpoint(), answer.attempts()), ("a", 2));
    assert_eq!((in_flight(&pool), hung.open()), (vec![0, 0], 0));
    assert_eq!(pool.snapshot().endpoints[1].counters.cancelled, 1);
}

// R-34, R-35, scenario W06
#[tokio::test(start_paused = true)]
async fn what_changes_something_is_never_sent_twice_at_once() {
    let (slow, other) = (Fake::new(), Fake::new());
    let settings = Settings {
        race: 3,
        ..hedging()
    };
    for method in [
        "eth_sendRawTransaction",
        "eth_sendTransaction",
        "eth_newFilter",
    ] {
        for fake in [&slow, &other] {
            fake.on(method, Reply::result("\"0x1\"").after(ms(900)));
        }
        let pool = weighted(&slow, &other, settings.clone());
        pool.check_all(s(1)).await;
        result(&pool, method).await;
        assert_eq!(
            (slow.count(method), other.count(method)),
            (1, 0),
            "{method}"
        );
    }
}

// R-41: a call that can neither race nor hedge needs no task, and with one endpoint none can.
#[tokio::test(start_paused = true)]
async fn a_call_that_has_nobody_to_race_with_starts_no_task() {
    let fake = node(ms(20), "1");
    let pool = pool(&[&fake], racing());
    pool.check_all(s(1)).await;
    let before = Handle::current().metrics().num_alive_tasks();
    let mut running = pin!(call(&pool, "eth_call", "[]"));
    while poll!(running.as_mut()).is_pending() {
        assert_eq!(Handle::current().metrics().num_alive_tasks(), before);
        sleep(ms(5)).await;
    }
}

// R-43, P-28
#[tokio::test(start_paused = true)]
async fn the_race_event_lists_the_racers_and_each_has_its_request_event() {
    let (slow, fast) = (node(ms(80), "1"), node(ms(20), "2"));
    let (told, events) = mpsc::channel();
    let told = Mutex::new(told);
    let listener = move |event: &Event| told.lock().unwrap().send(event.clone()).unwrap();
    let pool = builder(&[&slow, &fast], racing())
        .on_event(listener)
        .build()
        .unwrap();
    pool.check_all(s(1)).await;
    for _ in 0..2 {
        result(&pool, "eth_call").await;
        sleep(ms(100)).await;
    }
    pool.close();
    let mut races = Vec::new();
    let mut ended = Vec::new();
    for event in events {
        match event {
            Event::Race { racers, method } => {
                assert_eq!(method, "eth_call");
                races.push(
                    racers
                        .iter()
                        .map(|racer| racer.label.to_string())
                        .collect::<Vec<_>>(),
                );
            }
            Event::Request { endpoint, took, .. } => ended.push((endpoint.label.to_string(), took)),
            _ => {}
        }
    }
    // Best first: the second time what was measured decides.
    assert_eq!(races, [["a", "b"], ["b", "a"]]);
    let both = [("b".to_owned(), ms(20)), ("a".to_owned(), ms(80))];
    assert_eq!(ended, [both.clone(), both].concat());
}

// R-30
#[tokio::test(start_paused = true)]
async fn the_deadline_of_the_call_ends_it_and_its_racers() {
    let (one, two) = (node(ms(1), "0"), node(ms(1), "0"));
    one.on("eth_call", Reply::hang());
    two.on("eth_call", Reply::hang());
    let pool = pool(&[&one, &two], racing());
    pool.check_all(s(1)).await;
    let options = CallOptions {
        deadline: Some(ms(700)),
        timeout: None,
        ..CallOptions::default()
    };
    let start = Instant::now();
    let error = call_within(&pool, "eth_call", "[]", options)
        .await
        .unwrap_err();
    assert!(matches!(error, Error::DeadlineExceeded { attempts } if attempts.len() == 2));
    assert_eq!(start.elapsed(), ms(700));
    sleep(ms(1)).await;
    assert_eq!((in_flight(&pool), one.open() + two.open()), (vec![0, 0], 0));
}
