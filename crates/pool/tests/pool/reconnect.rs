//! When an endpoint is asked for its chain again.

use crate::{
    bench::{call, result},
    fake::{Fake, Reply, ms, pool, s, still, tiered},
};
use highwater::{
    Error, Pool,
    core::{ChainId, router::Identity},
};
use tokio::time::sleep;

fn node(result: &str) -> Fake {
    let fake = Fake::new();
    fake.on("eth_call", Reply::result(result));
    fake
}

fn identity(pool: &Pool, endpoint: usize) -> Identity {
    pool.snapshot().endpoints[endpoint].identity
}

//
#[tokio::test(start_paused = true)]
async fn one_that_could_not_be_reached_is_asked_again_before_its_next_call() {
    let (dying, other) = (node("1"), node("2"));
    let pool = tiered(&[&dying, &other], still());
    assert_eq!(result(&pool, "eth_call").await, "1");
    dying.everything(Some(Reply::refused()));
    assert_eq!(result(&pool, "eth_call").await, "2");
    assert_eq!(identity(&pool, 0), Identity::Unchecked);
    // Another node behind the same address.
    dying.everything(None);
    dying.on("eth_chainId", Reply::result("\"0x5\""));
    assert_eq!(result(&pool, "eth_call").await, "2");
    assert_eq!(
        identity(&pool, 0),
        Identity::Quarantined { found: ChainId(5) }
    );
    assert_eq!(dying.count("eth_call"), 2);
}

// connections that come and go are none of its business.
#[tokio::test(start_paused = true)]
async fn one_that_was_reached_and_failed_is_not_asked_again() {
    let fake = node("1");
    let pool = pool(&[&fake], still());
    for reply in [
        Reply::reset(),
        Reply::body(502, "<html>"),
        Reply::error(-32005, "slow down"),
    ] {
        result(&pool, "eth_call").await;
        let failing = reply.clone();
        let mut first = true;
        fake.answer("eth_call", move |_| {
            if std::mem::take(&mut first) {
                failing.clone()
            } else {
                Reply::result("1")
            }
        });
        assert_eq!(result(&pool, "eth_call").await, "1");
        // The next retry has a budget of its own.
        sleep(s(1)).await;
    }
    assert_eq!(fake.count("eth_chainId"), 1);
}

//
#[tokio::test(start_paused = true)]
async fn one_that_was_out_for_a_minute_is_asked_again_before_its_trial() {
    let (away, other) = (node("1"), node("2"));
    let pool = tiered(&[&away, &other], still());
    assert_eq!(result(&pool, "eth_call").await, "1");
    away.on("eth_call", Reply::error(-32005, "slow down"));
    away.header("retry-after", "60");
    assert_eq!(result(&pool, "eth_call").await, "2");
    away.on("eth_call", Reply::result("1"));
    sleep(s(59)).await;
    assert_eq!(result(&pool, "eth_call").await, "2");
    sleep(s(2)).await;
    let before = away.seen().len();
    assert_eq!(result(&pool, "eth_call").await, "1");
    assert_eq!(result(&pool, "eth_call").await, "1");
    let asked = away.seen().into_iter().skip(before);
    let asked: Vec<_> = asked.map(|seen| seen.method).collect();
    assert_eq!(asked, ["eth_chainId", "eth_call", "eth_call"]);
}

// a shorter ejection asks nothing.
#[tokio::test(start_paused = true)]
async fn one_that_was_out_for_seconds_is_not_asked_again() {
    let (away, other) = (node("1"), node("2"));
    let pool = tiered(&[&away, &other], still());
    away.on("eth_call", Reply::reset());
    for _ in 0..3 {
        assert_eq!(result(&pool, "eth_call").await, "2");
    }
    away.on("eth_call", Reply::result("1"));
    sleep(ms(5001)).await;
    assert_eq!(result(&pool, "eth_call").await, "1");
    assert_eq!(away.count("eth_chainId"), 1);
}

//
#[tokio::test(start_paused = true)]
async fn a_check_that_fails_spends_no_attempt_and_the_next_call_asks_again() {
    let fake = node("1");
    fake.on("eth_chainId", Reply::refused());
    let pool = pool(&[&fake], still());
    let error = call(&pool, "eth_call", "[]").await.unwrap_err();
    let Error::AllEndpointsFailed { attempts } = error else {
        panic!("{error:?}")
    };
    let told: Vec<_> = attempts.iter().map(|attempt| attempt.detail).collect();
    assert_eq!(told, [Some("connect")]);
    fake.on("eth_chainId", Reply::result("\"0x1\""));
    let answer = call(&pool, "eth_call", "[]").await.unwrap();
    assert_eq!((answer.attempts(), fake.count("eth_chainId")), (1, 2));
}
