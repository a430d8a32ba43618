//! The way to one endpoint.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use highwater_core::call::Delivery;
use std::time::Duration;

/// A transport to one endpoint. It moves bytes; what they mean is decided elsewhere.
pub trait Upstream: Send + Sync + 'static {
    /// Sends one JSON-RPC message and reads the whole answer, whatever its status.
    ///
    /// The future owns what it needs. Dropping it abandons the request.
    fn send(&self, message: Bytes, timeout: Duration) -> BoxFuture<'static, Result<RawReply, SendError>>;
}

/// What came back, undecoded.
#[derive(Clone, Debug)]
pub struct RawReply {
    /// HTTP status; 200 for transports without one.
    pub status: u16,
    /// Response headers.
    pub headers: http::HeaderMap,
    /// The body, decompressed.
    pub body: Bytes,
}

/// A failure below JSON-RPC. Its text names no URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct SendError {
    /// What went wrong.
    pub kind: SendErrorKind,
    /// How far the request got.
    pub delivery: Delivery,
}

/// The kinds of transport failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendErrorKind {
    /// The host name did not resolve.
    #[error("name not resolved")]
    Resolve,
    /// The connection was refused or could not be made.
    #[error("connect failed")]
    Connect,
    /// The TLS handshake failed.
    #[error("tls handshake failed")]
    Tls,
    /// The connection broke.
    #[error("connection lost")]
    Reset,
    /// A deadline passed.
    #[error("timed out")]
    Timeout,
    /// The body is larger than allowed, before or after decompression.
    #[error("answer too large")]
    TooLarge,
    /// The bytes were no HTTP, or no gzip where the header said so.
    #[error("bad http")]
    Protocol,
}
