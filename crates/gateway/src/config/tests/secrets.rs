//! Nothing that may be a credential is ever shown.

use super::{
    Format, environment,
    good::{FULL_TOML, FULL_YAML},
    read,
};
use crate::config::{Overrides, Settings};

const CANARY: &str = "s3cret-canary";

/// Files that hold the canary where a credential can stand, in order or not.
const FILES: &[(Format, &str)] = &[
    (Format::Toml, "[admin]\ntoken = \"s3cret-canary\n"),
    (Format::Toml, "[admin]\ntoken = s3cret-canary\n"),
    (Format::Toml, "[admin]\ntoken = 's3cret-canary' x\n"),
    (
        Format::Toml,
        "[admin]\ntoken = 's3cret-canary with a space'\n",
    ),
    (Format::Toml, "[admin]\ntokn = 's3cret-canary'\n"),
    (
        Format::Toml,
        "[admin]\nlisten = 'x://s3cret-canary'\ntoken = ['s3cret-canary']\n",
    ),
    (
        Format::Toml,
        "[admin]\ntoken = '''\ns3cret-canary\n second'''\n",
    ),
    (Format::Toml, "[admin]\ntoken = '''\ns3cret-canary\n"),
    (
        Format::Toml,
        "[admin]\ntoken = { value = 's3cret-canary' }\n",
    ),
    (
        Format::Toml,
        "admin = 's3cret-canary'\nchains = ['s3cret-canary']\n",
    ),
    (
        Format::Toml,
        "[server]\nlisten = '${KEY}'\ndeadline = '${KEY}'\nallowed_hosts = ['${KEY}/']\n",
    ),
    (
        Format::Toml,
        "[server]\nlisten = 'https://x.example/v2/s3cret-canary'\n",
    ),
    (Format::Toml, "[log]\nlevel = '${KEY}'\nformat = '${KEY}'\n"),
    (
        Format::Toml,
        "[chains.ethereum]\nendpoints = 'https://a/s3cret-canary'\n",
    ),
    (
        Format::Toml,
        "[chains.ethereum]\nendpoints = ['s3cret-canary']\n",
    ),
    (
        Format::Toml,
        "[chains.ethereum]\nid = 's3cret-canary'\nwrites = '${KEY}'\naliases = ['${KEY}/']\n",
    ),
    (
        Format::Toml,
        "[[chains.ethereum.endpoints]]\nlabel = 'https://a/s3cret-canary'\nulr = 'https://a/s3cret-canary'\n",
    ),
    (
        Format::Toml,
        "[[chains.ethereum.endpoints]]\nlabel = 'a b'\nurl = 'not s3cret-canary'\nws_url = 'wss://a/s3cret-canary'\n",
    ),
    (
        Format::Toml,
        "[[chains.ethereum.endpoints]]\nlabel = '${KEY}/'\nurl = 'ftp://${KEY}'\n",
    ),
    (
        Format::Toml,
        "[[chains.ethereum.endpoints]]\nurl = 'https://user:s3cret-canary@:x'\n",
    ),
    (
        Format::Toml,
        "[[chains.ethereum.endpoints]]\nurl = 'https://a.example/s3cret-canary/${NOPE}'\n",
    ),
    (
        Format::Toml,
        "[[chains.ethereum.endpoints]]\nurl = 'https://a.example/s3cret-canary' label = 'a'\n",
    ),
    (
        Format::Toml,
        "[chains.ethereum]\nendpoints = [{ label = 'a/b', url = 'https://s3cret-canary' }]\n",
    ),
    (
        Format::Toml,
        "[chains.ethereum]\nendpoints = [{ url = 'https://s3cret-canary', label = 'a/b' ]\n",
    ),
    (
        Format::Toml,
        "[[keys]]\nname = 'a'\nhash = 'hw_s3cret-canary'\n[redis]\nurl = 'redis://s3cret-canary'\n",
    ),
    (
        Format::Toml,
        "[[keys]]\nname = '${KEY}/'\nkey = 's3cret-canary'\n",
    ),
    (
        Format::Toml,
        "[[chains.ethereum.endpoints]]\nlabel = 'ok'\nurl = 'https://user:s3cret-canary@a.example/s3cret-canary?k=s3cret-canary'\n[admin]\ntoken = '${KEY}'\n",
    ),
    (Format::Yaml, "admin:\n  token: \"s3cret-canary\n"),
    (
        Format::Yaml,
        "admin:\n  token: s3cret-canary with a space\n",
    ),
    (
        Format::Yaml,
        "admin:\n  token: |\n    s3cret-canary\n    second\n",
    ),
    (
        Format::Yaml,
        "admin:\n  token: >-\n    s3cret-canary\n    second\n  lisen: 1\n",
    ),
    (
        Format::Yaml,
        "admin:\n  token: 's3cret-canary\n    second'\n",
    ),
    (
        Format::Yaml,
        "admin: &a\n  tokn: s3cret-canary\nserver: *a\n",
    ),
    (
        Format::Yaml,
        "admin:\n  token: s3cret-canary\n  token: s3cret-canary\n",
    ),
    (
        Format::Yaml,
        "admin: { tokn: s3cret-canary, listen: 'x' }\n",
    ),
    (
        Format::Yaml,
        "chains:\n  ethereum:\n    endpoints:\n      - https://a/s3cret-canary\n",
    ),
    (
        Format::Yaml,
        "chains:\n  ethereum:\n    endpoints:\n      - url: ftp://a/s3cret-canary\n        label: a/b\n",
    ),
    (
        Format::Yaml,
        "chains:\n  ethereum:\n    endpoints:\n      - { url: 'no s3cret-canary', label: 'a/b' }\n",
    ),
    (
        Format::Yaml,
        "chains:\n  ethereum:\n    endpoints:\n      - url: https://a/s3cret-canary: x\n",
    ),
    (Format::Yaml, "? s3cret-canary\n: - x\n"),
];

// hardening C11, hardening T13
#[test]
fn no_message_summary_or_debug_text_holds_a_secret() {
    let mut refused = 0;
    for (format, text) in FILES {
        let (shown, debug) = match read(*format, text) {
            Ok(settings) => (settings.summary(), format!("{settings:?}{settings:#?}")),
            Err(report) => {
                refused += 1;
                (report.to_string(), format!("{report:?}"))
            }
        };
        // Only a key that is itself the canary may be named: keys are not credentials.
        let named = text.starts_with("? ");
        assert!(named || !shown.contains(CANARY), "{text}\n{shown}");
        assert!(named || !debug.contains(CANARY), "{text}\n{debug}");
    }
    assert!(
        refused >= FILES.len() - 1,
        "nearly all of these files are bad: {refused}"
    );
}

/// Whole files that hold the canary itself, damaged at every place in three ways.
// hardening C11, hardening T13
#[test]
fn no_damaged_file_makes_a_message_show_a_secret() {
    for (format, text) in [(Format::Toml, FULL_TOML), (Format::Yaml, FULL_YAML)] {
        let whole = text.replace("${KEY}", CANARY);
        let mut refused = 0;
        for (at, letter) in whole.char_indices() {
            let (head, tail) = whole.split_at(at);
            let rest = &tail[letter.len_utf8()..];
            for damaged in [
                head.to_owned(),
                format!("{head}{rest}"),
                format!("{head}\"{tail}"),
            ] {
                let shown = match read(format, &damaged) {
                    Ok(settings) => format!("{settings:?}{}", settings.summary()),
                    Err(report) => {
                        refused += 1;
                        report.to_string()
                    }
                };
                assert!(!shown.contains(CANARY), "{damaged}\n{shown}");
            }
        }
        assert!(refused > whole.len(), "most damage is noticed: {refused}");
    }
}

// hardening C11
#[test]
fn no_argument_error_holds_a_secret() {
    for url in [
        "s3cret-canary",
        "ftp://s3cret-canary",
        "https://:s3cret-canary",
        "wss://s3cret-canary",
    ] {
        let urls = [url.to_owned()];
        let error = Settings::from_urls(&urls, None, &Overrides::default()).unwrap_err();
        assert!(
            !format!("{error} {error:?}").contains(CANARY),
            "{url}: {error}"
        );
    }
    let urls = ["https://u:s3cret-canary@a.example/s3cret-canary".to_owned()];
    let settings = Settings::from_urls(&urls, None, &Overrides::default()).unwrap();
    assert!(!format!("{settings:?}{}", settings.summary()).contains(CANARY));
}

// hardening C15
#[test]
fn a_file_cannot_drive_the_terminal() {
    let text = "[server]\n\"\u{1b}[31mred\" = 1\nlisten = '\t\u{7f}'\n";
    let report = read(Format::Yaml, "\"\\e[31mred\": 1\n")
        .unwrap_err()
        .to_string();
    assert!(
        report.contains("unknown option `\\u{1b}[31mred`"),
        "{report}"
    );
    let report = read(Format::Toml, text).unwrap_err().to_string();
    assert!(
        report
            .chars()
            .all(|letter| letter == '\n' || !letter.is_control()),
        "{report:?}"
    );
    let settings = Settings::load(
        std::path::Path::new("/no/such\u{1b}[31m/file"),
        &environment,
        &Overrides::default(),
    );
    assert!(!settings.unwrap_err().to_string().contains('\u{1b}'));
}
