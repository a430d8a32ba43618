//! What a caller sends: one call or a batch.
//!
//! A body is checked whole before anything of it is used: UTF-8, JSON, nothing behind the value, no
//! deeper than [`Limits::max_depth`]. A fault there is a fault of the body (-32700). Within a
//! well-formed body every request stands for itself: a bad element of a batch gets its own -32600
//! and never spoils the others (G-1, hardening B11).
//!
//! Of a request only `jsonrpc`, `id`, `method` and `params` are read; other members are tolerated.
//! One of the four that comes twice is refused (hardening B6): servers differ on which one counts,
//! and what was authorised must be what is forwarded. The id stays the token the caller wrote, of
//! any size up to [`Limits::max_id`] bytes, and an explicit `null` is an id like any other, while a
//! request without the member is a notification, which gets no answer.

use super::scan::{Malformed, Members, Scanner};
use super::string::Quoted;
use std::borrow::Cow;

/// A batch beyond this many elements (or [`Limits::max_batch`] where that is larger) is refused as
/// a whole. At 5 MiB a body can hold 2.6 million elements `1,`; answering each would turn it into
/// hundreds of megabytes. 65,536 refusals take 5 MB before and 6 MB after writing, and a batch of
/// real calls of 80 bytes and more cannot be longer in 5 MiB.
const MAX_ANSWERED: usize = 65_536;

/// The four members that are read, and their places in what the scanner returns.
const NAMES: [&str; 4] = ["jsonrpc", "id", "method", "params"];
const ID_BIT: u32 = 1 << 1;

/// Bounds on what a caller may send. Crossing one is an error in the caller's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Deepest nesting of arrays and objects, counted over the whole body. Default 128.
    pub max_depth: usize,
    /// Longest id token, in bytes as written, quotes included. Default 256.
    pub max_id: usize,
    /// Most elements of one batch. Default 100.
    pub max_batch: usize,
    /// Whether a request without `jsonrpc` is refused, as geth does. Default `false`.
    pub strict: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_depth: 128,
            max_id: 256,
            max_batch: 100,
            strict: false,
        }
    }
}

/// The id token of a request exactly as the caller wrote it, `null` included: `7`, `"a"`, `1e3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id<'a>(&'a str);

impl<'a> Id<'a> {
    /// The token `null`, used where the caller's id cannot be told.
    pub const NULL: Id<'static> = Id("null");

    /// Takes a token that is exactly one JSON string, number or `null`, such as one that was kept
    /// from [`Id::as_str`]. `None` for anything else.
    #[must_use]
    pub fn from_token(token: &'a str) -> Option<Self> {
        let mut scanner = Scanner::new(token.as_bytes(), 0).ok()?;
        let value = scanner.value().ok()?;
        // Equal lengths: no byte order mark and no white space around it.
        (value.len() == token.len())
            .then(|| Self::legal(value))
            .flatten()
    }

    /// The bytes of the token.
    #[must_use]
    pub const fn as_str(self) -> &'a str {
        self.0
    }

    /// `value` is one JSON value; a string, a number and `null` are ids.
    fn legal(value: &'a str) -> Option<Self> {
        let first = value.as_bytes().first()?;
        matches!(first, b'"' | b'-' | b'0'..=b'9' | b'n').then_some(Self(value))
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

impl<'a> Params<'a> {
    /// `value` is one JSON value without blanks around it, or an absent one.
    #[must_use]
    pub fn of(value: Option<&'a str>) -> Self {
        let Some(value) = value else {
            return Self::Absent;
        };
        match value.as_bytes().first() {
            Some(b'[') => Self::Array(value),
            Some(b'{') => Self::Object(value),
            Some(b'n') => Self::Null,
            _ => Self::Scalar(value),
        }
    }

    /// Whether these are parameters by name: an object with at least one member. An object without
    /// any is one of the spellings of "no parameters".
    #[must_use]
    pub fn is_named(self) -> bool {
        match self {
            // It is well formed, so beside blanks an empty one has its brackets only.
            Self::Object(text) => text
                .bytes()
                .filter(|b| !b.is_ascii_whitespace())
                .nth(2)
                .is_some(),
            Self::Absent | Self::Null | Self::Array(_) | Self::Scalar(_) => false,
        }
    }
}

/// One well-formed request.
#[derive(Clone, Debug, PartialEq)]
pub struct Call<'a> {
    /// `None` is a notification: no `id` member at all. `"id": null` is a call with the id `null`.
    pub id: Option<Id<'a>>,
    /// The method with JSON escapes decoded; borrowed unless there were any. Never empty.
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

/// The kinds of refused request. `Display` is the text that the caller sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum FaultKind {
    /// Not JSON, not UTF-8, empty, or bytes behind the value: -32700.
    #[error("parse error")]
    Parse,
    /// Arrays and objects nested deeper than [`Limits::max_depth`]: -32700.
    #[error("parse error: nested too deeply")]
    TooDeep,
    /// A batch without elements.
    #[error("empty batch")]
    EmptyBatch,
    /// A batch of more than [`Limits::max_batch`] elements.
    #[error("batch too large")]
    BatchTooLarge,
    /// Something else than an object where a request should be; in a batch also another batch.
    #[error("invalid request: not an object")]
    NotAnObject,
    /// `jsonrpc`, `id`, `method` or `params` came more than once.
    #[error("invalid request: duplicate member")]
    DuplicateMember,
    /// An id that is a boolean, an array or an object.
    #[error("invalid request: id must be a string, a number or null")]
    IllegalId,
    /// An id longer than [`Limits::max_id`].
    #[error("invalid request: id too long")]
    IdTooLong,
    /// `jsonrpc` is not `"2.0"`, or is absent under [`Limits::strict`].
    #[error("invalid request: jsonrpc must be \"2.0\"")]
    Version,
    /// `method` is absent, empty, or not a string of Unicode text.
    #[error("invalid request: method must be a non-empty string")]
    Method,
}

impl FaultKind {
    /// The JSON-RPC code.
    #[must_use]
    pub const fn code(self) -> i32 {
        match self {
            Self::Parse | Self::TooDeep => -32700,
            Self::EmptyBatch
            | Self::BatchTooLarge
            | Self::NotAnObject
            | Self::DuplicateMember
            | Self::IllegalId
            | Self::IdTooLong
            | Self::Version
            | Self::Method => -32600,
        }
    }
}

impl From<Malformed> for Fault<'_> {
    fn from(malformed: Malformed) -> Self {
        let kind = match malformed {
            Malformed::Syntax => FaultKind::Parse,
            Malformed::TooDeep => FaultKind::TooDeep,
        };
        Self { id: Id::NULL, kind }
    }
}

/// A whole body.
#[derive(Clone, Debug, PartialEq)]
pub enum Message<'a> {
    /// One request. Something that is JSON and no object is a request too, a refused one.
    Single(Result<Call<'a>, Fault<'a>>),
    /// A batch in request order. A bad element never spoils the others.
    ///
    /// A batch of more than [`Limits::max_batch`] elements consists of the refusals that its
    /// callers are owed: one [`FaultKind::BatchTooLarge`] for each element, with the element's id,
    /// except that notifications are owed none and are left out. So the answers are always one per
    /// entry that is a fault or a call with an id, and the list is empty only for an oversized
    /// batch of nothing but notifications.
    Batch(Vec<Result<Call<'a>, Fault<'a>>>),
}

/// Parses a body.
///
/// # Errors
/// A fault that concerns the whole body: not JSON (an empty body too), nested too deeply, an empty
/// batch, or a batch so long that refusing its elements one by one would multiply it (more than
/// 65,536 elements and more than [`Limits::max_batch`]).
pub fn parse<'a>(body: &'a [u8], limits: &Limits) -> Result<Message<'a>, Fault<'a>> {
    let mut scanner = Scanner::new(body, limits.max_depth)?;
    if scanner.peek() == Some(b'[') {
        let refusal_or_batch = batch(&mut scanner, limits)?;
        scanner.end()?;
        refusal_or_batch
            .map(Message::Batch)
            .map_err(|kind| Fault { id: Id::NULL, kind })
    } else {
        let request = element(&mut scanner, limits)?;
        scanner.end()?;
        Ok(Message::Single(request))
    }
}

/// Reads the array that the scanner stands on, to its end even where its fate is settled before:
/// a body that is not JSON is -32700 whatever else it is.
fn batch<'a>(
    scanner: &mut Scanner<'a>,
    limits: &Limits,
) -> Result<Result<Vec<Result<Call<'a>, Fault<'a>>>, FaultKind>, Malformed> {
    scanner.open()?;
    if scanner.close(b']') {
        return Ok(Err(FaultKind::EmptyBatch));
    }
    let mut elements = Vec::new();
    let mut count = 0_usize;
    loop {
        let request = element(scanner, limits)?;
        count += 1;
        if count <= limits.max_batch {
            elements.push(request);
        } else {
            if count == limits.max_batch + 1 {
                elements = elements
                    .into_iter()
                    .filter_map(too_large)
                    .map(Err)
                    .collect();
            }
            if count <= MAX_ANSWERED {
                elements.extend(too_large(request).map(Err));
            }
        }
        if scanner.close(b']') {
            break;
        }
        scanner.step(b',')?;
    }
    if count > limits.max_batch && count > MAX_ANSWERED {
        return Ok(Err(FaultKind::BatchTooLarge));
    }
    Ok(Ok(elements))
}

/// What an element of an oversized batch is answered; `None` for a notification.
fn too_large<'a>(request: Result<Call<'a>, Fault<'a>>) -> Option<Fault<'a>> {
    let id = match request {
        Ok(call) => call.id?,
        Err(fault) => fault.id,
    };
    Some(Fault {
        id,
        kind: FaultKind::BatchTooLarge,
    })
}

/// Reads one value, which should be a request.
fn element<'a>(
    scanner: &mut Scanner<'a>,
    limits: &Limits,
) -> Result<Result<Call<'a>, Fault<'a>>, Malformed> {
    if scanner.peek() == Some(b'{') {
        Ok(call(&scanner.members(NAMES)?, limits))
    } else {
        scanner.value()?;
        Ok(Err(Fault {
            id: Id::NULL,
            kind: FaultKind::NotAnObject,
        }))
    }
}

/// Judges one request. The id comes first, since every later refusal is addressed with it.
fn call<'a>(members: &Members<'a, 4>, limits: &Limits) -> Result<Call<'a>, Fault<'a>> {
    let [version, id, method, params] = members.values;
    let nobody = |kind| Fault { id: Id::NULL, kind };
    if members.repeated & ID_BIT != 0 {
        return Err(nobody(FaultKind::DuplicateMember));
    }
    let id = match id {
        None => None,
        Some(token) => {
            let id = Id::legal(token).ok_or(nobody(FaultKind::IllegalId))?;
            if token.len() > limits.max_id {
                return Err(nobody(FaultKind::IdTooLong));
            }
            Some(id)
        }
    };
    let refuse = |kind| Fault {
        id: id.unwrap_or(Id::NULL),
        kind,
    };
    if members.repeated != 0 {
        return Err(refuse(FaultKind::DuplicateMember));
    }
    let known_version = match version {
        None => !limits.strict,
        Some(token) => is_version_2(token),
    };
    if !known_version {
        return Err(refuse(FaultKind::Version));
    }
    let method = method.and_then(Quoted::of).map(Quoted::text);
    match method {
        Some(method) if !method.lossy && !method.text.is_empty() => Ok(Call {
            id,
            method: method.text,
            params: Params::of(params),
        }),
        _ => Err(refuse(FaultKind::Method)),
    }
}

/// Whether the value of `jsonrpc` is the string `2.0`.
pub(super) fn is_version_2(token: &str) -> bool {
    token == "\"2.0\"" || Quoted::of(token).is_some_and(|version| version.is("2.0"))
}
