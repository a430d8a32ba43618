use crate::jsonrpc::{
    BadReply, MAX_REPLY_DEPTH, Reply, ReplyError, parse_reply, span_of, stray_error,
};

fn error_of(body: &str) -> ReplyError<'_> {
    match parse_reply(body.as_bytes(), 1) {
        Ok(Reply::Error(error)) => error,
        other => panic!("{body}: {other:?}"),
    }
}

fn result_of(body: &str) -> &str {
    match parse_reply(body.as_bytes(), 1) {
        Ok(Reply::Result(result)) => result,
        other => panic!("{body}: {other:?}"),
    }
}

fn bad(body: &str) -> BadReply {
    parse_reply(body.as_bytes(), 1).expect_err(body)
}

// R-38
#[test]
fn every_value_is_a_result() {
    for result in [
        "null",
        "false",
        "0",
        r#""""#,
        "[]",
        "{}",
        r#""0x""#,
        " [ 1 , 1.0e2 ] ",
        r#""\ud800""#,
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
        assert_eq!(result_of(&body), result.trim());
    }
}

// R-38, G-2
#[test]
fn a_result_is_the_bytes_of_the_body() {
    let body = r#" {"id":1,"result":{"b":1.10,"a":[0.30]}, "jsonrpc":"2.0"} "#;
    let result = result_of(body);
    assert_eq!(result, r#"{"b":1.10,"a":[0.30]}"#);
    assert_eq!(span_of(body.as_bytes(), result), Some(18..39));
}

// R-38, scenario X17
#[test]
fn a_member_named_error_inside_a_result_is_part_of_the_result() {
    let inner = r#"{"accessList":[],"error":"execution reverted","gasUsed":"0x639d"}"#;
    for body in [
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{inner}}}"#),
        format!(r#"{{"result":{inner},"id":1}}"#),
        format!(r#"{{"meta":{{"error":{{"code":1}},"id":2}},"id":1,"result":{inner}}}"#),
    ] {
        assert_eq!(result_of(&body), inner);
    }
}

// R-38
#[test]
fn tolerates_what_endpoints_in_service_do() {
    for body in [
        r#"[{"jsonrpc":"2.0","id":1,"result":7}]"#,
        r#" [ {"jsonrpc":"2.0","id":1,"result":7} ] "#,
        r#"{"jsonrpc":"2.0","id":"1","result":7}"#,
        r#"{"id":1,"result":7}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":7,"error":null}"#,
        r#"{"jsonrpc":"2.0","error":null,"id":1,"result":7}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":7,"more":[]}"#,
        "\u{feff}{\"id\":1,\"result\":7}\r\n",
        r#"{"\u0069d":1,"r\u0065sult":7}"#,
    ] {
        assert_eq!(result_of(body), "7", "{body}");
    }
    assert_eq!(result_of(r#"{"id":1,"result":null,"error":null}"#), "null");
    assert_eq!(
        error_of(r#"{"id":1,"result":null,"error":{"code":3,"message":"x"}}"#).code,
        Some(3)
    );
}

// R-38, hardening E6
#[test]
fn a_result_needs_our_id() {
    for id in [
        "2", "0", r#""2""#, r#""01""#, r#"" 1""#, "1.0", "1e0", "-1", r#""""#, "null", "true",
        "[1]",
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":7}}"#);
        assert_eq!(bad(&body), BadReply::WrongId, "{id}");
    }
    assert_eq!(bad(r#"{"jsonrpc":"2.0","result":7}"#), BadReply::MissingId);
    let most = format!(r#"{{"id":{},"result":7}}"#, u64::MAX);
    assert_eq!(
        parse_reply(most.as_bytes(), u64::MAX),
        Ok(Reply::Result("7"))
    );
    assert_eq!(
        parse_reply(br#"{"id":18446744073709551616,"result":7}"#, 0),
        Err(BadReply::WrongId)
    );
}

// R-38, hardening E6
#[test]
fn an_error_without_an_id_is_ours_and_one_with_another_id_is_not() {
    for id in [r#""id":1,"#, r#""id":"1","#, r#""id":null,"#, ""] {
        let body = format!(r#"{{"jsonrpc":"2.0",{id}"error":{{"code":-32005,"message":"slow"}}}}"#);
        assert_eq!(error_of(&body).message, "slow");
    }
    for id in ["2", r#""x""#, "1.0", "false"] {
        let body =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32005,"message":"slow"}}}}"#);
        assert_eq!(bad(&body), BadReply::WrongId);
        assert_eq!(stray_error(body.as_bytes()).unwrap().message, "slow");
    }
}

// R-38, hardening E7
#[test]
fn needs_exactly_one_of_result_and_error() {
    for body in [
        r#"{"jsonrpc":"2.0","id":1,"result":"0x1","error":{"code":1,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":false,"error":"x"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":0,"error":false}"#,
    ] {
        assert_eq!(bad(body), BadReply::Both, "{body}");
    }
    for body in [
        "{}",
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":null}"#,
        r#"{"message":"Forbidden"}"#,
        r#"{"jsonrpc":"2.0","method":"eth_subscription","params":{"result":1}}"#,
    ] {
        assert_eq!(bad(body), BadReply::Neither, "{body}");
    }
    for error in [
        "true",
        "false",
        "0",
        "1",
        "[]",
        r#"[{"code":1,"message":"x"}]"#,
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#);
        assert_eq!(bad(&body), BadReply::ErrorShape, "{error}");
    }
}

// R-38
#[test]
fn refuses_another_version_and_members_that_come_twice() {
    for version in [r#""1.0""#, "null", "2.0", r#""2.00""#, "[]"] {
        let body = format!(r#"{{"jsonrpc":{version},"id":1,"result":7}}"#);
        assert_eq!(bad(&body), BadReply::Version, "{version}");
    }
    for body in [
        r#"{"id":1,"result":7,"result":7}"#,
        r#"{"id":1,"result":7,"r\u0065sult":8}"#,
        r#"{"id":1,"id":1,"result":7}"#,
        r#"{"id":1,"error":null,"error":null,"result":7}"#,
        r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"result":7}"#,
    ] {
        assert_eq!(bad(body), BadReply::DuplicateMember, "{body}");
    }
}

// R-38
#[test]
fn refuses_what_is_no_reply_at_all() {
    for body in [
        "[]",
        "1",
        "null",
        r#""ok""#,
        "[1]",
        r#"[[{"id":1,"result":7}]]"#,
        r#"[{"id":1,"result":7},{"id":2,"result":8}]"#,
        r#"[{"id":1,"result":7},1]"#,
    ] {
        assert_eq!(bad(body), BadReply::NotAReply, "{body}");
    }
}

// hardening E4
#[test]
fn a_cut_empty_or_foreign_body_is_not_json() {
    let whole = r#"{"jsonrpc":"2.0","id":1,"result":["0x1",{"a":-1.5e3}]}"#;
    for end in 0..whole.len() {
        assert_eq!(bad(&whole[..end]), BadReply::NotJson, "{end}");
    }
    for body in [
        "<html>502</html>",
        "error code: 1015",
        "{}{}",
        r#"{"id":1,"result":7}x"#,
        r#"[{"id":1,"result":7},]"#,
    ] {
        assert_eq!(bad(body), BadReply::NotJson, "{body}");
    }
    assert_eq!(
        parse_reply(b"{\"id\":1,\"result\":\"\xff\"}", 1),
        Err(BadReply::NotJson)
    );
}

// hardening B3
#[test]
fn deep_traces_pass_and_depth_bombs_do_not() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let body = |levels: usize| format!(r#"{{"id":1,"result":{}}}"#, nested(levels));
    assert_eq!(result_of(&body(2050)), nested(2050));
    assert_eq!(
        result_of(&body(MAX_REPLY_DEPTH - 1)),
        nested(MAX_REPLY_DEPTH - 1)
    );
    assert_eq!(bad(&body(MAX_REPLY_DEPTH)), BadReply::TooDeep);
    assert_eq!(bad(&"[".repeat(1_000_000)), BadReply::TooDeep);
    assert_eq!(
        bad(&format!(
            r#"{{"id":1,"error":{}"#,
            r#"{"a":"#.repeat(1_000_000)
        )),
        BadReply::TooDeep
    );
}

// hardening E8
#[test]
fn reads_errors_of_every_shape() {
    let error = |raw, code, message: &'static str, data, legal| ReplyError {
        raw,
        code,
        message: message.into(),
        data,
        legal,
    };
    for expected in [
        error(
            r#"{"code":-32000,"message":"x"}"#,
            Some(-32000),
            "x",
            None,
            true,
        ),
        error(
            r#"{"message":"x","code":3,"data":"0x08"}"#,
            Some(3),
            "x",
            Some(r#""0x08""#),
            true,
        ),
        error(
            r#"{"code":3,"message":"","data":null,"stack":[]}"#,
            Some(3),
            "",
            Some("null"),
            true,
        ),
        error(
            r#"{"code":9223372036854775807,"message":"x"}"#,
            Some(i64::MAX),
            "x",
            None,
            true,
        ),
        error(
            r#"{"code":9223372036854775808,"message":"x"}"#,
            None,
            "x",
            None,
            false,
        ),
        error(
            r#"{"code":"-32005","message":"x"}"#,
            Some(-32005),
            "x",
            None,
            false,
        ),
        error(r#"{"code":"x","message":"x"}"#, None, "x", None, false),
        error(r#"{"code":1.5,"message":"x"}"#, None, "x", None, false),
        error(r#"{"code":null,"message":"x"}"#, None, "x", None, false),
        error(r#"{"message":"x"}"#, None, "x", None, false),
        error(r#"{"code":1}"#, Some(1), "", None, false),
        error(r#"{"code":1,"message":null}"#, Some(1), "", None, false),
        error(
            r#"{"code":1,"message":{"a":"b"},"data":[1]}"#,
            Some(1),
            "",
            Some("[1]"),
            false,
        ),
        error(
            r#"{"code":1,"message":"a\n\u00e9\ud800"}"#,
            Some(1),
            "a\né\u{fffd}",
            None,
            false,
        ),
        error(
            r#"{"code":1,"code":2,"message":"x"}"#,
            Some(2),
            "x",
            None,
            false,
        ),
        error(r#""a \"b\"""#, None, r#"a "b""#, None, false),
        error("{}", None, "", None, false),
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"error": {} }}"#, expected.raw);
        assert_eq!(error_of(&body), expected);
    }
}

#[test]
fn a_stray_error_is_found_whoever_it_was_for() {
    for body in [
        r#"{"id":9,"error":{"code":1,"message":"x"}}"#,
        r#"{"jsonrpc":"1.0","error":"x"}"#,
        r#"[{"id":9,"error":{"message":"x"}},{"id":10,"result":1}]"#,
        r#"{"result":1,"error":"x"}"#,
    ] {
        assert_eq!(stray_error(body.as_bytes()).unwrap().message, "x", "{body}");
    }
    for body in [
        "",
        "[]",
        "1",
        "<html>",
        "{}",
        r#"{"error":null}"#,
        r#"{"error":true}"#,
        "[[]]",
    ] {
        assert_eq!(stray_error(body.as_bytes()), None, "{body}");
    }
}
