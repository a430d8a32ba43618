//! `highwater classify`: answers as JSON lines in, verdicts as JSON lines out.
//!
//! A line that is no answer is reported with its number and does not stop the rest: logs of months
//! have such lines. It ends with "usage" when at least one line was not classified, with "system"
//! when reading or writing fails. A closed pipe on the output (`… | head`) is an end, no failure.

use crate::exit::Exit;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::time::SystemTime;

use highwater_core::classify::{Classifier, line};

/// Classifies all lines of `input`.
pub(crate) fn run(
    input: impl Read,
    mut output: impl Write,
    mut errors: impl Write,
    now: SystemTime,
) -> Exit {
    let classifier = match Classifier::new(&[]) {
        Ok(classifier) => classifier,
        Err(error) => {
            let _ = writeln!(errors, "error: {error}");
            return Exit::Internal;
        }
    };
    let mut input = BufReader::new(input);
    let mut buffer = Vec::new();
    let mut number = 0_u64;
    let mut exit = Exit::Ok;
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
                // Whoever waits for this answer before the next line must get it.
                let waited_for = input.buffer().is_empty();
                let written = writeln!(output, "{verdict}")
                    .and_then(|()| if waited_for { output.flush() } else { Ok(()) });
                if let Err(error) = written {
                    return closed(&mut errors, &error, exit);
                }
            }
            Err(error) => {
                exit = Exit::Usage;
                let _ = writeln!(errors, "error: line {number}: {error}");
            }
        }
    }
    match output.flush() {
        Ok(()) => exit,
        Err(error) => closed(&mut errors, &error, exit),
    }
}

fn closed(errors: &mut impl Write, error: &io::Error, exit: Exit) -> Exit {
    if error.kind() == io::ErrorKind::BrokenPipe {
        exit
    } else {
        failed(errors, "writing", error)
    }
}

fn failed(errors: &mut impl Write, what: &str, error: &io::Error) -> Exit {
    let _ = writeln!(errors, "error: {what}: {error}");
    Exit::System
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classify(input: &str) -> (Exit, String, String) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let exit = run(input.as_bytes(), &mut out, &mut err, SystemTime::UNIX_EPOCH);
        (
            exit,
            String::from_utf8(out).unwrap(),
            String::from_utf8(err).unwrap(),
        )
    }

    // Interface: `highwater classify`.
    #[test]
    fn writes_one_verdict_a_line() {
        let line = r#"{"id":"a","http_status":429,"method":"eth_call","body":""}"#;
        let (exit, out, err) = classify(&format!("{line}\n\n{line}"));
        assert_eq!((exit, err.as_str()), (Exit::Ok, ""));
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
        let (exit, out, err) = classify(&format!("{good}\nnonsense\n{good}\n{{}}\n"));
        assert_eq!(exit, Exit::Usage);
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
        assert_eq!(
            run(input, Closed, &mut err, SystemTime::UNIX_EPOCH),
            Exit::Ok
        );
        assert!(err.is_empty());
    }
}
