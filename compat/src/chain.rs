//! Several nodes as one chain.
//!
//! `anvil` has no peers. Nodes with the same genesis that are given the same raw transactions and
//! told to mine at the same time make the same block, hash included; every block here is checked
//! for that. The chain remembers what it did, so that a node that was killed can be started again at its
//! old address with the same blocks.

use crate::{
    address::fresh_address,
    anvil::{Anvil, CHAIN_ID, GENESIS_TIME},
};
use serde_json::{Value, json};
use std::{fs, net::SocketAddr, path::PathBuf};

/// Seconds between blocks.
const BLOCK_TIME: u64 = 12;

/// The chain and its nodes.
#[derive(Debug)]
pub struct Chain {
    nodes: Vec<Node>,
    /// The raw transactions of each block from number 1 on.
    blocks: Vec<Vec<String>>,
}

#[derive(Debug)]
struct Node {
    address: SocketAddr,
    running: Option<Anvil>,
}

/// The chain in a file, which is removed in the end.
#[derive(Debug)]
pub struct Disk {
    file: PathBuf,
}

impl Disk {
    fn path(&self) -> String {
        self.file.display().to_string()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // A file left in the temporary folder harms nobody.
        let _ = fs::remove_file(&self.file);
    }
}

impl Chain {
    /// Starts `count` nodes at block 0.
    ///
    /// # Panics
    /// When a node does not start, or their genesis blocks differ.
    #[must_use]
    pub fn start(count: usize) -> Self {
        Self::start_as(count, CHAIN_ID)
    }

    /// The same under another chain id. Such nodes cannot be started again.
    ///
    /// # Panics
    /// When a node does not start, or their genesis blocks differ.
    #[must_use]
    pub fn start_as(count: usize, id: u64) -> Self {
        let id = id.to_string();
        let nodes = (0..count)
            .map(|_| Anvil::start_with(fresh_address(), &["--chain-id", &id]))
            .map(|anvil| Node {
                address: anvil.address(),
                running: Some(anvil),
            })
            .collect();
        let chain = Self {
            nodes,
            blocks: Vec::new(),
        };
        let _ = chain.head();
        chain
    }

    /// The URLs of all nodes, running or not.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        self.nodes
            .iter()
            .map(|node| format!("http://{}", node.address))
            .collect()
    }

    /// A running node.
    ///
    /// # Panics
    /// When it was killed.
    #[must_use]
    pub fn node(&self, index: usize) -> &Anvil {
        self.nodes[index]
            .running
            .as_ref()
            .expect("this node was killed")
    }

    /// Calls all running nodes, checks that they agree, and gives their result.
    ///
    /// # Panics
    /// When they do not agree.
    #[must_use]
    pub fn ask(&self, method: &str, params: &Value) -> Value {
        let mut results = self.running().map(|node| node.call(method, params));
        let first = results.next().expect("a node is running");
        for other in results {
            assert_eq!(first, other, "the nodes differ on {method} {params}");
        }
        first
    }

    /// Gives every running node the raw transactions and mines one block on each.
    ///
    /// # Panics
    /// When the blocks differ, or when a transaction is not in the block.
    pub fn mine(&mut self, raw: &[String]) -> Value {
        self.blocks.push(raw.to_vec());
        for node in self.running() {
            mine_on(node, self.blocks.len(), raw);
        }
        let head = self.head();
        let mined = head["transactions"].as_array().map_or(0, Vec::len);
        assert_eq!(
            mined,
            raw.len(),
            "block {} lacks transactions",
            self.blocks.len()
        );
        head
    }

    /// Does what peers do: takes the pending transactions of every running node, gives them to all,
    /// and mines a block.
    ///
    /// # Panics
    /// As [`mine`](Self::mine).
    pub fn mine_pools(&mut self) -> Value {
        let mut raw: Vec<String> = Vec::new();
        for node in self.running() {
            for hash in pending_hashes(node) {
                let bytes = node.call("eth_getRawTransactionByHash", &json!([hash]));
                let bytes = bytes
                    .as_str()
                    .expect("a pending transaction has bytes")
                    .to_owned();
                if !raw.contains(&bytes) {
                    raw.push(bytes);
                }
            }
        }
        self.mine(&raw)
    }

    /// How many transactions wait on all running nodes together.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.running().map(|node| pending_hashes(node).len()).sum()
    }

    /// Kills one node with SIGKILL.
    ///
    /// # Panics
    /// When it was killed before.
    pub fn kill(&mut self, index: usize) {
        let mut node = self.nodes[index]
            .running
            .take()
            .expect("this node was killed before");
        node.kill();
    }

    /// Takes one node out of the chain's hands, so that another thread may kill it.
    ///
    /// # Panics
    /// When it was killed before.
    pub fn take(&mut self, index: usize) -> Anvil {
        self.nodes[index]
            .running
            .take()
            .expect("this node was killed before")
    }

    /// Starts another node at the address of a killed one: with no block, on a chain id of its own. It
    /// is none of the chain's.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn impostor(&self, index: usize, id: u64) -> Anvil {
        Anvil::start_with(self.nodes[index].address, &["--chain-id", &id.to_string()])
    }

    /// Makes what a node's disk would hold now: all blocks and every state.
    ///
    /// # Panics
    /// When the node that makes it does not end well.
    #[must_use]
    pub fn disk(&self) -> Disk {
        let address = fresh_address();
        let file = std::env::temp_dir().join(format!("highwater-compat-{address}.json"));
        let disk = Disk { file };
        let node = Anvil::start_with(
            address,
            &["--preserve-historical-states", "--dump-state", &disk.path()],
        );
        for (at, raw) in self.blocks.iter().enumerate() {
            mine_on(&node, at + 1, raw);
        }
        node.stop();
        disk
    }

    /// Starts a killed node at its old address with its blocks: once it listens it has them all, so
    /// that it may be asked all the while.
    ///
    /// # Panics
    /// When it starts at another head than the others.
    pub fn bring_back(&mut self, index: usize, disk: &Disk) {
        let address = self.nodes[index].address;
        let node = Anvil::start_with(address, &["--load-state", &disk.path()]);
        self.nodes[index].running = Some(node);
        let _ = self.head();
    }

    /// The newest block, equal on all running nodes.
    #[must_use]
    fn head(&self) -> Value {
        self.ask("eth_getBlockByNumber", &json!(["latest", false]))
    }

    fn running(&self) -> impl Iterator<Item = &Anvil> {
        self.nodes.iter().filter_map(|node| node.running.as_ref())
    }
}

fn mine_on(node: &Anvil, number: usize, raw: &[String]) {
    let known = pending_hashes(node);
    for bytes in raw {
        let waits = known.iter().any(|hash| {
            node.call("eth_getRawTransactionByHash", &json!([hash]))
                .as_str()
                == Some(bytes)
        });
        if !waits {
            node.call("eth_sendRawTransaction", &json!([bytes]));
        }
    }
    let blocks = u64::try_from(number).expect("invariant: a test makes few blocks");
    let time = GENESIS_TIME + blocks * BLOCK_TIME;
    node.call("evm_mine", &json!([format!("{time:#x}")]));
}

fn pending_hashes(node: &Anvil) -> Vec<String> {
    let pool = node.call("txpool_content", &json!([]));
    let senders = pool["pending"].as_object().into_iter().flatten();
    senders
        .flat_map(|(_, by_nonce)| by_nonce.as_object().into_iter().flatten())
        .filter_map(|(_, transaction)| transaction["hash"].as_str().map(str::to_owned))
        .collect()
}
