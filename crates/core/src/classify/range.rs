//! What a refusal of a range says about the size that would pass, read from its structure.
//!
//! Every number of the text is looked at with the words around it: a noun after it or before it says
//! what it counts (blocks, results, bytes), a word of limiting before or after it says that it is a
//! cap, and some words say that it only repeats the request ("got 16777216", "range 47440 exceeds").
//! A pair of numbers after "try", "retry", "should work" is a proposal; other pairs are not.

use smallvec::SmallVec;

use super::class::SuggestedRange;
use super::fold::{Folded, Segment};
use super::scan::Said;

/// Most words of one string that are looked at.
const MAX_WORDS: usize = 512;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Blocks,
    Results,
    Bytes,
    /// Something that is no size of a range: seconds, addresses, requests.
    Other,
}

/// Reads all that is stated; `fallback` says whether a number without a noun counts blocks.
pub(super) fn suggested(said: &Said, subclass: Option<&str>) -> Option<SuggestedRange> {
    let mut out = SuggestedRange::default();
    for segment in &said.folded.segments {
        read(&said.folded, *segment, subclass, &mut out);
    }
    facts(said, &mut out);
    if out.from.is_none() || out.to.is_none() || out.from > out.to {
        out.from = None;
        out.to = None;
    }
    (!out.is_empty()).then_some(out)
}

/// Named numbers in the data: `{"from": "0x1", "to": "0x2", "limit": 10000}`.
fn facts(said: &Said, out: &mut SuggestedRange) {
    for fact in &said.facts {
        let value = fact.value as u64;
        let name = fact.name();
        let has = |part: &str| memchr::memmem::find(name, part.as_bytes()).is_some();
        let caps = has("max") || has("limit") || has("allowed");
        let slot = match name {
            b"from" | b"fromblock" | b"startblock" | b"suggestedfrom" | b"suggestedfromblock" => {
                &mut out.from
            }
            b"to" | b"toblock" | b"endblock" | b"suggestedto" | b"suggestedtoblock" => &mut out.to,
            b"limit" => &mut out.max_results,
            _ if caps && (has("range") || has("block") || has("span")) => &mut out.max_blocks,
            _ if caps && (has("result") || has("logs") || has("events")) => &mut out.max_results,
            _ if caps && (has("bytes") || has("size")) => &mut out.max_bytes,
            _ => continue,
        };
        slot.get_or_insert(value);
    }
}

struct Words<'a> {
    list: SmallVec<[&'a [u8]; 48]>,
    /// The value of each `#`, in thousandths beyond its whole part.
    values: SmallVec<[(usize, u64, u16); 8]>,
}

impl Words<'_> {
    fn at(&self, i: usize) -> &[u8] {
        self.list.get(i).copied().unwrap_or(b"")
    }

    fn is_number(&self, i: usize) -> bool {
        self.at(i) == b"#"
    }

    fn value(&self, i: usize) -> Option<(u64, u16)> {
        self.values
            .iter()
            .find(|(at, ..)| *at == i)
            .map(|(_, v, m)| (*v, *m))
    }
}

fn words<'a>(folded: &'a Folded, segment: Segment) -> Words<'a> {
    let mut out = Words {
        list: SmallVec::new(),
        values: SmallVec::new(),
    };
    let mut at = segment.start;
    for word in folded.of(segment).split(|c| *c == b' ').take(2 * MAX_WORDS) {
        if !word.is_empty() {
            if word == b"#"
                && let Ok(n) = folded.numbers.binary_search_by_key(&at, |n| n.at)
            {
                out.values.push((
                    out.list.len(),
                    folded.numbers[n].value,
                    folded.numbers[n].milli,
                ));
            }
            out.list.push(word);
        }
        at += word.len() + 1;
    }
    out
}

fn read(folded: &Folded, segment: Segment, subclass: Option<&str>, out: &mut SuggestedRange) {
    let w = words(folded, segment);
    let mut proposes = false;
    // Caps with a word of limiting before them; those with one after them count only where no other is.
    let mut weak: SmallVec<[usize; 4]> = SmallVec::new();
    let mut i = 0;
    while i < w.list.len() {
        proposes = proposes || starts_proposal(w.at(i));
        if !w.is_number(i) {
            i += 1;
            continue;
        }
        let second = if w.is_number(i + 1) {
            Some(i + 1)
        } else if matches!(
            w.at(i + 1),
            b"to" | b"and" | b"until" | b"through" | b"toblock"
        ) && w.is_number(i + 2)
        {
            Some(i + 2)
        } else {
            None
        };
        if let Some(j) = second {
            if let (true, Some((a, _)), Some((b, _))) = (proposes, w.value(i), w.value(j))
                && a <= b
            {
                out.from = Some(a);
                out.to = Some(b);
            } else if noun(w.at(j + 1)).is_some()
                && matches!(cap(&w, i), Some(Cap::Before))
                && let Some((value, milli)) = w.value(j)
            {
                // "limited to 0 - 50 blocks"
                note(&w, j, value, milli, subclass, out);
            }
            i = j + 1;
            continue;
        }
        if let Some((value, milli)) = w.value(i) {
            match cap(&w, i) {
                Some(Cap::Before) => note(&w, i, value, milli, subclass, out),
                Some(Cap::After) => weak.push(i),
                None => {}
            }
        }
        i += 1;
    }
    for i in weak {
        if let Some((value, milli)) = w.value(i) {
            note(&w, i, value, milli, subclass, out);
        }
    }
}

/// Whether a range that follows this word is one to ask for.
fn starts_proposal(word: &[u8]) -> bool {
    match word.first() {
        Some(b't') => word.starts_with(b"try"),
        Some(b'r') => word.starts_with(b"retry") || word.starts_with(b"recommended"),
        Some(b'w') => word.starts_with(b"work"),
        Some(b's') => word.starts_with(b"suggest"),
        Some(b'i') => word.starts_with(b"instead"),
        Some(b'u') => word.starts_with(b"use"),
        Some(b'c') => word.starts_with(b"consider"),
        _ => false,
    }
}

/// Where the word stands that makes a number a cap.
enum Cap {
    Before,
    After,
}

fn note(
    w: &Words<'_>,
    i: usize,
    value: u64,
    milli: u16,
    subclass: Option<&str>,
    out: &mut SuggestedRange,
) {
    let (kind, unit) = kind(w, i);
    let kind = kind.or(match subclass {
        Some("block_span") => Some(Kind::Blocks),
        Some("result_count") => Some(Kind::Results),
        Some("response_size") => Some(Kind::Bytes),
        _ => None,
    });
    let slot = match kind {
        Some(Kind::Blocks) => &mut out.max_blocks,
        Some(Kind::Results) => &mut out.max_results,
        // A bare "size 1024" of a query that is too wide counts blocks.
        Some(Kind::Bytes)
            if subclass == Some("block_span")
                && unit == 1
                && !noun(w.at(i + 1)).is_some_and(|n| n.0 == Kind::Bytes) =>
        {
            &mut out.max_blocks
        }
        Some(Kind::Bytes) => {
            let size = value
                .saturating_mul(unit)
                .saturating_add(u64::from(milli) * unit / 1_000);
            out.max_bytes.get_or_insert(size);
            return;
        }
        Some(Kind::Other) | None => return,
    };
    if value > 0 {
        slot.get_or_insert(value);
    }
}

/// Whether the words around a number make it a cap.
fn cap(w: &Words<'_>, i: usize) -> Option<Cap> {
    let after = w.at(i + 1);
    if after == b">"
        || after.starts_with(b"exceed")
        || after.starts_with(b"is") && w.at(i + 2) != b"the"
    {
        return None;
    }
    let before = w.at(i.wrapping_sub(1));
    if matches!(
        before,
        b"got"
            | b"requested"
            | b"given"
            | b"received"
            | b"from"
            | b"actual"
            | b"contains"
            | b"has"
            | b"spans"
            | b"was"
            | b"were"
            | b"code"
    ) {
        return None;
    }
    let limits = |word: &[u8]| {
        [
            &b"max"[..],
            b"limit",
            b"exceed",
            b"most",
            b"allow",
            b"cap",
            b"only",
            b"than",
            b">",
            b"up",
            b"over",
            b"within",
            b"support",
            b"greater",
            b"size",
            b"less",
            b"restrict",
            b"threshold",
        ]
        .iter()
        .any(|m| word.first() == m.first() && word.starts_with(m))
    };
    let mut k = i;
    for _ in 0..9 {
        if k == 0 {
            break;
        }
        k -= 1;
        if w.is_number(k) {
            break;
        }
        if limits(w.at(k)) {
            return Some(Cap::Before);
        }
    }
    (1..=3).any(|n| limits(w.at(i + n))).then_some(Cap::After)
}

/// What a number counts, and the bytes of its unit.
fn kind(w: &Words<'_>, i: usize) -> (Option<Kind>, u64) {
    for n in 1..=2 {
        match noun(w.at(i + n)) {
            Some(found) => return (Some(found.0), found.1),
            None if w.is_number(i + n) => break,
            None => {}
        }
    }
    let mut k = i;
    while k > 0 {
        k -= 1;
        if let Some((found, unit)) = noun(w.at(k)) {
            return (Some(found), unit);
        }
    }
    (None, 1)
}

fn noun(word: &[u8]) -> Option<(Kind, u64)> {
    Some(match word {
        b"block" | b"blocks" | b"range" | b"ranges" | b"span" | b"distance" | b"window"
        | b"interval" => (Kind::Blocks, 1),
        b"results" | b"result" | b"logs" | b"log" | b"events" | b"entries" | b"records"
        | b"matches" | b"items" => (Kind::Results, 1),
        b"bytes" | b"size" | b"byte" => (Kind::Bytes, 1),
        b"kb" => (Kind::Bytes, 1_000),
        b"kib" => (Kind::Bytes, 1 << 10),
        b"mb" => (Kind::Bytes, 1_000_000),
        b"mib" => (Kind::Bytes, 1 << 20),
        b"gb" => (Kind::Bytes, 1_000_000_000),
        b"gib" => (Kind::Bytes, 1 << 30),
        b"address" | b"addresses" | b"topics" | b"topic" | b"filters" | b"requests"
        | b"request" | b"second" | b"seconds" | b"s" | b"ms" | b"minutes" | b"hours"
        | b"positions" | b"criteria" | b"transactions" => (Kind::Other, 1),
        _ => return None,
    })
}
