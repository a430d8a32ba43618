//! Where the body of an HTTP/1.1 answer ends (RFC 9112, section 6).
//!
//! What two readers may understand otherwise is refused: an answer whose end is in doubt puts the
//! next answer of its connection in doubt.

use super::{chunks::Chunks, fault::SendErrorKind};
use bytes::{Bytes, BytesMut};

/// What the fields of a head say about the body and the connection.
#[derive(Debug, Default)]
pub(super) struct Claims {
    length: Option<u64>,
    chunked: bool,
    close: bool,
    keep_alive: bool,
}

/// How the end of a body is found.
#[derive(Debug)]
pub(super) enum Framing {
    /// So many bytes are to come.
    Length(u64),
    Chunked(Chunks),
    UntilClose,
}

/// What could be taken from the bytes that are there.
#[derive(Debug)]
pub(super) enum Step {
    Piece(Bytes),
    /// More bytes are needed.
    More,
    End,
}

impl Claims {
    /// Takes notice of a field.
    pub(super) fn note(&mut self, name: &str, value: &[u8]) -> Result<(), SendErrorKind> {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        match name.len() {
            14 if is("content-length") => {
                for part in value.split(|byte| *byte == b',') {
                    let length = number(part.trim_ascii())?;
                    if self.length.is_some_and(|other| other != length) {
                        return Err(SendErrorKind::Protocol);
                    }
                    self.length = Some(length);
                }
            }
            17 if is("transfer-encoding") => {
                // No other coding was asked for, and chunked is the last and may come once only.
                if self.chunked || !value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                    return Err(SendErrorKind::Protocol);
                }
                self.chunked = true;
            }
            10 if is("connection") => {
                for part in value.split(|byte| *byte == b',') {
                    let part = part.trim_ascii();
                    self.close |= part.eq_ignore_ascii_case(b"close");
                    self.keep_alive |= part.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The framing of an answer to a POST, and whether another may follow it on the connection.
    pub(super) fn framing(self, status: u16, old: bool) -> Result<(Framing, bool), SendErrorKind> {
        // RFC 9112, section 6.1: HTTP/1.0 knows no codings.
        if self.chunked && (old || self.length.is_some()) {
            return Err(SendErrorKind::Protocol);
        }
        let framing = match (status, self.length) {
            (204 | 304, _) => Framing::Length(0),
            _ if self.chunked => Framing::Chunked(Chunks::new()),
            (_, Some(length)) => Framing::Length(length),
            (_, None) => Framing::UntilClose,
        };
        let lasts = !self.close && (!old || self.keep_alive);
        Ok((framing, lasts))
    }
}

impl Framing {
    /// Takes the next piece of the body from the front of `buf`. The end is told as soon as it is
    /// known, also where `buf` holds more.
    pub(super) fn step(&mut self, buf: &mut BytesMut) -> Result<Step, SendErrorKind> {
        match self {
            Self::Length(0) => Ok(Step::End),
            Self::Chunked(chunks) => chunks.step(buf),
            _ if buf.is_empty() => Ok(Step::More),
            Self::Length(left) => {
                let length = usize::try_from(*left).map_or(buf.len(), |left| left.min(buf.len()));
                // Cannot wrap: no more than `left` is taken.
                *left -= length as u64;
                Ok(Step::Piece(buf.split_to(length).freeze()))
            }
            Self::UntilClose => Ok(Step::Piece(buf.split().freeze())),
        }
    }

    /// How many bytes are certainly to come.
    pub(super) const fn expected(&self) -> u64 {
        match self {
            Self::Length(left) => *left,
            Self::Chunked(_) | Self::UntilClose => 0,
        }
    }
}

fn number(digits: &[u8]) -> Result<u64, SendErrorKind> {
    if digits.is_empty() {
        return Err(SendErrorKind::Protocol);
    }
    digits
        .iter()
        .try_fold(0_u64, |number, digit| {
            let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
            number.checked_mul(10)?.checked_add(digit)
        })
        .ok_or(SendErrorKind::Protocol)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `(stated length, "chunked" or "close", lasts)` of a head.
    fn framing(
        status: u16,
        old: bool,
        fields: &[(&str, &str)],
    ) -> Result<(String, bool), SendErrorKind> {
        let mut claims = Claims::default();
        for (name, value) in fields {
            claims.note(name, value.as_bytes())?;
        }
        let (framing, lasts) = claims.framing(status, old)?;
        let framing = match framing {
            Framing::Length(length) => length.to_string(),
            Framing::Chunked(_) => "chunked".to_owned(),
            Framing::UntilClose => "close".to_owned(),
        };
        Ok((framing, lasts))
    }

    // RFC 9112, section 6.3
    #[test]
    fn finds_the_framing_in_the_order_of_the_rules() {
        let length = ("Content-Length", "5");
        let chunked = ("Transfer-Encoding", "Chunked");
        for (status, old, fields, expected) in [
            (200, false, &[length][..], ("5", true)),
            (500, false, &[chunked], ("chunked", true)),
            (200, false, &[], ("close", true)),
            (204, false, &[length], ("0", true)),
            (304, false, &[chunked], ("0", true)),
            (200, true, &[length], ("5", false)),
            (
                200,
                true,
                &[length, ("connection", "Keep-Alive")],
                ("5", true),
            ),
            (
                200,
                false,
                &[length, ("connection", "x, Close")],
                ("5", false),
            ),
            (
                200,
                false,
                &[
                    length,
                    ("connection", "close"),
                    ("connection", "keep-alive"),
                ],
                ("5", false),
            ),
            (200, false, &[length, length], ("5", true)),
            (200, false, &[("content-length", "5, 5 ,05")], ("5", true)),
        ] {
            let (framing, lasts) = framing(status, old, fields).unwrap();
            assert_eq!((framing.as_str(), lasts), expected, "{fields:?}");
        }
    }

    // RFC 9112, section 6.3
    #[test]
    fn refuses_a_framing_that_another_reader_may_understand_otherwise() {
        let length = ("content-length", "5");
        let chunked = ("transfer-encoding", "chunked");
        for fields in [
            &[length, chunked][..],
            &[chunked, length],
            &[chunked, chunked],
            &[("transfer-encoding", "gzip, chunked")],
            &[("transfer-encoding", "chunked, gzip")],
            &[("transfer-encoding", "chunked, chunked")],
            &[("transfer-encoding", "identity")],
            &[("transfer-encoding", "xchunked")],
            &[("transfer-encoding", "")],
            &[length, ("content-length", "6")],
            &[("content-length", "5, 6")],
            &[("content-length", "5,")],
            &[("content-length", "+5")],
            &[("content-length", "-5")],
            &[("content-length", "5 5")],
            &[("content-length", "0x5")],
            &[("content-length", "")],
            &[("content-length", "18446744073709551616")],
        ] {
            let found = framing(200, false, fields);
            assert_eq!(found, Err(SendErrorKind::Protocol), "{fields:?}");
        }
        assert_eq!(framing(200, true, &[chunked]), Err(SendErrorKind::Protocol));
    }

    #[test]
    fn hands_a_body_in_one_piece_on_as_it_lies_in_the_buffer() {
        let mut buf = BytesMut::from("abcdef");
        let place = buf.as_ptr();
        let mut framing = Framing::Length(5);
        let Ok(Step::Piece(piece)) = framing.step(&mut buf) else {
            panic!("no piece")
        };
        assert_eq!((&piece[..], piece.as_ptr()), (&b"abcde"[..], place));
        assert!(matches!(framing.step(&mut buf), Ok(Step::End)));
        assert_eq!(buf, "f");
    }
}
