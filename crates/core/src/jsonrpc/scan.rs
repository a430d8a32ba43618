//! A cursor over one JSON text that checks the grammar, counts depth and hands out the bytes of
//! members, in a single pass without recursion or allocation.
//!
//! Why not `serde_json` here: skipping a value with it has no depth limit, so a second pass over
//! the body would have to count, and three states of a member (absent, `null`, value) need a
//! visitor of their own anyway. One pass does all of it: nesting is a bit per level, so a million
//! opening brackets cost a comparison and not a stack frame (hardening B3), and members stay raw
//! tokens, in which an explicit `null` is a token like any other. What counts as JSON is decided by
//! tests that compare every answer with `serde_json`.

use super::string::Quoted;

/// Where a string stops being short, in bytes: a multiple of eight above two hashes' length.
const SHORT: usize = 160;

/// Why a text is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Malformed {
    /// Not UTF-8, not JSON, or bytes after the value.
    Syntax,
    /// Nested deeper than the limit.
    TooDeep,
}

/// The members of an object that were asked for, each the raw bytes of its value.
#[derive(Debug)]
pub(super) struct Members<'a, const N: usize> {
    /// In the order of the names; `None` is an absent member.
    pub(super) values: [Option<&'a str>; N],
    /// Bit `i` is set where name `i` came more than once.
    pub(super) repeated: u32,
}

/// The cursor.
#[derive(Debug)]
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    max_depth: usize,
}

impl<'a> Scanner<'a> {
    /// A cursor at the start of `body`, behind a byte order mark if there is one (hardening B8).
    pub(super) fn new(body: &'a [u8], max_depth: usize) -> Result<Self, Malformed> {
        let text = str::from_utf8(body).map_err(|_| Malformed::Syntax)?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Ok(Self {
            text,
            at: 0,
            depth: 0,
            max_depth,
        })
    }

    /// Skips white space and shows the next byte.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = bytes.get(at) {
            at += 1;
        }
        self.at = at;
        bytes.get(at).copied()
    }

    /// Enters the array or object whose bracket the cursor stands on.
    pub(super) fn open(&mut self) -> Result<(), Malformed> {
        if self.depth >= self.max_depth {
            return Err(Malformed::TooDeep);
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    /// Leaves an array or object if `bracket` is next.
    #[inline]
    pub(super) fn close(&mut self, bracket: u8) -> bool {
        let closes = self.peek() == Some(bracket);
        if closes {
            self.at += 1;
            self.depth -= 1;
        }
        closes
    }

    /// Steps over the next byte if it is `byte`.
    #[inline]
    pub(super) fn step(&mut self, byte: u8) -> Result<(), Malformed> {
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            Err(Malformed::Syntax)
        }
    }

    /// Nothing but white space may follow.
    pub(super) fn end(&mut self) -> Result<(), Malformed> {
        if self.peek().is_none() {
            Ok(())
        } else {
            Err(Malformed::Syntax)
        }
    }

    /// Reads the object that the cursor stands on, keeping the members named. Names are compared
    /// after their escapes are decoded, so `"\u006dethod"` is `method` (hardening B6).
    pub(super) fn members<const N: usize>(
        &mut self,
        names: [&str; N],
    ) -> Result<Members<'a, N>, Malformed> {
        let mut members = Members {
            values: [None; N],
            repeated: 0,
        };
        self.open()?;
        if self.close(b'}') {
            return Ok(members);
        }
        loop {
            let name = self.name()?;
            let value = self.value()?;
            if let Some(i) = names.iter().position(|known| name.is(known))
                && members.values[i].replace(value).is_some()
            {
                members.repeated |= 1 << i;
            }
            if self.close(b'}') {
                return Ok(members);
            }
            self.step(b',')?;
        }
    }

    /// The same, with the bytes of the whole object.
    pub(super) fn object<const N: usize>(
        &mut self,
        names: [&str; N],
    ) -> Result<(Members<'a, N>, &'a str), Malformed> {
        let start = self.at;
        let members = self.members(names)?;
        Ok((members, &self.text[start..self.at]))
    }

    /// Reads one value and returns its bytes.
    #[inline]
    pub(super) fn value(&mut self) -> Result<&'a str, Malformed> {
        let first = self.peek();
        let start = self.at;
        match first {
            Some(b'"') => {
                self.skip_string()?;
            }
            Some(b'{' | b'[') => self.skip_nested()?,
            _ => self.scalar()?,
        }
        Ok(&self.text[start..self.at])
    }

    /// A member's name and the colon behind it.
    #[inline]
    fn name(&mut self) -> Result<Quoted<'a>, Malformed> {
        if self.peek() != Some(b'"') {
            return Err(Malformed::Syntax);
        }
        let name = self.string()?;
        self.step(b':')?;
        Ok(name)
    }

    /// The same, where nobody asks for the name.
    #[inline]
    fn skip_name(&mut self) -> Result<(), Malformed> {
        if self.peek() != Some(b'"') {
            return Err(Malformed::Syntax);
        }
        self.skip_string()?;
        self.step(b':')
    }

    /// Skips the array or object that the cursor stands on.
    fn skip_nested(&mut self) -> Result<(), Malformed> {
        let mut nesting = Nesting::default();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.skip_string()?;
                }
                Some(bracket @ (b'{' | b'[')) => {
                    if self.depth + nesting.open >= self.max_depth {
                        return Err(Malformed::TooDeep);
                    }
                    self.at += 1;
                    let is_object = bracket == b'{';
                    // The closing bracket is two code points above the opening one.
                    if self.peek() == Some(bracket + 2) {
                        self.at += 1;
                    } else {
                        nesting.push(is_object);
                        if is_object {
                            self.skip_name()?;
                        }
                        continue;
                    }
                }
                _ => self.scalar()?,
            }
            // A value has ended: close what ends with it, then stand before the next one.
            loop {
                if nesting.open == 0 {
                    return Ok(());
                }
                match self.peek() {
                    Some(b',') => {
                        self.at += 1;
                        if nesting.in_object() {
                            self.skip_name()?;
                        }
                        break;
                    }
                    Some(b'}') if nesting.in_object() => {}
                    Some(b']') if !nesting.in_object() => {}
                    _ => return Err(Malformed::Syntax),
                }
                self.at += 1;
                nesting.pop();
            }
        }
    }

    /// Reads the string whose opening quote the cursor stands on.
    #[inline]
    fn string(&mut self) -> Result<Quoted<'a>, Malformed> {
        let start = self.at + 1;
        let escaped = self.skip_string()?;
        let inner = &self.text[start..self.at - 1];
        Ok(Quoted { inner, escaped })
    }

    /// Skips the string whose opening quote the cursor stands on. Tells whether it has escapes.
    #[inline]
    fn skip_string(&mut self) -> Result<bool, Malformed> {
        let bytes = self.text.as_bytes();
        let mut at = self.at + 1;
        let mut escaped = false;
        loop {
            at = plain_end(bytes, at);
            match bytes.get(at) {
                Some(b'"') => {
                    self.at = at + 1;
                    return Ok(escaped);
                }
                Some(b'\\') => {
                    escaped = true;
                    at += escape_len(&bytes[at + 1..]).ok_or(Malformed::Syntax)?;
                }
                _ => return Err(Malformed::Syntax),
            }
        }
    }

    /// Skips a number or one of the three words.
    #[inline]
    fn scalar(&mut self) -> Result<(), Malformed> {
        let rest = &self.text.as_bytes()[self.at..];
        let len = match rest.first() {
            Some(b'-' | b'0'..=b'9') => number_len(rest),
            Some(b't') if rest.starts_with(b"true") => Some(4),
            Some(b'f') if rest.starts_with(b"false") => Some(5),
            Some(b'n') if rest.starts_with(b"null") => Some(4),
            _ => None,
        };
        self.at += len.ok_or(Malformed::Syntax)?;
        Ok(())
    }
}

/// Which kinds of container are open, a bit a level: 64 levels in a register, deeper ones spilled.
#[derive(Default)]
struct Nesting {
    open: usize,
    kinds: u64,
    spilled: Vec<u64>,
}

impl Nesting {
    #[inline]
    fn push(&mut self, is_object: bool) {
        if self.open != 0 && self.open.is_multiple_of(64) {
            self.spilled.push(self.kinds);
        }
        self.kinds = self.kinds << 1 | u64::from(is_object);
        self.open += 1;
    }

    #[inline]
    fn pop(&mut self) {
        self.open -= 1;
        self.kinds >>= 1;
        if self.open.is_multiple_of(64) {
            self.kinds = self.spilled.pop().unwrap_or(0);
        }
    }

    #[inline]
    fn in_object(&self) -> bool {
        self.kinds & 1 == 1
    }
}

/// Where the run of ordinary characters from `at` ends: at a quote, a backslash, a control
/// character or the end.
///
/// Names, hashes and addresses end within a few steps; a text that goes on after
/// [`SHORT`] bytes (call data, blobs, long results) is taken in blocks that the compiler turns into
/// vector code.
#[inline]
fn plain_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(lane) = bytes.get(at..).and_then(|rest| rest.first_chunk::<LANE>()) {
        if let Some(first) = first_end(lane) {
            return at + first;
        }
        at += LANE;
        if at - start == SHORT {
            at = plain_blocks(bytes, at);
        }
    }
    while let Some(byte) = bytes.get(at) {
        if ends_run(*byte) {
            break;
        }
        at += 1;
    }
    at
}

/// Steps over whole blocks of ordinary characters.
#[inline(never)]
fn plain_blocks(bytes: &[u8], mut at: usize) -> usize {
    while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk::<64>()) {
        // No early exit inside a block: that is what lets it become vector code.
        if block
            .iter()
            .fold(false, |ends, byte| ends | ends_run(*byte))
        {
            break;
        }
        at += 64;
    }
    at
}

/// Whether a byte ends a run of ordinary characters.
#[inline]
fn ends_run(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

/// Bytes looked at in one step: what every processor's vector registers hold.
const LANE: usize = 16;

/// The first byte of a lane that ends a run. Written so that it becomes a few vector instructions: no
/// early exit, and one test of the whole.
#[inline]
fn first_end(lane: &[u8; LANE]) -> Option<usize> {
    let ends = lane.map(|byte| if ends_run(byte) { u8::MAX } else { 0 });
    let ends = u128::from_le_bytes(ends);
    (ends != 0).then(|| (ends.trailing_zeros() / 8) as usize)
}

/// The length of an escape, backslash included, from what follows the backslash.
fn escape_len(rest: &[u8]) -> Option<usize> {
    match rest.first()? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(2),
        b'u' => rest
            .get(1..5)?
            .iter()
            .all(u8::is_ascii_hexdigit)
            .then_some(6),
        _ => None,
    }
}

/// The length of the number at the start of `rest`.
fn number_len(rest: &[u8]) -> Option<usize> {
    let digits = |from: usize| {
        rest.get(from..).map_or(0, |tail| {
            tail.iter().take_while(|b| b.is_ascii_digit()).count()
        })
    };
    let mut at = usize::from(rest.first() == Some(&b'-'));
    let whole = digits(at);
    if whole == 0 || (whole > 1 && rest[at] == b'0') {
        return None;
    }
    at += whole;
    if rest.get(at) == Some(&b'.') {
        let fraction = digits(at + 1);
        if fraction == 0 {
            return None;
        }
        at += 1 + fraction;
    }
    if let Some(b'e' | b'E') = rest.get(at) {
        at += 1;
        at += usize::from(matches!(rest.get(at), Some(b'+' | b'-')));
        let exponent = digits(at);
        if exponent == 0 {
            return None;
        }
        at += exponent;
    }
    Some(at)
}
