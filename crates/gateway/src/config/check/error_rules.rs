//! An operator's rules of errors: each says what it looks for and what that is.

use crate::config::{field::List, model, reader::Pass};
use highwater_core::classify::{Classifier, ExtraRule};
use std::sync::Arc;

/// The rules before the built-in table, compiled once for all chains.
pub(super) fn check(raw: &List<model::ErrorRule>, pass: &Pass<'_>) -> Option<Arc<Classifier>> {
    let mut rules = Vec::new();
    for (index, (rule, span)) in raw.elements().enumerate() {
        let Some((class, _)) = rule.class.get() else {
            if rule.class.is_absent() {
                pass.note(
                    span.start..span.start,
                    format!("`error_rules[{index}]`: `class` is missing"),
                );
            }
            continue;
        };
        let rule = ExtraRule {
            all: rule
                .all
                .elements()
                .map(|(text, _)| text.0.clone())
                .collect(),
            none: rule
                .none
                .elements()
                .map(|(text, _)| text.0.clone())
                .collect(),
            codes: rule.codes.elements().map(|(code, _)| *code).collect(),
            statuses: rule
                .statuses
                .elements()
                .map(|(status, _)| *status)
                .collect(),
            methods: rule
                .methods
                .elements()
                .map(|(name, _)| name.0.clone())
                .collect(),
            class: class.0.name().to_owned(),
            retry_other_endpoint: rule.retry_other_endpoint.get().map(|(flag, _)| *flag),
            counts_against_endpoint: rule.counts_against_endpoint.get().map(|(flag, _)| *flag),
        };
        // A phrase or a code that was refused is told already.
        let told = rule.all.is_empty() && rule.codes.is_empty() && rule.statuses.is_empty();
        if told {
            pass.note(
                span.start..span.start,
                format!(
                    "`error_rules[{index}]`: would hold for every error: give `match`, `codes` or \
                     `statuses`"
                ),
            );
            continue;
        }
        rules.push((rule, span));
    }
    let all: Vec<ExtraRule> = rules.iter().map(|(rule, _)| rule.clone()).collect();
    if all.is_empty() {
        return None;
    }
    match Classifier::new(&all) {
        Ok(classifier) => Some(Arc::new(classifier)),
        Err(error) => {
            let (number, message) = (error.rule(), error.to_string());
            let span = rules
                .get(number.saturating_sub(1))
                .map_or(0..0, |(_, span)| span.clone());
            pass.note(span.start..span.start, format!("`error_rules`: {message}"));
            None
        }
    }
}
