//! Whose turn it is.

use crate::EndpointId;

/// A place in the circle of all endpoints. By their numbers, so that those who happen not to be
/// candidates do not disturb the order of the others.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cursor {
    /// The endpoint whose turn comes first.
    first: u16,
}

impl Cursor {
    /// How many numbers lie before this endpoint's turn.
    pub(super) const fn distance(self, endpoint: EndpointId) -> u16 {
        endpoint.0.wrapping_sub(self.first)
    }

    /// This endpoint had its turn.
    pub(super) const fn pass(&mut self, endpoint: EndpointId) {
        self.first = endpoint.0.wrapping_add(1);
    }
}
