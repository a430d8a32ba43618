//! Rules that an operator adds, for a provider whose answers this table does not know.

use super::class::Class;
use super::matcher::{Builder, Compiled, Outcome};

/// One rule of an operator.
///
/// Asked after reverts have been recognised by their frame (what a contract says must not steer an
/// endpoint's health) and before the built-in table; the first that holds decides.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExtraRule {
    /// Phrases of which all must be in one string of the answer. `|` separates alternatives.
    /// Compared without regard to case, punctuation, numbers and hashes: `request limit|quota`.
    #[serde(rename = "match", default)]
    pub all: Vec<String>,
    /// Phrases of which none may be in that string.
    #[serde(rename = "not", default)]
    pub none: Vec<String>,
    /// Codes, one of which the answer must have. Empty: any.
    #[serde(default)]
    pub codes: Vec<i64>,
    /// HTTP statuses, one of which the answer must have. Empty: any.
    #[serde(default)]
    pub statuses: Vec<u16>,
    /// Methods (`eth_call`) or prefixes (`debug_*`). Empty: any.
    #[serde(default)]
    pub methods: Vec<String>,
    /// The class, by its name in the catalogue.
    pub class: String,
    /// Whether another endpoint may help; the class's usual answer where it is not given.
    #[serde(default)]
    pub retry_other_endpoint: Option<bool>,
    /// Whether the answer counts against the endpoint; the class's usual answer where not given.
    #[serde(default)]
    pub counts_against_endpoint: Option<bool>,
}

/// Why an operator's rule is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// The class is not one of the catalogue's.
    #[error("rule {rule}: unknown class {class:?}")]
    Class {
        /// The number of the rule, from 1.
        rule: usize,
        /// What was given.
        class: String,
    },
    /// The rule would hold for every answer.
    #[error("rule {rule}: needs a phrase, a code or a status")]
    Empty {
        /// The number of the rule, from 1.
        rule: usize,
    },
    /// A phrase has no letters or digits to look for.
    #[error("rule {rule}: empty phrase in {phrase:?}")]
    Phrase {
        /// The number of the rule, from 1.
        rule: usize,
        /// What was given.
        phrase: String,
    },
}

impl RuleError {
    /// The number of the refused rule, from 1.
    #[must_use]
    pub const fn rule(&self) -> usize {
        match self {
            Self::Class { rule, .. } | Self::Empty { rule } | Self::Phrase { rule, .. } => *rule,
        }
    }
}

impl ExtraRule {
    pub(super) fn compile(
        &self,
        number: usize,
        builder: &mut Builder,
    ) -> Result<Compiled, RuleError> {
        let class = Class::ALL
            .into_iter()
            .find(|c| c.name() == self.class)
            .ok_or_else(|| RuleError::Class {
                rule: number,
                class: self.class.clone(),
            })?;
        if self.all.is_empty() && self.codes.is_empty() && self.statuses.is_empty() {
            return Err(RuleError::Empty { rule: number });
        }
        let groups = |list: &[String]| {
            list.iter()
                .map(|g| group(g, number))
                .collect::<Result<Vec<_>, _>>()
        };
        let (all, none) = (groups(&self.all)?, groups(&self.none)?);
        let (retry, strike) = class.usual_flags();
        let outcome = Outcome {
            class,
            subclass: None,
            retry: self.retry_other_endpoint.unwrap_or(retry),
            strike: self.counts_against_endpoint.unwrap_or(strike),
        };
        let mut rule = builder.extra(outcome, &all, &none);
        rule.codes.clone_from(&self.codes);
        rule.statuses.clone_from(&self.statuses);
        rule.methods.clone_from(&self.methods);
        Ok(rule)
    }
}

/// Folds each alternative of a group as answers are folded.
fn group(alternatives: &str, rule: usize) -> Result<String, RuleError> {
    let mut out = String::new();
    for phrase in alternatives.split('|') {
        let mut folded = super::fold::Folded::default();
        folded.push(phrase.as_bytes(), 0);
        let text = folded
            .segments
            .first()
            .map(|s| String::from_utf8_lossy(folded.of(*s)).trim().to_owned());
        let text = text
            .filter(|t| !t.is_empty())
            .ok_or_else(|| RuleError::Phrase {
                rule,
                phrase: alternatives.to_owned(),
            })?;
        if !out.is_empty() {
            out.push('|');
        }
        out.push_str(&text);
    }
    Ok(out)
}
