//! Files that are not in order: each with all its findings, word by word.
//!
//! `LINE:COLUMN message`, or the message alone where there is no place.

mod engine;
mod rules;
mod shapes;
mod yaml;

use super::read;
use crate::config::Format;

struct Bad {
    name: &'static str,
    format: Format,
    text: &'static str,
    findings: &'static [&'static str],
}

// G-12, hardening H3, hardening H5
#[test]
fn tells_every_problem_of_a_bad_file_with_its_place() {
    let files = shapes::FILES.iter().chain(rules::FILES);
    for bad in files.chain(engine::FILES).chain(yaml::FILES) {
        let report = read(bad.format, bad.text).expect_err(bad.name);
        let findings: Vec<String> = report
            .findings
            .iter()
            .map(|finding| match finding.place {
                Some((line, column)) => format!("{line}:{column} {}", finding.message),
                None => finding.message.clone(),
            })
            .collect();
        assert_eq!(
            findings, bad.findings,
            "{}:\n{}\n{report}",
            bad.name, bad.text
        );
    }
}
