//! What was learned of the endpoints, to be kept across a restart (P-25, P-26).
//!
//! Kept are the books alone: latency, tail, error, how many samples each has, and when a call last
//! gave one. Heads, breakers and chain checks are of the moment and never kept.
//!
//! What comes back is untrusted. A book that is restored fills only an empty one, counts as at most
//! two samples, sets no hedge delay, and gives way to the first sample of a call, so whatever is
//! stored can mislead one call of a method and no more.

mod stored;

pub use stored::StoredBook;

use crate::{
    EndpointId,
    method::{MethodId, lookup},
    stats::{Book, Books},
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// The version that is written, and the only one that is read.
const VERSION: u32 = 1;
/// Longest text that is written or read, in bytes.
pub const MOST_BYTES: usize = 256 * 1024;
/// Most books of one endpoint that are written or read, the one over all methods included.
const MOST_BOOKS: usize = 32;
/// The name of the book over all methods.
const GLOBAL: &str = "*";
/// A book that no call has touched for longer is not read.
const OLDEST: Duration = Duration::from_secs(3_600);
/// How far ahead another machine's clock may be.
const AHEAD: Duration = Duration::from_secs(60);
/// Least space kept for what is around the books, in bytes.
const AROUND: usize = 64;

/// The books of the endpoints of one pool, by label and method, as versioned data (P-25).
///
/// `"*"` is the book over all methods. It is untrusted when it comes back; see
/// [`Router::restore_scores`](crate::router::Router::restore_scores).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Scores {
    version: u32,
    saved_at: u64,
    books: BTreeMap<String, BTreeMap<String, StoredBook>>,
    /// Books of the text that are none.
    #[serde(skip)]
    unread: usize,
}

/// Why stored scores are not read at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScoresError {
    /// The text is longer than 256 KiB.
    #[error("the stored scores are larger than 256 KiB")]
    TooLarge,
    /// It is no JSON of this form.
    #[error("the stored scores cannot be read")]
    Malformed,
    /// It was written by another version.
    #[error("the stored scores are of another version")]
    Version,
}

/// What became of stored scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Books that were put in.
    pub books: usize,
    /// Books that were not: unknown, out of range, too old, or of what was measured already.
    pub dropped: usize,
}

impl Scores {
    /// Reads what [`Scores::to_json`] wrote, at most 256 KiB. A book that is none is left out and
    /// counted; the others stay.
    ///
    /// # Errors
    /// It is none of ours; see [`ScoresError`].
    pub fn from_json(text: &str) -> Result<Self, ScoresError> {
        #[derive(Deserialize)]
        struct Stamp {
            version: u64,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Outline<'a> {
            saved_at: u64,
            #[serde(borrow)]
            books: BTreeMap<String, &'a RawValue>,
        }
        if text.len() > MOST_BYTES {
            return Err(ScoresError::TooLarge);
        }
        let malformed = |_| ScoresError::Malformed;
        let Stamp { version } = serde_json::from_str(text).map_err(malformed)?;
        if version != u64::from(VERSION) {
            return Err(ScoresError::Version);
        }
        let outline: Outline<'_> = serde_json::from_str(text).map_err(malformed)?;
        let mut scores = Self {
            version: VERSION,
            saved_at: outline.saved_at,
            ..Self::default()
        };
        for (label, raw) in outline.books {
            // One by one, so that one that is none spoils no other.
            let Ok(raw_books) = serde_json::from_str::<BTreeMap<String, &RawValue>>(raw.get())
            else {
                scores.unread += 1;
                continue;
            };
            let mut books = BTreeMap::new();
            for (method, raw) in raw_books {
                match serde_json::from_str(raw.get()) {
                    Ok(book) => drop(books.insert(method, book)),
                    Err(_) => scores.unread += 1,
                }
            }
            scores.books.insert(label, books);
        }
        Ok(scores)
    }

    /// As one line of JSON of at most 256 KiB.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("invariant: names and finite numbers are JSON")
    }

    /// When it was made, in milliseconds since 1970.
    #[must_use]
    pub const fn saved_at(&self) -> u64 {
        self.saved_at
    }

    /// The label of each endpoint that has books, and those by method; `"*"` is over all methods.
    pub fn books(&self) -> impl Iterator<Item = (&str, &BTreeMap<String, StoredBook>)> {
        self.books.iter().map(|(label, books)| (&**label, books))
    }

    /// The scores of endpoints, given by label. Of each the book over all methods and those of the
    /// methods that were called most, as many as may be read back.
    pub fn of<'a>(
        endpoints: impl IntoIterator<Item = (&'a str, &'a Books)>,
        wall: SystemTime,
    ) -> Self {
        let mut scores = Self {
            version: VERSION,
            saved_at: millis(wall),
            ..Self::default()
        };
        let mut left = MOST_BYTES - AROUND;
        let ranked: Vec<_> = endpoints
            .into_iter()
            .map(|(label, books)| (label, ranked(books)))
            .collect();
        // The books over all methods first, then the next of each endpoint, while there is room.
        for rank in 0..MOST_BOOKS {
            for (label, books) in &ranked {
                let Some((name, book)) = books.get(rank) else {
                    continue;
                };
                let is_new = !scores.books.contains_key(*label);
                let size = StoredBook::LONGEST + name.len() + usize::from(is_new) * long(label);
                let Some(rest) = left.checked_sub(size) else {
                    continue;
                };
                left = rest;
                let of_label = scores.books.entry((*label).to_owned()).or_default();
                of_label.insert((*name).to_owned(), *book);
            }
        }
        scores
    }

    /// Every book that may be put in, with the endpoint that it is of and its method, `None` for all;
    /// and how many are none.
    pub(crate) fn admitted(
        &self,
        place: impl Fn(&str) -> Option<EndpointId>,
        timeout: Duration,
        wall: SystemTime,
    ) -> (Vec<(EndpointId, Option<MethodId>, Book)>, usize) {
        let mut dropped = self.unread;
        let mut admitted = Vec::new();
        let now = millis(wall);
        let is_of_now = |at: u64| {
            at.saturating_add(whole(OLDEST)) >= now && at <= now.saturating_add(whole(AHEAD))
        };
        let is_read = self.version == VERSION && is_of_now(self.saved_at);
        for (label, books) in &self.books {
            let place = place(label).filter(|_| is_read);
            let global = books.get_key_value(GLOBAL).into_iter();
            let named = books.iter().filter(|(name, _)| *name != GLOBAL);
            for (count, (name, stored)) in global.chain(named).enumerate() {
                let method = method(name);
                match (place, method, stored.book(timeout)) {
                    (Some(place), Some(method), Some(book))
                        if count < MOST_BOOKS && is_of_now(book.measured_at()) =>
                    {
                        admitted.push((place, method, book));
                    }
                    (Some(_) | None, Some(_) | None, Some(_) | None) => dropped += 1,
                }
            }
        }
        (admitted, dropped)
    }
}

impl From<&Self> for Scores {
    fn from(scores: &Self) -> Self {
        scores.clone()
    }
}

impl TryFrom<&str> for Scores {
    type Error = ScoresError;

    fn try_from(text: &str) -> Result<Self, ScoresError> {
        Self::from_json(text)
    }
}

impl From<std::convert::Infallible> for ScoresError {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

/// The books of one endpoint that are worth keeping, most important first.
fn ranked(books: &Books) -> Vec<(&'static str, StoredBook)> {
    let named = books.methods().filter_map(|(id, book)| {
        let name = id.descriptor()?.name;
        // The row of all unknown methods: nobody could say what it was measured on.
        (name != GLOBAL).then_some((name, book))
    });
    let mut named: Vec<_> = named.collect();
    named.sort_by_key(|(_, book)| std::cmp::Reverse(book.count()));
    let all = std::iter::once((GLOBAL, books.global())).chain(named);
    let stored = all.filter_map(|(name, book)| Some((name, StoredBook::of(book)?)));
    stored.take(MOST_BOOKS).collect()
}

/// The method that a book is of; `None`: of none that we know. The inner `None` is all of them.
fn method(name: &str) -> Option<Option<MethodId>> {
    if name == GLOBAL {
        return Some(None);
    }
    let row = lookup(name);
    (row.name == name).then_some(Some(row.id))
}

/// Bytes that a label and what is around its books take.
fn long(label: &str) -> usize {
    serde_json::to_string(label).map_or(usize::MAX, |text| text.len() + 4)
}

/// A moment in milliseconds since 1970; earlier ones are 0.
pub(crate) fn millis(wall: SystemTime) -> u64 {
    wall.duration_since(UNIX_EPOCH).map_or(0, whole)
}

fn whole(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
