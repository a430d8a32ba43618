//! Where the block of a request is found, and what a pin makes of the request's bytes.

use highwater_core::method::{
    Block, BlockPath, Descriptor, Omitted, PinLatest, Reading, Reference, Rewritten, Tag, find,
    lookup, rewrite, rows,
};

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
    let mut out = b"kept".to_vec();
    let rewritten = rewrite(lookup(method), params, 100, &mut out);
    let out = String::from_utf8(out).expect("text");
    let out = out.strip_prefix("kept").expect("out is appended to");
    match rewritten {
        Rewritten::Pinned => Some(out.to_owned()),
        Rewritten::Unchanged | Rewritten::Inverted => {
            assert_eq!(out, "");
            None
        }
    }
}

/// Plausible parameters before the index of the path.
fn before(row: &Descriptor, path: &BlockPath) -> Vec<String> {
    let fill = |index: u8| {
        let is_block = row.block_params.iter().any(|path| path.index == index);
        match (is_block, index) {
            (true, _) => "\"0x1\"",
            (false, 1) => r#"["x"]"#,
            (false, _) => r#"{"to":"0xAb"}"#,
        }
        .to_owned()
    };
    (0..path.index).map(fill).collect()
}

/// Parameters with `value` at the path.
fn at(row: &Descriptor, path: &BlockPath, value: &str) -> String {
    let mut elements = before(row, path);
    elements.push(match path.key {
        Some(key) => format!(r#"{{"other": 1, "{key}" :{value} }}"#),
        None => value.to_owned(),
    });
    format!("[ {} , null]", elements.join(","))
}

fn with_blocks() -> impl Iterator<Item = (&'static Descriptor, &'static BlockPath)> {
    rows()
        .iter()
        .flat_map(|row| row.block_params.iter().map(move |path| (row, path)))
}

fn slot_of(row: &'static Descriptor, path: &BlockPath, params: &str) -> (Block, bool) {
    let found = find(row, params);
    assert_eq!(found.reading(), Reading::Clear, "{} {params}", row.name);
    let slot = found
        .slots()
        .iter()
        .find(|slot| slot.path == *path)
        .expect("one slot a path");
    (slot.block, slot.object.is_some())
}

/// Other paths of the row that a pin fills in beside the one under test.
fn fills_others(row: &Descriptor) -> bool {
    row.fills_omitted() && row.block_params.len() > 1
}

// P-4
#[test]
fn every_row_pins_the_tag_at_its_own_place_and_nothing_else() {
    let mut seen = 0;
    for (row, path) in with_blocks().filter(|(_, path)| path.key != Some("blockHash")) {
        let params = at(row, path, r#""latest""#);
        assert_eq!(
            slot_of(row, path, &params),
            (Block::Tag(Tag::Latest), false),
            "{}",
            row.name
        );
        let got = pinned(row.name, &params);
        if row.pin_latest == PinLatest::No {
            assert_eq!(got, None, "{}", row.name);
            continue;
        }
        seen += 1;
        let got = got.unwrap_or_else(|| panic!("{} is pinned", row.name));
        let wanted = at(row, path, r#""0x64""#);
        if fills_others(row) {
            assert_eq!(got.matches("\"0x64\"").count(), 2, "{} {got}", row.name);
        } else {
            assert_eq!(got, wanted, "{}", row.name);
        }
    }
    assert_eq!(seen, 90);
}

// P-4
#[test]
fn every_row_leaves_a_number_a_tag_and_a_hash_alone() {
    for (row, path) in with_blocks() {
        let is_hash_key = path.key == Some("blockHash");
        let cases = [
            ("\"0x1F\"", Block::Number(31)),
            ("\"safe\"", Block::Tag(Tag::Safe)),
            ("\"finalized\"", Block::Tag(Tag::Finalized)),
            ("\"pending\"", Block::Tag(Tag::Pending)),
            ("\"earliest\"", Block::Tag(Tag::Earliest)),
            ("31", Block::JsonNumber(31)),
        ];
        for (written, block) in cases {
            let params = at(row, path, written);
            if is_hash_key {
                assert_eq!(
                    find(row, &params).reading(),
                    Reading::Foreign,
                    "{}",
                    row.name
                );
            } else {
                assert_eq!(
                    slot_of(row, path, &params),
                    (block, false),
                    "{} {params}",
                    row.name
                );
            }
            if !fills_others(row) || is_hash_key {
                assert_eq!(pinned(row.name, &params), None, "{} {params}", row.name);
            }
        }
        let params = at(row, path, &format!("\"{HASH}\""));
        let is_bound = matches!(path.key, Some("fromBlock" | "toBlock" | "stateBlockNumber"));
        if is_bound {
            assert_eq!(
                find(row, &params).reading(),
                Reading::Foreign,
                "{}",
                row.name
            );
        } else {
            assert_eq!(
                slot_of(row, path, &params),
                (Block::Hash(hash()), false),
                "{}",
                row.name
            );
            let reference = Reference {
                hash: Some(hash()),
                ..Reference::default()
            };
            assert_eq!(
                find(row, &params).reference(Some(100)),
                reference,
                "{}",
                row.name
            );
        }
        assert_eq!(pinned(row.name, &params), None, "{}", row.name);
    }
}

// P-4, scenario M14, scenario M13
#[test]
fn every_row_keeps_the_object_form() {
    for (row, path) in with_blocks().filter(|(_, path)| path.key.is_none()) {
        let of = |inner: &str| at(row, path, inner);
        let latest = of(r#"{ "blockNumber" : "latest" , "requireCanonical":false}"#);
        assert_eq!(
            slot_of(row, path, &latest),
            (Block::Tag(Tag::Latest), true),
            "{}",
            row.name
        );
        let wanted = (row.pin_latest != PinLatest::No)
            .then(|| of(r#"{ "blockNumber" : "0x64" , "requireCanonical":false}"#));
        assert_eq!(pinned(row.name, &latest), wanted, "{}", row.name);

        let by_hash = of(&format!(
            r#"{{"requireCanonical":true,"blockHash":"{HASH}"}}"#
        ));
        assert_eq!(
            slot_of(row, path, &by_hash),
            (Block::Hash(hash()), true),
            "{}",
            row.name
        );
        assert_eq!(pinned(row.name, &by_hash), None, "{}", row.name);
        let by_number = of(r#"{"blockNumber":"0x1f"}"#);
        assert_eq!(
            slot_of(row, path, &by_number),
            (Block::Number(31), true),
            "{}",
            row.name
        );
        assert_eq!(pinned(row.name, &by_number), None, "{}", row.name);
    }
}

// P-4, scenario P03, scenario P04
#[test]
fn every_row_fills_an_omitted_block_only_where_the_table_says_latest() {
    let mut filled = 0;
    for (row, path) in with_blocks().filter(|(_, path)| path.key.is_none()) {
        let mut elements = before(row, path);
        let got = pinned(row.name, &format!("[{}]", elements.join(", ")));
        let fills = row.omitted_means == Omitted::Latest && row.pin_latest == PinLatest::Yes;
        let wanted = fills.then(|| {
            filled += 1;
            let tail = if elements.is_empty() { "" } else { "," };
            format!("[{}{tail}\"0x64\"]", elements.join(", "))
        });
        assert_eq!(got, wanted, "{}", row.name);
        elements.pop();
        if path.index > 0 {
            let short = pinned(row.name, &format!("[{}]", elements.join(", ")));
            assert_eq!(short, None, "{} is never padded", row.name);
        }
    }
    assert_eq!(filled, 22);
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
        let mut out = Vec::new();
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
        let mut out = Vec::new();
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
        let mut out = Vec::new();
        rewrite(
            lookup("eth_getBlockByNumber"),
            r#"["latest",true]"#,
            pin,
            &mut out,
        );
        assert_eq!(
            String::from_utf8(out).unwrap(),
            format!(r#"["{wanted}",true]"#)
        );
    }
    let mut out = Vec::new();
    rewrite(
        lookup("eth_getBlockByNumber"),
        r#"["latest"]"#,
        u64::MAX,
        &mut out,
    );
    assert_eq!(out, br#"["0xffffffffffffffff"]"#);
}

#[test]
fn nothing_outside_the_splice_is_touched() {
    let data = "aB".repeat(500_000);
    let call = format!(r#"{{"data" :"0x{data}","gas":1e3,"gas": 007.0, "x":"\u00e9é\"]}}" }}"#);
    let got = pinned("eth_call", &format!("[{call} ,\t\"latest\"\n,{{}}]")).unwrap();
    assert_eq!(got, format!("[{call} ,\t\"0x64\"\n,{{}}]"));
}
