//! JSON strings: decoding escapes once, writing text with the escapes it needs.
//!
//! A lone surrogate (`"\ud800"`) is legal JSON and no Unicode text. It is never echoed as decoded
//! text; who asks for the text is told.

use std::borrow::Cow;

/// A string as it stands in a JSON text, without its quotes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quoted<'a> {
    /// The bytes between the quotes, already checked.
    pub(super) inner: &'a str,
    /// Whether there are escapes in them.
    pub(super) escaped: bool,
}

/// The text of a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Text<'a> {
    /// Borrowed where there was nothing to decode. Lone surrogates are U+FFFD.
    pub(super) text: Cow<'a, str>,
    /// Whether there were lone surrogates.
    pub(super) lossy: bool,
}

impl<'a> Quoted<'a> {
    /// The string that `token` is, if it is one. `token` is a whole JSON value.
    pub(super) fn of(token: &'a str) -> Option<Self> {
        let inner = token.strip_prefix('"')?.strip_suffix('"')?;
        Some(Self {
            inner,
            escaped: memchr::memchr(b'\\', inner.as_bytes()).is_some(),
        })
    }

    /// Whether the text is `expected`.
    #[inline]
    pub(super) fn is(&self, expected: &str) -> bool {
        if self.escaped {
            self.text().text == expected
        } else {
            self.inner == expected
        }
    }

    /// The text.
    pub(super) fn text(self) -> Text<'a> {
        if self.escaped {
            decode(self.inner)
        } else {
            Text {
                text: Cow::Borrowed(self.inner),
                lossy: false,
            }
        }
    }
}

/// Appends `text` as a JSON string.
pub(super) fn write_string(out: &mut Vec<u8>, text: &str) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(at) = rest
        .iter()
        .position(|b| matches!(b, b'"' | b'\\' | 0..=0x1f))
    {
        out.extend_from_slice(&rest[..at]);
        let byte = rest[at];
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => {
                out.extend_from_slice(b"\\u00");
                out.push(HEX[usize::from(byte >> 4)]);
                out.push(HEX[usize::from(byte & 15)]);
            }
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Decodes escapes that a scanner has checked.
fn decode<'a>(inner: &str) -> Text<'a> {
    let mut text = String::with_capacity(inner.len());
    let mut lossy = false;
    let mut rest = inner;
    while let Some((plain, escape)) = rest.split_once('\\') {
        text.push_str(plain);
        let (c, used) = match escape.as_bytes().first() {
            Some(b'u') => match unicode(escape) {
                Some(found) => found,
                None => {
                    lossy = true;
                    (char::REPLACEMENT_CHARACTER, 5)
                }
            },
            Some(b'b') => ('\u{8}', 1),
            Some(b'f') => ('\u{c}', 1),
            Some(b'n') => ('\n', 1),
            Some(b'r') => ('\r', 1),
            Some(b't') => ('\t', 1),
            Some(&itself) => (char::from(itself), 1),
            None => break,
        };
        text.push(c);
        rest = escape.get(used..).unwrap_or("");
    }
    text.push_str(rest);
    Text {
        text: Cow::Owned(text),
        lossy,
    }
}

/// The character of `uXXXX`, or of a surrogate pair `uXXXX\uXXXX`, and the bytes it takes.
fn unicode(escape: &str) -> Option<(char, usize)> {
    let unit = |from: usize| {
        let digits = escape.get(from..from + 5)?.strip_prefix('u')?;
        u32::from_str_radix(digits, 16).ok()
    };
    let first = unit(0)?;
    if let Some(c) = char::from_u32(first) {
        return Some((c, 5));
    }
    if first >= 0xdc00 || escape.as_bytes().get(5) != Some(&b'\\') {
        return None;
    }
    let second = unit(6).filter(|low| (0xdc00..0xe000).contains(low))?;
    let c = char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))?;
    Some((c, 11))
}
