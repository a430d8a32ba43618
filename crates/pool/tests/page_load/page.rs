//! What one page asks.

use crate::ask;
use futures_util::future::join_all;
use highwater::Pool;
use highwater_lab::chain::{Chain, TRANSFER};
use std::sync::Arc;

/// Reads of one page.
pub(crate) const READS: u64 = 30;
/// The last trades that it shows.
const TRADES: u64 = 7;

pub(crate) struct Page {
    user: u64,
    chain: Arc<Chain>,
}

impl Page {
    pub(crate) const fn new(user: u64, chain: Arc<Chain>) -> Self {
        Self { user, chain }
    }

    /// Opens it: three things in a row first, as a page needs them to know what to ask, and then the
    /// rest at once. How many calls that were.
    pub(crate) async fn open(&self, pool: &Pool) -> u64 {
        ask(pool, "eth_chainId", "[]").await;
        let head = ask(pool, "eth_blockNumber", "[]").await;
        ask(pool, "eth_getBlockByNumber", r#"["latest",false]"#).await;
        let head =
            u64::from_str_radix(head.trim_matches('"').trim_start_matches("0x"), 16).unwrap();
        let rest = self.rest(head);
        let asked = 3 + rest.len() as u64;
        let rest = rest
            .iter()
            .map(|(method, params)| ask(pool, method, params));
        join_all(rest).await;
        asked
    }

    fn rest(&self, head: u64) -> Vec<(&'static str, String)> {
        let mut rest = Vec::new();
        // What four contracts say now.
        for contract in 0..4 {
            let call = format!(
                r#"{{"to":"{:#042x}","data":"0x{:08x}"}}"#,
                0x1111 + contract,
                7
            );
            rest.push(("eth_call", format!(r#"[{call},"latest"]"#)));
        }
        // What is the person's own.
        let own = format!("{:#042x}", 0xabcd_0000 + self.user);
        rest.push(("eth_getBalance", format!(r#"["{own}","latest"]"#)));
        // The last trades, brought up to date every ten blocks: their blocks and receipts.
        let last = head - head % 10;
        for trade in 0..TRADES {
            let block = self.block(last.saturating_sub(trade));
            rest.push((
                "eth_getBlockByNumber",
                format!(r#"["{:#x}",false]"#, block.0),
            ));
            rest.push(("eth_getTransactionByHash", format!(r#"["{}"]"#, block.1)));
            rest.push(("eth_getTransactionReceipt", format!(r#"["{}"]"#, block.1)));
        }
        // All trades of the last hundred blocks.
        let from = last.saturating_sub(100);
        rest.push((
            "eth_getLogs",
            format!(
                r#"[{{"fromBlock":"{from:#x}","toBlock":"{last:#x}","topics":["{TRANSFER}"]}}]"#
            ),
        ));
        rest
    }

    /// A block's number and its first transaction.
    fn block(&self, number: u64) -> (u64, String) {
        let block = self.chain.on(0, number).unwrap();
        (number, format!("{}", block.mined[0].tx.tx_hash()))
    }
}
