//! The price of what is decided from a method's name and parameters.
//! Goals: an exact name under 40 ns, the whole key of a typical `eth_call` under 500 ns.
#![allow(missing_docs, reason = "criterion's macros make public functions")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use highwater_core::method::{Resolve, canonical_key, find, lookup, lookup_folded, rewrite};
use std::hint::black_box;

const CALL: &str = r#"[{"to":"0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48","data":"0x70a08231000000000000000000000000742d35cc6634c0532925a3b844bc454e4438f44e"},"latest"]"#;
const BALANCE: &str = r#"["0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48","latest"]"#;
const LOGS: &str = r#"[{"address":"0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48","topics":["0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",null,["0x000000000000000000000000742d35cc6634c0532925a3b844bc454e4438f44e"]],"fromBlock":"0x10d4f00"}]"#;

fn cases() -> Vec<(&'static str, &'static str, String)> {
    let wide = format!(
        r#"[{{"to":"0x1","data":"0x{}"}},"latest"]"#,
        "ab".repeat(5_000)
    );
    vec![
        ("eth_call", "eth_call", CALL.to_owned()),
        ("eth_call_10kB", "eth_call", wide),
        ("eth_getBalance", "eth_getBalance", BALANCE.to_owned()),
        ("eth_getLogs", "eth_getLogs", LOGS.to_owned()),
    ]
}

fn names(c: &mut Criterion) {
    let mut group = c.benchmark_group("lookup");
    for name in [
        "eth_call",
        "eth_getTransactionByBlockNumberAndIndex",
        "debug_foo",
        "klay_call",
        "nobody",
    ] {
        group.bench_function(name, |b| b.iter(|| lookup(black_box(name)).weight));
    }
    group.bench_function("folded/eth_call", |b| {
        b.iter(|| lookup_folded(black_box("eth_call")).1);
    });
    group.bench_function("folded/ETH_CALL", |b| {
        b.iter(|| lookup_folded(black_box("ETH_CALL")).1);
    });
    group.finish();
}

fn blocks(c: &mut Criterion) {
    for what in ["find", "rewrite"] {
        let mut group = c.benchmark_group(what);
        for (name, method, params) in cases() {
            let row = lookup(method);
            let mut out = String::new();
            group.throughput(Throughput::Bytes(params.len() as u64));
            group.bench_function(name, |b| match what {
                "find" => b.iter(|| find(row, black_box(&params)).wants_pin()),
                _ => b.iter(|| {
                    out.clear();
                    rewrite(row, black_box(&params), 0x10d_4f64, &mut out)
                }),
            });
        }
        group.finish();
    }
}

fn keys(c: &mut Criterion) {
    let mut group = c.benchmark_group("key");
    let mut buf = Vec::new();
    for (name, method, params) in cases() {
        let row = lookup(method);
        group.throughput(Throughput::Bytes(params.len() as u64));
        let found = find(row, &params);
        group.bench_function(format!("{name}/body_and_seal"), |b| {
            b.iter(|| {
                buf.clear();
                let body = canonical_key(&found, black_box(method), black_box(&params), &mut buf);
                body.seal(&found, &params, Resolve::At(0x10d_4f64), &mut buf);
                buf.len()
            });
        });
        group.bench_function(format!("{name}/whole"), |b| {
            b.iter(|| {
                buf.clear();
                let method = black_box(method);
                let found = find(lookup(method), black_box(&params));
                let body = canonical_key(&found, method, &params, &mut buf);
                body.seal(&found, &params, Resolve::Tagless, &mut buf);
                buf.len()
            });
        });
    }
    let found = find(lookup("eth_call"), CALL);
    let body = canonical_key(&found, "eth_call", CALL, &mut buf);
    group.bench_function("eth_call/seal_again", |b| {
        b.iter(|| {
            body.seal(&found, CALL, black_box(Resolve::At(7)), &mut buf);
            buf.len()
        });
    });
    group.finish();
}

criterion_group!(benches, names, blocks, keys);
criterion_main!(benches);
