//! A history sorted into calls and answers.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::call::parse_calls;
use crate::history::{Event, Got, History};

/// One call, and its answer when there was one.
pub(super) struct Entry<'a> {
    pub(super) call: u64,
    pub(super) client: u64,
    pub(super) called: Duration,
    pub(super) id: &'a str,
    pub(super) method: &'a str,
    /// Empty when the params are no array.
    pub(super) params: Vec<Value>,
    pub(super) answer: Option<Answer<'a>>,
}

/// An answer.
pub(super) struct Answer<'a> {
    pub(super) at: Duration,
    pub(super) id: Option<&'a str>,
    pub(super) got: &'a Got,
    /// The result, when there is one and it is JSON.
    pub(super) result: Option<Value>,
}

/// A call that reached an endpoint.
pub(super) struct Reached<'a> {
    pub(super) at: Duration,
    pub(super) node: usize,
    pub(super) method: &'a str,
    pub(super) params: &'a str,
}

/// An answer that an endpoint finished.
pub(super) struct Served<'a> {
    pub(super) at: Duration,
    pub(super) methods: &'a [String],
    /// Results in it, as JSON values.
    pub(super) results: Vec<Value>,
}

pub(super) struct Ledger<'a> {
    /// In the order of calling.
    pub(super) entries: Vec<Entry<'a>>,
    pub(super) reached: Vec<Reached<'a>>,
    pub(super) served: Vec<Served<'a>>,
}

impl<'a> Ledger<'a> {
    pub(super) fn read(history: &'a History) -> Self {
        let mut ledger = Self {
            entries: Vec::new(),
            reached: Vec::new(),
            served: Vec::new(),
        };
        let mut places = BTreeMap::new();
        for event in history.events() {
            match event {
                Event::Called {
                    at,
                    client,
                    call,
                    id,
                    method,
                    params,
                } => {
                    places.insert(*call, ledger.entries.len());
                    ledger.entries.push(Entry {
                        call: *call,
                        client: *client,
                        called: *at,
                        id,
                        method,
                        params: serde_json::from_str(params).unwrap_or_default(),
                        answer: None,
                    });
                }
                Event::Answered { at, call, id, got } => {
                    let answer = Answer {
                        at: *at,
                        id: id.as_deref(),
                        got,
                        result: match got {
                            Got::Result(text) => serde_json::from_str(text).ok(),
                            Got::Error(_) | Got::Nothing(_) => None,
                        },
                    };
                    if let Some(place) = places.get(call) {
                        ledger.entries[*place].answer = Some(answer);
                    }
                }
                Event::Received {
                    at,
                    node,
                    method,
                    params,
                } => ledger.reached.push(Reached {
                    at: *at,
                    node: *node,
                    method,
                    params,
                }),
                Event::Served {
                    at, methods, body, ..
                } => ledger.served.push(Served {
                    at: *at,
                    methods,
                    results: results(body),
                }),
            }
        }
        ledger
    }

    /// Calls with a result, in the order of calling.
    pub(super) fn results(&self) -> impl Iterator<Item = (&Entry<'a>, &Answer<'a>, &Value)> {
        self.entries.iter().filter_map(|entry| {
            let answer = entry.answer.as_ref()?;
            Some((entry, answer, answer.result.as_ref()?))
        })
    }
}

fn results(body: &str) -> Vec<Value> {
    let (_, replies) = parse_calls(body.as_bytes());
    let parsed = replies.iter().filter_map(|reply| {
        let mut reply: Value = serde_json::from_str(&reply.raw).ok()?;
        reply.get_mut("result").map(Value::take)
    });
    parsed.collect()
}
