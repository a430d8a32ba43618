//! A network by id or by name.

use highwater_core::{ChainId, chains};

/// A network by its EIP-155 id, or by a name that the table of chains has: `1`, `"ethereum"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network<'a> {
    /// By its id.
    Id(ChainId),
    /// By its short name, its name, or its id in words; case does not matter.
    Name(&'a str),
}

impl Network<'_> {
    /// Its id; `None`: nobody knows the name.
    #[must_use]
    pub fn id(self) -> Option<ChainId> {
        match self {
            Self::Id(id) => Some(id),
            Self::Name(name) => match chains::named(name) {
                Some(chain) => Some(chain.id),
                None => name.parse().ok().map(ChainId),
            },
        }
    }
}

impl From<ChainId> for Network<'_> {
    fn from(id: ChainId) -> Self {
        Self::Id(id)
    }
}

impl From<u64> for Network<'_> {
    fn from(id: u64) -> Self {
        Self::Id(ChainId(id))
    }
}

impl<'a> From<&'a str> for Network<'a> {
    fn from(name: &'a str) -> Self {
        Self::Name(name)
    }
}

impl<'a> From<&'a String> for Network<'a> {
    fn from(name: &'a String) -> Self {
        Self::Name(name)
    }
}
