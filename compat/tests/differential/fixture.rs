//! The chain that the comparison runs on: every kind of transaction a read can name.

use highwater_compat::{
    ACCOUNT, CELL_CREATION, CHAIN_ID, Cast, Chain, FAIL, KEY, SECOND_ACCOUNT, SECOND_KEY, SET,
};
use serde_json::{Value, json};

/// A chain of two nodes with four blocks and one pending transaction, and the names in it.
pub(crate) struct Fixture {
    pub(crate) chain: Chain,
    pub(crate) cell: String,
    /// By block number; block 0 first.
    pub(crate) block_hashes: Vec<String>,
    pub(crate) deploy: String,
    pub(crate) transfer: String,
    pub(crate) set: String,
    pub(crate) set_with_access_list: String,
    pub(crate) failed: String,
    pub(crate) pending: String,
}

impl Fixture {
    pub(crate) fn build() -> Self {
        Self::of_chain(CHAIN_ID)
    }

    /// The same chain under another id.
    pub(crate) fn of_chain(id: u64) -> Self {
        let mut chain = Chain::start_as(2, id);
        let cast = Cast::new(&chain.urls()[0]);
        let signer = (&cast, id);
        let cell = cast.run(&["compute-address", ACCOUNT, "--nonce", "0"]);
        let cell = cell.rsplit(' ').next().expect("an address").to_lowercase();
        let set_to = |word: u8| format!("{SET}{word:064x}");
        let access =
            json!([{"address": cell, "storageKeys": [format!("0x{:064x}", 0)]}]).to_string();

        let deploy = sign(signer, KEY, 0, &["--create", CELL_CREATION]);
        let transfer = sign(
            signer,
            SECOND_KEY,
            0,
            &[ACCOUNT, "--value", "1gwei", "--legacy"],
        );
        let set = sign(signer, KEY, 1, &[&cell, &set_to(7)]);
        let set_with_access_list = sign(
            signer,
            SECOND_KEY,
            1,
            &[&cell, &set_to(8), "--access-list", &access],
        );
        let failed = sign(signer, KEY, 2, &[&cell, FAIL]);
        let pending = sign(signer, SECOND_KEY, 2, &[ACCOUNT, "--value", "5"]);

        let blocks = [
            vec![deploy.clone(), transfer.clone()],
            vec![set.clone(), set_with_access_list.clone()],
            vec![failed.clone()],
            vec![],
        ];
        let genesis = chain.ask("eth_getBlockByNumber", &json!(["0x0", false]));
        let mut block_hashes = vec![text(&genesis["hash"])];
        for raw in &blocks {
            block_hashes.push(text(&chain.mine(raw)["hash"]));
        }
        let pending = text(&chain.ask("eth_sendRawTransaction", &json!([pending])));
        let hash_of = |raw: &str| cast.run(&["keccak", raw]);
        let fixture = Self {
            cell,
            block_hashes,
            deploy: hash_of(&deploy),
            transfer: hash_of(&transfer),
            set: hash_of(&set),
            set_with_access_list: hash_of(&set_with_access_list),
            failed: hash_of(&failed),
            pending,
            chain,
        };
        fixture.check();
        fixture
    }

    /// The chain is what its description says, or comparing on it would prove little.
    fn check(&self) {
        let receipt = |hash: &str| self.chain.ask("eth_getTransactionReceipt", &json!([hash]));
        assert_eq!(receipt(&self.deploy)["contractAddress"], json!(self.cell));
        assert_eq!(receipt(&self.transfer)["type"], json!("0x0"));
        assert_eq!(receipt(&self.set)["type"], json!("0x2"));
        assert_eq!(receipt(&self.set)["logs"].as_array().map(Vec::len), Some(1));
        assert_eq!(receipt(&self.set_with_access_list)["status"], json!("0x1"));
        assert_eq!(receipt(&self.failed)["status"], json!("0x0"));
        assert_eq!(receipt(&self.pending), Value::Null);
        let nonce = |tag: &str| {
            self.chain
                .ask("eth_getTransactionCount", &json!([SECOND_ACCOUNT, tag]))
        };
        assert_eq!(
            (nonce("latest"), nonce("pending")),
            (json!("0x2"), json!("0x3"))
        );
    }
}

fn sign((cast, id): (&Cast, u64), key: &str, nonce: u8, rest: &[&str]) -> String {
    let (nonce, chain) = (nonce.to_string(), id.to_string());
    let mut args = vec![
        "mktx",
        "--private-key",
        key,
        "--chain",
        &chain,
        "--nonce",
        &nonce,
        "--gas-limit",
        "300000",
        "--gas-price",
        "3gwei",
    ];
    if !rest.contains(&"--legacy") {
        args.extend(["--priority-gas-price", "1gwei"]);
    }
    args.extend(rest);
    // `--create` takes all that follows it, so what is to be done comes last.
    cast.run(&args)
}

fn text(value: &Value) -> String {
    value.as_str().expect("a hash is a string").to_owned()
}
