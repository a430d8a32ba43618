//! What answers teach (R-24, R-37), from their bytes on.

use super::*;
use crate::{
    classify::no_headers,
    jsonrpc::Params,
    judge::{Question, Wire, judge},
};

/// An answer as it comes over HTTP.
fn said(method: &str, params: &str, status: u16, member: &str) -> Settled {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,{member}}}"#);
    let question = Question {
        id: 1,
        method,
        row: method::lookup(method),
        params: Params::Array(params),
        head: Some(10_000),
        chain: Some(1),
        rules: None,
    };
    let wire = Wire {
        status,
        headers: no_headers(),
        body: body.as_bytes(),
        wall: SystemTime::UNIX_EPOCH,
    };
    judge(&wire, &question).settled
}

fn error(code: i64, message: &str) -> String {
    format!(r#""error":{{"code":{code},"message":"{message}"}}"#)
}

const VALUE: &str = r#""result":"0x7""#;

/// The same call twice: A says this the first time and B serves, then B is asked first. A gets no
/// strike and no error sample.
fn taught(method: &str, params: &str, member: &str) -> Bench {
    let mut bench = Setup::new(2).call(method);
    for endpoint in [A, B] {
        bench.head(endpoint, 10_000);
    }
    bench.next_with(method, params);
    let refused = said(method, params, 200, member);
    assert!(matches!(refused, Settled::Failed { .. }), "{refused:?}");
    bench.asks(A, FIRST, &refused);
    bench.asks(B, SECOND, &said(method, params, 200, VALUE));
    assert_eq!(bench.ends(), Outcome::Answered(SECOND));
    let view = bench.view(A);
    assert_eq!((view.error, view.circuit.endpoint.strikes), (0.0, 0));
    bench.next_with(method, params);
    bench.asks(B, FIRST, &said(method, params, 200, VALUE));
    bench
}

// R-37, scenario M09
#[test]
fn pruned_state_is_remembered() {
    let params = r#"["0x1111111111111111111111111111111111111111","0xa"]"#;
    let mut bench = taught(
        "eth_getBalance",
        params,
        &error(-32000, "missing trie node 0xabc (path )"),
    );
    let recent = r#"["0x1111111111111111111111111111111111111111","0x60"]"#;
    assert_eq!(
        bench.out(A, "eth_getBalance", params),
        Some(Why::DoesNotKeep)
    );
    assert_eq!(bench.out(A, "eth_getBalance", recent), None);
    // For an hour.
    bench.pass(seconds(3600));
    assert_eq!(bench.out(A, "eth_getBalance", params), None);
}

const HASH: &str = r#"["0x0000000000000000000000000000000000000000000000000000000000000abc"]"#;

// R-37, scenario M10: without a height others are asked first for a minute
#[test]
fn pruned_receipts_are_remembered() {
    let pruned = error(4444, "pruned history unavailable");
    let mut bench = taught("eth_getTransactionReceipt", HASH, &pruned);
    assert_eq!(bench.out(A, "eth_getTransactionByHash", HASH), None);
    bench.pass(seconds(60));
    assert_eq!(bench.out(A, "eth_getTransactionReceipt", HASH), None);
}

// R-37, scenario M16
#[test]
fn an_index_that_is_being_built_is_remembered() {
    let building = error(-32000, "transaction indexing is in progress");
    let mut bench = taught("eth_getTransactionByHash", HASH, &building);
    // Others first, and not others only.
    bench.history(B, 3, Duration::ZERO, &unsent());
    bench.next("eth_getTransactionByHash");
    bench.sends_to(A, FIRST);
}

// R-37, semantics §7 row 19, scenarios L08 and L17
#[test]
fn a_range_limit_is_remembered_by_its_size_and_is_no_rate_limit() {
    let wide = r#"[{"fromBlock":"0x0","toBlock":"0x2328"}]"#;
    let refused = error(-32005, "Requested range exceeds maximum RPC range limit");
    let mut bench = taught("eth_getLogs", wide, &refused);
    let narrow = r#"[{"fromBlock":"0x2320","toBlock":"0x2328"}]"#;
    assert_eq!(bench.out(A, "eth_getLogs", wide), Some(Why::DoesNotKeep));
    assert_ne!(bench.out(A, "eth_getLogs", narrow), Some(Why::DoesNotKeep));
    assert_eq!(bench.out(A, "eth_getBalance", ""), None);
    assert_eq!(bench.view(A).tokens, None);
}

// R-37, scenario X15
#[test]
fn a_code_that_is_not_about_the_method_turns_no_method_off() {
    for message in ["Invalid request", "Parse error"] {
        let mut bench = Setup::new(2).call("eth_call");
        let params = r#"[{"to":"0x1"},"latest"]"#;
        bench.next_with("eth_call", params);
        let answer = said("eth_call", params, 200, &error(-32601, message));
        bench.sends_to(A, FIRST);
        bench.settle(FIRST, &answer);
        assert!(bench.view(A).circuit.methods.is_empty(), "{message}");
        assert_eq!(bench.out(A, "eth_call", params), None, "{message}");
    }
}

// R-37, scenario X16
#[test]
fn one_code_means_three_things() {
    let logs = r#"[{"fromBlock":"0x0","toBlock":"0x5"}]"#;
    let mut bench = Setup::new(2).call("eth_getLogs");
    bench.next_with("eth_getLogs", logs);
    bench.asks(
        A,
        FIRST,
        &said(
            "eth_getLogs",
            logs,
            200,
            &error(-32003, "response too large"),
        ),
    );
    bench.asks(
        B,
        SECOND,
        &said("eth_getLogs", logs, 200, r#""result":[{}]"#),
    );
    assert_eq!(bench.ends(), Outcome::Answered(SECOND));
    assert_eq!(bench.view(A).error, 0.0);

    let call = r#"[{"to":"0x1"},"latest"]"#;
    let mut bench = Setup::new(2).call("eth_call");
    let funds = error(-32003, "Insufficient funds for gas * price + value");
    bench.asks(A, FIRST, &said("eth_call", call, 200, &funds));
    assert_eq!(bench.ends(), Outcome::Answered(FIRST));

    let mut bench = Setup::new(2).call("eth_getLogs");
    let late = error(-32002, "request timed out");
    bench.asks(A, FIRST, &said("eth_getLogs", logs, 200, &late));
    bench.asks(
        B,
        SECOND,
        &said("eth_getLogs", logs, 200, r#""result":[{}]"#),
    );
    assert_eq!(bench.ends(), Outcome::Answered(SECOND));
    assert!(bench.view(A).error > 0.0);
}

// R-37, scenario X17
#[test]
fn an_error_inside_a_result_is_a_result() {
    let mut bench = Setup::new(2).call("eth_createAccessList");
    let list = r#""result":{"accessList":[],"error":"execution reverted","gasUsed":"0x639d"}"#;
    bench.asks(A, FIRST, &said("eth_createAccessList", "[{}]", 200, list));
    assert_eq!(bench.ends(), Outcome::Answered(FIRST));
    assert_eq!(bench.view(A).error, 0.0);
}

// R-21, R-38, scenario X12
#[test]
fn a_rate_limit_with_status_200_is_one_and_its_header_is_obeyed() {
    let header = |name: &str| (name == "retry-after").then_some("7");
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,{}}}"#,
        error(-32005, "rate limit exceeded")
    );
    let question = Question {
        id: 1,
        method: "eth_call",
        row: method::lookup("eth_call"),
        params: Params::Array("[{}]"),
        head: None,
        chain: None,
        rules: None,
    };
    let wire = Wire {
        status: 200,
        headers: &header,
        body: body.as_bytes(),
        wall: SystemTime::UNIX_EPOCH,
    };
    let settled = judge(&wire, &question).settled;
    let mut bench = Setup::new(2).call("eth_call");
    bench.asks(A, FIRST, &settled);
    bench.asks(B, SECOND, &Settled::VALUE);
    assert_eq!(bench.ends(), Outcome::Answered(SECOND));
    assert_eq!(bench.view(A).circuit.endpoint.left, seconds(7));
}

// R-39, scenario L13
#[test]
fn an_inverted_range_is_the_callers_fault() {
    let params = r#"[{"fromBlock":"0x64","toBlock":"0x5a"}]"#;
    let mut bench = Setup::new(2).call("eth_getLogs");
    let refused = error(-32602, "invalid block range params");
    bench.next_with("eth_getLogs", params);
    bench.asks(A, FIRST, &said("eth_getLogs", params, 200, &refused));
    assert_eq!(bench.ends(), Outcome::Answered(FIRST));
    assert_eq!(bench.view(A).circuit.endpoint.strikes, 0);
    // With a tag nobody can tell: it goes round and comes back as that error.
    let params = r#"[{"fromBlock":"latest","toBlock":"0x5a"}]"#;
    let mut bench = Setup::new(2)
        .set(|s| s.retry.count = RetryCount::Times(1))
        .call("eth_getLogs");
    bench.next_with("eth_getLogs", params);
    let answer = said("eth_getLogs", params, 200, &refused);
    bench.asks(A, FIRST, &answer);
    bench.asks(B, SECOND, &answer);
    assert_eq!(bench.ends(), Outcome::Failed(Some(FIRST)));
    for endpoint in [A, B] {
        assert_eq!(bench.view(endpoint).circuit.endpoint.strikes, 0);
    }
}
