//! What an endpoint answers, held to R-38.

use std::borrow::Cow;

/// A usable reply to one request of ours.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply<'a> {
    /// The bytes of `result`, `null` included.
    Result(&'a str),
    /// The endpoint's error.
    Error(ReplyError<'a>),
}

/// The error of a reply, readable and still the bytes it was.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplyError<'a> {
    /// The bytes of the `error` member.
    pub raw: &'a str,
    /// `code` where it is an integer, or an integer in quotes.
    pub code: Option<i64>,
    /// `message`, or the whole error where it is a string; empty where there is none.
    pub message: Cow<'a, str>,
    /// The bytes of `data`.
    pub data: Option<&'a str>,
    /// Whether `raw` is a legal JSON-RPC error as it stands (object, integer code, string
    /// message), so that it may be passed on untouched.
    pub legal: bool,
}

/// Why a body is no usable reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadReply {
    /// Not one JSON value in UTF-8.
    #[error("not JSON")]
    NotJson,
}

/// Reads the reply to the request that was sent with the id `id` (a number of ours).
///
/// # Errors
/// What R-38 does not tolerate.
pub fn parse_reply(_body: &[u8], _id: u64) -> Result<Reply<'_>, BadReply> {
    todo!()
}

/// Reads the replies to a batch whose elements were sent with the ids `first_id..first_id + n`.
///
/// # Errors
/// The body as a whole is no array of replies.
pub fn parse_batch_reply(
    _body: &[u8],
    _first_id: u64,
    _n: usize,
) -> Result<Vec<Result<Reply<'_>, BadReply>>, BadReply> {
    todo!()
}
