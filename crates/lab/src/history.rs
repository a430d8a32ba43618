//! What happened, as clients and endpoints tell it.
//!
//! A history knows nothing of what stands between the two: it is the only thing that the checker
//! reads, and its hash is how two runs are compared.

use std::fmt::Write as _;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

/// What a client got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Got {
    /// The bytes of `result`.
    Result(String),
    /// The bytes of `error`.
    Error(String),
    /// No JSON-RPC answer: why, in a few words.
    Nothing(String),
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A client asked.
    Called {
        /// When.
        at: Duration,
        /// Which client.
        client: u64,
        /// Number of the call, unique in the history.
        call: u64,
        /// The id it was asked with, as JSON text.
        id: String,
        /// Method.
        method: String,
        /// Params, as JSON text.
        params: String,
    },
    /// A client was answered, or gave up.
    Answered {
        /// When.
        at: Duration,
        /// Number of the call.
        call: u64,
        /// The id of the answer, as JSON text; `None` when there is none.
        id: Option<String>,
        /// The answer.
        got: Got,
    },
    /// An endpoint received a call; a batch is several.
    Received {
        /// When.
        at: Duration,
        /// Which endpoint.
        node: usize,
        /// The id it came with, as JSON text; `None` when there is none.
        id: Option<String>,
        /// Method.
        method: String,
        /// Params, as JSON text.
        params: String,
    },
    /// An endpoint took a transaction into its pool, whatever becomes of its answer. Told by runs in
    /// virtual time.
    Took {
        /// When.
        at: Duration,
        /// Which endpoint.
        node: usize,
        /// The hash of the transaction.
        hash: String,
    },
    /// An endpoint finished an answer that somebody waited for.
    Served {
        /// When.
        at: Duration,
        /// Which endpoint.
        node: usize,
        /// Methods of the calls that it answers.
        methods: Vec<String>,
        /// The ids of these calls, as JSON text.
        ids: Vec<Option<String>>,
        /// HTTP status.
        status: u16,
        /// The whole body.
        body: String,
    },
}

impl Event {
    /// When it happened.
    #[must_use]
    pub fn at(&self) -> Duration {
        match self {
            Self::Called { at, .. }
            | Self::Answered { at, .. }
            | Self::Received { at, .. }
            | Self::Took { at, .. }
            | Self::Served { at, .. } => *at,
        }
    }

    /// One line, in which every part is told apart from its neighbours.
    fn line(&self) -> String {
        let mut line = format!("{} ", self.at().as_nanos());
        let _ = match self {
            Self::Called {
                client,
                call,
                id,
                method,
                params,
                ..
            } => write!(line, "called {client} {call} {id:?} {method:?} {params:?}"),
            Self::Answered { call, id, got, .. } => write!(line, "answered {call} {id:?} {got:?}"),
            Self::Received {
                node,
                id,
                method,
                params,
                ..
            } => write!(line, "received {node} {id:?} {method:?} {params:?}"),
            Self::Took { node, hash, .. } => write!(line, "took {node} {hash}"),
            Self::Served {
                node,
                methods,
                ids,
                status,
                body,
                ..
            } => write!(line, "served {node} {methods:?} {ids:?} {status} {body:?}"),
        };
        line.push('\n');
        line
    }
}

/// Events in the order in which they happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    events: Vec<Event>,
}

impl History {
    /// An empty history.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds what happened last.
    pub fn push(&mut self, event: Event) {
        self.events.push(event);
    }

    /// The events.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The SHA-256 of all lines, in hex.
    #[must_use]
    pub fn sha256(&self) -> String {
        let mut hasher = Sha256::new();
        for event in &self.events {
            hasher.update(event.line().as_bytes());
        }
        let mut hex = String::with_capacity(64);
        for byte in hasher.finalize() {
            let _ = write!(hex, "{byte:02x}");
        }
        hex
    }
}

impl FromIterator<Event> for History {
    fn from_iter<I: IntoIterator<Item = Event>>(events: I) -> Self {
        Self {
            events: events.into_iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Event, Got, History};

    fn answered(call: u64, id: Option<&str>, got: Got) -> Event {
        Event::Answered {
            at: Duration::from_millis(5),
            call,
            id: id.map(str::to_owned),
            got,
        }
    }

    #[test]
    fn the_hash_tells_every_difference() {
        let events = [
            answered(1, None, Got::Result("1".into())),
            answered(1, Some("1"), Got::Result("1".into())),
            answered(2, None, Got::Result("1".into())),
            answered(1, None, Got::Error("1".into())),
            answered(1, None, Got::Result("1\nx".into())),
        ];
        let hashes: std::collections::BTreeSet<String> = events
            .iter()
            .map(|event| [event.clone()].into_iter().collect::<History>().sha256())
            .collect();
        assert_eq!(hashes.len(), events.len());
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(History::new().sha256(), empty);
    }
}
