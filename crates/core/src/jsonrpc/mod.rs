//! JSON-RPC 2.0 on bytes: what a caller asks, what an endpoint answers, and how an answer is put
//! together, without re-encoding anything.
//!
//! Requests and replies are parsed borrowing from the body they came in. Ids, params, results and
//! errors stay the bytes they were (G-1, G-2): an answer is the caller's id token spliced to the
//! endpoint's result bytes.

mod batch;
mod envelope;
mod reply;
mod scan;
mod span;
mod string;
mod write;

#[cfg(test)]
mod tests;

pub use batch::{BatchReply, split_batch_reply};
pub use envelope::{Call, Fault, FaultKind, Id, Limits, Message, Params, parse};
pub use reply::{BadReply, MAX_REPLY_DEPTH, Reply, ReplyError, parse_reply, stray_error};
pub use span::span_of;
pub use write::{
    ERROR_FRAME, RESULT_FRAME, RpcError, write_batch, write_error, write_raw_error, write_request,
    write_result,
};
