//! A chain of blocks with logs, and what an index is told of it.

use highwater_core::{
    ChainId,
    cache::{CacheSettings, Policy, View},
    recent::{Header, Recent},
};
use std::{
    fmt::Write,
    sync::Arc,
    time::{Duration, Instant},
};

/// One log: its emitter and its topics, each one byte repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Emitted {
    pub(crate) address: u8,
    pub(crate) topics: Vec<u8>,
}

#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) hash: [u8; 32],
    /// Each with its text.
    pub(crate) logs: Vec<(Emitted, String)>,
}

/// Addresses and choices of each position as a caller writes them; none: anything.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) addresses: Vec<u8>,
    pub(crate) topics: Vec<Vec<u8>>,
}

/// The chain, what is known of its hashes, and the time.
pub(crate) struct Chain {
    pub(crate) blocks: Vec<Block>,
    pub(crate) recent: Recent,
    pub(crate) settings: CacheSettings,
    pub(crate) endpoint: Arc<str>,
    pub(crate) id: u64,
    pub(crate) now: Instant,
    made: u64,
}

impl Chain {
    #[expect(clippy::disallowed_methods, reason = "any origin will do")]
    pub(crate) fn new() -> Self {
        let mut chain = Self {
            blocks: Vec::new(),
            recent: Recent::new(Duration::from_secs(30)),
            settings: CacheSettings::default(),
            endpoint: Arc::from("a"),
            id: 1,
            now: Instant::now(),
            made: 0,
        };
        chain.grow(Vec::new());
        chain
    }

    pub(crate) fn head(&self) -> u64 {
        self.blocks.len() as u64 - 1
    }

    /// A block more, whose header is told.
    pub(crate) fn grow(&mut self, logs: Vec<Emitted>) {
        self.made += 1;
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&self.made.to_be_bytes());
        hash[31] = 1;
        let number = self.blocks.len() as u64;
        let written = logs.into_iter().enumerate().map(|(index, log)| {
            let text = render(number, &hash, index, &log);
            (log, text)
        });
        let logs = written.collect();
        self.blocks.push(Block { hash, logs });
        self.tell(self.head());
    }

    /// The newest blocks are others.
    pub(crate) fn turn(&mut self, depth: usize, logs: impl FnMut() -> Vec<Emitted>) {
        let depth = depth.min(self.blocks.len() - 1);
        self.blocks.truncate(self.blocks.len() - depth);
        let mut others: Vec<Vec<Emitted>> = std::iter::repeat_with(logs).take(depth + 1).collect();
        for logs in others.drain(..) {
            self.grow(logs);
        }
    }

    fn tell(&mut self, number: u64) {
        let index = usize::try_from(number).unwrap();
        let parent = match index.checked_sub(1) {
            Some(below) => self.blocks[below].hash,
            None => [0xee; 32],
        };
        let header = Header {
            number,
            hash: self.blocks[index].hash,
            parent,
        };
        self.recent.observe(header, 0, self.now);
    }

    /// The header of a block that has no transactions.
    pub(crate) fn bare_header(&self, number: u64) -> String {
        let hash = self.blocks[usize::try_from(number).unwrap()].hash;
        let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let bloom = "00".repeat(256);
        format!(
            r#"{{"number":"{number:#x}","hash":"0x{hash}","logsBloom":"0x{bloom}","transactions":[]}}"#
        )
    }

    /// Only the newest header was ever told.
    pub(crate) fn forget(&mut self) {
        self.recent = Recent::new(Duration::from_secs(30));
        self.tell(self.head());
    }

    pub(crate) fn view(&self) -> View<'_> {
        View {
            policy: Policy::of(ChainId(self.id)),
            settings: Some(self.settings),
            head: Some(self.head()),
            finalized: Some(self.head().saturating_sub(40)),
            recent: &self.recent,
            now: self.now,
        }
    }

    /// The logs of a range as a node writes them, without the brackets.
    pub(crate) fn scan(&self, wanted: &Wanted, from: u64, to: u64) -> String {
        let within = (0..=to).zip(&self.blocks).filter(|(n, _)| *n >= from);
        let logs = within.flat_map(|(_, block)| &block.logs);
        let meant = logs.filter(|(log, _)| wanted.means(log));
        let texts: Vec<&str> = meant.map(|(_, text)| text.as_str()).collect();
        texts.join(",")
    }
}

impl Wanted {
    /// As geth does it: a log with fewer topics than there are positions is left out.
    fn means(&self, log: &Emitted) -> bool {
        (self.addresses.is_empty() || self.addresses.contains(&log.address))
            && self.topics.len() <= log.topics.len()
            && self
                .topics
                .iter()
                .zip(&log.topics)
                .all(|(choices, topic)| choices.is_empty() || choices.contains(topic))
    }

    /// The parameters of a request.
    pub(crate) fn params(&self, upper: bool) -> String {
        let repeat = |byte: &u8, times: usize| {
            let digits = format!("{byte:02x}").repeat(times);
            let digits = if upper { digits.to_uppercase() } else { digits };
            format!("\"0x{digits}\"")
        };
        let list = |all: &[u8], times: usize| match all {
            [] => "null".to_owned(),
            [one] => repeat(one, times),
            all => {
                let all: Vec<String> = all.iter().rev().map(|one| repeat(one, times)).collect();
                format!("[{}]", all.join(","))
            }
        };
        let topics: Vec<String> = self.topics.iter().map(|one| list(one, 32)).collect();
        format!(
            r#"[{{"fromBlock":"0x1", "address":{},"topics":[{}],"toBlock":"latest"}}]"#,
            list(&self.addresses, 20),
            topics.join(",")
        )
    }
}

fn render(number: u64, hash: &[u8; 32], index: usize, log: &Emitted) -> String {
    let hex = |bytes: &[u8]| {
        let mut text = String::from("\"0x");
        for byte in bytes {
            write!(text, "{byte:02x}").unwrap();
        }
        text + "\""
    };
    let topics: Vec<String> = log.topics.iter().map(|one| hex(&[*one; 32])).collect();
    format!(
        r#"{{"address":{},"topics":[{}], "data":"0x","blockNumber":"{number:#x}","blockHash":{},"logIndex":"{index:#x}","removed":false}}"#,
        hex(&[log.address; 20]),
        topics.join(","),
        hex(hash)
    )
}
