//! The head of an HTTP/1.1 answer.
//!
//! Interim heads (1xx) are read over, within a bound: an endpoint that sends nothing else would keep
//! a worker busy with them (hardening E2).

use super::{
    fault::SendErrorKind,
    framing::{Claims, Framing},
};
use ::http::{HeaderMap, HeaderName, HeaderValue};
use bytes::{Buf, BytesMut};
use httparse::{ParserConfig, Response, Status};
use memchr::memchr_iter;
use std::mem::MaybeUninit;

/// Longest head, in bytes.
const LONGEST: usize = 64 << 10;
/// Most fields in a head.
const FIELDS: usize = 100;
/// Most bytes of interim heads before the head of the answer.
const INTERIM: usize = 4 << 20;

/// The head of an answer.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) framing: Framing,
    /// Whether the connection may serve another request after this answer.
    pub(super) lasts: bool,
}

/// Looks for the head of an answer in what has been read so far.
#[derive(Debug, Default)]
pub(super) struct HeadReader {
    /// So many bytes at the front are known to be no whole head.
    looked_at: usize,
    interim: usize,
}

impl HeadReader {
    /// Takes the head from the front of `buf`, once it is there.
    pub(super) fn read(&mut self, buf: &mut BytesMut) -> Result<Option<Head>, SendErrorKind> {
        loop {
            if buf.is_empty() || (self.looked_at > 0 && !may_end(buf, self.looked_at)) {
                return self.more(buf);
            }
            let Some((length, head)) = parse(buf)? else {
                return self.more(buf);
            };
            buf.advance(length);
            if let Some(head) = head {
                return Ok(Some(head));
            }
            self.looked_at = 0;
            self.interim += length;
            if self.interim > INTERIM {
                return Err(SendErrorKind::Protocol);
            }
        }
    }

    /// What is wrong with a head after whose beginning the connection ended.
    pub(super) fn cut(buf: &[u8]) -> SendErrorKind {
        match parse(buf) {
            Err(kind) => kind,
            Ok(_) => SendErrorKind::Reset,
        }
    }

    fn more(&mut self, buf: &BytesMut) -> Result<Option<Head>, SendErrorKind> {
        self.looked_at = buf.len();
        if self.looked_at > LONGEST {
            return Err(SendErrorKind::Protocol);
        }
        Ok(None)
    }
}

/// Whether bytes that came after the first `known` may have ended the head. Without this look an
/// endpoint that sends its head byte by byte would have it parsed as often.
fn may_end(buf: &[u8], known: usize) -> bool {
    let new = &buf[known.saturating_sub(3)..];
    memchr_iter(b'\n', new).any(|end| {
        let behind = &new[end + 1..];
        behind.starts_with(b"\n") || behind.starts_with(b"\r\n")
    })
}

/// How long the head at the front of `buf` is, and what it says unless it is an interim one.
fn parse(buf: &[u8]) -> Result<Option<(usize, Option<Head>)>, SendErrorKind> {
    let mut fields = [const { MaybeUninit::uninit() }; FIELDS];
    let mut response = Response::new(&mut []);
    let parsed =
        ParserConfig::default().parse_response_with_uninit_headers(&mut response, buf, &mut fields);
    let length = match parsed {
        Ok(Status::Complete(length)) if length <= LONGEST => length,
        Ok(Status::Partial) => return Ok(None),
        Ok(Status::Complete(_)) | Err(_) => return Err(SendErrorKind::Protocol),
    };
    let status = match response.code {
        Some(100 | 102..=199) => return Ok(Some((length, None))),
        Some(status @ 200..) => status,
        _ => return Err(SendErrorKind::Protocol),
    };
    let bad = |_| SendErrorKind::Protocol;
    let mut headers = HeaderMap::with_capacity(response.headers.len());
    let mut claims = Claims::default();
    for field in response.headers.iter() {
        claims.note(field.name, field.value)?;
        let name = HeaderName::from_bytes(field.name.as_bytes());
        let value = HeaderValue::from_bytes(field.value);
        headers.append(
            name.map_err(|_| SendErrorKind::Protocol)?,
            value.map_err(bad)?,
        );
    }
    let (framing, lasts) = claims.framing(status, response.version == Some(0))?;
    let head = Head {
        status,
        headers,
        framing,
        lasts,
    };
    Ok(Some((length, Some(head))))
}
