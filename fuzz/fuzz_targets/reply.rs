//! Any bytes as an endpoint's answer: held to R-38 by a naive reading with `serde_json`, and what
//! is passed on is legal and says the same.
#![no_main]

use highwater_core::jsonrpc::{
    BadReply, BatchReply, Id, Reply, ReplyError, parse_reply, span_of, split_batch_reply,
    stray_error, write_result,
};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, value::RawValue};

fuzz_target!(|body: &[u8]| {
    let text = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let is_json = serde_json::from_slice::<Box<RawValue>>(text).is_ok();
    let value = serde_json::from_slice::<Value>(text).ok();
    single(body, is_json, value.as_ref());
    batch(body, is_json);
    if let Some(error) = stray_error(body) {
        passes_on(body, &error);
    }
});

fn single(body: &[u8], is_json: bool, value: Option<&Value>) {
    let reply = parse_reply(body, 1);
    if !matches!(reply, Err(BadReply::TooDeep)) {
        assert_eq!(reply == Err(BadReply::NotJson), !is_json);
    }
    let value = value.map(|value| match value.as_array() {
        Some(array) if array.len() == 1 => &array[0],
        _ => value,
    });
    check(body, &reply, value, 1);
    if let (Some(value), Err(kind)) = (value, &reply)
        && *kind != BadReply::DuplicateMember
    {
        assert!(!is_result(value, 1) && !is_error(value, 1), "{kind:?}");
    }
}

fn batch(body: &[u8], is_json: bool) {
    let ids = [0, 1, 2];
    let each = match split_batch_reply(body, &ids) {
        Ok(BatchReply::Each(each)) => each,
        Ok(BatchReply::Refused(raw)) => {
            assert!(ids.iter().any(|id| matches!(parse_reply(raw.as_bytes(), *id), Ok(Reply::Error(_)))));
            return;
        }
        Err(BadReply::TooDeep) => return,
        Err(kind) => {
            assert_eq!(kind == BadReply::NotJson, !is_json);
            return;
        }
    };
    assert!(is_json);
    assert_eq!(each.len(), 3);
    for (id, raw) in ids.into_iter().zip(each) {
        let Some(raw) = raw else { continue };
        assert!(span_of(body, raw).is_some());
        let reply = parse_reply(raw.as_bytes(), id);
        assert!(!matches!(reply, Err(BadReply::WrongId | BadReply::NotJson)));
        let value = serde_json::from_str::<Value>(raw).ok();
        check(raw.as_bytes(), &reply, value.as_ref(), id);
    }
}

fn check(body: &[u8], reply: &Result<Reply<'_>, BadReply>, value: Option<&Value>, id: u64) {
    match reply {
        Ok(Reply::Result(raw)) => {
            assert!(span_of(body, raw).is_some());
            let mut out = Vec::new();
            write_result(
                &mut out,
                Id::from_token("1").expect("an id"),
                raw.as_bytes(),
            );
            assert_eq!(parse_reply(&out, 1), Ok(Reply::Result(raw)));
            if let Some(value) = value {
                assert!(is_result(value, id));
                assert_eq!(
                    Some(&value["result"]),
                    serde_json::from_str(raw).ok().as_ref()
                );
            }
        }
        Ok(Reply::Error(error)) => {
            passes_on(body, error);
            assert!(value.is_none_or(|value| is_error(value, id)));
        }
        Err(_) => {}
    }
}

/// What the caller gets is legal, and passing it on again changes nothing.
fn passes_on(body: &[u8], error: &ReplyError<'_>) {
    assert!(span_of(body, error.raw).is_some());
    let mut out = Vec::new();
    error.write(&mut out, Id::from_token("1").expect("an id"));
    let Ok(Reply::Error(again)) = parse_reply(&out, 1) else {
        panic!("unreadable")
    };
    assert!(again.legal);
    assert_eq!(again.code, Some(error.code.unwrap_or(-32603)));
    if error.legal {
        assert_eq!(again, *error);
    } else {
        assert_eq!(again.data, error.data);
        assert!(error.message.is_empty() || again.message == error.message);
    }
    let mut twice = Vec::new();
    again.write(&mut twice, Id::from_token("1").expect("an id"));
    assert_eq!(out, twice);
}

fn is_version_2(value: &Value) -> bool {
    value.get("jsonrpc").is_none_or(|version| version == "2.0")
}

fn has_id(value: &Value, id: u64) -> bool {
    // A fraction or an exponent is not how we write ids.
    value
        .get("id")
        .is_some_and(|own| own.as_u64() == Some(id) || *own == *id.to_string())
}

fn is_set(value: &Value, name: &str) -> bool {
    value.get(name).is_some_and(|member| !member.is_null())
}

fn is_result(value: &Value, id: u64) -> bool {
    value.is_object()
        && is_version_2(value)
        && has_id(value, id)
        && value.get("result").is_some()
        && !is_set(value, "error")
}

fn is_error(value: &Value, id: u64) -> bool {
    value.is_object()
        && is_version_2(value)
        && (has_id(value, id) || !is_set(value, "id"))
        && !is_set(value, "result")
        && value
            .get("error")
            .is_some_and(|error| error.is_object() || error.is_string())
}
