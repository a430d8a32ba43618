//! A history sorted into calls, answers, and what went on behind them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;

use super::question::quantity;
use crate::call::members;
use crate::history::{Event, Got, History};

/// One call, and its answer when there was one.
pub(super) struct Entry<'a> {
    pub(super) call: u64,
    pub(super) client: u64,
    pub(super) called: Duration,
    /// The place of the call among all events.
    pub(super) place: usize,
    pub(super) id: &'a str,
    pub(super) method: &'a str,
    /// The params as written.
    pub(super) raw: &'a str,
    /// Empty when the params are no array.
    pub(super) params: Vec<Value>,
    pub(super) answer: Option<Answer<'a>>,
}

/// An answer.
pub(super) struct Answer<'a> {
    pub(super) at: Duration,
    /// Its place among all events.
    pub(super) place: usize,
    pub(super) id: Option<&'a str>,
    pub(super) got: &'a Got,
    /// The result, when there is one and it is JSON; of a block only its number and hash, of
    /// logs only that they are a list.
    pub(super) result: Option<Value>,
}

/// A call that reached an endpoint.
pub(super) struct Reached<'a> {
    pub(super) at: Duration,
    pub(super) place: usize,
    pub(super) node: usize,
    pub(super) id: Option<&'a str>,
    pub(super) method: &'a str,
    pub(super) params: &'a str,
}

/// A transaction that an endpoint took into its pool.
pub(super) struct Took<'a> {
    pub(super) place: usize,
    pub(super) node: usize,
    pub(super) hash: &'a str,
}

/// An answer that an endpoint finished.
pub(super) struct Served<'a> {
    pub(super) at: Duration,
    pub(super) place: usize,
    pub(super) node: usize,
    pub(super) methods: &'a [String],
    pub(super) ids: &'a [Option<String>],
    pub(super) status: u16,
    pub(super) replies: Vec<Reply<'a>>,
}

/// One reply in it.
pub(super) struct Reply<'a> {
    pub(super) id: Option<&'a str>,
    pub(super) result: Option<&'a str>,
    pub(super) error: Option<&'a str>,
}

impl Reply<'_> {
    /// Whether it is one reply to a call with this id: a string of digits counts as the number, and
    /// a null error beside a result as none.
    pub(super) fn answers(&self, asked: Option<&str>) -> bool {
        let same = match (self.id, asked) {
            (Some(id), Some(asked)) => id == asked || id.trim_matches('"') == asked,
            (None, _) | (_, None) => false,
        };
        let error = self.error.filter(|error| *error != "null");
        same && (error.is_some() != self.result.is_some()
            || (error.is_some() && self.result == Some("null")))
    }
}

impl<'a> Served<'a> {
    /// The replies that answer the calls asked, and what they answer.
    pub(super) fn sound(&self) -> impl Iterator<Item = (&'a str, &Reply<'a>)> {
        let calls = self.methods.iter().zip(self.ids);
        calls.filter_map(|(method, id)| {
            let mut replies = self.replies.iter();
            let reply = replies.find(|reply| reply.answers(id.as_deref()))?;
            Some((method.as_str(), reply))
        })
    }
}

pub(super) struct Ledger<'a> {
    /// In the order of calling.
    pub(super) entries: Vec<Entry<'a>>,
    pub(super) reached: Vec<Reached<'a>>,
    pub(super) took: Vec<Took<'a>>,
    pub(super) served: Vec<Served<'a>>,
}

impl<'a> Ledger<'a> {
    pub(super) fn read(history: &'a History) -> Self {
        let mut ledger = Self {
            entries: Vec::new(),
            reached: Vec::new(),
            took: Vec::new(),
            served: Vec::new(),
        };
        let mut places = BTreeMap::new();
        for (place, event) in history.events().iter().enumerate() {
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
                        place,
                        id,
                        method,
                        raw: params,
                        params: serde_json::from_str(params).unwrap_or_default(),
                        answer: None,
                    });
                }
                Event::Answered { at, call, id, got } => {
                    let Some(entry) = places.get(call).and_then(|at| ledger.entries.get_mut(*at))
                    else {
                        continue;
                    };
                    entry.answer = Some(Answer {
                        at: *at,
                        place,
                        id: id.as_deref(),
                        got,
                        result: match got {
                            Got::Result(text) => result(entry.method, text),
                            Got::Error(_) | Got::Nothing(_) => None,
                        },
                    });
                }
                Event::Received {
                    at,
                    node,
                    id,
                    method,
                    params,
                } => ledger.reached.push(Reached {
                    at: *at,
                    place,
                    node: *node,
                    id: id.as_deref(),
                    method,
                    params,
                }),
                Event::Took { node, hash, .. } => ledger.took.push(Took {
                    place,
                    node: *node,
                    hash,
                }),
                Event::Served {
                    at,
                    node,
                    methods,
                    ids,
                    status,
                    body,
                } => ledger.served.push(Served {
                    at: *at,
                    place,
                    node: *node,
                    methods,
                    ids,
                    status: *status,
                    replies: replies(body),
                }),
            }
        }
        ledger
    }

    /// Where each endpoint first said which chain it serves.
    pub(super) fn checked(&self) -> BTreeMap<usize, usize> {
        // Zero and null say "not ready".
        let id = |text: &str| quantity(text.trim_matches('"')).filter(|id| *id != 0);
        let mut checked = BTreeMap::new();
        for served in &self.served {
            let told = served.sound().any(|(method, reply)| {
                method == "eth_chainId" && reply.result.and_then(id).is_some()
            });
            if told {
                checked.entry(served.node).or_insert(served.place);
            }
        }
        checked
    }

    /// The endpoints that answered a question with null in a request that ended while a call was open.
    /// It may have begun before, for another call that shares it with this one (P-10).
    pub(super) fn said_null(&self, entry: &Entry<'_>, answer: &Answer<'_>) -> BTreeSet<usize> {
        let asked = self.reached.iter().filter(|one| {
            one.place < answer.place && one.method == entry.method && one.params == entry.raw
        });
        // Attempts of one request have one id.
        let nulls: Vec<(&str, usize, usize)> = asked
            .filter_map(|one| {
                let null =
                    |reply: &Reply<'_>| reply.answers(one.id) && reply.result == Some("null");
                let served = self.served.iter().find(|served| {
                    served.node == one.node
                        && (one.place..answer.place).contains(&served.place)
                        && served.replies.iter().any(null)
                })?;
                Some((one.id?, one.node, served.place))
            })
            .collect();
        let is_open = |id| {
            let mut same = nulls.iter().filter(|(other, ..)| *other == id);
            same.any(|(.., place)| *place > entry.place)
        };
        let open = nulls.iter().filter(|(id, ..)| is_open(*id));
        open.map(|(_, node, _)| *node).collect()
    }

    /// Calls with a result, in the order of calling.
    pub(super) fn results(&self) -> impl Iterator<Item = (&Entry<'a>, &Answer<'a>, &Value)> {
        self.entries.iter().filter_map(|entry| {
            let answer = entry.answer.as_ref()?;
            Some((entry, answer, answer.result.as_ref()?))
        })
    }
}

/// The replies in a body; elements that are no object are left out.
fn replies(body: &str) -> Vec<Reply<'_>> {
    let body = body.trim_start();
    if !body.starts_with('[') {
        return reply(body).into_iter().collect();
    }
    let elements: Vec<&RawValue> = serde_json::from_str(body).unwrap_or_default();
    let replies = elements.into_iter();
    replies.filter_map(|element| reply(element.get())).collect()
}

fn reply(text: &str) -> Option<Reply<'_>> {
    let [id, result, error] = members(text, ["id", "result", "error"])?;
    Some(Reply { id, result, error })
}

/// The result of a call; of a block only what is looked at, of logs nothing: they are read where they
/// are not what a perfect node gives.
fn result(method: &str, text: &str) -> Option<Value> {
    let names = ["number", "hash"];
    if method == "eth_getLogs" && text.starts_with('[') {
        return Some(Value::Array(Vec::new()));
    }
    if !method.starts_with("eth_getBlockBy") || text == "null" {
        return serde_json::from_str(text).ok();
    }
    let Some(found) = members(text, names) else {
        return serde_json::from_str(text).ok();
    };
    let mut block = serde_json::Map::new();
    for (name, text) in names.into_iter().zip(found) {
        if let Some(value) = text.and_then(|text| serde_json::from_str(text).ok()) {
            block.insert(name.to_owned(), value);
        }
    }
    Some(Value::Object(block))
}
