use crate::jsonrpc::{
    ERROR_FRAME, Id, Params, RESULT_FRAME, Reply, RpcError, parse_reply, span_of, write_batch,
    write_error, write_raw_error, write_request, write_result,
};

fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = b"before ".to_vec();
    write(&mut out);
    String::from_utf8(out)
        .unwrap()
        .strip_prefix("before ")
        .unwrap()
        .to_owned()
}

fn request(params: Params<'_>) -> String {
    requested(7, "m", params)
}

fn requested(id: u64, method: &str, params: Params<'_>) -> String {
    let mut out = String::from("before ");
    write_request(&mut out, id, method, params);
    out.strip_prefix("before ").unwrap().to_owned()
}

fn id(token: &str) -> Id<'_> {
    Id::from_token(token).unwrap()
}

// G-1, G-2
#[test]
fn splices_the_id_of_the_caller_to_the_bytes_of_the_result() {
    for token in ["0", "null", r#""a\u00e9""#, "1e3", "-0"] {
        for result in ["null", r#"{"a": 1.0}"#, r#""0x""#] {
            assert_eq!(
                written(|out| write_result(out, id(token), result.as_bytes())),
                format!(r#"{{"jsonrpc":"2.0","id":{token},"result":{result}}}"#)
            );
        }
    }
}

#[test]
fn an_error_of_ours_has_data_only_when_given() {
    let error = |data| RpcError {
        code: -32011,
        message: "a \"b\"\\\n\u{1}\u{7f}é/",
        data,
    };
    assert_eq!(
        written(|out| write_error(out, id("1"), &error(None))),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32011,\"message\":\"a \\\"b\\\"\\\\\\n\\u0001\u{7f}é/\"}}"
    );
    assert_eq!(
        written(|out| write_error(out, Id::NULL, &error(Some(r#"{"a":[]}"#)))),
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32011,\"message\":\"a \\\"b\\\"\\\\\\n\\u0001\u{7f}é/\",\"data\":{\"a\":[]}}}"
    );
}

// hardening B9, G-2
#[test]
fn no_params_go_out_as_an_empty_array_and_others_as_written() {
    let none = r#"{"jsonrpc":"2.0","id":7,"method":"m","params":[]}"#;
    for params in [
        Params::Absent,
        Params::Null,
        Params::Object("{}"),
        Params::Object("{ \n}"),
        Params::Array("[]"),
    ] {
        assert_eq!(request(params), none, "{params:?}");
    }
    for raw in ["[ 1 ]", "[]", "[null]", r#"["0x00",{"b":1,"a":2}]"#] {
        assert_eq!(
            request(Params::Array(raw)),
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{raw}}}"#)
        );
    }
    for raw in [r#"{"a":1}"#, r#"{"":{}}"#, "{\"\":\"}\"}"] {
        assert_eq!(
            request(Params::Object(raw)),
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{raw}}}"#)
        );
    }
    assert_eq!(
        request(Params::Scalar("5")),
        r#"{"jsonrpc":"2.0","id":7,"method":"m","params":5}"#
    );
}

// hardening B7
#[test]
fn a_method_is_escaped_so_that_it_cannot_leave_its_quotes() {
    assert_eq!(
        requested(u64::MAX, "a\",\"method\":\"b\\\t\r\u{0}", Params::Absent),
        r#"{"jsonrpc":"2.0","id":18446744073709551615,"method":"a\",\"method\":\"b\\\t\r\u0000","params":[]}"#
    );
}

#[test]
fn a_batch_is_its_requests_in_brackets() {
    let requests: [&[u8]; 3] = [br#"{"id":1}"#, b"{}", br#"{"id":2}"#];
    assert_eq!(
        written(|out| write_batch(out, requests)),
        r#"[{"id":1},{},{"id":2}]"#
    );
    assert_eq!(written(|out| write_batch(out, [])), "[]");
}

// hardening E8, G-1
#[test]
fn a_legal_error_goes_out_untouched_and_another_as_the_nearest_legal_one() {
    for (raw, out) in [
        (
            r#"{"code":-32000,"message":"x"}"#,
            r#"{"code":-32000,"message":"x"}"#,
        ),
        (
            r#"{ "data":"0x08", "message":"\u0078", "code":3, "stack":1 }"#,
            r#"{ "data":"0x08", "message":"\u0078", "code":3, "stack":1 }"#,
        ),
        (
            r#"{"code":"-32005","message":"x"}"#,
            r#"{"code":-32005,"message":"x"}"#,
        ),
        (
            r#"{"message":"x","data":{"a": 1}}"#,
            r#"{"code":-32603,"message":"x","data":{"a": 1}}"#,
        ),
        (
            r#"{"code":1e3,"message":"x"}"#,
            r#"{"code":-32603,"message":"x"}"#,
        ),
        (
            r#"{"code":99999999999999999999,"message":"x"}"#,
            r#"{"code":-32603,"message":"x"}"#,
        ),
        (
            r#"{"code":5}"#,
            r#"{"code":5,"message":"unspecified error"}"#,
        ),
        (
            r#"{"code":5,"message":7}"#,
            r#"{"code":5,"message":"unspecified error"}"#,
        ),
        (
            r#"{"code":5,"message":"a\ud800\n"}"#,
            "{\"code\":5,\"message\":\"a\u{fffd}\\n\"}",
        ),
        (
            r#""RPC Error \"\"""#,
            r#"{"code":-32603,"message":"RPC Error \"\""}"#,
        ),
        (r#""""#, r#"{"code":-32603,"message":"unspecified error"}"#),
        ("{}", r#"{"code":-32603,"message":"unspecified error"}"#),
    ] {
        let body = format!(r#"{{"id":1,"error":{raw}}}"#);
        let Ok(Reply::Error(error)) = parse_reply(body.as_bytes(), 1) else {
            panic!("{raw}")
        };
        assert_eq!(
            written(|buffer| error.write(buffer, id(r#""me""#))),
            format!(r#"{{"jsonrpc":"2.0","id":"me","error":{out}}}"#)
        );
    }
}

#[test]
fn a_span_is_found_only_for_a_part_of_the_body() {
    let body = b"hello world";
    let text = str::from_utf8(body).unwrap();
    assert_eq!(span_of(body, &text[6..]), Some(6..11));
    assert_eq!(span_of(body, text), Some(0..11));
    assert_eq!(span_of(&body[..5], &text[6..]), None);
    assert_eq!(span_of(&body[..5], &text[3..7]), None);
    assert_eq!(span_of(&body[6..], &text[..3]), None);
    let owned = String::from("world");
    assert_eq!(span_of(body, &owned), None);
}

#[test]
fn leaves_no_spare_room_in_a_buffer_of_the_stated_length() {
    let result = b"[1,2]";
    let mut out = Vec::with_capacity(RESULT_FRAME + Id::NULL.as_str().len() + result.len());
    let room = out.capacity();
    write_result(&mut out, Id::NULL, result);
    assert_eq!((out.len(), out.capacity()), (room, room));
    let error = br#"{"code":1,"message":""}"#;
    let mut out = Vec::with_capacity(ERROR_FRAME + Id::NULL.as_str().len() + error.len());
    let room = out.capacity();
    write_raw_error(&mut out, Id::NULL, error);
    assert_eq!((out.len(), out.capacity()), (room, room));
}

// hardening B9
#[test]
fn an_object_without_members_is_told_from_one_with_some() {
    for none in ["{}", "{ \n\t}", "{\r}"] {
        assert!(!Params::Object(none).is_named(), "{none}");
    }
    for some in [r#"{"a":1}"#, r#"{"":0}"#, r#"{ "a" : {} }"#] {
        assert!(Params::Object(some).is_named(), "{some}");
    }
    assert!(!Params::Array("[1]").is_named() && !Params::Absent.is_named());
}
