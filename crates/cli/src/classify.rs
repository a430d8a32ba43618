//! `highwater classify`: answers as JSON lines in, verdicts as JSON lines out.
//!
//! A line that is no answer is reported with its number and does not stop the rest: logs of months
//! have such lines. The exit code is 0 when every line was classified, 2 when at least one was not,
//! 71 when reading or writing fails. A closed pipe on the output (`… | head`) is an end, no failure.

use std::io::{self, BufRead, Write};
use std::time::SystemTime;

use highwater_core::classify::{Classifier, line};

/// Every line was classified.
const OK: u8 = 0;
/// At least one line was no answer.
const BAD_LINE: u8 = 2;
/// Reading or writing failed.
const SYSTEM: u8 = 71;

/// Classifies all lines of `input`; the exit code.
pub(crate) fn run(
    mut input: impl BufRead,
    mut output: impl Write,
    mut errors: impl Write,
    now: SystemTime,
) -> u8 {
    let classifier = match Classifier::new(&[]) {
        Ok(classifier) => classifier,
        Err(error) => {
            let _ = writeln!(errors, "highwater classify: {error}");
            return 70;
        }
    };
    let mut buffer = Vec::new();
    let mut number = 0_u64;
    let mut code = OK;
    loop {
        buffer.clear();
        match input.read_until(b'\n', &mut buffer) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => return failed(&mut errors, "reading", &error),
        }
        number += 1;
        let text = buffer.trim_ascii();
        if text.is_empty() {
            continue;
        }
        let verdict = std::str::from_utf8(text)
            .map_err(|error| error.to_string())
            .and_then(|text| line(&classifier, text, now).map_err(|error| error.to_string()));
        match verdict {
            Ok(verdict) => {
                if let Err(error) = writeln!(output, "{verdict}") {
                    return closed(&mut errors, &error, code);
                }
            }
            Err(error) => {
                code = BAD_LINE;
                let _ = writeln!(errors, "highwater classify: line {number}: {error}");
            }
        }
    }
    match output.flush() {
        Ok(()) => code,
        Err(error) => closed(&mut errors, &error, code),
    }
}

fn closed(errors: &mut impl Write, error: &io::Error, code: u8) -> u8 {
    if error.kind() == io::ErrorKind::BrokenPipe {
        code
    } else {
        failed(errors, "writing", error)
    }
}

fn failed(errors: &mut impl Write, what: &str, error: &io::Error) -> u8 {
    let _ = writeln!(errors, "highwater classify: {what}: {error}");
    SYSTEM
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classify(input: &str) -> (u8, String, String) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let code = run(input.as_bytes(), &mut out, &mut err, SystemTime::UNIX_EPOCH);
        (
            code,
            String::from_utf8(out).unwrap(),
            String::from_utf8(err).unwrap(),
        )
    }

    // Interface: `highwater classify`.
    #[test]
    fn writes_one_verdict_a_line() {
        let line = r#"{"id":"a","http_status":429,"method":"eth_call","body":""}"#;
        let (code, out, err) = classify(&format!("{line}\n\n{line}"));
        assert_eq!((code, err.as_str()), (0, ""));
        assert_eq!(out.lines().count(), 2);
        assert!(
            out.lines()
                .all(|l| l.starts_with(r#"{"id":"a","class":"rate_limited","#)),
            "{out}"
        );
    }

    #[test]
    fn names_the_bad_line_and_goes_on() {
        let good = r#"{"http_status":200,"body":"{\"id\":1,\"result\":1}"}"#;
        let (code, out, err) = classify(&format!("{good}\nnonsense\n{good}\n{{}}\n"));
        assert_eq!(code, 2);
        assert_eq!(out.lines().count(), 2);
        assert!(err.contains("line 2:") && err.contains("line 4:"), "{err}");
    }

    #[test]
    fn ends_quietly_when_nobody_reads() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut err = Vec::new();
        let input = &br#"{"http_status":200,"body":""}"#[..];
        assert_eq!(run(input, Closed, &mut err, SystemTime::UNIX_EPOCH), 0);
        assert!(err.is_empty());
    }
}
