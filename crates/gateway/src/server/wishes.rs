//! What a caller wishes of its reads, in headers: a session, a block to be seen at least, an answer
//! that is not from memory (P-8, P-11).

use super::rare::{CACHE, MIN_BLOCK, Rare, SESSION};
use crate::{respond::Refusal, sessions};
use http::{HeaderMap, HeaderName};

/// The wishes of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wishes<'a> {
    /// The name of its session.
    pub(crate) session: Option<&'a str>,
    /// A block that the caller has seen elsewhere.
    pub(crate) min_block: Option<u64>,
    /// Nothing from memory.
    pub(crate) bypass: bool,
}

impl<'a> Wishes<'a> {
    /// Reads them. A wish that cannot be understood is refused: to pass over it would break a promise
    /// without a word.
    pub(super) fn of(headers: &'a HeaderMap, rare: Rare) -> Result<Self, Refusal<'static>> {
        if !rare.wishes {
            return Ok(Self::default());
        }
        let session = one(headers, &SESSION)
            .map_err(|()| Refusal::Header("X-Highwater-Session: expected one name"))?;
        let named = |name: &str| (1..=sessions::LONGEST).contains(&name.len());
        if !session.is_none_or(named) {
            let problem = "X-Highwater-Session: expected 1 to 128 visible characters";
            return Err(Refusal::Header(problem));
        }
        let problem =
            "X-Highwater-Min-Block: expected a block number, decimal or 0x and hex digits";
        let min_block = one(headers, &MIN_BLOCK).map_err(|()| Refusal::Header(problem))?;
        let min_block = match min_block {
            None => None,
            Some(text) => Some(number(text).ok_or(Refusal::Header(problem))?),
        };
        let problem = "X-Highwater-Cache: only `bypass` is known";
        let bypass = match one(headers, &CACHE).map_err(|()| Refusal::Header(problem))? {
            None => false,
            Some(word) if word.eq_ignore_ascii_case("bypass") => true,
            Some(_) => return Err(Refusal::Header(problem)),
        };
        Ok(Self {
            session,
            min_block,
            bypass,
        })
    }
}

/// The value of a header that may stand once.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, ()> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let value = value.to_str().map_err(|_| ())?.trim();
    values.next().is_none().then_some(Some(value)).ok_or(())
}

fn number(text: &str) -> Option<u64> {
    let digits = |text: &str, radix| {
        let legal = !text.is_empty() && text.chars().all(|c| c.is_digit(radix));
        legal
            .then(|| u64::from_str_radix(text, radix).ok())
            .flatten()
    };
    match text.strip_prefix("0x") {
        Some(hex) => digits(hex, 16),
        None => digits(text, 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn wishes(pairs: &[(HeaderName, &str)]) -> Result<(Option<String>, Option<u64>, bool), String> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name.clone(), HeaderValue::from_str(value).unwrap());
        }
        let wishes = Wishes::of(&headers, Rare::of(&headers));
        wishes
            .map(|w| (w.session.map(str::to_owned), w.min_block, w.bypass))
            .map_err(|refusal| refusal.wire().message.into_owned())
    }

    // P-8, P-11
    #[test]
    fn what_is_understood_is_a_wish_and_the_rest_is_refused() {
        assert_eq!(wishes(&[]), Ok((None, None, false)));
        let all = [(SESSION, "tab 7"), (MIN_BLOCK, "0x64"), (CACHE, "Bypass")];
        assert_eq!(wishes(&all), Ok((Some("tab 7".into()), Some(100), true)));
        assert_eq!(
            wishes(&[(MIN_BLOCK, " 100 ")]),
            Ok((None, Some(100), false))
        );
        for (name, value) in [
            (MIN_BLOCK, ""),
            (MIN_BLOCK, "latest"),
            (MIN_BLOCK, "-1"),
            (MIN_BLOCK, "+1"),
            (MIN_BLOCK, "0x"),
            (MIN_BLOCK, "99999999999999999999999"),
            (CACHE, "no-store"),
            (SESSION, ""),
        ] {
            let refused = wishes(&[(name.clone(), value)]).unwrap_err();
            let shown = name.as_str();
            assert!(refused.to_ascii_lowercase().starts_with(shown), "{refused}");
        }
        assert!(wishes(&[(SESSION, &"x".repeat(129))]).is_err());
        assert!(wishes(&[(SESSION, "a"), (SESSION, "b")]).is_err());
    }
}
