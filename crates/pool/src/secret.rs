//! URLs that may carry a credential, and the removal of that credential from foreign texts (R-2).
//!
//! The type shows its host and nothing else. What else of the URL could be a credential (user,
//! password, path segments and query values of 8 bytes and more) is known to a [`Scrubber`], which
//! takes it out of the *errors* that an upstream words: as it stands in the URL, decoded, and in
//! base64. Results are the chain's data and stay untouched.

use std::fmt;

/// Shortest path segment or query value that is taken for a key, in bytes. Shorter ones are words
/// such as `v2` or `mainnet`.
const SHORTEST_KEY: usize = 8;
/// Shortest user name or password that is scrubbed, in bytes.
const SHORTEST_LOGIN: usize = 4;

/// An endpoint's URL. It is a secret (R-2): no `Display`, no `Serialize`, and `Debug` shows only
/// the host.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretUrl(url::Url);

impl SecretUrl {
    /// Reads an `http` or `https` URL.
    ///
    /// # Errors
    /// A text that says what is wrong without repeating the URL.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut url = match url::Url::parse(text.trim()) {
            Ok(url) => url,
            Err(url::ParseError::RelativeUrlWithoutBase) => {
                return Err("not a URL: it must begin with http:// or https://".into());
            }
            Err(url::ParseError::EmptyHost) => return Err("the URL names no host".into()),
            Err(url::ParseError::InvalidPort) => return Err("the URL's port is no port".into()),
            Err(_) => return Err("not a URL".into()),
        };
        if !matches!(url.scheme(), "http" | "https") {
            return Err("unsupported scheme: the URL must begin with http:// or https://".into());
        }
        if url.port() == Some(0) {
            return Err("the URL's port is 0".into());
        }
        url.set_fragment(None);
        Ok(Self(url))
    }

    /// The bare host name, the only part that may be shown.
    #[must_use]
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// The URL itself, for the transport only.
    #[must_use]
    pub const fn expose(&self) -> &url::Url {
        &self.0
    }

    /// The value of the `Authorization` header that the URL's user and password ask for.
    pub(crate) fn basic(&self) -> Option<String> {
        let (user, password) = self.login()?;
        Some(format!(
            "Basic {}",
            base64(&[&user[..], b":", &password[..]].concat(), STANDARD)
        ))
    }

    /// What takes this URL's credentials out of a text.
    #[must_use]
    pub fn scrubber(&self) -> Scrubber {
        let mut plain: Vec<Vec<u8>> = Vec::new();
        let mut keep = |raw: &str, shortest: usize| {
            if raw.len() >= shortest {
                plain.push(raw.as_bytes().to_vec());
                plain.push(percent_decoded(raw));
            }
        };
        keep(self.0.username(), SHORTEST_LOGIN);
        keep(self.0.password().unwrap_or_default(), SHORTEST_LOGIN);
        for segment in self.0.path().split('/') {
            keep(segment, SHORTEST_KEY);
        }
        for pair in self.0.query().unwrap_or_default().split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            keep(name, SHORTEST_KEY);
            keep(value, SHORTEST_KEY);
        }
        if let Some((user, password)) = self.login() {
            plain.push([&user[..], b":", &password[..]].concat());
        }
        let mut needles: Vec<String> = Vec::new();
        for secret in plain {
            for alphabet in [STANDARD, URL_SAFE] {
                needles.push(base64(&secret, alphabet).trim_end_matches('=').to_owned());
            }
            if let Ok(secret) = String::from_utf8(secret) {
                needles.push(quoted(&secret));
                needles.push(secret);
            }
        }
        needles.retain(|needle| needle.len() >= SHORTEST_LOGIN);
        // Longest first: a secret that holds another one is replaced whole.
        needles.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        needles.dedup();
        Scrubber { needles }
    }

    fn login(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let (user, password) = (self.0.username(), self.0.password());
        if user.is_empty() && password.is_none() {
            return None;
        }
        Some((
            percent_decoded(user),
            percent_decoded(password.unwrap_or_default()),
        ))
    }
}

impl fmt::Debug for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretUrl({})", self.host())
    }
}

/// Takes the credentials of one URL out of texts. Holds them, so it shows nothing.
#[derive(Clone, Default)]
pub struct Scrubber {
    needles: Vec<String>,
}

impl Scrubber {
    /// What stands where a credential stood.
    pub const MASK: &'static str = "***";

    /// The text without credentials; `None` if it has none and may be used as it is.
    #[must_use]
    pub fn scrub(&self, text: &str) -> Option<String> {
        let mut clean: Option<String> = None;
        for needle in &self.needles {
            let current = clean.as_deref().unwrap_or(text);
            if current.contains(needle.as_str()) {
                clean = Some(current.replace(needle.as_str(), Self::MASK));
            }
        }
        clean
    }

    /// As [`Scrubber::scrub`], for a JSON text. Its strings may spell a credential with escapes that
    /// they do not need: many encoders write `&`, `<` and `>` or all that is not ASCII so. Where
    /// there is a credential, the text comes back without such escapes, and means the same.
    #[must_use]
    pub fn scrub_json(&self, json: &str) -> Option<String> {
        if json.contains('\\') {
            self.scrub(&unescaped(json))
        } else {
            self.scrub(json)
        }
    }
}

/// A text as JSON must write it within quotes, with no escape that is not needed.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\0'..='\u{1f}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out
}

/// A JSON text with the escapes that it does not need written out, and the others in one form.
fn unescaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some((plain, escape)) = rest.split_once('\\') {
        out.push_str(plain);
        let (c, used) = match escape.as_bytes().first() {
            Some(b'/') => (Some('/'), 1),
            Some(b'u') => character(escape),
            // Any other is a needed one, of one byte.
            Some(_) => (None, 1),
            None => (None, 0),
        };
        match c {
            Some(c) => out.push_str(&quoted(c.encode_utf8(&mut [0; 4]))),
            None => {
                out.push('\\');
                out.push_str(escape.get(..used).unwrap_or_default());
            }
        }
        rest = escape.get(used..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// The character of `uXXXX` or of a pair `uXXXX\uXXXX`, and the bytes read. None for half a pair.
fn character(escape: &str) -> (Option<char>, usize) {
    let unit = |from: usize| {
        let digits = escape.get(from..from + 5)?.strip_prefix('u')?;
        u16::from_str_radix(digits, 16).ok()
    };
    let Some(first) = unit(0) else {
        return (None, 1);
    };
    let second = match escape.as_bytes().get(5) {
        Some(b'\\') => unit(6),
        _ => None,
    };
    let units = [first, second.unwrap_or_default()];
    match char::decode_utf16(units).next() {
        Some(Ok(c)) => (Some(c), if c.len_utf16() == 2 { 11 } else { 5 }),
        _ => (None, 5),
    }
}

impl fmt::Debug for Scrubber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scrubber")
    }
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn base64(bytes: &[u8], alphabet: &[u8; 64]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let at = |i: usize| u32::from(chunk.get(i).copied().unwrap_or_default());
        let group = at(0) << 16 | at(1) << 8 | at(2);
        for position in 0..4_usize {
            if position <= chunk.len() {
                let sextet = (group >> (18 - 6 * position)) & 63;
                out.push(char::from(alphabet[sextet as usize]));
            } else {
                out.push('=');
            }
        }
    }
    out
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escape = match tail {
            [high, low, ..] if *first == b'%' => hex(*high).zip(hex(*low)),
            _ => None,
        };
        if let Some((high, low)) = escape {
            out.push(high << 4 | low);
            rest = &tail[2..];
        } else {
            out.push(*first);
            rest = tail;
        }
    }
    out
}

const fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // R-2
    #[test]
    fn refuses_what_is_no_http_url_without_repeating_it() {
        let key = "SECRETKEY12345";
        for text in [
            key.to_owned(),
            format!("wss://node.example/{key}"),
            format!("ftp://node.example/{key}"),
            format!("file:///{key}"),
            "http://".to_owned(),
            format!("http:///?{key}"),
            format!("http://node.example:99999/{key}"),
            format!("http://node.example:0/{key}"),
            format!("http://no de/{key}"),
            format!("localhost:8545/{key}"),
        ] {
            match SecretUrl::parse(&text) {
                Ok(url) => assert_eq!(url.host(), key.to_lowercase(), "{text}"),
                Err(problem) => assert!(!problem.contains(key), "{text}: {problem}"),
            }
        }
        assert!(SecretUrl::parse("wss://node.example").is_err());
        assert!(SecretUrl::parse("").is_err());
    }

    // R-2
    #[test]
    fn shows_the_host_and_nothing_else() {
        let url = SecretUrl::parse("https://user:hunter22@node.example:8443/v2/KEY?q=VALUE#f");
        let url = url.unwrap();
        assert_eq!(format!("{url:?}"), "SecretUrl(node.example)");
        assert_eq!(format!("{:?}", url.scrubber()), "Scrubber");
        assert_eq!(url.host(), "node.example");
        assert_eq!(url.expose().fragment(), None);
    }

    // R-2, hardening C4
    #[test]
    fn takes_every_form_of_a_credential_out_of_a_text() {
        let url = SecretUrl::parse(
            "https://alice:open%20sesame@node.example/v2/pathkey-0001/x?apikey=queryk%2Fey1&n=1",
        );
        let scrubber = url.unwrap().scrubber();
        for secret in [
            "pathkey-0001",
            "queryk%2Fey1",
            "queryk/ey1",
            "alice",
            "open%20sesame",
            "open sesame",
            "cGF0aGtleS0wMDAx",
            "YWxpY2U6b3BlbiBzZXNhbWU",
        ] {
            let text = format!("no access with {secret}, sorry");
            assert_eq!(
                scrubber.scrub(&text).unwrap(),
                "no access with ***, sorry",
                "{secret}"
            );
        }
        assert_eq!(scrubber.scrub("v2 x 1 node.example"), None);
    }

    // R-2, hardening C4
    #[test]
    fn sees_through_every_way_to_escape_a_credential_in_json() {
        let url = SecretUrl::parse(
            "https://al%22ice:r%26d%5C%C3%A9%F0%9F%94%91@node.example/pathkey-0001",
        );
        let scrubber = url.unwrap().scrubber();
        for secret in [
            r"\u0070athkey-0001",
            r"pathkey\u002D0001",
            r"\u0070\u0061\u0074\u0068\u006b\u0065\u0079\u002d\u0030\u0030\u0030\u0031",
            r#"al\"ice"#,
            r"al\u0022ice",
            r"r&d\\é🔑",
            r"r\u0026d\\\u00e9\ud83d\udd11",
            r"r\u0026d\u005c\u00E9🔑",
        ] {
            let json = format!(r#"{{"message":"no access\n with {secret}\t \ud83d"}}"#);
            assert_eq!(
                scrubber.scrub_json(&json).unwrap(),
                r#"{"message":"no access\n with ***\t \ud83d"}"#,
                "{secret}"
            );
        }
        assert_eq!(
            scrubber.scrub_json(r#""\u0070athkey \\u0070athkey-0001""#),
            None
        );
        for broken in [
            r"\",
            r"\u",
            r"\u00",
            r"\uzzzz",
            r"\ud83d\",
            r"\ud83d\u",
            r"\é",
        ] {
            assert_eq!(scrubber.scrub_json(broken), None);
        }
    }

    // R-2
    #[test]
    fn replaces_a_credential_that_holds_another_one_whole() {
        let url = SecretUrl::parse("https://node.example/abcdefgh/abcdefgh-long").unwrap();
        assert_eq!(
            url.scrubber().scrub("abcdefgh-long abcdefgh").unwrap(),
            "*** ***"
        );
    }

    // RFC 4648, section 10
    #[test]
    fn encodes_base64_as_the_standard_does() {
        let cases = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
        ];
        for (plain, coded) in cases {
            assert_eq!(base64(plain.as_bytes(), STANDARD), coded);
        }
        let url = SecretUrl::parse("http://Aladdin:open%20sesame@node.example").unwrap();
        assert_eq!(url.basic().unwrap(), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert_eq!(
            SecretUrl::parse("http://node.example").unwrap().basic(),
            None
        );
    }
}
