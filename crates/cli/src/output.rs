//! What the user sees.

use crate::exit::Exit;
use std::{fmt::Display, io::Write};

/// Writes to stdout; a reader that is gone is no error.
pub(crate) fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
}

/// Writes one line to stderr.
pub(crate) fn error(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "error: {text}");
}

/// Writes what is wrong with a file to stderr, each finding with its own `FILE:LINE:COLUMN` as
/// editors read it.
pub(crate) fn file_error(problem: &impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "{problem}");
}

/// Shows help, version or a usage error. The parser quotes arguments that it does not expect, and
/// one of them may be a URL: what follows a scheme is left out.
pub(crate) fn clap(error: &clap::Error) -> Exit {
    if error.use_stderr() {
        let _ = write!(
            std::io::stderr().lock(),
            "{}",
            without_urls(&error.render().to_string())
        );
        Exit::Usage
    } else {
        print(&error.render().to_string());
        Exit::Ok
    }
}

fn without_urls(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(offset) = rest.find("://") {
        let (head, tail) = rest.split_at(offset + 3);
        shown.push_str(head);
        shown.push('…');
        let end = tail.find(|letter: char| letter.is_whitespace() || letter == '\'');
        rest = &tail[end.unwrap_or(tail.len())..];
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    // hardening C11
    #[test]
    fn leaves_out_what_follows_a_scheme() {
        assert_eq!(
            without_urls("unexpected argument 'https://a/s3cret' found, wss://x\nhttp://"),
            "unexpected argument 'https://…' found, wss://…\nhttp://…"
        );
        assert_eq!(without_urls("nothing to hide"), "nothing to hide");
    }
}
