//! Where a request names a block.
//!
//! The row says where to look (P-4). Whatever cannot be read with certainty makes the whole request
//! *foreign*: it is forwarded as written and not pinned at all. A member that stands twice, or in
//! another case than the path's, is foreign too: some nodes fold the case of member names and take
//! the last one. Parents are never created. A block that was left out can be filled in only at the
//! very end of the parameters, or in an object that is there.

use super::{
    block::{BLOCK_HASH, BLOCK_NUMBER, Block, ObjectForm, Tag, eip_1898, scalar},
    descriptor::{BlockPath, Descriptor, Omitted, PinLatest},
    scan::{self, Elements, Members, Span},
};
use smallvec::SmallVec;

/// One place of the row, and what the request has there. Spans count in bytes of
/// [`array_text`]`(params)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The place. For trace calls the index may be the other one than the table's.
    pub path: BlockPath,
    /// What is there.
    pub block: Block,
    /// Set where the block is inside an object.
    pub object: Option<ObjectForm>,
    /// The whole value, the object included; empty where nothing is there.
    pub value: Span,
    /// The string or number that names the block: what a pin replaces.
    pub scalar: Span,
    /// Where an omitted block may be filled in.
    pub(crate) gap: Option<Gap>,
}

/// A place for a new element or member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) at: usize,
    /// The array or object has nothing in it yet.
    pub(crate) empty: bool,
}

/// What [`find`] made of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The method names no block.
    NoBlock,
    /// Every place of the row was read.
    Clear,
    /// Something cannot be read with certainty: forward as written, unpinned.
    Foreign,
}

type Slots = SmallVec<[Slot; 1]>;
/// Where parameters lie.
type Places = SmallVec<[Span; 2]>;

/// Every block reference of one request.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub(crate) row: &'static Descriptor,
    reading: Reading,
    slots: Slots,
    /// Where the first parameters lie, up to the last that may name a block.
    elements: Places,
}

/// Which blocks a call needs, for choosing an endpoint that holds them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reference {
    /// The highest block needed. Unknown for `safe`, `finalized` and `pending`.
    pub high: Option<u64>,
    /// The lowest block needed: the archive side of a range.
    pub low: Option<u64>,
    /// A block named by its hash.
    pub hash: Option<[u8; 32]>,
}

impl Found {
    /// The row that it was read by.
    #[must_use]
    pub fn row(&self) -> &'static Descriptor {
        self.row
    }

    /// How the request reads.
    #[must_use]
    pub fn reading(&self) -> Reading {
        self.reading
    }

    /// Where the parameters lie in the text, in their order: those known, then the rest.
    pub(super) fn elements<'a>(
        &'a self,
        text: &'a [u8],
        open: usize,
    ) -> impl Iterator<Item = Span> {
        let rest = match self.elements.last() {
            Some(last) => Elements::after(text, last.end),
            None => Elements::new(text, open),
        };
        self.elements.iter().cloned().chain(rest)
    }

    /// One slot for each place of the row, in its order; none unless the reading is clear.
    #[must_use]
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The request means `latest` somewhere that a pin would make concrete. It may yet be left alone
    /// if the pin would turn its range round.
    #[must_use]
    pub fn wants_pin(&self) -> bool {
        self.slots.iter().any(|slot| self.is_open(slot))
    }

    /// Whether this pin would turn the request's range round, so that it is forwarded as written
    /// (P-4): an endpoint at the pin would have to refuse it, one further on need not.
    #[must_use]
    pub fn inverts(&self, pin: u64) -> bool {
        let [from, to, ..] = self.slots.as_slice() else {
            return false;
        };
        match (self.is_open(from), self.is_open(to)) {
            (true, false) => match to.block {
                Block::Number(to) | Block::JsonNumber(to) => pin > to,
                Block::Tag(Tag::Earliest) => pin > 0,
                Block::Tag(Tag::Safe | Tag::Finalized) | Block::Hash(_) => true,
                Block::Tag(Tag::Latest | Tag::Pending) | Block::Omitted | Block::Null => false,
            },
            (false, true) => match from.block {
                Block::Number(from) | Block::JsonNumber(from) => from > pin,
                Block::Tag(Tag::Pending) | Block::Hash(_) => true,
                Block::Tag(Tag::Latest | Tag::Safe | Tag::Finalized | Tag::Earliest)
                | Block::Omitted
                | Block::Null => false,
            },
            (true, true) | (false, false) => false,
        }
    }

    /// The blocks that the call needs when it is pinned to `pin`, or as written without one.
    ///
    /// Where a pin would have turned the range round, both bounds count: only an endpoint at the
    /// higher one can answer as asked.
    #[must_use]
    pub fn reference(&self, pin: Option<u64>) -> Reference {
        let hash = self.slots.iter().find_map(|slot| match slot.block {
            Block::Hash(hash) => Some(hash),
            Block::Omitted
            | Block::Null
            | Block::Tag(_)
            | Block::Number(_)
            | Block::JsonNumber(_) => None,
        });
        let height = |slot: &Slot| match slot.block {
            Block::Number(number) | Block::JsonNumber(number) => Some(number),
            Block::Tag(Tag::Earliest) => Some(0),
            Block::Tag(Tag::Latest) | Block::Omitted | Block::Null => {
                pin.filter(|_| self.is_open(slot))
            }
            Block::Tag(Tag::Safe | Tag::Finalized | Tag::Pending) | Block::Hash(_) => None,
        };
        let (low, high) = match self.slots.as_slice() {
            _ if hash.is_some() => (None, None),
            [] => (None, None),
            [only] => (height(only), height(only)),
            [from, to, ..] => {
                let bare = to.path.key.is_none() && to.block == Block::Omitted;
                let (low, high) = (height(from), if bare { height(from) } else { height(to) });
                match (low, high, pin) {
                    (Some(a), Some(b), Some(pin)) if self.inverts(pin) => {
                        (Some(a.min(b)), Some(a.max(b)))
                    }
                    (low, high, _) => (low, high),
                }
            }
        };
        Reference { high, low, hash }
    }

    /// The first and the last block of a range as numbers; of the last one `None` where it is the newest
    /// block and no pin says which (P-21). `None` for whatever is no range of numbers, and where the pin
    /// would turn it round.
    #[must_use]
    pub fn bounds(&self, pin: Option<u64>) -> Option<(u64, Option<u64>)> {
        let [from, to, ..] = self.slots.as_slice() else {
            return None;
        };
        if from.path.key != Some("fromBlock") || self.has_filter_hash() {
            return None;
        }
        if pin.is_some_and(|pin| self.inverts(pin)) {
            return None;
        }
        let number = |slot: &Slot| match slot.block {
            Block::Number(number) => Some(Some(number)),
            Block::Omitted | Block::Null | Block::Tag(_) => self.is_open(slot).then_some(pin),
            Block::JsonNumber(_) | Block::Hash(_) => None,
        };
        Some((number(from)??, number(to)?))
    }

    /// The slot that a pin makes concrete.
    pub(crate) fn is_open(&self, slot: &Slot) -> bool {
        if slot.path.key == Some(BLOCK_HASH) || self.has_filter_hash() {
            return false;
        }
        match slot.block {
            Block::Tag(Tag::Latest) => self.row.pin_latest != PinLatest::No,
            Block::Omitted => self.row.fills_omitted() && slot.gap.is_some(),
            Block::Null => self.row.fills_omitted(),
            Block::Tag(Tag::Safe | Tag::Finalized | Tag::Pending | Tag::Earliest)
            | Block::Number(_)
            | Block::JsonNumber(_)
            | Block::Hash(_) => false,
        }
    }

    /// The slot means `latest`, though nothing may be known to be filled in.
    pub(crate) fn implies_latest(&self, slot: &Slot) -> bool {
        slot.block == Block::Omitted
            && slot.gap.is_some()
            && self.row.omitted_means == Omitted::Latest
            && !self.has_filter_hash()
    }

    fn has_filter_hash(&self) -> bool {
        let is_hash =
            |slot: &Slot| slot.path.key == Some(BLOCK_HASH) && matches!(slot.block, Block::Hash(_));
        self.slots.iter().any(is_hash)
    }
}

/// The parameters as the array that an endpoint gets: absent, `null` and `{}` are `[]`.
#[must_use]
pub fn array_text(params: &str) -> &str {
    const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];
    if params.starts_with('[') {
        return params;
    }
    let text = params.trim_matches(BLANKS);
    let inner = text
        .strip_prefix('{')
        .and_then(|text| text.strip_suffix('}'));
    if text.is_empty()
        || text == "null"
        || inner.is_some_and(|text| text.trim_matches(BLANKS).is_empty())
    {
        "[]"
    } else {
        params
    }
}

/// Finds every block reference of a request in the bytes of its parameters.
#[must_use]
pub fn find(row: &'static Descriptor, params: &str) -> Found {
    if row.block_params.is_empty() {
        return Found {
            row,
            reading: Reading::NoBlock,
            slots: SmallVec::new(),
            elements: SmallVec::new(),
        };
    }
    let text = array_text(params);
    match slots(row, text) {
        Some((slots, elements)) => Found {
            row,
            reading: Reading::Clear,
            slots,
            elements,
        },
        None => Found {
            row,
            reading: Reading::Foreign,
            slots: SmallVec::new(),
            elements: SmallVec::new(),
        },
    }
}

/// `None` is foreign.
fn slots(row: &'static Descriptor, text: &str) -> Option<(Slots, Places)> {
    let open = scan::skip_blanks(text.as_bytes(), 0);
    if text.as_bytes().get(open) != Some(&b'[') {
        return None;
    }
    let last = row
        .block_params
        .iter()
        .map(|path| usize::from(path.index))
        .max()?;
    let elements: SmallVec<[Span; 2]> = Elements::new(text.as_bytes(), open)
        .take(last + 1)
        .collect();
    let end = Gap {
        at: elements.last().map_or(open + 1, |element| element.end),
        empty: elements.is_empty(),
    };
    // All keys of a row are in one object (the build checks it), so its members are read once.
    let object = row
        .block_params
        .iter()
        .find(|path| path.key.is_some())
        .and_then(|path| elements.get(usize::from(path.index)));
    let members: SmallVec<[(Span, Span); 8]> = object
        .filter(|object| text.as_bytes().get(object.start) == Some(&b'{'))
        .map(|object| Members::new(text.as_bytes(), object.start).collect())
        .unwrap_or_default();
    let mut slots = SmallVec::new();
    for path in row.block_params {
        let mut path = *path;
        if row.block_beside_types() && is_early(text, &elements)? {
            path.index = 1;
        }
        let element = elements.get(usize::from(path.index));
        slots.push(match (path.key, element) {
            (Some(key), Some(parent)) => member(path, key, text, parent, &members)?,
            (Some(_), None) => omitted(path, end.at, None),
            (None, Some(value)) => filled(path, text, value, Objects::Allowed)?,
            (None, None) => {
                let next = usize::from(path.index) == elements.len();
                omitted(path, end.at, next.then_some(end))
            }
        });
    }
    Some((slots, elements))
}

/// Whether the block of a trace call stands at 1 with the types at 2. `None` where neither of the
/// two is an array of types.
fn is_early(text: &str, elements: &[Span]) -> Option<bool> {
    let is_types = |span: &Span| text.as_bytes().get(span.start) == Some(&b'[');
    match (elements.get(1), elements.get(2)) {
        (None, _) => Some(false),
        (Some(one), _) if is_types(one) || text.get(one.clone()) == Some("null") => Some(false),
        (Some(_), None) => Some(true),
        (Some(_), Some(two)) => is_types(two).then_some(true),
    }
}

fn omitted(path: BlockPath, at: usize, gap: Option<Gap>) -> Slot {
    Slot {
        path,
        block: Block::Omitted,
        object: None,
        value: at..at,
        scalar: at..at,
        gap,
    }
}

/// The member of an object; `None` where the name is there twice or in another spelling.
fn member(
    path: BlockPath,
    key: &'static str,
    text: &str,
    parent: &Span,
    members: &[(Span, Span)],
) -> Option<Slot> {
    if text.get(parent.clone()) == Some("null") {
        return Some(omitted(path, parent.end, None));
    }
    if text.as_bytes().get(parent.start) != Some(&b'{') {
        return None;
    }
    let mut found = None;
    for (name, value) in members {
        if scan::name(text, name) == key {
            if found.replace(value).is_some() {
                return None;
            }
        } else if !is_other(text, name, key) {
            return None;
        }
    }
    let Some(value) = found else {
        let gap = Gap {
            at: members
                .last()
                .map_or(parent.start + 1, |(_, value)| value.end),
            empty: members.is_empty(),
        };
        let fillable = key != BLOCK_HASH;
        return Some(omitted(path, gap.at, fillable.then_some(gap)));
    };
    let slot = filled(path, text, value, Objects::Refused)?;
    let is_hash = matches!(slot.block, Block::Hash(_));
    let fits = match slot.block {
        Block::Null | Block::Omitted => true,
        Block::Hash(_) | Block::Tag(_) | Block::Number(_) | Block::JsonNumber(_) => {
            // In a range only `blockHash` takes a hash, and it takes nothing else.
            is_hash == (key == BLOCK_HASH) || key == BLOCK_NUMBER
        }
    };
    fits.then_some(slot)
}

/// Whether a written name is another member than `key` for every reader, those included that ignore
/// case and the two letters beyond ASCII that fold to ASCII ones.
fn is_other(text: &str, name: &Span, key: &str) -> bool {
    let written = scan::name(text, name);
    // No escape and no folding letter can make a name shorter in bytes than it reads.
    if written.len() < key.len() {
        return true;
    }
    if written.is_ascii() && !written.contains('\\') {
        return !written.eq_ignore_ascii_case(key);
    }
    scan::string(text, name).is_some_and(|decoded| {
        let fold = |c: char| match c {
            '\u{212a}' => 'k',
            '\u{17f}' => 's',
            c => c.to_ascii_lowercase(),
        };
        !decoded.chars().map(fold).eq(key.chars().map(fold))
    })
}

/// Whether a block may be written as an object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Objects {
    Allowed,
    Refused,
}

fn filled(path: BlockPath, text: &str, value: &Span, objects: Objects) -> Option<Slot> {
    let is_object = text.as_bytes().get(value.start) == Some(&b'{');
    let (block, object, scalar) = match (is_object, objects) {
        (true, Objects::Refused) => return None,
        (true, Objects::Allowed) => {
            let (block, form, scalar) = eip_1898(text, value)?;
            (block, Some(form), scalar)
        }
        (false, _) => (scalar(text, value)?, None, value.clone()),
    };
    Some(Slot {
        path,
        block,
        object,
        value: value.clone(),
        scalar,
        gap: None,
    })
}
