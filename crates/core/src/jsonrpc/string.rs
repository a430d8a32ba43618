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

/// Hands out `text` as a JSON string, in pieces.
pub(super) fn write_string(text: &str, mut write: impl FnMut(&str)) {
    const HEX: &str = "0123456789abcdef";
    let digit = |value: u8| &HEX[usize::from(value)..=usize::from(value)];
    write("\"");
    let mut rest = text;
    // Everything that is escaped is ASCII, so each piece begins and ends between characters.
    while let Some(at) = rest
        .bytes()
        .position(|b| matches!(b, b'"' | b'\\' | 0..=0x1f))
    {
        write(&rest[..at]);
        match rest.as_bytes()[at] {
            b'"' => write("\\\""),
            b'\\' => write("\\\\"),
            b'\n' => write("\\n"),
            b'\r' => write("\\r"),
            b'\t' => write("\\t"),
            byte => {
                write("\\u00");
                write(digit(byte >> 4));
                write(digit(byte & 15));
            }
        }
        rest = &rest[at + 1..];
    }
    write(rest);
    write("\"");
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
