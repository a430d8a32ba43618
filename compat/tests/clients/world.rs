//! One library's program, a tap, the gateway, and two nodes that are one chain.

use highwater_compat::{CELL_CREATION, CHAIN_ID, Chain, Client, Gateway, KEY, Library, Shown, Tap};
use serde_json::{Value, json};

pub(crate) struct World {
    library: Library,
    pub(crate) chain: Chain,
    pub(crate) tap: Tap,
    client: Client,
    pub(crate) gateway: Gateway,
}

impl World {
    pub(crate) fn start(library: Library) -> Self {
        let chain = Chain::start(2);
        let gateway = Gateway::configured(&chain.urls(), "", "");
        Self {
            library,
            chain,
            tap: Tap::start(gateway.address()),
            client: Client::start(library),
            gateway,
        }
    }

    fn order(&self, operation: &str, mut arguments: Value) -> Value {
        arguments["op"] = json!(operation);
        arguments["url"] = json!(self.tap.url());
        arguments["chain"] = json!(CHAIN_ID);
        arguments
    }

    pub(crate) fn ask(&mut self, operation: &str, arguments: Value) -> Result<Value, Shown> {
        let order = self.order(operation, arguments);
        self.client.ask(&order)
    }

    /// An operation that must succeed.
    pub(crate) fn get(&mut self, operation: &str, arguments: Value) -> Value {
        self.ask(operation, arguments)
            .unwrap_or_else(|error| panic!("{operation}: {error:?}"))
    }

    /// An operation that must fail.
    pub(crate) fn fails(&mut self, operation: &str, arguments: Value) -> Shown {
        match self.ask(operation, arguments) {
            Ok(result) => panic!("{operation} gave {result}"),
            Err(error) => error,
        }
    }

    /// Lets the program wait for a receipt, mines once it does, and gives the receipt.
    pub(crate) fn mined(&mut self, hash: &Value) -> Value {
        let (words, more) = match self.library {
            Library::Viem | Library::Web3Py => ("eth_getTransactionReceipt", 1),
            // ethers looks for the receipt, and then at each block after the one that its poller
            // finds first; it has found that one when it polls for the second time.
            Library::Ethers => ("eth_blockNumber", 3),
        };
        let before = self.tap.count(words);
        let order = self.order("wait", json!({"hash": hash}));
        self.client.tell(&order);
        self.tap.wait_for(before + more, words);
        assert_eq!(self.chain.pending(), 1);
        self.chain.mine_pools();
        self.client.answer().expect("a receipt")
    }

    /// Deploys the contract and gives its address.
    pub(crate) fn deploy(&mut self) -> Value {
        let hash = self.get("deploy", json!({"key": KEY, "code": CELL_CREATION}));
        let receipt = self.mined(&hash);
        assert_eq!(receipt["status"], 1, "{receipt}");
        receipt["contract"].clone()
    }
}
