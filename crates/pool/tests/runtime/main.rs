//! The library works on its caller's runtime and has none of its own (L-9).
//!
//! One test, for it counts the threads of its process.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use highwater::{
    CallOptions, Payload, Pool, Request,
    core::{ChainId, jsonrpc::Params, method::lookup},
};
use highwater_lab::sockets::{Answer, ScriptedNode};
use std::{fs, sync::Arc, thread};
use tokio::runtime::{Builder, Handle, Runtime};

fn threads() -> usize {
    fs::read_dir("/proc/self/task").unwrap().count()
}

fn one_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Asks for something that is not answered from memory.
async fn ask(pool: &Pool) {
    let request = Request {
        method: "eth_gasPrice",
        descriptor: lookup("eth_gasPrice"),
        params: Params::Array("[]"),
    };
    let answer = pool.request(request, CallOptions::default()).await.unwrap();
    assert_eq!(answer.payload(), Payload::Result("\"0x7\""));
}

fn pool(node: &ScriptedNode) -> Pool {
    let pool = Pool::builder().chain(ChainId(1)).endpoint(node.url());
    pool.build().unwrap()
}

// L-9, L-1
#[test]
fn a_pool_lives_on_its_callers_runtime_whatever_that_is() {
    // The endpoint has a thread and a runtime of its own, before anything is counted.
    let elsewhere = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let node = elsewhere.block_on(ScriptedNode::start());
    node.on("eth_gasPrice").always(Answer::result("\"0x7\""));
    let before = threads();

    // Without a runtime: it is built, shown and closed, and nothing is sent or started.
    assert!(Handle::try_current().is_err());
    let unused = pool(&node);
    assert_eq!(unused.snapshot().endpoints.len(), 1);
    assert_eq!(unused.explain("eth_call", None).considered.len(), 1);
    unused.close();
    drop(unused);
    let used = pool(&node);
    assert_eq!((threads(), node.record().connections()), (before, 0));

    // Within one, building starts no task either.
    let first = one_thread();
    first.block_on(async {
        let unused = pool(&node);
        assert_eq!(Handle::current().metrics().num_alive_tasks(), 0);
        drop(unused);
    });
    assert_eq!((threads(), node.record().connections()), (before, 0));

    // On one thread: calls, and the probes that the first of them starts, are tasks there.
    first.block_on(async {
        for _ in 0..20 {
            ask(&used).await;
        }
        assert!(Handle::current().metrics().num_alive_tasks() > 0);
    });
    assert_eq!(threads(), before);
    // With its runtime its tasks and connections are gone; the pool works on the next one.
    drop(first);
    one_thread().block_on(ask(&used));
    assert_eq!(threads(), before);

    // On several threads, from many tasks and from threads that only borrow the runtime.
    let several = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let with_workers = threads();
    let used = Arc::new(used);
    several.block_on(async {
        let tasks: Vec<_> = (0..20)
            .map(|_| {
                let used = Arc::clone(&used);
                tokio::spawn(async move { ask(&used).await })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    assert_eq!(threads(), with_workers);
    thread::scope(|scope| {
        scope.spawn(|| several.block_on(ask(&used)));
    });
    drop(elsewhere);
}
