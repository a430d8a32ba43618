//! All phrases of all rules in one automaton, and the rules over what it found.

use std::ops::Range;

use aho_corasick::automaton::Automaton;
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::{Anchored, MatchKind};
use smallvec::SmallVec;

use super::class::Class;
use super::request::Facts;
use super::rules::Rule;
use super::scan::Said;

/// A rule whose groups of phrases are numbers.
#[derive(Clone, Debug)]
pub(super) struct Compiled {
    pub(super) outcome: Outcome,
    all: SmallVec<[u16; 4]>,
    none: SmallVec<[u16; 4]>,
    pub(super) need: Facts,
    pub(super) any: Facts,
    pub(super) deny: Facts,
    pub(super) codes: Vec<i64>,
    pub(super) statuses: Vec<u16>,
    pub(super) number: Option<u64>,
    /// A method or a prefix with `*`; of an operator's rules only.
    pub(super) methods: Vec<String>,
}

/// What a rule says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Outcome {
    pub(super) class: Class,
    pub(super) subclass: Option<&'static str>,
    pub(super) retry: bool,
    pub(super) strike: bool,
}

/// Collects groups of phrases while rules are compiled.
#[derive(Default)]
pub(super) struct Builder {
    groups: Vec<String>,
    phrases: Vec<String>,
    /// The groups of each phrase.
    members: Vec<SmallVec<[u16; 4]>>,
}

impl Builder {
    /// The number of a group of alternatives, separated by `|`.
    fn group(&mut self, alternatives: &str) -> u16 {
        if let Some(at) = self.groups.iter().position(|g| g == alternatives) {
            return u16::try_from(at).unwrap_or(u16::MAX);
        }
        let id = u16::try_from(self.groups.len()).unwrap_or(u16::MAX);
        self.groups.push(alternatives.to_owned());
        for phrase in alternatives.split('|') {
            let pattern = phrase
                .strip_prefix('^')
                .map_or_else(|| format!(" {phrase}"), |p| format!("\n {p}"));
            let at = self
                .phrases
                .iter()
                .position(|p| *p == pattern)
                .unwrap_or_else(|| {
                    self.phrases.push(pattern);
                    self.members.push(SmallVec::new());
                    self.phrases.len() - 1
                });
            if !self.members[at].contains(&id) {
                self.members[at].push(id);
            }
        }
        id
    }

    /// Compiles a rule of the table.
    pub(super) fn rule(&mut self, rule: &Rule) -> Compiled {
        Compiled {
            outcome: Outcome {
                class: rule.class,
                subclass: rule.subclass,
                retry: rule.retry,
                strike: rule.strike,
            },
            all: rule.all.iter().map(|g| self.group(g)).collect(),
            none: rule.none.iter().map(|g| self.group(g)).collect(),
            need: rule.need,
            any: rule.any,
            deny: rule.deny,
            codes: rule.codes.to_vec(),
            statuses: rule.statuses.to_vec(),
            number: rule.number,
            methods: Vec::new(),
        }
    }

    /// Compiles a rule of an operator.
    pub(super) fn extra(&mut self, outcome: Outcome, all: &[String], none: &[String]) -> Compiled {
        Compiled {
            outcome,
            all: all.iter().map(|g| self.group(g)).collect(),
            none: none.iter().map(|g| self.group(g)).collect(),
            need: Facts::NONE,
            any: Facts::NONE,
            deny: Facts::NONE,
            codes: Vec::new(),
            statuses: Vec::new(),
            number: None,
            methods: Vec::new(),
        }
    }

    /// The rules before `telling` recognise reverts by their frame; the words of those after it are
    /// found in many a sentence.
    pub(super) fn finish(self, rules: Vec<Compiled>, telling: Range<usize>) -> Matcher {
        let automaton = NFA::builder()
            .match_kind(MatchKind::Standard)
            .build(&self.phrases)
            .expect("invariant: the phrases are few and short");
        let words = self.groups.len().div_ceil(64);
        let (mut spans, mut bits) = (Vec::new(), Vec::<(usize, u64)>::new());
        for groups in &self.members {
            let from = bits.len();
            for group in groups {
                let (word, bit) = (usize::from(group / 64), 1_u64 << (group % 64));
                match bits[from..].iter_mut().find(|(w, _)| *w == word) {
                    Some((_, set)) => *set |= bit,
                    None => bits.push((word, bit)),
                }
            }
            spans.push((from, bits.len()));
        }
        Matcher {
            automaton,
            phrases: self.phrases,
            members: self.members,
            spans,
            bits,
            words,
            firsts: rules
                .iter()
                .map(|r| r.all.first().copied().unwrap_or(NO_GROUP))
                .collect(),
            rules,
            telling,
        }
    }
}

/// The automaton and the rules in their order.
#[derive(Debug)]
pub(super) struct Matcher {
    automaton: NFA,
    phrases: Vec<String>,
    members: Vec<SmallVec<[u16; 4]>>,
    /// The same as bits: which of `bits` belong to a phrase.
    spans: Vec<(usize, usize)>,
    /// A word of 64 groups and the bits to set in it.
    bits: Vec<(usize, u64)>,
    /// Words of 64 groups per string.
    words: usize,
    rules: Vec<Compiled>,
    /// The first group of each rule, or [`NO_GROUP`]: most rules end here, so it is kept dense.
    firsts: Vec<u16>,
    /// The rules after those for reverts and before those by vague words.
    telling: Range<usize>,
}

/// Stands for "no group" where a rule has none.
const NO_GROUP: u16 = u16::MAX;

/// What was found in the text.
struct Hits {
    /// The groups with a phrase, for each string.
    of: SmallVec<[u64; 32]>,
    /// The groups with a phrase in any string.
    any: SmallVec<[u64; 8]>,
}

/// The circumstances that rules may ask for besides words.
pub(super) struct Circumstances<'a> {
    pub(super) facts: Facts,
    pub(super) status: u16,
    pub(super) method: &'a str,
}

impl Matcher {
    /// What the first rule that holds says.
    pub(super) fn first(&self, said: &Said, at: &Circumstances<'_>) -> Option<Outcome> {
        let hits = self.hits(said);
        let first = self.position(said, &hits, at)?;
        let mut outcome = self.rules[first].outcome;
        if first < self.telling.start
            && outcome.subclass.is_none()
            && self.reads_otherwise(said, &hits, &self.rules[first].all)
        {
            outcome.subclass = Some("lookalike");
        }
        Some(outcome)
    }

    fn position(&self, said: &Said, hits: &Hits, at: &Circumstances<'_>) -> Option<usize> {
        (0..self.rules.len())
            .find(|&n| self.may_hold(n, hits) && self.holds(&self.rules[n], said, &hits.of, at))
    }

    /// Whether the first group of a rule was found at all.
    fn may_hold(&self, rule: usize, hits: &Hits) -> bool {
        let group = self.firsts[rule];
        group == NO_GROUP || hits.any[usize::from(group / 64)] >> (group % 64) & 1 == 1
    }

    /// The phrases by which the deciding rule holds; none where a code or a status decided.
    pub(super) fn decisive(&self, said: &Said, at: &Circumstances<'_>) -> Vec<&str> {
        let hits = self.hits(said);
        let Some(rule) = self.position(said, &hits, at).map(|n| &self.rules[n]) else {
            return Vec::new();
        };
        let mut out = Vec::new();
        self.each(&said.folded.text, |_, phrase| {
            if self.members[phrase].iter().any(|g| rule.all.contains(g)) {
                out.push(self.phrases[phrase].trim());
            }
        });
        out.sort_unstable();
        out.dedup();
        out
    }

    /// Whether the reason inside a revert's frame reads like an answer of another class: worth a
    /// note to whoever reads the books, and nothing else.
    fn reads_otherwise(&self, said: &Said, hits: &Hits, frame: &[u16]) -> bool {
        self.telling
            .clone()
            .filter(|&n| self.may_hold(n, hits))
            .any(|n| {
                let rule = &self.rules[n];
                // "Insufficient balance" and "unexpected error" are what contracts say every day.
                !rule.all.is_empty()
                    && rule.outcome.class != Class::Internal
                    && rule.outcome.subclass != Some("insufficient_funds")
                    && rule.statuses.is_empty()
                    && rule.codes.is_empty()
                    && rule.number.is_none()
                    && said.folded.segments.iter().enumerate().any(|(s, segment)| {
                        (segment.reason || frame.iter().all(|g| self.hit(&hits.of, s, *g)))
                            && rule.all.iter().all(|g| self.hit(&hits.of, s, *g))
                            && !rule.none.iter().any(|g| self.hit(&hits.of, s, *g))
                    })
            })
    }

    /// One pass over the text: which groups have a phrase in which string.
    fn hits(&self, said: &Said) -> Hits {
        let segments = &said.folded.segments[..];
        let mut of: SmallVec<[u64; 32]> =
            SmallVec::from_elem(0, self.words * segments.len().max(1));
        let mut rest = &mut of[..];
        let mut s = 0;
        self.each(&said.folded.text, |end, phrase| {
            while s + 1 < segments.len() && end > segments[s].end {
                s += 1;
                rest = &mut std::mem::take(&mut rest)[self.words..];
            }
            let (from, to) = self.spans[phrase];
            for &(word, bits) in &self.bits[from..to] {
                rest[word] |= bits;
            }
        });
        let mut any: SmallVec<[u64; 8]> = SmallVec::from_elem(0, self.words);
        for one in of.chunks(self.words.max(1)) {
            for (a, b) in any.iter_mut().zip(one) {
                *a |= b;
            }
        }
        Hits { of, any }
    }

    /// Calls back with the end and the number of every phrase in the text.
    fn each(&self, text: &[u8], mut found: impl FnMut(usize, usize)) {
        let Ok(mut state) = self.automaton.start_state(Anchored::No) else {
            return;
        };
        for (at, byte) in text.iter().enumerate() {
            state = self.automaton.next_state(Anchored::No, state, *byte);
            if self.automaton.is_special(state) && self.automaton.is_match(state) {
                for n in 0..self.automaton.match_len(state) {
                    found(at + 1, self.automaton.match_pattern(state, n).as_usize());
                }
            }
        }
    }

    fn holds(&self, rule: &Compiled, said: &Said, hits: &[u64], at: &Circumstances<'_>) -> bool {
        if !at.facts.has(rule.need)
            || at.facts.meets(rule.deny)
            || (rule.any != Facts::NONE && !at.facts.meets(rule.any))
            || (!rule.statuses.is_empty() && !rule.statuses.contains(&at.status))
            || (!rule.methods.is_empty()
                && !rule.methods.iter().any(|m| method_matches(m, at.method)))
        {
            return false;
        }
        let segments = &said.folded.segments;
        if rule.all.is_empty() {
            let code = rule.codes.is_empty() || rule.codes.iter().any(|c| said.has_code(*c));
            let quiet =
                (0..segments.len()).all(|s| !rule.none.iter().any(|g| self.hit(hits, s, *g)));
            return code && quiet;
        }
        (0..segments.len())
            .filter(|s| !segments[*s].reason)
            .any(|s| {
                rule.all.iter().all(|g| self.hit(hits, s, *g))
                    && !rule.none.iter().any(|g| self.hit(hits, s, *g))
                    && (rule.codes.is_empty()
                        || said
                            .code(segments[s].object)
                            .is_some_and(|c| rule.codes.contains(&c)))
                    && rule.number.is_none_or(|n| {
                        said.folded.numbers.iter().any(|x| {
                            x.value == n && (segments[s].start..segments[s].end).contains(&x.at)
                        })
                    })
            })
    }

    fn hit(&self, hits: &[u64], segment: usize, group: u16) -> bool {
        hits[segment * self.words + usize::from(group / 64)] >> (group % 64) & 1 == 1
    }
}

fn method_matches(pattern: &str, method: &str) -> bool {
    pattern
        .strip_suffix('*')
        .map_or(pattern == method, |prefix| method.starts_with(prefix))
}
