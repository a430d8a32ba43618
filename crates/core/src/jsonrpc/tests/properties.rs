//! Properties over generated texts, with `serde_json` as the judge of what is JSON.

use crate::jsonrpc::{
    BadReply, BatchReply, FaultKind, Id, Limits, Message, Params, Reply, parse, parse_reply,
    split_batch_reply, stray_error, write_batch, write_request, write_result,
};
use proptest::prelude::*;
use serde_json::{Value, value::RawValue};

const UNLIMITED: Limits = Limits {
    max_depth: usize::MAX,
    max_id: usize::MAX,
    max_batch: usize::MAX,
    strict: false,
};

fn is_json(body: &[u8]) -> bool {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    serde_json::from_slice::<Box<RawValue>>(body).is_ok()
}

fn has_parse_fault(body: &[u8]) -> bool {
    matches!(parse(body, &UNLIMITED), Err(fault) if fault.kind == FaultKind::Parse)
}

/// Depth by hand: brackets outside of strings.
fn depth(text: &str) -> usize {
    let (mut now, mut most, mut in_string, mut escape) = (0_usize, 0, false, false);
    for c in text.chars() {
        match c {
            _ if escape => escape = false,
            '\\' if in_string => escape = true,
            '"' => in_string = !in_string,
            '[' | '{' if !in_string => {
                now += 1;
                most = most.max(now);
            }
            ']' | '}' if !in_string => now = now.saturating_sub(1),
            _ => {}
        }
    }
    most
}

fn json(depth: u32) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "0x[0-9a-f]{0,70}".prop_map(Value::from),
    ];
    leaf.prop_recursive(depth, 64, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::hash_map("[a-z\"\\\\é]{0,4}", inner, 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Texts near JSON: tokens of it in any order.
fn jsonish() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        4 => prop::sample::select(vec![
            "{", "}", "[", "]", ",", ":", "\"", "\\", " ", "\n", "null", "true", "false", "-", "0", "1",
            "12.5", "1e9", ".", "e", "E+", "\"\"", "\"id\"", "\"method\"", "\"\\u006d\"", "\"m\"", "\\u",
            "\"a\\n\"", "\u{1}", "é", "\"result\":", "\"id\":1,", "[]", "{}", "\"abcdefgh\"", "\"abcdefg\\\\\"",
        ]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(token, 0..12).prop_map(|tokens| tokens.concat())
}

/// A legal id token with its value kept as written.
fn id_token() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("null".to_owned()),
        "-?(0|[1-9][0-9]{0,40})(\\.[0-9]{1,5})?([eE][+-]?[0-9]{1,4})?",
        any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
        "\"(\\\\u[0-9a-fA-F]{4}|\\\\[\"\\\\/bfnrt]|[a-z ])*\"",
    ]
}

proptest! {
    // hardening B8
    #[test]
    fn arbitrary_bytes_never_panic_and_are_json_exactly_when_they_are(
        body in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        prop_assert_eq!(has_parse_fault(&body), !is_json(&body));
        prop_assert_eq!(parse_reply(&body, 1) == Err(BadReply::NotJson), !is_json(&body));
        let _ = split_batch_reply(&body, &[0, 1, 2]);
        let _ = stray_error(&body);
    }

    // hardening B8
    #[test]
    fn texts_near_json_are_json_exactly_when_they_are(text in jsonish()) {
        let valid = is_json(text.as_bytes());
        prop_assert_eq!(has_parse_fault(text.as_bytes()), !valid);
        prop_assert_eq!(parse_reply(text.as_bytes(), 1) == Err(BadReply::NotJson), !valid);
        prop_assert_eq!(split_batch_reply(text.as_bytes(), &[1, 2]) == Err(BadReply::NotJson), !valid);
        let call = format!(r#"{{"id":1,"method":"m","params":{text}}}"#);
        prop_assert_eq!(has_parse_fault(call.as_bytes()), !is_json(call.as_bytes()));
        let reply = format!(r#"{{"id":1,"result":{text}}}"#);
        prop_assert_eq!(
            parse_reply(reply.as_bytes(), 1) == Err(BadReply::NotJson),
            !is_json(reply.as_bytes())
        );
    }

    // hardening B8
    #[test]
    fn one_changed_byte_is_judged_as_serde_does(
        value in json(4),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let mut body =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{value}}}"#).into_bytes();
        let at = at.index(body.len());
        if cut {
            body.truncate(at);
        } else {
            body[at] = byte;
        }
        prop_assert_eq!(has_parse_fault(&body), !is_json(&body));
    }

    // hardening B3
    #[test]
    fn depth_is_counted_as_by_hand(value in json(12), limit in 1_usize..10, pretty in any::<bool>()) {
        let text = if pretty { format!("{value:#}") } else { value.to_string() };
        let body = format!(r#"{{"id":1,"method":"m","params":{text}}}"#);
        let limits = Limits { max_depth: limit, ..Limits::default() };
        let too_deep =
            matches!(parse(body.as_bytes(), &limits), Err(fault) if fault.kind == FaultKind::TooDeep);
        prop_assert_eq!(too_deep, depth(&body) > limit);
    }

    // hardening B3
    #[test]
    fn nesting_is_remembered_at_every_depth(kinds in prop::collection::vec(any::<bool>(), 0..300)) {
        let opened: String = kinds.iter().map(|object| if *object { r#"{"a":"# } else { "[" }).collect();
        let closed: String = kinds.iter().rev().map(|object| if *object { '}' } else { ']' }).collect();
        let good = format!(r#"{{"id":1,"result":{opened}1{closed}}}"#);
        prop_assert!(parse_reply(good.as_bytes(), 1).is_ok());
        if let Some(last) = kinds.first() {
            let wrong = if *last { ']' } else { '}' };
            let closed = &closed[..closed.len() - 1];
            let bad = format!(r#"{{"id":1,"result":{opened}1{closed}{wrong}}}"#);
            prop_assert_eq!(parse_reply(bad.as_bytes(), 1), Err(BadReply::NotJson));
        }
    }

    // hardening B5, hardening B7, G-1, G-2
    #[test]
    fn what_is_parsed_is_what_is_written(
        id in id_token(),
        method in "\\PC{1,20}|[a-z_\"\\\\\n\u{1}]{1,20}",
        params in json(4),
        pretty in any::<bool>(),
    ) {
        let params = if pretty { format!("{params:#}") } else { params.to_string() };
        let quoted = serde_json::to_string(&method).unwrap();
        let body = format!(r#" {{ "id" : {id} , "params":{params},"method":{quoted}}}"#);
        let Ok(Message::Single(Ok(call))) = parse(body.as_bytes(), &UNLIMITED) else {
            return Err(TestCaseError::fail(body));
        };
        prop_assert_eq!(call.id.unwrap().as_str(), &id);
        prop_assert_eq!(Id::from_token(&id), call.id);
        prop_assert_eq!(&call.method, &method);
        let mut out = String::new();
        write_request(&mut out, 5, &call.method, call.params);
        let Ok(Message::Single(Ok(again))) = parse(out.as_bytes(), &UNLIMITED) else {
            return Err(TestCaseError::fail(body));
        };
        prop_assert_eq!(again.id.unwrap().as_str(), "5");
        prop_assert_eq!(&again.method, &method);
        match call.params {
            Params::Array(raw) | Params::Object(raw) | Params::Scalar(raw) => {
                prop_assert_eq!(raw, &params);
                if params != "{}" {
                    prop_assert_eq!(again.params, call.params);
                }
            }
            Params::Null => prop_assert_eq!(&params, "null"),
            Params::Absent => prop_assert!(false, "params were there"),
        }
        let mut out = Vec::new();
        write_result(&mut out, call.id.unwrap(), params.as_bytes());
        prop_assert_eq!(
            String::from_utf8(out).unwrap(),
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{params}}}"#)
        );
    }

    // R-38
    #[test]
    fn every_result_is_found_where_it_lies(
        value in json(4),
        id in any::<u64>(),
        order in Just([0, 1, 2, 3]).prop_shuffle(),
    ) {
        let text = value.to_string();
        let members = [
            r#""jsonrpc":"2.0""#.to_owned(),
            format!(r#""id":{id}"#),
            format!(r#""result":{text}"#),
            r#""error":null"#.to_owned(),
        ];
        let body = format!("{{{}}}", order.map(|i| members[i].clone()).join(","));
        prop_assert_eq!(parse_reply(body.as_bytes(), id), Ok(Reply::Result(&text)));
    }

    // hardening E8, R-38
    #[test]
    fn every_error_becomes_a_legal_one(error in json(3)) {
        let body = format!(r#"{{"id":1,"error":{error}}}"#);
        let Ok(Reply::Error(read)) = parse_reply(body.as_bytes(), 1) else {
            prop_assert!(!error.is_object() && !error.is_string());
            return Ok(());
        };
        let mut out = Vec::new();
        read.write(&mut out, Id::NULL);
        let answer: Value = serde_json::from_slice(&out).unwrap();
        prop_assert!(answer["error"]["code"].is_i64());
        prop_assert!(answer["error"]["message"].is_string());
        let Ok(Reply::Error(again)) = parse_reply(&out, 1) else {
            return Err(TestCaseError::fail(body));
        };
        prop_assert!(again.legal);
    }

    // hardening E6
    #[test]
    fn a_batch_comes_back_in_the_order_of_its_requests(
        first_id in 0..u64::MAX - 100,
        order in (0_usize..20).prop_flat_map(|n| Just((0..n).collect::<Vec<_>>()).prop_shuffle()),
        lost in any::<prop::sample::Index>(),
    ) {
        let n = order.len();
        let ids: Vec<u64> = (first_id..).take(n).collect();
        let written = ids.iter().map(|id| {
            let mut request = String::new();
            write_request(&mut request, *id, "m", Params::Absent);
            request
        });
        let written: Vec<_> = written.collect();
        let mut requests = Vec::new();
        write_batch(&mut requests, written.iter().map(String::as_bytes));
        if n > 0 {
            let Ok(Message::Batch(calls)) = parse(&requests, &UNLIMITED) else {
                return Err(TestCaseError::fail("no batch"));
            };
            for (call, id) in calls.iter().zip(&ids) {
                prop_assert_eq!(call.as_ref().unwrap().id.unwrap().as_str(), id.to_string());
            }
        }
        let lost = if n == 0 { 0 } else { lost.index(n) };
        let element = |i: usize| format!(r#"{{"id":{},"result":{i}}}"#, ids[i]);
        let kept = order.iter().filter(|i| **i != lost);
        let replies: Vec<_> = kept.map(|i| element(*i)).collect();
        let body = format!("[{}]", replies.join(","));
        let read = split_batch_reply(body.as_bytes(), &ids).unwrap();
        let all: Vec<_> = (0..n).map(element).collect();
        let kept = all.iter().enumerate().map(|(i, element)| (i != lost).then_some(element.as_str()));
        prop_assert_eq!(read, BatchReply::Each(kept.collect()));
    }
}
