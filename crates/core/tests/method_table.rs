//! The generated method table says what the CSV says, and a name finds the right row.

use highwater_core::method::{
    BlockForms, CacheClass, Coalesce, Descriptor, Failover, Lane, Omitted, PinLatest, Racing,
    RowKind, lookup, lookup_folded, rows,
};

const CSV: &str = include_str!("../data/methods.csv");

/// Splits a line at the commas outside quotes.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells.last_mut().expect("never empty").push(c),
        }
    }
    cells
}

fn table() -> Vec<Vec<String>> {
    CSV.lines().skip(1).map(cells).collect()
}

/// The word of the CSV for a variant, from its debug name.
fn word(variant: &dyn std::fmt::Debug) -> String {
    let name = format!("{variant:?}");
    match name.as_str() {
        "Extension" => "ext",
        "AccountAbstraction" => "aa",
        "Nothing" => "no",
        "SameBytes" => "same-bytes",
        "ByHash" => "by_hash",
        "ByNumber" => "by_number",
        "ByTx" => "by_tx",
        "AtHead" => "at_head",
        "LogRange" => "log_range",
        name => return name.to_ascii_lowercase(),
    }
    .to_owned()
}

fn or(variant: &dyn std::fmt::Debug, not_applicable: &str) -> String {
    match word(variant) {
        word if word == "notapplicable" => not_applicable.to_owned(),
        word => word,
    }
}

fn paths(row: &Descriptor) -> String {
    let one = |path: &highwater_core::method::BlockPath| match path.key {
        Some(key) => format!("{}.{key}", path.index),
        None => path.index.to_string(),
    };
    match (row.block_params, row.alias) {
        ([], true) => "alias".to_owned(),
        ([], false) => "-".to_owned(),
        (paths, _) => paths.iter().map(one).collect::<Vec<_>>().join(";"),
    }
}

fn forms(forms: BlockForms) -> String {
    let letters = [
        ('h', BlockForms::HASH),
        ('n', BlockForms::NUMBER),
        ('o', BlockForms::OBJECT),
        ('r', BlockForms::RANGE),
        ('t', BlockForms::TAG),
    ];
    letters
        .iter()
        .filter(|(_, form)| forms.contains(*form))
        .map(|(letter, _)| *letter)
        .collect()
}

// P-4
#[test]
fn every_column_of_every_row_is_what_the_csv_says() {
    let table = table();
    assert_eq!(table.len(), rows().len());
    for (number, (line, row)) in table.iter().zip(rows()).enumerate() {
        let mut wanted = line.clone();
        let mut letters: Vec<char> = wanted[7].chars().filter(|c| *c != '-').collect();
        letters.sort_unstable();
        wanted[7] = letters.into_iter().collect();
        let got = vec![
            row.name.to_owned(),
            row.ns.to_owned(),
            word(&row.tier),
            word(&row.idempotent),
            word(&row.state_changing),
            word(&row.sticky),
            paths(row),
            forms(row.block_forms),
            or(&row.omitted_means, "-"),
            word(&row.pin_latest),
            word(&row.race),
            word(&row.hedge),
            word(&row.coalesce),
            word(&row.failover),
            word(&row.cache_class),
            or(&row.empty_is, "n/a"),
            row.weight.to_string(),
            word(&row.lane),
            row.note.to_owned(),
        ];
        assert_eq!(got, wanted, "line {}", number + 2);
        assert_eq!(usize::from(row.id.0), number);
        assert_eq!(row.id.descriptor(), Some(row));
    }
}

// P-4
#[test]
fn the_columns_add_up() {
    let count = |test: fn(&Descriptor) -> bool| rows().iter().filter(|row| test(row)).count();
    assert_eq!(rows().len(), 383);
    assert_eq!(count(|row| row.kind == RowKind::Prefix), 53);
    assert_eq!(count(|row| row.kind == RowKind::Default), 1);
    assert_eq!(count(|row| row.has_block()), 122);
    assert_eq!(count(|row| row.alias), 4);
    assert_eq!(count(|row| row.pin_latest == PinLatest::Yes), 75);
    assert_eq!(count(|row| row.pin_latest == PinLatest::Given), 8);
    assert_eq!(count(|row| row.omitted_means == Omitted::Latest), 31);
    assert_eq!(count(|row| row.omitted_means == Omitted::Client), 5);
    assert_eq!(count(|row| row.block_forms.contains(BlockForms::RANGE)), 6);
    assert_eq!(
        count(|row| row.block_forms.contains(BlockForms::OBJECT)),
        43
    );
}

#[test]
fn every_exact_name_finds_its_own_row() {
    for row in rows().iter().filter(|row| row.kind == RowKind::Exact) {
        assert!(std::ptr::eq(lookup(row.name), row), "{}", row.name);
        assert_eq!(lookup_folded(row.name), (row, true), "{}", row.name);
    }
}

#[test]
fn an_unlisted_name_finds_the_longest_prefix_or_the_default() {
    let cases = [
        ("debug_foo", "debug_*"),
        ("debug_traceCal", "debug_*"),
        ("debug_traceCallManyX", "debug_*"),
        ("debug_", "debug_*"),
        ("debug_*", "debug_*"),
        ("debug", "*"),
        ("eth_foo", "*"),
        ("eth_", "*"),
        ("personal_x", "personal_*"),
        ("personal_sign", "personal_sign"),
        ("walletX", "*"),
        ("wallet_x", "wallet_*"),
        ("hmyv2_getFoo", "hmyv2_*"),
        ("hmy_getFoo", "hmy_*"),
        ("engine_newPayloadV4", "engine_*"),
        ("", "*"),
        ("*", "*"),
        ("eth_call ", "*"),
        ("eth_call\0", "*"),
        ("\u{e9}th_call", "*"),
        ("debug_\u{e9}", "debug_*"),
    ];
    for (name, row) in cases {
        assert_eq!(lookup(name).name, row, "{name:?}");
    }
    let long = format!("debug_{}", "x".repeat(10_000));
    assert_eq!(lookup(&long).name, "debug_*");
    assert_eq!(lookup(&"eth_call".repeat(1_000)).name, "*");
}

// hardening B7
#[test]
fn case_is_kept_on_the_wire_and_ignored_by_policy() {
    for name in ["ETH_CALL", "eth_CALL", "Eth_Call", "eth_calL"] {
        assert_eq!(lookup(name).name, "*", "{name}");
        let (row, exact) = lookup_folded(name);
        assert_eq!((row.name, exact), ("eth_call", false), "{name}");
    }
    assert_eq!(lookup("debug_SETHEAD").name, "debug_*");
    assert_eq!(lookup_folded("debug_SETHEAD").0.name, "debug_setHead");
    assert_eq!(lookup("ADMIN_peers").name, "*");
    let (row, exact) = lookup_folded("ADMIN_peers");
    assert_eq!(
        (row.name, row.lane, exact),
        ("admin_*", Lane::Denied, false)
    );
    let (row, exact) = lookup_folded("admin_PEERS");
    assert_eq!((row.name, exact), ("admin_*", true));
    let (row, exact) = lookup_folded("nobody_knows");
    assert_eq!((row.name, exact), ("*", true));
}

// hardening C7
#[test]
fn operator_and_signer_surfaces_are_denied_in_any_case() {
    let denied = [
        "engine_newPayloadV4",
        "admin_addPeer",
        "personal_sign",
        "personal_unlockAccount",
        "personal_anything",
        "miner_start",
        "clique_propose",
        "les_serverInfo",
        "db_putString",
        "shh_post",
        "anvil_setBalance",
        "hardhat_impersonateAccount",
        "evm_mine",
        "testing_buildBlockV1",
        "auctioneer_submitAuctionTransaction",
        "eth_sign",
        "eth_signTransaction",
        "eth_signTypedData",
        "eth_signTypedData_v4",
        "eth_sendTransaction",
        "eth_requestAccounts",
        "eth_submitWork",
        "eth_submitHashrate",
        "wallet_sendCalls",
        "wallet_anything",
        "debug_setHead",
        "debug_dbGet",
        "debug_chaindbCompact",
        "klay_sendTransaction",
        "kaia_sign",
        "hmyv2_signTransaction",
    ];
    for name in denied {
        assert!(lookup(name).is_denied(), "{name}");
        for spelling in [name.to_ascii_uppercase(), name.to_ascii_lowercase()] {
            assert!(lookup_folded(&spelling).0.is_denied(), "{spelling}");
        }
    }
    for name in [
        "eth_call",
        "eth_sendRawTransaction",
        "debug_traceCall",
        "trace_block",
    ] {
        assert!(
            !lookup_folded(&name.to_ascii_uppercase()).0.is_denied(),
            "{name}"
        );
    }
}

#[test]
fn an_alias_follows_the_eth_method_with_the_same_suffix() {
    for prefix in ["klay_", "kaia_", "hmy_", "hmyv2_"] {
        let row = lookup(&format!("{prefix}getBlockByNumber"));
        let eth = lookup("eth_getBlockByNumber");
        assert_eq!((row.name, row.id, row.lane), (eth.name, eth.id, eth.lane));
        assert_eq!(
            (row.block_params, row.pin_latest),
            (eth.block_params, PinLatest::Given)
        );
        assert!(row.alias && !eth.alias);
        assert_eq!(
            lookup(&format!("{prefix}noSuchThing")).name,
            format!("{prefix}*")
        );
        assert_eq!(
            lookup(&format!("{prefix}GETBLOCKBYNUMBER")).name,
            format!("{prefix}*")
        );
        let (folded, exact) = lookup_folded(&format!("{prefix}GETBLOCKBYNUMBER"));
        assert_eq!((folded, exact), (row, false));
    }
    assert_eq!(lookup(&format!("klay_{}", "x".repeat(500))).name, "klay_*");
}

// P-4
#[test]
fn an_alias_never_fills_in_a_block_that_was_left_out() {
    let row = lookup("hmyv2_getBalance");
    assert_eq!(row.name, "eth_getBalance");
    assert_eq!(
        (row.omitted_means, row.pin_latest),
        (Omitted::Client, PinLatest::Given)
    );
    assert!(!row.fills_omitted() && lookup("eth_getBalance").fills_omitted());
}

//
#[test]
fn what_must_stay_at_one_endpoint_is_never_raced_hedged_pinned_shared_or_cached() {
    let named = [
        "eth_sendTransaction",
        "eth_sign",
        "eth_signTransaction",
        "eth_signTypedData",
        "eth_signTypedData_v1",
        "eth_signTypedData_v3",
        "eth_signTypedData_v4",
        "personal_sign",
        "personal_sendTransaction",
        "personal_whatever",
        "eth_submitWork",
        "eth_submitHashrate",
        "wallet_sendTransaction",
        "wallet_sendCalls",
        "eth_subscribe",
        "eth_getFilterChanges",
        "eth_newFilter",
        "eth_newBlockFilter",
        "eth_newPendingTransactionFilter",
    ];
    let families = rows()
        .iter()
        .map(|row| row.name)
        .filter(|name| name.starts_with("eth_signTypedData") || name.starts_with("personal_"));
    for name in named.into_iter().chain(families) {
        let row = lookup(name.trim_end_matches('*'));
        assert!(
            matches!(row.failover, Failover::None | Failover::Unsent),
            "{name}"
        );
        assert_eq!(row.race, Racing::No, "{name}");
        assert_eq!(row.hedge, Racing::No, "{name}");
        assert_eq!(row.coalesce, Coalesce::No, "{name}");
        assert_eq!(row.cache_class, CacheClass::Never, "{name}");
        assert_eq!(row.pin_latest, PinLatest::No, "{name}");
        assert!(row.is_solitary() && !row.is_read(), "{name}");
    }
    assert!(!lookup("eth_call").is_solitary());
}

// P-10, P-15
#[test]
fn what_changes_something_is_neither_shared_nor_kept() {
    for row in rows().iter().filter(|row| !row.is_read()) {
        assert_eq!(row.coalesce, Coalesce::No, "{}", row.name);
        assert_eq!(row.cache_class, CacheClass::Never, "{}", row.name);
        assert_eq!(row.race, Racing::No, "{}", row.name);
    }
    for name in [
        "eth_getTransactionCount",
        "eth_estimateGas",
        "eth_gasPrice",
        "eth_maxPriorityFeePerGas",
        "eth_feeHistory",
        "eth_getFilterLogs",
    ] {
        assert_eq!(lookup(name).cache_class, CacheClass::Never, "{name}");
    }
}

// P-4
#[test]
fn only_trace_calls_locate_their_block_by_type() {
    let by_type = rows()
        .iter()
        .filter(|row| row.block_beside_types())
        .map(|row| row.name);
    let wanted = ["trace_call", "trace_rawTransaction", "arbtrace_call"];
    assert_eq!(by_type.collect::<Vec<_>>(), wanted);
}
