use serde_json::{Value, json};

use super::{CATALOGUE, built_in, entries, judge};

/// A code that no rule names.
const NEUTRAL: i64 = -39_998;

/// The lines that have their class from the code, because the text does not say it.
const DECIDED_BY_CODE: &[&str] = &[
    "wallet-4100",
    "wallet-4901",
    "reth-sync-send-timeout",
    "monad-tx-unready",
];

fn without_codes(value: &mut Value) -> bool {
    match value {
        Value::Object(members) => {
            let mut found = false;
            for (name, member) in members.iter_mut() {
                if name == "code" && (member.is_number() || member.is_string()) {
                    *member = NEUTRAL.into();
                    found = true;
                } else if name != "result" {
                    found |= without_codes(member);
                }
            }
            found
        }
        Value::Array(elements) => elements.iter_mut().fold(false, |f, e| without_codes(e) | f),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

// R-37, semantics §6.1: the numeric code almost never decides; the rows where it does are few and known.
#[test]
fn few_rows_change_their_class_without_the_code() {
    let classifier = built_in();
    let mut changed = Vec::new();
    let mut stripped = 0;
    for mut entry in entries(CATALOGUE) {
        let Some(mut body) = entry["body"]
            .as_str()
            .and_then(|b| serde_json::from_str::<Value>(b).ok())
        else {
            continue;
        };
        if !without_codes(&mut body) {
            continue;
        }
        stripped += 1;
        entry["body"] = Value::String(body.to_string());
        if judge(&classifier, &entry)["class"] != entry["class"] {
            changed.push(entry["id"].as_str().unwrap_or_default().to_owned());
        }
    }
    println!(
        "{stripped} rows without their code, {} change: {changed:?}",
        changed.len()
    );
    assert_eq!(changed, DECIDED_BY_CODE);
}

// EIP-1474's words for what is not there are no fault; a caller's bad hash ejects nobody.
#[test]
fn what_is_not_there_in_the_words_of_the_standard_is_no_fault() {
    let classifier = built_in();
    let hash = format!("0x{}", "ab".repeat(32));
    for (method, params, code, text, class) in [
        (
            "eth_call",
            json!([{}, {"blockHash": hash}]),
            -32_001,
            "Resource not found",
            "behind",
        ),
        (
            "debug_traceBlockByHash",
            json!([hash]),
            -32_001,
            "Resource not found",
            "behind",
        ),
        (
            "eth_getBalance",
            json!(["0x1", "0x2710"]),
            -32_001,
            "Requested resource not found",
            "behind",
        ),
        (
            "eth_getBalance",
            json!(["0x1", "0x5"]),
            -32_001,
            "resource not found",
            "missing_history",
        ),
        // Without the code it may be a page that is not there.
        (
            "eth_call",
            json!([{}, "latest"]),
            -32_603,
            "Resource not found",
            "internal",
        ),
        (
            "eth_sendRawTransaction",
            json!(["0x02"]),
            -32_001,
            "Resource not found",
            "internal",
        ),
    ] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": text}});
        let entry = json!({
            "http_status": 200, "method": method, "request_params": params, "body": body.to_string(),
            "context": {"request_id": 1, "head_block": 10_000},
        });
        let got = judge(&classifier, &entry);
        assert_eq!(got["class"], class, "{method} {params} {text}");
        assert_eq!(
            got["counts_against_endpoint"],
            class == "internal",
            "{method}"
        );
    }
}
