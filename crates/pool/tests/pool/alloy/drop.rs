//! A call that is dropped at any of its polls leaves nothing behind (L-2).

use crate::fake::{Fake, Reply, builder, ms, still, tiered};
use alloy_json_rpc::{Id, Request, RequestPacket};
use futures_util::future::poll_fn;
use highwater::{Pool, core::settings::Settings};
use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
};
use tower_service::Service;

fn packet() -> RequestPacket {
    let requests = ["eth_getBalance", "eth_getCode", "eth_chainId"];
    let request = |(id, method)| {
        let params = ("0x0000000000000000000000000000000000000001", "latest");
        Request::new(method, Id::Number(id), params)
            .serialize()
            .unwrap()
    };
    (1..).zip(requests).map(request).collect()
}

/// Polls a future so many times, each time once something woke it; true once it is ready.
pub(crate) async fn poll_times<F: Future>(future: &mut Pin<Box<F>>, times: usize) -> bool {
    let mut polls = 0;
    poll_fn(|cx| {
        if polls == times {
            return Poll::Ready(false);
        }
        polls += 1;
        match future.as_mut().poll(cx) {
            Poll::Ready(_) => Poll::Ready(true),
            Poll::Pending if polls == times => Poll::Ready(false),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

async fn at_rest(pool: &Pool, fakes: &[&Fake]) {
    // Whatever was spawned gets its turn, and its time.
    tokio::time::sleep(ms(60_000)).await;
    for fake in fakes {
        assert_eq!(fake.open(), 0);
    }
    for endpoint in pool.snapshot().endpoints {
        assert_eq!(endpoint.in_flight, 0);
    }
}

fn fakes() -> [Fake; 2] {
    let fakes = [Fake::new(), Fake::new()];
    fakes[0].on("eth_getBalance", Reply::reset().after(ms(20)));
    fakes[0].on("eth_getCode", Reply::result("\"0x00\"").after(ms(10)));
    fakes[1].on("eth_getBalance", Reply::result("\"0x1\"").after(ms(30)));
    fakes[1].on("eth_getCode", Reply::result("\"0x00\"").after(ms(15)));
    fakes
}

// L-2, R-8
#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_at_any_poll_leaves_no_slot_token_or_task() {
    let mut done = false;
    let mut times = 0;
    while !done {
        let fakes = fakes();
        let fakes = [&fakes[0], &fakes[1]];
        let settings = Settings {
            probe: None,
            ..Settings::default()
        };
        let pool = builder(&fakes, settings).build().unwrap();
        let tasks = tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks();
        let mut call = Box::pin(pool.transport().call(packet()));
        done = poll_times(&mut call, times).await;
        drop(call);
        at_rest(&pool, &fakes).await;
        let left = tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks();
        assert_eq!(left, tasks, "after {times} polls");
        // It works as before.
        let again = pool.transport().call(packet()).await.unwrap();
        assert_eq!(again.as_batch().unwrap().len(), 3);
        times += 1;
    }
    assert!(times > 5, "{times}");
}

// L-2, R-22
#[tokio::test(start_paused = true)]
async fn a_trial_that_is_dropped_is_free_for_the_next_call() {
    let [first, second] = fakes();
    let pool = tiered(&[&first, &second], still());
    for _ in 0..3 {
        pool.transport().call(packet()).await.unwrap();
    }
    tokio::time::sleep(ms(5_500)).await;
    first.on("eth_getBalance", Reply::hang());
    let mut trial = Box::pin(pool.transport().call(packet()));
    let mut context = Context::from_waker(Waker::noop());
    assert!(trial.as_mut().poll(&mut context).is_pending());
    drop(trial);
    first.on("eth_getBalance", Reply::result("\"0x1\""));
    let before = first.count("eth_getBalance");
    pool.transport().call(packet()).await.unwrap();
    assert_eq!(first.count("eth_getBalance"), before + 1);
}
