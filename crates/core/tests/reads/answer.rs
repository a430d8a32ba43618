use super::{found, hash};
use highwater_core::{
    answer::{Mismatch, Named},
    floor::{names_block, seen, watermark},
    method::{Tag, lookup},
};

fn named(method: &str, result: &str) -> Named {
    Named::read(lookup(method), result)
}

fn block(number: u64, own: u8) -> String {
    format!(
        r#"{{"baseFeePerGas":"0x7","hash":"{}","number": "{number:#x}" ,"parentHash":"{}","transactions":[{{"blockNumber":"0x1","hash":"{}","number":"0x2"}}]}}"#,
        hash(own),
        hash(own - 1),
        hash(0xee),
    )
}

// P-9
#[test]
fn every_answer_that_carries_a_block_number_names_it() {
    let receipt = format!(
        r#"{{"blockHash":"{}","blockNumber":"0x65","logs":[],"transactionHash":"{}"}}"#,
        hash(5),
        hash(9)
    );
    let transaction = format!(
        r#"{{"blockHash":"{}","blockNumber":"0x65","hash":"{}","input":"0x"}}"#,
        hash(5),
        hash(9)
    );
    let logs = r#"[{"address":"0x1","blockNumber":"0x64"},{"blockNumber" : "0x66","data":"0x"}]"#;
    for (method, result, number) in [
        ("eth_blockNumber", "\"0x65\"", Some(101)),
        ("eth_blockNumber", "\"101\"", None),
        ("eth_getBlockByNumber", &*block(101, 5), Some(101)),
        ("eth_getBlockByHash", &*block(101, 5), Some(101)),
        ("eth_getTransactionReceipt", &*receipt, Some(101)),
        ("eth_sendRawTransactionSync", &*receipt, Some(101)),
        ("eth_getTransactionByHash", &*transaction, Some(101)),
        ("eth_getLogs", logs, Some(102)),
        ("eth_getLogs", "[]", None),
        ("eth_getFilterChanges", logs, Some(102)),
        ("eth_getBlockReceipts", &*format!("[{receipt}]"), Some(101)),
        ("trace_transaction", r#"[{"blockNumber":101}]"#, Some(101)),
        ("eth_getBlockByNumber", "null", None),
        ("eth_getTransactionByHash", r#"{"blockNumber":null}"#, None),
        ("eth_getBalance", "\"0x65\"", None),
        ("eth_chainId", "\"0x65\"", None),
    ] {
        assert_eq!(named(method, result).number, number, "{method} {result}");
    }
    let whole = named("eth_getBlockByNumber", &block(101, 5));
    assert_eq!(whole.hash, Some([5; 32]));
    assert_eq!(whole.parent, Some([4; 32]));
    assert_eq!(whole.transaction, None);
    assert_eq!(named("eth_getLogs", logs).lowest, Some(100));
    assert_eq!(
        named("eth_getTransactionReceipt", &receipt).transaction,
        Some([9; 32])
    );
    assert_eq!(
        named("eth_getTransactionByHash", &transaction).transaction,
        Some([9; 32])
    );
}

// P-9: whatever an endpoint sends
#[test]
fn a_look_ends_on_anything() {
    for result in [
        "",
        "[",
        "{",
        "\"",
        r#"{"number""#,
        r#"{"number":"#,
        r#"["blockNumber"#,
    ] {
        for method in ["eth_getBlockByNumber", "eth_getLogs", "eth_blockNumber"] {
            assert_eq!(named(method, result), Named::default(), "{method} {result}");
        }
    }
}

// semantics §7 row 9
#[test]
fn an_answer_about_something_else_is_a_mismatch() {
    let check = |method: &str, params: &str, pin, result: &str| {
        named(method, result).check(lookup(method), &found(method, params), params, pin)
    };
    let by_number = |params, pin| check("eth_getBlockByNumber", params, pin, &block(101, 5));
    assert_eq!(by_number(r#"["0x65",false]"#, None), Ok(()));
    assert_eq!(by_number(r#"["0x64",false]"#, None), Err(Mismatch::Number));
    assert_eq!(by_number(r#"["latest",false]"#, Some(101)), Ok(()));
    assert_eq!(
        by_number(r#"["latest",false]"#, Some(100)),
        Err(Mismatch::Number)
    );
    assert_eq!(by_number(r#"["latest",false]"#, None), Ok(()));
    assert_eq!(by_number(r#"["finalized",false]"#, Some(100)), Ok(()));

    let own = format!(
        r#"["{}",false]"#,
        hash(5).to_uppercase().replace("0X", "0x")
    );
    let other = format!(r#"["{}",false]"#, hash(6));
    let by_hash = |params: &str| check("eth_getBlockByHash", params, None, &block(101, 5));
    assert_eq!(by_hash(&own), Ok(()));
    assert_eq!(by_hash(&other), Err(Mismatch::Hash));

    let receipt = format!(
        r#"{{"transactionHash":"{}","blockNumber":"0x65"}}"#,
        hash(9)
    );
    let of = |byte| format!(r#"["{}"]"#, hash(byte));
    let receipt = |params: &str| check("eth_getTransactionReceipt", params, None, &receipt);
    assert_eq!(receipt(&of(9)), Ok(()));
    assert_eq!(receipt(&of(8)), Err(Mismatch::Transaction));

    let logs = r#"[{"blockNumber":"0x64"},{"blockNumber":"0x66"}]"#;
    let logs = |params| check("eth_getLogs", params, None, logs);
    assert_eq!(logs(r#"[{"fromBlock":"0x64","toBlock":"0x66"}]"#), Ok(()));
    let short = logs(r#"[{"fromBlock":"0x64","toBlock":"0x65"}]"#);
    assert_eq!(short, Err(Mismatch::Range));
    let late = logs(r#"[{"fromBlock":"0x65","toBlock":"0x66"}]"#);
    assert_eq!(late, Err(Mismatch::Range));
}

// P-9, P-8: what a caller has seen
#[test]
fn a_pinned_read_shows_its_block_and_a_block_being_built_shows_none() {
    let seen = |method: &str, params: &str, pin, result: &str| {
        seen(&found(method, params), &named(method, result), pin)
    };
    assert_eq!(
        seen(
            "eth_getBalance",
            r#"["0x1","latest"]"#,
            Some(105),
            "\"0x0\""
        ),
        Some(105)
    );
    assert_eq!(
        seen("eth_getBalance", r#"["0x1"]"#, Some(105), "\"0x0\""),
        Some(105)
    );
    assert_eq!(
        seen("eth_getBalance", r#"["0x1","0x5"]"#, Some(105), "\"0x0\""),
        None
    );
    let pending = seen(
        "eth_getBlockByNumber",
        r#"["pending",false]"#,
        None,
        &block(106, 5),
    );
    assert_eq!(pending, None);
    let finalized = found("eth_getBlockByNumber", r#"["finalized",false]"#);
    assert_eq!(
        names_block(&finalized, &named("eth_getBlockByNumber", &block(80, 5))),
        Some(80)
    );
    assert_eq!(watermark(&finalized), Some(Tag::Finalized));
    assert_eq!(
        watermark(&found("eth_getBlockByNumber", r#"["latest",false]"#)),
        None
    );
}
