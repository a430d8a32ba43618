//! What a pool tells, and what it shows.
//!
//! `cargo run -p highwater --example events`

use highwater::{
    CallOptions, Event, Pool, Request,
    core::{jsonrpc::Params, method},
};
use highwater_lab::sockets::{Answer, ScriptedNode};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
    mpsc,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let node = ScriptedNode::start().await;
    node.on("eth_gasPrice").times(2, Answer::close());
    node.on("eth_gasPrice").always(Answer::result("\"0x1\""));
    let requests = Arc::new(AtomicUsize::new(0));
    let (done, finished) = mpsc::channel::<()>();
    let pool = Pool::builder()
        .chain(1)
        .endpoint(node.url())
        .on_event({
            let requests = Arc::clone(&requests);
            // It runs on a thread of its own: a slow listener touches no call.
            move |event| {
                println!("{event:?}");
                if let Event::Request { .. } = event {
                    requests.fetch_add(1, Ordering::SeqCst);
                }
                // The channel ends when the pool has told everything and lets the listener go.
                let _ = &done;
            }
        })
        .build()?;
    let request = Request {
        method: "eth_gasPrice",
        descriptor: method::lookup("eth_gasPrice"),
        params: Params::Array("[]"),
    };
    pool.request(request, CallOptions::default()).await?;
    for endpoint in pool.snapshot().endpoints {
        // By label and host; the URL is a secret.
        println!(
            "{} at {}: {:?}",
            endpoint.label, endpoint.host, endpoint.counters
        );
    }
    pool.close();
    // Ends with an error, once nobody can send any more.
    assert!(finished.recv().is_err());
    assert_eq!(requests.load(Ordering::SeqCst), 3);
    Ok(())
}
