//! A node that does nothing wrong, to hold answers against.

use std::sync::Arc;
use std::time::Duration;

use crate::chain::Chain;
use crate::node::{Carriage, Dialect, Latency, Node, Profile};

pub(super) struct Perfect(Node);

impl Perfect {
    pub(super) fn new(chain: &Arc<Chain>) -> Self {
        let profile = Profile {
            name: String::new(),
            dialect: Dialect::Geth,
            latency: Latency::Constant(Duration::ZERO),
            faults: Vec::new(),
        };
        Self(Node::new(profile, Arc::clone(chain), u64::MAX))
    }

    /// The result that is due at a moment, as JSON text; `None` where an error is.
    pub(super) fn result(&mut self, at: Duration, method: &str, params: &str) -> Option<String> {
        let body = format!(r#"{{"id":1,"method":"{method}","params":{params}}}"#);
        let exchange = self.0.ask(at, "", body.as_bytes());
        let Carriage::Answer(delivery) = exchange.carriage else {
            return None;
        };
        let text = std::str::from_utf8(&delivery.body).ok()?;
        let result = text.split_once(r#""result":"#)?.1;
        Some(result.strip_suffix('}')?.to_owned())
    }
}
