//! A program written with alloy over a pool, before two nodes that are one chain, one of which is
//! killed, comes back empty, and comes back on another chain.
//!
//! What it is told is right, or an error: never another chain's answer, and never what an empty node
//! does not know.

use alloy::{
    network::{Ethereum, TransactionBuilder},
    primitives::{Address, Bytes, TxHash, U64, U256},
    providers::{DynProvider, PendingTransactionBuilder, Provider, ProviderBuilder},
    rpc::client::BatchRequest,
    rpc::types::{TransactionReceipt, TransactionRequest},
    signers::local::PrivateKeySigner,
    sol,
    sol_types::{Revert, SolError},
};
use highwater::core::{router::Identity, settings::Settings};
use highwater::{AttemptError, Error, OperationError, OperationOptions, Pool};
use highwater_compat::{ACCOUNT, CELL_CREATION, CELL_REASON, CHAIN_ID, Chain, KEY};
use std::time::Duration;

sol! {
    #[derive(Debug)]
    #[sol(rpc)]
    contract Cell {
        function get() external view returns (uint256);
        function set(uint256 value) external;
        function fail() external view;
    }
}

struct World {
    chain: Chain,
    pool: Pool,
    provider: DynProvider,
}

impl World {
    fn start() -> Self {
        Self::with(Settings::default())
    }

    fn with(settings: Settings) -> Self {
        let chain = Chain::start(2);
        let builder = Pool::builder().chain(CHAIN_ID).settings(settings);
        let urls = chain.urls();
        let builder = urls.iter().fold(builder, |b, url| b.endpoint(url.as_str()));
        let pool = builder.build().expect("a pool");
        let key: PrivateKeySigner = KEY.parse().expect("a key");
        let client = pool.client().with_poll_interval(Duration::from_millis(50));
        let provider = ProviderBuilder::new().wallet(key).connect_client(client);
        Self {
            chain,
            pool,
            provider: provider.erased(),
        }
    }

    async fn mined(&mut self, sent: PendingTransactionBuilder<Ethereum>) -> TransactionReceipt {
        self.chain.mine_pools();
        // The pool hears of the block now and not with the next probe.
        self.pool.probe().await;
        sent.get_receipt().await.expect("a receipt")
    }

    async fn deploy(&mut self) -> Address {
        let code: Bytes = CELL_CREATION.parse().expect("hex");
        let create = TransactionRequest::default().with_deploy_code(code);
        let sent = self.provider.send_transaction(create).await.expect("sent");
        let receipt = self.mined(sent).await;
        receipt.contract_address.expect("a contract")
    }

    /// Everything that a program reads is as it should be, or an error that says why not.
    async fn reads(&self, cell: Address, value: u64, mined: TxHash) {
        let cell = Cell::new(cell, self.provider.clone());
        for _ in 0..20 {
            right(self.provider.get_chain_id().await, &CHAIN_ID);
            match cell.get().call().await {
                Ok(got) => assert_eq!(got, U256::from(value)),
                Err(alloy::contract::Error::TransportError(error)) => typed(&error),
                Err(other) => panic!("{other:?}"),
            }
            let receipt = self.provider.get_transaction_receipt(mined).await;
            let receipt = receipt.map(|receipt| receipt.map(|receipt| receipt.transaction_hash));
            right(receipt, &Some(mined));
            let got = self
                .pool
                .execute_with_retry(OperationOptions::default(), async |pinned| {
                    let number = pinned.get_block_number().await?;
                    let got = Cell::new(*cell.address(), &pinned).get().call().await?;
                    Ok::<_, AttemptError>((number, got))
                })
                .await;
            match got {
                Ok((_, got)) => assert_eq!(got, U256::from(value)),
                Err(OperationError::Failed(AttemptError::Contract(error))) => {
                    // An empty node has no such contract, and says so.
                    let empty = matches!(error, alloy::contract::Error::ZeroData(..));
                    panic!("empty: {empty}, {error:?}")
                }
                Err(other) => panic!("{other:?}"),
            }
        }
    }
}

fn right<T: PartialEq + std::fmt::Debug>(
    got: Result<T, alloy::transports::TransportError>,
    expected: &T,
) {
    match got {
        Ok(got) => assert_eq!(got, *expected),
        Err(error) => typed(&error),
    }
}

/// An error of the pool's, or an endpoint's status.
fn typed(error: &alloy::transports::TransportError) {
    let known = Error::from_transport(error).is_some()
        || error
            .as_transport_err()
            .is_some_and(|kind| kind.is_http_error());
    assert!(known, "{error:?}");
}

// L-2
#[tokio::test(flavor = "multi_thread")]
async fn contracts_fillers_receipts_batches_and_reverts_work_over_the_pool() {
    let mut world = World::start();
    let address = world.deploy().await;
    let cell = Cell::new(address, world.provider.clone());
    assert_eq!(cell.get().call().await.unwrap(), U256::ZERO);
    for value in [41, 42] {
        let sent = cell.set(U256::from(value)).send().await.unwrap();
        let receipt = world.mined(sent).await;
        assert!(receipt.status());
        assert_eq!(cell.get().call().await.unwrap(), U256::from(value));
    }
    let called = cell.fail().call().await.unwrap_err();
    let data = called.as_revert_data().unwrap();
    assert_eq!(Revert::abi_decode(&data).unwrap().reason, CELL_REASON);

    let account: Address = ACCOUNT.parse().unwrap();
    let mut batch = BatchRequest::new(world.provider.client());
    let number = batch.add_call::<_, U64>("eth_blockNumber", &()).unwrap();
    let nonce = batch
        .add_call::<_, U64>("eth_getTransactionCount", &(account, "latest"))
        .unwrap();
    let refused = batch.add_call::<_, U64>("eth_nonsense", &()).unwrap();
    batch.send().await.unwrap();
    assert_eq!(number.await.unwrap(), U64::from(3));
    assert_eq!(nonce.await.unwrap(), U64::from(3));
    let error = refused.await.unwrap_err();
    assert_eq!(error.as_error_resp().map(|own| own.code), Some(-32601));
}

// L-2, L-5, L-6
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_dies_comes_back_empty_or_on_another_chain_is_never_believed() {
    // With the breaker it is left alone for a while, without it is asked all the time.
    for enabled in [true, false] {
        let mut settings = Settings::default();
        settings.breaker.enabled = enabled;
        changes_places(World::with(settings)).await;
    }
}

async fn changes_places(mut world: World) {
    let address = world.deploy().await;
    let cell = Cell::new(address, world.provider.clone());
    let sent = cell.set(U256::from(41)).send().await.expect("sent");
    let mined = world.mined(sent).await.transaction_hash;
    world.reads(address, 41, mined).await;

    world.chain.kill(0);
    world.reads(address, 41, mined).await;

    let mut empty = world.chain.impostor(0, CHAIN_ID);
    world.reads(address, 41, mined).await;
    world.pool.probe().await;
    world.reads(address, 41, mined).await;
    empty.kill();
    world.reads(address, 41, mined).await;

    let other = world.chain.impostor(0, 5);
    world.reads(address, 41, mined).await;
    let endpoints = world
        .pool
        .check_all(Duration::from_secs(10))
        .await
        .endpoints;
    world.reads(address, 41, mined).await;
    assert!(
        matches!(endpoints[0].identity, Identity::Quarantined { .. }),
        "{:?}",
        endpoints[0].identity
    );
    drop(other);
}
