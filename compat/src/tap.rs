//! A tap on the line between a client and the gateway: passes every byte on, and keeps the bodies
//! of the requests.
//!
//! That is how a test counts what a library sends, its own retries included.

use crate::{address::fresh_address, http::read_request};
use std::{
    io::{self, BufReader, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex},
    thread,
    time::Duration,
};

/// How long a test waits for a request before it fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// The tap; its threads end with the test process.
#[derive(Debug)]
pub struct Tap {
    address: SocketAddr,
    seen: Arc<(Mutex<Vec<Seen>>, Condvar)>,
}

#[derive(Debug)]
struct Seen {
    path: String,
    body: String,
}

impl Tap {
    /// Listens, and passes what comes on to `gateway`.
    ///
    /// # Panics
    /// When the address cannot be used.
    #[must_use]
    pub fn start(gateway: SocketAddr) -> Self {
        let address = fresh_address();
        let listener = TcpListener::bind(address).expect("the address is free");
        let seen: Arc<(Mutex<Vec<Seen>>, Condvar)> = Arc::default();
        let shared = Arc::clone(&seen);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = Arc::clone(&shared);
                // A connection that breaks is seen by the client, as it would be without a tap.
                thread::spawn(move || pass(stream, gateway, &shared));
            }
        });
        Self { address, seen }
    }

    /// What a client is given in place of the gateway's URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The bodies of the requests to one path so far.
    ///
    /// # Panics
    /// Never in practice: the lock is never poisoned.
    #[must_use]
    pub fn bodies(&self, path: &str) -> Vec<String> {
        let seen = self
            .seen
            .0
            .lock()
            .expect("invariant: no panic under this lock");
        seen.iter()
            .filter(|seen| seen.path == path)
            .map(|seen| seen.body.clone())
            .collect()
    }

    /// How many requests so far have `words` in their bodies.
    ///
    /// # Panics
    /// Never in practice: the lock is never poisoned.
    #[must_use]
    pub fn count(&self, words: &str) -> usize {
        let seen = self
            .seen
            .0
            .lock()
            .expect("invariant: no panic under this lock");
        with(&seen, words)
    }

    /// Waits until so many requests have had `words` in their bodies.
    ///
    /// # Panics
    /// When they do not come.
    pub fn wait_for(&self, count: usize, words: &str) {
        let (lock, came) = &*self.seen;
        let seen = lock.lock().expect("invariant: no panic under this lock");
        let (seen, timeout) = came
            .wait_timeout_while(seen, PATIENCE, |seen| with(seen, words) < count)
            .expect("invariant: no panic under this lock");
        let came = with(&seen, words);
        assert!(
            !timeout.timed_out(),
            "{came} of {count} requests with {words}"
        );
    }
}

fn with(seen: &[Seen], words: &str) -> usize {
    seen.iter().filter(|seen| seen.body.contains(words)).count()
}

fn pass(
    client: TcpStream,
    gateway: SocketAddr,
    (lock, came): &(Mutex<Vec<Seen>>, Condvar),
) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut gateway = TcpStream::connect(gateway)?;
    gateway.set_nodelay(true)?;
    let (mut answers, mut back) = (gateway.try_clone()?, client.try_clone()?);
    thread::spawn(move || {
        // Whatever ends the answers ends the connection.
        let _ = io::copy(&mut answers, &mut back);
        let _ = back.shutdown(Shutdown::Both);
    });
    let mut client = BufReader::new(client);
    while let Some(request) = read_request(&mut client)? {
        let seen = Seen {
            path: request.target,
            body: String::from_utf8_lossy(&request.body).into_owned(),
        };
        // Kept before it is passed on: who has the answer finds the request here.
        lock.lock()
            .expect("invariant: no panic under this lock")
            .push(seen);
        came.notify_all();
        gateway.write_all(&request.bytes)?;
    }
    gateway.shutdown(Shutdown::Both)
}
