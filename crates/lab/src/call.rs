//! JSON-RPC calls as an endpoint reads them: leniently, keeping the bytes.
//!
//! The lab's own parser and not the product's, so that a mistake there cannot hide itself here.

use std::collections::BTreeMap;

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
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(element.get()).ok()?;
    let raw = |name: &str| members.get(name).map(|value| value.get().to_owned());
    Some(Call {
        method: members
            .get("method")
            .and_then(|method| serde_json::from_str(method.get()).ok())
            .unwrap_or_default(),
        id: raw("id"),
        params: raw("params"),
        raw: element.get().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::parse_calls;

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
    fn sees_no_calls_in_a_body_that_is_no_json() {
        assert_eq!(parse_calls(b"<html>"), (false, Vec::new()));
    }
}
