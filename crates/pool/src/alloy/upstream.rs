//! An endpoint behind any transport of alloy.

use crate::{
    Endpoint,
    upstream::{RawReply, SendError, SendErrorKind, Upstream},
};
use alloy_json_rpc::{
    PartiallySerializedRequest, RequestPacket, Response, ResponsePacket, ResponsePayload, RpcError,
};
use alloy_transport::{
    BoxTransport, HttpError, IntoBoxTransport, TransportError, TransportErrorKind,
};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use highwater_core::call::Delivery;
use http::{HeaderMap, HeaderValue, header};
use serde_json::value::RawValue;
use std::{fmt::Write, future::poll_fn, sync::Arc, time::Duration};
use tower_service::Service;

impl Endpoint {
    /// An endpoint behind any transport of alloy (L-1). Of an HTTP answer the pool sees what alloy's
    /// errors carry: the status, and the wait that is stated. What else fails counts as maybe sent
    /// (R-36), for alloy does not say.
    #[must_use]
    pub fn transport(label: impl Into<String>, transport: impl IntoBoxTransport) -> Self {
        Self::upstream(label, Arc::new(Way(transport.into_box_transport())))
    }
}

struct Way(BoxTransport);

impl Upstream for Way {
    fn send(
        &self,
        message: Bytes,
        _timeout: Duration,
    ) -> BoxFuture<'static, Result<RawReply, SendError>> {
        let mut transport = self.0.clone();
        Box::pin(async move {
            let request: Result<PartiallySerializedRequest, _> = serde_json::from_slice(&message);
            let request = request.and_then(|request| request.serialize());
            let request = request.map_err(|_| unsent(SendErrorKind::Protocol))?;
            poll_fn(|cx| transport.poll_ready(cx))
                .await
                .map_err(|_| unsent(SendErrorKind::Connect))?;
            match transport.call(RequestPacket::Single(request)).await {
                Ok(ResponsePacket::Single(response)) => Ok(reply(200, body(&response))),
                Ok(ResponsePacket::Batch(_)) => Ok(reply(200, "[]".into())),
                Err(error) => told(error, &message),
            }
        })
    }
}

const fn unsent(kind: SendErrorKind) -> SendError {
    SendError {
        kind,
        delivery: Delivery::NotSent,
    }
}

fn reply(status: u16, body: String) -> RawReply {
    RawReply {
        status,
        headers: HeaderMap::new(),
        body: body.into(),
    }
}

/// A response as it would have come.
fn body(response: &Response) -> String {
    let id = serde_json::to_string(&response.id).unwrap_or_else(|_| "null".into());
    let mut out = format!(r#"{{"jsonrpc":"2.0","id":{id},"#);
    match &response.payload {
        ResponsePayload::Success(result) => member(&mut out, "result", result.get()),
        ResponsePayload::Failure(own) => {
            let own = serde_json::to_string(own).unwrap_or_else(|_| "null".into());
            member(&mut out, "error", &own);
        }
    }
    out
}

fn member(out: &mut String, name: &str, value: &str) {
    let written = write!(out, r#""{name}":{value}}}"#);
    written.expect("invariant: writing to a string cannot fail");
}

/// An error as the answer that it was made of, or as a failure below JSON-RPC.
fn told(error: TransportError, message: &[u8]) -> Result<RawReply, SendError> {
    let lost = |kind| SendError {
        kind,
        delivery: Delivery::MaybeSent,
    };
    match error {
        RpcError::ErrorResp(own) => {
            let own = serde_json::to_string(&own).unwrap_or_else(|_| "null".into());
            Ok(reply(200, with_id(message, "error", &own)))
        }
        RpcError::NullResp => Ok(reply(200, with_id(message, "result", "null"))),
        RpcError::DeserError { text, .. } => Ok(reply(200, text)),
        RpcError::SerError(_) | RpcError::UnsupportedFeature(_) | RpcError::LocalUsageError(_) => {
            Err(unsent(SendErrorKind::Protocol))
        }
        RpcError::Transport(kind) => match kind {
            TransportErrorKind::HttpError(HttpError { status, body }) => Ok(reply(status, body)),
            TransportErrorKind::HttpErrorWithRetryAfter { error, retry_after } => {
                let mut reply = reply(error.status, error.body);
                let seconds = retry_after.as_secs() + u64::from(retry_after.subsec_nanos() > 0);
                let wait = HeaderValue::from(seconds);
                reply.headers.insert(header::RETRY_AFTER, wait);
                Ok(reply)
            }
            _ => Err(lost(SendErrorKind::Reset)),
        },
    }
}

/// An answer to the request in `message`.
fn with_id(message: &[u8], name: &str, value: &str) -> String {
    #[derive(serde::Deserialize)]
    struct Sent<'a> {
        #[serde(borrow)]
        id: &'a RawValue,
    }
    let sent: Result<Sent<'_>, _> = serde_json::from_slice(message);
    let id = sent.as_ref().map_or("null", |sent| sent.id.get());
    let mut out = format!(r#"{{"jsonrpc":"2.0","id":{id},"#);
    member(&mut out, name, value);
    out
}
