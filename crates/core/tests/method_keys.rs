//! Which requests are one and which are two.

use highwater_core::method::{KeyForm, Resolve, canonical_key, find, lookup, rows};

const HASH: &str = "0x00112233445566778899AABBCCDDEEFF00112233445566778899aabbccddeeff";

fn key_as(resolve: Resolve, method: &str, params: &str) -> (KeyForm, Vec<u8>) {
    let found = find(lookup(method), params);
    let mut buf = Vec::new();
    let body = canonical_key(&found, method, params, &mut buf);
    body.seal(&found, params, resolve, &mut buf);
    (body.form(), buf)
}

fn key(method: &str, params: &str) -> (KeyForm, Vec<u8>) {
    key_as(Resolve::AsWritten, method, params)
}

fn assert_one(method: &str, group: &[&str]) {
    for params in group {
        let (form, bytes) = key(method, params);
        assert_eq!(form, KeyForm::Canonical, "{method} {params}");
        assert_eq!(bytes, key(method, group[0]).1, "{method} {params}");
    }
}

fn assert_all_differ(method: &str, group: &[&str]) {
    for (index, one) in group.iter().enumerate() {
        for other in &group[index + 1..] {
            assert_ne!(
                key(method, one).1,
                key(method, other).1,
                "{method} {one} {other}"
            );
        }
    }
}

// P-10, hardening B15
#[test]
fn blanks_member_order_and_hex_case_make_no_difference() {
    assert_one(
        "eth_call",
        &[
            r#"[{"to":"0xab","data":"0xcd"},"0x10"]"#,
            "[ {\"data\" :\t\"0xCD\" , \"to\":\n\"0xaB\" } ,\r\"0x10\" ]",
            r#"[{"data":"0xCd","to":"0xAB"},"0x10"]"#,
        ],
    );
    assert_one(
        "eth_getLogs",
        &[
            r#"[{"address":["0xaa","0xbb"],"topics":[null,["0xcc"]],"fromBlock":"0x1","toBlock":"0x2"}]"#,
            r#"[{"toBlock":"0x2","fromBlock":"0x1","topics":[null,["0xCC"]],"address":["0xAA","0xBB"]}]"#,
        ],
    );
    assert_one(
        "eth_call",
        &[
            r#"[{},"0x1",{"0xaa":{"balance":"0x1","stateDiff":{"0x01":"0xa","0x02":"0xb"}},"0xbb":{}}]"#,
            r#"[{},"0x1",{"0xBB":{},"0xAA":{"stateDiff":{"0x02":"0xB","0x01":"0xA"},"balance":"0x1"}}]"#,
        ],
    );
    assert_one(
        "eth_getBlockByHash",
        &[
            &format!(r#"["{HASH}",true]"#),
            &format!(r#"[ "{}",true]"#, HASH.to_lowercase()),
        ],
    );
}

// P-12
#[test]
fn an_omitted_block_is_latest_only_where_the_table_says_so() {
    assert_one(
        "eth_call",
        &[r#"[{"to":"0x1"}]"#, r#"[{"to":"0x1"},"latest"]"#],
    );
    assert_one(
        "eth_getBalance",
        &[
            r#"["0x1"]"#,
            r#"["0x1","latest"]"#,
            r#"["0x1","l\u0061test"]"#,
        ],
    );
    assert_one(
        "eth_getLogs",
        &[
            "[{}]",
            r#"[{"toBlock":"latest"}]"#,
            r#"[{"toBlock":"latest","fromBlock":"latest"}]"#,
        ],
    );
    assert_one(
        "bor_getAuthor",
        &["", "null", "{}", " {\n} ", "[]", " [ ]", r#"["latest"]"#],
    );
    assert_all_differ(
        "eth_estimateGas",
        &["[{}]", r#"[{},"latest"]"#, "[{},null]"],
    );
    assert_all_differ("hmyv2_getBalance", &[r#"["0x1"]"#, r#"["0x1","latest"]"#]);
    assert_all_differ("trace_filter", &["[{}]", r#"[{"toBlock":"latest"}]"#]);
    assert_all_differ(
        "eth_getBalance",
        &[r#"["0x1"]"#, r#"["0x1",null]"#, r#"["0x1",null,null]"#],
    );
    let both = format!(r#"[{{"blockHash":"{HASH}","fromBlock":"latest"}}]"#);
    assert_all_differ(
        "eth_getLogs",
        &[&format!(r#"[{{"blockHash":"{HASH}"}}]"#), &both],
    );
}

// P-10, hardening B15
#[test]
fn what_nodes_may_read_differently_stays_different() {
    assert_all_differ(
        "eth_call",
        &[
            r#"[{"data":"0x1"},"0x1"]"#,
            r#"[{"input":"0x1"},"0x1"]"#,
            r#"[{"data":"0x1","input":"0x1"},"0x1"]"#,
            r#"[{"data":"0x01"},"0x1"]"#,
            r#"[{"data":"0X1"},"0x1"]"#,
            r#"[{"data":1},"0x1"]"#,
            r#"[{"data":"1"},"0x1"]"#,
            r#"[{"data":null},"0x1"]"#,
            r#"[{"data":"null"},"0x1"]"#,
            r#"[{"data":["0x1"]},"0x1"]"#,
            r#"[{},"0x1"]"#,
            r#"[[{}],"0x1"]"#,
            r#"[{},"0x01"]"#,
            r#"[{},1]"#,
            r#"[{},"1"]"#,
            r#"[{},"0x1",null]"#,
            r#"[{},"0x1",{}]"#,
            r#"[{},"0x1",{},{}]"#,
            r#"[{},"0x1",{"0x1":{}}]"#,
            r#"[{},"0x1",{"0x1":{"balance":"0x1"}}]"#,
            r#"[{},"0x1",{"0x1":{"code":"0x1"}}]"#,
            r#"[{},"0x1",null,{"number":"0x1"}]"#,
            r#"[{},"0x1",{},{"number":"0x1"}]"#,
            r#"[{},{"blockNumber":"0x1"}]"#,
            r#"[{},{"blockNumber":1}]"#,
            r#"[{},{"blockNumber":"0x1","requireCanonical":false}]"#,
            r#"[{},{"blockNumber":"0x1","requireCanonical":true}]"#,
            r#"[{},"latest"]"#,
            r#"[{},"Latest"]"#,
            r#"[{},"safe"]"#,
            r#"[{},"finalized"]"#,
            r#"[{},"pending"]"#,
            r#"[{},"earliest"]"#,
            r#"[{},"0x0"]"#,
            r#"[{},{"blockNumber":"latest"}]"#,
        ],
    );
    assert_all_differ(
        "eth_getLogs",
        &[
            r#"[{"topics":["0xa","0xb"]}]"#,
            r#"[{"topics":["0xb","0xa"]}]"#,
            r#"[{"topics":[["0xa","0xb"]]}]"#,
            r#"[{"topics":[["0xa"],"0xb"]}]"#,
            r#"[{"topics":[["0xa"],["0xb"]]}]"#,
            r#"[{"topics":["0xa",null]}]"#,
            r#"[{"topics":["0xa","null"]}]"#,
            r#"[{"topics":["0xa"]}]"#,
            r#"[{"topics":[]}]"#,
            r#"[{"address":"0xa"}]"#,
            r#"[{"address":["0xa"]}]"#,
            r#"[{"fromBlock":"0x1"}]"#,
            r#"[{"toBlock":"0x1"}]"#,
            r#"[{"fromBlock":null}]"#,
            r#"[{"blockHash":null}]"#,
            "[{}]",
            "[]",
        ],
    );
}

// scenario M13
#[test]
fn the_canonical_flag_is_part_of_the_key() {
    let bare = format!(r#"["0x1","{HASH}"]"#);
    let object = format!(r#"["0x1",{{"blockHash":"{HASH}"}}]"#);
    let loose = format!(r#"["0x1",{{"blockHash":"{HASH}","requireCanonical":false}}]"#);
    let strict = format!(r#"["0x1",{{"blockHash":"{HASH}","requireCanonical":true}}]"#);
    assert_all_differ("eth_getBalance", &[&bare, &object, &loose, &strict]);
    let turned = format!(r#"["0x1",{{"requireCanonical":true,"blockHash":"{HASH}"}}]"#);
    assert_one("eth_getBalance", &[&strict, &turned]);
}

// hardening F1
#[test]
fn the_method_is_part_of_the_key_as_it_is_on_the_wire() {
    let all = [
        "eth_getLogs",
        "sei_getLogs",
        "erigon_getLogs",
        "klay_getLogs",
        "kaia_getLogs",
        "x",
        "X",
        "",
    ];
    for (index, one) in all.iter().enumerate() {
        for other in &all[index + 1..] {
            assert_ne!(key(one, "[{}]").1, key(other, "[{}]").1, "{one} {other}");
        }
    }
    // No text of a method can reach into the parameters.
    assert_ne!(key("a", "[1]").1, key("a[", "1]").1);
}

// hardening F1
#[test]
fn the_key_is_appended_to_what_the_caller_wrote_first() {
    let params = r#"["0x1"]"#;
    let found = find(lookup("eth_getBalance"), params);
    let mut buf = b"chain 1 ".to_vec();
    let body = canonical_key(&found, "eth_getBalance", params, &mut buf);
    body.seal(&found, params, Resolve::At(7), &mut buf);
    body.seal(&found, params, Resolve::AsWritten, &mut buf);
    assert_eq!(
        buf.strip_prefix(b"chain 1 "),
        Some(key("eth_getBalance", params).1.as_slice())
    );
}

// P-10, hardening B15
#[test]
fn the_unknown_is_keyed_by_its_bytes() {
    for (method, params) in [
        ("nobody_knows", "[]"),
        ("debug_foo", r#"["0xA"]"#),
        ("eth_call", r#"[{"to":"0x1","extra":1},"latest"]"#),
        ("eth_call", r#"[{"to":"0x1","to":"0x1"},"latest"]"#),
        ("eth_call", r#"[{"TO":"0x1"},"latest"]"#),
        ("eth_call", r#"[{"t\u006f":"0x1"},"latest"]"#),
        ("eth_call", r#"[{},"latest",{},{},{}]"#),
        ("eth_call", r#"[{},{"to":"0x1"}]"#),
        ("eth_call", r#"[{},"latest",{"0xa":{},"0xA":{}}]"#),
        ("eth_call", r#"[{},"latest",{"0x1":{},"0x01":{}}]"#),
        (
            "eth_call",
            r#"[{},"latest",{"0xa":{"nonce":"0x1","odd":1}}]"#,
        ),
        ("eth_getLogs", r#"[{"fromBlock":"0x1","FromBlock":"0x1"}]"#),
        ("eth_getLogs", r#"{"fromBlock":"0x1"}"#),
        ("eth_getBalance", r#"["0x1","latest",1]"#),
        ("eth_getBalance", r#"[{"a":1},"latest"]"#),
        ("eth_chainId", "[1]"),
    ] {
        let (form, bytes) = key(method, params);
        assert_eq!((form, bytes[0]), (KeyForm::Raw, b'R'), "{method} {params}");
        let spaced = params.replace(',', " , ").replace('[', "[\n");
        assert_eq!(key(method, &spaced).1, bytes, "{method} {params}");
    }
    assert_all_differ(
        "nobody_knows",
        &[r#"["0xA"]"#, r#"["0xa"]"#, r#"["0x A"]"#, "[]", r#"[""]"#],
    );
    assert_all_differ(
        "eth_call",
        &[
            r#"[{"extra":1,"to":"0xA"}]"#,
            r#"[{"extra":1,"to":"0xa"}]"#,
            r#"[{"to":"0xA","extra":1}]"#,
            r#"[{"to":"0xA"}]"#,
        ],
    );
    assert_eq!(key("eth_chainId", "[]").0, KeyForm::Canonical);
    let deep = format!(
        "[{{\"data\":{}1{}}}]",
        "[".repeat(10_000),
        "]".repeat(10_000)
    );
    assert_eq!(key("eth_call", &deep).0, KeyForm::Raw);
}

// P-12
#[test]
fn implied_explicit_and_pinned_spellings_meet_at_the_pin() {
    let at = |method: &str, params: &str| key_as(Resolve::At(100), method, params).1;
    for params in [
        r#"[{}]"#,
        r#"[{},null]"#,
        r#"[{},"latest"]"#,
        r#"[{},"0x64"]"#,
    ] {
        assert_eq!(
            at("eth_call", params),
            key("eth_call", r#"[{},"0x64"]"#).1,
            "{params}"
        );
    }
    for params in [
        "[{}]",
        r#"[{"fromBlock":"latest"}]"#,
        r#"[{"toBlock":null}]"#,
    ] {
        let written = r#"[{"fromBlock":"0x64","toBlock":"0x64"}]"#;
        assert_eq!(
            at("eth_getLogs", params),
            key("eth_getLogs", written).1,
            "{params}"
        );
    }
    // scenario P04
    let as_it_is = key("eth_estimateGas", "[{}]").1;
    assert_eq!(at("eth_estimateGas", "[{}]"), as_it_is);
    let given = key("eth_estimateGas", r#"[{},"0x64"]"#).1;
    assert_eq!(at("eth_estimateGas", r#"[{},"latest"]"#), given);
    // scenario L04: left alone, and then a bound that was left out is not the tag.
    let inverted = r#"[{"toBlock":"0x32"}]"#;
    assert_ne!(
        at("eth_getLogs", inverted),
        at(
            "eth_getLogs",
            r#"[{"toBlock":"0x32","fromBlock":"latest"}]"#
        )
    );
    assert_ne!(
        at("eth_getLogs", inverted),
        at("eth_getLogs", r#"[{"toBlock":"0x32","fromBlock":"0x64"}]"#)
    );
    for params in [
        r#"[{},"safe"]"#,
        r#"[{},"0x5"]"#,
        r#"[{},{"blockNumber":"0x5"}]"#,
    ] {
        assert_eq!(
            at("eth_call", params),
            key("eth_call", params).1,
            "{params}"
        );
    }
}

// P-12, P-6, scenario C01
#[test]
fn a_latest_read_and_a_read_at_any_number_look_at_one_tagless_entry() {
    let tagless = |method: &str, params: &str| key_as(Resolve::Tagless, method, params).1;
    let entry = tagless("eth_call", "[{}]");
    for params in [
        r#"[{},null]"#,
        r#"[{},"latest"]"#,
        r#"[{},"0x63"]"#,
        r#"[{},"0x64"]"#,
    ] {
        assert_eq!(tagless("eth_call", params), entry, "{params}");
    }
    for params in [
        r#"[{},"pending"]"#,
        r#"[{},"safe"]"#,
        r#"[{},"finalized"]"#,
        r#"[{},"earliest"]"#,
        r#"[{},"0x064"]"#,
        r#"[{},100]"#,
        r#"[{},{"blockNumber":"latest"}]"#,
        r#"[{"to":"0x1"}]"#,
        &format!(r#"[{{}},"{HASH}"]"#),
    ] {
        assert_ne!(tagless("eth_call", params), entry, "{params}");
    }
    // A range is never without its bounds.
    let range = r#"[{"fromBlock":"0x1","toBlock":"0x2"}]"#;
    assert_eq!(tagless("eth_getLogs", range), key("eth_getLogs", range).1);
    assert_ne!(
        tagless("eth_estimateGas", "[{}]"),
        tagless("eth_estimateGas", r#"[{},"0x1"]"#)
    );
}

// P-4
#[test]
fn every_method_with_known_shapes_has_a_canonical_key_for_its_blocks() {
    for row in rows()
        .iter()
        .filter(|row| row.params.is_some() && row.has_block())
    {
        let [path] = row.block_params else { continue };
        let mut elements = vec!["\"0xaA\""; path.index.into()];
        let bare = format!("[{}]", elements.join(","));
        let with = |elements: &[&str], block: &str| {
            let separator = if elements.is_empty() { "" } else { "," };
            let block = match path.key {
                Some(key) => format!(r#"{{"{key}":{block}}}"#),
                None => block.to_owned(),
            };
            format!("[{}{separator}{block}]", elements.join(","))
        };
        let latest = with(&elements, "\"latest\"");
        let number = with(&elements, "\"0x64\"");
        // The block of a trace call is told by its neighbour's type.
        if row.block_beside_types() {
            elements[1] = "[]";
        }
        let latest = if row.block_beside_types() {
            with(&elements, "\"latest\"")
        } else {
            latest
        };
        let number = if row.block_beside_types() {
            with(&elements, "\"0x64\"")
        } else {
            number
        };
        assert_eq!(key(row.name, &latest).0, KeyForm::Canonical, "{}", row.name);
        let pinned = key_as(Resolve::At(100), row.name, &latest).1;
        let pins = row.pin_latest != highwater_core::method::PinLatest::No;
        assert_eq!(pinned == key(row.name, &number).1, pins, "{}", row.name);
        if path.key.is_none() && !row.block_beside_types() {
            let implied = key(row.name, &bare) == key(row.name, &latest);
            let latest_by_table = row.omitted_means == highwater_core::method::Omitted::Latest;
            assert_eq!(implied, latest_by_table, "{}", row.name);
        }
    }
}
