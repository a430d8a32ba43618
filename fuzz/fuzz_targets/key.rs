//! A method and any text as its parameters, divided by the first line break: keys and pins.
//!
//! On anything: no panic, and the same bytes give the same key. On JSON, with `serde_json` as the
//! judge: blanks between tokens make no difference, a pin leaves JSON behind and changes nothing but
//! what it replaces, and the key at a pin is the key of what is sent.
#![no_main]

use highwater_core::method::{
    Block, Found, KeyForm, Resolve, Rewritten, Slot, Tag, array_text, canonical_key, find, lookup,
    lookup_folded,
};
use libfuzzer_sys::fuzz_target;
use serde_json::value::RawValue;

const PIN: u64 = 0xfeed_face_cafe_beef;
const WRITTEN_PIN: &str = "\"0xfeedfacecafebeef\"";

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let (method, params) = text.split_once('\n').unwrap_or((text, ""));
    let row = lookup(method);
    let (folded, exact) = lookup_folded(method);
    assert_eq!(exact, std::ptr::eq(row, folded));

    let found = find(row, params);
    assert_eq!(found, find(row, params));
    let mut sent = String::new();
    let rewritten = found.rewrite(params, PIN, &mut sent);
    let (form, bytes) = key(&found, method, params, Resolve::At(PIN));
    assert_eq!(
        (form, &bytes),
        (key(&found, method, params, Resolve::At(PIN)).0, &bytes)
    );
    let is_json = serde_json::from_str::<&RawValue>(array_text(params)).is_ok();
    if !is_json {
        return;
    }

    let airy = airy(array_text(params));
    let other = find(row, &airy);
    assert_eq!(other.reading(), found.reading());
    for resolve in [
        Resolve::AsWritten,
        Resolve::At(PIN),
        Resolve::At(3),
        Resolve::Tagless,
    ] {
        let one = key(&found, method, params, resolve);
        assert_eq!(one, key(&other, method, &airy, resolve), "{airy}");
    }

    match rewritten {
        Rewritten::Unchanged => assert!(sent.is_empty() && !found.wants_pin()),
        Rewritten::Inverted => assert!(sent.is_empty() && found.inverts(PIN)),
        Rewritten::Pinned => {
            assert!(serde_json::from_str::<&RawValue>(&sent).is_ok(), "{sent}");
            only_pins_differ(&found, array_text(params), &sent);
            let again = find(row, &sent);
            assert!(!again.wants_pin());
            let same = (KeyForm::Canonical, bytes);
            if form == KeyForm::Canonical {
                assert_eq!(
                    same,
                    key(&again, method, &sent, Resolve::AsWritten),
                    "{sent}"
                );
            }
        }
    }
});

fn key(found: &Found, method: &str, params: &str, resolve: Resolve) -> (KeyForm, Vec<u8>) {
    let mut buf = Vec::new();
    let body = canonical_key(found, method, params, &mut buf);
    body.seal(found, params, resolve, &mut buf);
    (body.form(), buf)
}

/// The same tokens with blanks around every one that is punctuation.
fn airy(json: &str) -> String {
    let mut out = String::new();
    let (mut quoted, mut escaped) = (false, false);
    for c in json.chars() {
        if quoted {
            quoted = escaped || c != '"';
            escaped = !escaped && c == '\\';
            out.push(c);
        } else if "[]{}:,".contains(c) {
            out.extend([' ', c, '\n']);
        } else {
            quoted = c == '"';
            out.push(c);
        }
    }
    out
}

/// Walks both texts: between the blocks they are one, at a block there is the old text or the pin.
fn only_pins_differ(found: &Found, before: &str, after: &str) {
    let mut slots: Vec<&Slot> = found.slots().iter().collect();
    slots.sort_by_key(|slot| slot.scalar.start);
    let (mut done, mut rest, mut pins) = (0, after, 0);
    for slot in slots {
        let open = matches!(
            slot.block,
            Block::Tag(Tag::Latest) | Block::Omitted | Block::Null
        );
        rest = rest
            .strip_prefix(&before[done..slot.scalar.start])
            .expect("the text before a block");
        done = slot.scalar.end;
        let key = slot
            .path
            .key
            .map(|key| format!("\"{key}\":"))
            .unwrap_or_default();
        let filled = format!("{key}{WRITTEN_PIN}");
        let pinned = match slot.block {
            Block::Omitted => rest.strip_prefix(',').unwrap_or(rest).strip_prefix(&filled),
            _ if open => rest.strip_prefix(WRITTEN_PIN),
            _ => None,
        };
        pins += usize::from(pinned.is_some());
        rest = pinned
            .or_else(|| rest.strip_prefix(&before[slot.scalar.clone()]))
            .expect("a block");
    }
    assert_eq!(rest, &before[done..]);
    assert!(pins > 0);
}
