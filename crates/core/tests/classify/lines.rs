use std::time::SystemTime;

use highwater_core::classify::line;
use serde_json::{Value, json};

use super::built_in;

fn run(input: &str) -> Result<Value, String> {
    line(&built_in(), input, SystemTime::UNIX_EPOCH)
        .map(|out| serde_json::from_str(&out).expect("a verdict is JSON"))
        .map_err(|e| e.to_string())
}

// Interface: `highwater classify`.
#[test]
fn answers_with_all_members_and_the_id_as_it_came() {
    let out = run(
        r#"{"id":{"a":[1]},"http_status":429,"headers":{"Retry-After":3},"method":"eth_call","body":"slow down","extra":1}"#,
    );
    assert_eq!(
        out,
        Ok(json!({
            "id": {"a": [1]}, "class": "rate_limited", "subclass": null, "retry_other_endpoint": true,
            "counts_against_endpoint": true, "suggested_range": null, "retry_after_ms": 3000
        }))
    );
}

#[test]
fn a_good_answer_has_the_class_null() {
    let out = run(r#"{"id":"x","http_status":200,"body":"{\"id\":9,\"result\":\"0x1\"}","context":{"request_id":9}}"#).unwrap();
    assert_eq!((&out["id"], &out["class"]), (&json!("x"), &Value::Null));
}

#[test]
fn says_what_is_wrong_with_a_line() {
    assert!(run("not json").is_err());
    assert!(run("[]").is_err());
    assert!(run(r#"{"http_status":200}"#).unwrap_err().contains("body"));
    assert!(run(r#"{"body":""}"#).unwrap_err().contains("http_status"));
    assert!(run(r#"{"http_status":"ok","body":""}"#).is_err());
}

// Secrets: a misplaced URL is not repeated.
#[test]
fn quotes_nothing_of_a_bad_line() {
    for bad in [
        r#"{"http_status":"https://u:p@h/s3cret","body":""}"#,
        r#"{"http_status":200,"headers":"https://h/s3cret\"x\"","body":""}"#,
        r#"{"http_status":200,"body":{"url":"s3cret"}}"#,
    ] {
        let error = run(bad).unwrap_err();
        assert!(!error.contains("s3cret"), "{error}");
    }
}
