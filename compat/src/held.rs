//! An endpoint that answers who it is at once and holds every `eth_getBalance` until the test lets
//! go.
//!
//! That is how a test knows that calls are in flight without looking at a clock.

use crate::{CHAIN_ID, address::fresh_address, http::read_request};
use serde_json::{Value, json};
use std::{
    io::{self, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex},
    thread,
    time::Duration,
};

/// How long a test waits for calls to arrive before it fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// The endpoint; its threads end with the test process.
#[derive(Debug)]
pub struct Held {
    address: SocketAddr,
    state: Arc<(Mutex<State>, Condvar)>,
}

#[derive(Debug, Default)]
struct State {
    arrived: usize,
    answered: usize,
    open: bool,
}

impl Held {
    /// Starts listening.
    ///
    /// # Panics
    /// When the address cannot be used.
    #[must_use]
    pub fn start() -> Self {
        let address = fresh_address();
        let listener = TcpListener::bind(address).expect("the address is free");
        let state: Arc<(Mutex<State>, Condvar)> = Arc::default();
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = Arc::clone(&shared);
                // A connection that breaks is the other side's affair; the test sees its effect.
                thread::spawn(move || serve(stream, &shared));
            }
        });
        Self { address, state }
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Waits until `count` calls to be held have arrived.
    ///
    /// # Panics
    /// When they do not arrive.
    pub fn wait_for(&self, count: usize) {
        let (lock, changed) = &*self.state;
        let state = lock.lock().expect("invariant: no panic under this lock");
        let (state, timeout) = changed
            .wait_timeout_while(state, PATIENCE, |state| state.arrived < count)
            .expect("invariant: no panic under this lock");
        assert!(
            !timeout.timed_out(),
            "{} of {count} calls arrived",
            state.arrived
        );
    }

    /// Answers everything held, and from now on everything at once.
    ///
    /// # Panics
    /// Never in practice: the lock is never poisoned.
    pub fn release(&self) {
        let (lock, changed) = &*self.state;
        lock.lock()
            .expect("invariant: no panic under this lock")
            .open = true;
        changed.notify_all();
    }

    /// How many of the held calls it has answered.
    ///
    /// # Panics
    /// Never in practice: the lock is never poisoned.
    #[must_use]
    pub fn answered(&self) -> usize {
        self.state
            .0
            .lock()
            .expect("invariant: no panic under this lock")
            .answered
    }
}

fn serve(stream: TcpStream, shared: &(Mutex<State>, Condvar)) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    while let Some(request) = read_request(&mut stream)? {
        let request: Value = serde_json::from_slice(&request.body).map_err(io::Error::other)?;
        arrived(&request, shared);
        let answer = match request {
            Value::Array(members) => members.iter().map(|one| reply(one, shared)).collect(),
            one => reply(&one, shared),
        };
        let text = answer.to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            text.len()
        );
        stream
            .get_mut()
            .write_all(&[head.as_bytes(), text.as_bytes()].concat())?;
    }
    Ok(())
}

/// Counts the calls that will be held; those of a batch at once, since they arrived at once.
fn arrived(request: &Value, (lock, changed): &(Mutex<State>, Condvar)) {
    let one = std::slice::from_ref(request);
    let members = request.as_array().map_or(one, Vec::as_slice);
    let held = members
        .iter()
        .filter(|one| one["method"] == "eth_getBalance")
        .count();
    lock.lock()
        .expect("invariant: no panic under this lock")
        .arrived += held;
    changed.notify_all();
}

/// The result of a held call is its own parameters, so that answers cannot be mixed up unseen.
fn reply(request: &Value, shared: &(Mutex<State>, Condvar)) -> Value {
    let result = match request["method"].as_str() {
        Some("eth_chainId") => json!(format!("{CHAIN_ID:#x}")),
        Some("net_version") => json!(CHAIN_ID.to_string()),
        // Past every block that is asked about: nobody is believed about a block ahead of its head.
        Some("eth_blockNumber") => json!("0x100"),
        Some("eth_getBalance") => {
            let (lock, changed) = shared;
            let state = lock.lock().expect("invariant: no panic under this lock");
            let mut state = changed
                .wait_while(state, |state| !state.open)
                .expect("invariant: no panic under this lock");
            state.answered += 1;
            request["params"].clone()
        }
        // Nothing else is needed by who asks here: "not there" is a true answer of an empty node.
        Some(_) | None => Value::Null,
    };
    json!({"jsonrpc": "2.0", "id": request["id"], "result": result})
}
