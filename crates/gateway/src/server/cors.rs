//! Which web pages may use the gateway, and the headers that tell their browsers so
//! (hardening A1, A3, A4).
//!
//! A request without `Origin` comes from no page and is fine. One with an `Origin` that is not
//! allowed is refused before its body is looked at, whatever its content type: a `text/plain`
//! POST needs no preflight, so hiding the answer from the page would come too late. The origin
//! `null` (a sandboxed frame, a local file) is refused unless listed by that name, even beside
//! `*`. Credentials are never allowed, so a wildcard exposes nothing that a page could not fetch
//! by itself.

use http::{
    HeaderMap, HeaderValue,
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
        HeaderName, ORIGIN, VARY,
    },
};
use std::borrow::Cow;

const EXPOSED: HeaderValue = HeaderValue::from_static(
    "Retry-After, X-Highwater-Endpoint, X-Highwater-Attempts, X-Highwater-Cache, X-Highwater-Block",
);
const METHODS: HeaderValue = HeaderValue::from_static("POST, GET, OPTIONS");
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");
const VARY_ORIGIN: HeaderValue = HeaderValue::from_static("Origin");
const ASKS_LOCAL: HeaderName = HeaderName::from_static("access-control-request-private-network");
const ALLOWS_LOCAL: HeaderName = HeaderName::from_static("access-control-allow-private-network");

/// The origins that the server accepts, and those that only some keys bring.
#[derive(Clone, Debug, Default)]
pub(crate) struct OriginRule {
    any: bool,
    server: Origins,
    keys: Origins,
}

/// A list of origins in normal form.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origins(Vec<Box<str>>);

/// What a request says about its origin.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// Nothing: no page is behind it.
    None,
    /// An accepted origin.
    Accepted {
        /// As the browser wrote it, for the answer.
        value: HeaderValue,
        /// Accepted for everybody, not only under a key that lists it.
        everybody: bool,
    },
}

impl Origins {
    pub(crate) fn new<'a>(origins: impl IntoIterator<Item = &'a String>) -> Self {
        Self(
            origins
                .into_iter()
                .map(|origin| normal(origin).into())
                .collect(),
        )
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn contains(&self, origin: &HeaderValue) -> bool {
        let Ok(text) = origin.to_str() else {
            return false;
        };
        self.has(&normal(text), text)
    }

    fn has(&self, normal: &str, written: &str) -> bool {
        self.0
            .iter()
            .any(|o| **o == *normal || (**o == *"*" && written != "null"))
    }
}

impl OriginRule {
    pub(crate) fn new<'a>(
        server: &'a [String],
        keys: impl IntoIterator<Item = &'a String>,
    ) -> Self {
        Self {
            any: server.iter().any(|origin| origin == "*"),
            server: Origins::new(server),
            keys: Origins::new(keys),
        }
    }

    /// Reads the `Origin` of a request. `Err` means 403.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<Origin, ()> {
        let mut all = headers.get_all(ORIGIN).iter();
        let Some(value) = all.next() else {
            return Ok(Origin::None);
        };
        if all.next().is_some() {
            return Err(());
        }
        let text = value.to_str().map_err(|_| ())?;
        let normal = normal(text);
        let everybody = self.server.has(&normal, text);
        if everybody || self.keys.has(&normal, text) {
            Ok(Origin::Accepted {
                value: value.clone(),
                everybody,
            })
        } else {
            Err(())
        }
    }

    /// Adds what a browser needs to let its page read an answer.
    pub(crate) fn answer(&self, origin: &Origin, headers: &mut HeaderMap) {
        let Origin::Accepted { value, everybody } = origin else {
            return;
        };
        let allow = if self.any && *everybody && value != "null" {
            HeaderValue::from_static("*")
        } else {
            value.clone()
        };
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, allow);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        // Compression may have left a value of its own there.
        headers.append(VARY, VARY_ORIGIN);
    }

    /// Adds the answer to a preflight, beside what [`OriginRule::answer`] adds to every answer.
    pub(crate) fn preflight(origin: &Origin, asked: &HeaderMap, headers: &mut HeaderMap) {
        let Origin::Accepted { .. } = origin else {
            headers.insert(VARY, VARY_ORIGIN);
            return;
        };
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        let allow = asked
            .get(ACCESS_CONTROL_REQUEST_HEADERS)
            .cloned()
            .unwrap_or(HeaderValue::from_static("content-type"));
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, allow);
        headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
        if asked.get(&ASKS_LOCAL).is_some_and(|v| v == "true") {
            headers.insert(ALLOWS_LOCAL, HeaderValue::from_static("true"));
        }
    }
}

/// Lower case, without the scheme's own port and a trailing slash.
fn normal(origin: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(origin.strip_suffix('/').unwrap_or(origin));
    if text.bytes().any(|b| b.is_ascii_uppercase()) {
        text = Cow::Owned(text.to_ascii_lowercase());
    }
    let port = if text.starts_with("https://") {
        ":443"
    } else if text.starts_with("http://") {
        ":80"
    } else {
        return text;
    };
    match text.strip_suffix(port) {
        Some(short) => Cow::Owned(short.to_owned()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::{Origin, OriginRule};
    use http::{HeaderMap, HeaderValue, header::ORIGIN};

    fn rule(server: &[&str], keys: &[&str]) -> OriginRule {
        let own = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        OriginRule::new(&own(server), &own(keys))
    }

    fn check(rule: &OriginRule, origin: &str) -> Result<bool, ()> {
        let headers = HeaderMap::from_iter([(ORIGIN, HeaderValue::from_str(origin).unwrap())]);
        rule.check(&headers).map(|origin| match origin {
            Origin::None => unreachable!("there is one"),
            Origin::Accepted { everybody, .. } => everybody,
        })
    }

    // hardening A3, A4
    #[test]
    fn compares_origins_by_case_and_default_port_but_nothing_else() {
        let rule = rule(
            &["https://App.example.com", "http://localhost:3000"],
            &["https://k.test"],
        );
        for origin in [
            "https://app.example.com",
            "HTTPS://APP.EXAMPLE.COM",
            "https://app.example.com:443",
            "http://localhost:3000",
        ] {
            assert_eq!(check(&rule, origin), Ok(true), "{origin}");
        }
        assert_eq!(
            check(&rule, "https://k.test"),
            Ok(false),
            "only under its key"
        );
        for origin in [
            "http://app.example.com",
            "https://app.example.com:8443",
            "https://app.example.com.evil.test",
            "https://evil.test",
            "http://localhost",
            "null",
            "",
            "https://xapp.example.com",
        ] {
            assert_eq!(check(&rule, origin), Err(()), "{origin}");
        }
    }

    // hardening A4
    #[test]
    fn null_is_refused_unless_listed_by_name() {
        assert_eq!(check(&rule(&["*"], &[]), "null"), Err(()));
        assert_eq!(check(&rule(&["*"], &[]), "https://any.test"), Ok(true));
        assert_eq!(check(&rule(&["*", "null"], &[]), "null"), Ok(true));
    }

    // hardening A3
    #[test]
    fn two_origins_are_refused_and_credentials_never_allowed() {
        let rule = rule(&["*"], &[]);
        let mut headers = HeaderMap::new();
        headers.append(ORIGIN, HeaderValue::from_static("https://a.test"));
        let origin = rule.check(&headers).unwrap();
        let mut answer = HeaderMap::new();
        rule.answer(&origin, &mut answer);
        OriginRule::preflight(&origin, &headers, &mut answer);
        assert!(!answer.contains_key("access-control-allow-credentials"));
        headers.append(ORIGIN, HeaderValue::from_static("https://b.test"));
        assert!(rule.check(&headers).is_err());
    }
}
