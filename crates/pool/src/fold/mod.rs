//! Calls that travel to one endpoint in one body.
//!
//! Each stays a call of its own: it has its own attempt, token, deadline, class and failover, and only
//! the request and the answer share a body. What a body as a whole meets (a lost connection, a
//! refusal by rate) is one event of the endpoint, so one of its calls reports it and the others move
//! on without a strike.
//!
//! Calls come together in two ways: as elements of one client's batch ([`ClientBatch`]), without any
//! waiting, or within a window of time ([`Windows`]). Calls of different lanes never share a body, so
//! that a cheap one does not wait for a trace, and what must not be repeated never comes here.

mod client;
mod exchange;
mod item;
mod window;

pub use client::ClientBatch;
pub(crate) use item::Item;
pub(crate) use window::Windows;

use crate::{judge::Judged, node::Node};
use highwater_core::method::Lane;
use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

/// Calls bound for one endpoint that are to share a body.
pub(crate) struct Group {
    node: Arc<Node>,
    lane: Lane,
    /// Most of them in one body.
    limit: usize,
    items: Vec<Item>,
}

impl Group {
    fn new(node: Arc<Node>, lane: Lane, limit: usize) -> Self {
        Self {
            node,
            lane,
            limit,
            items: Vec::new(),
        }
    }

    fn is_for(&self, node: &Node, lane: Lane) -> bool {
        self.node.number == node.number && self.lane == lane
    }

    /// Takes one more. The limit may have been learned meanwhile, so the lowest counts.
    fn push(&mut self, item: Item, limit: usize) {
        self.limit = self.limit.min(limit);
        self.items.push(item);
    }

    fn is_full(&self) -> bool {
        self.items.len() >= self.limit
    }
}

/// How a call finds others.
#[derive(Clone, Debug)]
pub(crate) enum Fold {
    /// They come with it.
    Client(ClientBatch),
    /// It waits so long for them.
    Window(Duration),
}

/// An attempt that shares a body.
pub(crate) type Folded = Pin<Box<dyn Future<Output = Judged> + Send>>;
