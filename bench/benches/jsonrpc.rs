//! The price of reading and writing envelopes, beside what `serde_json` takes for the same job
//! (borrowing, raw values, no depth limit, no duplicate check of ours).
#![allow(missing_docs, reason = "criterion's macros make public functions")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use highwater_core::jsonrpc::{
    Id, Limits, Message, Params, parse, parse_reply, split_batch_reply, write_request, write_result,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::{borrow::Cow, hint::black_box};

#[derive(Deserialize)]
#[expect(dead_code, reason = "read by nobody: only the parsing is measured")]
struct SerdeCall<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "read by nobody: only the parsing is measured")]
struct SerdeReply<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

fn eth_call(id: usize) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"eth_call","params":[{{"to":"0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48","data":"0x70a08231000000000000000000000000742d35cc6634c0532925a3b844bc454e4438f44e"}},"latest"]}}"#
    )
}

fn log(i: usize) -> String {
    let topic = format!("0x{i:064x}");
    format!(
        r#"{{"address":"0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48","topics":["{topic}","{topic}"],"data":"{topic}","blockNumber":"0x10d4f{i:02x}","transactionHash":"{topic}","transactionIndex":"0x{i:x}","blockHash":"{topic}","logIndex":"0x{i:x}","removed":false}}"#
    )
}

/// `eth_getLogs` of about 60 kB: many members, many short strings.
fn logs_reply() -> String {
    let logs: Vec<_> = (0..100).map(log).collect();
    format!(
        r#"{{"jsonrpc":"2.0","id":7,"result":[{}]}}"#,
        logs.join(",")
    )
}

fn long_text(len: usize) -> String {
    format!("\"0x{}\"", "ab".repeat(len / 2))
}

fn requests(c: &mut Criterion) {
    let limits = Limits::default();
    let single = eth_call(7);
    let batch = format!("[{}]", (0..10).map(eth_call).collect::<Vec<_>>().join(","));
    let large = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"eth_sendRawTransaction","params":[{}]}}"#,
        long_text(60_000)
    );
    let mut group = c.benchmark_group("envelope");
    for (name, body) in [
        ("eth_call", &single),
        ("batch_of_10", &batch),
        ("params_60kB", &large),
    ] {
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(name, |b| {
            b.iter(|| parse(black_box(body.as_bytes()), &limits));
        });
    }
    group.bench_function("eth_call/serde_json", |b| {
        b.iter(|| serde_json::from_slice::<SerdeCall<'_>>(black_box(single.as_bytes())).is_ok());
    });
    group.bench_function("params_60kB/serde_json", |b| {
        b.iter(|| serde_json::from_slice::<SerdeCall<'_>>(black_box(large.as_bytes())).is_ok());
    });
    group.finish();
}

fn replies(c: &mut Criterion) {
    let small = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{}}}"#, long_text(108));
    let error = r#"{"jsonrpc":"2.0","id":7,"error":{"code":3,"message":"execution reverted: ERC20: transfer amount exceeds balance","data":"0x08c379a0"}}"#;
    let logs = logs_reply();
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":7,"result":{}}}"#,
        long_text(60_000)
    );
    let batch: Vec<_> = (0..10)
        .map(|id| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"0x1"}}"#))
        .collect();
    let batch = format!("[{}]", batch.join(","));
    let mut group = c.benchmark_group("reply");
    for (name, body) in [
        ("result_150B", small.as_str()),
        ("error", error),
        ("logs_60kB", &logs),
        ("text_60kB", &long),
    ] {
        assert!(parse_reply(body.as_bytes(), 7).is_ok());
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(name, |b| {
            b.iter(|| parse_reply(black_box(body.as_bytes()), 7));
        });
        group.bench_function(format!("{name}/serde_json"), |b| {
            b.iter(|| serde_json::from_slice::<SerdeReply<'_>>(black_box(body.as_bytes())).is_ok());
        });
    }
    group.throughput(Throughput::Bytes(batch.len() as u64));
    group.bench_function("batch_of_10", |b| {
        let ids: Vec<u64> = (0..10).collect();
        b.iter(|| split_batch_reply(black_box(batch.as_bytes()), &ids));
    });
    group.finish();
}

fn writes(c: &mut Criterion) {
    let body = eth_call(7);
    let Ok(Message::Single(Ok(call))) = parse(body.as_bytes(), &Limits::default()) else {
        panic!("a call");
    };
    let result = long_text(108);
    let mut sent = String::with_capacity(4096);
    let mut out = Vec::with_capacity(4096);
    let mut group = c.benchmark_group("write");
    group.bench_function("request", |b| {
        b.iter(|| {
            sent.clear();
            write_request(&mut sent, black_box(1234), &call.method, call.params);
            sent.len()
        });
    });
    group.bench_function("request_without_params", |b| {
        b.iter(|| {
            sent.clear();
            write_request(
                &mut sent,
                black_box(1234),
                "eth_blockNumber",
                Params::Absent,
            );
            sent.len()
        });
    });
    group.bench_function("result", |b| {
        b.iter(|| {
            out.clear();
            write_result(
                &mut out,
                black_box(call.id.unwrap_or(Id::NULL)),
                result.as_bytes(),
            );
            out.len()
        });
    });
    group.finish();
}

criterion_group!(benches, requests, replies, writes);
criterion_main!(benches);
