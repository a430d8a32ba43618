//! A client that asks what programs ask, out of what it was told, and often what was asked before.

use highwater_lab::{chain::TRANSFER, history::Got, rng::Rng, scenario::Scenario};
use serde_json::Value;
use std::sync::{Arc, Mutex};

/// A question.
pub(crate) type Question = (&'static str, String);

/// Questions that others ask again.
pub(crate) type Board = Arc<Mutex<Vec<Question>>>;

/// Questions kept for that.
const KEPT: usize = 16;
/// Blocks that a client remembers.
const REMEMBERED: usize = 24;

/// A block that a client was shown.
struct Known {
    hash: String,
    transactions: Vec<String>,
}

pub(crate) struct Client {
    pub(crate) number: u64,
    rng: Rng,
    head: u64,
    known: Vec<Known>,
    board: Board,
}

impl Client {
    pub(crate) fn new(scenario: &Scenario, number: u64, board: Board) -> Self {
        Self {
            number,
            rng: Rng::at(scenario.seed, &[u64::MAX, number]),
            head: scenario.chain.start,
            known: Vec::new(),
            board,
        }
    }

    /// What it asks next.
    pub(crate) fn ask(&mut self) -> Question {
        let board = Arc::clone(&self.board);
        let mut board = board.lock().unwrap();
        if !board.is_empty() && self.rng.chance(0.45) {
            let again = self.rng.below(board.len() as u64);
            return board[usize::try_from(again).unwrap()].clone();
        }
        let question = self.invent();
        if board.len() == KEPT {
            board.remove(0);
        }
        board.push(question.clone());
        question
    }

    fn invent(&mut self) -> Question {
        let who = 1 + self.rng.below(3);
        let who = format!("0x{:040x}", who * 0x1111);
        let near = self.head - self.rng.below(8);
        let far = self.head - self.rng.below(80).min(self.head);
        let at = if self.rng.chance(0.7) { near } else { far };
        let data = self.rng.below(2);
        let full = self.rng.chance(0.2);
        let call = format!(r#"{{"to":"{who}","data":"0x{data:016x}"}}"#);
        match self.rng.below(20) {
            0..=2 => ("eth_getBalance", format!(r#"["{who}","latest"]"#)),
            3 => ("eth_getBalance", format!(r#"["{who}"]"#)),
            4 => (
                "eth_getBalance",
                format!(r#"["{who}",{{"blockNumber":"latest"}}]"#),
            ),
            5 | 6 => ("eth_call", format!(r#"[{call},"latest"]"#)),
            7 => ("eth_getStorageAt", format!(r#"["{who}","0x1","latest"]"#)),
            8 | 9 => ("eth_getBlockByNumber", format!(r#"["latest",{full}]"#)),
            10 => ("eth_getBlockByNumber", format!(r#"["{at:#x}",{full}]"#)),
            11 => ("eth_getBalance", format!(r#"["{who}","{at:#x}"]"#)),
            12 => ("eth_call", format!(r#"[{call},"{at:#x}"]"#)),
            13 => {
                let tag = if self.rng.chance(0.5) {
                    "safe"
                } else {
                    "finalized"
                };
                ("eth_getBlockByNumber", format!(r#"["{tag}",false]"#))
            }
            14 => (
                "eth_getLogs",
                format!(r#"[{{"fromBlock":"latest","toBlock":"latest","topics":["{TRANSFER}"]}}]"#),
            ),
            15 => (
                "eth_getLogs",
                format!(
                    r#"[{{"fromBlock":"{near:#x}","toBlock":"{:#x}","topics":["{TRANSFER}"]}}]"#,
                    self.head
                ),
            ),
            16 | 17 => self.by_hash(full),
            _ => ("eth_blockNumber", "[]".to_owned()),
        }
    }

    /// A question about something that it was shown.
    fn by_hash(&mut self, full: bool) -> Question {
        let place = self.rng.below(self.known.len() as u64);
        let Some(known) = self.known.get(usize::try_from(place).unwrap()) else {
            return ("eth_blockNumber", "[]".to_owned());
        };
        let hash = &known.hash;
        let which = self.rng.below(known.transactions.len() as u64);
        match (
            self.rng.below(3),
            known.transactions.get(usize::try_from(which).unwrap()),
        ) {
            (0, Some(hash)) => ("eth_getTransactionReceipt", format!(r#"["{hash}"]"#)),
            (1, Some(hash)) => ("eth_getTransactionByHash", format!(r#"["{hash}"]"#)),
            _ => ("eth_getBlockByHash", format!(r#"["{hash}",{full}]"#)),
        }
    }

    /// Learns heads and blocks, as far as the chain can have got.
    pub(crate) fn hear(&mut self, method: &str, got: &Got, highest: u64) {
        let Got::Result(result) = got else { return };
        let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
        if method == "eth_blockNumber" {
            let told = number(result.trim_matches('"')).unwrap();
            self.head = self.head.max(told.min(highest));
        }
        if !method.starts_with("eth_getBlockBy") {
            return;
        }
        let block: Value = serde_json::from_str(result).unwrap();
        let (Some(told), Some(hash)) = (
            block["number"].as_str().and_then(number),
            block["hash"].as_str(),
        ) else {
            return;
        };
        self.head = self.head.max(told.min(highest));
        if self.known.iter().any(|known| known.hash == hash) {
            return;
        }
        if self.known.len() == REMEMBERED {
            self.known.remove(0);
        }
        let transactions = block["transactions"].as_array().unwrap();
        let hash_of = |one: &Value| one.as_str().or(one["hash"].as_str()).map(str::to_owned);
        self.known.push(Known {
            hash: hash.to_owned(),
            transactions: transactions.iter().filter_map(hash_of).collect(),
        });
    }
}
