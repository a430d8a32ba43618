//! `${NAME}` inside strings.
//!
//! `${NAME}` is replaced by the environment variable, `$$` by one dollar sign, and a dollar sign
//! before anything else stands for itself. A variable that is not set is an error: an empty
//! credential would only be found out at the first call. Variables are expanded after the file is
//! parsed, in values only, so that their content can neither add options nor be quoted in a message.

use std::ops::Range;

/// Where variables come from; a function, so that tests need no process-wide state.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The variables of this process. One that is not UTF-8 counts as not set.
#[must_use]
pub fn process_environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// What cannot be expanded; the range is in the text that was given.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) range: Range<usize>,
    pub(super) message: String,
}

pub(super) fn expand(text: &str, environment: Environment<'_>) -> Result<String, Refused> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(dollar) = rest.find('$') {
        let offset = text.len() - rest.len() + dollar;
        expanded.push_str(&rest[..dollar]);
        rest = &rest[dollar + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            expanded.push('$');
            rest = after;
        } else if let Some(after) = rest.strip_prefix('{') {
            let name = after.split('}').next().unwrap_or_default();
            if name.len() == after.len() || !is_name(name) {
                return Err(Refused {
                    range: offset..offset + 2,
                    message: "`${` must be followed by the name of an environment variable and \
                              `}`; write `$$` for a dollar sign"
                        .to_owned(),
                });
            }
            let value = environment(name).ok_or_else(|| Refused {
                range: offset..offset + name.len() + 3,
                message: format!("the environment variable `{name}` is not set"),
            })?;
            expanded.push_str(&value);
            rest = &after[name.len() + 1..];
        } else {
            expanded.push('$');
        }
    }
    expanded.push_str(rest);
    Ok(expanded)
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|letter: char| letter.is_ascii_digit())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(name: &str) -> Option<String> {
        (name == "KEY").then(|| "s3cret".to_owned())
    }

    // G-12
    #[test]
    fn replaces_variables_and_keeps_other_dollar_signs() {
        for (text, expected) in [
            ("a${KEY}b${KEY}", "as3cretbs3cret"),
            ("$$", "$"),
            ("$${KEY}", "${KEY}"),
            ("$KEY costs 5$", "$KEY costs 5$"),
            ("", ""),
        ] {
            assert_eq!(
                expand(text, &environment).as_deref(),
                Ok(expected),
                "{text}"
            );
        }
    }

    // G-12
    #[test]
    fn names_the_variable_that_is_not_set() {
        let refused = expand("x${NO_SUCH}", &environment).unwrap_err();
        assert_eq!(refused.range, 1..11);
        assert_eq!(
            refused.message,
            "the environment variable `NO_SUCH` is not set"
        );
    }

    // hardening H3
    #[test]
    fn refuses_what_is_not_a_variable() {
        for text in ["${", "${}", "${KEY", "${1A}", "${A-B}"] {
            assert!(expand(text, &environment).is_err(), "{text}");
        }
    }
}
