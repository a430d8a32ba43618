//! A node with a chain: it answers by block, its head moves, its blocks can leave the chain.

use crate::{
    bench::call_within,
    fake::{Fake, Reply, ms, still, with_profiles},
};
use highwater::{
    Answer, Builder, CacheStats, CallOptions, Error, Event, Payload, Pool,
    core::{
        cache::CacheSettings,
        router::Profile,
        select::Strategy,
        settings::{ReadSettings, Settings},
    },
};
use std::sync::{Arc, Mutex, mpsc};

/// An account and a slot that nothing depends on.
pub(super) const X: &str = "\"0x00000000000000000000000000000000000000aa\"";

/// A node whose answers to state reads repeat the block that it was asked for.
#[derive(Clone)]
pub(super) struct Node {
    pub(super) fake: Fake,
    chain: Arc<Mutex<Chain>>,
}

#[derive(Clone, Copy)]
struct Chain {
    head: u64,
    /// Above this block it is on a branch of its own.
    fork: u64,
    branch: u8,
    finalized: u64,
}

impl Node {
    pub(super) fn new(head: u64) -> Self {
        let node = Self {
            fake: Fake::new(),
            chain: Arc::new(Mutex::new(Chain {
                head,
                fork: u64::MAX,
                branch: 0,
                finalized: 0,
            })),
        };
        let chain = Arc::clone(&node.chain);
        node.fake.answer("eth_blockNumber", move |_| {
            Reply::result(format!("\"{:#x}\"", chain.lock().unwrap().head))
        });
        for (method, place) in [
            ("eth_getBalance", 1),
            ("eth_getCode", 1),
            ("eth_call", 1),
            ("eth_getTransactionCount", 1),
            ("eth_estimateGas", 1),
            ("eth_createAccessList", 1),
            ("eth_getStorageAt", 2),
        ] {
            node.fake.answer(method, move |params| {
                Reply::result(element(params, place).unwrap_or("\"none\"").to_owned())
            });
        }
        let chain = Arc::clone(&node.chain);
        node.fake.answer("eth_getBlockByNumber", move |params| {
            Reply::result(chain.lock().unwrap().by_number(params))
        });
        let chain = Arc::clone(&node.chain);
        node.fake.answer("eth_getBlockByHash", move |params| {
            let chain = *chain.lock().unwrap();
            let hash = element(params, 0).unwrap().trim_matches('"').to_owned();
            let number = (0..=chain.head).rev().find(|n| chain.hash(*n) == hash);
            Reply::result(number.map_or_else(|| "null".to_owned(), |n| chain.block(n)))
        });
        node
    }

    /// Its head from now on.
    pub(super) fn head(&self, head: u64) {
        self.chain.lock().unwrap().head = head;
    }

    pub(super) fn finalized(&self, height: u64) {
        self.chain.lock().unwrap().finalized = height;
    }

    /// Above `fork` its blocks are those of this branch.
    pub(super) fn branch(&self, fork: u64, branch: u8) {
        let mut chain = self.chain.lock().unwrap();
        (chain.fork, chain.branch) = (fork, branch);
    }

    pub(super) fn hash(&self, number: u64) -> String {
        self.chain.lock().unwrap().hash(number)
    }

    pub(super) fn down(&self, down: bool) {
        self.fake.everything(down.then(Reply::refused));
    }

    /// Parameters of the requests of this method, in order.
    pub(super) fn asked(&self, method: &str) -> Vec<String> {
        let seen = self.fake.seen().into_iter();
        let seen = seen.filter(|seen| seen.method == method);
        seen.map(|seen| seen.params).collect()
    }
}

impl Chain {
    fn hash(&self, number: u64) -> String {
        hash(number, if number > self.fork { self.branch } else { 0 })
    }

    fn by_number(&self, params: &str) -> String {
        self.block(match element(params, 0).unwrap() {
            "\"latest\"" => self.head,
            "\"finalized\"" | "\"safe\"" => self.finalized,
            number => hex(number),
        })
    }

    fn block(&self, number: u64) -> String {
        if number > self.head {
            return "null".into();
        }
        let (own, parent) = (self.hash(number), self.hash(number.saturating_sub(1)));
        format!(
            r#"{{"number":"{number:#x}","hash":"{own}","parentHash":"{parent}","transactions":[]}}"#
        )
    }
}

/// The hash of a block on a branch.
pub(super) fn hash(number: u64, branch: u8) -> String {
    format!("0x{:062x}{branch:02x}", number + 1)
}

/// The hash of a transaction.
pub(super) fn transaction(number: u8) -> String {
    format!("\"0x{number:064x}\"")
}

pub(super) fn receipt(transaction: &str, block: u64) -> String {
    format!(
        r#"{{"transactionHash":{transaction},"blockNumber":"{block:#x}","blockHash":"{}","logs":[]}}"#,
        hash(block, 0)
    )
}

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text.trim_matches('"').trim_start_matches("0x"), 16).unwrap()
}

/// An element of an array whose elements hold no comma at their top level but in objects.
pub(super) fn element(params: &str, place: usize) -> Option<&str> {
    let inside = params.trim().strip_prefix('[')?.strip_suffix(']')?;
    let (mut depth, mut start, mut index) = (0, 0, 0);
    for (at, byte) in inside.bytes().enumerate() {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            b',' if depth == 0 => {
                if index == place {
                    return Some(&inside[start..at]);
                }
                (start, index) = (at + 1, index + 1);
            }
            _ => {}
        }
    }
    (index == place && !inside.is_empty()).then(|| &inside[start..])
}

/// Reads are pinned, shared and kept; nothing is sent beside them and the chain checks, so no key is
/// kept hot.
pub(super) fn reading() -> Settings {
    Settings {
        reads: ReadSettings {
            cache: Some(CacheSettings {
                headers: false,
                hot_keys: 0,
                ..CacheSettings::default()
            }),
            ..ReadSettings::default()
        },
        ..still()
    }
}

/// The same without a cache: every read is seen at an endpoint.
pub(super) fn uncached() -> Settings {
    let mut settings = reading();
    settings.reads.cache = None;
    settings
}

/// The same with headers of new heads.
pub(super) fn watching() -> Settings {
    let mut settings = reading();
    settings.reads.cache = Some(CacheSettings {
        hot_keys: 0,
        ..CacheSettings::default()
    });
    settings
}

/// A pool over these nodes, whose heads were just read.
pub(super) async fn pool(nodes: &[&Node], settings: Settings) -> Pool {
    let pool = builder(nodes, settings).build().unwrap();
    pool.probe().await;
    pool
}

/// The same where the nodes are asked in this order.
pub(super) async fn ordered(nodes: &[&Node], settings: Settings) -> Pool {
    let pool = in_order(nodes, settings).build().unwrap();
    pool.probe().await;
    pool
}

/// The same before any head was read.
pub(super) fn in_order(nodes: &[&Node], mut settings: Settings) -> Builder {
    let profile = |place: i32| Profile {
        weight: 1e12_f64.powi(-place),
        ..Profile::default()
    };
    settings.strategy = Strategy::Weighted;
    let fakes: Vec<&Fake> = nodes.iter().map(|node| &node.fake).collect();
    let profiles = (0..).take(nodes.len()).map(profile).collect();
    with_profiles(&fakes, profiles, settings)
}

pub(super) fn builder(nodes: &[&Node], settings: Settings) -> Builder {
    let fakes: Vec<&Fake> = nodes.iter().map(|node| &node.fake).collect();
    let profiles = fakes.iter().map(|_| Profile::default()).collect();
    with_profiles(&fakes, profiles, settings)
}

/// Also gives what the pool told, once it is closed.
pub(super) async fn listened(nodes: &[&Node], settings: Settings) -> (Pool, mpsc::Receiver<Event>) {
    let (told, heard) = mpsc::channel();
    let told = Mutex::new(told);
    let pool = builder(nodes, settings)
        .on_event(move |event| drop(told.lock().unwrap().send(event.clone())))
        .build()
        .unwrap();
    pool.probe().await;
    (pool, heard)
}

/// The reorganisations among what was told: fork, dropped, whether floors fell.
pub(super) fn reorgs(pool: &Pool, heard: &mpsc::Receiver<Event>) -> Vec<(u64, u64, bool)> {
    pool.close();
    let reorgs = heard.iter().filter_map(|event| match event {
        Event::Reorg {
            fork,
            dropped,
            floor,
        } => Some((fork, dropped, floor)),
        _ => None,
    });
    reorgs.collect()
}

/// The result of a read that must have one.
pub(super) async fn read(pool: &Pool, method: &str, params: &str) -> String {
    text(
        &ask(pool, method, params, CallOptions::default())
            .await
            .unwrap(),
    )
}

pub(super) async fn ask(
    pool: &Pool,
    method: &str,
    params: &str,
    options: CallOptions,
) -> Result<Answer, Error> {
    call_within(pool, method, params, options).await
}

pub(super) fn text(answer: &Answer) -> String {
    match answer.payload() {
        Payload::Result(result) => result.to_owned(),
        Payload::Error(error) => panic!("an error: {error}"),
    }
}

pub(super) async fn balance(pool: &Pool, block: &str) -> String {
    read(pool, "eth_getBalance", &format!("[{X},\"{block}\"]")).await
}

pub(super) async fn block_number(pool: &Pool) -> u64 {
    hex(&read(pool, "eth_blockNumber", "[]").await)
}

/// How often a reason was counted.
pub(super) fn misses(stats: &CacheStats, reason: &str) -> u64 {
    count(&stats.misses_by, reason)
}

pub(super) fn refused(stats: &CacheStats, reason: &str) -> u64 {
    count(&stats.refused_by, reason)
}

fn count(list: &[(&'static str, u64)], reason: &str) -> u64 {
    let found = list.iter().find(|(name, _)| *name == reason);
    found.map_or(0, |(_, count)| *count)
}

/// Nothing was asked of it but its chain and its head.
pub(super) fn idle(node: &Node) -> bool {
    node.fake.sent() == 0
}

pub(super) async fn after(millis: u64) {
    tokio::time::sleep(ms(millis)).await;
}

/// A balance at a block, under these options.
pub(super) async fn balance_with(
    pool: &Pool,
    block: &str,
    options: CallOptions,
) -> Result<Answer, Error> {
    ask(
        pool,
        "eth_getBalance",
        &format!("[{X},\"{block}\"]"),
        options,
    )
    .await
}
/// A node is gone, and fails until its circuit opens.
pub(super) async fn lose(pool: &Pool, node: &Node) {
    node.down(true);
    for _ in 0..4 {
        pool.probe().await;
    }
}
