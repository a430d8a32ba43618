//! One `anvil` node: mines only when told, at times it is told.

use crate::{address::fresh_address, http::Http, process::Process, tools::anvil_path};
use serde_json::{Value, json};
use std::{net::SocketAddr, sync::Mutex};

/// The chain id of every node here.
pub const CHAIN_ID: u64 = 31_337;

/// The first account that every such node funds, from its public test mnemonic.
pub const ACCOUNT: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";

/// The published key of [`ACCOUNT`]; worth nothing anywhere else.
pub const KEY: &str = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";

/// The second funded account.
pub const SECOND_ACCOUNT: &str = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";

/// The published key of [`SECOND_ACCOUNT`].
pub const SECOND_KEY: &str = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";

/// The time of block 0, in seconds; equal on all nodes, so that their blocks can be equal.
pub(crate) const GENESIS_TIME: u64 = 1_700_000_000;

/// A running node.
#[derive(Debug)]
pub struct Anvil {
    process: Process,
    address: SocketAddr,
    client: Mutex<Http>,
}

impl Anvil {
    /// Starts a node on an address of its own and waits until it listens.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn start() -> Self {
        Self::start_at(fresh_address())
    }

    /// Starts a node on `address`.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn start_at(address: SocketAddr) -> Self {
        Self::start_with(address, &[])
    }

    /// Starts a node on `address` with more arguments.
    pub(crate) fn start_with(address: SocketAddr, more: &[&str]) -> Self {
        let (ip, port) = (address.ip().to_string(), address.port().to_string());
        let time = GENESIS_TIME.to_string();
        let mut args = vec![
            "--host",
            &ip,
            "--port",
            &port,
            "--no-mining",
            "--timestamp",
            &time,
        ];
        args.extend(more);
        let mut process = Process::start(&anvil_path(), &args);
        let listens = process.wait_for_line("Listening on ");
        assert_eq!(listens, address.to_string());
        Self {
            process,
            address,
            client: Mutex::new(Http::new(address)),
        }
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Posts a raw body and gives the raw answer.
    ///
    /// # Panics
    /// When the node does not answer, or not with HTTP 200.
    #[must_use]
    pub fn post(&self, body: &str) -> String {
        let mut client = self
            .client
            .lock()
            .expect("invariant: no panic while calling a node");
        let answer = client
            .post(body)
            .unwrap_or_else(|error| panic!("{}: {error}", self.address));
        drop(client);
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.text()
    }

    /// Calls a method and gives its result.
    ///
    /// # Panics
    /// When the answer is an error.
    pub fn call(&self, method: &str, params: &Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let text = self.post(&request.to_string());
        let mut answer: Value = serde_json::from_str(&text).expect("anvil answers with JSON");
        match answer.get_mut("result") {
            Some(result) => result.take(),
            None => panic!("{method} {params}: {text}"),
        }
    }

    /// Asks it to end, and waits until it has.
    pub(crate) fn stop(mut self) {
        self.process.wait_until_it_handles_sigterm();
        self.process.terminate();
        let status = self.process.wait();
        assert!(status.success(), "anvil ended with {status}");
    }

    /// Kills the process with SIGKILL: its connections break as they would in a crash.
    pub fn kill(&mut self) {
        self.process.kill();
    }
}
