//! Clients and providers over a pool.

use crate::fake::{Fake, Reply, builder, ms, pool, s, still};
use alloy_network::Ethereum;
use alloy_primitives::{Address, B256, U256};
use alloy_provider::{Provider, ProviderBuilder};
use highwater::{
    Pool,
    core::{ChainId, settings::Settings},
};

// L-2
#[tokio::test(start_paused = true)]
async fn a_provider_asks_whoever_serves_best() {
    let (bad, good) = (Fake::new(), Fake::at(0x65));
    bad.everything(Some(Reply::refused()));
    good.on("eth_getBalance", Reply::result("\"0xde0b6b3a7640000\""));
    let pool = pool(&[&bad, &good], still());
    let provider = pool.provider::<Ethereum>();
    assert_eq!(provider.get_block_number().await.unwrap(), 0x65);
    let balance = provider.get_balance(Address::ZERO).await.unwrap();
    assert_eq!(balance, U256::from(10_u64.pow(18)));
}

// L-2
#[tokio::test(start_paused = true)]
async fn one_line_takes_the_place_of_a_url() {
    let fake = Fake::new();
    let pool = pool(&[&fake], still());
    let provider = ProviderBuilder::new().connect_client(pool.client());
    assert_eq!(provider.get_chain_id().await.unwrap(), 1);
    let provider = ProviderBuilder::new().connect_with(&pool).await.unwrap();
    assert_eq!(provider.get_block_number().await.unwrap(), 100);
}

// L-2
#[tokio::test(start_paused = true)]
async fn a_null_result_is_data() {
    let fake = Fake::new();
    fake.on("eth_getTransactionByHash", Reply::result("null"));
    let provider = pool(&[&fake], still()).provider::<Ethereum>();
    let found = provider.get_transaction_by_hash(B256::ZERO).await.unwrap();
    assert_eq!(found, None);
}

// L-2
#[test]
fn a_client_polls_twice_a_block() {
    let fake = Fake::new();
    let of = |chain| {
        let endpoint = crate::fake::endpoint(&fake, "a");
        let builder = Pool::builder().chain(ChainId(chain)).endpoint(endpoint);
        builder.build().unwrap()
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let _entered = runtime.as_ref().unwrap().enter();
    assert_eq!(of(1).client().poll_interval(), s(6));
    assert_eq!(of(137).client().poll_interval(), s(1));
    assert_eq!(of(42_161).client().poll_interval(), ms(125));
    assert_eq!(of(4_294_967_295).client().poll_interval(), s(4));
}

// L-1, L-2
#[tokio::test(start_paused = true)]
async fn a_transport_keeps_its_pool_open_and_a_closed_pool_sends_nothing() {
    let fake = Fake::new();
    let pool = builder(&[&fake], Settings::default()).build().unwrap();
    let provider = pool.provider::<Ethereum>();
    drop(pool.clone());
    assert_eq!(provider.get_chain_id().await.unwrap(), 1);
    let sent = fake.seen().len();
    pool.close();
    let error = provider.get_chain_id().await.unwrap_err();
    let closed = highwater::Error::from_transport(&error);
    assert_eq!(closed, Some(&highwater::Error::Closed));
    assert!(error.as_transport_err().unwrap().is_non_retryable());
    assert_eq!(fake.seen().len(), sent);
}
