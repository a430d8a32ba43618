use super::*;
use crate::now::tests::origin;
use std::time::{Duration, Instant};

fn at(seconds: u64) -> Instant {
    origin() + Duration::from_secs(seconds)
}

/// The hash of the block at a height, on a branch.
fn hash(number: u64, branch: u8) -> [u8; 32] {
    let mut hash = [branch; 32];
    hash[..8].copy_from_slice(&number.to_be_bytes());
    hash
}

fn text(hash: [u8; 32]) -> String {
    let digits: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\"0x{digits}\"")
}

fn anchor(number: u64) -> Anchor {
    Anchor {
        number,
        hash: hash(number, 0),
    }
}

fn header(number: u64) -> Header {
    Header {
        number,
        hash: hash(number, 0),
        parent: hash(number - 1, 0),
    }
}

fn mark(number: u64, index: u64) -> Mark {
    Mark {
        number: Some(number),
        hash: hash(number, 0),
        index: Some(index),
    }
}

fn log(number: u64, index: u64, removed: bool) -> String {
    let hash = text(hash(number, 0));
    format!(
        r#"{{"address":"0x01","blockNumber":"{number:#x}","blockHash":{hash},"logIndex":"{index:#x}","removed":{removed}}}"#
    )
}

fn list(elements: &[String]) -> String {
    format!("[{}]", elements.join(","))
}

// L-4
#[test]
fn ids_are_written_as_nodes_write_theirs_and_read_in_one_form() {
    for id in [1, 0xab, u128::MAX, 1 << 64] {
        let written = FilterId(id).to_string();
        assert_eq!(
            FilterId::of_call(&format!("[\"{written}\"]")),
            Some(FilterId(id))
        );
    }
    assert_eq!(FilterId(0xab).to_string(), "0xab");
    let long = format!("[\"0x{}\"]", "f".repeat(33));
    for odd in [
        "",
        "[]",
        "[1]",
        "[null]",
        "[\"\"]",
        "[\"0x\"]",
        "[\"0x0\"]",
        "[\"0x0a\"]",
        "[\"0xA\"]",
        "[\"a\"]",
        "[\"0x+1\"]",
        "[\"0x1\",2]",
        "{\"id\":\"0x1\"}",
        &long,
    ] {
        assert_eq!(FilterId::of_call(odd), None, "{odd}");
    }
}

// L-4: a filter belongs to who made it
#[test]
fn a_filter_is_there_for_its_caller_alone() {
    let mut table = Table::default();
    assert!(table.insert(FilterId(7), 1, "filter", at(0)));
    assert!(!table.insert(FilterId(7), 2, "taken", at(0)));
    assert_eq!(table.get(FilterId(7), 2, at(1)), None);
    assert_eq!(table.remove(FilterId(7), 2, at(1)), None);
    assert_eq!(table.get(FilterId(7), 1, at(1)), Some(&"filter"));
    assert_eq!(table.remove(FilterId(7), 1, at(1)), Some("filter"));
    assert_eq!(table.remove(FilterId(7), 1, at(1)), None);
    assert!(table.is_empty());
}

// L-4: idle for five minutes, as geth
#[test]
fn a_filter_that_is_not_used_for_five_minutes_is_forgotten() {
    let mut table = Table::default();
    table.insert(FilterId(1), 0, (), at(0));
    table.insert(FilterId(2), 0, (), at(0));
    assert!(table.get(FilterId(1), 0, at(299)).is_some());
    assert!(table.get(FilterId(2), 0, at(300)).is_none());
    assert!(table.get(FilterId(1), 0, at(598)).is_some());
    assert!(table.get(FilterId(1), 0, at(898)).is_none());
    assert_eq!(table.len(), 0);
}

// L-4: bounded, by caller and in all
#[test]
fn the_filter_not_used_longest_makes_room() {
    let mut table = Table::default();
    let thousand = u128::try_from(MOST_BY_CALLER).unwrap();
    for id in 1..=thousand {
        table.insert(FilterId(id), 5, (), at(0));
    }
    table.insert(FilterId(u128::MAX), 6, (), at(0));
    table.get(FilterId(1), 5, at(1));
    table.insert(FilterId(thousand + 1), 5, (), at(2));
    assert_eq!(table.len(), MOST_BY_CALLER + 1);
    assert!(table.get(FilterId(1), 5, at(3)).is_some());
    assert!(table.get(FilterId(2), 5, at(3)).is_none());
    assert!(table.get(FilterId(u128::MAX), 6, at(3)).is_some());
    let mut table = Table::default();
    for id in 0..70_000_u64 {
        table.insert(FilterId(u128::from(id) + 1), id, (), at(id / 1_000));
    }
    assert_eq!(table.len(), 65_536);
    assert!(table.get(FilterId(1), 0, at(70)).is_none());
}

// L-4
#[test]
fn a_replay_gives_what_comes_after_the_anchor_less_what_was_given() {
    let mut trail = Trail::new(Kind::Logs, Some(anchor(100)), at(0));
    trail.polled(&list(&[log(101, 0, false), log(102, 3, false)]), at(1));
    let found = [mark(101, 0), mark(102, 3), mark(102, 4), mark(104, 0)];
    assert_eq!(trail.highest(), Some(102));
    assert_eq!(
        trail.replay_logs(&found, anchor(105)),
        Replay::New(vec![2, 3])
    );
    trail.moved_to(anchor(105));
    assert_eq!(trail.replay_logs(&[], anchor(105)), Replay::New(vec![]));
    assert_eq!(
        trail.replay_logs(&[mark(106, 0)], anchor(106)),
        Replay::New(vec![0])
    );
}

// L-4: what cannot be proven complete is not told
#[test]
fn a_replay_is_refused_where_something_may_be_lost_or_repeated() {
    let given = list(&[log(101, 0, false), log(102, 3, false)]);
    let mut trail = Trail::new(Kind::Logs, Some(anchor(100)), at(0));
    trail.polled(&given, at(1));
    // What was given is not there: another branch.
    assert_eq!(
        trail.replay_logs(&[mark(101, 0)], anchor(105)),
        Replay::Unproven
    );
    // Not as far yet.
    assert_eq!(
        trail.replay_logs(&[mark(101, 0)], anchor(101)),
        Replay::Behind
    );
    // Outside of what was asked for.
    let outside = [mark(100, 0), mark(101, 0), mark(102, 3)];
    assert_eq!(trail.replay_logs(&outside, anchor(105)), Replay::Unproven);
    // The head changed while the logs were read.
    let mut other = mark(105, 0);
    other.hash = hash(105, 9);
    let turned = [mark(101, 0), mark(102, 3), other];
    assert_eq!(trail.replay_logs(&turned, anchor(105)), Replay::Behind);
    // Nobody knows how far it was polled.
    let mut unknown = Trail::new(Kind::Logs, None, at(0));
    assert!(!unknown.reaches(101));
    assert_eq!(unknown.replay_logs(&[], anchor(105)), Replay::Unproven);
    unknown.polled("[7]", at(1));
    assert_eq!(unknown.anchor(), None);
    // Logs that do not say where they are.
    let mut odd = Trail::new(Kind::Logs, Some(anchor(100)), at(0));
    odd.polled(r#"[{"blockNumber":"0x65"}]"#, at(1));
    assert_eq!(odd.anchor(), None);
}

// L-4: a log that left the chain may come again
#[test]
fn a_removed_log_counts_as_not_given() {
    let mut trail = Trail::new(Kind::Logs, Some(anchor(100)), at(0));
    trail.polled(&list(&[log(101, 0, false)]), at(1));
    trail.polled(&list(&[log(101, 0, true)]), at(2));
    let found = [mark(101, 0)];
    assert_eq!(trail.replay_logs(&found, anchor(101)), Replay::New(vec![0]));
}

// L-4: a head counts as polled only with a poll that began well after it was read
#[test]
fn the_anchor_follows_a_poll_behind() {
    let mut trail = Trail::new(Kind::Logs, Some(anchor(100)), at(0));
    assert!(!trail.looks(at(9)));
    assert!(trail.looks(at(10)) && !trail.looks(at(11)));
    trail.polled(&list(&[log(101, 0, false)]), at(10));
    trail.offer(anchor(102), at(10));
    // The filter may not have had block 102 yet.
    trail.polled("[]", at(10));
    assert_eq!(trail.anchor(), Some(anchor(100)));
    trail.polled(&list(&[log(102, 0, false), log(103, 0, false)]), at(11));
    assert_eq!(trail.anchor(), Some(anchor(102)));
    let found = [mark(103, 0), mark(103, 1)];
    assert_eq!(trail.replay_logs(&found, anchor(103)), Replay::New(vec![1]));
    assert!(trail.looks(at(20)));
}

// L-4
#[test]
fn blocks_are_replayed_as_a_chain() {
    let hashes = |numbers: &[u64]| {
        let hashes = numbers.iter().map(|number| text(hash(*number, 0)));
        list(&hashes.collect::<Vec<_>>())
    };
    let mut trail = Trail::new(Kind::Blocks, Some(anchor(100)), at(0));
    trail.polled(&hashes(&[101, 102]), at(1));
    let chain = |to| (101..=to).map(header).collect::<Vec<_>>();
    assert_eq!(trail.replay_blocks(&chain(104)), Replay::New(vec![2, 3]));
    assert_eq!(trail.replay_blocks(&chain(102)), Replay::New(vec![]));
    assert_eq!(trail.replay_blocks(&chain(101)), Replay::Behind);
    let mut other = chain(104);
    other[0].hash = hash(101, 9);
    other[1].parent = hash(101, 9);
    assert_eq!(trail.replay_blocks(&other), Replay::Unproven);
    let mut torn = chain(104);
    torn.remove(1);
    assert_eq!(trail.replay_blocks(&torn), Replay::Unproven);
    assert!(trail.reaches(356) && !trail.reaches(357));
    // An anchor that was never told of is none.
    trail.offer(anchor(103), at(1));
    trail.polled("[]", at(5));
    assert_eq!(trail.anchor(), Some(anchor(100)));
    trail.offer(anchor(102), at(5));
    trail.polled("[]", at(9));
    assert_eq!(trail.anchor(), Some(anchor(102)));
    assert_eq!(trail.replay_blocks(&[header(103)]), Replay::New(vec![0]));
}

// L-4
#[test]
fn transactions_that_wait_are_never_replayed() {
    let mut trail = Trail::new(Kind::Pending, None, at(0));
    assert!(!trail.looks(at(100)));
    trail.polled("[\"0x01\"]", at(1));
    assert!(!trail.reaches(1));
    assert_eq!(trail.replay_blocks(&[]), Replay::Unproven);
}

// L-4: bounded
#[test]
fn too_much_since_the_anchor_leaves_nothing_to_replay_until_a_later_one() {
    let many: Vec<_> = (0..5_001).map(|index| log(101, index, false)).collect();
    let mut trail = Trail::new(Kind::Logs, Some(anchor(100)), at(0));
    trail.polled(&list(&many), at(1));
    assert!(!trail.reaches(200));
    trail.offer(anchor(101), at(2));
    trail.polled("[]", at(4));
    assert!(trail.reaches(200));
}

// L-4
#[test]
fn criteria_keep_what_they_look_for_and_their_own_range() {
    let asked =
        r#"[{"address":["0xab"],"topics":[null,["0x01"]],"fromBlock":"0x10","toBlock":"latest"}]"#;
    let criteria = Criteria::of_call(asked).unwrap();
    let params = criteria.within(5, 0x20).unwrap();
    let params: serde_json::Value = serde_json::from_str(&params).unwrap();
    let expected = serde_json::json!([{
        "address": ["0xab"], "topics": [null, ["0x01"]], "fromBlock": "0x10", "toBlock": "0x20",
    }]);
    assert_eq!(params, expected);
    assert_eq!(criteria.within(5, 0xf), None);
    let ends = Criteria::of_call(r#"[{"toBlock":"0x12"}]"#).unwrap();
    assert_eq!(ends.within(0x13, 0x20), None);
    assert!(
        ends.within(0x12, 0x20)
            .unwrap()
            .contains(r#""toBlock":"0x12""#)
    );
    for odd in [
        "",
        "[]",
        "[7]",
        r#"[{"blockHash":"0x01"}]"#,
        r#"[{"toBlock":"earliest"}]"#,
        r#"[{"fromBlock":16}]"#,
        r#"[{"toBlock":"0xzz"}]"#,
        "[{},{}]",
    ] {
        assert_eq!(Criteria::of_call(odd), None, "{odd}");
    }
    assert!(Criteria::of_call("[{}]").is_some());
}

// L-8: no panics on any upstream input
#[test]
fn answers_that_are_none_name_nothing() {
    for odd in [
        "",
        "null",
        "{}",
        "[",
        "[1]",
        r#"{"number":"0x1","hash":"0x1","parentHash":"0x1"}"#,
        r#"{"number":1,"hash":null,"parentHash":[]}"#,
    ] {
        assert_eq!(Header::read(odd), None, "{odd}");
        assert_eq!(Mark::of_log(odd), None, "{odd}");
        assert_eq!(Mark::of_block(odd), None, "{odd}");
    }
    let wide = format!("\"0x{}é\"", "0".repeat(62));
    assert_eq!(Mark::of_block(&wide), None);
    assert_eq!(elements("{}"), None);
    assert_eq!(elements("[1, \"a\"]"), Some(vec!["1", "\"a\""]));
}
