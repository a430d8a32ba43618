//! One event, one line, whatever a method name, a header or an endpoint's error holds (C15).
//!
//! Control characters inside an event are written as `\u00xx`, which is what JSON has for them too.
//! In colour the formatter's own escape sequences pass: it escapes those of values itself.

use std::io::{self, Write};

/// Takes whole events, each with its line end, as the formatter hands them over.
pub(super) struct Lines<W> {
    to: W,
    colour: bool,
}

impl<W: Write> Lines<W> {
    pub(super) const fn new(to: W, colour: bool) -> Self {
        Self { to, colour }
    }
}

impl<W: Write> Write for Lines<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let (body, end) = match text.strip_suffix('\n') {
            Some(body) => (body, "\n"),
            None => (&*text, ""),
        };
        let mut line = String::with_capacity(text.len());
        for letter in body.chars() {
            if letter.is_control() && !(self.colour && letter == '\u{1b}') {
                line.push_str(&format!("\\u{:04x}", u32::from(letter)));
            } else {
                line.push(letter);
            }
        }
        line.push_str(end);
        self.to.write_all(line.as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    const EVIL: &str = "a\r\nb\u{1b}[31mc\u{7f}\u{9b}31m";

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn log(json: bool, colour: bool) -> String {
        let written = Written::default();
        let to = written.clone();
        let builder = tracing_subscriber::fmt()
            .with_writer(move || Lines::new(to.clone(), colour))
            .with_ansi(colour);
        let event = || tracing::warn!(method = EVIL, other = ?EVIL, "constant {EVIL}");
        if json {
            tracing::subscriber::with_default(builder.json().flatten_event(true).finish(), event);
        } else {
            tracing::subscriber::with_default(builder.finish(), event);
        }
        let bytes = written.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    // hardening C15
    #[test]
    fn an_event_is_one_line_without_control_characters() {
        for json in [false, true] {
            let line = log(json, false);
            assert_eq!(line.matches('\n').count(), 1, "{line:?}");
            assert!(
                line.trim_end_matches('\n').chars().all(|c| !c.is_control()),
                "{line:?}"
            );
            assert!(line.contains("constant a"), "{line:?}");
        }
    }

    // hardening C15
    #[test]
    fn json_says_what_the_event_said() {
        let value: serde_json::Value = serde_json::from_str(&log(true, false)).unwrap();
        assert_eq!(value["method"], EVIL);
    }

    // hardening C15
    #[test]
    fn in_colour_a_value_cannot_bring_its_own_escape_sequence() {
        let line = log(false, true);
        assert_eq!(line.matches('\n').count(), 1, "{line:?}");
        assert!(!line.contains("\u{1b}[31mc"), "{line:?}");
    }
}
