//! Filters that live on the node: an id, and how far it was polled.

use std::collections::BTreeMap;

use serde_json::Value;

use super::dialect::Miss;
use super::logs::{self, Wanted};
use super::render;
use super::sight::Sight;
use crate::rng::Rng;

/// Most filters that a node keeps; the oldest goes first.
const MOST: usize = 1_024;

#[derive(Clone, Debug)]
enum Kind {
    Logs { wanted: Wanted, filter: Value },
    Blocks,
}

#[derive(Clone, Debug)]
struct Filter {
    kind: Kind,
    /// Highest block that was handed out.
    polled: u64,
}

/// The filters of one node.
#[derive(Debug)]
pub(super) struct Filters {
    by_id: BTreeMap<u64, Filter>,
    rng: Rng,
    /// In the order made.
    made: Vec<u64>,
}

impl Filters {
    pub(super) fn new(rng: Rng) -> Self {
        Self {
            by_id: BTreeMap::new(),
            rng,
            made: Vec::new(),
        }
    }

    pub(super) fn logs(&mut self, sight: &Sight<'_>, filter: &Value) -> Result<String, Miss> {
        let wanted = Wanted::parse(filter)?;
        let filter = filter.clone();
        Ok(self.add(sight, Kind::Logs { wanted, filter }))
    }

    pub(super) fn blocks(&mut self, sight: &Sight<'_>) -> String {
        self.add(sight, Kind::Blocks)
    }

    fn add(&mut self, sight: &Sight<'_>, kind: Kind) -> String {
        if self.made.len() >= MOST {
            let oldest = self.made.remove(0);
            self.by_id.remove(&oldest);
        }
        let id = self.rng.next();
        let polled = sight.head();
        self.made.push(id);
        self.by_id.insert(id, Filter { kind, polled });
        format!("\"{id:#x}\"")
    }

    pub(super) fn changes(&mut self, sight: &Sight<'_>, id: &Value) -> Result<String, Miss> {
        let filter = parse(id).and_then(|id| self.by_id.get_mut(&id));
        let filter = filter.ok_or_else(|| sight.dialect.filter_not_found())?;
        let head = sight.head();
        let mut found = Vec::new();
        for height in filter.polled + 1..=head {
            let Some(block) = sight.block(height) else {
                continue;
            };
            match &filter.kind {
                Kind::Logs { wanted, .. } => wanted.collect(sight, &block, &mut found),
                Kind::Blocks => found.push(render::hash(block.hash)),
            }
        }
        filter.polled = filter.polled.max(head);
        Ok(logs::list(&found))
    }

    pub(super) fn all(&mut self, sight: &Sight<'_>, id: &Value) -> Result<String, Miss> {
        let filter = parse(id).and_then(|id| self.by_id.get(&id));
        match filter.map(|filter| &filter.kind) {
            Some(Kind::Logs { filter, .. }) => logs::search(sight, filter),
            Some(Kind::Blocks) | None => Err(sight.dialect.filter_not_found()),
        }
    }

    pub(super) fn remove(&mut self, id: &Value) -> Result<String, Miss> {
        let id = parse(id);
        let removed = id.and_then(|id| self.by_id.remove(&id)).is_some();
        self.made.retain(|made| Some(*made) != id);
        Ok(removed.to_string())
    }
}

fn parse(id: &Value) -> Option<u64> {
    super::sight::parse_quantity(id.as_str()?)
}
