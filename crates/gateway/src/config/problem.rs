//! What is wrong with a file, and showing it without showing a secret.
//!
//! A problem is one line of text that says what to do, the line of the file and a caret. The line
//! is shown with every value replaced that is a credential, that may be one because its key is
//! unknown, or that looks like a URL; after a syntax error, when it is not known what is a value,
//! only lines of plain options are shown (C11, hardening T13). Texts never quote a value.

use super::schema;
use std::{fmt, ops::Range};

/// Longest excerpt in characters; a longer line is shown around its caret.
const WIDEST: usize = 120;

/// One thing that is wrong, by bytes of the file.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    /// `None`: not at any place, such as a flag or something that is missing altogether.
    span: Option<Range<usize>>,
    message: String,
    syntax: bool,
}

impl Problem {
    pub(super) const fn at(span: Range<usize>, message: String) -> Self {
        Self {
            span: Some(span),
            message,
            syntax: false,
        }
    }

    pub(super) const fn nowhere(message: String) -> Self {
        Self {
            span: None,
            message,
            syntax: false,
        }
    }

    pub(super) const fn syntax(span: Range<usize>, message: String) -> Self {
        Self {
            span: Some(span),
            message,
            syntax: true,
        }
    }

    /// What has no place comes last.
    fn start(&self) -> usize {
        self.span.as_ref().map_or(usize::MAX, |span| span.start)
    }
}

/// All that is wrong with one file, in the order of its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What the file is called.
    pub file: String,
    /// The problems; never empty.
    pub findings: Vec<Finding>,
}

/// One problem as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Line and column, both from 1, in characters.
    pub place: Option<(usize, usize)>,
    /// What is wrong and what to do.
    pub message: String,
    /// The line with credentials replaced, and the caret under it.
    excerpt: Option<(String, String)>,
}

impl Report {
    /// Places the problems in their file. `hidden` are the bytes that must not be shown.
    pub(super) fn new(
        file: &str,
        text: &str,
        mut problems: Vec<Problem>,
        hidden: &[Range<usize>],
    ) -> Self {
        problems.sort_by_key(Problem::start);
        let findings = problems
            .iter()
            .map(|problem| Finding::new(text, problem, hidden))
            .collect();
        Self {
            file: printable(file),
            findings,
        }
    }
}

impl Finding {
    fn new(text: &str, problem: &Problem, hidden: &[Range<usize>]) -> Self {
        let message = printable(&problem.message);
        let Some(span) = &problem.span else {
            return Self {
                place: None,
                message,
                excerpt: None,
            };
        };
        let at = floor_char_boundary(text, span.start);
        let line_start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[at..]
            .find('\n')
            .map_or(text.len(), |length| at + length);
        let line = text[line_start..line_end].trim_end_matches('\r');
        let number = text[..line_start].matches('\n').count() + 1;
        let column = text[line_start..at].chars().count() + 1;
        let end = span
            .end
            .clamp(at, line_start + line.len().max(at - line_start));

        let mut secret: Vec<Range<usize>> = hidden
            .iter()
            .filter(|range| range.start < line_start + line.len() && range.end > line_start)
            .map(|range| {
                let start = range.start.saturating_sub(line_start);
                start..(range.end - line_start).min(line.len())
            })
            .collect();
        secret.extend(url_ranges(line));
        if problem.syntax {
            secret.extend(doubtful_range(line));
        }
        let shown = mask(line, &secret, at - line_start..end - line_start);
        Self {
            place: Some((number, column)),
            message,
            excerpt: Some(shown),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, finding) in self.findings.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            let Some((line, column)) = finding.place else {
                write!(f, "{}: {}", self.file, finding.message)?;
                continue;
            };
            write!(f, "{}:{line}:{column}: {}", self.file, finding.message)?;
            if let Some((excerpt, caret)) = &finding.excerpt {
                let number = line.to_string();
                let gutter = " ".repeat(number.len());
                write!(f, "\n {number} | {excerpt}\n {gutter} | {caret}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Report {}

/// Text with control characters made visible, so that a file cannot drive a terminal.
pub(super) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter == '\t' {
            shown.push(' ');
        } else if letter.is_control() {
            shown.extend(letter.escape_default());
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// A copy of the line with the secret ranges replaced, and carets under what stands at `caret`.
fn mask(line: &str, secret: &[Range<usize>], caret: Range<usize>) -> (String, String) {
    let mut shown = String::new();
    let (mut caret_start, mut caret_end) = (None, 0);
    let mut covered = false;
    for (offset, letter) in line.char_indices() {
        if offset >= caret.start && caret_start.is_none() {
            caret_start = Some(shown.chars().count() - usize::from(covered && !shown.is_empty()));
        }
        let hide = secret.iter().any(|range| range.contains(&offset));
        if !hide {
            shown.push_str(&printable(letter.encode_utf8(&mut [0; 4])));
        } else if !covered {
            shown.push('…');
        }
        covered = hide;
        if offset < caret.end {
            caret_end = shown.chars().count();
        }
    }
    let width = shown.chars().count();
    let start = caret_start.unwrap_or(width);
    let end = caret_end.max(start + 1);

    let skip = if width > WIDEST {
        start.saturating_sub(WIDEST / 2)
    } else {
        0
    };
    let shown: String = shown.chars().skip(skip).take(WIDEST).collect();
    let length = (end - start).min(WIDEST);
    (
        shown,
        format!("{}{}", " ".repeat(start - skip), "^".repeat(length)),
    )
}

/// What follows a scheme, wherever it stands: the rest of the word.
fn url_ranges(line: &str) -> Vec<Range<usize>> {
    line.match_indices("://")
        .map(|(offset, separator)| {
            let start = offset + separator.len();
            let length = line[start..]
                .find(|letter: char| letter.is_whitespace() || matches!(letter, '"' | '\''))
                .unwrap_or(line.len() - start);
            start..start + length
        })
        .collect()
}

/// After a syntax error: everything after the key, unless the line is one plain option that holds
/// no credential.
fn doubtful_range(line: &str) -> Option<Range<usize>> {
    let separator = line
        .find(['=', ':'])
        .filter(|_| !line.trim_start().starts_with('['));
    let Some(separator) = separator else {
        let header = line.trim_start().starts_with('[') && !line.contains(['"', '\'', '=', ',']);
        return (!header).then_some(0..line.len());
    };
    let key = line[..separator].trim().trim_start_matches("- ");
    let rest = &line[separator + 1..];
    let plain = schema::is_open(key) && !rest.contains('=') && !rest.contains(": ");
    (!plain).then_some(separator + 1..line.len())
}

fn floor_char_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
