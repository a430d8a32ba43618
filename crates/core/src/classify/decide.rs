//! From an answer to its verdict.

use std::sync::LazyLock;

use super::class::{Class, Verdict};
use super::envelope::{self, Shape};
use super::evidence::Evidence;
use super::extra::{ExtraRule, RuleError};
use super::in_result::{self, Hidden};
use super::matcher::{Builder, Circumstances, Matcher, Outcome};
use super::page::{self, outcome};
use super::request::{self, Facts};
use super::scan::Said;
use super::{fingerprint, range, rules, wait};

static BUILT_IN: LazyLock<Classifier> =
    LazyLock::new(|| Classifier::new(&[]).expect("invariant: the built-in table compiles"));

/// Judges an answer by the built-in table; `None` is a good answer.
#[must_use]
pub fn classify(ev: &Evidence<'_>) -> Option<Verdict> {
    BUILT_IN.classify(ev)
}

/// The phrases of the built-in table by which an answer is decided; see [`Classifier::phrases`].
#[must_use]
pub fn phrases(ev: &Evidence<'_>) -> Vec<&'static str> {
    BUILT_IN.phrases(ev)
}

/// Whether a good result of this method can be a failure, so that [`classify_result`] is worth it.
#[must_use]
pub fn may_hide(method: &str) -> bool {
    in_result::may_hide(method)
}

/// Judges the bytes of a good result of a method for which [`may_hide`] holds.
#[must_use]
pub fn classify_result(method: &str, result: &str) -> Option<Verdict> {
    in_result::judge(method, result).map(|hidden| verdict(hidden_outcome(hidden)))
}

/// The rules, ready to be asked.
#[derive(Debug)]
pub struct Classifier {
    matcher: Matcher,
}

impl Classifier {
    /// The built-in table with an operator's rules before it.
    ///
    /// # Errors
    /// A rule that names no class, or would hold for every answer.
    pub fn new(extra: &[ExtraRule]) -> Result<Self, RuleError> {
        let mut builder = Builder::default();
        let mut compiled = Vec::new();
        for rule in rules::FRAMES.iter().copied().flatten() {
            compiled.push(builder.rule(rule));
        }
        let frames = compiled.len();
        for (n, rule) in extra.iter().enumerate() {
            compiled.push(rule.compile(n + 1, &mut builder)?);
        }
        for rule in rules::TABLE.iter().copied().flatten() {
            compiled.push(builder.rule(rule));
        }
        let vague = compiled.len();
        for rule in rules::VAGUE.iter().copied().flatten() {
            compiled.push(builder.rule(rule));
        }
        Ok(Self {
            matcher: builder.finish(compiled, frames..vague),
        })
    }

    /// The phrases by which the rule that decides an error holds, for whoever reviews the table or
    /// writes a rule; empty where the code, the status or the shape of the body decided.
    #[must_use]
    pub fn phrases(&self, ev: &Evidence<'_>) -> Vec<&str> {
        let body = trim(ev.body);
        let mut said = Said::default();
        let echoed = match envelope::read(body, ev) {
            Shape::Error { error, echoed, .. } => {
                said.read_json(error);
                echoed
            }
            Shape::NoAnswer { text, .. } => {
                said.read_json(text);
                false
            }
            Shape::Good(_) | Shape::GoodBatch | Shape::Stray(_) | Shape::NotJson => {
                return Vec::new();
            }
        };
        self.matcher
            .decisive(&said, &circumstances(ev, &said, echoed))
    }

    /// Judges an answer; `None` is a good answer.
    #[must_use]
    pub fn classify(&self, ev: &Evidence<'_>) -> Option<Verdict> {
        let body = trim(ev.body);
        let mut said = Said::default();
        let decided = match envelope::read(body, ev) {
            Shape::Good(result) => return classify_result(ev.method, result),
            Shape::GoodBatch => return None,
            Shape::Stray(result) => std::str::from_utf8(result)
                .ok()
                .and_then(|result| in_result::judge(ev.method, result))
                .map(hidden_outcome)
                .or_else(|| Some(outcome(Class::MalformedEnvelope, None))),
            Shape::Error {
                error,
                legal,
                echoed,
            } => {
                said.read_json(error);
                self.words(ev, &said, echoed)
                    .or_else(|| unknown_error(ev, &said, legal))
            }
            Shape::NoAnswer { text, object } => {
                said.read_json(text);
                self.words(ev, &said, false)
                    .or_else(|| no_answer(ev, object))
            }
            Shape::NotJson => match page::by_status(ev, body) {
                Some(outcome) => Some(outcome),
                None => {
                    if matches!(body.first(), Some(b'{' | b'[')) {
                        said.read_json(body);
                    } else {
                        said.read_text(body);
                    }
                    self.words(ev, &said, false)
                        .or_else(|| Some(outcome(Class::MalformedEnvelope, None)))
                }
            },
        };
        let unknown = decided.is_none();
        let mut verdict = verdict(decided.unwrap_or_else(|| outcome(Class::Internal, None)));
        verdict.retry_after = wait::stated(ev, &said, verdict.class);
        if verdict.class == Class::RangeLimit {
            verdict.suggested_range = range::suggested(&said, verdict.subclass);
        }
        if unknown {
            verdict.fingerprint = Some(fingerprint::of(&said.folded));
        }
        Some(verdict)
    }

    fn words(&self, ev: &Evidence<'_>, said: &Said, echoed: bool) -> Option<Outcome> {
        self.matcher.first(said, &circumstances(ev, said, echoed))
    }
}

/// The facts that rules may ask for, of the request and of the answer.
fn circumstances<'a>(ev: &Evidence<'a>, said: &Said, echoed: bool) -> Circumstances<'a> {
    let (mut facts, asked) = request::facts(ev);
    if echoed {
        facts = facts.and(Facts::ID_ECHOED);
    }
    if said.solidity_data || (said.encoded_data && said.has_code(3)) {
        facts = facts.and(Facts::REVERT_DATA);
    }
    if asked.is_some_and(|n| said.folded.numbers.iter().any(|x| x.value == n)) {
        facts = facts.and(Facts::ECHOES_BLOCK);
    }
    Circumstances {
        facts,
        status: ev.status,
        method: ev.method,
    }
}

/// An error whose text and code no rule knows: malformed if its envelope is, else unknown.
fn unknown_error(ev: &Evidence<'_>, said: &Said, legal: bool) -> Option<Outcome> {
    if legal && said.outer_code().is_some() || ev.status >= 500 {
        return None;
    }
    no_answer(ev, true)
}

/// JSON without result and error that no rule knows: the status decides.
fn no_answer(ev: &Evidence<'_>, object: bool) -> Option<Outcome> {
    match ev.status {
        404 if object => Some(outcome(Class::BadGatewayHtml, Some("not_found"))),
        500.. => None,
        _ => Some(outcome(Class::MalformedEnvelope, None)),
    }
}

fn hidden_outcome(hidden: Hidden) -> Outcome {
    match hidden {
        Hidden::Revert => outcome(Class::ExecutionRevert, Some("revert_in_result")),
        Hidden::Timeout => outcome(Class::Timeout, Some("in_result")),
    }
}

fn verdict(outcome: Outcome) -> Verdict {
    Verdict {
        class: outcome.class,
        subclass: outcome.subclass,
        retry_other_endpoint: outcome.retry,
        counts_against_endpoint: outcome.strike,
        retry_after: None,
        suggested_range: None,
        fingerprint: None,
    }
}

/// Without byte order mark and outer white space.
fn trim(body: &[u8]) -> &[u8] {
    body.trim_ascii_start()
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(body)
        .trim_ascii()
}
