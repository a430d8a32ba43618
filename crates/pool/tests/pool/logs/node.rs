//! A node with logs: one in every block unless said, refused or cut as some nodes do.

use crate::{
    fake::{Reply, with_profiles},
    reads::node::{Node, ask, text},
};
use highwater::{
    Answer, CallOptions, Error, Pool,
    core::{
        learn::{Declared, Size},
        router::Profile,
        select::Strategy,
        settings::Settings,
    },
};
use serde_json::Value;
use std::{
    fmt::Write,
    sync::{Arc, Mutex},
};

/// How a node answers log queries.
#[derive(Clone, Debug)]
pub(super) struct Ways {
    /// Logs of each block.
    pub(super) each: u64,
    /// Blocks that have none.
    pub(super) bare: Vec<u64>,
    /// Most blocks of a range, and what it says past them.
    pub(super) limit: Option<(u64, Reply)>,
    /// Most logs that it gives, without a word about the others.
    pub(super) cap: Option<usize>,
    /// Most logs that it gives, and what it says past them.
    pub(super) most: Option<(usize, Reply)>,
    /// Its head as far as logs go: what is above is left out without a word.
    pub(super) until: u64,
}

impl Default for Ways {
    fn default() -> Self {
        Self {
            each: 1,
            bare: Vec::new(),
            limit: None,
            cap: None,
            most: None,
            until: u64::MAX,
        }
    }
}

/// A node, and how it answers log queries from now on.
pub(super) struct Logged {
    pub(super) node: Node,
    ways: Arc<Mutex<Ways>>,
}

impl Logged {
    pub(super) fn new(head: u64) -> Self {
        Self::with(head, Ways::default())
    }

    pub(super) fn with(head: u64, ways: Ways) -> Self {
        let logged = Self {
            node: Node::new(head),
            ways: Arc::new(Mutex::new(ways)),
        };
        let (node, ways) = (logged.node.clone(), Arc::clone(&logged.ways));
        logged.node.fake.answer("eth_getLogs", move |params| {
            ways.lock().unwrap().answer(&node, params)
        });
        logged
    }

    pub(super) fn now(&self, change: impl FnOnce(&mut Ways)) {
        change(&mut self.ways.lock().unwrap());
    }

    /// The ranges that it was asked for, in order.
    pub(super) fn ranges(&self) -> Vec<(u64, u64)> {
        let asked = self.node.asked("eth_getLogs");
        asked.iter().map(|params| range(params)).collect()
    }
}

impl Ways {
    fn answer(&self, node: &Node, params: &str) -> Reply {
        let (from, to) = range(params);
        if let Some((most, refusal)) = &self.limit
            && to - from + 1 > *most
        {
            return refusal.clone();
        }
        let blocks = from..=to.min(self.until);
        let with = blocks.filter(|number| !self.bare.contains(number));
        let mut all: Vec<(u64, u64)> = with
            .flat_map(|number| (0..self.each).map(move |index| (number, index)))
            .collect();
        if let Some((most, refusal)) = &self.most
            && all.len() > *most
        {
            return refusal.clone();
        }
        all.truncate(self.cap.unwrap_or(usize::MAX));
        Reply::result(list(&all, |number| node.hash(number)))
    }
}

fn range(params: &str) -> (u64, u64) {
    let params: Value = serde_json::from_str(params).unwrap();
    let bound = |name: &str| {
        let text = params[0][name].as_str().unwrap();
        u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
    };
    (bound("fromBlock"), bound("toBlock"))
}

/// Logs at these blocks and places, as a node writes them.
pub(super) fn list(places: &[(u64, u64)], hash: impl Fn(u64) -> String) -> String {
    let mut text = String::from("[");
    for (number, index) in places {
        if text.len() > 1 {
            text.push(',');
        }
        write!(
            text,
            r#"{{"address":"0x{}","topics":[],"data":"0x","blockNumber":"{number:#x}","blockHash":"{}","logIndex":"{index:#x}","removed":false}}"#,
            "aa".repeat(20),
            hash(*number)
        )
        .unwrap();
    }
    text + "]"
}

/// Logs of the first branch.
pub(super) fn plain(places: &[(u64, u64)]) -> String {
    list(places, |number| crate::reads::node::hash(number, 0))
}

/// One log of each block of a range.
pub(super) fn one_each(from: u64, to: u64) -> String {
    let places: Vec<(u64, u64)> = (from..=to).map(|number| (number, 0)).collect();
    plain(&places)
}

/// A pool that asks these nodes in this order, each with the widest range that it is said to take.
pub(super) async fn declared(nodes: &[(&Logged, Option<u64>)], mut settings: Settings) -> Pool {
    let profiles = (0..).zip(nodes).map(|(place, (_, most))| Profile {
        weight: 1e12_f64.powi(-place),
        declared: Declared {
            largest: most.iter().map(|most| (Size::LogRange, *most)).collect(),
            ..Declared::default()
        },
        ..Profile::default()
    });
    settings.strategy = Strategy::Weighted;
    let fakes: Vec<_> = nodes.iter().map(|(node, _)| &node.node.fake).collect();
    let pool = with_profiles(&fakes, profiles.collect(), settings)
        .build()
        .unwrap();
    pool.probe().await;
    pool
}

pub(super) async fn in_order(nodes: &[&Logged], settings: Settings) -> Pool {
    let nodes: Vec<_> = nodes.iter().map(|node| (*node, None)).collect();
    declared(&nodes, settings).await
}

/// Asks for a range as text: numbers are written as they are, words are tags.
pub(super) async fn try_logs(pool: &Pool, from: &str, to: &str) -> Result<Answer, Error> {
    let params = format!(r#"[{{"fromBlock":"{from}","toBlock":"{to}"}}]"#);
    let options = CallOptions {
        deadline: Some(crate::fake::s(20)),
        ..CallOptions::default()
    };
    ask(pool, "eth_getLogs", &params, options).await
}

pub(super) async fn logs(pool: &Pool, from: u64, to: u64) -> Answer {
    try_logs(pool, &format!("{from:#x}"), &format!("{to:#x}"))
        .await
        .unwrap()
}

pub(super) async fn read_logs(pool: &Pool, from: u64, to: u64) -> String {
    text(&logs(pool, from, to).await)
}

/// The text of an error that must have come.
pub(super) fn error(answer: &Answer) -> String {
    assert!(answer.is_error(), "{answer:?}");
    String::from_utf8(answer.bytes().to_vec()).unwrap()
}
