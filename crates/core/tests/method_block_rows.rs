//! Every row of the method table with a block, generated: where it is found and what a pin does.

use highwater_core::method::{
    Block, BlockPath, Descriptor, Omitted, PinLatest, Reading, Reference, Rewritten, Tag, find,
    lookup, rewrite, rows,
};

const HASH: &str = "0x00112233445566778899AABBCCDDEEFF00112233445566778899aabbccddeeff";

fn hash() -> [u8; 32] {
    let mut hash = [0; 32];
    for (index, byte) in hash.iter_mut().enumerate() {
        *byte = u8::try_from(index % 16).expect("below 16") * 0x11;
    }
    hash
}

/// The parameters pinned to 100, or `None` if they are forwarded as written.
fn pinned(method: &str, params: &str) -> Option<String> {
    let mut out = "kept".to_owned();
    let rewritten = rewrite(lookup(method), params, 100, &mut out);
    let out = out.strip_prefix("kept").expect("out is appended to");
    match rewritten {
        Rewritten::Pinned => Some(out.to_owned()),
        Rewritten::Unchanged | Rewritten::Inverted => {
            assert_eq!(out, "");
            None
        }
    }
}

/// Plausible parameters before the index of the path.
fn before(row: &Descriptor, path: &BlockPath) -> Vec<String> {
    let fill = |index: u8| {
        let is_block = row.block_params.iter().any(|path| path.index == index);
        match (is_block, index) {
            (true, _) => "\"0x1\"",
            (false, 1) => r#"["x"]"#,
            (false, _) => r#"{"to":"0xAb"}"#,
        }
        .to_owned()
    };
    (0..path.index).map(fill).collect()
}

/// Parameters with `value` at the path.
fn at(row: &Descriptor, path: &BlockPath, value: &str) -> String {
    let mut elements = before(row, path);
    elements.push(match path.key {
        Some(key) => format!(r#"{{"other": 1, "{key}" :{value} }}"#),
        None => value.to_owned(),
    });
    format!("[ {} , null]", elements.join(","))
}

fn with_blocks() -> impl Iterator<Item = (&'static Descriptor, &'static BlockPath)> {
    rows()
        .iter()
        .flat_map(|row| row.block_params.iter().map(move |path| (row, path)))
}

fn slot_of(row: &'static Descriptor, path: &BlockPath, params: &str) -> (Block, bool) {
    let found = find(row, params);
    assert_eq!(found.reading(), Reading::Clear, "{} {params}", row.name);
    let slot = found
        .slots()
        .iter()
        .find(|slot| slot.path == *path)
        .expect("one slot a path");
    (slot.block, slot.object.is_some())
}

/// Other paths of the row that a pin fills in beside the one under test.
fn fills_others(row: &Descriptor) -> bool {
    row.fills_omitted() && row.block_params.len() > 1
}

// P-4
#[test]
fn every_row_pins_the_tag_at_its_own_place_and_nothing_else() {
    let mut seen = 0;
    for (row, path) in with_blocks().filter(|(_, path)| path.key != Some("blockHash")) {
        let params = at(row, path, r#""latest""#);
        assert_eq!(
            slot_of(row, path, &params),
            (Block::Tag(Tag::Latest), false),
            "{}",
            row.name
        );
        let got = pinned(row.name, &params);
        if row.pin_latest == PinLatest::No {
            assert_eq!(got, None, "{}", row.name);
            continue;
        }
        seen += 1;
        let got = got.unwrap_or_else(|| panic!("{} is pinned", row.name));
        let wanted = at(row, path, r#""0x64""#);
        if fills_others(row) {
            assert_eq!(got.matches("\"0x64\"").count(), 2, "{} {got}", row.name);
        } else {
            assert_eq!(got, wanted, "{}", row.name);
        }
    }
    assert_eq!(seen, 90);
}

// P-4
#[test]
fn every_row_leaves_a_number_a_tag_and_a_hash_alone() {
    for (row, path) in with_blocks() {
        let is_hash_key = path.key == Some("blockHash");
        let cases = [
            ("\"0x1F\"", Block::Number(31)),
            ("\"safe\"", Block::Tag(Tag::Safe)),
            ("\"finalized\"", Block::Tag(Tag::Finalized)),
            ("\"pending\"", Block::Tag(Tag::Pending)),
            ("\"earliest\"", Block::Tag(Tag::Earliest)),
            ("31", Block::JsonNumber(31)),
        ];
        for (written, block) in cases {
            let params = at(row, path, written);
            if is_hash_key {
                assert_eq!(
                    find(row, &params).reading(),
                    Reading::Foreign,
                    "{}",
                    row.name
                );
            } else {
                assert_eq!(
                    slot_of(row, path, &params),
                    (block, false),
                    "{} {params}",
                    row.name
                );
            }
            if !fills_others(row) || is_hash_key {
                assert_eq!(pinned(row.name, &params), None, "{} {params}", row.name);
            }
        }
        let params = at(row, path, &format!("\"{HASH}\""));
        let is_bound = matches!(path.key, Some("fromBlock" | "toBlock" | "stateBlockNumber"));
        if is_bound {
            assert_eq!(
                find(row, &params).reading(),
                Reading::Foreign,
                "{}",
                row.name
            );
        } else {
            assert_eq!(
                slot_of(row, path, &params),
                (Block::Hash(hash()), false),
                "{}",
                row.name
            );
            let reference = Reference {
                hash: Some(hash()),
                ..Reference::default()
            };
            assert_eq!(
                find(row, &params).reference(Some(100)),
                reference,
                "{}",
                row.name
            );
        }
        assert_eq!(pinned(row.name, &params), None, "{}", row.name);
    }
}

// P-4, scenario M14, scenario M13
#[test]
fn every_row_keeps_the_object_form() {
    for (row, path) in with_blocks().filter(|(_, path)| path.key.is_none()) {
        let of = |inner: &str| at(row, path, inner);
        let latest = of(r#"{ "blockNumber" : "latest" , "requireCanonical":false}"#);
        assert_eq!(
            slot_of(row, path, &latest),
            (Block::Tag(Tag::Latest), true),
            "{}",
            row.name
        );
        let wanted = (row.pin_latest != PinLatest::No)
            .then(|| of(r#"{ "blockNumber" : "0x64" , "requireCanonical":false}"#));
        assert_eq!(pinned(row.name, &latest), wanted, "{}", row.name);

        let by_hash = of(&format!(
            r#"{{"requireCanonical":true,"blockHash":"{HASH}"}}"#
        ));
        assert_eq!(
            slot_of(row, path, &by_hash),
            (Block::Hash(hash()), true),
            "{}",
            row.name
        );
        assert_eq!(pinned(row.name, &by_hash), None, "{}", row.name);
        let by_number = of(r#"{"blockNumber":"0x1f"}"#);
        assert_eq!(
            slot_of(row, path, &by_number),
            (Block::Number(31), true),
            "{}",
            row.name
        );
        assert_eq!(pinned(row.name, &by_number), None, "{}", row.name);
    }
}

// P-4, scenario P03, scenario P04
#[test]
fn every_row_fills_an_omitted_block_only_where_the_table_says_latest() {
    let mut filled = 0;
    for (row, path) in with_blocks().filter(|(_, path)| path.key.is_none()) {
        let mut elements = before(row, path);
        let got = pinned(row.name, &format!("[{}]", elements.join(", ")));
        let fills = row.omitted_means == Omitted::Latest && row.pin_latest == PinLatest::Yes;
        let wanted = fills.then(|| {
            filled += 1;
            let tail = if elements.is_empty() { "" } else { "," };
            format!("[{}{tail}\"0x64\"]", elements.join(", "))
        });
        assert_eq!(got, wanted, "{}", row.name);
        elements.pop();
        if path.index > 0 {
            let short = pinned(row.name, &format!("[{}]", elements.join(", ")));
            assert_eq!(short, None, "{} is never padded", row.name);
        }
    }
    assert_eq!(filled, 22);
}
