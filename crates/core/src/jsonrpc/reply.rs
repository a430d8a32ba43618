//! What an endpoint answers, held to R-38.
//!
//! A reply is one JSON-RPC 2.0 object whose id is ours and which has exactly one own `result` or
//! `error`. `null`, `false`, `0` and `""` are results; a member named `error` inside a result is
//! part of the result, since only the members of the reply itself are looked at. Tolerated, because
//! endpoints in service do it: an array of one reply, the id `"1"` for `1`, a missing `jsonrpc`,
//! `error: null` beside a result, `result: null` beside an error, an error that is a string, and
//! whatever an error object holds or lacks. Everything else is a bad answer.
//!
//! **Whose error is it?** A node that could not read a request, and gateways in front of nodes
//! (limits, keys), answer with an error whose id is `null` or absent. Nothing else was asked on that
//! exchange, so such an error is ours: refusing it would hide a rate limit behind "bad answer". An
//! error with *another* id belongs to another request, and a result is ours only with our id: the
//! harm of handing out somebody else's result is of another size than that of a wrong error.
//! [`stray_error`] shows the text of an error that was refused, for diagnosis only.
//!
//! Depth is limited to [`MAX_REPLY_DEPTH`]: a call trace nests two levels per EVM call and the EVM
//! allows 1,024 calls, so the caller's limit of 128 would refuse honest traces.

use super::envelope::is_version_2;
use super::scan::{Malformed, Members, Scanner};
use super::string::Quoted;
use crate::mutant::{self, Mutant};
use std::borrow::Cow;

/// Deepest nesting of a reply. See the module text.
pub const MAX_REPLY_DEPTH: usize = 4096;

pub(super) const NAMES: [&str; 4] = ["jsonrpc", "id", "result", "error"];
const ID_BIT: u32 = 1 << 1;

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
    /// `message`, or the whole error where it is a string; empty where there is none. Lone
    /// surrogates are replaced by U+FFFD.
    pub message: Cow<'a, str>,
    /// The bytes of `data`.
    pub data: Option<&'a str>,
    /// Whether `raw` is a legal JSON-RPC error as it stands (an object with an integer code of 64
    /// bits and a message of Unicode text, neither of them twice), so that it may be passed on
    /// untouched.
    pub legal: bool,
}

/// Why a body is no usable reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum BadReply {
    /// Not one JSON value in UTF-8; an empty or cut body too.
    #[error("not JSON")]
    NotJson,
    /// Nested deeper than [`MAX_REPLY_DEPTH`].
    #[error("nested too deeply")]
    TooDeep,
    /// Neither an object nor an array of one object.
    #[error("not a JSON-RPC reply")]
    NotAReply,
    /// `jsonrpc`, `id`, `result` or `error` came more than once.
    #[error("duplicate member")]
    DuplicateMember,
    /// `jsonrpc` is there and is not `"2.0"`.
    #[error("not JSON-RPC 2.0")]
    Version,
    /// The id is another one than ours; for a result also `null`.
    #[error("wrong id")]
    WrongId,
    /// A result without an id.
    #[error("no id")]
    MissingId,
    /// Both `result` and `error`, neither of them null.
    #[error("both result and error")]
    Both,
    /// No `result`, and no `error` or a null one.
    #[error("neither result nor error")]
    Neither,
    /// `error` is a boolean, a number or an array.
    #[error("error of an unknown shape")]
    ErrorShape,
    /// A batch was answered with one object that is no error.
    #[error("a single reply to a batch")]
    NotABatch,
}

impl From<Malformed> for BadReply {
    fn from(malformed: Malformed) -> Self {
        match malformed {
            Malformed::Syntax => Self::NotJson,
            Malformed::TooDeep => Self::TooDeep,
        }
    }
}

/// Reads the reply to the request that was sent with the id `id` (a number of ours).
///
/// # Errors
/// What R-38 does not tolerate.
pub fn parse_reply(body: &[u8], id: u64) -> Result<Reply<'_>, BadReply> {
    let mut scanner = Scanner::new(body, MAX_REPLY_DEPTH)?;
    let reply = match scanner.peek() {
        Some(b'{') => Some(judge(&scanner.members(NAMES)?, |own| own == id)),
        Some(b'[') => {
            let mut only = None;
            let count = each(&mut scanner, |reply| {
                only = reply.map(|(members, _)| members);
            })?;
            only.filter(|_| count == 1)
                .map(|members| judge(&members, |own| own == id))
        }
        _ => {
            scanner.value()?;
            None
        }
    };
    scanner.end()?;
    reply.unwrap_or(Err(BadReply::NotAReply))
}

/// The error in a body that was refused as a reply, whoever it was meant for: of the object, or of
/// the first element of an array. For the diagnosis of the endpoint only: a text such as "rate limit
/// exceeded" explains a bad answer, but is no answer to the caller.
#[must_use]
pub fn stray_error(body: &[u8]) -> Option<ReplyError<'_>> {
    let mut scanner = Scanner::new(body, MAX_REPLY_DEPTH).ok()?;
    if scanner.peek() == Some(b'[') {
        scanner.open().ok()?;
    }
    if scanner.peek() != Some(b'{') {
        return None;
    }
    let [_, _, _, error] = scanner.members(NAMES).ok()?.values;
    read_error(error?)
}

/// Reads the array that the scanner stands on and shows each element, `None` for what is no object.
/// Returns how many there were.
pub(super) fn each<'a>(
    scanner: &mut Scanner<'a>,
    mut visit: impl FnMut(Option<(Members<'a, 4>, &'a str)>),
) -> Result<usize, Malformed> {
    scanner.open()?;
    let mut count = 0;
    if scanner.close(b']') {
        return Ok(count);
    }
    loop {
        if scanner.peek() == Some(b'{') {
            visit(Some(scanner.object(NAMES)?));
        } else {
            scanner.value()?;
            visit(None);
        }
        count += 1;
        if scanner.close(b']') {
            return Ok(count);
        }
        scanner.step(b',')?;
    }
}

/// Whom a reply is addressed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Id(u64),
    Null,
    Absent,
    /// An id that no request of ours has, or two ids.
    Foreign,
}

impl Owner {
    pub(super) fn of(members: &Members<'_, 4>) -> Self {
        let [_, id, _, _] = members.values;
        match id {
            _ if members.repeated & ID_BIT != 0 => Self::Foreign,
            None => Self::Absent,
            Some("null") => Self::Null,
            Some(token) => number(token).map_or(Self::Foreign, Self::Id),
        }
    }
}

/// The number that `token` writes as we write ids, quotes tolerated.
fn number(token: &str) -> Option<u64> {
    let digits = match token.strip_prefix('"') {
        Some(rest) => rest.strip_suffix('"')?,
        None => token,
    };
    let canonical = digits == "0" || matches!(digits.as_bytes().first(), Some(b'1'..=b'9'));
    if canonical { digits.parse().ok() } else { None }
}

/// Holds one object to R-38.
pub(super) fn judge<'a>(
    members: &Members<'a, 4>,
    is_ours: impl FnOnce(u64) -> bool,
) -> Result<Reply<'a>, BadReply> {
    if members.repeated != 0 {
        return Err(BadReply::DuplicateMember);
    }
    let [version, _, result, error] = members.values;
    if !version.is_none_or(is_version_2) {
        return Err(BadReply::Version);
    }
    let owner = match Owner::of(members) {
        Owner::Id(id) if !is_ours(id) && !mutant::is(Mutant::ForeignIdAccepted) => Owner::Foreign,
        owner => owner,
    };
    match (result, error) {
        (Some(result), None | Some("null")) => match owner {
            Owner::Id(_) => Ok(Reply::Result(result)),
            Owner::Absent => Err(BadReply::MissingId),
            Owner::Null | Owner::Foreign => Err(BadReply::WrongId),
        },
        (None, None | Some("null")) => Err(BadReply::Neither),
        (None | Some("null"), Some(error)) => match owner {
            Owner::Id(_) | Owner::Null | Owner::Absent => read_error(error)
                .map(Reply::Error)
                .ok_or(BadReply::ErrorShape),
            Owner::Foreign => Err(BadReply::WrongId),
        },
        (Some(result), Some(_)) if mutant::is(Mutant::BothAccepted) => Ok(Reply::Result(result)),
        (Some(_), Some(_)) => Err(BadReply::Both),
    }
}

/// Reads an `error` that is an object or a string.
fn read_error(raw: &str) -> Option<ReplyError<'_>> {
    if let Some(whole) = Quoted::of(raw) {
        let message = whole.text().text;
        return Some(ReplyError {
            raw,
            code: None,
            message,
            data: None,
            legal: false,
        });
    }
    if !raw.starts_with('{') {
        return None;
    }
    let mut scanner = Scanner::new(raw.as_bytes(), MAX_REPLY_DEPTH).ok()?;
    let members = scanner.members(["code", "message", "data"]).ok()?;
    let [code_token, message, data] = members.values;
    let message = message.and_then(Quoted::of).map(Quoted::text);
    let code = code_token.and_then(|token| {
        let digits = Quoted::of(token).map_or(token, |quoted| quoted.inner);
        digits.parse::<i64>().ok()
    });
    let legal = members.repeated == 0
        && code.is_some()
        && code_token.is_some_and(|token| !token.starts_with('"'))
        && message.as_ref().is_some_and(|message| !message.lossy);
    let message = message.map_or(Cow::Borrowed(""), |message| message.text);
    Some(ReplyError {
        raw,
        code,
        message,
        data,
        legal,
    })
}
