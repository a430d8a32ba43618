//! A body in chunks (RFC 9112, section 7.1).
//!
//! Lines end with CRLF and nothing else. Extensions and trailers are read over, within bounds: an
//! endpoint that sends nothing but them makes no answer (hardening E2).

use super::{fault::SendErrorKind, framing::Step};
use bytes::{Buf, BytesMut};
use memchr::memchr;

/// Longest line with the size of a chunk, in bytes.
const LINE: usize = 4 << 10;
/// Most bytes of extensions in one body.
const EXTENSIONS: usize = 16 << 10;
/// Most bytes of trailers.
const TRAILERS: usize = 16 << 10;

/// How far the body is read.
#[derive(Debug)]
pub(super) struct Chunks {
    place: Place,
    extensions: usize,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Size,
    /// So many bytes of the chunk are to come.
    Data(u64),
    AfterData,
    /// So many bytes of trailers were read.
    Trailers(usize),
    End,
}

impl Chunks {
    pub(super) const fn new() -> Self {
        Self {
            place: Place::Size,
            extensions: 0,
        }
    }

    /// Takes what can be taken from the front of `buf`.
    pub(super) fn step(&mut self, buf: &mut BytesMut) -> Result<Step, SendErrorKind> {
        loop {
            match self.place {
                Place::Size => {
                    let Some(line) = line(buf, LINE)? else {
                        return Ok(Step::More);
                    };
                    let (size, extension) = size(line)?;
                    self.extensions += extension;
                    if self.extensions > EXTENSIONS {
                        return Err(SendErrorKind::Protocol);
                    }
                    self.place = match size {
                        0 => Place::Trailers(0),
                        _ => Place::Data(size),
                    };
                    let length = line.len();
                    buf.advance(length + 2);
                }
                Place::Data(left) => {
                    if buf.is_empty() {
                        return Ok(Step::More);
                    }
                    let length =
                        usize::try_from(left).map_or(buf.len(), |left| left.min(buf.len()));
                    // Cannot wrap: no more than `left` is taken.
                    self.place = match left - length as u64 {
                        0 => Place::AfterData,
                        left => Place::Data(left),
                    };
                    return Ok(Step::Piece(buf.split_to(length).freeze()));
                }
                Place::AfterData => {
                    let end = &buf[..buf.len().min(2)];
                    if !b"\r\n".starts_with(end) {
                        return Err(SendErrorKind::Protocol);
                    }
                    if end.len() < 2 {
                        return Ok(Step::More);
                    }
                    buf.advance(2);
                    self.place = Place::Size;
                }
                Place::Trailers(read) => {
                    let Some(line) = line(buf, TRAILERS - read)? else {
                        return Ok(Step::More);
                    };
                    let length = line.len();
                    self.place = match length {
                        0 => Place::End,
                        _ if read + length + 2 > TRAILERS => return Err(SendErrorKind::Protocol),
                        _ => Place::Trailers(read + length + 2),
                    };
                    buf.advance(length + 2);
                }
                Place::End => return Ok(Step::End),
            }
        }
    }
}

/// The first line of `buf` without its CRLF, once it is there.
fn line(buf: &[u8], most: usize) -> Result<Option<&[u8]>, SendErrorKind> {
    let window = &buf[..buf.len().min(most + 2)];
    match memchr(b'\n', window) {
        Some(end) => match window[..end].split_last() {
            Some((b'\r', line)) => Ok(Some(line)),
            _ => Err(SendErrorKind::Protocol),
        },
        None if window.len() < most + 2 => Ok(None),
        None => Err(SendErrorKind::Protocol),
    }
}

/// The size that a line says, and how many bytes follow it.
fn size(line: &[u8]) -> Result<(u64, usize), SendErrorKind> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit());
    let digits = digits.count();
    let mut size = 0_u64;
    for digit in line[..digits].iter().map(|byte| char::from(*byte)) {
        let digit = digit.to_digit(16).ok_or(SendErrorKind::Protocol)?;
        let room = size.checked_mul(16).ok_or(SendErrorKind::Protocol)?;
        size = room + u64::from(digit);
    }
    let rest = &line[digits..];
    let is_text = |byte: &u8| *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f);
    let extension = rest.trim_ascii_start();
    let legal = extension.first().is_none_or(|first| *first == b';');
    if digits == 0 || !legal || !rest.iter().all(is_text) {
        return Err(SendErrorKind::Protocol);
    }
    Ok((size, rest.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The body and what is left over, or how reading ended.
    fn read(text: &[u8]) -> Result<(Vec<u8>, usize), Option<SendErrorKind>> {
        let mut buf = BytesMut::from(text);
        let mut chunks = Chunks::new();
        let mut body = Vec::new();
        loop {
            match chunks.step(&mut buf).map_err(Some)? {
                Step::Piece(piece) => body.extend_from_slice(&piece),
                Step::More => return Err(None),
                Step::End => return Ok((body, buf.len())),
            }
        }
    }

    #[test]
    fn reads_chunks_and_stops_behind_the_last() {
        assert_eq!(
            read(b"3\r\nabc\r\n00A\r\n0123456789\r\n0\r\n\r\nHTTP"),
            Ok((b"abc0123456789".to_vec(), 4))
        );
        assert_eq!(read(b"0\r\n\r\n"), Ok((Vec::new(), 0)));
    }

    #[test]
    fn reads_over_extensions_and_trailers() {
        assert_eq!(
            read(b"1;a=\"b\"\r\nx\r\n1 \t;c\r\ny\r\n0 \r\nexpires: never\r\nx:\r\n\r\n"),
            Ok((b"xy".to_vec(), 0))
        );
    }

    // RFC 9112, section 7.1
    #[test]
    fn refuses_sizes_and_line_ends_that_another_reader_may_understand_otherwise() {
        for bad in [
            &b"\r\n"[..],
            b"x\r\n",
            b"+1\r\nx\r\n",
            b"-1\r\n",
            b"0x1\r\n",
            b"1 1\r\n",
            b" 1\r\nx\r\n",
            b"1_0\r\n",
            b"1\nx\r\n",
            b"\n",
            b"1\rx\r\n",
            b"1;a\x00\r\nx",
            b"1;a\rb\r\nx",
            b"10000000000000000\r\n",
            b"1\r\nxy\r\n",
            b"1\r\nx\n",
            b"1\r\nx\ry",
            b"0\r\n\n",
            b"0\r\na: b\n\r\n",
        ] {
            assert_eq!(
                read(bad),
                Err(Some(SendErrorKind::Protocol)),
                "{:?}",
                bad.escape_ascii().to_string()
            );
        }
        assert_eq!(read(b"ffffffffffffffff\r\nx"), Err(None));
    }

    // hardening E2
    #[test]
    fn bounds_what_is_not_the_body() {
        let bad = Err(Some(SendErrorKind::Protocol));
        let long = |length: usize| [b"1;".to_vec(), vec![b'a'; length - 2]].concat();
        assert_eq!(read(&long(LINE + 2)), bad);
        assert_eq!(read(&[&long(LINE + 1)[..], b"\r\n"].concat()), bad);
        assert_eq!(read(&[&long(LINE)[..], b"\r\n"].concat()), Err(None));
        let chunk = [&long(LINE)[..], b"\r\nx\r\n"].concat();
        assert_eq!(read(&chunk.repeat(4)), Err(None));
        assert_eq!(read(&chunk.repeat(5)), bad);
        let trailers = |count: usize| [&b"0\r\n"[..], &b"a: b\r\n".repeat(count)].concat();
        assert_eq!(read(&trailers(TRAILERS / 6)), Err(None));
        assert_eq!(read(&trailers(TRAILERS / 6 + 1)), bad);
    }
}
