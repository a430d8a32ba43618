//! State that tells where it was read.
//!
//! Nothing is stored: a value is a function of what is read, the height and the branch. Height and
//! branch stand in it as numbers, so whoever sees an answer can tell the block it came from, and a
//! read from the wrong height is visible without a second source.

use alloy_primitives::{Address, B256, U256, keccak256};

/// Number of a branch: 0 is the chain without forks, n is what fork n made.
pub type Branch = u16;

/// The place that a state value names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadAt {
    /// Height of the block.
    pub height: u64,
    /// Branch of the block.
    pub branch: Branch,
    /// Forty-eight bits that name what was read (account, slot, call).
    pub tag: u64,
}

/// The balance of an account: height in bits 64 to 111, branch in 48 to 63, tag below.
///
/// At height 1,000 that is about 18,000 ether: enough for any client to believe it can pay.
#[must_use]
pub fn balance(account: Address, height: u64, branch: Branch) -> U256 {
    U256::from(pack(height, branch, tag(&[b"balance", account.as_slice()])))
}

/// The word in a storage slot, packed as [`balance`].
#[must_use]
pub fn storage(account: Address, slot: U256, height: u64, branch: Branch) -> B256 {
    let tag = tag(&[b"slot", account.as_slice(), &slot.to_be_bytes::<32>()]);
    B256::from(U256::from(pack(height, branch, tag)))
}

/// What a call returns: one word, packed as [`balance`].
#[must_use]
pub fn call(to: Address, data: &[u8], height: u64, branch: Branch) -> B256 {
    B256::from(U256::from(pack(height, branch, call_tag(to, data))))
}

/// The tag in the answer of a call.
#[must_use]
pub fn call_tag(to: Address, data: &[u8]) -> u64 {
    tag(&[b"call", to.as_slice(), data])
}

/// The tag in the balance of an account.
#[must_use]
pub fn balance_tag(account: Address) -> u64 {
    tag(&[b"balance", account.as_slice()])
}

/// The tag in the word of a storage slot.
#[must_use]
pub fn storage_tag(account: Address, slot: U256) -> u64 {
    tag(&[b"slot", account.as_slice(), &slot.to_be_bytes::<32>()])
}

/// Reads the place back out of a hex quantity or word; `None` for anything else.
#[must_use]
pub fn read_at(hex: &str) -> Option<ReadAt> {
    let digits = hex.strip_prefix("0x")?;
    if digits.is_empty() || digits.len() > 64 {
        return None;
    }
    let number = U256::from_str_radix(digits, 16).ok()?;
    let packed = u128::try_from(number).ok()?;
    let low = |shift: u32, bits: u32| u64::try_from((packed >> shift) & ((1 << bits) - 1)).ok();
    Some(ReadAt {
        height: low(64, 48)?,
        branch: Branch::try_from(low(48, 16)?).ok()?,
        tag: low(0, 48)?,
    })
}

fn pack(height: u64, branch: Branch, tag: u64) -> u128 {
    (u128::from(height) << 64) | (u128::from(branch) << 48) | u128::from(tag)
}

fn tag(parts: &[&[u8]]) -> u64 {
    let hash = keccak256(parts.concat());
    let mut bytes = [0_u8; 8];
    bytes[2..].copy_from_slice(&hash[..6]);
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, U256};

    use super::{ReadAt, balance, balance_tag, call, call_tag, read_at, storage, storage_tag};

    #[test]
    fn a_value_names_the_block_and_the_thing_it_was_read_from() {
        let account = Address::repeat_byte(7);
        let balance = format!("{:#x}", balance(account, 1_000, 3));
        let expected = ReadAt {
            height: 1_000,
            branch: 3,
            tag: balance_tag(account),
        };
        assert_eq!(read_at(&balance), Some(expected));
        let slot = U256::from(5);
        let word = storage(account, slot, 77, 0).to_string();
        assert_eq!(read_at(&word).unwrap().height, 77);
        assert_eq!(read_at(&word).unwrap().tag, storage_tag(account, slot));
        let answer = call(account, b"abc", u64::from(u32::MAX), 1).to_string();
        assert_eq!(read_at(&answer).unwrap().height, u64::from(u32::MAX));
        assert_eq!(read_at(&answer).unwrap().tag, call_tag(account, b"abc"));
        assert_ne!(call_tag(account, b"abc"), call_tag(account, b"abd"));
    }

    #[test]
    fn reads_no_place_out_of_other_text() {
        for text in ["", "0x", "12", "0xzz", &format!("0x{}", "f".repeat(65))] {
            assert_eq!(read_at(text), None);
        }
        assert_eq!(read_at(&format!("0x{}", "f".repeat(64))), None);
    }
}
