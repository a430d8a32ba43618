//! Transport failures, with proof of what was sent.
//!
//! *Not sent* needs a proof: no connection was made, or the socket took no byte, or, over HTTP/2, the
//! library hands the request back unread or the server refused the stream. Everything else is *maybe
//! sent*. Texts are constants, so they cannot name a URL.

use highwater_core::call::Delivery;
use std::error::Error;

/// A failure below JSON-RPC. Its text names no URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct SendError {
    /// What went wrong.
    pub kind: SendErrorKind,
    /// How far the request got.
    pub delivery: Delivery,
}

impl SendError {
    pub(super) const fn unsent(kind: SendErrorKind) -> Self {
        Self {
            kind,
            delivery: Delivery::NotSent,
        }
    }

    pub(super) const fn maybe_sent(kind: SendErrorKind) -> Self {
        Self {
            kind,
            delivery: Delivery::MaybeSent,
        }
    }
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

impl SendErrorKind {
    /// One word for reports and metrics.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Resolve => "resolve",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Reset => "reset",
            Self::Timeout => "timeout",
            Self::TooLarge => "too_large",
            Self::Protocol => "protocol",
        }
    }

    pub(super) fn of(error: &hyper::Error) -> Self {
        if error.is_parse() || error.is_parse_status() {
            return Self::Protocol;
        }
        match multiplexed(error) {
            Some(h2) if !h2.is_io() && !h2.is_reset() && !h2.is_go_away() => Self::Protocol,
            _ => Self::Reset,
        }
    }
}

/// Whether the server says that it did not process the request (RFC 9113, section 8.7).
pub(super) fn is_refused_stream(error: &hyper::Error) -> bool {
    multiplexed(error).is_some_and(|h2| h2.reason() == Some(h2::Reason::REFUSED_STREAM))
}

fn multiplexed(error: &hyper::Error) -> Option<&h2::Error> {
    error.source()?.downcast_ref()
}
