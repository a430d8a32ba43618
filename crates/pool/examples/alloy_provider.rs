//! A program written with alloy: a pool in the place of one URL.
//!
//! `cargo run -p highwater --example alloy_provider`

use alloy_primitives::{Address, U256};
use alloy_provider::{Provider, ProviderBuilder};
use highwater::{CallOptions, Error, Pool, PoolCallExt};
use highwater_lab::sockets::{Answer, ScriptedNode};
use std::time::Duration;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let node = ScriptedNode::start().await;
    node.on("eth_getBalance").always(Answer::result("\"0x2a\""));
    let revert = r#"{"code":3,"message":"execution reverted: too late","data":"0x08c379a0"}"#;
    node.on("eth_estimateGas")
        .always(Answer::error_json(revert));

    let pool = Pool::builder().chain(1).endpoint(node.url()).build()?;
    // Before: ProviderBuilder::new().connect_http(url)
    let provider = ProviderBuilder::new().connect_client(pool.client());
    let balance = provider.get_balance(Address::ZERO).await?;
    assert_eq!(balance, U256::from(42));

    // An endpoint's own error is alloy's, its code, message and data as they came.
    let estimate = provider.estimate_gas(Default::default()).await;
    let error = estimate.err().ok_or("it should revert")?;
    println!("{:?}", error.as_error_resp());
    assert!(Error::from_transport(&error).is_none());

    // One call with options of its own.
    let call = provider
        .client()
        .request::<_, U256>("eth_getBalance", (Address::ZERO, "latest"));
    let hasty = CallOptions {
        deadline: Some(Duration::from_secs(2)),
        bypass_cache: true,
        ..CallOptions::default()
    };
    println!("balance {}", call.pool(hasty).await?);

    // What the pool itself cannot do is told as its own error.
    pool.close();
    let closed = provider.get_balance(Address::ZERO).await;
    let closed = closed.err().ok_or("it should be closed")?;
    assert_eq!(Error::from_transport(&closed), Some(&Error::Closed));
    Ok(())
}
