//! One row of the method table.

/// Whether another endpoint may be asked after a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failover {
    /// Try others.
    Any,
    /// Try others under the write rule.
    SameBytes,
    /// Try others only if the request provably never left.
    Unsent,
    /// Never.
    None,
}

/// Which books, timeouts and limits a method belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Cheap reads.
    Light,
    /// State reads.
    State,
    /// Range queries.
    Range,
    /// Traces.
    Trace,
    /// Submissions.
    Write,
    /// Subscriptions.
    Stream,
    /// Refused by the gateway unless allowed.
    Denied,
}

/// A row of the method table.
#[derive(Debug, PartialEq)]
pub struct Descriptor {
    /// The name, a prefix ending in `*`, or `*`.
    pub name: &'static str,
    /// See [`Failover`].
    pub failover: Failover,
    /// See [`Lane`].
    pub lane: Lane,
}

/// The row of a method: exact name, else the longest matching `prefix*`, else `*`.
#[must_use]
pub fn lookup(_method: &str) -> &'static Descriptor {
    todo!()
}
