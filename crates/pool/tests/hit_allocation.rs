//! What an answer from memory allocates: nothing (P-17). Its bytes are shared by a reference count.

use futures_util::{FutureExt, future::BoxFuture};
use highwater::{
    CallOptions, Endpoint, Origin, Pool, Request,
    core::{ChainId, jsonrpc::Params, method, settings::Settings},
    upstream::{RawReply, SendError, Upstream},
};
use http::HeaderMap;
use serde_json::value::RawValue;
use std::{sync::Arc, time::Duration};

const CALL: &str = r#"[{"to":"0x6b175474e89094c44da98b954eedeac495271d0f","data":"0x70a08231000000000000000000000000f39fd6e51aad88f6f4ce6ab8827279cfffb92266"},"latest"]"#;

/// An endpoint at block 100 that answers at once.
struct Node;

impl Upstream for Node {
    fn send(
        &self,
        message: bytes::Bytes,
        _timeout: Duration,
    ) -> BoxFuture<'static, Result<RawReply, SendError>> {
        let text = String::from_utf8_lossy(&message).into_owned();
        let id = text.split(',').nth(1).unwrap_or_default().to_owned();
        let result = if text.contains("eth_chainId") {
            "\"0x1\"".to_owned()
        } else if text.contains("eth_blockNumber") {
            "\"0x64\"".to_owned()
        } else {
            format!("\"0x{:064x}\"", 7)
        };
        let body = format!(r#"{{"jsonrpc":"2.0",{id},"result":{result}}}"#);
        let reply = RawReply {
            status: 200,
            headers: HeaderMap::new(),
            body: body.into(),
        };
        std::future::ready(Ok(reply)).boxed()
    }
}

fn request(method: &'static str, params: &'static str) -> Request<'static> {
    Request {
        method,
        descriptor: method::lookup(method),
        params: Params::Array(params),
    }
}

// P-16, P-17
#[tokio::test(start_paused = true)]
async fn an_answer_from_memory_allocates_nothing() {
    let settings = Settings {
        probe: None,
        ..Settings::default()
    };
    let builder = Pool::builder().chain(ChainId(1)).settings(settings);
    let nodes = (0..5).map(|at| Endpoint::upstream(format!("node-{at}"), Arc::new(Node)));
    let pool = nodes
        .fold(builder, highwater::Builder::endpoint)
        .build()
        .unwrap();
    pool.probe().await;
    let call = || pool.request(request("eth_call", CALL), CallOptions::default());
    let number = || pool.request(request("eth_blockNumber", "[]"), CallOptions::default());
    let first = call().await.unwrap();
    assert_eq!(first.origin(), Origin::Endpoint);
    // The thread's buffer for keys is made by the first look.
    let kept = call().await.unwrap();
    assert_eq!(kept.origin(), Origin::Cache);
    let hit = allocation_counter::measure(|| {
        let hit = call().now_or_never().unwrap().unwrap();
        assert_eq!(hit.origin(), Origin::Cache);
    });
    assert_eq!(hit.count_total, 0, "{hit:?}");
    let params = RawValue::from_string(CALL.to_owned()).unwrap();
    let raw = || pool.request_raw("eth_call", &params, CallOptions::default());
    let hit = allocation_counter::measure(|| {
        let hit = raw().now_or_never().unwrap().unwrap();
        assert_eq!(hit.origin(), Origin::Cache);
        // The bytes that are kept, not a copy.
        assert_eq!(hit.bytes().as_ptr(), kept.bytes().as_ptr());
    });
    assert_eq!(hit.count_total, 0, "{hit:?}");
    let told = allocation_counter::measure(|| {
        let told = number().now_or_never().unwrap().unwrap();
        assert_eq!(told.origin(), Origin::Heads);
    });
    // Its text is written anew each time: the text, and what counts those who hold it.
    assert!(told.count_total <= 2, "{told:?}");
}

#[test]
fn counts_an_allocation_where_there_is_one() {
    let counted = allocation_counter::measure(|| drop(std::hint::black_box(Box::new(7))));
    assert_eq!(counted.count_total, 1);
}
