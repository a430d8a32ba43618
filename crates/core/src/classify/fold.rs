//! Text as the rules see it.
//!
//! Providers write the same sentence in many ways: `RateLimitExceeded`, `RATE_LIMIT_EXCEEDED`,
//! `rate-limit exceeded`, `10,000`, `10K`, `0x2710`. Folding removes what varies and keeps what
//! means something: lower case, camel case and snake case split into words, punctuation gone, one
//! space before every word and one at the end. A number becomes `#` and is kept beside the text
//! with its place; a hash, address or other long token becomes `@`; a link becomes `%`, because the
//! words of a link (`…/pricing/rate-limits`) say nothing about the answer. Names of methods
//! (`eth_getLogs`) stay one word, so that they do not look like a noun of the sentence.
//!
//! At most [`MAX_TEXT`] bytes of text are read per answer, however many strings it has.

use smallvec::SmallVec;

/// Most bytes of text that are read from one answer.
pub(super) const MAX_TEXT: usize = 64 * 1024;
/// Most pieces of text that are told apart; later ones are not read.
const MAX_SEGMENTS: usize = 64;
/// Most numbers kept; later ones are seen as `#` but have no value.
const MAX_NUMBERS: usize = 256;
/// From this many digits on, a hexadecimal number is a hash, an address or data.
const LONG_HEX: usize = 17;
/// From this length on, a word with digits in it is an id or a key.
const LONG_TOKEN: usize = 20;

/// Name spaces of methods: `eth_getLogs` is a name, `INTERNAL_ERROR` is two words.
const NAMESPACES: &[&str] = &[
    "admin",
    "alchemy",
    "anvil",
    "arb",
    "arbtrace",
    "bor",
    "clique",
    "debug",
    "engine",
    "erigon",
    "eth",
    "evm",
    "flashbots",
    "hardhat",
    "kaia",
    "klay",
    "linea",
    "mev",
    "miner",
    "net",
    "optimism",
    "ots",
    "parity",
    "personal",
    "pm",
    "qn",
    "rpc",
    "trace",
    "txpool",
    "wallet",
    "web3",
    "zkevm",
    "zks",
];

/// A number of the text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number {
    /// Where its `#` stands in [`Folded::text`].
    pub(super) at: usize,
    /// Its whole part, saturating.
    pub(super) value: u64,
    /// Its fraction, in thousandths.
    pub(super) milli: u16,
}

/// One string of the answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Segment {
    /// Its first byte in [`Folded::text`].
    pub(super) start: usize,
    /// The byte after its last.
    pub(super) end: usize,
    /// The object that it is a member of, as counted by the scanner.
    pub(super) object: u16,
    /// Whether it is the reason of a revert, decoded: never more than a note in a verdict.
    pub(super) reason: bool,
}

/// All text of one answer, folded.
#[derive(Debug, Default)]
pub(super) struct Folded {
    pub(super) text: Vec<u8>,
    pub(super) numbers: SmallVec<[Number; 8]>,
    pub(super) segments: SmallVec<[Segment; 6]>,
    read: usize,
}

impl Folded {
    /// Bytes of text that may still be read.
    pub(super) fn room(&self) -> usize {
        if self.segments.len() >= MAX_SEGMENTS {
            0
        } else {
            MAX_TEXT.saturating_sub(self.read)
        }
    }

    /// Folds one string and keeps it as a segment, cut to what may still be read.
    pub(super) fn push(&mut self, raw: &[u8], object: u16) {
        let raw = &raw[..raw.len().min(self.room())];
        if raw.is_empty() {
            return;
        }
        self.read += raw.len();
        if self.text.is_empty() {
            // Every string follows a line feed, so that a phrase can be bound to its beginning.
            self.text.push(b'\n');
        }
        // Spaces before capitals and numbers add a little.
        self.text.reserve(raw.len() + raw.len() / 4 + 16);
        let start = self.text.len();
        let mut i = 0;
        while i < raw.len() {
            i = self.token(raw, i);
        }
        if self.text.len() == start {
            return;
        }
        self.text.push(b' ');
        self.segments.push(Segment {
            start,
            end: self.text.len(),
            object,
            reason: false,
        });
        self.text.push(b'\n');
    }

    /// Folds the reason of a revert.
    pub(super) fn push_reason(&mut self, raw: &[u8], object: u16) {
        let before = self.segments.len();
        self.push(raw, object);
        for segment in &mut self.segments[before..] {
            segment.reason = true;
        }
    }

    /// The text of a segment.
    pub(super) fn of(&self, segment: Segment) -> &[u8] {
        &self.text[segment.start..segment.end]
    }

    /// Folds what starts at `i` and returns where the next token may start.
    fn token(&mut self, raw: &[u8], i: usize) -> usize {
        let c = raw[i];
        match c {
            b'<' | b'>' => {
                self.text.extend_from_slice(&[b' ', c]);
                i + 1
            }
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | 0x80.. => {
                let (end, plain) = word_end(raw, i);
                let word = &raw[i..end];
                if raw[end..].starts_with(b"://") {
                    self.text.extend_from_slice(b" %");
                    return link_end(raw, end);
                }
                // Most words are plain.
                if plain && word.len() < LONG_TOKEN {
                    self.text.push(b' ');
                    self.text.extend_from_slice(word);
                    return end;
                }
                if c.is_ascii_digit() {
                    self.number(raw, i, end)
                } else {
                    self.word(word, end)
                }
            }
            _ => i + 1,
        }
    }

    fn word(&mut self, word: &[u8], end: usize) -> usize {
        if is_id(word) {
            self.text.extend_from_slice(b" @");
            return end;
        }
        let name = word.iter().position(|&c| c == b'_').is_some_and(|at| {
            NAMESPACES
                .iter()
                .any(|n| word[..at].eq_ignore_ascii_case(n.as_bytes()))
                && word[0].is_ascii_lowercase()
        });
        self.text.push(b' ');
        let mut previous = 0_u8;
        for (k, &c) in word.iter().enumerate() {
            if c == b'\'' {
                continue;
            }
            if !name {
                if c == b'_' {
                    if !self.text.ends_with(b" ") {
                        self.text.push(b' ');
                    }
                    previous = 0;
                    continue;
                }
                let next_is_lower = word.get(k + 1).is_some_and(u8::is_ascii_lowercase);
                let starts = c.is_ascii_uppercase()
                    && (previous.is_ascii_lowercase()
                        || (previous.is_ascii_uppercase() && next_is_lower));
                // "IDs", "URLs", "IPs": the last capital before a lone "s" is not a new word.
                let plural = word.get(k + 1) == Some(&b's') && k + 2 == word.len();
                if starts
                    && !(plural && previous.is_ascii_uppercase())
                    && !self.text.ends_with(b" ")
                {
                    self.text.push(b' ');
                }
            }
            self.text.push(c.to_ascii_lowercase());
            previous = c;
        }
        if self.text.ends_with(b" ") {
            self.text.pop();
        }
        end
    }

    /// `0x2710`, `10,000`, `10K`, `1.5`, `10m0s`: the numbers with the units as words after them.
    fn number(&mut self, raw: &[u8], i: usize, end: usize) -> usize {
        let word = &raw[i..end];
        if word.len() > 2 && (word[1] == b'x' || word[1] == b'X') && word[0] == b'0' {
            let digits = &word[2..];
            if digits.iter().all(u8::is_ascii_hexdigit) {
                if digits.len() >= LONG_HEX {
                    self.text.extend_from_slice(b" @");
                } else {
                    let value = digits
                        .iter()
                        .fold(0_u64, |v, &d| v.wrapping_shl(4) | u64::from(hex_value(d)));
                    self.hash(value, 0);
                }
                return end;
            }
            self.text.extend_from_slice(b" @");
            return end;
        }
        if is_id(word) {
            self.text.extend_from_slice(b" @");
            return end;
        }
        let mut k = i;
        while k < end {
            if !raw[k].is_ascii_digit() {
                // A unit, or the rest of a name that begins with a digit.
                let from = k;
                while k < end && !raw[k].is_ascii_digit() {
                    k += 1;
                }
                self.word(&raw[from..k], k);
                continue;
            }
            let (value, milli, after) = decimal(raw, k);
            let scale = match raw.get(after) {
                Some(b'k' | b'K') if after + 1 == end => 1_000,
                Some(b'M') if after + 1 == end => 1_000_000,
                _ => 1,
            };
            if scale > 1 {
                self.hash(
                    value
                        .saturating_mul(scale)
                        .saturating_add(u64::from(milli) * (scale / 1_000)),
                    0,
                );
                return end;
            }
            self.hash(value, milli);
            k = after;
        }
        k
    }

    fn hash(&mut self, value: u64, milli: u16) {
        self.text.extend_from_slice(b" #");
        if self.numbers.len() < MAX_NUMBERS {
            self.numbers.push(Number {
                at: self.text.len() - 1,
                value,
                milli,
            });
        }
    }
}

/// A lower-case letter.
const LOWER: u8 = 1;
/// Anything else that a word is made of.
const OTHER: u8 = 2;

/// What each byte is in a word; 0 ends it.
const KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut c = 0;
    while c < 256 {
        kinds[c] = match c as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' | b'0'..=b'9' | b'_' | 0x80.. => OTHER,
            _ => 0,
        };
        c += 1;
    }
    kinds
};

/// The end of a run of letters, digits, underscores, and apostrophes inside a word; and whether it
/// is lower-case letters only.
fn word_end(raw: &[u8], start: usize) -> (usize, bool) {
    let mut k = start;
    let mut kinds = 0;
    while let Some(&c) = raw.get(k) {
        let mut kind = KINDS[usize::from(c)];
        if kind == 0 {
            let inside = c == b'\''
                && k > start
                && raw[k - 1].is_ascii_alphabetic()
                && raw.get(k + 1).is_some_and(u8::is_ascii_alphabetic);
            if !inside {
                break;
            }
            kind = OTHER;
        }
        kinds |= kind;
        k += 1;
    }
    (k, kinds == LOWER)
}

fn link_end(raw: &[u8], start: usize) -> usize {
    raw[start..]
        .iter()
        .position(|&c| {
            c.is_ascii_whitespace() || matches!(c, b'"' | b'\'' | b'<' | b'>' | b')' | b'`')
        })
        .map_or(raw.len(), |n| start + n)
}

/// Hashes without `0x`, trace ids, keys.
fn is_id(word: &[u8]) -> bool {
    (word.len() >= LONG_TOKEN
        && word.iter().any(u8::is_ascii_digit)
        && !word.contains(&b'_')
        && !word.starts_with(b"0x"))
        || (word.len() >= 32 && word.iter().all(u8::is_ascii_hexdigit))
}

/// The number that starts at `k`: its whole part, thousandths and the place after it.
fn decimal(raw: &[u8], mut k: usize) -> (u64, u16, usize) {
    let mut value = 0_u64;
    loop {
        match raw.get(k) {
            Some(d @ b'0'..=b'9') => {
                value = value.saturating_mul(10).saturating_add(u64::from(d - b'0'));
                k += 1;
            }
            // A thousands separator is followed by exactly three digits.
            Some(b',' | b'_')
                if raw.len() >= k + 4
                    && raw[k + 1..k + 4].iter().all(u8::is_ascii_digit)
                    && !raw.get(k + 4).is_some_and(u8::is_ascii_digit) =>
            {
                k += 1;
            }
            _ => break,
        }
    }
    let mut milli = 0_u16;
    if raw.get(k) == Some(&b'.') && raw.get(k + 1).is_some_and(u8::is_ascii_digit) {
        k += 1;
        let mut weight = 100;
        while let Some(d @ b'0'..=b'9') = raw.get(k) {
            milli += u16::from(d - b'0') * weight;
            weight /= 10;
            k += 1;
        }
    }
    (value, milli, k)
}

fn hex_value(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => digit.wrapping_sub(b'A').wrapping_add(10),
    }
}
