//! Any bytes as an endpoint's answer: held to R-38 by a naive reading with `serde_json`, and what
//! is passed on is legal and says the same.
#![no_main]

use highwater_core::jsonrpc::{
    BadReply, Id, Reply, ReplyError, parse_batch_reply, parse_reply, span_of, stray_error,
    write_result,
};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, value::RawValue};

fuzz_target!(|body: &[u8]| {
    let text = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let is_json = serde_json::from_slice::<Box<RawValue>>(text).is_ok();
    let value = serde_json::from_slice::<Value>(text).ok();
    single(body, is_json, value.as_ref());
    batch(body, text, is_json, value.as_ref());
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

fn batch(body: &[u8], text: &[u8], is_json: bool, value: Option<&Value>) {
    let replies = match parse_batch_reply(body, 0, 3) {
        Ok(replies) => replies,
        Err(BadReply::TooDeep) => return,
        Err(kind) => {
            assert_eq!(kind == BadReply::NotJson, !is_json);
            return;
        }
    };
    assert!(is_json);
    assert_eq!(replies.len(), 3);
    // A value forgets a member that came twice, so elements with one are left out.
    let elements = serde_json::from_slice::<Vec<&RawValue>>(text).unwrap_or_default();
    let values = value.map(|value| {
        let array = value
            .as_array()
            .map_or(std::slice::from_ref(value), Vec::as_slice);
        let is_single = |i: usize| match elements.get(i) {
            Some(raw) => parse_reply(raw.get().as_bytes(), 0) != Err(BadReply::DuplicateMember),
            None => true,
        };
        (0..)
            .zip(array)
            .filter(|(i, _)| is_single(*i))
            .map(|(_, v)| v)
            .collect::<Vec<_>>()
    });
    for (id, reply) in (0..).zip(&replies) {
        check(body, reply, None, id);
        let Some(values) = &values else { continue };
        match reply {
            Ok(Reply::Result(raw)) => {
                let of_this: Vec<_> = values.iter().filter(|v| is_result(v, id)).collect();
                assert_eq!(of_this.len(), 1);
                assert_eq!(
                    Some(&of_this[0]["result"]),
                    serde_json::from_str(raw).ok().as_ref()
                );
            }
            Ok(Reply::Error(_)) => {
                assert!(values.iter().any(|v| (0..3).any(|id| is_error(v, id))));
            }
            Err(BadReply::Missing) => assert!(
                !values
                    .iter()
                    .any(|v| is_error(v, id) && v.get("id").is_some_and(|own| own == id))
            ),
            Err(_) => {}
        }
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
