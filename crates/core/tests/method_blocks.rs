//! Where the block of a request is found, and what a pin makes of the request's bytes.

use highwater_core::method::{Reading, Reference, Rewritten, find, lookup, rewrite};

const HASH: &str = "0x00112233445566778899AABBCCDDEEFF00112233445566778899aabbccddeeff";

fn hash() -> [u8; 32] {
    let mut hash = [0; 32];
    for (index, byte) in hash.iter_mut().enumerate() {
        *byte = u8::try_from(index % 16).expect("below 16") * 0x11;
    }
    hash
}

/// The parameters pinned to 100, or `None` if they are forwarded as written.
fn pinned(method: &str, params: &str) -> Option<String> {
    let mut out = "kept".to_owned();
    let rewritten = rewrite(lookup(method), params, 100, &mut out);
    let out = out.strip_prefix("kept").expect("out is appended to");
    match rewritten {
        Rewritten::Pinned => Some(out.to_owned()),
        Rewritten::Unchanged | Rewritten::Inverted => {
            assert_eq!(out, "");
            None
        }
    }
}

// scenario P03
#[test]
fn an_implied_latest_is_filled_in_at_the_end_of_the_parameters() {
    let cases = [
        ("eth_call", r#"[{"to":"0x1"}]"#, r#"[{"to":"0x1"},"0x64"]"#),
        ("eth_getCode", r#"["0x1" ]"#, r#"["0x1","0x64" ]"#),
        (
            "eth_getStorageAt",
            "[\"0x1\",\n\"0x0\"]",
            "[\"0x1\",\n\"0x0\",\"0x64\"]",
        ),
        (
            "eth_call",
            r#"[{"to":"0x1"},null]"#,
            r#"[{"to":"0x1"},"0x64"]"#,
        ),
        (
            "eth_call",
            r#"[{}, null ,{"0x2":{}}]"#,
            r#"[{}, "0x64" ,{"0x2":{}}]"#,
        ),
        ("bor_getAuthor", "[]", r#"["0x64"]"#),
        ("bor_getAuthor", "", r#"["0x64"]"#),
        ("bor_getAuthor", " null ", r#"["0x64"]"#),
        ("bor_getAuthor", " [ ] ", r#" ["0x64" ] "#),
    ];
    for (method, params, wanted) in cases {
        assert_eq!(
            pinned(method, params).as_deref(),
            Some(wanted),
            "{method} {params}"
        );
    }
}

// P-4
#[test]
fn nothing_is_padded_and_no_parent_is_made() {
    for (method, params) in [
        ("eth_getStorageAt", r#"["0x1"]"#),
        ("eth_getProof", "[]"),
        ("eth_getBalance", "[]"),
        ("eth_getBalance", ""),
        ("eth_getLogs", "[]"),
        ("eth_getLogs", "[null]"),
        ("eth_getBlockByNumber", "[]"),
        ("eth_getBlockByNumber", "[null,false]"),
        ("eth_feeHistory", r#"["0x5"]"#),
        ("eth_callMany", "[[]]"),
        ("eth_callMany", "[[],{}]"),
        ("trace_call", r#"[{"to":"0x1"}]"#),
    ] {
        assert_eq!(
            find(lookup(method), params).reading(),
            Reading::Clear,
            "{method} {params}"
        );
        assert_eq!(pinned(method, params), None, "{method} {params}");
    }
}

// scenario P04, scenario P05
#[test]
fn a_gas_estimate_is_pinned_only_when_the_tag_was_written() {
    for method in [
        "eth_estimateGas",
        "eth_createAccessList",
        "linea_estimateGas",
    ] {
        assert_eq!(pinned(method, r#"[{"to":"0x1"}]"#), None);
        assert_eq!(pinned(method, r#"[{"to":"0x1"},null]"#), None);
        let given = pinned(method, r#"[{"to":"0x1"},"latest"]"#);
        assert_eq!(given.as_deref(), Some(r#"[{"to":"0x1"},"0x64"]"#));
    }
    assert_eq!(pinned("hmyv2_getBalance", r#"["one1"]"#), None);
    let given = pinned("klay_getBalance", r#"["0x1","latest"]"#);
    assert_eq!(given.as_deref(), Some(r#"["0x1","0x64"]"#));
}

// P-4
#[test]
fn what_is_no_certain_block_is_foreign_and_stays() {
    for block in [
        r#""""#,
        r#""Latest""#,
        r#""LATEST""#,
        r#"" 0x1""#,
        r#""0x""#,
        r#""0X1""#,
        r#""0xg""#,
        r#""1""#,
        r#""0x12345678901234567""#,
        r#""latest ""#,
        "1.5",
        "-1",
        "1e2",
        "99999999999999999999999",
        "true",
        "[]",
        r#"["latest"]"#,
        "{}",
        r#"{"to":"0x1"}"#,
        r#"{"blockNumber":"latest","to":"0x1"}"#,
        r#"{"blockNumber":null}"#,
        r#"{"blockNumber":"latest","blockNumber":"latest"}"#,
        r#"{"blockNumber":"latest","blockHash":"latest"}"#,
        r#"{"blockHash":"latest"}"#,
        r#"{"requireCanonical":true}"#,
        r#"{"blockNumber":"latest","requireCanonical":"true"}"#,
        r#"{"blocknumber":"latest"}"#,
    ] {
        let params = format!(r#"["0x1",{block}]"#);
        let found = find(lookup("eth_getBalance"), &params);
        assert_eq!(found.reading(), Reading::Foreign, "{block}");
        assert_eq!(found.reference(Some(100)), Reference::default(), "{block}");
        assert_eq!(pinned("eth_getBalance", &params), None, "{block}");
    }
    for params in [r#"{"block":"latest"}"#, "\"latest\"", "7", "true"] {
        assert_eq!(
            find(lookup("eth_getBalance"), params).reading(),
            Reading::Foreign
        );
    }
    // The call's data where the block belongs.
    assert_eq!(pinned("eth_call", r#"["latest",{"to":"0x1"}]"#), None);
}

#[test]
fn a_tag_may_be_written_with_escapes() {
    let got = pinned("eth_getBalance", r#"["0x1","l\u0061test"]"#);
    assert_eq!(got.as_deref(), Some(r#"["0x1","0x64"]"#));
    assert_eq!(pinned("eth_getBalance", r#"["0x1","\ud800latest"]"#), None);
}

// P-4
#[test]
fn a_doubtful_member_name_leaves_the_whole_filter_alone() {
    for filter in [
        r#"{"fromBlock":"latest","fromBlock":"latest"}"#,
        r#"{"fromBlock":"latest","fromblock":"0x1"}"#,
        r#"{"FromBlock":"0x1"}"#,
        r#"{"fromBloc\u006b":"0x1"}"#,
        "{\"fromBloc\u{212a}\":\"0x1\"}",
        "{\"bloc\u{212a}Ha\u{17f}h\":\"0x1\"}",
        r#"{"toBlock":"latest","toBlock":null}"#,
        r#"{"toBlock":{"blockNumber":"latest"}}"#,
        r#"{"blockHash":"latest"}"#,
    ] {
        let params = format!("[{filter}]");
        assert_eq!(
            find(lookup("eth_getLogs"), &params).reading(),
            Reading::Foreign,
            "{filter}"
        );
        assert_eq!(pinned("eth_getLogs", &params), None, "{filter}");
    }
    let got = pinned(
        "eth_getLogs",
        r#"[{"\u0061ddress":"0x1","toBlock":"0xff","é":1}]"#,
    );
    let wanted = r#"[{"\u0061ddress":"0x1","toBlock":"0xff","é":1,"fromBlock":"0x64"}]"#;
    assert_eq!(got.as_deref(), Some(wanted));
}

// scenario L03, scenario L05
#[test]
fn both_bounds_of_a_log_range_take_the_same_pin() {
    let cases = [
        (
            r#"[{"address":"0x1"}]"#,
            r#"[{"address":"0x1","fromBlock":"0x64","toBlock":"0x64"}]"#,
        ),
        ("[{}]", r#"[{"fromBlock":"0x64","toBlock":"0x64"}]"#),
        ("[{ } ]", r#"[{"fromBlock":"0x64","toBlock":"0x64" } ]"#),
        (
            r#"[{"fromBlock":"0x63","toBlock":"latest"}]"#,
            r#"[{"fromBlock":"0x63","toBlock":"0x64"}]"#,
        ),
        (
            r#"[{"toBlock":"latest", "fromBlock":"latest"}]"#,
            r#"[{"toBlock":"0x64", "fromBlock":"0x64"}]"#,
        ),
        (
            r#"[{"fromBlock":"0x1"}]"#,
            r#"[{"fromBlock":"0x1","toBlock":"0x64"}]"#,
        ),
        (
            r#"[{"fromBlock":99}]"#,
            r#"[{"fromBlock":99,"toBlock":"0x64"}]"#,
        ),
        (
            r#"[{"fromBlock":null,"toBlock":null,"blockHash":null}]"#,
            r#"[{"fromBlock":"0x64","toBlock":"0x64","blockHash":null}]"#,
        ),
        (
            r#"[{"fromBlock":"earliest","toBlock":"latest"}]"#,
            r#"[{"fromBlock":"earliest","toBlock":"0x64"}]"#,
        ),
        (
            r#"[{"fromBlock":"finalized","toBlock":"latest"}]"#,
            r#"[{"fromBlock":"finalized","toBlock":"0x64"}]"#,
        ),
        (
            r#"[{"toBlock":"latest","topics":[]}]"#,
            r#"[{"toBlock":"0x64","topics":[],"fromBlock":"0x64"}]"#,
        ),
        (
            r#"[{"fromBlock":"latest","toBlock":"0x69"}]"#,
            r#"[{"fromBlock":"0x64","toBlock":"0x69"}]"#,
        ),
        (
            r#"[{"fromBlock":"0x64"}]"#,
            r#"[{"fromBlock":"0x64","toBlock":"0x64"}]"#,
        ),
    ];
    for (params, wanted) in cases {
        assert_eq!(
            pinned("eth_getLogs", params).as_deref(),
            Some(wanted),
            "{params}"
        );
    }
}

// P-4, scenario L04
#[test]
fn a_range_that_the_pin_would_turn_round_is_left_alone() {
    let row = lookup("eth_getLogs");
    let reference = |low, high| Reference {
        low: Some(low),
        high: Some(high),
        hash: None,
    };
    for (filter, wanted) in [
        (
            r#"{"fromBlock":"0x65","toBlock":"latest"}"#,
            reference(100, 101),
        ),
        (r#"{"fromBlock":"0x65"}"#, reference(100, 101)),
        (r#"{"fromBlock":101}"#, reference(100, 101)),
        (r#"{"toBlock":"0x32"}"#, reference(50, 100)),
        (
            r#"{"fromBlock":"latest","toBlock":"0x63"}"#,
            reference(99, 100),
        ),
        (
            r#"{"fromBlock":"latest","toBlock":"earliest"}"#,
            reference(0, 100),
        ),
    ] {
        let params = format!("[{filter}]");
        let mut out = String::new();
        assert_eq!(
            rewrite(row, &params, 100, &mut out),
            Rewritten::Inverted,
            "{filter}"
        );
        assert!(out.is_empty());
        let found = find(row, &params);
        assert!(found.wants_pin() && found.inverts(100));
        assert_eq!(found.reference(Some(100)), wanted, "{filter}");
    }
    for filter in [
        r#"{"fromBlock":"latest","toBlock":"finalized"}"#,
        r#"{"toBlock":"safe"}"#,
        r#"{"fromBlock":"pending","toBlock":"latest"}"#,
    ] {
        let mut out = String::new();
        let got = rewrite(row, &format!("[{filter}]"), 100, &mut out);
        assert_eq!(got, Rewritten::Inverted, "{filter}");
    }
    assert!(!find(row, r#"[{"fromBlock":"0x65"}]"#).inverts(101));
}

// P-4
#[test]
fn a_filter_with_a_block_hash_and_a_stored_filter_are_never_changed() {
    let by_hash = format!(r#"[{{"blockHash":"{HASH}"}}]"#);
    assert_eq!(pinned("eth_getLogs", &by_hash), None);
    let both = format!(r#"[{{"blockHash":"{HASH}","fromBlock":"latest"}}]"#);
    assert_eq!(pinned("eth_getLogs", &both), None);
    let found = find(lookup("eth_getLogs"), &both);
    assert_eq!(found.reference(Some(100)).hash, Some(hash()));
    assert_eq!(pinned("eth_newFilter", r#"[{"fromBlock":"latest"}]"#), None);
    assert_eq!(
        pinned("eth_subscribe", r#"["logs",{"fromBlock":"latest"}]"#),
        None
    );
    assert_eq!(pinned("trace_filter", r#"[{"fromBlock":"0x1"}]"#), None);
    let got = pinned("trace_filter", r#"[{"fromBlock":"latest"}]"#);
    assert_eq!(got.as_deref(), Some(r#"[{"fromBlock":"0x64"}]"#));
}

// P-4
#[test]
fn a_trace_call_has_its_block_beside_the_types() {
    for (params, wanted) in [
        (
            r#"[{},["trace"],"latest"]"#,
            Some(r#"[{},["trace"],"0x64"]"#),
        ),
        (
            r#"[{},"latest",["trace"]]"#,
            Some(r#"[{},"0x64",["trace"]]"#),
        ),
        (r#"[{},"latest"]"#, Some(r#"[{},"0x64"]"#)),
        (r#"[{},["trace"]]"#, Some(r#"[{},["trace"],"0x64"]"#)),
        (
            r#"[{},{"blockNumber":"latest"},[]]"#,
            Some(r#"[{},{"blockNumber":"0x64"},[]]"#),
        ),
        (r#"[{},["trace"],"0x5"]"#, None),
        (r#"[{},"0x5",["trace"]]"#, None),
        (r#"[{},"trace","latest"]"#, None),
        (r#"[{},"latest","latest"]"#, None),
    ] {
        for method in ["trace_call", "trace_rawTransaction", "arbtrace_call"] {
            assert_eq!(
                pinned(method, params).as_deref(),
                wanted,
                "{method} {params}"
            );
        }
    }
}

#[test]
fn the_reference_height_follows_what_was_asked() {
    let of = |method: &str, params: &str| {
        let reference = find(lookup(method), params).reference(Some(100));
        (reference.low, reference.high)
    };
    assert_eq!(of("eth_getBalance", r#"["0x1","0x5"]"#), (Some(5), Some(5)));
    assert_eq!(
        of("eth_getBalance", r#"["0x1","earliest"]"#),
        (Some(0), Some(0))
    );
    assert_eq!(
        of("eth_getBalance", r#"["0x1","latest"]"#),
        (Some(100), Some(100))
    );
    assert_eq!(of("eth_getBalance", r#"["0x1"]"#), (Some(100), Some(100)));
    assert_eq!(
        of("eth_getBalance", r#"["0x1",{"blockNumber":"0x6"}]"#),
        (Some(6), Some(6))
    );
    assert_eq!(of("ots_getBlockDetails", "[7]"), (Some(7), Some(7)));
    for tag in ["safe", "finalized", "pending"] {
        assert_eq!(
            of("eth_getBalance", &format!(r#"["0x1","{tag}"]"#)),
            (None, None)
        );
    }
    assert_eq!(of("eth_estimateGas", "[{}]"), (None, None));
    assert_eq!(of("eth_newFilter", "[{}]"), (None, None));
    assert_eq!(of("eth_chainId", "[]"), (None, None));
    assert_eq!(
        of("eth_getLogs", r#"[{"fromBlock":"0x1","toBlock":"0x9"}]"#),
        (Some(1), Some(9))
    );
    assert_eq!(
        of("eth_getLogs", r#"[{"fromBlock":"0x1"}]"#),
        (Some(1), Some(100))
    );
    assert_eq!(
        of("eth_getLogs", r#"[{"fromBlock":"0x1","toBlock":"safe"}]"#),
        (Some(1), None)
    );
    assert_eq!(
        of("eth_getLogs", r#"[{"fromBlock":"0x9","toBlock":"0x1"}]"#),
        (Some(9), Some(1))
    );
    assert_eq!(
        of("bor_getRootHash", r#"["0x1","0x9"]"#),
        (Some(1), Some(9))
    );
    assert_eq!(
        of("debug_getModifiedAccountsByNumber", r#"["0x3"]"#),
        (Some(3), Some(3))
    );
    let unpinned = find(lookup("eth_getBalance"), r#"["0x1"]"#).reference(None);
    assert_eq!(unpinned, Reference::default());
}

// P-4
#[test]
fn a_pin_is_written_as_minimal_hex() {
    for (pin, wanted) in [(0, "0x0"), (1, "0x1"), (16, "0x10"), (0xabcdef, "0xabcdef")] {
        let mut out = String::new();
        rewrite(
            lookup("eth_getBlockByNumber"),
            r#"["latest",true]"#,
            pin,
            &mut out,
        );
        assert_eq!(out, format!(r#"["{wanted}",true]"#));
    }
    let mut out = String::new();
    rewrite(
        lookup("eth_getBlockByNumber"),
        r#"["latest"]"#,
        u64::MAX,
        &mut out,
    );
    assert_eq!(out, r#"["0xffffffffffffffff"]"#);
}

#[test]
fn nothing_outside_the_splice_is_touched() {
    let data = "aB".repeat(500_000);
    let call = format!(r#"{{"data" :"0x{data}","gas":1e3,"gas": 007.0, "x":"\u00e9é\"]}}" }}"#);
    let got = pinned("eth_call", &format!("[{call} ,\t\"latest\"\n,{{}}]")).unwrap();
    assert_eq!(got, format!("[{call} ,\t\"0x64\"\n,{{}}]"));
}
