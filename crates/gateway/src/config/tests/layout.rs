//! How problems look, and the documents that must agree with the model.

use super::{Format, Overrides, Settings, environment, read};
use crate::config::{LoadError, options_markdown, schema::options};
use std::path::Path;

fn shown(format: Format, text: &str) -> String {
    read(format, text).unwrap_err().to_string()
}

// G-12
#[test]
fn shows_the_line_and_a_caret_under_what_is_wrong() {
    let text = "[[chains.ethereum.endpoints]]\nurl = 'https://a.example'\n\n[server]\n\
                deadlin = '9s'\nmax_batch = 0 # too few\n";
    assert_eq!(
        shown(Format::Toml, text),
        "highwater.toml:5:1: unknown option `deadlin` in `server`: did you mean `deadline`?\n \
         5 | deadlin = …\n   | ^^^^^^^\n\
         highwater.toml:6:13: `server.max_batch`: out of range: 1 to 10000 is allowed\n \
         6 | max_batch = 0 # too few\n   |             ^"
    );
}

// G-12
#[test]
fn counts_columns_in_characters_and_shortens_long_lines() {
    let filler = "é".repeat(300);
    let text = format!("server: {{ \"{filler}\": 1, max_batch: 0 }}\n");
    let report = read(Format::Yaml, &text).unwrap_err();
    let finding = report
        .findings
        .iter()
        .find(|one| one.message.contains("out of range"))
        .unwrap();
    assert_eq!(finding.place, Some((1, 329)));
    for line in report.to_string().lines().filter(|line| line.contains('|')) {
        assert!(line.chars().count() < 140, "{line}");
    }
}

// hardening C11
#[test]
fn hides_values_that_may_be_credentials_and_shows_the_rest() {
    let text = "[[chains.ethereum.endpoints]]\nurl = 'https://a.example'\nlabel = 'a/b'\n\
                [admin]\ntoken = 'a b'\nlisten = 'https://x.example/y z'\n";
    let report = shown(Format::Toml, text);
    assert!(report.contains("\n 3 | label = 'a/b'\n"), "{report}");
    assert!(report.contains("\n 5 | token = …\n"), "{report}");
    assert!(
        report.contains("\n 6 | listen = 'https://… z'\n"),
        "{report}"
    );
}

// G-12
#[test]
fn reads_windows_line_ends_and_a_last_line_without_end() {
    let text = "[server]\r\ndeadlin = '9s'\r\nstrict = 5";
    let report = shown(Format::Toml, text);
    assert!(
        report.contains("\n 2 | deadlin = …\n   | ^^^^^^^\n"),
        "{report:?}"
    );
    assert!(
        report.contains("\n 3 | strict = 5\n   |          ^"),
        "{report:?}"
    );
}

// hardening H3
#[test]
fn says_why_a_file_cannot_be_read() {
    let directory = std::env::temp_dir().join(format!("highwater-config-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let load = |path: &Path| Settings::load(path, &environment, &Overrides::default()).unwrap_err();
    let missing = load(&directory.join("missing.toml"));
    assert!(
        missing
            .to_string()
            .contains("missing.toml: cannot read the configuration file: ")
    );
    let binary = directory.join("binary.toml");
    std::fs::write(&binary, b"[server]\n\xff\n").unwrap();
    let LoadError::Unreadable { reason, .. } = load(&binary) else {
        panic!("unreadable")
    };
    assert_eq!(reason, "line 2 is not UTF-8: save the file as UTF-8");
    let yaml = directory.join("file.YML");
    std::fs::write(&yaml, "log: [").unwrap();
    assert!(
        load(&yaml)
            .to_string()
            .contains("file.YML:1:6: not valid YAML")
    );
    std::fs::remove_dir_all(directory).unwrap();
}

// G-12, hardening T21
#[test]
fn the_documented_options_are_those_of_the_model() {
    const BEGIN: &str = "<!-- options: made from the model -->\n";
    const END: &str = "<!-- end of options -->";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (head, rest) = text.split_once(BEGIN).unwrap();
    let (table, tail) = rest.split_once(END).unwrap();
    let expected = format!("\n{}", options_markdown());
    if std::env::var_os("HIGHWATER_UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{head}{BEGIN}{expected}{END}{tail}")).unwrap();
        return;
    }
    assert_eq!(
        table, expected,
        "run the tests once with HIGHWATER_UPDATE_DOCS=1"
    );
    for option in options() {
        assert!(
            table.contains(&format!("| `{}` |", option.name)),
            "{option:?}"
        );
    }
}

// G-12
#[test]
fn the_example_file_is_in_order_and_shows_every_section() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/example.toml");
    let environment = |name: &str| Some(format!("value-of-{name}"));
    let settings = Settings::load(&path, &environment, &Overrides::default());
    let settings = settings.unwrap_or_else(|error| panic!("{error}"));
    assert!(settings.chains.len() >= 2 && !settings.keys.is_empty());
    let text = std::fs::read_to_string(&path).unwrap();
    for option in options() {
        assert!(
            text.contains(&option.name),
            "{} is not in docs/example.toml",
            option.name
        );
    }
}
