//! Answers and errors as alloy has them.

use crate::{Answer, Attempt, Error, Payload};
use alloy_json_rpc::{ErrorPayload, Id, Response, ResponsePayload, RpcError, SerializedRequest};
use alloy_transport::{TransportError, TransportErrorKind};
use highwater_core::{call::usefulness, jsonrpc::Params};
use serde_json::value::{RawValue, to_raw_value};
use std::time::Duration;

/// The parameters of a request.
pub(crate) fn params(request: &SerializedRequest) -> Params<'_> {
    Params::of(request.params().map(|raw| raw.get()))
}

/// An endpoint's answer, its bytes as they came.
pub(super) fn respond(id: Id, answer: &Answer) -> Result<Response, TransportError> {
    match answer.payload() {
        Payload::Result(text) => success(id, text),
        Payload::Error(text) => failure(id, text),
    }
}

/// A result.
pub(crate) fn success(id: Id, text: &str) -> Result<Response, TransportError> {
    let raw = RawValue::from_string(text.to_owned());
    let raw = raw.map_err(|error| TransportError::deser_err(error, text))?;
    Ok(Response {
        id,
        payload: ResponsePayload::Success(raw),
    })
}

/// An endpoint's own error.
pub(crate) fn failure(id: Id, text: &str) -> Result<Response, TransportError> {
    let own: Result<ErrorPayload, _> = serde_json::from_str(text);
    let own = own.map_err(|error| TransportError::deser_err(error, text))?;
    Ok(Response {
        id,
        payload: ResponsePayload::Failure(own),
    })
}

/// What a call without an answer is for alloy: terminal where the same call would end the same way,
/// so that outer layers do not repeat it.
pub(super) fn packet_error(error: Error) -> TransportError {
    match &error {
        Error::AllEndpointsFailed { attempts } => match best(attempts) {
            Some((status, wait)) => {
                TransportErrorKind::http_error_with_retry_after(status, error.told(), wait)
            }
            None => TransportErrorKind::custom(error),
        },
        Error::DeadlineExceeded { .. } | Error::BudgetExhausted { .. } | Error::Behind { .. } => {
            TransportErrorKind::custom(error)
        }
        Error::ChainMismatch { .. }
        | Error::NoEndpoint
        | Error::Ambiguous { .. }
        | Error::RangeTooWide { .. }
        | Error::Closed => TransportErrorKind::non_retryable(error),
    }
}

/// The status of the most useful failure, and the longest wait that one of that use stated; `None`:
/// it was no HTTP answer, or a good one that was no JSON-RPC.
fn best(attempts: &[Attempt]) -> Option<(u16, Option<Duration>)> {
    let first = attempts
        .iter()
        .min_by_key(|attempt| usefulness(attempt.class))?;
    let status = first.status.filter(|status| *status >= 400)?;
    let alike = attempts
        .iter()
        .filter(|attempt| attempt.status == Some(status));
    let wait = alike.filter_map(|attempt| attempt.retry_after).max();
    Some((status, wait))
}

/// What a member of a batch comes to that nobody answered: as the gateway says it.
pub(super) fn member(id: Id, error: &Error) -> Response {
    let (code, reason) = match error {
        Error::AllEndpointsFailed { .. } => (-32011, "all_endpoints_failed"),
        Error::DeadlineExceeded { .. } => (-32015, "deadline_exceeded"),
        Error::ChainMismatch { .. } => (-32011, "chain_mismatch"),
        Error::BudgetExhausted { .. } => (-32011, "budget_exhausted"),
        Error::NoEndpoint => (-32011, "no_endpoint"),
        Error::Ambiguous { .. } => (-32011, "ambiguous"),
        Error::Behind { .. } => (-32000, "behind"),
        Error::RangeTooWide { .. } => (-32602, "range_too_wide"),
        Error::Closed => (-32011, "closed"),
    };
    let mut data = serde_json::json!({ "source": "pool", "reason": reason });
    if let Error::Ambiguous { hash, .. } = error {
        data["hash"] = hash.to_string().into();
    }
    let message = match error {
        Error::Behind { .. } => "header not found".to_owned(),
        _ => error.told(),
    };
    Response {
        id,
        payload: ResponsePayload::Failure(ErrorPayload {
            code,
            message: message.into(),
            data: to_raw_value(&data).ok(),
        }),
    }
}

impl Error {
    /// The error of a pool within one of alloy (L-2). None where an endpoint's own answer is told: a
    /// JSON-RPC error, or the status of an HTTP answer.
    #[must_use]
    pub fn from_transport(error: &TransportError) -> Option<&Self> {
        match error {
            RpcError::Transport(
                TransportErrorKind::Custom(inner) | TransportErrorKind::NonRetryable(inner),
            ) => inner.downcast_ref(),
            _ => None,
        }
    }

    /// What it says, with the attempts: labels and classes, and nothing that an endpoint worded.
    fn told(&self) -> String {
        let (Self::AllEndpointsFailed { attempts } | Self::DeadlineExceeded { attempts }) = self
        else {
            return self.to_string();
        };
        let mut text = self.to_string();
        for (place, attempt) in attempts.iter().enumerate() {
            text.push_str(if place == 0 { ": " } else { ", " });
            text.push_str(&attempt.endpoint);
            text.push(' ');
            text.push_str(attempt.class.name());
        }
        text
    }
}
