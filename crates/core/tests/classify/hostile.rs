use highwater_core::classify::{Class, Evidence, classify};
use proptest::prelude::*;

fn class(method: &str, body: &[u8]) -> Option<Class> {
    classify(&Evidence::new(method, 200, body)).map(|v| v.class)
}

fn error(message: &str) -> String {
    serde_json::json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": message}})
        .to_string()
}

// E8, R-37: at most 64 KiB of text are read.
#[test]
fn words_after_64_kib_of_text_are_not_read() {
    let near = format!("{} rate limit exceeded", "x ".repeat(1_000));
    let far = format!("{} rate limit exceeded", "x ".repeat(40_000));
    assert_eq!(
        class("eth_call", error(&near).as_bytes()),
        Some(Class::RateLimited)
    );
    assert_eq!(
        class("eth_call", error(&far).as_bytes()),
        Some(Class::Internal)
    );
}

// R-37: the frame of a revert comes first, and what follows it is invisible.
#[test]
fn a_revert_reason_never_decides() {
    let reasons = [
        "rate limit exceeded",
        "nonce too low",
        "missing trie node",
        "header not found",
        "user denied transaction",
        "invalid api key",
        "wrong chain",
        "daily limit exceeded",
        "method not found",
        "502 Bad Gateway",
        "already known",
        "out of gas in precompile",
        "query returned more than 10000 results",
        "filter not found",
        "block is not canonical",
    ];
    for reason in reasons {
        for method in [
            "eth_call",
            "eth_estimateGas",
            "eth_sendRawTransaction",
            "eth_getLogs",
            "debug_traceCall",
        ] {
            let body = error(&format!("execution reverted: {reason}"));
            let verdict = classify(&Evidence::new(method, 200, body.as_bytes())).expect("an error");
            assert_eq!(verdict.class, Class::ExecutionRevert, "{method}: {reason}");
            assert!(
                !verdict.retry_other_endpoint && !verdict.counts_against_endpoint,
                "{method}: {reason}"
            );
        }
    }
}

// R-37: encoded data is a frame of its own, even where the message is nothing but the reason.
#[test]
fn encoded_revert_data_is_a_frame() {
    let hex = |s: &str| s.bytes().map(|b| format!("{b:02x}")).collect::<String>();
    for reason in ["rate limit exceeded", "precompile out of gas"] {
        let data = format!(
            "0x08c379a0{:064x}{:064x}{:0<64}",
            32,
            reason.len(),
            hex(reason)
        );
        let body = serde_json::json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": reason, "data": data}});
        let verdict = classify(&Evidence::new("eth_call", 200, body.to_string().as_bytes()))
            .expect("an error");
        assert_eq!(
            (
                verdict.class,
                verdict.counts_against_endpoint,
                verdict.retry_other_endpoint
            ),
            (Class::ExecutionRevert, false, false)
        );
    }
}

// Lessons 25: unknown text is told apart by what it says, not by its numbers and hashes.
#[test]
fn unknown_texts_have_one_fingerprint_whatever_their_numbers() {
    let print = |message: &str| {
        let body = error(message);
        let verdict = classify(&Evidence::new("eth_call", 200, body.as_bytes())).expect("an error");
        assert_eq!(verdict.class, Class::Internal);
        assert!(verdict.is_unknown());
        verdict.fingerprint
    };
    let one = print("frobnicator 17 jammed at 0x00000000000000000000000000000000000000aa");
    assert_eq!(
        one,
        print("Frobnicator 99999 jammed at 0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb")
    );
    assert_ne!(
        one,
        print("frobnicator 17 bent at 0x00000000000000000000000000000000000000aa")
    );
    let known = classify(&Evidence::new(
        "eth_call",
        200,
        error("rate limit exceeded").as_bytes(),
    ))
    .unwrap();
    assert!(!known.is_unknown());
}

// X15: a code about methods under a text about something else teaches nothing about the method.
#[test]
fn minus_32601_with_another_text_is_not_about_the_method() {
    for text in ["Invalid request", "Parse error"] {
        let body = serde_json::json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": text}}).to_string();
        let got = classify(&Evidence::new("eth_call", 200, body.as_bytes())).unwrap();
        assert_ne!(got.class, Class::MethodUnsupported, "{text}");
        assert_ne!(got.class, Class::MethodBlocked, "{text}");
        assert!(
            got.retry_other_endpoint && !got.counts_against_endpoint,
            "{text}"
        );
    }
}

// B2, E8: bodies made to be expensive.
#[test]
fn survives_bodies_made_to_be_expensive() {
    let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    let nested_error = format!(
        r#"{{"error":{}1{}}}"#,
        r#"{"data":"#.repeat(5_000),
        "}".repeat(5_000)
    );
    let mut wrapped = "rate limit exceeded".to_owned();
    for _ in 0..12 {
        wrapped = serde_json::json!({"error": {"message": wrapped}}).to_string();
    }
    let bodies = [
        deep,
        nested_error,
        wrapped,
        format!(
            r#"{{"error":{{"message":"{}"}}}}"#,
            r"\u0041".repeat(20_000)
        ),
        format!(r#"{{"error":{{"message":"{}"}}}}"#, "{\\\"".repeat(20_000)),
        format!(r#"{{"error":{{"data":"0x{}"}}}}"#, "ab".repeat(100_000)),
        format!(r#"{{"error":[{}""]}}"#, r#""","#.repeat(50_000)),
        format!("{}x", " ".repeat(100_000)),
        "1".repeat(100_000),
        "\"".to_owned(),
        "{\"error\":\"\\".to_owned(),
    ];
    for body in &bodies {
        for method in ["eth_getLogs", "<batch>", "debug_traceBlockByNumber"] {
            for status in [200, 503] {
                let params = r#"[{"fromBlock":"0x1","toBlock":"0xffffffffffffffffff"}]"#;
                let evidence = Evidence {
                    params,
                    ..Evidence::new(method, status, body.as_bytes())
                };
                assert!(classify(&evidence).is_some());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    // R-37: any bytes, any status, any parameters: a verdict or a good answer, never a panic.
    #[test]
    fn takes_any_bytes(body in proptest::collection::vec(any::<u8>(), 0..512), status in any::<u16>(), params in ".{0,64}", head in any::<Option<u64>>()) {
        let evidence = Evidence { params: &params, head, ..Evidence::new("eth_getLogs", status, &body) };
        let _ = classify(&evidence);
    }

    #[test]
    fn takes_any_message_and_data(message in ".{0,200}", data in ".{0,200}", code in any::<i64>(), method in "[a-z]{2,6}_[a-zA-Z]{1,20}") {
        let body = serde_json::json!({"id": 1, "error": {"code": code, "message": message, "data": {"x": data}}}).to_string();
        let verdict = classify(&Evidence::new(&method, 200, body.as_bytes()));
        prop_assert!(verdict.is_some());
    }

    // A revert frame keeps its class whatever is said after it.
    #[test]
    fn nothing_after_a_frame_changes_the_class(reason in ".{0,200}") {
        let body = error(&format!("execution reverted: {reason}"));
        prop_assert_eq!(class("eth_call", body.as_bytes()), Some(Class::ExecutionRevert));
    }

    #[test]
    fn a_cut_body_is_never_a_good_answer(n in 0_usize..64) {
        let body = br#"{"jsonrpc":"2.0","id":1,"result":"0x0000000000000000000000000000000000000000"}"#;
        let cut = &body[..n];
        prop_assert!(class("eth_call", cut).is_some());
    }
}
