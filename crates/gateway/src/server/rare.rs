//! Which of the headers that few requests carry a request carries.
//!
//! Each look-up of a header costs a hash and a probe, and a call needs to know of eight that it does
//! not have. One pass over the names tells of all of them.

use http::{
    HeaderMap, HeaderName,
    header::{ACCEPT_ENCODING, CONTENT_ENCODING, ORIGIN, TRANSFER_ENCODING},
};

/// How long a caller wants to wait at most.
pub(super) const REQUEST_TIMEOUT: HeaderName = HeaderName::from_static("x-request-timeout");

/// The session that a call belongs to (P-8).
pub(super) const SESSION: HeaderName = HeaderName::from_static("x-highwater-session");
/// The block that the caller has seen (P-8).
pub(super) const MIN_BLOCK: HeaderName = HeaderName::from_static("x-highwater-min-block");
/// Whether answers may come from memory (P-11); in answers, what came of it.
pub(super) const CACHE: HeaderName = HeaderName::from_static("x-highwater-cache");

/// The headers of one request that most requests do without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rare {
    /// `Origin`: a web page is behind it.
    pub(super) origin: bool,
    /// `Content-Encoding`: its body may be packed.
    pub(super) encoded: bool,
    /// `Transfer-Encoding`: its body comes in chunks.
    pub(super) chunked: bool,
    /// `Accept-Encoding`: the answer may be packed.
    pub(super) accepts: bool,
    /// [`REQUEST_TIMEOUT`].
    pub(super) timeout: bool,
    /// [`SESSION`], [`MIN_BLOCK`] or [`CACHE`].
    pub(super) wishes: bool,
}

impl Rare {
    /// Looks at the names.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut rare = Self::default();
        for name in headers.keys() {
            rare.origin |= name == ORIGIN;
            rare.encoded |= name == CONTENT_ENCODING;
            rare.chunked |= name == TRANSFER_ENCODING;
            rare.accepts |= name == ACCEPT_ENCODING;
            rare.timeout |= name == REQUEST_TIMEOUT;
            rare.wishes |= name == SESSION || name == MIN_BLOCK || name == CACHE;
        }
        rare
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn sees_each_of_them_whatever_stands_beside_it() {
        let value = HeaderValue::from_static("x");
        let with = |names: &[HeaderName]| {
            let headers = names.iter().map(|name| (name.clone(), value.clone()));
            Rare::of(&headers.collect())
        };
        let plain = [http::header::HOST, http::header::CONTENT_TYPE];
        assert_eq!(with(&plain), Rare::default());
        let all = [
            ORIGIN,
            CONTENT_ENCODING,
            TRANSFER_ENCODING,
            ACCEPT_ENCODING,
            REQUEST_TIMEOUT,
            SESSION,
        ];
        let seen = |rare: Rare| {
            [
                rare.origin,
                rare.encoded,
                rare.chunked,
                rare.accepts,
                rare.timeout,
                rare.wishes,
            ]
        };
        for (at, name) in all.iter().enumerate() {
            let mut names = plain.to_vec();
            names.insert(at % 3, name.clone());
            let mut expected = [false; 6];
            expected[at] = true;
            assert_eq!(seen(with(&names)), expected, "{name}");
        }
        assert_eq!(seen(with(&all)), [true; 6]);
    }
}
