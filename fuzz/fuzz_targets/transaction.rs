//! Any bytes as a raw transaction: what is read of them is read again from their hex, and stands in
//! the bytes.
#![no_main]

use highwater_core::transaction::{Kind, Raw};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = Raw::of_params(text);
        let _ = Raw::of_hex(text);
    }
    let raw = Raw::of_bytes(bytes);
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(Raw::of_hex(&format!("0x{hex}")), raw);
    assert_eq!(Raw::of_params(&format!("[\"0x{hex}\",1]")), raw);
    let Some(raw) = raw else { return };
    let first = bytes.first().expect("not empty");
    match raw.kind {
        Kind::Legacy => assert!(*first >= 0xc0),
        Kind::AccessList => assert_eq!(*first, 1),
        Kind::DynamicFee => assert_eq!(*first, 2),
        Kind::Blob => assert_eq!(*first, 3),
        Kind::SetCode => assert_eq!(*first, 4),
        Kind::Other(kind) => assert!(kind == *first && raw.signed.is_none()),
    }
    if let Some(signed) = raw.signed {
        for number in [signed.r, signed.s] {
            let zeros = number.iter().take_while(|byte| **byte == 0).count();
            let digits = &number[zeros..];
            assert!(digits.is_empty() || bytes.windows(digits.len()).any(|part| part == digits));
        }
        assert_ne!(signed.signing_hash, raw.hash.0);
    }
});
