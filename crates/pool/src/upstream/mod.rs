//! The way to one endpoint.
//!
//! | module | what it holds |
//! |---|---|
//! | `http` | one attempt over HTTP, from a free connection to the last byte |
//! | `options` | its limits |
//! | `exchange` | one request and its answer on one HTTP/1.1 connection |
//! | `outgoing` | a request on its way to the socket |
//! | `head` | the head of an answer |
//! | `framing` | where the body of an answer ends |
//! | `chunks` | a body in chunks |
//! | `link` | one HTTP/1.1 connection, driven by whoever uses it |
//! | `lane` | the connections of one worker |
//! | `dial` | names, addresses, TCP, TLS |
//! | `stream` | the socket under a connection, and whether a byte was written |
//! | `body` | answers within their size limits, inflated |
//! | `clock` | the one timer of an attempt |
//! | `fault` | transport failures, with proof of what was sent |

mod body;
mod chunks;
mod clock;
mod dial;
mod exchange;
mod fault;
mod framing;
mod head;
mod http;
mod lane;
mod link;
mod options;
mod outgoing;
mod stream;

pub use self::{
    fault::{SendError, SendErrorKind},
    http::HttpUpstream,
    options::{ExtraRoots, HttpOptions},
};

pub(crate) use self::http::Repeat;

use ::http::HeaderMap;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use std::time::Duration;

/// A transport to one endpoint. It moves bytes; what they mean is decided elsewhere.
pub trait Upstream: Send + Sync + 'static {
    /// Sends one JSON-RPC message and reads the whole answer, whatever its status.
    ///
    /// It never sends a message twice unless not a byte of the first try was written.
    ///
    /// Cancellation: the future owns what it needs; dropping it abandons the request.
    fn send(
        &self,
        message: Bytes,
        timeout: Duration,
    ) -> BoxFuture<'static, Result<RawReply, SendError>>;

    /// Whether a message may be an array of requests. Default: it may not.
    fn takes_batches(&self) -> bool {
        false
    }
}

/// What came back, undecoded.
#[derive(Clone, Debug)]
pub struct RawReply {
    /// HTTP status; 200 for transports without one.
    pub status: u16,
    /// Response headers.
    pub headers: HeaderMap,
    /// The body, decompressed.
    pub body: Bytes,
}
