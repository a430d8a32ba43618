//! The rules, in the order in which they are asked; the first that holds decides.
//!
//! A rule is data. `all` are groups of phrases: every group needs one of its alternatives in the same
//! string of the answer. `none` are groups of which nothing may be there. A phrase is written as the
//! fold leaves text: lower case, words with one space, `#` for a number, `@` for a hash or an id. It
//! begins at the beginning of a word and is open at its end (`exceed` finds "exceeded"), unless it
//! ends in a space. `^` at the start binds it to the beginning of the string. Besides words a rule
//! may ask for facts about the request, for codes, for HTTP statuses, for a number in the text.
//!
//! Rules are for kinds of text. No phrase is longer than what a server's source code or a family of
//! them never varies.

mod history;
mod service;
mod transaction;
mod verdict;
mod words;

use super::class::Class;
use super::request::Facts;

/// One rule of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub(super) class: Class,
    pub(super) subclass: Option<&'static str>,
    pub(super) retry: bool,
    pub(super) strike: bool,
    pub(super) all: &'static [&'static str],
    pub(super) none: &'static [&'static str],
    pub(super) need: Facts,
    pub(super) any: Facts,
    pub(super) deny: Facts,
    pub(super) codes: &'static [i64],
    pub(super) statuses: &'static [u16],
    pub(super) number: Option<u64>,
}

impl Rule {
    /// A rule of text, with the flags that its class usually has.
    const fn text(class: Class, all: &'static [&'static str]) -> Self {
        let (retry, strike) = class.usual_flags();
        Self {
            class,
            subclass: None,
            retry,
            strike,
            all,
            none: &[],
            need: Facts::NONE,
            any: Facts::NONE,
            deny: Facts::NONE,
            codes: &[],
            statuses: &[],
            number: None,
        }
    }

    /// A rule of a code, whatever the text.
    const fn code(class: Class, codes: &'static [i64]) -> Self {
        Self::text(class, &[]).with(codes)
    }

    const fn sub(mut self, subclass: &'static str) -> Self {
        self.subclass = Some(subclass);
        self
    }

    const fn none(mut self, none: &'static [&'static str]) -> Self {
        self.none = none;
        self
    }

    /// All of these facts.
    const fn need(mut self, facts: Facts) -> Self {
        self.need = facts;
        self
    }

    /// One of these facts.
    const fn any(mut self, facts: Facts) -> Self {
        self.any = facts;
        self
    }

    /// None of these facts.
    const fn deny(mut self, facts: Facts) -> Self {
        self.deny = facts;
        self
    }

    /// One of these codes beside the text.
    const fn with(mut self, codes: &'static [i64]) -> Self {
        self.codes = codes;
        self
    }

    const fn status(mut self, statuses: &'static [u16]) -> Self {
        self.statuses = statuses;
        self
    }

    /// This number in the text.
    const fn number(mut self, number: u64) -> Self {
        self.number = Some(number);
        self
    }

    const fn flags(mut self, retry: bool, strike: bool) -> Self {
        self.retry = retry;
        self.strike = strike;
        self
    }
}

/// Reverts and halts by their frame: before everything, an operator's rules included, because what
/// follows a frame is written by whoever wrote the contract.
pub(super) const FRAMES: &[&[Rule]] = &[verdict::FRAMES];

/// Everything else.
pub(super) const TABLE: &[&[Rule]] = &[
    verdict::PERSON,
    verdict::CHAIN,
    transaction::VERDICTS,
    transaction::FORWARDED,
    transaction::ELSEWHERE,
    service::FILTERS,
    service::QUOTA,
    history::BY_REQUEST,
    history::RANGE,
    history::HISTORY,
    history::BEHIND,
    service::METHODS,
    service::SIZES,
    service::RATE,
    service::PAGES,
    service::STATE,
    service::KEYS,
    verdict::REQUEST,
];

/// Rules by words that are found in many a sentence, and by codes alone.
pub(super) const VAGUE: &[&[Rule]] = &[verdict::VAGUE, verdict::CODES];
