//! A call that its caller drops, at every point where it can be dropped.

use crate::{
    bench::{call, result},
    fake::{Fake, Reply, builder, ms, s, still, tiered, with_profiles},
};
use futures_util::poll;
use highwater::{
    Pool,
    core::{
        bucket::{Account, Budget, Rate},
        router::Profile,
        settings::{HedgeSettings, Settings},
    },
};
use std::{pin::pin, sync::Arc};
use tokio::runtime::Handle;

/// Polls a call so often and drops it; true where it came to its end.
async fn dropped_after(pool: &Pool, polls: usize) -> bool {
    let mut running = pin!(call(pool, "eth_call", "[]"));
    for _ in 0..polls {
        if poll!(running.as_mut()).is_ready() {
            return true;
        }
        tokio::time::advance(ms(1)).await;
    }
    false
}

fn in_flight(pool: &Pool) -> Vec<u32> {
    let endpoints = pool.snapshot().endpoints;
    endpoints
        .iter()
        .map(|endpoint| endpoint.in_flight)
        .collect()
}

fn good(result: &str) -> Reply {
    Reply::result(result).after(ms(5))
}

// R-8, hardening A13
#[tokio::test(start_paused = true)]
async fn stops_counting_wherever_it_is_dropped_and_teaches_nothing() {
    let (slow_hedge, racing) = (
        Settings {
            hedge: Some(HedgeSettings {
                min_delay: ms(2),
                tails: 0.0,
            }),
            ..still()
        },
        Settings { race: 2, ..still() },
    );
    // The seeds draw different endpoints for the first attempt.
    let all = [still(), slow_hedge, racing].into_iter();
    let all = all.flat_map(|settings| (0..4).map(move |seed| (settings.clone(), seed)));
    let mut most = 0;
    for (settings, seed) in all {
        let mut finished = false;
        let mut polls = 0;
        while !finished {
            let (failing, one, two) = (Fake::new(), Fake::new(), Fake::new());
            failing.on("eth_call", Reply::reset().after(ms(5)));
            one.on("eth_call", good("1"));
            two.on("eth_call", good("1"));
            let fakes = [&failing, &one, &two];
            let builder = builder(&fakes, settings.clone()).seed(seed);
            let pool = builder.build().unwrap();
            finished = dropped_after(&pool, polls).await;
            if !finished {
                // Losers and checks beside the call come to their own end.
                tokio::time::sleep(s(1)).await;
                let open = failing.open() + one.open() + two.open();
                assert_eq!((in_flight(&pool), open), (vec![0; 3], 0), "{polls}");
                for endpoint in pool.snapshot().endpoints {
                    let counters = endpoint.counters;
                    let calls = counters
                        .methods
                        .get("eth_call")
                        .copied()
                        .unwrap_or_default();
                    let ended = calls.good + calls.failed + counters.cancelled;
                    assert_eq!(calls.sent, ended, "{polls}");
                }
            }
            assert_eq!(result(&pool, "eth_call").await, "1");
            polls += 1;
        }
        most = most.max(polls);
    }
    // Chain check, an attempt that fails, another one.
    assert!(most > 12, "{most}");
}

//
#[tokio::test(start_paused = true)]
async fn gives_the_trial_of_a_half_open_circuit_back() {
    let mut polls = 0;
    loop {
        let (back, other) = (Fake::new(), Fake::new());
        back.on("eth_call", Reply::reset());
        other.on("eth_call", good("2"));
        let pool = tiered(&[&back, &other], still());
        for _ in 0..3 {
            assert_eq!(result(&pool, "eth_call").await, "2");
        }
        back.on("eth_call", good("1"));
        tokio::time::sleep(ms(5010)).await;
        let finished = dropped_after(&pool, polls).await;
        // Whether or not the trial was sent: the next call may be it.
        assert_eq!(result(&pool, "eth_call").await, "1", "{polls}");
        if finished {
            break;
        }
        polls += 1;
    }
    assert!(polls > 2);
}

//
#[tokio::test(start_paused = true)]
async fn spends_one_token_for_each_request_that_it_sent_and_no_more() {
    for polls in 0..12 {
        let fake = Fake::new();
        fake.on("eth_call", good("1"));
        let rate = Rate {
            rps: 0.001,
            burst: 10.0,
        };
        let budget = Budget {
            rate: Some(rate),
            ..Budget::default()
        };
        let profile = Profile {
            account: Arc::new(Account::new("", &budget)),
            ..Profile::default()
        };
        let pool = with_profiles(&[&fake], vec![profile], still())
            .build()
            .unwrap();
        dropped_after(&pool, polls).await;
        let sent = u64::try_from(fake.seen().len()).unwrap();
        assert_eq!(
            pool.snapshot().endpoints[0].tokens,
            Some(10 - sent),
            "{polls}"
        );
    }
}

// L-1
#[tokio::test(start_paused = true)]
async fn leaves_no_task_behind_when_the_pool_is_dropped() {
    let tasks = Handle::current().metrics().num_alive_tasks();
    for polls in 0..12 {
        let (one, two) = (Fake::new(), Fake::new());
        one.on("eth_call", good("1"));
        two.on("eth_call", good("1"));
        let pool = builder(&[&one, &two], Settings::default()).build().unwrap();
        dropped_after(&pool, polls).await;
        drop(pool);
        // Checks beside the call and losers end by themselves; the probes at once.
        tokio::time::sleep(ms(20)).await;
        assert_eq!(
            Handle::current().metrics().num_alive_tasks(),
            tasks,
            "{polls}"
        );
        assert_eq!(one.open() + two.open(), 0, "{polls}");
    }
}
