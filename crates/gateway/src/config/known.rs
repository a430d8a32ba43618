//! Chains known by name: the identity columns of the shipped chain table.
//!
//! A chain given by a known name gets that chain's id, and an id that contradicts the name is a
//! mistake worth stopping for: calls would go to another network. G-13.

use highwater_core::ChainId;
use std::sync::OnceLock;

static TABLE: &str = include_str!("../../data/chains.csv");

/// One row: the id and the name used in paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KnownChain {
    pub(super) id: ChainId,
    pub(super) slug: &'static str,
}

/// All rows in the order of the table.
pub(super) fn all() -> &'static [KnownChain] {
    static CHAINS: OnceLock<Vec<KnownChain>> = OnceLock::new();
    CHAINS.get_or_init(|| {
        TABLE
            .lines()
            .skip(1)
            .filter_map(|row| {
                // Neither of the first two columns is ever quoted; a test says so.
                let mut columns = row.split(',');
                let id = columns.next()?.parse().ok()?;
                Some(KnownChain {
                    id: ChainId(id),
                    slug: columns.next()?,
                })
            })
            .collect()
    })
}

pub(super) fn by_slug(slug: &str) -> Option<KnownChain> {
    all().iter().copied().find(|chain| chain.slug == slug)
}

pub(super) fn by_id(id: ChainId) -> Option<KnownChain> {
    all().iter().copied().find(|chain| chain.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    // G-13
    #[test]
    fn every_row_of_the_table_is_a_chain() {
        assert_eq!(all().len(), TABLE.lines().count() - 1);
        for chain in all() {
            assert!(
                crate::config::name::ChainName::parse(chain.slug).is_ok(),
                "{}",
                chain.slug
            );
            assert_eq!(
                by_id(chain.id),
                Some(*chain),
                "two rows for id {}",
                chain.id
            );
            assert_eq!(
                by_slug(chain.slug),
                Some(*chain),
                "two rows for {}",
                chain.slug
            );
        }
    }

    // G-13
    #[test]
    fn knows_ethereum_and_base_by_name_and_id() {
        assert_eq!(by_slug("ethereum").map(|chain| chain.id), Some(ChainId(1)));
        assert_eq!(by_id(ChainId(8453)).map(|chain| chain.slug), Some("base"));
        assert_eq!(by_slug("no-such-chain"), None);
    }
}
