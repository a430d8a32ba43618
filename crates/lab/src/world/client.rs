//! Clients that ask what programs ask, out of what they have been told.

use serde_json::{Value, json};

use crate::chain::{Quarry, Sender, TRANSFER};
use crate::history::Got;
use crate::rng::Rng;
use crate::scenario::{Ask, Scenario};

/// Most transactions that a client remembers.
const REMEMBERED: usize = 64;
/// Transfers of which one is sent again.
const LATELY: u64 = 4;
/// Blocks of a log range.
const RANGE: u64 = 8;

/// One client.
#[derive(Debug)]
pub(super) struct Client {
    asks: Vec<Ask>,
    rng: Rng,
    sender: Sender,
    /// The sender's address.
    me: String,
    /// Highest block that it was told of.
    head: u64,
    /// Transactions that it has seen in blocks or sent.
    hashes: Vec<String>,
    sent: u64,
}

impl Client {
    pub(super) fn new(scenario: &Scenario, index: u64, quarry: &Quarry) -> Self {
        let number = usize::try_from(index).unwrap_or(0);
        let sender =
            Sender::from_quarry(scenario.chain.seed, scenario.chain.chain_id, number, quarry);
        Self {
            asks: scenario.load.asks.clone(),
            rng: Rng::at(scenario.seed, &[u64::MAX, index]),
            me: sender.address().to_string(),
            sender,
            head: scenario.chain.start,
            hashes: Vec::new(),
            sent: 0,
        }
    }

    /// The next question: method and params.
    pub(super) fn ask(&mut self) -> (&'static str, Value) {
        let asks = self.asks.len() as u64;
        let index = usize::try_from(self.rng.below(asks)).unwrap_or(0);
        let ask = self.asks.get(index).copied().unwrap_or(Ask::BlockNumber);
        match ask {
            Ask::BlockNumber => ("eth_blockNumber", json!([])),
            Ask::Block => ("eth_getBlockByNumber", json!(["latest", false])),
            Ask::Balance => ("eth_getBalance", json!([self.me, "latest"])),
            Ask::BalanceAt => {
                let height = self.head - self.rng.below(RANGE.min(self.head + 1));
                ("eth_getBalance", json!([self.me, hex(height)]))
            }
            Ask::Call => {
                let data = format!("0x{:016x}", self.rng.next());
                ("eth_call", json!([{"to": self.me, "data": data}, "latest"]))
            }
            Ask::Logs => {
                let from = self.head.saturating_sub(self.rng.below(RANGE));
                let range = json!({
                    "fromBlock": hex(from), "toBlock": hex(self.head), "topics": [TRANSFER.to_string()],
                });
                ("eth_getLogs", json!([range]))
            }
            Ask::Receipt => {
                let known = self.hashes.len() as u64;
                let index = usize::try_from(self.rng.below(known)).unwrap_or(0);
                match self.hashes.get(index) {
                    Some(hash) => ("eth_getTransactionReceipt", json!([hash])),
                    // Nothing is known yet: look for something.
                    None => ("eth_getBlockByNumber", json!(["latest", false])),
                }
            }
            Ask::Send => {
                let (raw, hash) = self.sender.transfer(self.sent);
                self.sent += 1;
                self.remember(hash.to_string());
                ("eth_sendRawTransaction", json!([raw]))
            }
            Ask::Resend | Ask::Replace if self.sent == 0 => {
                let (raw, _) = self.sender.transfer(0);
                self.sent = 1;
                ("eth_sendRawTransaction", json!([raw]))
            }
            Ask::Resend => {
                let nonce = self.earlier();
                let (raw, _) = self.sender.transfer(nonce);
                ("eth_sendRawTransaction", json!([raw]))
            }
            Ask::Replace => {
                let nonce = self.earlier();
                let (raw, _) = self.sender.transfer_of(nonce, 2);
                ("eth_sendRawTransaction", json!([raw]))
            }
            Ask::Filter => {
                // The second topic tells one from the other.
                let topic = format!("0x{:016x}{:048x}", self.rng.next(), 0);
                let topics = [TRANSFER.to_string(), topic];
                (
                    "eth_newFilter",
                    json!([{"address": self.me, "topics": topics}]),
                )
            }
        }
    }

    /// The nonce of one of the last transfers.
    fn earlier(&mut self) -> u64 {
        let back = 1 + self.rng.below(self.sent.min(LATELY));
        self.sent - back
    }

    /// Learns from an answer.
    pub(super) fn hear(&mut self, method: &str, got: &Got) {
        let Got::Result(result) = got else { return };
        if !matches!(method, "eth_blockNumber" | "eth_getBlockByNumber") {
            return;
        }
        let Ok(result) = serde_json::from_str::<Value>(result) else {
            return;
        };
        let number = match method {
            "eth_blockNumber" => result.as_str(),
            "eth_getBlockByNumber" => result.get("number").and_then(Value::as_str),
            _ => None,
        };
        let number = number.and_then(|text| text.strip_prefix("0x"));
        if let Some(height) = number.and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
            self.head = self.head.max(height);
        }
        let hashes = result.get("transactions").and_then(Value::as_array);
        for hash in hashes.into_iter().flatten().filter_map(Value::as_str) {
            self.remember(hash.to_owned());
        }
    }

    fn remember(&mut self, hash: String) {
        if self.hashes.len() >= REMEMBERED {
            self.hashes.remove(0);
        }
        self.hashes.push(hash);
    }
}

fn hex(number: u64) -> String {
    format!("{number:#x}")
}
