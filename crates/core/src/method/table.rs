//! The method table and its lookups.
//!
//! Exact name, else the longest row ending in `*` that is a prefix, else the row `*`. The rows and
//! two perfect hashes over their names are generated from `data/methods.csv` by the build script:
//! a hit costs one hash and one comparison, and nothing is allocated.
//!
//! Two readers, because names are case-sensitive on the wire but a rule must not be: [`lookup`] says
//! what an endpoint will do with the name as written, [`lookup_folded`] which rules were meant for
//! it. `ETH_CALL` is an unknown method to a node, yet no allow-list, price or cache rule may be
//! passed by that spelling.

use super::{
    descriptor::{
        BlockForms, BlockPath, CacheClass, Changes, Coalesce, Descriptor, EmptyIs, Failover,
        Idempotent, Lane, MethodId, Omitted, PinLatest, Racing, RowKind, Sticky, Tier,
    },
    hash, shape,
};

include!(concat!(env!("OUT_DIR"), "/methods.rs"));

/// All rows in the order of the table; the index is the [`MethodId`].
#[must_use]
pub fn rows() -> &'static [Descriptor] {
    &ROWS
}

/// The row of a method as an endpoint will read its name.
#[must_use]
pub fn lookup(method: &str) -> &'static Descriptor {
    find(method.as_bytes(), |row, name| row == name)
}

/// The row whose rules are meant for a name, whatever its case, and whether the name is spelt as the
/// row spells it. Under a prefix row only the prefix is compared; the row `*` has no spelling.
#[must_use]
pub fn lookup_folded(method: &str) -> (&'static Descriptor, bool) {
    let name = method.as_bytes();
    // No two rows differ in case only (the build checks it), so this is the folded answer too.
    if let Some(row) = exact(name, |row, name| row == name) {
        return (&ROWS[row], true);
    }
    let row = find(name, <[u8]>::eq_ignore_ascii_case);
    (row, std::ptr::eq(row, lookup(method)))
}

impl MethodId {
    /// The row with this number.
    #[must_use]
    pub fn descriptor(self) -> Option<&'static Descriptor> {
        ROWS.get(usize::from(self.0))
    }
}

/// One perfect hash: displacements by bucket, then row numbers by slot.
struct Index {
    displacements: &'static [u16],
    slots: &'static [u16],
}

impl Index {
    /// The only row that could have this name.
    fn candidate(&self, name: &[u8]) -> Option<usize> {
        let hash = hash::folded(name);
        let bucket = hash::bucket(hash, self.displacements.len());
        let slot = hash::slot(hash, self.displacements[bucket], self.slots.len());
        let row = self.slots[slot];
        (row != EMPTY).then_some(usize::from(row))
    }
}

type Same = fn(&[u8], &[u8]) -> bool;

fn find(name: &[u8], same: Same) -> &'static Descriptor {
    if let Some(row) = exact(name, same) {
        return &ROWS[row];
    }
    for length in PREFIX_LENGTHS {
        let Some(prefix) = name.get(..*length) else {
            continue;
        };
        let Some(row) = PREFIXES.candidate(prefix) else {
            continue;
        };
        let row_name = ROWS[row].name.as_bytes();
        if same(&row_name[..row_name.len() - 1], prefix) {
            return aliased(&name[*length..], same)
                .filter(|_| ROWS[row].alias)
                .unwrap_or(&ROWS[row]);
        }
    }
    &ROWS[DEFAULT_ROW]
}

fn exact(name: &[u8], same: Same) -> Option<usize> {
    if name.len() > LONGEST_NAME {
        return None;
    }
    let row = EXACT.candidate(name)?;
    same(ROWS[row].name.as_bytes(), name).then_some(row)
}

/// The `eth_` row with this suffix, as it is seen through an alias.
fn aliased(suffix: &[u8], same: Same) -> Option<&'static Descriptor> {
    let mut name = [0; LONGEST_NAME];
    let length = 4 + suffix.len();
    name[..4].copy_from_slice(b"eth_");
    name.get_mut(4..length)?.copy_from_slice(suffix);
    let row = exact(&name[..length], same)?;
    ALIASED.get(usize::from(ALIAS_OF[row]))
}
