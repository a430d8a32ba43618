//! What a scripted node saw.
//!
//! Every wait here is for a level ("at least three requests have come"), never for an event, so a
//! test cannot miss what happened before it began to wait.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::wire::HttpRequest;
use crate::call::{Call, parse_calls};

/// One HTTP request.
#[derive(Clone, Debug)]
pub struct Received {
    /// Number of the connection that carried it, from 1 in the order accepted.
    pub connection: u64,
    /// The request as it came.
    pub http: HttpRequest,
    /// Whether the body was a JSON array.
    pub batch: bool,
    /// The calls in the body; empty when it was no JSON-RPC.
    pub calls: Vec<Call>,
}

impl Received {
    pub(super) fn new(connection: u64, http: HttpRequest) -> Self {
        let (batch, calls) = parse_calls(&http.body);
        Self {
            connection,
            http,
            batch,
            calls,
        }
    }
}

#[derive(Clone, Debug, Default)]
struct State {
    requests: Vec<Received>,
    accepted: u64,
    open: u64,
    abandoned: u64,
}

/// The record of one node; it survives a stop and a restart.
#[derive(Debug)]
pub struct Record {
    state: Mutex<State>,
    changed: watch::Sender<u64>,
}

impl Record {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State::default()),
            changed: watch::Sender::new(0),
        }
    }

    /// Every request so far, in the order received.
    #[must_use]
    pub fn requests(&self) -> Vec<Received> {
        self.state.lock().requests.clone()
    }

    /// Every call so far, in the order received.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        let state = self.state.lock();
        state
            .requests
            .iter()
            .flat_map(|request| request.calls.iter().cloned())
            .collect()
    }

    /// Every call of one method so far.
    #[must_use]
    pub fn calls_of(&self, method: &str) -> Vec<Call> {
        let mut calls = self.calls();
        calls.retain(|call| call.method == method);
        calls
    }

    /// How many calls of one method came, batch elements included.
    #[must_use]
    pub fn count(&self, method: &str) -> usize {
        count(&self.state.lock(), method)
    }

    /// How many calls of each method came.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for call in self.calls() {
            *counts.entry(call.method).or_insert(0) += 1;
        }
        counts
    }

    /// How many HTTP requests came.
    #[must_use]
    pub fn total(&self) -> usize {
        self.state.lock().requests.len()
    }

    /// How many connections were accepted.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.state.lock().accepted
    }

    /// How many connections are open now.
    #[must_use]
    pub fn open_connections(&self) -> u64 {
        self.state.lock().open
    }

    /// How many answers the client did not wait for.
    #[must_use]
    pub fn abandoned(&self) -> u64 {
        self.state.lock().abandoned
    }

    /// Waits until at least `count` HTTP requests have come, and returns all of them.
    ///
    /// Cancellation: safe; nothing is consumed.
    pub async fn wait_for(&self, count: usize) -> Vec<Received> {
        self.wait_until(|state| state.requests.len() >= count).await;
        self.requests()
    }

    /// Waits until at least `wanted` calls of `method` have come, and returns all of them.
    ///
    /// Cancellation: safe; nothing is consumed.
    pub async fn wait_for_calls(&self, method: &str, wanted: usize) -> Vec<Call> {
        self.wait_until(|state| count(state, method) >= wanted)
            .await;
        self.calls_of(method)
    }

    /// Waits until at least `count` connections were accepted.
    ///
    /// Cancellation: safe.
    pub async fn wait_for_connections(&self, count: u64) {
        self.wait_until(|state| state.accepted >= count).await;
    }

    /// Waits until exactly `count` connections are open.
    ///
    /// Cancellation: safe.
    pub async fn wait_for_open_connections(&self, count: u64) {
        self.wait_until(|state| state.open == count).await;
    }

    /// Waits until at least `count` answers were abandoned by their client.
    ///
    /// Cancellation: safe.
    pub async fn wait_for_abandoned(&self, count: u64) {
        self.wait_until(|state| state.abandoned >= count).await;
    }

    async fn wait_until(&self, reached: impl Fn(&State) -> bool) {
        let mut changed = self.changed.subscribe();
        // The state is read after subscribing, so no change can fall between the two.
        while !reached(&self.state.lock()) {
            changed
                .changed()
                .await
                .expect("invariant: the sender lives in this record");
        }
    }

    fn change(&self, how: impl FnOnce(&mut State)) {
        how(&mut self.state.lock());
        self.changed
            .send_modify(|version| *version = version.wrapping_add(1));
    }

    pub(super) fn accepted(&self) -> u64 {
        let mut number = 0;
        self.change(|state| {
            state.accepted += 1;
            state.open += 1;
            number = state.accepted;
        });
        number
    }

    pub(super) fn closed(&self) {
        self.change(|state| state.open -= 1);
    }

    pub(super) fn received(&self, request: Received) {
        self.change(|state| state.requests.push(request));
    }

    pub(super) fn gave_up(&self) {
        self.change(|state| state.abandoned += 1);
    }
}

fn count(state: &State, method: &str) -> usize {
    state
        .requests
        .iter()
        .flat_map(|request| &request.calls)
        .filter(|call| call.method == method)
        .count()
}
