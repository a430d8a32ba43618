//! What a scripted node answers, down to the byte.
//!
//! An [`Answer`] has two layers. The JSON-RPC layer says what the reply object is (a result, an
//! error, both, a foreign id); the HTTP layer says how it travels (status, headers, framing, coding,
//! gates, cuts, resets). In a batch the JSON-RPC layers of the elements are put together and the
//! HTTP layer is that of the first element that changes anything there.

use bytes::Bytes;

use super::gate::Gate;
use super::travel::{Ending, Framing, Travel, bomb, play_endless, play_huge, travel};
use super::wire::Step;

/// Which `id` a reply carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyId {
    /// The request's own bytes.
    Echo,
    /// The request's id as a JSON string (`1` becomes `"1"`); a string stays as it is.
    AsString,
    /// These bytes, whatever was asked.
    Raw(String),
    /// No `id` member.
    Missing,
}

#[derive(Clone, Debug)]
enum Content {
    Members {
        result: Option<String>,
        error: Option<String>,
    },
    /// A valid reply whose result is a generated hex string, this many bytes in all.
    Huge(u64),
    /// The whole HTTP body, outside JSON-RPC.
    Body(Bytes),
    /// A body without end.
    Endless,
    /// Nothing: the element is missing from its batch.
    Omitted,
}

/// One scripted answer.
#[derive(Clone, Debug)]
pub struct Answer {
    content: Content,
    id: ReplyId,
    copies: usize,
    travel: Travel,
    shaped: bool,
}

impl Answer {
    fn of(content: Content) -> Self {
        Self {
            content,
            id: ReplyId::Echo,
            copies: 1,
            travel: Travel::plain(),
            shaped: false,
        }
    }

    fn shape(mut self, change: impl FnOnce(&mut Travel)) -> Self {
        change(&mut self.travel);
        self.shaped = true;
        self
    }

    /// A reply with these bytes as `result`.
    #[must_use]
    pub fn result(json: impl Into<String>) -> Self {
        Self::members(Some(json.into()), None)
    }

    /// A reply with an error of this code and message.
    #[must_use]
    pub fn error(code: i64, message: &str) -> Self {
        Self::error_json(serde_json::json!({ "code": code, "message": message }).to_string())
    }

    /// A reply with these bytes as `error`, of whatever shape.
    #[must_use]
    pub fn error_json(json: impl Into<String>) -> Self {
        Self::members(None, Some(json.into()))
    }

    /// A reply with both members, which no node may send.
    #[must_use]
    pub fn both(result: impl Into<String>, error: impl Into<String>) -> Self {
        Self::members(Some(result.into()), Some(error.into()))
    }

    /// A reply with neither member.
    #[must_use]
    pub fn neither() -> Self {
        Self::members(None, None)
    }

    fn members(result: Option<String>, error: Option<String>) -> Self {
        Self::of(Content::Members { result, error })
    }

    /// These bytes as the whole HTTP body, with a status.
    #[must_use]
    pub fn body(status: u16, body: impl Into<Bytes>) -> Self {
        Self::of(Content::Body(body.into())).shape(|travel| travel.status = status)
    }

    /// A page of HTML with a status.
    #[must_use]
    pub fn html(status: u16, page: &str) -> Self {
        Self::body(status, page.to_owned()).content_type("text/html; charset=utf-8")
    }

    /// A redirect to another place.
    #[must_use]
    pub fn redirect(status: u16, location: &str) -> Self {
        Self::body(status, "").header("location", location)
    }

    /// A valid reply of `len` bytes, generated while it is sent. Of the HTTP layer only status,
    /// headers, `held_by` and `then_close` apply.
    #[must_use]
    pub fn huge(len: u64) -> Self {
        Self::of(Content::Huge(len)).shape(|_| ())
    }

    /// A chunked body that never ends; the client must stop reading. Of the HTTP layer only status,
    /// headers and `held_by` apply.
    #[must_use]
    pub fn endless() -> Self {
        Self::of(Content::Endless).shape(|_| ())
    }

    /// A small gzip body that inflates to `inflated` bytes.
    #[must_use]
    pub fn gzip_bomb(inflated: u64) -> Self {
        Self::body(200, bomb(inflated)).header("content-encoding", "gzip")
    }

    /// The connection is closed in order, without a byte of answer.
    #[must_use]
    pub fn close() -> Self {
        Self::silent(Ending::Close)
    }

    /// The connection is reset after the request was read, without a byte of answer.
    #[must_use]
    pub fn reset() -> Self {
        Self::silent(Ending::Reset)
    }

    /// Nothing until the gate opens, then the connection is closed.
    #[must_use]
    pub fn hang(gate: &Gate) -> Self {
        Self::close().held_by(gate)
    }

    /// This element is missing from its batch; a single call gets an empty body.
    #[must_use]
    pub fn omitted() -> Self {
        Self::of(Content::Omitted)
    }

    fn silent(ending: Ending) -> Self {
        Self::of(Content::Omitted).shape(|travel| {
            travel.silent = true;
            travel.ending = ending;
        })
    }

    /// The reply carries this id.
    #[must_use]
    pub fn with_id(mut self, id: ReplyId) -> Self {
        self.id = id;
        self
    }

    /// The element appears this many times in its batch.
    #[must_use]
    pub fn copies(mut self, copies: usize) -> Self {
        self.copies = copies;
        self
    }

    /// The HTTP status.
    #[must_use]
    pub fn status(self, status: u16) -> Self {
        self.shape(|travel| travel.status = status)
    }

    /// One more header.
    #[must_use]
    pub fn header(self, name: &str, value: &str) -> Self {
        let header = (name.to_owned(), value.to_owned());
        self.shape(|travel| travel.headers.push(header))
    }

    /// The content type, `application/json` otherwise.
    #[must_use]
    pub fn content_type(self, value: &str) -> Self {
        let value = value.to_owned();
        self.shape(|travel| travel.content_type = value)
    }

    /// The body is compressed.
    #[must_use]
    pub fn gzip(self) -> Self {
        self.shape(|travel| travel.gzip = true)
    }

    /// The body travels in chunks of so many bytes.
    #[must_use]
    pub fn chunked(self, piece: usize) -> Self {
        self.shape(|travel| travel.framing = Framing::Chunked(piece.max(1)))
    }

    /// The body has no length; its end is the end of the connection.
    #[must_use]
    pub fn until_close(self) -> Self {
        self.shape(|travel| {
            travel.framing = Framing::UntilClose;
            travel.ending = Ending::Close;
        })
    }

    /// `Content-Length` states this figure, whatever is sent.
    #[must_use]
    pub fn claiming_length(self, length: u64) -> Self {
        self.shape(|travel| travel.framing = Framing::Claimed(length))
    }

    /// Only the first `sent` bytes of the body are sent, then the connection is closed.
    #[must_use]
    pub fn truncated(self, sent: usize) -> Self {
        self.shape(|travel| {
            travel.cut = Some(sent);
            travel.ending = Ending::Close;
        })
    }

    /// Only the first `sent` bytes of the body are sent, then the connection is reset.
    #[must_use]
    pub fn reset_after(self, sent: usize) -> Self {
        self.shape(|travel| {
            travel.cut = Some(sent);
            travel.ending = Ending::Reset;
        })
    }

    /// Nothing is sent before the gate lets this answer through.
    #[must_use]
    pub fn held_by(self, gate: &Gate) -> Self {
        let gate = gate.clone();
        self.shape(|travel| travel.held = Some(gate))
    }

    /// The headers come at once, and each piece of so many body bytes needs a passage of the gate.
    #[must_use]
    pub fn dripping(self, piece: usize, gate: &Gate) -> Self {
        let drip = (piece.max(1), gate.clone());
        self.shape(|travel| travel.drip = Some(drip))
    }

    /// The connection is closed after the answer; no header announces it.
    #[must_use]
    pub fn then_close(self) -> Self {
        self.shape(|travel| travel.ending = Ending::Close)
    }

    fn json(&self, id: Option<&str>) -> String {
        let mut out = String::from(r#"{"jsonrpc":"2.0""#);
        let id = match &self.id {
            ReplyId::Echo => id.map(str::to_owned),
            ReplyId::AsString => id.map(|id| {
                if id.starts_with('"') {
                    id.to_owned()
                } else {
                    format!("\"{id}\"")
                }
            }),
            ReplyId::Raw(raw) => Some(raw.clone()),
            ReplyId::Missing => None,
        };
        let (result, error) = match &self.content {
            Content::Members { result, error } => (result.as_deref(), error.as_deref()),
            Content::Huge(_) | Content::Body(_) | Content::Endless | Content::Omitted => {
                (None, None)
            }
        };
        let members = [("id", id.as_deref()), ("result", result), ("error", error)];
        for (name, value) in members {
            if let Some(value) = value {
                out.push_str(",\"");
                out.push_str(name);
                out.push_str("\":");
                out.push_str(value);
            }
        }
        out.push('}');
        out
    }

    fn elements(&self, id: Option<&str>) -> Vec<String> {
        match self.content {
            Content::Members { .. } => vec![self.json(id); self.copies],
            Content::Huge(_) | Content::Body(_) | Content::Endless | Content::Omitted => Vec::new(),
        }
    }
}

/// The steps that answer one call.
pub(super) fn play_single(answer: &Answer, id: Option<&str>) -> Vec<Step> {
    match &answer.content {
        Content::Members { .. } => travel(&answer.travel, Bytes::from(answer.json(id))),
        Content::Body(body) => travel(&answer.travel, body.clone()),
        Content::Huge(len) => play_huge(&answer.travel, *len, id),
        Content::Endless => play_endless(&answer.travel),
        Content::Omitted => travel(&answer.travel, Bytes::new()),
    }
}

/// The steps that answer a batch.
pub(super) fn play_batch(answers: &[(Answer, Option<String>)], reversed: bool) -> Vec<Step> {
    let leading = answers.iter().find(|(answer, _)| answer.shaped);
    if let Some((answer, id)) = leading {
        let whole = match answer.content {
            Content::Huge(_) | Content::Body(_) | Content::Endless => true,
            Content::Members { .. } => false,
            Content::Omitted => answer.travel.silent,
        };
        if whole {
            return play_single(answer, id.as_deref());
        }
    }
    let mut elements: Vec<String> = answers
        .iter()
        .flat_map(|(answer, id)| answer.elements(id.as_deref()))
        .collect();
    if reversed {
        elements.reverse();
    }
    let body = Bytes::from(format!("[{}]", elements.join(",")));
    leading.map_or_else(
        || travel(&Travel::plain(), body.clone()),
        |(answer, _)| travel(&answer.travel, body.clone()),
    )
}
