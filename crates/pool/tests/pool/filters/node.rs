//! A node with filters of its own, and what callers do with them.

use crate::{
    bench::call_within,
    fake::{Fake, Reply, ms, s},
};
use highwater::{
    Answer, CallOptions, Origin, Payload, Pool,
    core::{router::Profile, settings::Settings},
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

/// A node with a chain of two logs in each block, and filters.
#[derive(Clone)]
pub(super) struct Node {
    pub(super) fake: Fake,
    pub(super) chain: Arc<Mutex<Chain>>,
}

pub(super) struct Chain {
    pub(super) head: u64,
    /// Blocks from here on are of another branch.
    pub(super) turned: u64,
    pub(super) filters: BTreeMap<u64, u64>,
    pub(super) next: u64,
    pub(super) down: bool,
    /// Requests that are received and whose answer is lost.
    pub(super) deaf: bool,
    pub(super) takes: Duration,
}

impl Chain {
    pub(super) fn hash(&self, number: u64) -> String {
        let branch = u8::from(number >= self.turned);
        format!("\"0x{number:062x}{branch:02x}\"")
    }

    pub(super) fn block(&self, number: u64) -> String {
        if number > self.head {
            return "null".into();
        }
        let (hash, parent) = (self.hash(number), self.hash(number - 1));
        format!(r#"{{"number":"{number:#x}","hash":{hash},"parentHash":{parent}}}"#)
    }

    pub(super) fn logs(&self, from: u64, to: u64) -> String {
        let logs = (from..=to.min(self.head)).flat_map(|number| {
            let hash = self.hash(number);
            [0, 1].map(|index| {
                format!(
                    r#"{{"blockNumber":"{number:#x}","blockHash":{hash},"logIndex":"{index:#x}"}}"#
                )
            })
        });
        format!("[{}]", logs.collect::<Vec<_>>().join(","))
    }

    pub(super) fn hashes(&self, from: u64, to: u64) -> String {
        let hashes = (from..=to).map(|number| self.hash(number));
        format!("[{}]", hashes.collect::<Vec<_>>().join(","))
    }

    pub(super) fn reply(&self, result: String) -> Reply {
        if self.deaf {
            return Reply::hang();
        }
        Reply::result(result).after(self.takes)
    }
}

pub(super) fn number(text: &Value) -> u64 {
    let digits = text.as_str().unwrap().strip_prefix("0x").unwrap();
    u64::from_str_radix(digits, 16).unwrap()
}

impl Node {
    pub(super) fn new(head: u64) -> Self {
        let chain = Arc::new(Mutex::new(Chain {
            head,
            turned: u64::MAX,
            filters: BTreeMap::new(),
            next: 1,
            down: false,
            deaf: false,
            takes: ms(5),
        }));
        let node = Self {
            fake: Fake::at(head),
            chain,
        };
        node.on("eth_blockNumber", |chain, _| {
            format!("\"{:#x}\"", chain.head)
        });
        node.on("eth_getBlockByNumber", |chain, params| match &params[0] {
            Value::String(tag) if tag == "latest" => chain.block(chain.head),
            height => chain.block(number(height)),
        });
        node.on("eth_getLogs", |chain, params| {
            let bound = |name: &str| match &params[0][name] {
                Value::String(tag) if tag == "latest" => chain.head,
                Value::Null => chain.head,
                height => number(height),
            };
            chain.logs(bound("fromBlock"), bound("toBlock"))
        });
        for method in [
            "eth_newFilter",
            "eth_newBlockFilter",
            "eth_newPendingTransactionFilter",
        ] {
            node.on(method, |chain, _| {
                let id = chain.next;
                chain.next += 1;
                chain.filters.insert(id, chain.head);
                format!("\"{id:#x}\"")
            });
        }
        node.poll_with(Chain::logs);
        node.on("eth_getFilterLogs", |chain, _| {
            chain.logs(chain.head, chain.head)
        });
        node.on("eth_uninstallFilter", |chain, params| {
            chain
                .filters
                .remove(&number(&params[0]))
                .is_some()
                .to_string()
        });
        node
    }

    /// What its filters tell of new blocks.
    pub(super) fn poll_with(&self, tell: fn(&Chain, u64, u64) -> String) {
        let chain = Arc::clone(&self.chain);
        self.fake.answer("eth_getFilterChanges", move |params| {
            let mut chain = chain.lock().unwrap();
            if chain.down {
                return Reply::refused();
            }
            let params: Value = serde_json::from_str(params).unwrap();
            let (id, head) = (number(&params[0]), chain.head);
            let Some(polled) = chain.filters.get_mut(&id) else {
                return Reply::error(-32000, "filter not found");
            };
            let from = std::mem::replace(polled, head) + 1;
            chain.reply(tell(&chain, from, head))
        });
    }

    pub(super) fn on(
        &self,
        method: &str,
        answer: impl Fn(&mut Chain, &Value) -> String + Send + 'static,
    ) {
        let chain = Arc::clone(&self.chain);
        self.fake.answer(method, move |params| {
            let mut chain = chain.lock().unwrap();
            if chain.down {
                return Reply::refused();
            }
            let params = serde_json::from_str(params).unwrap_or_default();
            let result = answer(&mut chain, &params);
            chain.reply(result)
        });
    }

    pub(super) fn set(&self, change: impl FnOnce(&mut Chain)) {
        change(&mut self.chain.lock().unwrap());
    }

    pub(super) fn head(&self, head: u64) {
        self.set(|chain| chain.head = head);
    }

    pub(super) fn kill(&self) {
        self.set(|chain| chain.down = true);
        self.fake.everything(Some(Reply::refused()));
    }
}

/// A pool that asks `a` first.
pub(super) fn pool(nodes: &[&Node], settings: Settings) -> Pool {
    let fakes: Vec<_> = nodes.iter().map(|node| &node.fake).collect();
    let profile = |weight| Profile {
        weight,
        ..Profile::default()
    };
    let weights = [1e6, 1.0, 1e-6];
    let profiles = weights.into_iter().take(nodes.len()).map(profile).collect();
    crate::fake::with_profiles(&fakes, profiles, settings)
        .timeout(s(2))
        .build()
        .unwrap()
}

pub(super) async fn ask(pool: &Pool, method: &str, params: &str) -> Answer {
    call_within(pool, method, params, CallOptions::default())
        .await
        .unwrap()
}

pub(super) fn text(answer: &Answer) -> &str {
    match answer.payload() {
        Payload::Result(text) | Payload::Error(text) => text,
    }
}

pub(super) async fn new(pool: &Pool, method: &str) -> String {
    let params = if method == "eth_newFilter" {
        "[{}]"
    } else {
        "[]"
    };
    let answer = ask(pool, method, params).await;
    assert!(!answer.is_error(), "{}", text(&answer));
    text(&answer).to_owned()
}

pub(super) async fn poll(pool: &Pool, id: &str) -> Answer {
    ask(pool, "eth_getFilterChanges", &format!("[{id}]")).await
}

/// The logs of a poll as height and index.
pub(super) fn logs(answer: &Answer) -> Vec<(u64, u64)> {
    assert!(!answer.is_error(), "{}", text(answer));
    let logs: Value = serde_json::from_str(text(answer)).unwrap();
    let logs = logs.as_array().unwrap().iter();
    logs.map(|log| (number(&log["blockNumber"]), number(&log["logIndex"])))
        .collect()
}

pub(super) fn of_blocks(from: u64, to: u64) -> Vec<(u64, u64)> {
    (from..=to)
        .flat_map(|block| [(block, 0), (block, 1)])
        .collect()
}

#[track_caller]
pub(super) fn is_not_found(answer: &Answer) {
    assert!(answer.is_error());
    assert_eq!(
        text(answer),
        r#"{"code":-32000,"message":"filter not found"}"#
    );
    assert_eq!(answer.origin(), Origin::Filters);
}
