use highwater_core::transaction::{Kind, Raw};
use proptest::prelude::*;

/// A header that claims more than there is, of every width, and other bytes that are no transaction.
const BROKEN: &[&str] = &[
    "0x80",
    "0xb8",
    "0xbfffffffffffffffff",
    "0xc1",
    "0xc101ff",
    "0xf7",
    "0xf8",
    "0xf800",
    "0xf83701",
    "0xf90001c0",
    "0xffffffffffffffffff",
    "0xff7fffffffffffffff",
    "0x01",
    "0x0180",
    "0x02c1",
    "0x02c0c0",
    "0x03",
    "0x0380",
    // An empty list, a wrapper of three, one of four that holds texts, one of six.
    "0x03c3c0c0c0",
    "0x03c4c0010203",
    "0x03c6c0c0c0c0c0c0",
    "0x04b8",
];

// what no node could take has no hash here.
#[test]
fn broken_bytes_have_no_hash() {
    for text in BROKEN {
        assert_eq!(Raw::of_hex(text), None, "{text}");
    }
}

// a wrapper is looked into only where its shape is known.
#[test]
fn a_list_in_another_layout_has_a_hash_and_no_more() {
    for text in ["0xc0", "0xc20102", "0x02c0", "0x01c3010203", "0x04c1c0"] {
        let raw = Raw::of_hex(text).expect("a hash");
        assert_eq!(raw.signed, None, "{text}");
    }
    assert!(Raw::of_hex("0x03c4c0c0c0c0").is_some_and(|raw| raw.kind == Kind::Blob));
}

// never guess. ZKsync makes the hash of its own type from other bytes.
#[test]
fn an_unknown_type_has_a_hash_and_the_one_that_is_hashed_otherwise_has_none() {
    let celo = Raw::of_hex("0x7bc101").expect("a hash");
    assert_eq!((celo.kind, celo.signed), (Kind::Other(0x7b), None));
    assert_eq!(Raw::of_hex("0x71c101"), None);
}

// numbers have one form.
#[test]
fn numbers_with_leading_zeros_and_long_forms_are_not_read() {
    let plain = "0xc909808080808025a0";
    assert_eq!(Raw::of_hex(plain), None);
    // Nonce, price, gas, to, value, data, v, r, s.
    for (text, read) in [
        ("0xc9098080808080250101", true),
        ("0xc9008080808080250101", false),
        ("0xc9098080808080220101", false),
        ("0xc90980808080802501c0", false),
        ("0xc909808001808025010 1", false),
        ("0xc90980c0808080250101", false),
    ] {
        let text: String = text.split_whitespace().collect();
        let signed = Raw::of_hex(&text).and_then(|raw| raw.signed);
        assert_eq!(signed.is_some(), read, "{text}");
    }
    // A small byte behind a header of its own; a short list in the long form.
    for text in ["0xca81098080808080250101", "0xf809098080808080250101"] {
        assert!(
            Raw::of_hex(text).is_none_or(|raw| raw.signed.is_none()),
            "{text}"
        );
    }
}

proptest! {
    // input from outside never panics.
    #[test]
    fn takes_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = Raw::of_bytes(&bytes);
    }

    //
    #[test]
    fn takes_any_text(text in ".{0,200}") {
        let _ = Raw::of_params(&text);
        let _ = Raw::of_params(&format!("[\"{text}"));
    }

    // bytes that begin like a transaction and go wrong later.
    #[test]
    fn takes_any_list(
        kind in prop::sample::select(vec![None, Some(1_u8), Some(2), Some(3), Some(4)]),
        items in prop::collection::vec(
            prop_oneof![Just(vec![0x80]), Just(vec![0xc0]), Just(vec![0xb8]), Just(vec![0xf9, 0xff]), any::<u8>().prop_map(|b| vec![b])],
            0..22,
        ),
        off in 0..3_u8,
    ) {
        let body = items.concat();
        let mut bytes: Vec<u8> = kind.into_iter().collect();
        bytes.push(0xc0_u8.saturating_add(body.len().min(54) as u8).saturating_add(off).saturating_sub(1));
        bytes.extend_from_slice(&body);
        if let Some(raw) = Raw::of_bytes(&bytes) {
            prop_assert_eq!(Raw::of_hex(&format!("0x{}", alloy_primitives::hex::encode(&bytes))), Some(raw));
        }
    }
}
