//! Files through all three steps.

mod accounts;
mod bad;
mod engine;
mod good;
mod layout;
mod routing;
mod secrets;
mod sends;
mod state;

use super::{Format, Overrides, Report, Settings};

const HASH: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789ABCDEF";

fn environment(name: &str) -> Option<String> {
    match name {
        "KEY" => Some("s3cret-canary".to_owned()),
        "EMPTY" => Some(String::new()),
        "PERIOD" => Some("7s".to_owned()),
        _ => None,
    }
}

fn read(format: Format, text: &str) -> Result<Settings, Report> {
    let file = match format {
        Format::Toml => "highwater.toml",
        Format::Yaml => "highwater.yaml",
    };
    Settings::parse(file, text, format, &environment, &Overrides::default())
}

/// One chain that is in order, to be followed or preceded by what a test is about.
const CHAIN: &str = "[[chains.ethereum.endpoints]]\nurl = \"https://a.example/v2/s3cret-canary\"\n";
