//! Any bytes as an endpoint's answer, under any status, to any of the usual methods: a verdict or a
//! good answer, never a panic, and a revert keeps its class whatever its reason says.
#![no_main]

use highwater_core::classify::{Class, Evidence, classify, retry_after};
use highwater_core::jsonrpc::{Reply, parse_reply};
use libfuzzer_sys::fuzz_target;
use std::time::SystemTime;

const METHODS: [&str; 8] = [
    "eth_call",
    "eth_getLogs",
    "eth_sendRawTransaction",
    "eth_getBalance",
    "eth_subscribe",
    "debug_traceBlockByNumber",
    "eth_getFilterChanges",
    "<batch>",
];
const STATUSES: [u16; 8] = [200, 204, 301, 403, 404, 429, 500, 503];

fuzz_target!(|input: &[u8]| {
    let Some((&selector, body)) = input.split_first() else {
        return;
    };
    let method = METHODS[usize::from(selector & 7)];
    let status = STATUSES[usize::from(selector >> 3 & 7)];
    let text = std::str::from_utf8(body).unwrap_or("");
    let header = |name: &str| (name == "retry-after").then_some(text);
    let evidence = Evidence {
        // The same bytes as parameters: they come from callers.
        params: text,
        head: (selector & 0x80 != 0).then_some(21_000_000),
        headers: &header,
        ..Evidence::new(method, status, body)
    };
    let verdict = classify(&evidence);
    // What has no class must be what the hot path calls a good answer.
    if verdict.is_none() && method != Evidence::BATCH {
        let trimmed = body.trim_ascii();
        let trimmed = trimmed.strip_prefix(b"\xef\xbb\xbf").unwrap_or(trimmed);
        assert!(matches!(parse_reply(trimmed, 1), Ok(Reply::Result(_))));
    }
    let _ = retry_after(text, SystemTime::UNIX_EPOCH);

    let message: String = text
        .chars()
        .filter(|c| !c.is_control() && !matches!(c, '"' | '\\'))
        .collect();
    let revert = format!(
        r#"{{"id":1,"error":{{"code":-32000,"message":"execution reverted: {message}"}}}}"#
    );
    let verdict = classify(&Evidence::new("eth_call", 200, revert.as_bytes())).expect("an error");
    assert_eq!(verdict.class, Class::ExecutionRevert);
    assert!(!verdict.counts_against_endpoint && !verdict.retry_other_endpoint);
});
