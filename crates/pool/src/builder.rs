//! Building a pool.

use crate::{Endpoint, Pool};
use highwater_core::ChainId;
use std::time::Duration;

/// An option that is out of range, named.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct ConfigError {
    /// The option.
    pub field: &'static str,
    /// What is wrong and what is allowed.
    pub problem: String,
}

/// Collects endpoints and options; [`Builder::build`] does no I/O.
#[derive(Debug)]
pub struct Builder {
    pub(crate) chain: Option<ChainId>,
    pub(crate) endpoints: Vec<Endpoint>,
    pub(crate) timeout: Duration,
    pub(crate) deadline: Duration,
    pub(crate) verify_chain_id: bool,
    pub(crate) max_reply: usize,
}

impl Builder {
    /// Adds an endpoint; order is preference.
    #[must_use]
    pub fn endpoint(mut self, endpoint: Endpoint) -> Self {
        self.endpoints.push(endpoint);
        self
    }

    /// Checks the options.
    ///
    /// # Errors
    /// The first option out of range, by name.
    pub fn build(self) -> Result<Pool, ConfigError> {
        todo!()
    }
}
