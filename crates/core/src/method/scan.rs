//! Walking JSON text that is known to be valid, by byte positions and without recursion.
//!
//! The envelope parser has validated the text before it comes here, so this only has to find where
//! things begin and end. On anything else it still ends, inside the text and without a panic: every
//! step moves forward or stops.

use memchr::memchr2;
use std::ops::Range;

/// Where a value lies in the text.
pub(crate) type Span = Range<usize>;

/// The first position at or after `at` that is not an insignificant blank.
pub(crate) fn skip_blanks(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = text.get(at) {
        at += 1;
    }
    at
}

/// The end of the value that starts at `at`; `at` itself where none does.
pub(crate) fn value_end(text: &[u8], at: usize) -> usize {
    match text.get(at) {
        Some(b'"') => string_end(text, at),
        Some(b'{' | b'[') => nested_end(text, at),
        Some(_) | None => {
            let rest = text.get(at..).unwrap_or_default();
            let is_end = |byte: &u8| {
                matches!(
                    byte,
                    b',' | b':' | b']' | b'}' | b'"' | b' ' | b'\t' | b'\n' | b'\r'
                )
            };
            at + rest.iter().position(is_end).unwrap_or(rest.len())
        }
    }
}

fn string_end(text: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    while let Some(found) = text.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found;
        if text[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    text.len()
}

fn nested_end(text: &[u8], open: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = open;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => {
                at = string_end(text, at);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    text.len()
}

/// The elements of the array that starts at a position.
#[derive(Clone)]
pub(crate) struct Elements<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Elements<'a> {
    /// `open` is the position of the `[`.
    pub(crate) fn new(text: &'a [u8], open: usize) -> Self {
        Self { text, at: open + 1 }
    }

    /// Those behind the one that ends at a position.
    pub(crate) fn after(text: &'a [u8], end: usize) -> Self {
        Self {
            text,
            at: after_comma(text, end),
        }
    }
}

impl Iterator for Elements<'_> {
    type Item = Span;

    fn next(&mut self) -> Option<Span> {
        let start = skip_blanks(self.text, self.at);
        let end = value_end(self.text, start);
        self.at = after_comma(self.text, end);
        (end > start).then_some(start..end)
    }
}

/// The members of the object that starts at a position: the name with its quotes, and the value.
#[derive(Clone)]
pub(crate) struct Members<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Members<'a> {
    /// `open` is the position of the `{`.
    pub(crate) fn new(text: &'a [u8], open: usize) -> Self {
        Self { text, at: open + 1 }
    }
}

impl Iterator for Members<'_> {
    type Item = (Span, Span);

    fn next(&mut self) -> Option<(Span, Span)> {
        let name = skip_blanks(self.text, self.at);
        if self.text.get(name) != Some(&b'"') {
            return None;
        }
        let name = name..value_end(self.text, name);
        let colon = skip_blanks(self.text, name.end);
        let value = skip_blanks(
            self.text,
            colon + usize::from(self.text.get(colon) == Some(&b':')),
        );
        let value = value..value_end(self.text, value);
        self.at = after_comma(self.text, value.end);
        (!value.is_empty()).then_some((name, value))
    }
}

fn after_comma(text: &[u8], at: usize) -> usize {
    let at = skip_blanks(text, at);
    at + usize::from(text.get(at) == Some(&b','))
}

/// A member name as written, without its quotes.
pub(crate) fn name<'a>(text: &'a str, span: &Span) -> &'a str {
    text.get(span.start + 1..span.end.saturating_sub(1))
        .unwrap_or_default()
}

/// What a string says once its escapes are decoded; borrowed where there are none. `None` for what
/// is no string, and for escapes that name no character.
pub(crate) fn string<'a>(text: &'a str, span: &Span) -> Option<std::borrow::Cow<'a, str>> {
    let written = text.get(span.clone())?;
    let inner = written.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(inner.into());
    }
    serde_json::from_str::<String>(written).ok().map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(text: &str) -> Vec<&str> {
        Elements::new(text.as_bytes(), 0)
            .map(|span| &text[span])
            .collect()
    }

    fn members(text: &str) -> Vec<(&str, &str)> {
        let both = |(key, value): (Span, Span)| (name(text, &key), &text[value]);
        Members::new(text.as_bytes(), 0).map(both).collect()
    }

    #[test]
    fn walks_arrays_and_objects() {
        assert_eq!(
            elements(r#"[ 1 ,"a]\"," , [ [ ] ,{}],{"x":"}"} ,null ]"#),
            ["1", r#""a]\",""#, "[ [ ] ,{}]", r#"{"x":"}"}"#, "null"]
        );
        assert!(elements("[]").is_empty() && elements("[ \n]").is_empty());
        assert_eq!(
            members(r#"{ "a" : 1,"b\"":{"c":[2]} , "":"" }"#),
            [("a", "1"), (r#"b\""#, r#"{"c":[2]}"#), ("", r#""""#)]
        );
        assert!(members("{}").is_empty());
    }

    // hardening B3
    #[test]
    fn ends_on_anything() {
        let pieces = [
            "[", "]", "{", "}", "\"", "\\", ",", ":", " ", "1", "é", "null",
        ];
        let mut seed = 1_u64;
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..12 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                text.push_str(pieces[(seed >> 33) as usize % pieces.len()]);
            }
            for open in 0..=text.len() {
                assert!(Elements::new(text.as_bytes(), open).count() <= text.len());
                assert!(Members::new(text.as_bytes(), open).count() <= text.len());
            }
        }
        let deep = "[".repeat(1_000_000);
        assert_eq!(value_end(deep.as_bytes(), 0), deep.len());
    }
}
