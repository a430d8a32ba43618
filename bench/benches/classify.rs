//! The price of judging an answer: usual errors, and bodies made to be expensive.
#![allow(missing_docs, reason = "criterion's macros make public functions")]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use highwater_core::classify::{Classifier, Evidence};

const PARAMS: &str = r#"[{"fromBlock":"0x18b0000","toBlock":"0x18c0000","address":"0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"}]"#;

fn error(code: i64, message: &str, rest: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":"{message}"{rest}}}}}"#)
}

fn usual(c: &mut Criterion) {
    let classifier = Classifier::new(&[]).expect("the built-in table compiles");
    let range = error(
        -32600,
        "You can make eth_getLogs requests with up to a 10 block range. Based on your parameters, this block range should work: [0x18b0000, 0x18b0009]",
        "",
    );
    let revert = error(
        3,
        "execution reverted: transfer amount exceeds balance",
        r#","data":"0x08c379a000000000000000000000000000000000000000000000000000000000000000200000000000000000000000000000000000000000000000000000000000000004706f6f7200000000000000000000000000000000000000000000000000000000""#,
    );
    let limit = error(
        -32005,
        "rate limit exceeded, please upgrade your plan or try again in 4ms",
        r#","data":null"#,
    );
    let behind = error(-32000, "header not found", "");
    let unknown = error(
        -32000,
        "the frobnicator of this server is jammed since this morning and nobody knows why",
        "",
    );
    let mut group = c.benchmark_group("classify");
    for (name, method, params, body) in [
        ("range_limit_200_bytes", "eth_getLogs", PARAMS, &range),
        ("revert_with_data", "eth_call", "[]", &revert),
        ("rate_limit", "eth_call", "[]", &limit),
        (
            "header_not_found",
            "eth_getBalance",
            r#"["0x1111111111111111111111111111111111111111","0x1406f41"]"#,
            &behind,
        ),
        ("unknown_text", "eth_call", "[]", &unknown),
    ] {
        group.bench_function(name, |b| {
            b.iter(|| {
                let evidence = Evidence {
                    params,
                    head: Some(26_000_000),
                    ..Evidence::new(method, 200, body.as_bytes())
                };
                black_box(classifier.classify(black_box(&evidence)))
            });
        });
    }
    group.finish();
}

fn hostile(c: &mut Criterion) {
    const SIZE: usize = 10_000_000;
    let classifier = Classifier::new(&[]).expect("the built-in table compiles");
    let bodies = [
        (
            "ten_mb_of_words",
            error(-32000, &"block range exceed limit ".repeat(SIZE / 25), ""),
        ),
        (
            "ten_mb_of_quotes",
            format!(r#"{{"error":[{}""]}}"#, r#""","#.repeat(SIZE / 3)),
        ),
        (
            "ten_mb_of_braces",
            format!("{}{}", "[".repeat(SIZE / 2), "]".repeat(SIZE / 2)),
        ),
        (
            "ten_mb_of_escapes",
            error(-32000, &r"\u0041".repeat(SIZE / 6), ""),
        ),
        (
            "ten_mb_of_objects",
            format!(r#"{{"error":[{}0]}}"#, r#"{"code":1},"#.repeat(SIZE / 11)),
        ),
        (
            "ten_mb_of_data",
            error(
                3,
                "execution reverted",
                &format!(r#","data":"0x{}""#, "ab".repeat(SIZE / 2)),
            ),
        ),
        (
            "ten_mb_cut",
            format!(
                r#"{{"error":{{"message":"{}"#,
                "{\\\"a\\\":".repeat(SIZE / 7)
            ),
        ),
        (
            "ten_mb_of_html",
            format!("<html>{}", "rate limit ".repeat(SIZE / 11)),
        ),
        (
            "ten_mb_of_members",
            format!(r#"{{{}"a":1}}"#, r#""error":1,"#.repeat(SIZE / 10)),
        ),
    ];
    let mut group = c.benchmark_group("classify_hostile");
    group.sample_size(10);
    for (name, body) in &bodies {
        group.bench_function(*name, |b| {
            b.iter(|| {
                let evidence = Evidence {
                    params: PARAMS,
                    ..Evidence::new("eth_getLogs", 200, body.as_bytes())
                };
                black_box(classifier.classify(black_box(&evidence)))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, usual, hostile);
criterion_main!(benches);
