//! Bounds of a range above every block number.

use crate::method::{
    array_text,
    scan::{self, Elements, Members},
};

/// Whether a range begins or ends at a number that no block can have: above `u64::MAX`. No node holds it,
/// whatever one that cuts ranges at its head answers (P-24).
#[must_use]
pub fn is_beyond_numbers(params: &str) -> bool {
    let text = array_text(params);
    let open = scan::skip_blanks(text.as_bytes(), 0);
    if text.as_bytes().get(open) != Some(&b'[') {
        return false;
    }
    let Some(object) = Elements::new(text.as_bytes(), open).next() else {
        return false;
    };
    if text.as_bytes().get(object.start) != Some(&b'{') {
        return false;
    }
    Members::new(text.as_bytes(), object.start).any(|(name, value)| {
        let bound = matches!(scan::name(text, &name), "fromBlock" | "toBlock");
        bound && text.get(value).is_some_and(is_above)
    })
}

/// A quantity of more than 64 bits. 64 digits are a hash.
fn is_above(written: &str) -> bool {
    let Some(digits) = written
        .strip_prefix("\"0x")
        .and_then(|written| written.strip_suffix('"'))
    else {
        return false;
    };
    digits.len() != 64
        && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
        && digits.trim_start_matches('0').len() > 16
}

#[cfg(test)]
mod tests {
    use super::*;

    // P-24
    #[test]
    fn numbers_of_more_than_64_bits_are_no_blocks() {
        let of = |from: &str, to: &str| {
            is_beyond_numbers(&format!(r#"[{{"fromBlock":"{from}","toBlock":"{to}"}}]"#))
        };
        assert!(of("0x0", "0x10000000000000000"));
        assert!(of("0xfffffffffffffffff", "latest"));
        assert!(of("0x1", &format!("0x{}", "f".repeat(63))));
        assert!(!of("0x0", "0xffffffffffffffff"));
        assert!(!of("0x0", "0x00000000000000000000000064"));
        assert!(!of("0x0", &format!("0x{}", "f".repeat(64))));
        assert!(!of("earliest", "0x1000000000000000g"));
        for odd in ["", "[]", "[1]", "{}", "[{\"toBlock\":1}]", "[{\"toBlock\""] {
            assert!(!is_beyond_numbers(odd), "{odd}");
        }
    }
}
