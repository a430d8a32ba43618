//! Endpoints that are no URLs: a transport of one's own, and any transport of alloy.
//!
//! `cargo run -p highwater --example custom_upstream`

use alloy_primitives::U64;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use highwater::{
    Endpoint, Pool,
    upstream::{RawReply, SendError, Upstream},
};
use highwater_lab::sockets::{Answer, ScriptedNode};
use http::HeaderMap;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// A node in this process: it moves bytes, and what they mean is the pool's to judge.
struct InProcess;

impl Upstream for InProcess {
    fn send(
        &self,
        message: Bytes,
        _timeout: Duration,
    ) -> BoxFuture<'static, Result<RawReply, SendError>> {
        Box::pin(async move {
            let request: Value = serde_json::from_slice(&message).unwrap_or_default();
            let result = match request["method"].as_str() {
                Some("eth_chainId") => json!("0x1"),
                Some("eth_blockNumber") => json!("0x64"),
                _ => json!("0x7"),
            };
            let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
            Ok(RawReply {
                status: 200,
                headers: HeaderMap::new(),
                body: answer.to_string().into(),
            })
        })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let node = ScriptedNode::start().await;
    node.on("eth_gasPrice").always(Answer::result("\"0x7\""));
    // Any transport of alloy will do; here it is another pool's.
    let below = Pool::builder().chain(1).endpoint(node.url()).build()?;
    let pool = Pool::builder()
        .chain(1)
        .endpoint(Endpoint::upstream("in-process", Arc::new(InProcess)))
        .endpoint(Endpoint::transport("below", below.transport()))
        .build()?;
    let price: U64 = pool.client().request_noparams("eth_gasPrice").await?;
    assert_eq!(price, U64::from(7));
    for endpoint in pool.snapshot().endpoints {
        println!("{}: {} requests", endpoint.label, endpoint.counters.sent);
    }
    Ok(())
}
