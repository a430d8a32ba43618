//! What is known about one answer when it is judged.

use std::time::SystemTime;

/// Looks up a response header by its lower-case name.
///
/// A closure, so that every transport can lend its own map without copying it.
pub type HeaderLookup<'a> = &'a dyn Fn(&str) -> Option<&'a str>;

/// A header map without headers.
pub fn no_headers<'a>() -> HeaderLookup<'a> {
    &|_| None
}

/// One answer and its circumstances.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    /// The method of the request; [`Evidence::BATCH`] for a whole batch.
    pub method: &'a str,
    /// The bytes of `params` as sent; empty where they are not known.
    pub params: &'a str,
    /// The highest block that the router believes in.
    pub head: Option<u64>,
    /// The chain that the endpoint should serve.
    pub expected_chain_id: Option<u64>,
    /// The id that the request was sent with.
    pub request_id: u64,
    /// The HTTP status; 200 on a WebSocket.
    pub status: u16,
    /// The response headers.
    pub headers: HeaderLookup<'a>,
    /// The whole body.
    pub body: &'a [u8],
    /// Wall-clock time, for waits that are stated as a date.
    pub wall: SystemTime,
}

impl<'a> Evidence<'a> {
    /// The method name that stands for a whole batch.
    pub const BATCH: &'static str = "<batch>";

    /// An answer of which only method, status and body are known.
    #[must_use]
    pub fn new(method: &'a str, status: u16, body: &'a [u8]) -> Self {
        Self {
            method,
            params: "",
            head: None,
            expected_chain_id: None,
            request_id: 1,
            status,
            headers: no_headers(),
            body,
            wall: SystemTime::UNIX_EPOCH,
        }
    }
}
