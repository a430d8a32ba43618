//! The logs of an answer.

use super::{Filter, bytes};
use crate::{
    answer::Hash,
    judge::quantity,
    method::scan::{self, Elements, Members, Span},
};
use smallvec::SmallVec;

/// One log, as far as its place goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// The block that it is in.
    pub number: u64,
    /// That block's hash.
    pub hash: Hash,
    /// Its place in the block.
    pub index: u64,
    /// Its bytes in the text.
    pub(super) span: Span,
}

/// Why an answer is no list of the logs that were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A member that says where a log is, or what it is about, is missing or odd; or the log was removed.
    Shape,
    /// A log that the filter does not mean, or of a block outside the range.
    Foreign,
    /// The logs are not in the order of blocks and places, one of them is there twice, or two hashes
    /// stand at one height.
    Order,
}

/// The logs of an answer, in the order of blocks and places in them.
#[derive(Clone, Debug)]
pub struct List<'a> {
    pub(super) text: &'a str,
    pub(super) logs: Vec<Log>,
}

impl<'a> List<'a> {
    /// Reads the `result` of an answer about a range, both ends included.
    ///
    /// # Errors
    /// What is wrong with it; the first fault that is met.
    pub fn read(text: &'a str, filter: &Filter, from: u64, to: u64) -> Result<Self, Fault> {
        let mut logs: Vec<Log> = Vec::new();
        for span in elements(text).ok_or(Fault::Shape)? {
            let seen = Seen::read(text, &span).ok_or(Fault::Shape)?;
            let log = seen.log(span).ok_or(Fault::Shape)?;
            let meant = filter.matches(&seen.address.ok_or(Fault::Shape)?, &seen.topics);
            if !meant || !(from..=to).contains(&log.number) {
                return Err(Fault::Foreign);
            }
            if let Some(last) = logs.last()
                && !follows(last, &log)
            {
                return Err(Fault::Order);
            }
            logs.push(log);
        }
        Ok(Self { text, logs })
    }

    /// The logs.
    #[must_use]
    pub fn logs(&self) -> &[Log] {
        &self.logs
    }

    /// Whether a block has a log among them.
    #[must_use]
    pub fn has(&self, number: u64) -> bool {
        let place = self.logs.partition_point(|log| log.number < number);
        self.logs.get(place).is_some_and(|log| log.number == number)
    }
}

/// Whether an answer has a log that its filter does not mean: a fault of the endpoint, whatever else it
/// says. What cannot be read is not held against it.
#[must_use]
pub fn is_foreign(params: &str, result: &str) -> bool {
    let (Some(filter), Some(mut spans)) = (Filter::read(params), elements(result)) else {
        return false;
    };
    spans.any(|span| {
        Seen::read(result, &span).is_some_and(|seen| {
            seen.address
                .is_some_and(|address| !filter.matches(&address, &seen.topics))
        })
    })
}

/// How many elements a list has; `None`: it is none.
#[must_use]
pub fn count(result: &str) -> Option<u64> {
    elements(result).map(|spans| spans.count() as u64)
}

fn elements(text: &str) -> Option<Elements<'_>> {
    let open = scan::skip_blanks(text.as_bytes(), 0);
    (text.as_bytes().get(open) == Some(&b'[')).then(|| Elements::new(text.as_bytes(), open))
}

/// Whether a log may come after another in a list.
fn follows(last: &Log, next: &Log) -> bool {
    match last.number.cmp(&next.number) {
        std::cmp::Ordering::Less => true,
        std::cmp::Ordering::Equal => last.index < next.index && last.hash == next.hash,
        std::cmp::Ordering::Greater => false,
    }
}

/// What is read of one log.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) address: Option<[u8; 20]>,
    pub(super) topics: SmallVec<[Hash; 4]>,
    number: Option<u64>,
    hash: Option<Hash>,
    index: Option<u64>,
    removed: bool,
}

impl Seen {
    pub(super) fn read(text: &str, span: &Span) -> Option<Self> {
        if text.as_bytes().get(span.start) != Some(&b'{') {
            return None;
        }
        let mut seen = Self::default();
        let mut has_topics = false;
        for (name, value) in Members::new(text.as_bytes(), span.start) {
            let written = text.get(value.clone())?;
            match scan::name(text, &name) {
                "address" => seen.address = Some(bytes(written)?),
                "topics" => {
                    has_topics = written.starts_with('[');
                    for topic in Elements::new(text.as_bytes(), value.start) {
                        seen.topics.push(bytes(text.get(topic)?)?);
                    }
                }
                "blockNumber" => seen.number = quantity(written),
                "blockHash" => seen.hash = bytes(written),
                "logIndex" => seen.index = quantity(written),
                "removed" => seen.removed = written == "true",
                _ => {}
            }
        }
        (has_topics && seen.address.is_some()).then_some(seen)
    }

    fn log(&self, span: Span) -> Option<Log> {
        if self.removed {
            return None;
        }
        Some(Log {
            number: self.number?,
            hash: self.hash?,
            index: self.index?,
            span,
        })
    }
}
