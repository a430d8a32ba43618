//! One number for all answers that say the same unknown thing.

use super::fold::Folded;

/// FNV-1a over the folded text without its numbers and hashes.
///
/// Stable between runs and versions of the compiler, so that two machines report the same number.
pub(super) fn of(folded: &Folded) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    folded
        .text
        .iter()
        .filter(|c| !matches!(c, b'#' | b'@' | b'%' | b' '))
        .fold(OFFSET, |hash, c| (hash ^ u64::from(*c)).wrapping_mul(PRIME))
}
