//! The hash under the name table.
//!
//! It ignores ASCII case, so that one table serves both lookups: the exact one for the wire and the
//! folded one for policy. The table is fixed when the crate is built and a lookup compares the whole
//! name once, so a caller gains nothing by choosing names that collide. The build script compiles
//! this same file: the table and its readers cannot disagree.

/// Sets bit 5 of every byte, which maps `A`–`Z` onto `a`–`z`. Other bytes may be merged too: the
/// comparison that follows every lookup decides.
const FOLD: u64 = 0x2020_2020_2020_2020;

/// The hash of a name with ASCII case ignored.
pub(crate) fn folded(name: &[u8]) -> u64 {
    let mut hash = 0x9e37_79b9_7f4a_7c15_u64 ^ name.len() as u64;
    let mut words = name.chunks_exact(8);
    for word in &mut words {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(word);
        hash = mix(hash, u64::from_le_bytes(bytes));
    }
    let mut tail = [0; 8];
    for (slot, byte) in tail.iter_mut().zip(words.remainder()) {
        *slot = *byte;
    }
    mix(hash, u64::from_le_bytes(tail))
}

fn mix(hash: u64, word: u64) -> u64 {
    let product = (hash ^ (word | FOLD)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    product ^ (product >> 32)
}

/// Where a hash lands in a table of `slots` places (a power of two) under its bucket's displacement.
pub(crate) fn slot(hash: u64, displacement: u16, slots: usize) -> usize {
    let base = (hash >> 32) as usize;
    let step = ((hash >> 11) as usize & 0xffff) | 1;
    base.wrapping_add(step.wrapping_mul(displacement as usize)) & (slots - 1)
}

/// Which displacement a hash uses, of `buckets` (a power of two).
pub(crate) fn bucket(hash: u64, buckets: usize) -> usize {
    hash as usize & (buckets - 1)
}
