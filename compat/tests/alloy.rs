//! A program written with alloy, through the gateway, before two nodes that are one chain.

use alloy::{
    network::TransactionBuilder,
    primitives::{Address, Bytes, TxHash, U64, U256, hex},
    providers::{DynProvider, PendingTransactionBuilder, Provider, ProviderBuilder},
    rpc::client::BatchRequest,
    rpc::types::{Filter, TransactionReceipt, TransactionRequest},
    signers::local::PrivateKeySigner,
    sol,
    sol_types::{Revert, SolError},
};
use highwater_compat::{
    ACCOUNT, CELL_CREATION, CELL_REASON, CELL_RUNTIME, CHAIN_ID, Chain, Gateway, KEY,
};

sol! {
    #[derive(Debug)]
    #[sol(rpc)]
    contract Cell {
        event Changed(address indexed who, uint256 value);
        function get() external view returns (uint256);
        function set(uint256 value) external;
        function fail() external view;
    }
}

struct World {
    chain: Chain,
    provider: DynProvider,
    gateway: Gateway,
}

impl World {
    fn start() -> Self {
        let chain = Chain::start(2);
        let gateway = Gateway::configured(&chain.urls(), "", "");
        let key: PrivateKeySigner = KEY.parse().expect("a key");
        let url = gateway.url().parse().expect("a URL");
        let provider = ProviderBuilder::new()
            .wallet(key)
            .connect_http(url)
            .erased();
        Self {
            chain,
            provider,
            gateway,
        }
    }

    /// Mines what was sent on both nodes and waits for the receipt as a program would.
    async fn mined<N>(&mut self, sent: PendingTransactionBuilder<N>) -> N::ReceiptResponse
    where
        N: alloy::network::Network,
    {
        self.chain.mine_pools();
        sent.get_receipt().await.expect("a receipt")
    }

    async fn deploy(&mut self) -> Address {
        let code: Bytes = CELL_CREATION.parse().expect("hex");
        let create = TransactionRequest::default().with_deploy_code(code);
        let sent = self.provider.send_transaction(create).await.expect("sent");
        let receipt: TransactionReceipt = self.mined(sent).await;
        receipt.contract_address.expect("a contract")
    }
}

// G-1
#[tokio::test(flavor = "multi_thread")]
async fn reads_the_chain() {
    let mut world = World::start();
    world.chain.mine(&[]);
    world.gateway.sees(1);
    let provider = &world.provider;
    assert_eq!(provider.get_chain_id().await.unwrap(), CHAIN_ID);
    assert_eq!(provider.get_block_number().await.unwrap(), 1);
    let block = provider
        .get_block_by_number(1.into())
        .await
        .unwrap()
        .unwrap();
    let again = provider
        .get_block_by_hash(block.header.hash)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(block, again);
    assert_eq!(
        provider
            .get_transaction_by_hash(TxHash::ZERO)
            .await
            .unwrap(),
        None
    );
    assert_eq!(provider.get_block_by_number(99.into()).await.unwrap(), None);
}

// G-1
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_gives_each_caller_its_own_answer() {
    let mut world = World::start();
    for _ in 0..5 {
        world.chain.mine(&[]);
    }
    world.gateway.sees(5);
    let mut batch = BatchRequest::new(world.provider.client());
    let number = batch.add_call::<_, U64>("eth_blockNumber", &()).unwrap();
    let account: Address = ACCOUNT.parse().unwrap();
    let balance = batch
        .add_call::<_, U256>("eth_getBalance", &(account, "latest"))
        .unwrap();
    let refused = batch.add_call::<_, U64>("eth_nonsense", &()).unwrap();
    let chain = batch.add_call::<_, U64>("eth_chainId", &()).unwrap();
    batch.send().await.unwrap();
    assert_eq!(number.await.unwrap(), U64::from(5));
    assert_eq!(
        balance.await.unwrap(),
        U256::from(10_000) * U256::from(10).pow(U256::from(18))
    );
    assert_eq!(chain.await.unwrap(), U64::from(CHAIN_ID));
    let error = refused.await.unwrap_err();
    assert_eq!(
        error.as_error_resp().map(|payload| payload.code),
        Some(-32601),
        "{error}"
    );
}

// G-1, G-2
#[tokio::test(flavor = "multi_thread")]
async fn deploys_a_contract_and_works_with_it() {
    let mut world = World::start();
    let address = world.deploy().await;
    let code = world.provider.get_code_at(address).await.unwrap();
    assert_eq!(code.to_string(), CELL_RUNTIME);
    let cell = Cell::new(address, world.provider.clone());
    assert_eq!(cell.get().call().await.unwrap(), U256::ZERO);

    let sent = cell.set(U256::from(41)).send().await.unwrap();
    let receipt = world.mined(sent).await;
    assert!(receipt.status());
    assert_eq!(receipt.block_number, Some(2));
    assert_eq!(cell.get().call().await.unwrap(), U256::from(41));

    let filter = Filter::new()
        .address(address)
        .event("Changed(address,uint256)")
        .from_block(0);
    let logs = world.provider.get_logs(&filter).await.unwrap();
    assert_eq!(logs.len(), 1);
    let changed = logs[0].log_decode::<Cell::Changed>().unwrap();
    assert_eq!(changed.inner.value, U256::from(41));
    assert_eq!(changed.inner.who, ACCOUNT.parse::<Address>().unwrap());
    assert_eq!(changed.transaction_hash, Some(receipt.transaction_hash));
}

// G-2
#[tokio::test(flavor = "multi_thread")]
async fn a_revert_arrives_with_data_that_decodes() {
    let mut world = World::start();
    let address = world.deploy().await;
    let cell = Cell::new(address, world.provider.clone());
    let called = cell.fail().call().await.unwrap_err();
    let data = called.as_revert_data().unwrap();
    assert_eq!(Revert::abi_decode(&data).unwrap().reason, CELL_REASON);
    let sent = cell.fail().send().await.unwrap_err();
    assert_eq!(sent.as_revert_data(), Some(data));

    let unknown = TransactionRequest::default()
        .with_to(address)
        .with_input(hex!("12345678"));
    let error = world.provider.call(unknown).await.unwrap_err();
    let payload = error.as_error_resp().unwrap();
    assert!(payload.message.contains("revert"), "{payload:?}");
    assert_eq!(payload.as_revert_data().unwrap_or_default(), Bytes::new());
}
