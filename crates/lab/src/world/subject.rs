//! What stands between clients and nodes.
//!
//! A subject is a state machine: it is told what happened and says what to do. The product's router
//! becomes one, and so do the two simple ones here, which show what clients suffer without it.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;

use crate::node::Seen;

/// A client's call as it reaches the subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// Number of the call.
    pub call: u64,
    /// Number of the client.
    pub client: u64,
    /// The JSON-RPC request.
    pub body: Bytes,
}

/// What a subject wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Send a request to a node; `attempt` names it in what follows.
    Send {
        /// A number of the subject's choice, used once.
        attempt: u64,
        /// Which node.
        node: usize,
        /// The JSON-RPC request.
        body: Bytes,
    },
    /// Hang up on a request: its answer reaches nobody.
    Drop {
        /// The attempt.
        attempt: u64,
    },
    /// Call [`Subject::wake`] with this number at this moment.
    Wake {
        /// When.
        at: Duration,
        /// A number of the subject's choice.
        token: u64,
    },
    /// Answer a call with this body.
    Answer {
        /// Number of the call.
        call: u64,
        /// The JSON-RPC answer.
        body: Bytes,
    },
    /// Tell a client that there is no answer.
    Fail {
        /// Number of the call.
        call: u64,
        /// Why.
        why: String,
    },
}

/// A router under test.
pub trait Subject {
    /// A client has asked.
    fn asked(&mut self, incoming: &Incoming, now: Duration) -> Vec<Order>;
    /// An attempt has ended. Attempts that never end are not told.
    fn ended(&mut self, attempt: u64, seen: &Seen, now: Duration) -> Vec<Order>;
    /// The moment of an earlier [`Order::Wake`] has come.
    fn wake(&mut self, token: u64, now: Duration) -> Vec<Order>;
    /// A client has given up on its call and hung up.
    fn left(&mut self, _call: u64, _now: Duration) -> Vec<Order> {
        Vec::new()
    }
}

/// Each client on one node, as most programs are today.
#[derive(Debug)]
pub struct Direct {
    nodes: usize,
    calls: BTreeMap<u64, u64>,
    attempts: u64,
}

impl Direct {
    /// Clients spread over so many nodes.
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        Self {
            nodes: nodes.max(1),
            calls: BTreeMap::new(),
            attempts: 0,
        }
    }
}

impl Subject for Direct {
    fn asked(&mut self, incoming: &Incoming, _: Duration) -> Vec<Order> {
        self.attempts += 1;
        self.calls.insert(self.attempts, incoming.call);
        let node = usize::try_from(incoming.client).unwrap_or(0) % self.nodes;
        vec![Order::Send {
            attempt: self.attempts,
            node,
            body: incoming.body.clone(),
        }]
    }

    fn ended(&mut self, attempt: u64, seen: &Seen, _: Duration) -> Vec<Order> {
        let Some(call) = self.calls.remove(&attempt) else {
            return Vec::new();
        };
        vec![outcome(call, seen)]
    }

    fn wake(&mut self, _: u64, _: Duration) -> Vec<Order> {
        Vec::new()
    }
}

/// The nodes in order, the next one after a fault or a timeout: a plain fallback list.
#[derive(Debug)]
pub struct Fallback {
    nodes: usize,
    timeout: Duration,
    open: BTreeMap<u64, Try>,
    attempts: u64,
}

#[derive(Debug)]
struct Try {
    incoming: Incoming,
    node: usize,
}

impl Fallback {
    /// A list of so many nodes, each given so long.
    #[must_use]
    pub fn new(nodes: usize, timeout: Duration) -> Self {
        Self {
            nodes,
            timeout,
            open: BTreeMap::new(),
            attempts: 0,
        }
    }

    fn send(&mut self, incoming: Incoming, node: usize, now: Duration) -> Vec<Order> {
        if node >= self.nodes {
            return vec![Order::Fail {
                call: incoming.call,
                why: "no node answered".to_owned(),
            }];
        }
        self.attempts += 1;
        let body = incoming.body.clone();
        self.open.insert(self.attempts, Try { incoming, node });
        vec![
            Order::Send {
                attempt: self.attempts,
                node,
                body,
            },
            Order::Wake {
                at: now.saturating_add(self.timeout),
                token: self.attempts,
            },
        ]
    }
}

impl Subject for Fallback {
    fn asked(&mut self, incoming: &Incoming, now: Duration) -> Vec<Order> {
        self.send(incoming.clone(), 0, now)
    }

    fn ended(&mut self, attempt: u64, seen: &Seen, now: Duration) -> Vec<Order> {
        let Some(Try { incoming, node }) = self.open.remove(&attempt) else {
            return Vec::new();
        };
        match outcome(incoming.call, seen) {
            Order::Fail { .. } => self.send(incoming, node + 1, now),
            answer => vec![answer],
        }
    }

    fn wake(&mut self, token: u64, now: Duration) -> Vec<Order> {
        match self.open.remove(&token) {
            Some(Try { incoming, node }) => self.send(incoming, node + 1, now),
            None => Vec::new(),
        }
    }
}

/// What the end of an attempt means to a subject that looks at the status only.
fn outcome(call: u64, seen: &Seen) -> Order {
    let fail = |why: String| Order::Fail { call, why };
    match seen {
        Seen::Refused => fail("connection refused".to_owned()),
        Seen::Broken => fail("connection broke".to_owned()),
        Seen::Complete {
            status: 200, body, ..
        } => Order::Answer {
            call,
            body: body.clone(),
        },
        Seen::Complete { status, .. } => fail(format!("HTTP {status}")),
    }
}
