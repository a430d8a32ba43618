//! Loading a file.

use super::{
    Settings,
    arguments::Overrides,
    check,
    document::Format,
    environment::Environment,
    problem::{Problem, Report, printable},
    reader::Pass,
};
use std::{fs::File, io::Read, path::Path};

/// Largest configuration file, in bytes.
const LARGEST_FILE: u64 = 16 << 20;

/// Why there are no settings.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read at all.
    #[error("{file}: {reason}")]
    Unreadable {
        /// What the file is called.
        file: String,
        /// What is wrong.
        reason: String,
    },
    /// The file is read, but not in order.
    #[error(transparent)]
    Refused(#[from] Report),
}

impl Settings {
    /// Reads a TOML file, or a YAML file by its ending, and checks it.
    ///
    /// # Errors
    /// Everything that is wrong with it, without a secret.
    pub fn load(
        path: &Path,
        environment: Environment<'_>,
        overrides: &Overrides,
    ) -> Result<Self, LoadError> {
        let file = printable(&path.display().to_string());
        let unreadable = |reason: String| LoadError::Unreadable {
            file: file.clone(),
            reason,
        };
        let mut bytes = Vec::new();
        File::open(path)
            .and_then(|opened| opened.take(LARGEST_FILE + 1).read_to_end(&mut bytes))
            .map_err(|error| unreadable(format!("cannot read the configuration file: {error}")))?;
        if bytes.len() as u64 > LARGEST_FILE {
            return Err(unreadable(
                "the file is larger than 16 MiB: not a configuration".into(),
            ));
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
            unreadable(format!("line {line} is not UTF-8: save the file as UTF-8"))
        })?;
        Ok(Self::parse(
            &file,
            &text,
            Format::of_path(path),
            environment,
            overrides,
        )?)
    }

    /// Checks a text; `file` is what messages call it.
    ///
    /// # Errors
    /// Everything that is wrong with it, without a secret.
    pub fn parse(
        file: &str,
        text: &str,
        format: Format,
        environment: Environment<'_>,
        overrides: &Overrides,
    ) -> Result<Self, Report> {
        let report = |problems: Vec<Problem>, pass: &Pass<'_>| {
            Report::new(file, text, problems, &pass.hidden.borrow())
        };
        let pass = Pass::new(text, environment);
        let root = format
            .parse(text)
            .map_err(|problems| report(problems, &pass))?;
        let settings = pass
            .read(&root)
            .map(|raw| check::settings(raw, overrides, &pass));
        let problems = pass.problems.take();
        settings
            .filter(|_| problems.is_empty())
            .ok_or_else(|| report(problems, &pass))
    }
}
