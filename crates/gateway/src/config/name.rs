//! Texts that must have a certain shape, each a type of its own, read once.
//!
//! Names end up in paths, response headers, logs and metrics, so they are short and made of
//! visible ASCII characters; what could end a path segment or start a query is refused, which also
//! keeps a URL from being given as a label (A11, C5).

use super::{
    later,
    settings::{LogFormat, Secret, WritePolicy},
    unit,
};
use highwater_core::classify::Class;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, Visitor},
};
use std::{borrow::Cow, fmt, net::SocketAddr, time::Duration};

/// Longest name or label, in bytes.
const LONGEST_NAME: usize = 64;
/// First path segments with a meaning of their own.
const RESERVED: [&str; 6] = ["healthz", "readyz", "livez", "metrics", "status", "api"];

/// The name or an alias of a chain: a path segment, lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChainName(pub(super) String);

impl ChainName {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let name = text.to_ascii_lowercase();
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(legal) {
            return Err(format!(
                "a chain name has 1 to {LONGEST_NAME} letters, digits, `-`, `_` or `.`"
            ));
        }
        if name.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(
                "a chain name cannot be a number: paths with numbers are chain ids; name \
                        the chain and set `id`"
                    .to_owned(),
            );
        }
        let hex = name.strip_prefix("0x");
        if hex.is_some_and(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit())) {
            return Err("a chain name cannot look like a hexadecimal chain id".to_owned());
        }
        if name.starts_with("hw_") {
            return Err("a chain name cannot start with `hw_`: API keys do".to_owned());
        }
        if name.bytes().all(|byte| byte == b'.') || RESERVED.contains(&name.as_str()) {
            return Err(
                "this chain name is a path with a meaning of its own: choose another".to_owned(),
            );
        }
        Ok(Self(name))
    }
}

/// The label of an endpoint or the name of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Label(pub(super) String);

impl Label {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let legal = |byte: u8| byte.is_ascii_graphic() && !b"/\\?#%&=\"'`,;<>".contains(&byte);
        if text.is_empty() || text.len() > LONGEST_NAME || !text.bytes().all(legal) {
            return Err(format!(
                "expected 1 to {LONGEST_NAME} visible ASCII characters without spaces, quotes, \
                 `/`, `\\`, `?`, `#`, `%`, `&`, `=`, `,`, `;`, `<`, `>`"
            ));
        }
        Ok(Self(text.to_owned()))
    }
}

/// A method name, or the start of one and `*`; lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MethodPattern(pub(super) String);

impl MethodPattern {
    fn parse(text: &str) -> Result<Self, String> {
        let start = text.strip_suffix('*').unwrap_or(text);
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if text.is_empty() || !start.bytes().all(legal) {
            return Err("expected a method name, or its start and `*`, such as `eth_*`".to_owned());
        }
        Ok(Self(text.to_ascii_lowercase()))
    }
}

/// Words to look for in an error's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Phrase(pub(super) String);

impl Phrase {
    fn parse(text: &str) -> Result<Self, String> {
        if text
            .split('|')
            .all(|part| part.contains(char::is_alphanumeric))
        {
            return Ok(Self(text.to_owned()));
        }
        Err("expected words to look for, or alternatives such as `quota|credits`".to_owned())
    }
}

/// A class of errors, by its name in the catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ErrorClass(pub(super) Class);

impl ErrorClass {
    fn parse(text: &str) -> Result<Self, String> {
        if let Some(class) = Class::ALL.into_iter().find(|class| class.name() == text) {
            return Ok(Self(class));
        }
        let near = later::nearest(text, Class::ALL.iter().map(|class| class.name()));
        Err(near.map_or_else(
            || "expected a class such as `rate_limited`; `docs/errors.md` lists them".to_owned(),
            |near| format!("no such class: did you mean `{near}`?"),
        ))
    }
}

/// An origin as a browser sends it: lower case, without the scheme's own port; or `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin(pub(super) String);

impl Origin {
    fn parse(text: &str) -> Result<Self, String> {
        if text == "*" {
            return Ok(Self(text.to_owned()));
        }
        let refused = || {
            "expected an origin such as `https://app.example.com`, without a path, or `*`"
                .to_owned()
        };
        let folded = text.to_ascii_lowercase();
        let (scheme, authority) = folded.split_once("://").ok_or_else(refused)?;
        let scheme_legal = scheme.starts_with(|first: char| first.is_ascii_lowercase())
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
        let default_port = match scheme {
            "http" => ":80",
            "https" => ":443",
            _ => "",
        };
        let (host, port) = split_port(authority).ok_or_else(refused)?;
        if !scheme_legal || !is_host(host) {
            return Err(refused());
        }
        let port = port.map_or(String::new(), |port| format!(":{port}"));
        let port = if port == default_port {
            ""
        } else {
            port.as_str()
        };
        Ok(Self(format!("{scheme}://{host}{port}")))
    }
}

/// A host name or IP address as it stands in a `Host` header, without the port; lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostName(pub(super) String);

impl HostName {
    fn parse(text: &str) -> Result<Self, String> {
        let folded = text.to_ascii_lowercase();
        let host = folded.strip_suffix('.').unwrap_or(&folded);
        if !is_host(host) {
            return Err(
                "expected a host name such as `rpc.example.com`, without scheme and port"
                    .to_owned(),
            );
        }
        Ok(Self(host.to_owned()))
    }
}

/// The SHA-256 of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyHash(pub(super) [u8; 32]);

impl KeyHash {
    fn parse(text: &str) -> Result<Self, String> {
        let refused = || {
            "expected `sha256:` and 64 hexadecimal digits, as `highwater keys create NAME` prints \
             it (the hash, not the key)"
                .to_owned()
        };
        let digits = text
            .strip_prefix("sha256:")
            .filter(|digits| digits.len() == 64);
        let digits = digits.ok_or_else(refused)?.as_bytes();
        let mut hash = [0; 32];
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            let nibble = |digit: u8| char::from(digit).to_digit(16);
            let (high, low) = nibble(pair[0]).zip(nibble(pair[1])).ok_or_else(refused)?;
            *byte = u8::try_from(high * 16 + low).map_err(|_| refused())?;
        }
        Ok(Self(hash))
    }
}

/// A listener's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Address(pub(super) SocketAddr);

impl Address {
    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map(Self).map_err(|_| {
            "expected an IP address and a port, such as `127.0.0.1:4545` or `[::1]:4545`".to_owned()
        })
    }
}

/// A listener's address or `off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AddressOrOff(pub(super) Option<SocketAddr>);

impl AddressOrOff {
    fn parse(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self(None));
        }
        Address::parse(text)
            .map(|address| Self(Some(address.0)))
            .map_err(|message| format!("{message}, or `off`"))
    }
}

/// A duration with its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Period(pub(super) Duration);

impl Period {
    fn parse(text: &str) -> Result<Self, String> {
        unit::parse_duration(text).map(Self)
    }
}

/// One address, or all from one to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Addresses(pub(super) std::ops::RangeInclusive<[u8; 20]>);

impl Addresses {
    fn parse(text: &str) -> Result<Self, String> {
        let refused =
            || "expected an address, or `FROM-TO`, of 40 hex digits after `0x`".to_owned();
        let address = |text: &str| {
            let digits = text.trim().strip_prefix("0x")?;
            let mut address = [0; 20];
            for (place, byte) in address.iter_mut().enumerate() {
                *byte = u8::from_str_radix(digits.get(place * 2..place * 2 + 2)?, 16).ok()?;
            }
            (digits.len() == 40).then_some(address)
        };
        let (from, to) = text.split_once('-').unwrap_or((text, text));
        let range = address(from).zip(address(to)).ok_or_else(refused)?;
        if range.0 > range.1 {
            return Err("the first address must not be above the last".to_owned());
        }
        Ok(Self(range.0..=range.1))
    }
}

/// A time of the day, as the time since midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimeOfDay(pub(super) Duration);

impl TimeOfDay {
    fn parse(text: &str) -> Result<Self, String> {
        unit::parse_time_of_day(text).map(Self)
    }
}

/// A size with its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size(pub(super) u64);

impl Size {
    fn parse(text: &str) -> Result<Self, String> {
        unit::parse_size(text).map(Self)
    }
}

/// A log filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LogLevel(pub(super) String);

impl LogLevel {
    fn parse(text: &str) -> Result<Self, String> {
        const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];
        let refused = "expected `error`, `warn`, `info`, `debug`, `trace`, `off`, or a filter \
                       such as `info,highwater=debug`";
        // The filter's own parser takes a misspelt level for the name of a module.
        let legal = text.split(',').all(|part| {
            let level = part.rsplit('=').next().unwrap_or_default().trim();
            LEVELS.contains(&level.to_ascii_lowercase().as_str())
        });
        if !legal || tracing_subscriber::EnvFilter::try_new(text).is_err() {
            return Err(refused.to_owned());
        }
        Ok(Self(text.to_owned()))
    }
}

fn parse_log_format(text: &str) -> Result<LogFormat, String> {
    match text {
        "auto" => Ok(LogFormat::Auto),
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err("expected `auto`, `text` or `json`".to_owned()),
    }
}

fn parse_write_policy(text: &str) -> Result<WritePolicy, String> {
    match text {
        "once" => Ok(WritePolicy::Once),
        "failover" => Ok(WritePolicy::Failover),
        "broadcast" => Ok(WritePolicy::Broadcast),
        _ => Err("expected `once`, `failover` or `broadcast`".to_owned()),
    }
}

/// A credential, hidden from every message.
#[derive(Clone)]
pub(super) struct Hidden<T>(pub(super) T);

fn split_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let after_host = authority.rfind(']').map_or(0, |bracket| bracket + 1);
    match authority[after_host..].split_once(':') {
        None => Some((authority, None)),
        Some((host, port)) => {
            let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
            let port = port.parse().ok().filter(|_| digits)?;
            Some((&authority[..after_host + host.len()], Some(port)))
        }
    }
}

/// A host name, an IPv4 address or an IPv6 address in brackets.
fn is_host(host: &str) -> bool {
    if let Some(address) = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        return address.parse::<std::net::Ipv6Addr>().is_ok();
    }
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    host.len() <= 253
        && host
            .split('.')
            .all(|part| !part.is_empty() && part.bytes().all(legal))
}

/// Takes a string and nothing else, and says what it should hold.
pub(super) struct Expected(pub(super) &'static str);

impl Visitor<'_> for Expected {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} as a string", self.0)
    }

    fn visit_str<E>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }

    fn visit_string<E>(self, text: String) -> Result<String, E> {
        Ok(text)
    }
}

/// Lets a shaped text be an option: read from a string, described in the schema.
macro_rules! option_text {
    ($($name:ident, $parse:path, $what:literal, $schema:tt;)*) => {$(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = deserializer.deserialize_string(Expected($what))?;
                $parse(&text).map_err(D::Error::custom)
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )*};
}
pub(super) use option_text;

// A string may also hold a variable, whose content no pattern can foresee.
option_text! {
    ChainName, ChainName::parse, "a chain name", { "type": "string", "format": "chain name" };
    Label, Label::parse, "a name",
        { "type": "string", "format": "label", "maxLength": LONGEST_NAME };
    MethodPattern, MethodPattern::parse, "a method name",
        { "type": "string", "format": "method or prefix*" };
    Phrase, Phrase::parse, "a phrase", { "type": "string", "format": "words" };
    ErrorClass, ErrorClass::parse, "a class of errors",
        { "type": "string", "enum": Class::ALL.map(Class::name) };
    Origin, Origin::parse, "an origin", { "type": "string", "format": "origin or *" };
    HostName, HostName::parse, "a host name", { "type": "string", "format": "host name" };
    Address, Address::parse, "an address and port",
        { "type": "string", "format": "address:port" };
    AddressOrOff, AddressOrOff::parse, "an address and port or `off`",
        { "type": "string", "format": "address:port or off" };
    Period, Period::parse, "a duration such as `9s`",
        { "type": "string", "format": "duration", "pattern": r"^[0-9]+ *(ms|s|m|h)$|\$" };
    Addresses, Addresses::parse, "an address, or two with `-` between",
        { "type": "string", "format": "address or FROM-TO" };
    Size, Size::parse, "a size such as `5MiB`",
        { "type": "string", "format": "size", "pattern": r"^[0-9]+ *(B|[kMG]B|[KMG]iB)$|\$" };
    TimeOfDay, TimeOfDay::parse, "a time of the day such as `06:30`",
        { "type": "string", "format": "HH:MM", "pattern": r"^[0-2][0-9]:[0-5][0-9]$|\$" };
    LogLevel, LogLevel::parse, "a level", { "type": "string", "format": "log filter" };
    LogFormat, parse_log_format, "`auto`, `text` or `json`",
        { "type": "string", "enum": ["auto", "text", "json"] };
    WritePolicy, parse_write_policy, "`once`, `failover` or `broadcast`",
        { "type": "string", "enum": ["once", "failover", "broadcast"] };
    KeyHash, KeyHash::parse, "the hash of a key", { "type": "string", "format": "sha256:hex" };
    Secret, parse_secret, "a value", { "type": "string", "format": "secret" };
}

fn parse_secret(text: &str) -> Result<Secret, String> {
    if text.is_empty() {
        return Err("expected a value, found an empty string".to_owned());
    }
    Ok(Secret::new(text.to_owned()))
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Hidden<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Inner<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Inner<T> {
            type Value = Hidden<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(
                self,
                deserializer: D,
            ) -> Result<Hidden<T>, D::Error> {
                T::deserialize(deserializer).map(Hidden)
            }
        }
        deserializer
            .deserialize_newtype_struct(super::field::SECRET, Inner(std::marker::PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for Hidden<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // hardening A3
    #[test]
    fn writes_an_origin_as_a_browser_sends_it() {
        for (text, expected) in [
            ("*", "*"),
            ("https://App.Example.com", "https://app.example.com"),
            ("https://app.example.com:443", "https://app.example.com"),
            ("http://localhost:3000", "http://localhost:3000"),
            ("http://[::1]:80", "http://[::1]"),
            ("chrome-extension://abcdef", "chrome-extension://abcdef"),
        ] {
            assert_eq!(
                Origin::parse(text).map(|origin| origin.0),
                Ok(expected.to_owned())
            );
        }
        for text in [
            "",
            "null",
            "app.example.com",
            "https://",
            "https://a/",
            "https://a?b",
            "https://u@a",
            "https://a:x",
            "https://a:+1",
            "https://a:99999",
            "://a",
            "https://a b",
            "https://*.a",
        ] {
            assert!(Origin::parse(text).is_err(), "{text}");
        }
    }

    // hardening A11
    #[test]
    fn refuses_a_label_that_could_break_a_header_or_hold_a_url() {
        assert!(Label::parse("127.0.0.1:8545").is_ok());
        assert!(Label::parse("[::1]:8545").is_ok());
        for text in [
            "",
            "a b",
            "a/b",
            "https://x",
            "a\r\nb",
            "é",
            "a=b",
            &"x".repeat(65),
        ] {
            assert!(Label::parse(text).is_err(), "{text:?}");
        }
    }

    // G-5
    #[test]
    fn reads_the_hash_of_a_key_in_either_case() {
        let text = format!("sha256:{}", "aB".repeat(32));
        assert_eq!(KeyHash::parse(&text), Ok(KeyHash([0xab; 32])));
        for text in [
            "",
            "sha256:",
            &"ab".repeat(32),
            &format!("sha256:{}", "g".repeat(64)),
            &format!("sha256:{}", "é".repeat(32)),
            &format!("sha512:{}", "a".repeat(64)),
        ] {
            assert!(KeyHash::parse(text).is_err(), "{text}");
        }
    }

    // hardening A2
    #[test]
    fn reads_host_names_without_scheme_and_port() {
        assert_eq!(
            HostName::parse("RPC.Example.com."),
            Ok(HostName("rpc.example.com".to_owned()))
        );
        for text in ["", ".", "a:80", "http://a", "a/b", "*", "::1", "a..b"] {
            assert!(HostName::parse(text).is_err(), "{text}");
        }
    }

    // G-12
    #[test]
    fn refuses_a_misspelt_log_level() {
        for text in ["info", "WARN", "info,highwater_gateway=debug", "off"] {
            assert!(LogLevel::parse(text).is_ok(), "{text}");
        }
        for text in ["", "inof", "info,", "highwater", "a=b=c"] {
            assert!(LogLevel::parse(text).is_err(), "{text}");
        }
    }
}
