//! Answers within their size limits, inflated.
//!
//! The common answer is one piece and is handed on as it came: no copy. A body is refused as soon as
//! its stated, received or inflated size crosses the cap, and gzip also when it inflates more than
//! 100-fold past 1 MiB: no answer of a node does, a bomb does (hardening E3). Inflating goes in
//! slices of 4 KiB, so that a bomb is seen after 4 MiB at most.

use super::fault::SendErrorKind;
use ::http::{HeaderMap, HeaderValue, header};
use bytes::{Bytes, BytesMut};
use flate2::write::MultiGzDecoder;
use std::io::{self, Write};

const SLICE: usize = 4 << 10;
const RATIO: usize = 100;
const RATIO_FROM: usize = 1 << 20;
/// Most room that is set aside because a header says so, in bytes.
const TRUSTED_LENGTH: usize = 1 << 20;

/// Puts a body together.
pub(super) struct Collector {
    cap: usize,
    stated: usize,
    form: Form,
}

enum Form {
    Empty,
    One(Bytes),
    Many(BytesMut),
    Gzip(Box<Inflating>),
}

struct Inflating {
    decoder: MultiGzDecoder<Capped>,
    packed: usize,
}

struct Capped {
    out: Vec<u8>,
    cap: usize,
    crossed: bool,
}

impl Collector {
    /// Looks at the head of an answer, which states that so many bytes follow; 0 where it does not.
    pub(super) fn new(headers: &HeaderMap, stated: u64, cap: usize) -> Result<Self, SendErrorKind> {
        let stated = usize::try_from(stated).map_err(|_| SendErrorKind::TooLarge)?;
        if stated > cap {
            return Err(SendErrorKind::TooLarge);
        }
        let form = if is_gzip(headers)? {
            let out = Capped {
                out: Vec::with_capacity(stated.min(cap)),
                cap,
                crossed: false,
            };
            Form::Gzip(Box::new(Inflating {
                decoder: MultiGzDecoder::new(out),
                packed: 0,
            }))
        } else {
            Form::Empty
        };
        Ok(Self { cap, stated, form })
    }

    /// Takes the next piece.
    pub(super) fn push(&mut self, piece: Bytes) -> Result<(), SendErrorKind> {
        if piece.is_empty() {
            return Ok(());
        }
        match &mut self.form {
            Form::Empty => {
                if piece.len() > self.cap {
                    return Err(SendErrorKind::TooLarge);
                }
                self.form = Form::One(piece);
            }
            Form::One(first) => {
                let received = first.len() + piece.len();
                if received > self.cap {
                    return Err(SendErrorKind::TooLarge);
                }
                let room = received.max(self.stated.min(TRUSTED_LENGTH));
                let mut all = BytesMut::with_capacity(room);
                all.extend_from_slice(first);
                all.extend_from_slice(&piece);
                self.form = Form::Many(all);
            }
            Form::Many(all) => {
                if piece.len() > self.cap - all.len() {
                    return Err(SendErrorKind::TooLarge);
                }
                all.extend_from_slice(&piece);
            }
            Form::Gzip(inflating) => inflating.push(&piece, self.cap)?,
        }
        Ok(())
    }

    /// The whole body.
    pub(super) fn finish(self) -> Result<Bytes, SendErrorKind> {
        match self.form {
            Form::Empty => Ok(Bytes::new()),
            Form::One(whole) => Ok(whole),
            Form::Many(all) => Ok(all.freeze()),
            Form::Gzip(inflating) => inflating.finish(),
        }
    }
}

impl Inflating {
    fn push(&mut self, piece: &[u8], cap: usize) -> Result<(), SendErrorKind> {
        if piece.len() > cap.saturating_sub(self.packed) {
            return Err(SendErrorKind::TooLarge);
        }
        for slice in piece.chunks(SLICE) {
            self.packed += slice.len();
            let written = self.decoder.write_all(slice);
            let out = self.decoder.get_ref();
            if out.crossed || out.is_bomb(self.packed) {
                return Err(SendErrorKind::TooLarge);
            }
            written.map_err(|_| SendErrorKind::Protocol)?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Bytes, SendErrorKind> {
        let finished = self.decoder.try_finish();
        let out = self.decoder.get_ref();
        if out.crossed || out.is_bomb(self.packed) {
            return Err(SendErrorKind::TooLarge);
        }
        finished.map_err(|_| SendErrorKind::Protocol)?;
        Ok(Bytes::from(std::mem::take(&mut self.decoder.get_mut().out)))
    }
}

impl Capped {
    fn is_bomb(&self, packed: usize) -> bool {
        self.out.len() > RATIO_FROM && self.out.len() / RATIO > packed
    }
}

impl Write for Capped {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        if buf.len() > self.cap - self.out.len() {
            self.crossed = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.out.extend_from_slice(buf);
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether the body is packed; a coding that was not asked for is bad HTTP.
fn is_gzip(headers: &HeaderMap) -> Result<bool, SendErrorKind> {
    let mut codings = headers.get_all(header::CONTENT_ENCODING).iter();
    let Some(first) = codings.next() else {
        return Ok(false);
    };
    if codings.next().is_some() {
        return Err(SendErrorKind::Protocol);
    }
    let is =
        |value: &HeaderValue, name: &str| value.as_bytes().eq_ignore_ascii_case(name.as_bytes());
    if is(first, "gzip") || is(first, "x-gzip") {
        Ok(true)
    } else if is(first, "identity") || is(first, "") {
        Ok(false)
    } else {
        Err(SendErrorKind::Protocol)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, value.parse().unwrap());
        }
        map
    }

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    fn collect(head: &HeaderMap, cap: usize, pieces: &[&[u8]]) -> Result<Bytes, SendErrorKind> {
        let mut collector = Collector::new(head, 0, cap)?;
        for piece in pieces {
            collector.push(Bytes::copy_from_slice(piece))?;
        }
        collector.finish()
    }

    #[test]
    fn hands_a_body_of_one_piece_on_without_copying_it() {
        let piece = Bytes::from_static(b"{\"result\":1}");
        let mut collector = Collector::new(&HeaderMap::new(), 0, 100).unwrap();
        collector.push(piece.clone()).unwrap();
        collector.push(Bytes::new()).unwrap();
        assert_eq!(collector.finish().unwrap().as_ptr(), piece.as_ptr());
    }

    #[test]
    fn joins_pieces_in_order() {
        assert_eq!(
            collect(&HeaderMap::new(), 9, &[b"abc", b"def", b"ghi"]).unwrap(),
            "abcdefghi"
        );
        assert_eq!(collect(&HeaderMap::new(), 9, &[]).unwrap(), "");
    }

    // hardening E2
    #[test]
    fn refuses_a_body_as_soon_as_it_crosses_the_cap() {
        let plain = HeaderMap::new();
        let too_large = Err(SendErrorKind::TooLarge);
        assert_eq!(collect(&plain, 8, &[b"123456789"]), too_large);
        assert_eq!(collect(&plain, 8, &[b"12345", b"6789"]), too_large);
        assert_eq!(collect(&plain, 8, &[b"123", b"456", b"789"]), too_large);
        for stated in [9, u64::MAX] {
            let collector = Collector::new(&plain, stated, 8);
            assert_eq!(collector.err(), Some(SendErrorKind::TooLarge));
        }
        assert_eq!(collect(&plain, 8, &[b"1234", b"5678"]).unwrap(), "12345678");
    }

    #[test]
    fn inflates_gzip_in_pieces_of_any_size() {
        let head = headers(&[("content-encoding", "GZIP")]);
        let plain = "0123456789".repeat(50);
        let packed = gzip(plain.as_bytes());
        for size in [1, 7, packed.len()] {
            let pieces: Vec<_> = packed.chunks(size).collect();
            assert_eq!(collect(&head, 500, &pieces).unwrap(), plain);
        }
        assert_eq!(
            collect(&head, 499, &[&packed]),
            Err(SendErrorKind::TooLarge)
        );
    }

    #[test]
    fn inflates_several_gzip_members() {
        let head = headers(&[("content-encoding", "x-gzip")]);
        let both = [gzip(b"one "), gzip(b"two")].concat();
        assert_eq!(collect(&head, 100, &[&both]).unwrap(), "one two");
    }

    // hardening E3
    #[test]
    fn sees_a_bomb_by_its_ratio_long_before_the_cap() {
        let head = headers(&[("content-encoding", "gzip")]);
        let packed = gzip(&vec![b' '; 8 << 20]);
        let mut collector = Collector::new(&head, 0, usize::MAX).unwrap();
        assert_eq!(collector.push(packed.into()), Err(SendErrorKind::TooLarge));
        let Form::Gzip(inflating) = collector.form else {
            panic!("not gzip")
        };
        assert!(inflating.decoder.get_ref().out.len() < 6 << 20);
    }

    // hardening E3
    #[test]
    fn lets_a_small_body_of_zeros_through() {
        let head = headers(&[("content-encoding", "gzip")]);
        let plain = vec![b'0'; 1 << 20];
        assert_eq!(collect(&head, 32 << 20, &[&gzip(&plain)]).unwrap(), plain);
    }

    // hardening E4
    #[test]
    fn calls_damaged_or_foreign_codings_bad_http() {
        let bad = Err(SendErrorKind::Protocol);
        let head = headers(&[("content-encoding", "gzip")]);
        let packed = gzip(b"something to inflate");
        assert_eq!(collect(&head, 100, &[b"{\"result\":1}"]), bad);
        assert_eq!(collect(&head, 100, &[&packed[..packed.len() - 9]]), bad);
        assert_eq!(collect(&head, 100, &[&packed[..packed.len() - 3]]), bad);
        assert_eq!(
            collect(&headers(&[("content-encoding", "br")]), 100, &[]),
            bad
        );
        assert_eq!(
            collect(&headers(&[("content-encoding", "gzip, gzip")]), 100, &[]),
            bad
        );
        let twice = [("content-encoding", "gzip"), ("content-encoding", "gzip")];
        assert_eq!(collect(&headers(&twice), 100, &[]), bad);
        let plain = headers(&[("content-encoding", "identity")]);
        assert_eq!(collect(&plain, 100, &[b"x"]).unwrap(), "x");
    }
}
