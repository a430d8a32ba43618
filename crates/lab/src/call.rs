//! JSON-RPC calls as an endpoint reads them: leniently, keeping the bytes.
//!
//! The lab's own parser and not the product's, so that a mistake there cannot hide itself here.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::value::RawValue;

/// One JSON-RPC call inside a request. All members are the bytes as sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The method, unescaped; empty when there is none or it is no string.
    pub method: String,
    /// The id; `None` when the member is absent, `Some("null")` when it is null.
    pub id: Option<String>,
    /// The params; `None` when the member is absent.
    pub params: Option<String>,
    /// The whole call object.
    pub raw: String,
}

/// The calls in a body, and whether it is an array. Elements that are no object are left out; a
/// body that is no JSON has none.
#[must_use]
pub fn parse_calls(body: &[u8]) -> (bool, Vec<Call>) {
    let batch = body
        .iter()
        .find(|byte| !byte.is_ascii_whitespace())
        .is_some_and(|byte| *byte == b'[');
    let elements: Vec<&RawValue> = if batch {
        serde_json::from_slice(body).unwrap_or_default()
    } else {
        serde_json::from_slice(body).into_iter().collect()
    };
    (batch, elements.into_iter().filter_map(parse_call).collect())
}

fn parse_call(element: &RawValue) -> Option<Call> {
    let [method, id, params] = members(element.get(), ["method", "id", "params"])?;
    let own = |part: Option<&str>| part.map(str::to_owned);
    Some(Call {
        method: method
            .and_then(|method| serde_json::from_str(method).ok())
            .unwrap_or_default(),
        id: own(id),
        params: own(params),
        raw: element.get().to_owned(),
    })
}

/// The JSON texts of some members of an object, the last where one comes twice; `None` where the
/// text is no object.
pub(crate) fn members<'a, const N: usize>(
    text: &'a str,
    names: [&str; N],
) -> Option<[Option<&'a str>; N]> {
    struct Members<'n, const N: usize>([&'n str; N]);
    impl<'de, const N: usize> Visitor<'de> for Members<'_, N> {
        type Value = [Option<&'de str>; N];
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut found = [None; N];
            while let Some(name) = map.next_key::<Cow<'de, str>>()? {
                let value: &'de RawValue = map.next_value()?;
                if let Some(place) = self.0.iter().position(|known| *known == name) {
                    found[place] = Some(value.get());
                }
            }
            Ok(found)
        }
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let found = deserializer.deserialize_map(Members(names)).ok()?;
    deserializer.end().ok()?;
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::{members, parse_calls};

    #[test]
    fn keeps_a_null_id_apart_from_an_absent_one() {
        let (batch, calls) =
            parse_calls(br#" [{"method":"a","id":null}, {"method":"b","params":[ 1 ]}, 7]"#);
        assert!(batch);
        assert_eq!(calls.len(), 2);
        assert_eq!(calls[0].id.as_deref(), Some("null"));
        assert_eq!(calls[1].id, None);
        assert_eq!(calls[1].params.as_deref(), Some("[ 1 ]"));
    }

    #[test]
    fn takes_the_last_of_two_members_and_no_half_objects() {
        let text = r#" {"b":[1, 2],"a":1,"a":null} "#;
        let found = members(text, ["a", "b", "c"]);
        assert_eq!(found, Some([Some("null"), Some("[1, 2]"), None]));
        for text in ["[]", "7", r#"{"a":1"#, r#"{"a":1} 2"#] {
            assert_eq!(members(text, ["a"]), None, "{text}");
        }
    }

    #[test]
    fn sees_no_calls_in_a_body_that_is_no_json() {
        assert_eq!(parse_calls(b"<html>"), (false, Vec::new()));
    }
}
