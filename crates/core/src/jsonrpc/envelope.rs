//! What a caller sends: one call or a batch.

use std::borrow::Cow;

/// Bounds on what a caller may send. Crossing one is an error in the caller's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Deepest nesting of arrays and objects, counted over the whole body. Default 128.
    pub max_depth: usize,
    /// Longest id token, in bytes as written, quotes included. Default 256.
    pub max_id: usize,
    /// Most elements of one batch. Default 100.
    pub max_batch: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_depth: 128,
            max_id: 256,
            max_batch: 100,
        }
    }
}

/// The id token of a request exactly as the caller wrote it, `null` included: `7`, `"a"`, `1e3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id<'a>(&'a str);

impl<'a> Id<'a> {
    /// The token `null`, used where the caller's id cannot be told.
    pub const NULL: Id<'static> = Id("null");

    /// The bytes of the token.
    #[must_use]
    pub const fn as_str(self) -> &'a str {
        self.0
    }
}

/// The `params` member: absent, null, or bytes as the caller wrote them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Params<'a> {
    /// The member is absent.
    Absent,
    /// The member is `null`.
    Null,
    /// A JSON array, from `[` to `]`.
    Array(&'a str),
    /// A JSON object, from `{` to `}`.
    Object(&'a str),
    /// A string, number or boolean: never legal, kept so that the answer can say so.
    Scalar(&'a str),
}

/// One well-formed request.
#[derive(Clone, Debug, PartialEq)]
pub struct Call<'a> {
    /// `None` is a notification: no `id` member at all. `"id": null` is a call with the id `null`.
    pub id: Option<Id<'a>>,
    /// The method with JSON escapes decoded; borrowed unless there were any.
    pub method: Cow<'a, str>,
    /// The parameters.
    pub params: Params<'a>,
}

/// Why a request is refused before it reaches an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault<'a> {
    /// The caller's id where one legal id could be read, else [`Id::NULL`].
    pub id: Id<'a>,
    /// What is wrong.
    pub kind: FaultKind,
}

/// The kinds of refused request, each with the text that the caller sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// Not JSON, not UTF-8, too deep, or trailing bytes: -32700.
    #[error("parse error")]
    Parse,
}

/// A whole body.
#[derive(Clone, Debug, PartialEq)]
pub enum Message<'a> {
    /// One request.
    Single(Result<Call<'a>, Fault<'a>>),
    /// A batch in request order; never empty. A bad element never spoils the others.
    Batch(Vec<Result<Call<'a>, Fault<'a>>>),
}

/// Parses a body.
///
/// # Errors
/// A fault that concerns the whole body: not JSON, an empty batch.
pub fn parse<'a>(_body: &'a [u8], _limits: &Limits) -> Result<Message<'a>, Fault<'a>> {
    todo!()
}
