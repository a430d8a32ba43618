//! Several answers as one list.

use bytes::{BufMut, Bytes, BytesMut};
use std::sync::Arc;

/// The texts of the index, and behind them the results of answers, as one list.
pub(super) fn joined(texts: &[(u64, Arc<str>)], results: &[&str]) -> Bytes {
    let inside = results.iter().map(|result| inside(result));
    let pieces = texts.iter().map(|(_, text)| &**text).chain(inside);
    let pieces: Vec<&str> = pieces.filter(|piece| !piece.is_empty()).collect();
    let size = pieces.iter().map(|piece| piece.len() + 1).sum::<usize>();
    let mut body = BytesMut::with_capacity(size + 2);
    body.put_u8(b'[');
    for (place, piece) in pieces.into_iter().enumerate() {
        if place > 0 {
            body.put_u8(b',');
        }
        body.put_slice(piece.as_bytes());
    }
    body.put_u8(b']');
    body.freeze()
}

/// What stands between the brackets of a list.
fn inside(list: &str) -> &str {
    let list = list.trim_ascii();
    let inside = list
        .strip_prefix('[')
        .and_then(|list| list.strip_suffix(']'));
    inside.unwrap_or_default().trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    // P-23
    #[test]
    fn lists_are_put_together_as_they_are() {
        let texts = [(1, Arc::from("{\"a\": 1},{\"a\":2}")), (2, Arc::from("{}"))];
        let all = joined(&texts, &["[]", " [ {\"b\":1} , 3 ] ", "[4]"]);
        assert_eq!(&all[..], b"[{\"a\": 1},{\"a\":2},{},{\"b\":1} , 3,4]");
        assert_eq!(&joined(&[], &["[]", "[ ]"])[..], b"[]");
        assert_eq!(&joined(&[], &["[1]"])[..], b"[1]");
    }
}
