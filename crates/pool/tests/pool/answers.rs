//! What one code may mean, what a burst costs, what a limit costs: scenarios X12 to X17, R-21, R-32.

use crate::{
    bench::{call, result},
    fake::{Fake, Reply, ms, pool, s, still, tiered},
};
use highwater::{
    Payload, Pool,
    core::{
        breaker::{Reason, Stand},
        classify::Class,
        settings::Settings,
    },
};
use std::time::Duration;
use tokio::time::{Instant, sleep};

fn left(pool: &Pool) -> Duration {
    pool.snapshot().endpoints[0].circuit.endpoint.left
}

// X12, R-21
#[tokio::test(start_paused = true)]
async fn a_limit_inside_a_200_moves_on_and_its_stated_wait_is_kept() {
    let (limited, good) = (Fake::new(), Fake::new());
    limited.on("eth_call", Reply::error(-32005, "rate limit exceeded"));
    limited.header("retry-after", "7");
    good.on("eth_call", Reply::result("\"0x01\""));
    let pool = tiered(&[&limited, &good], still());
    assert_eq!(result(&pool, "eth_call").await, "\"0x01\"");
    assert!(
        left(&pool) > ms(6900) && left(&pool) <= s(7),
        "{:?}",
        left(&pool)
    );
    let stand = pool.snapshot().endpoints[0].circuit.endpoint.stand;
    assert!(
        matches!(
            stand,
            Stand::Open {
                reason: Reason::Stated,
                ..
            }
        ),
        "{stand:?}"
    );
    result(&pool, "eth_call").await;
    assert_eq!(limited.count("eth_call"), 1);
    limited.on("eth_call", Reply::result("\"0x02\""));
    sleep(s(7)).await;
    assert_eq!(result(&pool, "eth_call").await, "\"0x02\"");
}

// R-21
#[tokio::test(start_paused = true)]
async fn a_pool_of_one_survives_one_429() {
    let fake = Fake::new();
    let mut first = true;
    fake.answer("eth_call", move |_| {
        if std::mem::take(&mut first) {
            Reply::error(429, "too many requests")
        } else {
            Reply::result("\"0x01\"")
        }
    });
    let pool = pool(&[&fake], still());
    assert_eq!(result(&pool, "eth_call").await, "\"0x01\"");
}

// X15, R-24
#[tokio::test(start_paused = true)]
async fn a_method_not_found_that_is_not_about_the_method_turns_nothing_off() {
    for message in ["Invalid request", "Parse error"] {
        let (odd, good) = (Fake::new(), Fake::new());
        odd.on("eth_call", Reply::error(-32601, message));
        good.on("eth_call", Reply::result("\"0x01\""));
        let pool = tiered(&[&odd, &good], still());
        for _ in 0..2 {
            assert_eq!(result(&pool, "eth_call").await, "\"0x01\"", "{message}");
        }
        assert_eq!(
            pool.snapshot().endpoints[0].circuit.methods,
            [],
            "{message}"
        );
    }
}

// X16, R-37
#[tokio::test(start_paused = true)]
async fn one_code_has_three_meanings() {
    let (a, b) = (Fake::new(), Fake::new());
    b.on("eth_getLogs", Reply::result("[1]"));
    b.on("eth_call", Reply::result("\"0x01\""));
    let pool = tiered(&[&a, &b], still());
    let logs = r#"[{"fromBlock":"0x1","toBlock":"0x32"}]"#;
    let failed = |class: Class| {
        let counters = pool.snapshot().endpoints.swap_remove(0).counters;
        counters.failed.get(class.name()).copied().unwrap_or(0)
    };
    a.on("eth_getLogs", Reply::error(-32003, "response too large"));
    let answer = call(&pool, "eth_getLogs", logs).await.unwrap();
    assert_eq!(answer.payload(), Payload::Result("[1]"));
    assert_eq!(failed(Class::RangeLimit), 1);
    let funds = r#"{"code":-32003,"message":"Insufficient funds for gas * price + value"}"#;
    a.on("eth_call", Reply::error_json(funds));
    let answer = call(&pool, "eth_call", r#"[{"to":"0x00"},"latest"]"#)
        .await
        .unwrap();
    assert_eq!(
        (answer.payload(), b.count("eth_call")),
        (Payload::Error(funds), 0)
    );
    a.on("eth_getLogs", Reply::error(-32002, "request timed out"));
    let narrow = r#"[{"fromBlock":"0x31","toBlock":"0x32"}]"#;
    let answer = call(&pool, "eth_getLogs", narrow).await.unwrap();
    assert_eq!(answer.payload(), Payload::Result("[1]"));
    assert_eq!(failed(Class::Timeout), 1);
}

// X17, G-2
#[tokio::test(start_paused = true)]
async fn a_member_named_error_inside_the_result_is_a_success() {
    let (a, b) = (Fake::new(), Fake::new());
    let list = r#"{"accessList":[],"error":"execution reverted","gasUsed":"0x639d"}"#;
    a.on("eth_createAccessList", Reply::result(list));
    let pool = tiered(&[&a, &b], still());
    let answer = call(&pool, "eth_createAccessList", "[{}]").await.unwrap();
    assert_eq!((answer.payload(), b.sent()), (Payload::Result(list), 0));
    assert_eq!(pool.snapshot().endpoints[0].error, 0.0);
}

// R-32
#[tokio::test(start_paused = true)]
async fn ten_calls_to_three_endpoints_that_all_say_429_cost_at_most_seventeen_requests() {
    let fakes = [Fake::new(), Fake::new(), Fake::new()];
    for fake in &fakes {
        fake.everything(Some(Reply::body(429, "slow down")));
    }
    let [a, b, c] = &fakes;
    for settings in [
        still(),
        Settings {
            race: 0,
            ..Settings::gateway()
        },
    ] {
        let settings = Settings {
            probe: None,
            ..settings
        };
        let pool = pool(&[a, b, c], settings);
        let before: usize = fakes.iter().map(|fake| fake.seen().len()).sum();
        let calls = (0..10).map(|_| call(&pool, "eth_call", "[]"));
        let ended = futures_util::future::join_all(calls).await;
        assert!(ended.iter().all(Result::is_err));
        let after: usize = fakes.iter().map(|fake| fake.seen().len()).sum();
        assert!(after - before <= 17, "{}", after - before);
    }
}

// R-32, hardening E1
#[tokio::test(start_paused = true)]
async fn a_burst_in_flight_to_a_node_that_dies_loses_nothing() {
    let (dying, other) = (Fake::new(), Fake::new());
    other.on("eth_call", Reply::result("\"0x02\""));
    dying.on("eth_call", Reply::reset().after(ms(50)));
    let pool = tiered(&[&dying, &other], still());
    pool.check_all(s(1)).await;
    let calls = (0..500).map(|_| call(&pool, "eth_call", "[]"));
    let ended = futures_util::future::join_all(calls).await;
    assert!(ended.iter().all(Result::is_ok));
    assert_eq!(
        (dying.count("eth_call"), other.count("eth_call")),
        (500, 500)
    );
}

// R-30
#[tokio::test(start_paused = true)]
async fn rounds_go_on_until_the_deadline_where_that_is_set() {
    let fakes = [Fake::new(), Fake::new()];
    for fake in &fakes {
        // Not so fast that the retries of a second are spent at once (R-32).
        fake.on(
            "eth_call",
            Reply::error(-32603, "internal error").after(ms(120)),
        );
    }
    let mut settings = Settings::gateway();
    settings.probe = None;
    settings.breaker.enabled = false;
    let pool = crate::fake::builder(&[&fakes[0], &fakes[1]], settings).deadline(s(5));
    let pool = pool.build().unwrap();
    let start = Instant::now();
    let answer = call(&pool, "eth_call", "[]").await.unwrap();
    assert!(
        answer.is_error() && answer.attempts() >= 8,
        "{}",
        answer.attempts()
    );
    assert!(
        start.elapsed() > s(3) && start.elapsed() <= s(5),
        "{:?}",
        start.elapsed()
    );
}
