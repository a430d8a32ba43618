//! The price of a read that is answered from memory, as a caller of the library pays it: key,
//! freshness, floor, answer. Goal (P-17): under 1 µs for a typical `eth_call`.
#![allow(missing_docs, reason = "criterion's macros make public functions")]

use criterion::{Criterion, criterion_group, criterion_main};
use futures_util::{FutureExt, future::BoxFuture};
use highwater::{
    CallOptions, Endpoint, Origin, Pool, Request,
    core::{ChainId, heads::HeadSettings, jsonrpc::Params, method, settings::Settings},
    upstream::{RawReply, SendError, Upstream},
};
use http::HeaderMap;
use std::{hint::black_box, sync::Arc, time::Duration};

const CALL: &str = r#"[{"to":"0x6b175474e89094c44da98b954eedeac495271d0f","data":"0x70a08231000000000000000000000000f39fd6e51aad88f6f4ce6ab8827279cfffb92266"},"latest"]"#;
const HOUR: Duration = Duration::from_secs(3600);

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
        async move {
            Ok(RawReply {
                status: 200,
                headers: HeaderMap::new(),
                body: body.into(),
            })
        }
        .boxed()
    }
}

fn pool(endpoints: usize) -> Pool {
    let mut settings = Settings {
        probe: None,
        race: 0,
        heads: Some(HeadSettings {
            block_time: Some(HOUR),
            stale: HOUR,
            ..HeadSettings::default()
        }),
        ..Settings::default()
    };
    if let Some(pin) = &mut settings.reads.pin {
        pin.fresh = HOUR;
    }
    if let Some(cache) = &mut settings.reads.cache {
        cache.max_age = HOUR;
    }
    let builder = Pool::builder().chain(ChainId(1)).settings(settings).seed(1);
    let nodes = (0..endpoints).map(|at| Endpoint::upstream(format!("node-{at}"), Arc::new(Node)));
    nodes
        .fold(builder, highwater::Builder::endpoint)
        .build()
        .expect("the settings are in range")
}

fn request(name: &'static str, params: &'static str) -> Request<'static> {
    Request {
        method: name,
        descriptor: method::lookup(name),
        params: Params::Array(params),
    }
}

fn hits(c: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let mut group = c.benchmark_group("hit");
    for endpoints in [1, 5] {
        let pool = pool(endpoints);
        let ask = |request| pool.request(request, CallOptions::default());
        let name = format!("eth_call/{endpoints}");
        runtime.block_on(async {
            for _ in 0..endpoints {
                pool.probe().await;
            }
            pool.check_all(HOUR).await;
            pool.probe().await;
            for _ in 0..2 {
                ask(request("eth_call", CALL)).await.expect("an answer");
            }
            let again = ask(request("eth_call", CALL)).await.expect("an answer");
            assert_eq!(again.origin(), Origin::Cache);
        });
        group.bench_function(&name, |b| {
            let _entered = runtime.enter();
            b.iter(|| {
                let answer = ask(black_box(request("eth_call", CALL)));
                answer.now_or_never().expect("a hit waits for nothing")
            });
        });
        let name = format!("eth_blockNumber/{endpoints}");
        group.bench_function(&name, |b| {
            let _entered = runtime.enter();
            b.iter(|| {
                let answer = ask(black_box(request("eth_blockNumber", "[]")));
                answer.now_or_never().expect("the heads know it")
            });
        });
    }
    group.finish();
}

criterion_group!(benches, hits);
criterion_main!(benches);
