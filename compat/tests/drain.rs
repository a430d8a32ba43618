//! SIGTERM while calls are in flight: each gets its answer, and the exit code is 0.

use highwater_compat::{ACCOUNT, Gateway, Held};
use serde_json::{Value, json};
use std::{
    thread,
    time::{Duration, Instant},
};

/// Calls on connections of their own, besides one batch.
const CALLS: usize = 12;

/// Calls are held as long as the test needs, however slow the machine: no deadline may be met. And
/// connections are looked at for nothing but what the test does within that time.
const SERVER: &str = "deadline = \"120s\"\ndrain_timeout = \"120s\"\nheader_timeout = \"1h\"";

/// The same for a single attempt.
const CHAIN: &str = "timeout = \"120s\"";

/// How long the gateway may take to say that it is going away.
const PATIENCE: Duration = Duration::from_secs(60);

fn call(id: usize) -> Value {
    // Each asks for another block, so that no two calls could be answered as one.
    let params = json!([ACCOUNT, format!("{id:#x}")]);
    json!({"jsonrpc": "2.0", "id": id, "method": "eth_getBalance", "params": params})
}

fn answer(id: usize) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": call(id)["params"]})
}

// G-3
#[test]
fn calls_in_flight_at_sigterm_are_all_answered() {
    let endpoint = Held::start();
    let gateway = Gateway::configured(&[endpoint.url()], SERVER, CHAIN);
    let ask = |body: Value| {
        let mut client = gateway.client();
        thread::spawn(move || {
            let answer = client.post(&body.to_string()).unwrap();
            (
                answer.status,
                serde_json::from_slice::<Value>(&answer.body).unwrap(),
            )
        })
    };
    let singles: Vec<_> = (1..=CALLS).map(|id| (id, ask(call(id)))).collect();
    let batch = ask(json!([call(101), call(102), call(103)]));
    endpoint.wait_for(CALLS + 3);

    gateway.terminate();
    let until = Instant::now() + PATIENCE;
    // Ready no longer, either said or by a closed door.
    while gateway
        .client()
        .get("/readyz")
        .is_ok_and(|answer| answer.status == 200)
    {
        assert!(Instant::now() < until, "still ready after SIGTERM");
        thread::yield_now();
    }
    endpoint.release();

    for (id, single) in singles {
        assert_eq!(single.join().unwrap(), (200, answer(id)));
    }
    let answers = json!([answer(101), answer(102), answer(103)]);
    assert_eq!(batch.join().unwrap(), (200, answers));
    let exit = gateway.wait();
    assert_eq!(exit.code, Some(0), "{}", exit.stderr);
    assert_eq!(endpoint.answered(), CALLS + 3);
}

// G-3
#[test]
fn an_idle_gateway_ends_at_sigterm() {
    let endpoint = Held::start();
    endpoint.release();
    let gateway = Gateway::configured(&[endpoint.url()], SERVER, CHAIN);
    let mut kept_open: Vec<_> = (0..CALLS).map(|_| gateway.client()).collect();
    for client in &mut kept_open {
        assert_eq!(client.post(&call(1).to_string()).unwrap().status, 200);
    }
    let exit = gateway.stop();
    assert_eq!(exit.code, Some(0), "{}", exit.stderr);
}
