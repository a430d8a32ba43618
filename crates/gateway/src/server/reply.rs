//! A response in the making.

use crate::{batch, respond::Refusal};
use bytes::Bytes;
use highwater_core::jsonrpc::{Id, Message};
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{ALLOW, CONNECTION, CONTENT_TYPE, RETRY_AFTER},
};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain");
/// Ends the connection after this response.
pub(super) const CLOSE: HeaderValue = HeaderValue::from_static("close");

/// Status, headers and body, not yet bound to a connection.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Reply {
    pub(super) fn empty(status: StatusCode) -> Self {
        Self {
            status,
            headers: HeaderMap::new(),
            body: Bytes::new(),
        }
    }

    pub(super) fn json(status: StatusCode, body: impl Into<Bytes>) -> Self {
        let mut reply = Self {
            status,
            headers: HeaderMap::new(),
            body: body.into(),
        };
        reply.headers.insert(CONTENT_TYPE, JSON);
        reply
    }

    pub(super) fn text((status, body): (StatusCode, Bytes)) -> Self {
        let mut reply = Self {
            status,
            headers: HeaderMap::new(),
            body,
        };
        reply.headers.insert(CONTENT_TYPE, TEXT);
        reply
    }

    /// The answer to a whole request with one refusal.
    pub(super) fn refused(refusal: &Refusal<'_>, message: Option<&Message<'_>>) -> Self {
        let wire = refusal.wire();
        let (mut body, id) = match message {
            Some(Message::Batch(items)) => (batch::refuse(items, &wire), Id::NULL),
            Some(Message::Single(Ok(call))) => (Vec::new(), call.id.unwrap_or(Id::NULL)),
            Some(Message::Single(Err(fault))) => (Vec::new(), fault.id),
            None => (Vec::new(), Id::NULL),
        };
        if body.is_empty() {
            wire.write(&mut body, id);
        }
        let mut reply = Self::json(wire.status, body);
        if let Some(wait) = wire
            .retry_after_header()
            .and_then(|w| HeaderValue::try_from(w).ok())
        {
            reply.headers.insert(RETRY_AFTER, wait);
        }
        reply
    }

    pub(super) fn not_allowed(allow: HeaderValue) -> Self {
        let mut reply = Self::empty(StatusCode::METHOD_NOT_ALLOWED);
        reply.headers.insert(ALLOW, allow);
        reply
    }

    pub(super) fn closing(mut self) -> Self {
        self.headers.insert(CONNECTION, CLOSE);
        self
    }
}
