//! What is known of operations: of one endpoint, and of all.

use crate::{
    EndpointId,
    select::{SelectSettings, Selector},
};

/// Of one endpoint.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EndpointBook {
    /// Operations under way there.
    pub(crate) active: u32,
    /// The operation that tries it.
    pub(crate) trial: Option<u64>,
    /// How often it was ejected or excluded.
    pub(crate) ejections: u64,
}

/// Of all endpoints of a router. Operations have turns of their own, so that calls do not use up
/// theirs.
#[derive(Clone, Debug)]
pub(crate) struct RouterBook {
    pub(crate) selector: Selector,
    /// Number of the next reservation.
    next: u64,
    changes: u64,
}

impl RouterBook {
    pub(crate) fn new(endpoints: usize, settings: SelectSettings) -> Self {
        Self {
            selector: Selector::new(endpoints, settings),
            next: 0,
            changes: 0,
        }
    }

    /// The endpoints are others now.
    pub(crate) fn replace(&mut self, from: &[Option<EndpointId>], settings: SelectSettings) {
        self.selector.replace(from, settings);
        self.change();
    }

    pub(crate) const fn number(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        number
    }

    /// Something happened that an operation may wait for.
    pub(crate) const fn change(&mut self) {
        self.changes = self.changes.wrapping_add(1);
    }

    pub(crate) const fn changes(&self) -> u64 {
        self.changes
    }
}
