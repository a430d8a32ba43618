//! A scenario in virtual time.
//!
//! Events wait in a heap, ordered by time and then by age, and the clock jumps from one to the
//! next: an hour of faults takes as long as its work. Nothing else moves, so one scenario and one
//! seed give one history, to the byte.

mod client;
mod routed;
mod subject;
mod wire;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
pub use routed::{Routed, settings};
pub use subject::{Direct, Fallback, Incoming, Order, Subject};

use crate::call::{members, parse_calls};
use crate::chain::{Chain, Quarry};
use crate::history::{Event, Got, History};
use crate::node::{Node, Seen};
use crate::rng::Rng;
use crate::scenario::Scenario;
use client::Client;

/// What a run leaves behind.
#[derive(Debug)]
pub struct Outcome {
    /// Everything that happened.
    pub history: History,
    /// The chain it happened on.
    pub chain: Arc<Chain>,
    /// Calls made.
    pub calls: u64,
    /// Calls answered with a result.
    pub answered: u64,
    /// Requests that reached nodes.
    pub upstream: u64,
}

enum Due {
    /// A client asks its next question.
    Tick(usize),
    /// A node's answer is complete, or broken.
    Ended(u64, Seen),
    /// The subject wanted to be woken.
    Wake(u64),
    /// A client's patience ends.
    GiveUp(u64),
}

struct Open {
    client: usize,
    method: &'static str,
}

struct World<'a> {
    scenario: &'a Scenario,
    nodes: Vec<Node>,
    clients: Vec<Client>,
    now: Duration,
    /// Ordered by time, then by the order in which they were planned.
    due: BinaryHeap<Reverse<(Duration, u64)>>,
    plans: BTreeMap<u64, Due>,
    planned: u64,
    /// Clients that will ask again.
    ticking: usize,
    open: BTreeMap<u64, Open>,
    /// Requests under way.
    attempts: BTreeMap<u64, Attempt>,
    outcome: Outcome,
}

/// A request under way.
struct Attempt {
    node: usize,
    /// The calls in it; none where the connection was refused.
    calls: Vec<(Option<String>, String)>,
}

/// Runs a scenario until its last call is over, with a subject between clients and nodes.
pub fn run(scenario: &Scenario, subject: &mut dyn Subject) -> Outcome {
    run_from(scenario, subject, &Arc::default())
}

/// The same, with what other runs on such chains have made already.
pub fn run_from(scenario: &Scenario, subject: &mut dyn Subject, quarry: &Arc<Quarry>) -> Outcome {
    let (chain, nodes) = scenario.build_from(quarry);
    let clients = (0..scenario.load.clients).map(|index| Client::new(scenario, index, quarry));
    let mut world = World {
        scenario,
        nodes,
        clients: clients.collect(),
        now: Duration::ZERO,
        due: BinaryHeap::new(),
        plans: BTreeMap::new(),
        planned: 0,
        ticking: 0,
        open: BTreeMap::new(),
        attempts: BTreeMap::new(),
        outcome: Outcome {
            history: History::new(),
            chain,
            calls: 0,
            answered: 0,
            upstream: 0,
        },
    };
    for client in 0..world.clients.len() {
        // Spread over the interval, so that clients do not march in step.
        let share = Rng::at(scenario.seed, &[u64::MAX - 1, client as u64]).unit();
        let first = scenario.load.every.mul_f64(share);
        world.ticking += 1;
        world.plan(first, Due::Tick(client));
    }
    while let Some(due) = world.next() {
        world.happen(due, subject);
        if world.ticking == 0 && world.open.is_empty() {
            break;
        }
    }
    world.outcome
}

impl World<'_> {
    fn plan(&mut self, at: Duration, due: Due) {
        self.planned += 1;
        self.due.push(Reverse((at, self.planned)));
        self.plans.insert(self.planned, due);
    }

    fn next(&mut self) -> Option<Due> {
        let Reverse((at, number)) = self.due.pop()?;
        self.now = at;
        self.plans.remove(&number)
    }

    fn happen(&mut self, due: Due, subject: &mut dyn Subject) {
        let orders = match due {
            Due::Tick(client) => self.tick(client, subject),
            Due::Ended(attempt, seen) => {
                if !self.finish(attempt, &seen) {
                    return;
                }
                subject.ended(attempt, &seen, self.now)
            }
            Due::Wake(token) => subject.wake(token, self.now),
            Due::GiveUp(call) => {
                if !self.open.contains_key(&call) {
                    return;
                }
                self.close(call, None, Got::Nothing("no answer in time".to_owned()));
                subject.left(call, self.now)
            }
        };
        for order in orders {
            self.obey(order);
        }
    }

    fn tick(&mut self, client: usize, subject: &mut dyn Subject) -> Vec<Order> {
        let next = self.now.saturating_add(self.scenario.load.every);
        if next < self.scenario.duration {
            self.plan(next, Due::Tick(client));
        } else {
            self.ticking -= 1;
        }
        self.outcome.calls += 1;
        let call = self.outcome.calls;
        let (method, params) = self.clients[client].ask();
        let params = params.to_string();
        let body =
            format!(r#"{{"jsonrpc":"2.0","id":{call},"method":"{method}","params":{params}}}"#);
        self.open.insert(call, Open { client, method });
        self.outcome.history.push(Event::Called {
            at: self.now,
            client: client as u64,
            call,
            id: call.to_string(),
            method: method.to_owned(),
            params,
        });
        let patience = self.now.saturating_add(self.scenario.load.timeout);
        self.plan(patience, Due::GiveUp(call));
        let incoming = Incoming {
            call,
            client: client as u64,
            body: Bytes::from(body),
        };
        subject.asked(&incoming, self.now)
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Send {
                attempt,
                node,
                body,
            } => self.send(attempt, node, &body),
            Order::Drop { attempt } => {
                self.attempts.remove(&attempt);
            }
            Order::Wake { at, token } => self.plan(at.max(self.now), Due::Wake(token)),
            Order::Answer { call, body } => {
                let (id, got) = read_reply(&body);
                self.close(call, id, got);
            }
            Order::Fail { call, why } => self.close(call, None, Got::Nothing(why)),
        }
    }

    fn send(&mut self, attempt: u64, node: usize, body: &[u8]) {
        let mut calls = Vec::new();
        let seen = match self.nodes.get_mut(node) {
            Some(asked) => asked.ask(self.now, "subject", body).seen(),
            None => Some((Duration::ZERO, Seen::Refused)),
        };
        // A refused connection brings nothing to the node.
        if !matches!(seen, Some((_, Seen::Refused))) {
            self.outcome.upstream += 1;
            for call in parse_calls(body).1 {
                self.outcome.history.push(Event::Received {
                    at: self.now,
                    node,
                    id: call.id.clone(),
                    method: call.method.clone(),
                    params: call.params.unwrap_or_else(|| "[]".to_owned()),
                });
                calls.push((call.id, call.method));
            }
            for hash in self.nodes[node].taken() {
                self.outcome.history.push(Event::Took {
                    at: self.now,
                    node,
                    hash: hash.to_string(),
                });
            }
        }
        self.attempts.insert(attempt, Attempt { node, calls });
        if let Some((after, seen)) = seen {
            let at = self.now.saturating_add(after);
            self.plan(at, Due::Ended(attempt, seen));
        }
    }

    /// False where nobody waits for it any more.
    fn finish(&mut self, attempt: u64, seen: &Seen) -> bool {
        let Some(Attempt { node, calls }) = self.attempts.remove(&attempt) else {
            return false;
        };
        if let Seen::Complete { status, body, .. } = seen {
            let (ids, methods) = calls.into_iter().unzip();
            self.outcome.history.push(Event::Served {
                at: self.now,
                node,
                methods,
                ids,
                status: *status,
                body: text(body),
            });
        }
        true
    }

    fn close(&mut self, call: u64, id: Option<String>, got: Got) {
        // A second answer, or one after the client gave up, reaches nobody.
        let Some(Open { client, method }) = self.open.remove(&call) else {
            return;
        };
        if matches!(got, Got::Result(_)) {
            self.outcome.answered += 1;
        }
        self.clients[client].hear(method, &got);
        self.outcome.history.push(Event::Answered {
            at: self.now,
            call,
            id,
            got,
        });
    }
}

/// A body as text; what is none is replaced.
fn text(body: &Bytes) -> String {
    // A body that is text is looked through faster than piece by piece.
    match std::str::from_utf8(body) {
        Ok(text) => text.to_owned(),
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    }
}

/// Id and content of a reply.
pub(crate) fn read_reply(body: &[u8]) -> (Option<String>, Got) {
    let text = std::str::from_utf8(body).ok();
    let found = text.and_then(|text| members(text, ["id", "result", "error"]));
    let Some([id, result, error]) = found else {
        return (None, Got::Nothing("no JSON-RPC answer".to_owned()));
    };
    let got = match (error, result) {
        (Some(error), _) if error != "null" => Got::Error(error.to_owned()),
        (_, Some(result)) => Got::Result(result.to_owned()),
        (_, None) => Got::Nothing("neither result nor error".to_owned()),
    };
    (id.map(str::to_owned), got)
}

#[cfg(test)]
mod tests;
