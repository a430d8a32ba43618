//! Narrower filters from wider indexes (P-22), and signs of headers.

use crate::{
    chain::{Chain, Emitted, Wanted},
    index::{WINDOW, joined},
};
use highwater_core::{
    answer::Hash,
    cache::Sign,
    logs::{Ask, Bloom, Blooms, Filter, Found, List, Piece, Shelf, Told},
};

// P-22
#[test]
fn a_narrower_filter_is_answered_from_a_wider_index() {
    let mut chain = Chain::new();
    for n in 0..100_u8 {
        chain.grow(vec![
            Emitted {
                address: n % 3,
                topics: vec![n % 2],
            },
            Emitted {
                address: 7,
                topics: vec![],
            },
        ]);
    }
    let mut shelf = Shelf::default();
    let wide = Wanted {
        addresses: vec![0, 1, 7],
        topics: vec![],
    };
    let filter = Filter::read(&wide.params(false)).unwrap();
    let text = format!("[{}]", chain.scan(&wide, 50, 100));
    let told = Told {
        from: 50,
        to: 100,
        list: &List::read(&text, &filter, 50, 100).unwrap(),
        pinned: true,
        all_hold: false,
        rival: false,
        pieces: &[Piece {
            to: 100,
            voice: Some(0),
        }],
        endpoint: &chain.endpoint,
        blooms: &Blooms::default(),
        at: chain.now,
        since: chain.recent.mark(),
    };
    shelf
        .put(&filter, &told, WINDOW, 1 << 20, &chain.view())
        .unwrap();
    let ask = Ask {
        from: 60,
        to: Some(90),
        newest: false,
        floor: None,
    };
    for (addresses, topics) in [
        (vec![1], vec![]),
        (vec![0, 7], vec![vec![1]]),
        (vec![7], vec![vec![1]]),
        (vec![0, 1, 7], vec![]),
    ] {
        let narrow = Wanted { addresses, topics };
        let filter = Filter::read(&narrow.params(true)).unwrap();
        let cut = shelf.find(&filter, &ask, &chain.view()).unwrap();
        assert!(matches!(cut.found, Found::Whole { to: 90, .. }));
        assert_eq!(joined(&cut.texts), chain.scan(&narrow, 60, 90));
    }
    let other = Filter::read(&Wanted::default().params(true)).unwrap();
    assert!(shelf.find(&other, &ask, &chain.view()).is_err());
}

fn header(bloom: [u8; 256], transactions: &str) -> String {
    let bloom: String = bloom.iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        r#"{{"number":"0x64","hash":"0x{}","logsBloom":"0x{bloom}","transactions":[{transactions}]}}"#,
        "ab".repeat(32)
    )
}

// P-21: rule suspect
#[test]
fn a_bloom_that_cannot_match_is_a_sign_and_one_that_lies_ends_all_trust() {
    let hash: Hash = [0xab; 32];
    let wanted = Wanted {
        addresses: vec![1, 2],
        topics: vec![vec![], vec![3]],
    };
    let filter = Filter::read(&wanted.params(false)).unwrap();
    let full = Bloom::new([0xff; 256]);
    let empty = Bloom::new([0; 256]);
    assert!(filter.may_be_in(&full) && !filter.may_be_in(&empty));
    let known = |bloom: [u8; 256], transactions: &str| {
        let mut blooms = Blooms::default();
        blooms.on_block(&header(bloom, transactions));
        blooms
    };
    let mut some = [0; 256];
    some[0] = 1;
    let sign = |blooms: &Blooms| blooms.sign(100, &hash, &filter);
    assert_eq!(sign(&known(some, "\"0x1\"")), Some(Sign::Bloom));
    assert_eq!(sign(&known([0xff; 256], "\"0x1\"")), None);
    // A chain that fills in no blooms.
    assert_eq!(sign(&known([0; 256], "\"0x1\"")), None);
    assert_eq!(sign(&known([0; 256], "")), Some(Sign::NoTransactions));
    let mut blooms = known(some, "\"0x1\"");
    assert_eq!(blooms.sign(101, &hash, &filter), None);
    assert_eq!(blooms.sign(100, &[1; 32], &filter), None);
    blooms.on_log(101, &hash, &filter);
    assert_eq!(sign(&blooms), Some(Sign::Bloom));
    blooms.on_log(100, &hash, &filter);
    assert_eq!(sign(&blooms), None);
    blooms.on_block(&header(some, "\"0x1\""));
    assert_eq!(sign(&blooms), None);
}

// P-21: the bits are those of the yellow paper
#[test]
fn a_bloom_holds_what_was_put_in() {
    for name in [[1_u8; 20], [2; 20], [0xfe; 20]] {
        let mut bloom = alloy_primitives::Bloom::ZERO;
        bloom.accrue(alloy_primitives::BloomInput::Raw(&name));
        let own = Bloom::new(bloom.0.0);
        assert!(own.may_hold(&name));
        assert!(!own.may_hold(&[7; 20]));
    }
}
