//! Scripted nodes and calls in virtual time.
//!
//! A node says what its script says, whatever the chain; a call is made at a moment and its answer
//! looked at afterwards. Unless a test says otherwise all chains are checked and all heads known when
//! it begins: a first call and one round of probes go before, and are not counted.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use bytes::Bytes;
use highwater_core::router::EndpointView;
use highwater_core::{ChainId, EndpointId};
use highwater_lab::call::parse_calls;
use highwater_lab::history::Got;
use highwater_lab::node::Seen;
use highwater_lab::scenario::Scenario;
use highwater_lab::world::{Incoming, Order, Routed, Subject};
use serde_json::{Value, json};

const MS: Duration = Duration::from_millis(1);
/// The chain of the stage.
pub(crate) const CHAIN: u64 = 990_001;

/// What a node does with one request.
#[derive(Clone, Debug)]
pub(crate) enum Does {
    /// This result.
    Says(Value),
    /// This error.
    Fails(i64, &'static str),
    /// An error object of its own.
    Refuses(Value),
    /// This error in an answer with these headers.
    Waits(i64, &'static str, &'static str),
    /// The connection is reset.
    Resets,
}

type Answer = Box<dyn FnMut(&Asked) -> Option<Does>>;

/// One request as a node sees it.
pub(crate) struct Asked {
    pub(crate) at: u64,
    pub(crate) method: String,
    pub(crate) params: Value,
}

/// A scripted node.
pub(crate) struct Script {
    latency: u64,
    /// Heads and since when.
    heads: Vec<(u64, u64)>,
    chain: u64,
    answers: Vec<Answer>,
    late: BTreeMap<String, u64>,
    group: Option<&'static str>,
}

impl Script {
    /// A node with this head, which answers after 20 ms.
    pub(crate) fn at(head: u64) -> Self {
        Self {
            latency: 20,
            heads: vec![(0, head)],
            chain: CHAIN,
            answers: Vec::new(),
            late: BTreeMap::new(),
            group: None,
        }
    }

    /// Its head from a moment on.
    pub(crate) fn then(mut self, at: u64, head: u64) -> Self {
        self.heads.push((at, head));
        self
    }

    pub(crate) fn lat(mut self, millis: u64) -> Self {
        self.latency = millis;
        self
    }

    pub(crate) fn group(mut self, group: &'static str) -> Self {
        self.group = Some(group);
        self
    }

    pub(crate) fn chain(mut self, chain: u64) -> Self {
        self.chain = chain;
        self
    }

    /// What it does with a method, always.
    pub(crate) fn on(self, method: &'static str, does: Does) -> Self {
        self.when(move |asked| (asked.method == method).then(|| does.clone()))
    }

    /// The same, after its own time.
    pub(crate) fn on_after(mut self, method: &'static str, millis: u64, does: Does) -> Self {
        self.late.insert(method.to_owned(), millis);
        self.on(method, does)
    }

    /// What it does where this says something; the first that does counts.
    pub(crate) fn when(mut self, answer: impl FnMut(&Asked) -> Option<Does> + 'static) -> Self {
        self.answers.push(Box::new(answer));
        self
    }

    fn does(&mut self, asked: &Asked) -> Does {
        for answer in &mut self.answers {
            if let Some(does) = answer(asked) {
                return does;
            }
        }
        let known = self.heads.iter().rev().find(|(at, _)| *at <= asked.at);
        let head = known.map_or(0, |(_, head)| *head);
        match asked.method.as_str() {
            "eth_chainId" => Does::Says(json!(format!("{:#x}", self.chain))),
            "eth_blockNumber" => Does::Says(json!(format!("{head:#x}"))),
            _ => Does::Says(json!("0x1")),
        }
    }
}

enum Due {
    Ask(u64, &'static str, Value),
    Ended(u64, Seen),
    Wake(u64),
}

/// The stage.
pub(crate) struct Stage {
    pub(crate) subject: Routed,
    nodes: Vec<Script>,
    now: Duration,
    due: BinaryHeap<Reverse<(Duration, u64)>>,
    plans: BTreeMap<u64, Due>,
    planned: u64,
    calls: u64,
    /// When the test begins.
    begin: u64,
    requests: Vec<(usize, String)>,
    answers: BTreeMap<u64, (u64, Got)>,
    whole: BTreeMap<u64, String>,
    dropped: Vec<u64>,
}

impl Stage {
    /// Scripted nodes behind a router with these options of a scenario's `[router]`.
    pub(crate) fn new(options: &str, nodes: Vec<Script>) -> Self {
        let mut stage = Self::cold(options, nodes);
        stage.ask(0, "eth_gasPrice", json!([]));
        stage.run(1_000);
        stage.requests.clear();
        stage.begin = 1_000;
        stage
    }

    /// The same before anybody asked anything.
    pub(crate) fn cold(options: &str, nodes: Vec<Script>) -> Self {
        let names = nodes.iter().enumerate().map(|(index, node)| {
            let group = node.group.map(|group| format!("group = '{group}'\n"));
            format!(
                "[[nodes]]\nname = 'n{index}'\n{}",
                group.unwrap_or_default()
            )
        });
        let names: String = names.collect();
        let text =
            format!("name = 'case'\nduration = '1s'\n[router]\npace = false\n{options}\n{names}");
        let scenario = Scenario::parse(&text, None).unwrap();
        let rates = vec![None; nodes.len()];
        let chain = (ChainId(CHAIN), Duration::from_secs(1_700_000_000));
        Self {
            subject: Routed::over(&scenario.router, rates, chain, 7),
            nodes,
            now: Duration::ZERO,
            due: BinaryHeap::new(),
            plans: BTreeMap::new(),
            planned: 0,
            calls: 0,
            begin: 0,
            requests: Vec::new(),
            answers: BTreeMap::new(),
            whole: BTreeMap::new(),
            dropped: Vec::new(),
        }
    }

    fn plan(&mut self, at: Duration, due: Due) {
        self.planned += 1;
        self.due.push(Reverse((at, self.planned)));
        self.plans.insert(self.planned, due);
    }

    /// A call at a moment, counted from the beginning of the test.
    pub(crate) fn ask(&mut self, at: u64, method: &'static str, params: Value) -> u64 {
        self.calls += 1;
        let at = Duration::from_millis(self.begin + at);
        self.plan(at, Due::Ask(self.calls, method, params));
        self.calls
    }

    /// A call with an id of its own, and the whole answer as it comes back.
    pub(crate) fn call_as(&mut self, id: &str, method: &str) -> String {
        self.calls += 1;
        let (call, at) = (self.calls, self.now);
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":[]}}"#);
        let incoming = Incoming {
            call,
            client: 0,
            body: Bytes::from(body),
        };
        for order in self.subject.asked(&incoming, at) {
            self.obey(order);
        }
        self.run(self.millis() + 1_000);
        self.whole.remove(&call).expect("the call was answered")
    }

    /// Lets time pass until this moment.
    pub(crate) fn run(&mut self, until: u64) {
        let until = Duration::from_millis(self.begin + until);
        while let Some(Reverse((at, number))) = self.due.peek().copied() {
            if at > until {
                break;
            }
            self.due.pop();
            self.now = at;
            let Some(due) = self.plans.remove(&number) else {
                continue;
            };
            let orders = match due {
                Due::Ask(call, method, params) => {
                    let body =
                        json!({"jsonrpc": "2.0", "id": call, "method": method, "params": params});
                    let incoming = Incoming {
                        call,
                        client: 0,
                        body: Bytes::from(body.to_string()),
                    };
                    self.subject.asked(&incoming, at)
                }
                Due::Ended(attempt, _) if self.dropped.contains(&attempt) => Vec::new(),
                Due::Ended(attempt, seen) => self.subject.ended(attempt, &seen, at),
                Due::Wake(token) => self.subject.wake(token, at),
            };
            for order in orders {
                self.obey(order);
            }
        }
        self.now = until;
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Send {
                attempt,
                node,
                body,
            } => self.send(attempt, node, &body),
            Order::Drop { attempt } => self.dropped.push(attempt),
            Order::Wake { at, token } => self.plan(at, Due::Wake(token)),
            Order::Answer { call, body } => {
                let reply: Value = serde_json::from_slice(&body).unwrap();
                let text = String::from_utf8_lossy(&body).into_owned();
                self.whole.insert(call, text);
                let got = match reply.get("error") {
                    Some(error) => Got::Error(error.to_string()),
                    None => Got::Result(reply["result"].to_string()),
                };
                self.close(call, got);
            }
            Order::Fail { call, why } => self.close(call, Got::Nothing(why)),
        }
    }

    fn close(&mut self, call: u64, got: Got) {
        let at = self.millis();
        assert!(self.answers.insert(call, (at, got)).is_none());
    }

    fn millis(&self) -> u64 {
        u64::try_from(self.now.as_millis()).unwrap() - self.begin
    }

    fn send(&mut self, attempt: u64, node: usize, body: &[u8]) {
        let calls = parse_calls(body).1;
        let call = calls.first().unwrap();
        let params = call.params.as_deref().unwrap_or("[]");
        let asked = Asked {
            at: self.now.as_millis().try_into().unwrap(),
            method: call.method.clone(),
            params: serde_json::from_str(params).unwrap(),
        };
        let script = &mut self.nodes[node];
        let does = script.does(&asked);
        let late = script.late.get(&asked.method).copied();
        let latency = MS * u32::try_from(late.unwrap_or(script.latency)).unwrap();
        let id = call.id.as_deref().unwrap_or("null");
        let whole = |headers, member: &str, value: &Value| Seen::Complete {
            status: 200,
            headers,
            body: Bytes::from(format!(
                r#"{{"jsonrpc":"2.0","id":{id},"{member}":{value}}}"#
            )),
        };
        let error = |code: i64, message: &str| json!({"code": code, "message": message});
        let (after, seen) = match does {
            Does::Says(value) => (latency, whole(Vec::new(), "result", &value)),
            Does::Fails(code, message) => {
                (latency, whole(Vec::new(), "error", &error(code, message)))
            }
            Does::Refuses(object) => (latency, whole(Vec::new(), "error", &object)),
            Does::Waits(code, message, wait) => {
                let headers = vec![("Retry-After".to_owned(), wait.to_owned())];
                (latency, whole(headers, "error", &error(code, message)))
            }
            Does::Resets => (latency, Seen::Broken),
        };
        self.requests.push((node, asked.method));
        if let Some(at) = self.now.checked_add(after) {
            self.plan(at, Due::Ended(attempt, seen));
        }
    }

    /// The answer to a call and when it came.
    pub(crate) fn answer(&self, call: u64) -> (u64, &Got) {
        let (at, got) = self.answers.get(&call).expect("the call was answered");
        (*at, got)
    }

    /// The result of a call.
    pub(crate) fn result(&self, call: u64) -> Value {
        match self.answer(call).1 {
            Got::Result(text) => serde_json::from_str(text).unwrap(),
            other => panic!("no result but {other:?}"),
        }
    }

    /// The error object of a call.
    pub(crate) fn error(&self, call: u64) -> Value {
        match self.answer(call).1 {
            Got::Error(text) => serde_json::from_str(text).unwrap(),
            other => panic!("no error but {other:?}"),
        }
    }

    /// Requests that a node received since the beginning: probes and checks not counted.
    pub(crate) fn sent(&self, node: usize) -> usize {
        let aside = |method: &str| matches!(method, "eth_chainId" | "eth_blockNumber");
        self.requests
            .iter()
            .filter(|(to, method)| *to == node && !aside(method))
            .count()
    }

    /// Requests of one method that a node received since the beginning.
    pub(crate) fn sent_of(&self, node: usize, method: &str) -> usize {
        let requests = self.requests.iter();
        requests
            .filter(|(to, own)| *to == node && own == method)
            .count()
    }

    /// What is known of a node now.
    pub(crate) fn view(&mut self, node: usize) -> EndpointView {
        let now = self.subject.now(self.now);
        let views = self.subject.router().views(now);
        let id = EndpointId(u16::try_from(node).unwrap());
        views.into_iter().find(|view| view.endpoint == id).unwrap()
    }

    /// The head that is believed now.
    pub(crate) fn reference(&mut self) -> Option<u64> {
        let now = self.subject.now(self.now);
        self.subject.router().reference_head(now)
    }

    /// Strikes of a node in all its lanes, and failures that counted against it.
    pub(crate) fn strikes(&mut self, node: usize) -> u32 {
        let circuit = self.view(node).circuit;
        circuit
            .lanes
            .iter()
            .map(|(_, gate)| gate.strikes)
            .max()
            .unwrap()
    }
}
