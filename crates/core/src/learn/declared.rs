//! What the configuration says of an endpoint. It wins over what is learned.

use super::{Data, Kept};
use crate::method::Tag;

/// Blocks of which the present state may pass for theirs: as far as an endpoint may lag and still be
/// asked, and the head itself.
const NEWEST: u64 = 3;

/// Something that an endpoint takes only so much of at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Blocks in the range of a log query, both ends counted.
    LogRange,
    /// Calls in a batch.
    Batch,
    /// Bytes in the body of a request.
    Body,
}

impl Size {
    pub(super) const COUNT: usize = 3;
}

/// What is declared of one endpoint; empty where nothing is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// It keeps everything from the first block on, except as `kept` says.
    pub archive: bool,
    /// How far back it keeps something.
    pub kept: Vec<(Data, Kept)>,
    /// The largest size that it takes.
    pub largest: Vec<(Size, u64)>,
    /// Whether it knows a tag.
    pub tags: Vec<(Tag, bool)>,
}

impl Declared {
    /// What is known of an endpoint by its address, where nothing else is said: HyperEVM's official
    /// one answers state reads at any height from the present (`semantics.md` §2.4), so it keeps that
    /// of the newest blocks only.
    #[must_use]
    pub fn known(host: &str, path: &str) -> Self {
        let path = path.strip_suffix('/').unwrap_or(path);
        let present = host.eq_ignore_ascii_case("rpc.hyperliquid.xyz") && path == "/evm";
        Self {
            kept: present
                .then_some((Data::State, Kept::Last(NEWEST)))
                .into_iter()
                .collect(),
            ..Self::default()
        }
    }

    pub(super) fn kept(&self, kind: Data) -> Option<Kept> {
        let archive = self.archive.then_some(Kept::From(0));
        find(&self.kept, &kind).or(archive)
    }

    pub(super) fn largest(&self, size: Size) -> Option<u64> {
        find(&self.largest, &size)
    }

    pub(super) fn tag(&self, tag: Tag) -> Option<bool> {
        find(&self.tags, &tag)
    }
}

/// The last entry counts, as the last line of a configuration does.
fn find<K: PartialEq, V: Copy>(entries: &[(K, V)], key: &K) -> Option<V> {
    let entry = entries.iter().rev().find(|(name, _)| name == key)?;
    Some(entry.1)
}
