//! The identity of a request: what may share a flight or a cache entry.
//!
//! Equal keys must mean that every node reads the two requests alike (P-10, hardening B15). So a key
//! is the request itself, compared byte by byte and never by a hash that a caller could aim at
//! (hardening B16), with only these differences taken out:
//!
//! - blanks between tokens;
//! - the order of members, in objects whose members are all known;
//! - the case of hex digits, where the type is hex;
//! - an omitted block and an explicit `latest`, where the table says that they mean the same;
//! - absent parameters, `null`, `{}` and `[]`.
//!
//! Everything else stays: `null` is not `"null"`, `1` is not `"0x1"` nor `"1"`, `0x01` is not `0x1`
//! (some nodes refuse it), `[A,B]` is not `[[A,B]]`, `data` is not `input`. A method without known
//! shapes, a member beyond the known ones or twice, and a block that cannot be read with certainty
//! give a *raw* key: the parameters as written without blanks, under another first byte.
//!
//! A key is built in two parts. The *body* has a hole for every block reference; the *seal* behind it
//! says which blocks, as [`Resolve`] asks. One body serves all the look-ups of a request:
//!
//! 1. look in the cache under [`Resolve::Tagless`] and compare the entry's stamp (P-12, P-6);
//! 2. pin, then seal with [`Resolve::At`]: the flight, and the entry of a read at a number. The same
//!    request with that number written out has the same key;
//! 3. without a pin, [`Resolve::AsWritten`].
//!
//! The key is appended to the buffer, so a caller that keeps several chains in one map writes the
//! chain's number first (hardening F1).

use super::{
    block::{Block, Tag},
    found::{Found, Reading, Slot, array_text},
    scan::{self, Elements, Members, Span},
    shape::{Field, Shape},
};
use crate::mutant::{self, Mutant};
use smallvec::SmallVec;

// Bytes that no UTF-8 text contains.
const HOLE: u8 = 0xff;
const SEAL: u8 = 0xfe;
const AFTER_METHOD: u8 = 0xfd;

// What a seal says of a block.
const OMITTED: u8 = 0;
const LATEST: u8 = 1;
const NULL: u8 = 2;
const NUMBER: u8 = 3;
const WRITTEN: u8 = 4;
const HASH: u8 = 5;

/// Deeper values are keyed raw: no real parameter nests like this.
const MAX_DEPTH: u8 = 32;

/// How a key was made; also its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyForm {
    /// From the meaning of the parameters.
    Canonical,
    /// From their bytes: something in the request is unknown. Good for sharing a flight; what is
    /// worth keeping in a cache is for the cache to say.
    Raw,
}

/// The part of a key before its seal: where it ends in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Body {
    form: KeyForm,
    end: usize,
}

/// Which blocks a key speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolve {
    /// Those written, `latest` staying a tag.
    AsWritten,
    /// Those of the request pinned to this number, exactly as [`Found::rewrite`] would send it.
    At(u64),
    /// For a request with one block: none. `latest`, however spelt, and every plain number have one
    /// key, and the entry's stamp tells them apart. Other requests: as written.
    Tagless,
}

/// Appends the body of the key of a request to `buf`. The buffer is complete once it is sealed.
///
/// `method` is the name on the wire, `params` the text that `found` was made from.
pub fn canonical_key(found: &Found, method: &str, params: &str, buf: &mut Vec<u8>) -> Body {
    let text = array_text(params);
    let start = buf.len();
    buf.reserve(method.len() + text.len() + 64);
    buf.push(b'C');
    buf.extend_from_slice(method.as_bytes());
    buf.push(AFTER_METHOD);
    let inner = buf.len();
    let form = match shaped(found, text, buf) {
        Some(()) => KeyForm::Canonical,
        None => {
            buf[start] = b'R';
            buf.truncate(inner);
            raw(found, text, buf);
            KeyForm::Raw
        }
    };
    Body {
        form,
        end: buf.len(),
    }
}

impl Body {
    /// How the key was made.
    #[must_use]
    pub fn form(self) -> KeyForm {
        self.form
    }

    /// Completes the key in the buffer that holds this body, in place of an earlier seal if there is
    /// one.
    pub fn seal(self, found: &Found, params: &str, resolve: Resolve, buf: &mut Vec<u8>) {
        let text = array_text(params);
        buf.truncate(self.end);
        buf.push(SEAL);
        let (resolve, imply) = match resolve {
            // Forwarded as written, though there is a head: some nodes give a bound that was left
            // out the value of the other one.
            Resolve::At(pin) if found.inverts(pin) => (Resolve::AsWritten, false),
            Resolve::Tagless if found.slots().len() != 1 => (Resolve::AsWritten, true),
            resolve => (resolve, true),
        };
        for slot in found.slots() {
            buf.push(match slot.object.map(|object| object.require_canonical) {
                None => 0,
                Some(None) => 1,
                Some(Some(false)) => 2,
                Some(Some(true)) => 3,
            });
            if slot.block == Block::Omitted && !imply {
                buf.push(OMITTED);
            } else {
                push_block(found, slot, text, resolve, buf);
            }
        }
    }
}

fn push_block(found: &Found, slot: &Slot, text: &str, resolve: Resolve, buf: &mut Vec<u8>) {
    let mut number = |number: u64| {
        buf.push(NUMBER);
        buf.extend_from_slice(&number.to_be_bytes());
    };
    let open = found.is_open(slot);
    match (slot.block, resolve) {
        (_, Resolve::At(_)) if open && mutant::is(Mutant::SharedAcrossPins) => number(0),
        (_, Resolve::At(pin)) if open => number(pin),
        (_, Resolve::Tagless) if open => buf.push(LATEST),
        (Block::Number(_), Resolve::Tagless) if is_minimal(slot) => buf.push(LATEST),
        (Block::Number(written), _) if is_minimal(slot) => number(written),
        (Block::Number(_) | Block::JsonNumber(_), _) => {
            let written = text.get(slot.scalar.clone()).unwrap_or_default();
            buf.push(WRITTEN);
            buf.extend_from_slice(&(written.len() as u64).to_be_bytes());
            buf.extend_from_slice(written.as_bytes());
        }
        (Block::Hash(hash), _) => {
            buf.push(HASH);
            buf.extend_from_slice(&hash);
        }
        (Block::Omitted, _) => {
            buf.push(if found.implies_latest(slot) {
                LATEST
            } else {
                OMITTED
            });
        }
        (Block::Null, _) => buf.push(NULL),
        (Block::Tag(tag), _) => buf.push(match tag {
            Tag::Latest => LATEST,
            Tag::Safe => 16,
            Tag::Finalized => 17,
            Tag::Pending => 18,
            Tag::Earliest => 19,
        }),
    }
}

/// Whether a number is written as every node takes it: no escapes, no leading zeros.
fn is_minimal(slot: &Slot) -> bool {
    let Block::Number(number) = slot.block else {
        return false;
    };
    let digits = (64 - number.leading_zeros()).div_ceil(4).max(1) as usize;
    // The quotes and `0x`.
    slot.scalar.len() == digits + 4
}

/// The parameters as written, without blanks, with holes for the blocks.
fn raw(found: &Found, text: &str, buf: &mut Vec<u8>) {
    let mut slots: SmallVec<[Span; 3]> = found
        .slots()
        .iter()
        .filter(|slot| !slot.value.is_empty())
        .map(|slot| slot.value.clone())
        .collect();
    slots.sort_by_key(|slot| slot.start);
    let mut done = 0;
    for slot in slots {
        squeeze(&text.as_bytes()[done..slot.start], buf);
        buf.push(HOLE);
        done = slot.end;
    }
    squeeze(&text.as_bytes()[done..], buf);
}

/// Copies JSON text without the blanks between its tokens.
fn squeeze(text: &[u8], buf: &mut Vec<u8>) {
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => at += 1,
            b'"' => {
                let end = scan::value_end(text, at);
                buf.extend_from_slice(&text[at..end]);
                at = end;
            }
            _ => {
                buf.push(*byte);
                at += 1;
            }
        }
    }
}

/// The parameters by their shapes; `None` where they do not fit.
fn shaped(found: &Found, text: &str, buf: &mut Vec<u8>) -> Option<()> {
    let shapes = found.row.params?;
    match found.reading() {
        Reading::Clear | Reading::NoBlock => {}
        Reading::Foreign => return None,
    }
    let open = scan::skip_blanks(text.as_bytes(), 0);
    if text.as_bytes().get(open) != Some(&b'[') {
        return None;
    }
    let mut writer = Writer { found, text, buf };
    writer.buf.push(b'[');
    for (index, element) in found.elements(text.as_bytes(), open).enumerate() {
        let shape = shapes.get(index)?;
        if found.slots().iter().any(|slot| slot.value == element) {
            writer.buf.push(HOLE);
        } else {
            writer.value(&element, shape, 0)?;
        }
        writer.buf.push(b',');
    }
    let stands_for_latest = |slot: &&Slot| {
        slot.path.key.is_none() && (found.is_open(slot) || found.implies_latest(slot))
    };
    for slot in found.slots().iter().filter(stands_for_latest) {
        if slot.value.is_empty() {
            writer.buf.extend_from_slice(&[HOLE, b',']);
        }
    }
    Some(())
}

/// Writes values by their shapes. Every element and member ends in a comma.
struct Writer<'a> {
    found: &'a Found,
    text: &'a str,
    buf: &'a mut Vec<u8>,
}

impl Writer<'_> {
    fn value(&mut self, span: &Span, shape: &Shape, depth: u8) -> Option<()> {
        let text = self.text.as_bytes();
        match (text.get(span.start)?, shape) {
            (_, Shape::Json) => squeeze(&text[span.clone()], self.buf),
            (b'[', _) => {
                if depth == MAX_DEPTH {
                    return None;
                }
                self.buf.push(b'[');
                for element in Elements::new(text, span.start) {
                    self.value(&element, shape, depth + 1)?;
                    self.buf.push(b',');
                }
                self.buf.push(b']');
            }
            (b'{', Shape::Object(fields)) => self.object(span, fields, depth)?,
            (b'{', Shape::Map(inner)) => self.map(span, inner, depth)?,
            (b'{', Shape::Hex | Shape::Block) => return None,
            (_, Shape::Hex) => push_folded(&text[span.clone()], self.buf),
            (_, Shape::Block | Shape::Object(_) | Shape::Map(_)) => {
                squeeze(&text[span.clone()], self.buf);
            }
        }
        Some(())
    }

    /// An object whose members are all known, each at most once, in the order of the shape.
    fn object(&mut self, span: &Span, fields: &[Field], depth: u8) -> Option<()> {
        let mut members: SmallVec<[(usize, Span); 8]> = SmallVec::new();
        for (name, value) in Members::new(self.text.as_bytes(), span.start) {
            let name = scan::name(self.text, &name);
            // Most differ in their length or their first letter.
            let field = fields.iter().position(|field| field.name == name)?;
            members.push((field, value));
        }
        if !members.is_sorted_by_key(|(field, _)| *field) {
            members.sort_unstable_by_key(|(field, _)| *field);
        }
        if members.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return None;
        }
        self.buf.push(b'{');
        for (field, value) in members {
            let Field { name, shape } = fields[field];
            if matches!(shape, Shape::Block) {
                // The seal speaks of it.
                self.found.slots().iter().find(|slot| slot.value == value)?;
                continue;
            }
            self.buf.extend_from_slice(name.as_bytes());
            self.buf.push(b':');
            self.value(&value, &shape, depth)?;
            self.buf.push(b',');
        }
        self.buf.push(b'}');
        Some(())
    }

    /// An object named by hex. Only names of one length are surely different things: `0x1` and
    /// `0x01` may be one slot, and then their order counts.
    fn map(&mut self, span: &Span, inner: &Shape, depth: u8) -> Option<()> {
        let text = self.text.as_bytes();
        let mut members: SmallVec<[(Span, Span); 8]> = Members::new(text, span.start).collect();
        let length = members.first().map_or(0, |(name, _)| name.len());
        let fits = |(name, _): &(Span, Span)| name.len() == length && is_hex(&text[name.clone()]);
        if !members.iter().all(fits) {
            return None;
        }
        let folded = |span: &Span| text[span.clone()].iter().map(u8::to_ascii_lowercase);
        members.sort_unstable_by(|(a, _), (b, _)| folded(a).cmp(folded(b)));
        if members
            .windows(2)
            .any(|pair| folded(&pair[0].0).eq(folded(&pair[1].0)))
        {
            return None;
        }
        self.buf.push(b'{');
        for (name, value) in members {
            push_folded(&text[name], self.buf);
            self.buf.push(b':');
            self.value(&value, inner, depth)?;
            self.buf.push(b',');
        }
        self.buf.push(b'}');
        Some(())
    }
}

/// Copies a scalar, with the case of its digits folded if it is a hex string.
fn push_folded(written: &[u8], buf: &mut Vec<u8>) {
    let start = buf.len();
    buf.extend_from_slice(written);
    if is_hex(written) {
        // Quotes, digits and `x` have this bit already.
        for byte in &mut buf[start..] {
            *byte |= 0x20;
        }
    }
}

/// `"0x` and hex digits and `"`.
fn is_hex(written: &[u8]) -> bool {
    let Some(digits) = written
        .strip_prefix(b"\"0x")
        .and_then(|written| written.strip_suffix(b"\""))
    else {
        return false;
    };
    // Without an early exit the compiler checks many bytes at once.
    digits.iter().fold(true, |all, byte| {
        let letter = (byte | 0x20).wrapping_sub(b'a') < 6;
        let digit = byte.wrapping_sub(b'0') < 10;
        all & (letter | digit)
    })
}
