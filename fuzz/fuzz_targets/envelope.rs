//! Any bytes as a caller's body: `serde_json` is the judge of what is JSON and what it says, and
//! what is read is what is written.
#![no_main]

use highwater_core::jsonrpc::{
    Call, Fault, FaultKind, Id, Limits, Message, Params, parse, span_of, write_request,
};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, value::RawValue};
use std::borrow::Cow;

const UNLIMITED: Limits = Limits {
    max_depth: usize::MAX,
    max_id: usize::MAX,
    max_batch: usize::MAX,
    strict: false,
};

fuzz_target!(|body: &[u8]| {
    let text = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let is_json = serde_json::from_slice::<Box<RawValue>>(text).is_ok();
    // `None` also for JSON that has no value for serde: lone surrogates, huge numbers, depth.
    let value = serde_json::from_slice::<Value>(text).ok();
    match parse(body, &UNLIMITED) {
        Err(fault) => {
            assert_eq!(fault.id, Id::NULL);
            match fault.kind {
                FaultKind::Parse => assert!(!is_json),
                FaultKind::EmptyBatch => assert_eq!(value, Some(Value::Array(Vec::new()))),
                other => panic!("no fault of a whole body: {other:?}"),
            }
        }
        Ok(Message::Single(request)) => {
            assert!(is_json);
            check(body, &request, value.as_ref());
        }
        Ok(Message::Batch(requests)) => {
            assert!(is_json && !requests.is_empty());
            let values = value
                .as_ref()
                .map(|value| value.as_array().expect("an array"));
            assert!(values.is_none_or(|values| values.len() == requests.len()));
            for (i, request) in requests.iter().enumerate() {
                check(body, request, values.map(|values| &values[i]));
            }
        }
    }
    limited(body);
});

/// Limits may only turn what was fine into a refusal.
fn limited(body: &[u8]) {
    let limits = Limits {
        max_depth: 6,
        max_id: 5,
        max_batch: 3,
        strict: true,
    };
    match (parse(body, &limits), parse(body, &UNLIMITED)) {
        (Ok(Message::Single(Ok(narrow))), Ok(Message::Single(Ok(wide)))) => {
            assert_eq!(narrow, wide);
        }
        (Ok(Message::Single(Ok(_))), other) => panic!("fine only with limits: {other:?}"),
        (Ok(Message::Batch(narrow)), Ok(Message::Batch(wide))) if wide.len() <= 3 => {
            assert_eq!(narrow.len(), wide.len());
        }
        (Ok(Message::Batch(narrow)), Ok(Message::Batch(wide))) => {
            assert!(narrow.len() <= wide.len());
            let refused = |request: &Result<Call<'_>, Fault<'_>>| matches!(request, Err(fault) if fault.kind == FaultKind::BatchTooLarge);
            assert!(narrow.iter().all(refused));
        }
        (Ok(Message::Single(Err(_))), Ok(Message::Single(_))) | (Err(_), _) => {}
        other => panic!("limits changed the kind of message: {other:?}"),
    }
}

fn check(body: &[u8], request: &Result<Call<'_>, Fault<'_>>, value: Option<&Value>) {
    match request {
        Ok(call) => {
            if let Some(id) = call.id {
                assert!(span_of(body, id.as_str()).is_some());
                assert_eq!(Id::from_token(id.as_str()), Some(id));
            }
            if let Cow::Borrowed(method) = call.method {
                assert!(span_of(body, method).is_some());
            }
            rewrite(call);
            if let Some(value) = value {
                same(call, value);
            }
        }
        Err(fault) => {
            if fault.kind != FaultKind::DuplicateMember {
                assert!(value.is_none_or(|value| !is_request(value)));
            }
            assert!(fault.id == Id::NULL || span_of(body, fault.id.as_str()).is_some());
            assert_eq!(Id::from_token(fault.id.as_str()), Some(fault.id));
        }
    }
}

/// What is written to an endpoint says what the caller said.
fn rewrite(call: &Call<'_>) {
    let mut out = String::new();
    write_request(&mut out, 7, &call.method, call.params);
    let Ok(Message::Single(Ok(again))) = parse(out.as_bytes(), &UNLIMITED) else {
        panic!("unreadable")
    };
    assert_eq!(again.id.map(Id::as_str), Some("7"));
    assert_eq!(again.method, call.method);
    match (call.params, again.params) {
        (Params::Absent | Params::Null, Params::Array(none)) => assert_eq!(none, "[]"),
        (Params::Object(object), Params::Array(none)) => {
            assert_eq!(none, "[]");
            let empty: Value = serde_json::from_str(object).expect("JSON");
            assert_eq!(empty, serde_json::json!({}));
        }
        (before, after) => assert_eq!(before, after),
    }
}

/// The call says what `serde_json` reads.
fn same(call: &Call<'_>, value: &Value) {
    assert!(is_request(value));
    assert_eq!(value["method"].as_str(), Some(&*call.method));
    let read = |raw: &str| serde_json::from_str::<Value>(raw).expect("a part of a value");
    assert_eq!(
        value.get("id"),
        call.id.map(|id| read(id.as_str())).as_ref()
    );
    let params = match call.params {
        Params::Absent => None,
        Params::Null => Some(Value::Null),
        Params::Array(raw) | Params::Object(raw) | Params::Scalar(raw) => Some(read(raw)),
    };
    assert_eq!(value.get("params"), params.as_ref());
}

/// The rules, naively.
fn is_request(value: &Value) -> bool {
    let Some(object) = value.as_object() else {
        return false;
    };
    object.get("jsonrpc").is_none_or(|version| version == "2.0")
        && object
            .get("id")
            .is_none_or(|id| id.is_null() || id.is_string() || id.is_number())
        && object
            .get("method")
            .and_then(Value::as_str)
            .is_some_and(|method| !method.is_empty())
}
