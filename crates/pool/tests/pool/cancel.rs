//! A dropped call leaves nothing behind.

use crate::bench::{AMPLE, call, pool, result, upstream};
use futures_util::poll;
use highwater::upstream::HttpOptions;
use highwater_lab::sockets::{Answer, Gate, ScriptedNode};
use std::pin::pin;
use tokio::runtime::Handle;

/// Lets the other tasks and the sockets get on.
async fn others() {
    tokio::task::yield_now().await;
}

// hardening A13
#[tokio::test]
async fn leaves_no_connection_and_no_task_wherever_a_call_is_dropped() {
    let node = ScriptedNode::start().await;
    node.on("eth_call")
        .always(Answer::result("\"0x1234567890\"").chunked(5));
    let tasks = Handle::current().metrics().num_alive_tasks();
    let mut dropped = 0_usize;
    loop {
        let pool = pool(&[&node]);
        let mut finished = false;
        {
            let mut running = pin!(call(&pool, "eth_call", "[]"));
            for _ in 0..=dropped {
                if poll!(running.as_mut()).is_ready() {
                    finished = true;
                    break;
                }
                others().await;
            }
        }
        // The pool is none the worse for it.
        assert_eq!(result(&pool, "eth_call").await, "\"0x1234567890\"");
        drop(pool);
        node.record().wait_for_open_connections(0).await;
        others().await;
        if finished {
            break;
        }
        dropped += 1;
    }
    assert!(dropped >= 2, "the call was never dropped half-way");
    while Handle::current().metrics().num_alive_tasks() > tasks {
        others().await;
    }
}

// hardening A13
#[tokio::test]
async fn closes_the_connection_of_a_call_that_is_dropped_while_it_waits() {
    let node = ScriptedNode::start().await;
    let gate = Gate::new();
    node.on("eth_call")
        .always(Answer::result("1").held_by(&gate));
    let pool = pool(&[&node]);
    {
        let mut running = pin!(call(&pool, "eth_call", "[]"));
        tokio::select! {
            _ = &mut running => panic!("the gate is closed"),
            () = gate.wait_for_held(1) => {}
        }
    }
    gate.open();
    node.record().wait_for_open_connections(0).await;
    assert_eq!(result(&pool, "eth_blockNumber").await, "\"0x64\"");
}

#[tokio::test]
async fn gives_leave_to_connect_back_when_a_call_is_dropped() {
    let node = ScriptedNode::start().await;
    let gate = Gate::new();
    node.on("eth_call")
        .always(Answer::result("1").held_by(&gate));
    let options = HttpOptions {
        max_connections: Some(1),
        lanes: 1,
        ..HttpOptions::default()
    };
    let upstream = upstream(&node, options);
    {
        let mut running = pin!(crate::bench::send(&upstream, "eth_call"));
        tokio::select! {
            _ = &mut running => panic!("the gate is closed"),
            () = gate.wait_for_held(1) => {}
        }
        let mut waiting = pin!(crate::bench::send(&upstream, "eth_blockNumber"));
        assert!(poll!(waiting.as_mut()).is_pending());
    }
    let message = crate::bench::message("eth_blockNumber");
    upstream.exchange(message, AMPLE).await.unwrap();
}

#[test]
fn can_be_awaited_on_any_thread() {
    fn is_send<T: Send>(value: T) -> T {
        value
    }
    let url = highwater::SecretUrl::parse("http://127.0.0.1:1/").unwrap();
    let pool = highwater::Pool::builder()
        .endpoint(highwater::Endpoint::url(url))
        .build()
        .unwrap();
    let future = is_send(call(&pool, "eth_call", "[]"));
    assert!(
        size_of_val(&future) < 4096,
        "{} bytes",
        size_of_val(&future)
    );
    drop(is_send(pool.check_all(AMPLE)));
}
