use crate::jsonrpc::{BatchReply, split_batch_reply};

/// What each request gets, `-` for nothing, or the refusal after `!`, or the fault.
fn shown(body: &str, ids: &[u64]) -> String {
    match split_batch_reply(body.as_bytes(), ids) {
        Ok(BatchReply::Each(elements)) => {
            assert_eq!(elements.len(), ids.len());
            let elements: Vec<_> = elements.iter().map(|raw| raw.unwrap_or("-")).collect();
            elements.join(" ")
        }
        Ok(BatchReply::Refused(raw)) => format!("!{raw}"),
        Err(kind) => format!("{kind:?}"),
    }
}

// R-44, hardening E6
#[test]
fn elements_are_matched_by_id_whatever_their_order() {
    let body = r#" [ {"id":12,"result":"c"}, {"id":"10","result":null},{"id":3,"error":"b"} ] "#;
    assert_eq!(
        shown(body, &[10, 3, 12]),
        r#"{"id":"10","result":null} {"id":3,"error":"b"} {"id":12,"result":"c"}"#
    );
    assert_eq!(shown(body, &[3]), r#"{"id":3,"error":"b"}"#);
    assert_eq!(shown(body, &[]), "");
}

// R-44, hardening E6
#[test]
fn a_missing_or_bad_element_is_alone_in_that() {
    let body = r#"[{"id":2,"result":2},{"id":0,"result":0}]"#;
    assert_eq!(
        shown(body, &[0, 1, 2]),
        r#"{"id":0,"result":0} - {"id":2,"result":2}"#
    );
    assert_eq!(shown("[]", &[0, 1]), "- -");
    let body = r#"[{"id":0,"result":1,"error":"x"},7,[],{"id":9,"result":9},{"result":3},{"id":null,"result":3}]"#;
    assert_eq!(shown(body, &[0, 1]), r#"{"id":0,"result":1,"error":"x"} -"#);
}

// R-44
#[test]
fn an_id_answered_twice_is_not_answered() {
    let body = r#"[{"id":0,"result":1},{"id":1,"result":1},{"id":"0","result":1},{"id":0}]"#;
    assert_eq!(shown(body, &[0, 1]), r#"- {"id":1,"result":1}"#);
    let two_ids = r#"[{"id":0,"id":1,"result":1},{"id":1,"result":1}]"#;
    assert_eq!(shown(two_ids, &[0, 1]), r#"- {"id":1,"result":1}"#);
}

// R-44, R-38
#[test]
fn a_batch_that_is_refused_as_such_is_seen() {
    for raw in [
        r#"{"jsonrpc":"2.0","error":{"code":-32010,"message":"no batch"},"id":null}"#,
        r#"{"jsonrpc":"2.0","error":{"code":-32010,"message":"no batch"}}"#,
        r#"{"jsonrpc":"2.0","error":{"code":-32010,"message":"no batch"},"id":5}"#,
        r#"{"error":"no batch"}"#,
    ] {
        assert_eq!(shown(raw, &[4, 5, 6]), format!("!{raw}"));
        assert_eq!(shown(&format!("[{raw}]"), &[4, 5, 6]), format!("!{raw}"));
    }
    let foreign = r#"{"jsonrpc":"2.0","error":{"code":1,"message":"x"},"id":7}"#;
    assert_eq!(shown(foreign, &[4, 5]), "WrongId");
    assert_eq!(shown(r#"{"id":4,"result":1}"#, &[4, 5]), "NotABatch");
    assert_eq!(shown("{}", &[4]), "Neither");
}

// R-44: one answer among missing ones is an answer, one error among them a refusal of all.
#[test]
fn a_lone_result_refuses_nobody() {
    assert_eq!(
        shown(r#"[{"id":4,"result":1}]"#, &[4, 5]),
        r#"{"id":4,"result":1} -"#
    );
}

// hardening E6
#[test]
fn an_error_without_an_id_stands_for_elements_that_have_no_other() {
    let body = r#"[{"id":null,"error":"first"},{"id":1,"result":1},{"id":null,"error":"second"}]"#;
    assert_eq!(
        shown(body, &[0, 1, 2]),
        r#"{"id":null,"error":"first"} {"id":1,"result":1} {"id":null,"error":"first"}"#
    );
}

// hardening E4
#[test]
fn a_reply_to_a_batch_that_is_no_json_or_no_reply_fails_whole() {
    for (body, kind) in [
        ("", "NotJson"),
        ("<html>", "NotJson"),
        (r#"[{"id":0,"result":1}"#, "NotJson"),
        (r#"[{"id":0,"result":1}] x"#, "NotJson"),
        ("1", "NotAReply"),
        ("null", "NotAReply"),
    ] {
        assert_eq!(shown(body, &[0]), kind, "{body}");
    }
    assert_eq!(shown(&"[".repeat(100_000), &[0]), "TooDeep");
}
