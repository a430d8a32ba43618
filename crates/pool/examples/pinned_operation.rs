//! Several reads that must fit together, against one endpoint; it fails half-way, and they start
//! again against another.
//!
//! `cargo run -p highwater --example pinned_operation`

use alloy_primitives::Address;
use alloy_provider::Provider;
use highwater::{AttemptError, OperationOptions, Pool, PoolSet};
use highwater_lab::sockets::{Answer, ScriptedNode};

/// What our own code may object to; it ends the operation.
#[derive(Debug, thiserror::Error)]
#[error("the account is empty")]
struct Empty;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let nodes = [ScriptedNode::start().await, ScriptedNode::start().await];
    for node in &nodes {
        node.on("eth_getBalance").always(Answer::result("\"0x2a\""));
    }
    nodes[0]
        .on("eth_getTransactionCount")
        .always(Answer::close());
    nodes[1]
        .on("eth_getTransactionCount")
        .always(Answer::result("\"0x7\""));
    let ethereum = Pool::builder()
        .chain("ethereum")
        .endpoint(nodes[0].url())
        .endpoint(nodes[1].url())
        .build()?;
    let networks = PoolSet::new([ethereum])?;

    let options = OperationOptions {
        one_block: true,
        ..OperationOptions::default()
    };
    let account = Address::ZERO;
    let state = networks.execute_with_retry("ethereum", options, async |provider| {
        // `?` hands the provider's own errors on: those of the endpoint start this again elsewhere.
        let block = provider.get_block_number().await?;
        let balance = provider.get_balance(account).await?;
        let nonce = provider.get_transaction_count(account).await?;
        if balance.is_zero() {
            return Err(AttemptError::App(Empty));
        }
        Ok((block, balance, nonce))
    });
    let (block, balance, nonce) = state.await?;
    println!("at block {block}: {balance} wei, nonce {nonce}");
    assert_eq!(nonce, 7);

    // What must not be done twice runs once.
    let id = networks.execute_once(1, OperationOptions::default(), async |provider| {
        provider.get_chain_id().await
    });
    assert_eq!(id.await?, 1);
    Ok(())
}
