//! Putting requests and answers together by splicing bytes.
//!
//! Everything is appended to a buffer of the caller. Answers are `jsonrpc`, `id`, then exactly one
//! of `result` and `error`, in this order and without white space; there is never an `error: null`,
//! and `data` only where there is some. Ids, results, params and legal errors are copied byte for
//! byte (G-1, G-2); only texts of our own and repaired errors are encoded here.

use super::string::write_string;
use super::{Id, Params, ReplyError};

/// The code of an endpoint's error that has none we could pass on: "internal error".
const CODE_UNKNOWN: i64 = -32603;
/// The message of an endpoint's error that has none.
const MESSAGE_UNKNOWN: &str = "unspecified error";

/// Bytes around the id and the result of [`write_result`]. An answer that is given exactly the room
/// it needs is handed to a socket without another copy.
pub const RESULT_FRAME: usize = r#"{"jsonrpc":"2.0","id":,"result":}"#.len();
/// Bytes around the id and the error of [`write_raw_error`].
pub const ERROR_FRAME: usize = r#"{"jsonrpc":"2.0","id":,"error":}"#.len();

/// An error of ours, in the shape of JSON-RPC.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError<'a> {
    /// The code.
    pub code: i32,
    /// The message, not yet escaped.
    pub message: &'a str,
    /// `data` as JSON, if any.
    pub data: Option<&'a str>,
}

/// Appends `{"jsonrpc":"2.0","id":ID,"result":RESULT}`.
pub fn write_result(out: &mut Vec<u8>, id: Id<'_>, result: &[u8]) {
    out.reserve(RESULT_FRAME + id.as_str().len() + result.len());
    write_head(out, id);
    out.extend_from_slice(b",\"result\":");
    out.extend_from_slice(result);
    out.push(b'}');
}

/// Appends `{"jsonrpc":"2.0","id":ID,"error":ERROR}`, where `error` is a legal error object.
pub fn write_raw_error(out: &mut Vec<u8>, id: Id<'_>, error: &[u8]) {
    out.reserve(ERROR_FRAME + id.as_str().len() + error.len());
    write_head(out, id);
    out.extend_from_slice(b",\"error\":");
    out.extend_from_slice(error);
    out.push(b'}');
}

/// Appends an answer that carries an error of ours.
pub fn write_error(out: &mut Vec<u8>, id: Id<'_>, error: &RpcError<'_>) {
    write_head(out, id);
    write_error_object(out, i64::from(error.code), error.message, error.data);
}

/// Appends the request that goes to an endpoint.
///
/// Absent and `null` params and an empty object go out as `[]`, the one spelling of "none" that
/// every server takes: some refuse a missing member, some `null`, some an object. Everything else
/// goes out as written, scalars too, though no endpoint takes them.
pub fn write_request(out: &mut String, id: u64, method: &str, params: Params<'_>) {
    let params = match params {
        Params::Absent | Params::Null => "[]",
        Params::Object(_) if !params.is_named() => "[]",
        Params::Array(raw) | Params::Object(raw) | Params::Scalar(raw) => raw,
    };
    out.reserve(64 + method.len() + params.len());
    out.push_str("{\"jsonrpc\":\"2.0\",\"id\":");
    out.push_str(itoa::Buffer::new().format(id));
    out.push_str(",\"method\":");
    write_string(method, |piece| out.push_str(piece));
    out.push_str(",\"params\":");
    out.push_str(params);
    out.push('}');
}

/// Appends a batch of requests that are written already, to be read back by
/// [`split_batch_reply`](super::split_batch_reply).
pub fn write_batch<'a>(out: &mut Vec<u8>, requests: impl IntoIterator<Item = &'a [u8]>) {
    out.push(b'[');
    for (place, request) in requests.into_iter().enumerate() {
        if place != 0 {
            out.push(b',');
        }
        out.extend_from_slice(request);
    }
    out.push(b']');
}

impl ReplyError<'_> {
    /// Appends an answer that carries this error: its own bytes where they are legal, else the
    /// nearest legal error: the code if it could be read, else -32603, the message, and `data` as
    /// it was.
    pub fn write(&self, out: &mut Vec<u8>, id: Id<'_>) {
        if self.legal {
            write_raw_error(out, id, self.raw.as_bytes());
        } else {
            let message = if self.message.is_empty() {
                MESSAGE_UNKNOWN
            } else {
                &self.message
            };
            write_head(out, id);
            write_error_object(out, self.code.unwrap_or(CODE_UNKNOWN), message, self.data);
        }
    }
}

/// Appends the start of an answer.
fn write_head(out: &mut Vec<u8>, id: Id<'_>) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.as_str().as_bytes());
}

/// Appends the error and the end of an answer.
fn write_error_object(out: &mut Vec<u8>, code: i64, message: &str, data: Option<&str>) {
    out.extend_from_slice(b",\"error\":{\"code\":");
    out.extend_from_slice(itoa::Buffer::new().format(code).as_bytes());
    out.extend_from_slice(b",\"message\":");
    write_string(message, |piece| out.extend_from_slice(piece.as_bytes()));
    if let Some(data) = data {
        out.extend_from_slice(b",\"data\":");
        out.extend_from_slice(data.as_bytes());
    }
    out.extend_from_slice(b"}}");
}
