use super::{answers, answers_within, parse_error, refused};
use crate::jsonrpc::{FaultKind, Id, Limits, Message, Params, parse, span_of};
use std::borrow::Cow;

fn deep(levels: usize) -> String {
    format!("{}{}", "[".repeat(levels), "]".repeat(levels))
}

// G-1
#[test]
fn reads_a_call_as_bytes_of_the_body() {
    let body =
        br#"{"jsonrpc":"2.0","id":7,"method":"eth_call","params":[ {"to":"0xAb"} , "latest"]}"#;
    let Ok(Message::Single(Ok(call))) = parse(body, &Limits::default()) else {
        panic!()
    };
    assert_eq!(call.id.unwrap().as_str(), "7");
    assert!(matches!(call.method, Cow::Borrowed("eth_call")));
    assert_eq!(call.params, Params::Array(r#"[ {"to":"0xAb"} , "latest"]"#));
    let Params::Array(raw) = call.params else {
        panic!()
    };
    assert_eq!(span_of(body, raw), Some(53..body.len() - 1));
}

// hardening B4, hardening B5, G-1
#[test]
fn keeps_every_legal_id_as_written() {
    for id in [
        "0",
        "-0",
        "-1",
        "1.50",
        "1e3",
        "1E+999",
        "18446744073709551616",
        "340282366920938463463374607431768211456123456789",
        "null",
        r#""""#,
        r#""1""#,
        r#""é\u00e9\n\"""#,
        r#""\ud800""#,
    ] {
        let body = format!(r#"{{"id": {id} ,"method":"m"}}"#);
        assert_eq!(answers(body), format!("<{id} m Absent>"));
    }
}

// hardening B5
#[test]
fn refuses_an_id_that_is_no_id() {
    for id in ["true", "false", "[1]", "{}", r#"{"a":1}"#, "[]"] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
        let text = "invalid request: id must be a string, a number or null";
        assert_eq!(answers(body), refused(-32600, "null", text));
    }
}

// hardening B5
#[test]
fn refuses_an_id_longer_than_the_limit_counted_with_quotes() {
    let longest = "a".repeat(254);
    assert_eq!(
        answers(format!(r#"{{"id":"{longest}","method":"m"}}"#)),
        format!(r#"<"{longest}" m Absent>"#)
    );
    let too_long = refused(-32600, "null", "invalid request: id too long");
    assert_eq!(
        answers(format!(r#"{{"id":"{longest}a","method":"m"}}"#)),
        too_long
    );
    assert_eq!(
        answers(format!(r#"{{"id":{},"method":"m"}}"#, "1".repeat(257))),
        too_long
    );
    assert_eq!(
        answers(format!(
            r#"{{"id":"{}","method":"m"}}"#,
            "a".repeat(1 << 20)
        )),
        too_long
    );
}

// hardening B10
#[test]
fn tells_a_notification_from_a_call_with_a_null_id() {
    assert_eq!(
        answers(r#"{"jsonrpc":"2.0","method":"m"}"#),
        "<none m Absent>"
    );
    assert_eq!(
        answers(r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#),
        "<null m Absent>"
    );
}

// hardening B9
#[test]
fn tells_the_five_kinds_of_params_apart() {
    for (params, shown) in [
        (r#","params":null"#, "Null"),
        (r#","params":[]"#, r#"Array("[]")"#),
        (r#","params": { } "#, r#"Object("{ }")"#),
        (r#","params":7"#, r#"Scalar("7")"#),
        (r#","params":true"#, r#"Scalar("true")"#),
        (r#","params":"null""#, r#"Scalar("\"null\"")"#),
        ("", "Absent"),
    ] {
        let body = format!(r#"{{"id":1,"method":"m"{params}}}"#);
        assert_eq!(answers(body), format!("<1 m {shown}>"));
    }
}

#[test]
fn tolerates_members_of_other_names() {
    let body = r#"{"x":{"method":"no"},"Method":"no","id":1,"method":"m","":0,"extra":[{}]}"#;
    assert_eq!(answers(body), "<1 m Absent>");
}

// hardening B6
#[test]
fn refuses_a_member_that_comes_twice() {
    let text = "invalid request: duplicate member";
    for (members, id) in [
        (
            r#""id":1,"method":"eth_call","method":"eth_sendRawTransaction""#,
            "1",
        ),
        (r#""id":1,"method":"eth_call","method":"eth_call""#, "1"),
        (r#""id":1,"method":"m","\u006dethod":"n""#, "1"),
        (r#""id":1,"method":"m","\u006D\u0065thod":null"#, "1"),
        (r#""id":1,"method":"m","params":[],"params":[1]"#, "1"),
        (r#""id":1,"method":"m","params":[],"param\u0073":[1]"#, "1"),
        (
            r#""jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"m""#,
            "1",
        ),
        (r#""id":1,"method":"m","id":2"#, "null"),
        (r#""id":1,"method":"m","id":1"#, "null"),
        (r#""id":1,"method":"m","\u0069d":1"#, "null"),
    ] {
        assert_eq!(answers(format!("{{{members}}}")), refused(-32600, id, text));
    }
    assert_eq!(
        answers(r#"{"id":1,"method":"m","x":1,"x":2}"#),
        "<1 m Absent>"
    );
}

// hardening B7
#[test]
fn decodes_the_escapes_of_a_method_once() {
    for (written, read) in [
        (r"eth_\u0063all", "eth_call"),
        (r"ETH_CALL", "ETH_CALL"),
        (r"eth_call\u0000", "eth_call\0"),
        (r"eth_call ", "eth_call "),
        (r"a\\u0062", r"a\u0062"),
        (r#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t"),
        (r"\ud83d\ude00!", "😀!"),
    ] {
        let body = format!(r#"{{"id":1,"method":"{written}"}}"#);
        assert_eq!(answers(body), format!("<1 {read} Absent>"));
    }
}

#[test]
fn refuses_a_method_that_is_no_text_and_echoes_the_id() {
    let text = "invalid request: method must be a non-empty string";
    for method in [
        "",
        r#","method":"""#,
        r#","method":null"#,
        r#","method":7"#,
        r#","method":["m"]"#,
        r#","method":"\ud800""#,
        r#","method":"\udc00\ud800""#,
        r#","method":"\ud800\u0041""#,
        r#","method":"\ud800A""#,
        r#","method":"\ud800\ud800""#,
        r#","method":"\ud800\\dc00""#,
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":"x"{method}}}"#);
        assert_eq!(answers(body), refused(-32600, r#""x""#, text), "{method}");
    }
    assert_eq!(answers("{}"), refused(-32600, "null", text));
}

#[test]
fn refuses_another_version_and_a_missing_one_only_when_strict() {
    let strict = Limits {
        strict: true,
        ..Limits::default()
    };
    let refusal = refused(-32600, "1", "invalid request: jsonrpc must be \"2.0\"");
    for (version, lenient_ok, strict_ok) in [
        (r#""jsonrpc":"2.0","#, true, true),
        (r#""jsonrpc":"\u0032.0","#, true, true),
        ("", true, false),
        (r#""jsonrpc":"1.0","#, false, false),
        (r#""jsonrpc":"2","#, false, false),
        (r#""jsonrpc":2.0,"#, false, false),
        (r#""jsonrpc":null,"#, false, false),
    ] {
        let body = format!(r#"{{{version}"id":1,"method":"m"}}"#);
        let expected = |ok| {
            if ok {
                "<1 m Absent>".to_owned()
            } else {
                refusal.clone()
            }
        };
        assert_eq!(answers(&body), expected(lenient_ok), "{version}");
        assert_eq!(
            answers_within(&body, &strict),
            expected(strict_ok),
            "{version}"
        );
    }
}

// hardening B8
#[test]
fn skips_a_byte_order_mark_and_white_space_around_the_value() {
    assert_eq!(
        answers("\u{feff} \r\n\t{\"id\":1,\"method\":\"m\"} \n"),
        "<1 m Absent>"
    );
    assert_eq!(
        answers("\u{feff}[{\"id\":1,\"method\":\"m\"}]"),
        "[<1 m Absent>]"
    );
    assert_eq!(
        answers("\u{feff}\u{feff}{\"id\":1,\"method\":\"m\"}"),
        parse_error()
    );
    assert_eq!(answers("\u{a0}{\"id\":1,\"method\":\"m\"}"), parse_error());
}

// hardening B4, hardening B8
#[test]
fn answers_what_is_not_json_with_a_parse_error() {
    for body in [
        "",
        " ",
        "\u{feff}",
        "{",
        "[",
        "nul",
        "nulL",
        "tru",
        "NaN",
        "-",
        "01",
        "1.",
        ".5",
        "1e",
        "+1",
        "0x1",
        "'a'",
        r#"{"id":NaN,"method":"m"}"#,
        r#"{"id":Infinity,"method":"m"}"#,
        r#"{"id":-Infinity,"method":"m"}"#,
        r#"{"id":01,"method":"m"}"#,
        r#"{"id":1,"method":"m"}x"#,
        r#"{"id":1,"method":"m"},"#,
        r#"{"id":1,"method":"m"}{"id":2,"method":"m"}"#,
        r#"{"id":1,"method":"m"}]"#,
        r#"{"id":1,"method":"m",}"#,
        r#"{"id":1,,"method":"m"}"#,
        r#"{"id":1 "method":"m"}"#,
        r#"{"id":1,"method" "m"}"#,
        r#"{id:1,"method":"m"}"#,
        r#"{"id":1,"method":"m","params":[1,]}"#,
        r#"{"id":1,"method":"m","params":[,1]}"#,
        r#"{"id":1,"method":"m","params":[1 2]}"#,
        r#"{"id":1,"method":"m","params":{"a":1,}}"#,
        r#"{"id":1,"method":"m","params":{"a"}}"#,
        r#"{"id":1,"method":"m","params":{1:1}}"#,
        r#"{"id":1,"method":"m","params":[}}"#,
        r#"{"id":1,"method":"m","params":{]}"#,
        r#"{"id":1,"method":"m\x"}"#,
        r#"{"id":1,"method":"\u12"}"#,
        r#"{"id":1,"method":"\u12g4"}"#,
        "{\"id\":1,\"method\":\"a\nb\"}",
        "{\"id\":1,\"method\":\"abcdefghij\u{1f}b\"}",
        "{\"id\":1,\"method\":\"m\"}\0",
        r#"[{"id":1,"method":"m"},]"#,
        r#"[{"id":1,"method":"m"}"#,
        r#"[{"id":1,"method":"m"}]]"#,
        r#"[] []"#,
        r#"[1 2]"#,
    ] {
        assert_eq!(answers(body), parse_error(), "{body}");
    }
}

// hardening B8
#[test]
fn answers_invalid_utf8_with_a_parse_error_wherever_it_is() {
    for bad in [&b"\xff"[..], b"\xc3", b"\xed\xa0\x80", b"\xc0\xaf"] {
        let mut in_params = br#"{"id":1,"method":"m","params":[""#.to_vec();
        in_params.extend_from_slice(bad);
        in_params.extend_from_slice(br#""]}"#);
        assert_eq!(answers(in_params), parse_error());
        let mut behind = br#"{"id":1,"method":"m"}"#.to_vec();
        behind.extend_from_slice(bad);
        assert_eq!(answers(behind), parse_error());
    }
}

// hardening B8
#[test]
fn finds_the_end_of_a_string_at_every_length_and_what_is_illegal_in_it_at_every_place() {
    for length in 0..400 {
        let plain = "é".repeat(length / 2) + &"x".repeat(length % 2);
        let body = |text: &str| format!(r#"{{"id":1,"method":"m","params":["{text}"]}}"#);
        let expected = |text: &str| format!("<1 m {:?}>", Params::Array(&format!("[\"{text}\"]")));
        assert_eq!(answers(body(&plain)), expected(&plain));
        let escaped = format!("{plain}\\\"{plain}");
        assert_eq!(answers(body(&escaped)), expected(&escaped));
        for illegal in ["\0", "\u{1f}", "\n", "\"", "\\", "\\x"] {
            assert_eq!(
                answers(body(&format!("{plain}{illegal}{plain}"))),
                parse_error()
            );
        }
        let cut = body(&plain);
        assert_eq!(answers(&cut[..cut.len() - 3]), parse_error());
    }
}

// hardening B3
#[test]
fn counts_depth_over_the_whole_body_also_inside_params() {
    let too_deep = refused(-32700, "null", "parse error: nested too deeply");
    let body = |levels: usize| format!(r#"{{"id":1,"method":"m","params":{}}}"#, deep(levels));
    assert_eq!(
        answers(body(127)),
        format!("<1 m {:?}>", Params::Array(&deep(127)))
    );
    assert_eq!(answers(body(128)), too_deep);
    assert_eq!(answers(format!("[{}]", body(127))), too_deep);
    assert!(answers(format!("[{}]", body(126))).starts_with("[<1 m "));
    let objects = format!("{}1{}", r#"{"a":"#.repeat(128), "}".repeat(128));
    assert_eq!(
        answers(format!(r#"{{"id":1,"method":"m","x":{objects}}}"#)),
        too_deep
    );
    let brackets_in_text = format!(
        r#"{{"id":1,"method":"m","params":["{}"]}}"#,
        "[{".repeat(500)
    );
    assert!(answers(brackets_in_text).starts_with("<1 m Array"));
    let wide = format!(
        r#"{{"id":1,"method":"m","params":[{}[]]}}"#,
        "[[]],{},".repeat(500)
    );
    assert!(answers(wide).starts_with("<1 m Array"));
}

// hardening B3
#[test]
fn survives_a_million_brackets() {
    let too_deep = refused(-32700, "null", "parse error: nested too deeply");
    let bomb = "[".repeat(1_000_000);
    assert_eq!(answers(&bomb), too_deep);
    assert_eq!(
        answers(format!(r#"{{"id":1,"method":"m","params":{bomb}"#)),
        too_deep
    );
    assert_eq!(answers(r#"{"a":"#.repeat(1_000_000)), too_deep);
    let unlimited = Limits {
        max_depth: usize::MAX,
        ..Limits::default()
    };
    let params = deep(1_000_000);
    let body = format!(r#"{{"id":1,"method":"m","params":{params}}}"#);
    assert_eq!(
        answers_within(body, &unlimited),
        format!("<1 m {:?}>", Params::Array(&params))
    );
}

// hardening B11
#[test]
fn a_bad_element_never_spoils_its_batch() {
    let not_an_object = refused(-32600, "null", "invalid request: not an object");
    let no_method = refused(
        -32600,
        "5",
        "invalid request: method must be a non-empty string",
    );
    let body = r#"[{"id":1,"method":"a"},1,[],[{"id":9,"method":"n"}],"x",null,{"id":5},{"method":"b"},{"id":"z","method":"c"}]"#;
    let expected = [
        "<1 a Absent>",
        &not_an_object,
        &not_an_object,
        &not_an_object,
        &not_an_object,
        &not_an_object,
        &no_method,
        "<none b Absent>",
        r#"<"z" c Absent>"#,
    ];
    assert_eq!(answers(body), format!("[{}]", expected.join(",")));
}

// hardening B11
#[test]
fn an_empty_batch_is_one_refusal() {
    for body in ["[]", " [ ] ", "\u{feff}[\n]"] {
        assert_eq!(answers(body), refused(-32600, "null", "empty batch"));
    }
}

#[test]
fn a_lone_scalar_is_one_refused_request() {
    for body in ["1", "null", "true", r#""eth_call""#, "-1e5"] {
        assert_eq!(
            answers(body),
            refused(-32600, "null", "invalid request: not an object"),
            "{body}"
        );
    }
}

// hardening B14
#[test]
fn repeated_ids_in_a_batch_stay_two_requests() {
    let body = r#"[{"id":1,"method":"a"},{"id":1,"method":"a"}]"#;
    assert_eq!(answers(body), "[<1 a Absent>,<1 a Absent>]");
}

// hardening B12
#[test]
fn every_member_of_an_oversized_batch_is_refused_with_its_own_id() {
    let limits = Limits {
        max_batch: 3,
        ..Limits::default()
    };
    let within = r#"[{"id":1,"method":"a"},{"id":"b","method":"a"},{"id":3,"method":"a"}]"#;
    assert_eq!(
        answers_within(within, &limits),
        r#"[<1 a Absent>,<"b" a Absent>,<3 a Absent>]"#
    );
    let over = r#"[{"id":1,"method":"a"},{"method":"a"},{"id":"b"},{"id":4,"method":"a"},7,{"method":"a"},{"id":null,"method":"a"}]"#;
    let each = ["1", r#""b""#, "4", "null", "null"];
    let each = each.map(|id| refused(-32600, id, "batch too large"));
    assert_eq!(
        answers_within(over, &limits),
        format!("[{}]", each.join(","))
    );
}

// hardening B12, hardening B10
#[test]
fn an_oversized_batch_of_notifications_is_owed_nothing() {
    let limits = Limits {
        max_batch: 1,
        ..Limits::default()
    };
    assert_eq!(
        answers_within(r#"[{"method":"a"},{"method":"b"}]"#, &limits),
        "[]"
    );
}

// hardening B12
#[test]
fn a_batch_of_millions_of_elements_is_one_refusal() {
    let whole = refused(-32600, "null", "batch too large");
    let body = |count: usize| format!("[{}1]", "1,".repeat(count - 1));
    let Ok(Message::Batch(most)) = parse(body(65_536).as_bytes(), &Limits::default()).map(own)
    else {
        panic!()
    };
    assert_eq!(most.len(), 65_536);
    assert_eq!(answers(body(65_537)), whole);
    assert_eq!(answers(body(2_500_000)), whole);
    let wide = Limits {
        max_batch: 100_000,
        ..Limits::default()
    };
    assert!(answers_within(body(65_537), &wide).starts_with('['));
    assert_eq!(answers(format!("{}x", body(65_537))), parse_error());
}

/// Detaches a message from its body where it borrows nothing that matters.
fn own(message: Message<'_>) -> Message<'static> {
    match message {
        Message::Single(_) => panic!("a batch was expected"),
        Message::Batch(requests) => Message::Batch(
            requests
                .into_iter()
                .map(|request| {
                    let kind = request.unwrap_err().kind;
                    Err(crate::jsonrpc::Fault { id: Id::NULL, kind })
                })
                .collect(),
        ),
    }
}

#[test]
fn an_id_is_made_again_only_from_a_whole_legal_token() {
    for token in ["1", "-2.5e3", "null", r#""a\n""#, r#""""#] {
        assert_eq!(Id::from_token(token).unwrap().as_str(), token);
    }
    for token in [
        "",
        " 1",
        "1 ",
        "1,2",
        "true",
        "[]",
        "{}",
        "\"",
        "\u{feff}1",
        "nul",
        "01",
        "1}",
    ] {
        assert_eq!(Id::from_token(token), None, "{token}");
    }
}

#[test]
fn a_fault_is_small_enough_for_long_batches() {
    assert!(size_of::<Result<crate::jsonrpc::Call<'_>, crate::jsonrpc::Fault<'_>>>() <= 72);
}

#[test]
fn each_kind_has_the_code_of_the_error_table() {
    for (kind, code) in [
        (FaultKind::Parse, -32700),
        (FaultKind::TooDeep, -32700),
        (FaultKind::EmptyBatch, -32600),
        (FaultKind::BatchTooLarge, -32600),
        (FaultKind::NotAnObject, -32600),
        (FaultKind::DuplicateMember, -32600),
        (FaultKind::IllegalId, -32600),
        (FaultKind::IdTooLong, -32600),
        (FaultKind::Version, -32600),
        (FaultKind::Method, -32600),
    ] {
        assert_eq!(kind.code(), code);
    }
}
