//! Providers that are bound to one endpoint (L-5).

use super::{numbered, pool};
use crate::fake::{Reply, endpoint, s};
use alloy_primitives::U64;
use alloy_provider::Provider;
use alloy_rpc_client::PollerBuilder;
use highwater::{PinnedError, PinnedFault};

// L-5
#[tokio::test(start_paused = true)]
async fn it_asks_its_endpoint_whatever_becomes_of_it() {
    let fakes = numbered(2);
    fakes[1].on("eth_gasPrice", Reply::reset());
    let pool = pool(&fakes);
    let fixed = pool.fixed("b").unwrap();
    assert_eq!(fixed.endpoint(), "b");
    for _ in 0..5 {
        let error = fixed.get_gas_price().await.unwrap_err();
        let fault = &PinnedError::from_transport(&error).unwrap().fault;
        assert!(matches!(fault, PinnedFault::Failed(_)));
    }
    assert_eq!(fakes[1].count("eth_gasPrice"), 5, "ejected, and asked");
    assert_eq!(fakes[0].sent(), 0);
    super::price(&fakes[1], 8);
    assert_eq!(fixed.get_gas_price().await.unwrap(), 8);
    assert_eq!(fakes[1].count("eth_chainId"), 1);
}

// L-5
#[tokio::test(start_paused = true)]
async fn an_unknown_label_is_a_typed_error() {
    let error = pool(&numbered(1)).fixed("z").unwrap_err();
    assert_eq!(error.0, "z");
    assert_eq!(error.to_string(), "no endpoint is called \"z\"");
}

// L-5, L-1
#[tokio::test(start_paused = true)]
async fn its_pollers_go_on_after_operations_and_end_with_the_pool() {
    let fakes = numbered(1);
    fakes[0].on("eth_getBlockByNumber", Reply::result("null"));
    let pool = pool(&fakes);
    let fixed = pool.fixed("a").unwrap();
    let client = fixed.rpc_client();
    let mut poller: PollerBuilder<(), U64> = client.prepare_static_poller("eth_blockNumber", ());
    poller = poller.with_poll_interval(s(1));
    let mut blocks = poller.spawn();
    for _ in 0..3 {
        assert_eq!(blocks.recv().await.unwrap().to::<u64>(), 100);
    }
    pool.close();
    let asked = fakes[0].count("eth_blockNumber");
    tokio::time::sleep(s(60)).await;
    assert_eq!(fakes[0].count("eth_blockNumber"), asked);
    let error = fixed.get_gas_price().await.unwrap_err();
    let fault = &PinnedError::from_transport(&error).unwrap().fault;
    assert_eq!(*fault, PinnedFault::Closed);
}

// L-5, L-1
#[tokio::test(start_paused = true)]
async fn it_does_not_keep_its_pool_open() {
    let fakes = numbered(1);
    let pool = pool(&fakes);
    let fixed = pool.fixed("a").unwrap();
    fixed.get_gas_price().await.unwrap();
    drop(pool);
    let error = fixed.get_gas_price().await.unwrap_err();
    let fault = &PinnedError::from_transport(&error).unwrap().fault;
    assert_eq!(*fault, PinnedFault::Closed);
    assert_eq!(fakes[0].count("eth_gasPrice"), 1);
}

// L-5, L-10
#[tokio::test(start_paused = true)]
async fn it_sends_nothing_to_an_endpoint_that_has_left() {
    let fakes = numbered(2);
    let pool = pool(&fakes);
    let fixed = pool.fixed("a").unwrap();
    let only = vec![endpoint(&fakes[1], "b")];
    pool.replace_endpoints(only, None).unwrap();
    let error = fixed.get_gas_price().await.unwrap_err();
    let fault = &PinnedError::from_transport(&error).unwrap().fault;
    assert_eq!(*fault, PinnedFault::Stopped);
    assert_eq!(fakes[0].seen().len(), 0);
}

// L-5, R-19
#[tokio::test(start_paused = true)]
async fn it_sends_nothing_to_another_chain() {
    let fakes = numbered(1);
    fakes[0].on("eth_chainId", Reply::result("\"0x5\""));
    let fixed = pool(&fakes);
    let fixed = (fixed.fixed("a").unwrap(), fixed);
    let error = fixed.0.get_gas_price().await.unwrap_err();
    let fault = &PinnedError::from_transport(&error).unwrap().fault;
    assert_eq!(*fault, PinnedFault::WrongChain);
    assert_eq!(fakes[0].sent(), 0);
}
