//! The command-line client `cast`, pointed at one URL.

use crate::tools::cast_path;
use std::process::{Command, Output, Stdio};

/// Runs `cast` against one URL.
#[derive(Clone, Debug)]
pub struct Cast {
    url: String,
}

impl Cast {
    /// A client of `url`.
    #[must_use]
    pub fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
        }
    }

    /// Runs a command that must succeed; gives its standard output without the last line break.
    ///
    /// # Panics
    /// When it fails.
    #[must_use]
    pub fn run(&self, args: &[&str]) -> String {
        let output = self.output(args);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "cast {args:?}: {error}");
        String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned()
    }

    /// Runs a command that must fail; gives its standard error.
    ///
    /// # Panics
    /// When it succeeds.
    #[must_use]
    pub fn fails(&self, args: &[&str]) -> String {
        let output = self.output(args);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(!output.status.success(), "cast {args:?} succeeded: {text}");
        String::from_utf8_lossy(&output.stderr)
            .trim_end()
            .to_owned()
    }

    fn output(&self, args: &[&str]) -> Output {
        let mut command = Command::new(cast_path());
        command.args(args);
        // No settings of whoever runs the tests may leak in.
        command
            .env_clear()
            .env("HOME", std::env::temp_dir())
            .env("NO_COLOR", "1");
        command.env("ETH_RPC_URL", &self.url);
        command
            .stdin(Stdio::null())
            .current_dir(std::env::temp_dir());
        command.output().expect("cast can be started")
    }
}
