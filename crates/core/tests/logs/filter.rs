//! The normal form of a filter, and which other it covers.

use crate::chain::Wanted;
use highwater_core::logs::{Filter, count, is_foreign};

fn filter(addresses: &[u8], topics: &[&[u8]]) -> Filter {
    let wanted = Wanted {
        addresses: addresses.to_vec(),
        topics: topics.iter().map(|one| one.to_vec()).collect(),
    };
    Filter::read(&wanted.params(false)).unwrap()
}

// P-21
#[test]
fn spellings_of_one_filter_have_one_form() {
    let wanted = Wanted {
        addresses: vec![0xaa, 0xbb],
        topics: vec![vec![1], vec![], vec![0xcd, 3]],
    };
    let params = wanted.params(false);
    let form = Filter::read(&params).unwrap();
    let turned = Wanted {
        addresses: vec![0xbb, 0xaa, 0xbb],
        topics: vec![vec![1], vec![], vec![3, 0xcd]],
    };
    assert_eq!(Filter::read(&turned.params(true)), Some(form.clone()));
    let reordered = params.replace("\"fromBlock\":\"0x1\", ", "");
    assert_eq!(Filter::read(&reordered), Some(form));
    let any = Filter::read("[{}]").unwrap();
    assert_eq!(
        Filter::read(r#"[{"topics":null,"address":null}]"#),
        Some(any.clone())
    );
    assert_eq!(Filter::read(r#"[{"topics":[]}]"#), Some(any.clone()));
    // Some nodes leave out logs without a first topic here.
    assert_ne!(Filter::read(r#"[{"topics":[null]}]"#), Some(any));
}

// P-21
#[test]
fn what_nodes_may_read_in_different_ways_has_no_form() {
    let topic = format!("\"0x{}\"", "11".repeat(32));
    for params in [
        "[]",
        "[[]]",
        "[{},{}]",
        "{}",
        "null",
        r#"[{"address":[]}]"#,
        r#"[{"address":"0x11"}]"#,
        r#"[{"address":["0x1111111111111111111111111111111111111111",null]}]"#,
        r#"[{"Address":"0x1111111111111111111111111111111111111111"}]"#,
        r#"[{"topics":[[]]}]"#,
        r#"[{"topics":"0x"}]"#,
        r#"[{"topics":[],"topics":[]}]"#,
        r#"[{"limit":3}]"#,
        &format!(r#"[{{"topics":[[{topic},null]]}}]"#),
        &format!(r#"[{{"topics":[{topic},{topic},{topic},{topic},{topic}]}}]"#),
    ] {
        assert_eq!(Filter::read(params), None, "{params}");
    }
}

// P-22
#[test]
fn a_filter_covers_those_that_are_within_it() {
    let any = filter(&[], &[]);
    let two = filter(&[1, 2], &[&[7, 8]]);
    for (wide, narrow, covers) in [
        (&any, &two, true),
        (&any, &filter(&[1], &[&[], &[3]]), true),
        (&two, &any, false),
        (&two, &two, true),
        (&two, &filter(&[1], &[&[7]]), true),
        (&two, &filter(&[2], &[&[8], &[9]]), true),
        (&two, &filter(&[1, 3], &[&[7]]), false),
        (&two, &filter(&[1], &[&[9]]), false),
        (&two, &filter(&[1], &[]), false),
        (&two, &filter(&[], &[&[7]]), false),
        // Logs without a second topic: some nodes have them here and others have not.
        (&any, &filter(&[1], &[&[7], &[]]), false),
        (&filter(&[], &[&[], &[]]), &filter(&[], &[&[7]]), false),
        (&filter(&[], &[&[], &[]]), &filter(&[], &[&[], &[7]]), true),
    ] {
        assert_eq!(wide.covers(narrow), covers, "{wide:?} {narrow:?}");
    }
}

// P-23: filters with thousands of addresses
#[test]
fn thousands_of_addresses_are_one_set() {
    let all: Vec<String> = (0..5000_u32)
        .rev()
        .map(|n| format!("\"0x{n:040X}\""))
        .collect();
    let wide = Filter::read(&format!(r#"[{{"address":[{}]}}]"#, all.join(","))).unwrap();
    let one =
        Filter::read(r#"[{"address":"0x0000000000000000000000000000000000001234"}]"#).unwrap();
    assert!(wide.covers(&one) && !one.covers(&wide));
    assert_eq!(wide.size(), 100_000);
    let mut address = [0; 20];
    address[18..].copy_from_slice(&4999_u16.to_be_bytes());
    assert!(wide.matches(&address, &[]));
    address[17] = 1;
    assert!(!wide.matches(&address, &[]));
}

// P-23: every log that is served was asked for
#[test]
fn a_log_that_was_not_asked_for_is_seen() {
    let params = r#"[{"address":"0x1111111111111111111111111111111111111111"}]"#;
    let log = |byte: &str| format!(r#"{{"topics":[],"address":"0x{}"}}"#, byte.repeat(20));
    assert!(!is_foreign(params, &format!("[{}]", log("11"))));
    assert!(is_foreign(
        params,
        &format!("[{},{}]", log("11"), log("12"))
    ));
    // What cannot be read is nobody's fault.
    for odd in [
        "null",
        "[]",
        "[1]",
        "[{}]",
        r#"[{"address":"0x1"}]"#,
        "[",
        "",
    ] {
        assert!(!is_foreign(params, odd), "{odd}");
    }
    assert_eq!(count("[]"), Some(0));
    assert_eq!(count(&format!("[{},{}]", log("11"), log("12"))), Some(2));
    assert_eq!(count("null"), None);
}
