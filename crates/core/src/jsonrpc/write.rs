//! Putting requests and answers together by splicing bytes.

use super::{Id, Params, ReplyError};

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
pub fn write_result(_out: &mut Vec<u8>, _id: Id<'_>, _result: &[u8]) {
    todo!()
}

/// Appends an answer that carries an error of ours.
pub fn write_error(_out: &mut Vec<u8>, _id: Id<'_>, _error: &RpcError<'_>) {
    todo!()
}

/// Appends the request that goes to an endpoint.
pub fn write_request(_out: &mut Vec<u8>, _id: u64, _method: &str, _params: Params<'_>) {
    todo!()
}

impl ReplyError<'_> {
    /// Appends an answer that carries this error: its own bytes where they are legal, else the
    /// nearest legal error.
    pub fn write(&self, _out: &mut Vec<u8>, _id: Id<'_>) {
        todo!()
    }
}
