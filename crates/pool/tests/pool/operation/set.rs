//! Several networks in one manager (L-5).

use super::numbered;
use crate::fake::{endpoint, still};
use alloy_provider::Provider;
use highwater::{Network, OperationError, OperationOptions, Pool, PoolSet, core::ChainId};

fn set() -> PoolSet {
    let of = |chain: u64, number: usize| {
        let fakes = numbered(number + 1);
        let chain_id = crate::fake::Reply::result(format!("\"{chain:#x}\""));
        fakes[number].on("eth_chainId", chain_id);
        let builder = Pool::builder().chain(chain).settings(still());
        builder.endpoint(endpoint(&fakes[number], "a")).build()
    };
    PoolSet::new([of(1, 3).unwrap(), of(8453, 7).unwrap()]).unwrap()
}

// L-5
#[tokio::test(start_paused = true)]
async fn a_network_is_named_by_its_id_or_by_its_name() {
    let set = set();
    for (network, price) in [
        (Network::from(1), 3),
        (Network::from("ethereum"), 3),
        (Network::from(ChainId(8453)), 7),
        (Network::from("Base"), 7),
        (Network::from("8453"), 7),
    ] {
        let got = set.execute_with_retry(network, OperationOptions::default(), async |provider| {
            provider.get_gas_price().await
        });
        assert_eq!(got.await.unwrap(), price);
        let got = set.execute_once(network, OperationOptions::default(), async |provider| {
            provider.get_gas_price().await
        });
        assert_eq!(got.await.unwrap(), price);
    }
    let chains: Vec<_> = set.iter().map(|(chain, _)| chain.0).collect();
    assert_eq!(chains, [1, 8453]);
}

// L-5
#[tokio::test(start_paused = true)]
async fn an_unknown_network_is_a_typed_error_and_sends_nothing() {
    let set = set();
    for (network, said) in [
        (Network::from(5), "5"),
        (Network::from("nowhere"), "nowhere"),
    ] {
        let got = set.execute_with_retry(network, OperationOptions::default(), async |provider| {
            provider.get_gas_price().await
        });
        let error = got.await.unwrap_err();
        let OperationError::UnknownNetwork(unknown) = error else {
            panic!("{error:?}")
        };
        assert_eq!(unknown.network, said);
        assert_eq!(set.get(network).unwrap_err(), unknown);
    }
}

// L-1, L-5
#[tokio::test(start_paused = true)]
async fn closing_the_set_closes_every_pool() {
    let set = set();
    set.close();
    let got = set.execute_with_retry(1, OperationOptions::default(), async |provider| {
        provider.get_gas_price().await
    });
    assert!(matches!(got.await, Err(OperationError::Closed)));
}

// L-5
#[test]
fn a_set_refuses_pools_without_a_chain_and_two_of_one_chain() {
    let pool = |chain: Option<u64>| {
        let builder = Pool::builder().endpoint("https://node.example");
        let builder = chain.map_or(builder.clone(), |chain| builder.chain(chain));
        builder.build().unwrap()
    };
    let nameless = PoolSet::new([pool(None)]).unwrap_err();
    assert_eq!(nameless.field, "chain");
    let twice = PoolSet::new([pool(Some(1)), pool(Some(1))]).unwrap_err();
    assert_eq!(twice.to_string(), "chain: two pools are for the chain 1");
}
