//! Compute units and money (P-28).

use super::node::{Node, balance, block_number, pool, reading};
use crate::fake::with_profiles;
use highwater::core::{method::lookup, router::Profile};

fn priced(price: Option<f64>) -> Profile {
    Profile {
        price,
        ..Profile::default()
    }
}

// P-28, R-1
#[tokio::test(start_paused = true)]
async fn money_is_units_times_the_price_that_an_endpoint_states() {
    let a = Node::new(100);
    let pool = with_profiles(&[&a.fake], vec![priced(Some(0.5))], reading())
        .build()
        .unwrap();
    pool.probe().await;
    let before = pool.costs();
    for _ in 0..4 {
        balance(&pool, "latest").await;
    }
    block_number(&pool).await;
    let weight = |method| u64::from(lookup(method).weight);
    let costs = pool.costs();
    // One of four balances was asked for, and the newest block was known.
    let spent = costs.units - before.units;
    assert_eq!(spent, weight("eth_getBalance"));
    let spared = 3 * weight("eth_getBalance") + weight("eth_blockNumber");
    assert_eq!(costs.avoided_units, spared);
    let money = |units: u64| Some(units as f64 * 0.5);
    assert_eq!(costs.spent, money(costs.units));
    assert_eq!(costs.avoided, money(spared));
    let one = costs.endpoints["a"];
    assert_eq!((one.units, one.price), (costs.units, Some(0.5)));
    assert_eq!(one.spent, costs.spent);
}

// P-28
#[tokio::test(start_paused = true)]
async fn what_was_spared_is_priced_at_what_a_unit_cost_on_average() {
    let (a, b) = (Node::new(100), Node::new(100));
    let profiles = vec![priced(Some(2.0)), priced(None)];
    let pool = with_profiles(&[&a.fake, &b.fake], profiles, reading())
        .build()
        .unwrap();
    pool.probe().await;
    balance(&pool, "latest").await;
    balance(&pool, "latest").await;
    let costs = pool.costs();
    let (paid, free) = (costs.endpoints["a"], costs.endpoints["b"]);
    assert!(paid.units > 0 && free.units > 0, "{costs:?}");
    assert_eq!((paid.spent, free.spent), (costs.spent, None));
    assert_eq!(costs.spent, Some(2.0 * paid.units as f64));
    let average = 2.0 * paid.units as f64 / (paid.units + free.units) as f64;
    let spared = average * costs.avoided_units as f64;
    assert!((costs.avoided.unwrap() - spared).abs() < 1e-9);
}

// P-28
#[tokio::test(start_paused = true)]
async fn without_a_price_units_are_counted_and_no_money() {
    let a = Node::new(100);
    let pool = pool(&[&a], reading()).await;
    balance(&pool, "latest").await;
    balance(&pool, "latest").await;
    let costs = pool.costs();
    assert!(costs.units > 0 && costs.avoided_units > 0);
    assert_eq!((costs.spent, costs.avoided), (None, None));
}
