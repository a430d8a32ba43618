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
use highwater_core::classify::reads_header;
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

/// Which fields of a head are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fields {
    /// Those that somebody here reads: how the body is packed, how long to wait.
    Read,
    All,
}

/// Looks for the head of an answer in what has been read so far.
#[derive(Debug)]
pub(super) struct HeadReader {
    fields: Fields,
    /// So many bytes at the front are known to be no whole head.
    looked_at: usize,
    interim: usize,
}

impl HeadReader {
    pub(super) const fn new(fields: Fields) -> Self {
        Self {
            fields,
            looked_at: 0,
            interim: 0,
        }
    }

    /// Takes the head from the front of `buf`, once it is there.
    pub(super) fn read(&mut self, buf: &mut BytesMut) -> Result<Option<Head>, SendErrorKind> {
        loop {
            if buf.is_empty() || (self.looked_at > 0 && !may_end(buf, self.looked_at)) {
                return self.more(buf);
            }
            let Some((length, head)) = parse(buf, self.fields)? else {
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
        match parse(buf, Fields::Read) {
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
fn parse(buf: &[u8], kept: Fields) -> Result<Option<(usize, Option<Head>)>, SendErrorKind> {
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
    let mut headers = HeaderMap::new();
    let mut claims = Claims::default();
    for field in response.headers.iter() {
        claims.note(field.name, field.value)?;
        if kept == Fields::All || is_read(field.name) {
            let bad = |_| SendErrorKind::Protocol;
            let name = HeaderName::from_bytes(field.name.as_bytes()).map_err(bad)?;
            headers.append(name, value(field.value)?);
        }
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

fn is_read(name: &str) -> bool {
    name.eq_ignore_ascii_case("content-encoding") || reads_header(name)
}

fn value(bytes: &[u8]) -> Result<HeaderValue, SendErrorKind> {
    HeaderValue::from_bytes(bytes).map_err(|_| SendErrorKind::Protocol)
}

#[cfg(test)]
mod tests {
    use super::{super::framing::Step, *};
    use proptest::{collection::vec, prelude::*, sample::select};

    /// The status, the headers, the body, and whether the connection lasts.
    type Answer = (u16, HeaderMap, Vec<u8>, bool);

    /// Reads one answer from a connection that brings these pieces and ends.
    fn read(pieces: &[&[u8]]) -> Result<Answer, SendErrorKind> {
        read_keeping(Fields::All, pieces)
    }

    fn read_keeping(fields: Fields, pieces: &[&[u8]]) -> Result<Answer, SendErrorKind> {
        let mut reader = HeadReader::new(fields);
        let mut head = None;
        let mut body = Vec::new();
        let mut buf = BytesMut::new();
        let mut unread: usize = pieces.iter().map(|piece| piece.len()).sum();
        for piece in pieces {
            buf.extend_from_slice(piece);
            unread -= piece.len();
            if head.is_none() {
                head = reader.read(&mut buf)?;
            }
            let Some(head) = &mut head else { continue };
            loop {
                match head.framing.step(&mut buf)? {
                    Step::Piece(piece) => {
                        assert!(!piece.is_empty());
                        body.extend_from_slice(&piece);
                    }
                    Step::More => break,
                    Step::End => {
                        let lasts = head.lasts && unread == 0 && buf.is_empty();
                        return Ok((head.status, std::mem::take(&mut head.headers), body, lasts));
                    }
                }
            }
        }
        match head {
            None => Err(HeadReader::cut(&buf)),
            Some(head) if matches!(head.framing, Framing::UntilClose) => {
                Ok((head.status, head.headers, body, false))
            }
            Some(_) => Err(SendErrorKind::Reset),
        }
    }

    fn read_whole(text: &str) -> Result<(u16, String, bool), SendErrorKind> {
        let (status, _, body, lasts) = read(&[text.as_bytes()])?;
        Ok((status, String::from_utf8(body).unwrap(), lasts))
    }

    #[test]
    fn reads_all_fields() {
        let text = "HTTP/1.1 429 Slow down\r\nContent-Type: application/json\r\n\
                    Retry-After: 7\r\nset-cookie: a\r\nSet-Cookie: b\r\ncontent-length:3 \r\nx-odd: \u{e4}\t!\r\n\r\nabc";
        let (status, headers, body, lasts) = read(&[text.as_bytes()]).unwrap();
        assert_eq!((status, &body[..], lasts), (429, &b"abc"[..], true));
        assert_eq!(headers["content-type"], "application/json");
        assert_eq!(headers["retry-after"], "7");
        assert_eq!(headers.get_all("set-cookie").iter().count(), 2);
        assert_eq!(headers["content-length"], "3");
        assert_eq!(headers["x-odd"].as_bytes(), "\u{e4}\t!".as_bytes());
        assert_eq!(headers.len(), 6);
        let kept = read_keeping(Fields::Read, &[text.as_bytes()]).unwrap();
        let waits: HeaderMap = [("retry-after", "7")]
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .into_iter()
            .collect();
        assert_eq!(kept, (429, waits, b"abc".to_vec(), true));
        let packed =
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nserver: x\r\ncontent-length: 0\r\n\r\n";
        let (_, headers, ..) = read_keeping(Fields::Read, &[packed.as_bytes()]).unwrap();
        assert_eq!(
            (headers.len(), &headers["content-encoding"]),
            (1, &HeaderValue::from_static("gzip"))
        );
    }

    #[test]
    fn tells_where_an_answer_ends_and_whether_the_connection_lasts() {
        let ok = |status, body: &str, lasts| Ok((status, body.to_owned(), lasts));
        for (text, expected) in [
            (
                "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab",
                ok(200, "ab", true),
            ),
            (
                "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nabc",
                ok(200, "ab", false),
            ),
            (
                "HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n",
                ok(200, "", true),
            ),
            (
                "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nab",
                ok(200, "ab", false),
            ),
            ("HTTP/1.1 200 OK\r\n\r\nabc", ok(200, "abc", false)),
            (
                "HTTP/1.1 204 No\r\ncontent-length: 9\r\n\r\n",
                ok(204, "", true),
            ),
            (
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
                ok(200, "abc", true),
            ),
            (
                "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\na",
                Err(SendErrorKind::Reset),
            ),
            (
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n",
                Err(SendErrorKind::Reset),
            ),
            (
                "HTTP/1.1 200 OK\r\ncontent-length",
                Err(SendErrorKind::Reset),
            ),
            ("", Err(SendErrorKind::Reset)),
        ] {
            assert_eq!(read_whole(text), expected, "{text:?}");
        }
    }

    // hardening E4
    #[test]
    fn refuses_what_is_no_http() {
        for bad in [
            "SSH-2.0-OpenSSH_9.9\r\n\r\n",
            "HTTP/2.0 200 OK\r\n\r\n",
            "HTTP/1.1 20 OK\r\n\r\n",
            "HTTP/1.1 099 Odd\r\n\r\n",
            "HTTP/1.1 101 Switching\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\na: b\r\n c\r\n\r\n",
            "HTTP/1.1 200 OK\r\na : b\r\n\r\n",
            "HTTP/1.1 200 OK\r\na: b\x00\r\n\r\n",
            "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
            "HTTP/1.1 200 OK\r\nno colon\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
        ] {
            assert_eq!(read_whole(bad), Err(SendErrorKind::Protocol), "{bad:?}");
        }
    }

    #[test]
    fn reads_over_interim_heads() {
        let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nlink: x\r\n\r\n\
                    HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx";
        assert_eq!(read_whole(text), Ok((200, "x".to_owned(), true)));
    }

    // hardening E2
    #[test]
    fn bounds_heads() {
        let head = |length: usize| {
            let (start, end) = ("HTTP/1.1 200 OK\r\na: ", "\r\ncontent-length: 0\r\n\r\n");
            format!(
                "{start}{}{end}",
                "b".repeat(length - start.len() - end.len())
            )
        };
        assert!(read_whole(&head(LONGEST)).is_ok());
        let too_long = head(LONGEST + 1);
        let endless = &too_long.as_bytes()[..LONGEST + 1];
        for pieces in [vec![too_long.as_bytes()], endless.chunks(1000).collect()] {
            assert_eq!(read(&pieces), Err(SendErrorKind::Protocol));
        }
        let fields = |count| format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(count));
        assert!(read_whole(&fields(FIELDS)).is_ok());
        assert_eq!(
            read_whole(&fields(FIELDS + 1)),
            Err(SendErrorKind::Protocol)
        );
        let interim = "HTTP/1.1 103 Early Hints\r\n\r\n";
        let answer = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        let after = |count| format!("{}{answer}", interim.repeat(count));
        assert!(read_whole(&after(INTERIM / interim.len())).is_ok());
        let too_many = after(INTERIM / interim.len() + 1);
        assert_eq!(read_whole(&too_many), Err(SendErrorKind::Protocol));
    }

    /// Texts from what answers are made of, in any order.
    fn text() -> impl Strategy<Value = Vec<u8>> {
        let parts: &[&[u8]] = &[
            b"HTTP/1.1 200 OK\r\n",
            b"HTTP/1.0 404 Not Found\r\n",
            b"HTTP/1.1 103 Early Hints\r\n\r\n",
            b"Content-Length: 5\r\n",
            b"content-length: 5, 5\r\n",
            b"content-length: 6\r\n",
            b"transfer-encoding: chunked\r\n",
            b"connection: close\r\n",
            b"connection: keep-alive\r\n",
            b"x: y\r\n",
            b"\r\n",
            b"5\r\nhello\r\n",
            b"3;a=b\r\nabc\r\n",
            b"0\r\n",
            b"hello",
            b"\r",
            b"\n",
            b"0",
            b"\x00",
        ];
        let text = |parts: Vec<&[u8]>| parts.concat();
        let any_order = vec(select(parts), 0..12).prop_map(text);
        // Most of those are no answer at all.
        let begun = vec(select(&parts[3..10]), 0..3).prop_map(text);
        let rest = vec(select(&parts[10..]), 0..6).prop_map(text);
        let ordered = (begun, rest).prop_map(|(fields, rest)| {
            [&b"HTTP/1.1 200 OK\r\n"[..], &fields, b"\r\n", &rest].concat()
        });
        prop_oneof![any_order, ordered, vec(any::<u8>(), 0..200)]
    }

    proptest! {
        // What an answer is does not depend on the pieces in which it comes.
        #[test]
        fn reads_the_same_in_pieces_of_any_size(
            text in text(),
            cuts in vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let whole = read(&[&text]);
            let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let pieces: Vec<_> = cuts.windows(2).map(|cut| &text[cut[0]..cut[1]]).collect();
            prop_assert_eq!(&read(&pieces), &whole);
            let bytes: Vec<_> = text.chunks(1).collect();
            prop_assert_eq!(&read(&bytes), &whole);
        }
    }
}
