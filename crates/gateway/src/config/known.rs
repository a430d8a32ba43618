//! Chains known by name: those of the chain table.
//!
//! A chain given by a known name gets that chain's id, and an id that contradicts the name is a
//! mistake worth stopping for: calls would go to another network. G-13.

pub(super) use highwater_core::chains::{Chain, all, by_id};

/// The chain of this name.
pub(super) fn by_slug(slug: &str) -> Option<&'static Chain> {
    all().iter().find(|chain| chain.slug == slug)
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_core::ChainId;

    // G-13
    #[test]
    fn every_chain_of_the_table_can_be_named() {
        for chain in all() {
            let name = crate::config::name::ChainName::parse(chain.slug);
            assert!(name.is_ok(), "{}", chain.slug);
            assert_eq!(by_slug(chain.slug).map(|found| found.id), Some(chain.id));
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
