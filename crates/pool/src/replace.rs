//! Other endpoints at run time (L-10).
//!
//! An endpoint is the same when its URL is, credentials included, or its very transport; its label
//! decides only between several of the same URL. What stays keeps its connections and everything that
//! was learned.

use crate::{
    ConfigError, Endpoint,
    builder::{check_endpoints, labels},
    inner::{Inner, place},
    node::Node,
};
use highwater_core::{EndpointId, settings::Settings};
use std::sync::Arc;

impl Inner {
    pub(crate) fn replace_endpoints(
        &self,
        endpoints: Vec<Endpoint>,
        settings: Option<Settings>,
    ) -> Result<(), ConfigError> {
        check_endpoints(&endpoints)?;
        if let Some(settings) = &settings {
            settings
                .check()
                .map_err(|field| ConfigError::new(field, "is out of range"))?;
        }
        let labels = labels(&endpoints)?;
        let _one_at_a_time = self.replacing.lock();
        let present = Arc::clone(&self.lock().nodes);
        // Connections are prepared outside the lock.
        let mut nodes = Vec::with_capacity(endpoints.len());
        let mut profiles = Vec::with_capacity(endpoints.len());
        let mut matching = Matching::new(&present, &endpoints, &labels);
        for (endpoint, label) in endpoints.into_iter().zip(labels) {
            profiles.push(endpoint.profile);
            nodes.push(match matching.next() {
                Some(known) if *known.label == *label => Arc::clone(known),
                Some(known) => Arc::new(known.renamed(label)),
                None => Arc::new(Node::new(label, endpoint.transport, &self.http)?),
            });
        }
        let from: Vec<Option<EndpointId>> =
            nodes.iter().map(|node| place(&present, node)).collect();
        let mut state = self.lock();
        let settings = settings.unwrap_or_else(|| state.router.settings().clone());
        let now = self.now();
        self.reads.set(&settings);
        state.hot.set(&settings);
        state
            .router
            .replace(profiles, &from, Arc::new(settings), now);
        state.nodes = nodes.into();
        self.tell(state);
        self.probing.wake();
        Ok(())
    }
}

/// Which present endpoint each of the new ones is, in their order.
struct Matching<'a> {
    found: std::vec::IntoIter<Option<&'a Arc<Node>>>,
}

impl<'a> Matching<'a> {
    fn new(present: &'a [Arc<Node>], endpoints: &[Endpoint], labels: &[String]) -> Self {
        let mut free: Vec<Option<&Arc<Node>>> = present.iter().map(Some).collect();
        let mut found = vec![None; endpoints.len()];
        for by_label in [true, false] {
            for (place, endpoint) in endpoints.iter().enumerate() {
                if found[place].is_some() {
                    continue;
                }
                let is_same = |node: &&Arc<Node>| {
                    node.is_at(&endpoint.transport) && (!by_label || *node.label == *labels[place])
                };
                let slot = free
                    .iter_mut()
                    .find(|slot| slot.as_ref().is_some_and(is_same));
                found[place] = slot.and_then(Option::take);
            }
        }
        Self {
            found: found.into_iter(),
        }
    }

    fn next(&mut self) -> Option<&'a Arc<Node>> {
        self.found.next().flatten()
    }
}
