//! Calls that share a body (R-44), in paused time.

use crate::fake::{Fake, Reply, ms, still};
use bytes::Bytes;
use futures_util::{future::BoxFuture, future::join_all};
use highwater::{
    Answer, CallOptions, ClientBatch, Endpoint, Error, Pool, Request,
    core::{
        ChainId,
        bucket::{Account, Budget, Rate},
        jsonrpc::Params,
        method::lookup,
        router::Profile,
        select::Strategy,
        settings::{RetryCount, Settings},
    },
    upstream::{RawReply, SendError, Upstream},
};
use highwater_lab::call::parse_calls;
use http::HeaderMap;
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

/// An endpoint in memory that takes arrays.
struct Arrays {
    fake: Fake,
    /// Largest array that it takes.
    most: usize,
    /// How it refuses a larger one.
    refusal: (u16, &'static str),
    /// Parameters of calls that it leaves out of its arrays.
    lost: &'static str,
    /// Size of each body.
    bodies: Mutex<Vec<usize>>,
}

impl Arrays {
    fn new() -> Arc<Self> {
        Arc::new(Self::taking(usize::MAX, (200, "")))
    }

    fn taking(most: usize, refusal: (u16, &'static str)) -> Self {
        let fake = Fake::new();
        fake.answer("eth_getBalance", |params| {
            Reply::result(params.replace(['[', ']'], ""))
        });
        Self {
            fake,
            most,
            refusal,
            lost: "none",
            bodies: Mutex::default(),
        }
    }

    /// Sizes of the bodies of calls, chain checks not counted.
    fn bodies(&self) -> Vec<usize> {
        let mut bodies = self.bodies.lock().unwrap().clone();
        assert_eq!(bodies.remove(0), 1, "the chain check comes first");
        bodies
    }
}

struct Way(Arc<Arrays>);

impl Upstream for Way {
    fn send(
        &self,
        message: Bytes,
        timeout: Duration,
    ) -> BoxFuture<'static, Result<RawReply, SendError>> {
        let it = Arc::clone(&self.0);
        Box::pin(async move {
            let (is_batch, calls) = parse_calls(&message);
            it.bodies.lock().unwrap().push(calls.len());
            let way = it.fake.way();
            if !is_batch {
                return way.send(message, timeout).await;
            }
            let body = |status, body: String| RawReply {
                status,
                headers: HeaderMap::new(),
                body: body.into(),
            };
            if calls.len() > it.most {
                return Ok(body(it.refusal.0, it.refusal.1.to_owned()));
            }
            let each = calls.iter().map(|call| {
                let (id, params) = (call.id.clone().unwrap(), call.params.clone().unwrap());
                let one = format!(
                    r#"{{"id":{id},"method":"{}","params":{params}}}"#,
                    call.method
                );
                let lost = params.contains(it.lost);
                let sent = way.send(one.into(), timeout);
                async move { (lost, sent.await) }
            });
            let mut parts = Vec::new();
            for (lost, sent) in join_all(each).await {
                let raw = sent?;
                if !lost {
                    parts.push(String::from_utf8(raw.body.to_vec()).unwrap());
                }
            }
            parts.reverse();
            Ok(body(200, format!("[{}]", parts.join(","))))
        })
    }

    fn takes_batches(&self) -> bool {
        true
    }
}

fn pool(of: &[&Arc<Arrays>], settings: Settings) -> Pool {
    let builder = Pool::builder().chain(ChainId(1)).settings(settings).seed(1);
    let endpoints = of.iter().zip('a'..);
    let builder = endpoints.fold(builder, |builder, (it, label)| {
        builder.endpoint(Endpoint::upstream(label, Arc::new(Way(Arc::clone(it)))))
    });
    builder.build().unwrap()
}

/// Makes calls as one client's batch.
async fn together(pool: &Pool, calls: &[(&str, &str)]) -> Vec<Result<Answer, Error>> {
    let batch = ClientBatch::new();
    let each = calls.iter().map(|(method, params)| {
        let options = CallOptions {
            batch: Some(batch.clone()),
            ..CallOptions::default()
        };
        let request = Request {
            method,
            descriptor: lookup(method),
            params: Params::Array(params),
        };
        pool.request(request, options)
    });
    batch.run(join_all(each)).await
}

/// Bytes of the results, and `!` before errors.
fn shown(answers: &[Result<Answer, Error>]) -> Vec<String> {
    let show = |answer: &Result<Answer, Error>| match answer {
        Ok(answer) => {
            let text = String::from_utf8(answer.bytes().to_vec()).unwrap();
            let mark = if answer.is_error() { "!" } else { "" };
            format!("{mark}{text}")
        }
        Err(error) => format!("-{error}"),
    };
    answers.iter().map(show).collect()
}

fn balances<const N: usize>() -> [(&'static str, &'static str); N] {
    const PARAMS: [&str; 8] = [
        r#"["0"]"#, r#"["1"]"#, r#"["2"]"#, r#"["3"]"#, r#"["4"]"#, r#"["5"]"#, r#"["6"]"#,
        r#"["7"]"#,
    ];
    std::array::from_fn(|i| ("eth_getBalance", PARAMS[i]))
}

fn counting(n: usize) -> Vec<String> {
    (0..n).map(|i| format!("\"{i}\"")).collect()
}

/// Strikes of the first endpoint in a row, in the lane that has most.
fn strikes(pool: &Pool) -> u32 {
    let circuit = &pool.snapshot().endpoints[0].circuit;
    let lanes = circuit.lanes.iter().map(|(_, gate)| gate.strikes);
    lanes.max().unwrap()
}

/// The chain check done.
async fn ready(pool: &Pool) {
    pool.check_all(ms(100)).await;
}

// R-44
#[tokio::test(start_paused = true)]
async fn the_elements_of_one_batch_travel_as_one() {
    let a = Arrays::new();
    let pool = pool(&[&a], still());
    ready(&pool).await;
    let answers = together(&pool, &balances::<5>()).await;
    assert_eq!(shown(&answers), counting(5));
    assert_eq!(a.bodies(), [5]);
}

// R-44
#[tokio::test(start_paused = true)]
async fn without_a_batch_or_a_window_calls_travel_alone() {
    let a = Arrays::new();
    let pool = pool(&[&a], still());
    ready(&pool).await;
    let each = balances::<3>().map(|(method, params)| {
        let request = Request {
            method,
            descriptor: lookup(method),
            params: Params::Array(params),
        };
        pool.request(request, CallOptions::default())
    });
    join_all(each).await;
    assert_eq!(a.bodies(), [1, 1, 1]);
}

// R-44: sends are never folded with anything, nor what must not be repeated.
#[tokio::test(start_paused = true)]
async fn a_send_travels_alone() {
    let a = Arrays::new();
    a.fake.on("eth_sendTransaction", Reply::result("\"0x1\""));
    a.fake.on("eth_newBlockFilter", Reply::result("\"0x2\""));
    let pool = pool(&[&a], still());
    ready(&pool).await;
    let calls = [
        ("eth_sendTransaction", "[{}]"),
        ("eth_getBalance", r#"["1"]"#),
        ("eth_newBlockFilter", "[]"),
        ("eth_getBalance", r#"["2"]"#),
        ("eth_sendTransaction", "[{}]"),
    ];
    together(&pool, &calls).await;
    let mut bodies = a.bodies();
    bodies.sort_unstable();
    // A filter is made of two: the head from which on it tells, and itself.
    assert_eq!(bodies, [1, 1, 1, 1, 2]);
}

// R-44: a window.
#[tokio::test(start_paused = true)]
async fn within_a_window_calls_of_different_callers_share_a_body() {
    let mut settings = still();
    settings.batch.window = ms(5);
    settings.batch.most = 3;
    let a = Arrays::new();
    let pool = pool(&[&a], settings);
    ready(&pool).await;
    let each = (0..).zip(balances::<5>()).map(|(place, (method, params))| {
        let pool = pool.clone();
        async move {
            // The last one comes when the window of the first is closed.
            tokio::time::sleep(ms(if place == 4 { 7 } else { place })).await;
            let request = Request {
                method,
                descriptor: lookup(method),
                params: Params::Array(params),
            };
            pool.request(request, CallOptions::default()).await
        }
    });
    let answers = join_all(each).await;
    assert_eq!(shown(&answers), counting(5));
    // Three fill a body; the fourth opens a window, and the fifth comes within it.
    assert_eq!(a.bodies(), [3, 2]);
}

// R-44: the limit is learned, and no call notices.
#[tokio::test(start_paused = true)]
async fn a_batch_refused_as_such_goes_as_singles_and_the_limit_is_learned() {
    for refusal in [
        (
            200,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batch too large"}}"#,
        ),
        (
            200,
            r#"[{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"batch limit exceeded"}}]"#,
        ),
        (413, "<html>too large</html>"),
        (405, ""),
    ] {
        let a = Arc::new(Arrays::taking(2, refusal));
        let pool = pool(&[&a], still());
        ready(&pool).await;
        assert_eq!(shown(&together(&pool, &balances::<5>()).await), counting(5));
        assert_eq!(a.bodies(), [5, 1, 1, 1, 1, 1], "{refusal:?}");
        assert_eq!(shown(&together(&pool, &balances::<5>()).await), counting(5));
        assert_eq!(a.bodies()[6..], [2, 2, 1], "{refusal:?}");
        assert_eq!(strikes(&pool), 0);
    }
}

// scenario X09
#[tokio::test(start_paused = true)]
async fn scenario_x09_one_object_for_a_batch_of_three_is_no_answer_to_any() {
    let refusal =
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"internal error"}}"#;
    let a = Arc::new(Arrays::taking(1, (200, refusal)));
    let pool = pool(&[&a], still());
    ready(&pool).await;
    assert_eq!(shown(&together(&pool, &balances::<3>()).await), counting(3));
}

// X10, hardening E6
#[tokio::test(start_paused = true)]
async fn scenario_x10_an_element_that_is_missing_is_asked_again_alone() {
    let a = Arc::new(Arrays {
        lost: "1",
        ..Arrays::taking(10, (200, ""))
    });
    let pool = pool(&[&a], still());
    ready(&pool).await;
    assert_eq!(shown(&together(&pool, &balances::<3>()).await), counting(3));
    assert_eq!(a.bodies(), [3, 1]);
}

// R-44: an element fails over by itself.
#[tokio::test(start_paused = true)]
async fn each_element_fails_over_by_itself() {
    let (a, b) = (Arrays::new(), Arrays::new());
    for it in [&a, &b] {
        it.fake.answer("eth_call", |params| {
            if params.contains("odd") {
                Reply::error(3, "execution reverted")
            } else {
                Reply::result("\"0x01\"")
            }
        });
    }
    a.fake
        .on("eth_getCode", Reply::error(-32603, "internal error"));
    b.fake.on("eth_getCode", Reply::result("\"0x60\""));
    let mut settings = still();
    settings.strategy = Strategy::RoundRobin;
    let pool = pool(&[&a], settings.clone());
    ready(&pool).await;
    let calls = [
        ("eth_call", r#"["odd","latest"]"#),
        ("eth_getCode", r#"["x","latest"]"#),
        ("eth_call", r#"["even","latest"]"#),
    ];
    let alone = shown(&together(&pool, &calls).await);
    assert!(alone[0].contains("execution reverted"));
    assert!(alone[1].contains("internal error"), "{}", alone[1]);
    let both = self::pool(&[&a, &b], settings);
    ready(&both).await;
    for _ in 0..4 {
        let answers = shown(&together(&both, &calls).await);
        assert!(answers[0].starts_with("!{\"code\":3"), "{}", answers[0]);
        assert_eq!(answers[1..], ["\"0x60\"", "\"0x01\""]);
    }
}

// R-44, R-21: what a whole body meets is one event of its endpoint.
#[tokio::test(start_paused = true)]
async fn a_body_that_fails_is_one_strike() {
    let limited =
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"rate limit exceeded"}}"#;
    for refusal in [(429, limited), (503, "<html>busy</html>")] {
        let a = Arc::new(Arrays::taking(1, refusal));
        let mut settings = still();
        settings.retry.count = RetryCount::Times(0);
        let pool = pool(&[&a], settings);
        ready(&pool).await;
        let answers = together(&pool, &balances::<8>()).await;
        assert!(shown(&answers).iter().all(|shown| !shown.starts_with('"')));
        assert_eq!(a.bodies(), [8], "{refusal:?}");
        assert_eq!(strikes(&pool), 1);
    }
}

// R-44: a lost connection too.
#[tokio::test(start_paused = true)]
async fn a_connection_that_is_lost_under_a_batch_is_one_strike_and_every_call_moves_on() {
    let (a, b) = (Arrays::new(), Arrays::new());
    a.fake.on("eth_getBalance", Reply::reset());
    let pool = pool(&[&a, &b], still());
    ready(&pool).await;
    for _ in 0..2 {
        let answers = shown(&together(&pool, &balances::<8>()).await);
        assert_eq!(answers, counting(8));
    }
    assert_eq!(strikes(&pool), 1);
}

// R-44: each keeps its deadline, and a hanging body is one strike.
#[tokio::test(start_paused = true)]
async fn a_body_that_hangs_ends_with_the_deadlines_of_its_calls() {
    let a = Arrays::new();
    a.fake.on("eth_getBalance", Reply::hang());
    let mut settings = still();
    settings.retry.count = RetryCount::Times(0);
    let pool = pool(&[&a], settings);
    ready(&pool).await;
    let batch = ClientBatch::new();
    let start = tokio::time::Instant::now();
    let each = (1..=3)
        .zip(balances::<3>())
        .map(|(place, (method, params))| {
            let options = CallOptions {
                batch: Some(batch.clone()),
                timeout: Some(ms(100 * place)),
                ..CallOptions::default()
            };
            let request = Request {
                method,
                descriptor: lookup(method),
                params: Params::Array(params),
            };
            let call = pool.request(request, options);
            async move {
                assert!(call.await.is_err());
                start.elapsed().as_millis()
            }
        });
    let ends = batch.run(join_all(each)).await;
    assert_eq!(ends, [100, 200, 300]);
    // The exchange learns of it in its next turn.
    tokio::time::sleep(ms(1)).await;
    assert_eq!(a.bodies(), [3]);
    assert_eq!(a.fake.open(), 0);
    assert_eq!(strikes(&pool), 1);
}

// R-44: nobody waits any more.
#[tokio::test(start_paused = true)]
async fn a_batch_that_is_dropped_leaves_nothing_behind() {
    let a = Arrays::new();
    a.fake.on("eth_getBalance", Reply::hang());
    let pool = pool(&[&a], still());
    ready(&pool).await;
    let calls = balances::<3>();
    let batch = together(&pool, &calls);
    assert!(tokio::time::timeout(ms(50), batch).await.is_err());
    tokio::time::sleep(ms(1)).await;
    assert_eq!(a.fake.open(), 0);
    let snapshot = pool.snapshot();
    assert_eq!(strikes(&pool), 0);
    assert_eq!(snapshot.endpoints[0].in_flight, 0);
}

// R-44: lanes do not wait for each other.
#[tokio::test(start_paused = true)]
async fn a_light_call_does_not_wait_for_a_trace() {
    let a = Arrays::new();
    a.fake.on(
        "debug_traceTransaction",
        Reply::result("{}").after(ms(3000)),
    );
    let pool = pool(&[&a], still());
    ready(&pool).await;
    let calls = [
        ("debug_traceTransaction", r#"["0x1"]"#),
        ("eth_getBalance", r#"["1"]"#),
        ("eth_getBalance", r#"["2"]"#),
    ];
    together(&pool, &calls).await;
    let mut bodies = a.bodies();
    bodies.sort_unstable();
    assert_eq!(bodies, [1, 2]);
}

// R-26: each call that is sent again alone costs a token of its own.
#[tokio::test(start_paused = true)]
async fn calls_that_go_again_alone_need_tokens() {
    let a = Arc::new(Arrays::taking(1, (413, "")));
    let rate = Rate {
        rps: 0.01,
        burst: 6.0,
    };
    let budget = Budget {
        rate: Some(rate),
        ..Budget::default()
    };
    let profile = Profile {
        account: Arc::new(Account::new("", &budget)),
        ..Profile::default()
    };
    let builder = Pool::builder().chain(ChainId(1)).settings(still()).seed(1);
    let endpoint = Endpoint::upstream("a", Arc::new(Way(Arc::clone(&a)))).profile(profile);
    let pool = builder.endpoint(endpoint).build().unwrap();
    ready(&pool).await;
    // One token went into the check, three into the batch, two are left.
    let answers = shown(&together(&pool, &balances::<3>()).await);
    let good = answers.iter().filter(|shown| shown.starts_with('"'));
    assert_eq!(good.count(), 2);
    assert_eq!(a.bodies(), [3, 1, 1]);
}
