//! Which answer a call gets: rules in the order in which they were written.
//!
//! The first rule that matches and has uses left answers; when none does, the node answers
//! honestly. So `once` after `once` reads as a sequence, and a last `always` as "from then on".

use std::fmt;
use std::sync::Arc;

use super::answer::Answer;
use crate::call::Call;

type Chooser = Arc<dyn Fn(&Call) -> Answer + Send + Sync>;

#[derive(Clone)]
enum Choice {
    Fixed(Box<Answer>),
    Chosen(Chooser),
}

impl fmt::Debug for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(answer) => answer.fmt(f),
            Self::Chosen(_) => f.write_str("a closure"),
        }
    }
}

/// What a rule looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Matcher {
    /// Every call.
    Any,
    /// Calls of one method.
    Method(String),
    /// A whole batch; it is asked once per HTTP request.
    Batch,
    /// Every HTTP request, whatever its body.
    Http,
}

#[derive(Debug)]
struct Rule {
    matcher: Matcher,
    left: Option<usize>,
    choice: Choice,
}

/// The rules of one node.
#[derive(Debug, Default)]
pub(super) struct Rules {
    rules: Vec<Rule>,
}

impl Rules {
    pub(super) fn fixed(&mut self, matcher: Matcher, left: Option<usize>, answer: Answer) {
        self.push(matcher, left, Choice::Fixed(Box::new(answer)));
    }

    pub(super) fn chosen(&mut self, matcher: Matcher, left: Option<usize>, chooser: Chooser) {
        self.push(matcher, left, Choice::Chosen(chooser));
    }

    fn push(&mut self, matcher: Matcher, left: Option<usize>, choice: Choice) {
        self.rules.push(Rule {
            matcher,
            left,
            choice,
        });
    }

    pub(super) fn clear(&mut self) {
        self.rules.clear();
    }

    /// The answer to a call, using up one use of its rule.
    pub(super) fn for_call(&mut self, call: &Call) -> Option<Answer> {
        self.take(call, |matcher| match matcher {
            Matcher::Any => true,
            Matcher::Method(method) => *method == call.method,
            Matcher::Batch | Matcher::Http => false,
        })
    }

    /// The answer to a whole HTTP request, using up one use of its rule.
    pub(super) fn for_request(&mut self, first: &Call, batch: bool) -> Option<Answer> {
        self.take(first, |matcher| match matcher {
            Matcher::Batch => batch,
            Matcher::Http => true,
            Matcher::Any | Matcher::Method(_) => false,
        })
    }

    fn take(&mut self, call: &Call, matches: impl Fn(&Matcher) -> bool) -> Option<Answer> {
        let rule = self
            .rules
            .iter_mut()
            .find(|rule| rule.left != Some(0) && matches(&rule.matcher))?;
        if let Some(left) = &mut rule.left {
            *left -= 1;
        }
        Some(match &rule.choice {
            Choice::Fixed(answer) => Answer::clone(answer),
            Choice::Chosen(choose) => choose(call),
        })
    }
}
