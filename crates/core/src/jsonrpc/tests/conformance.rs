//! The exchanges of the execution API's own test suite, byte for byte.

use crate::jsonrpc::{
    Id, Limits, Message, Params, Reply, parse, parse_reply, write_request, write_result,
};

const PAIRS: &str = include_str!("../../../tests/data/conformance.jsonl");

fn pairs() -> Vec<(String, String, String)> {
    let text = |line: &serde_json::Value, member: &str| line[member].as_str().unwrap().to_owned();
    let read = |line: &str| {
        let line = serde_json::from_str(line).unwrap();
        (
            text(&line, "case"),
            text(&line, "request"),
            text(&line, "response"),
        )
    };
    let pairs: Vec<_> = PAIRS.lines().map(read).collect();
    assert_eq!(pairs.len(), 33);
    pairs
}

// G-1, G-2
#[test]
fn every_request_is_forwarded_with_only_its_id_changed() {
    for (case, request, _) in pairs() {
        let Ok(Message::Single(Ok(call))) = parse(request.as_bytes(), &Limits::default()) else {
            panic!("{case}")
        };
        assert_eq!(call.id, Id::from_token("1"), "{case}");
        let mut out = String::new();
        write_request(&mut out, 1, &call.method, call.params);
        let expected = match call.params {
            Params::Absent => request.replace("\"}", "\",\"params\":[]}"),
            _ => request.clone(),
        };
        assert_eq!(out, expected, "{case}");
    }
}

// G-1, G-2, R-38
#[test]
fn every_response_comes_back_with_only_its_id_changed() {
    for (case, _, response) in pairs() {
        for token in ["1", r#""x\u0041""#, "null", "-1e3"] {
            let id = Id::from_token(token).unwrap();
            let mut out = Vec::new();
            match parse_reply(response.as_bytes(), 1).expect(&case) {
                Reply::Result(result) => write_result(&mut out, id, result.as_bytes()),
                Reply::Error(error) => error.write(&mut out, id),
            }
            let expected = response.replacen("\"id\":1", &format!("\"id\":{token}"), 1);
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{case}");
        }
    }
}
