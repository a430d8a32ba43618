//! The rules of what is learned, with exact values, and the scenarios of the same names.

use super::*;
use crate::classify::{Class, SuggestedRange, Verdict};
use crate::heads::Holds;
use crate::method::{Tag, lookup};
use proptest::{collection::vec, prelude::*};
use std::time::{Duration, Instant};

#[expect(
    clippy::disallowed_methods,
    reason = "an instant has to come from somewhere; time moves by addition from there"
)]
pub(super) fn start() -> Instant {
    Instant::now()
}

fn learned() -> (Learned, Instant) {
    (
        Learned::new(Declared::default(), LearnSettings::default()),
        start(),
    )
}

fn declared(declared: Declared) -> Learned {
    Learned::new(declared, LearnSettings::default())
}

fn hours(hours: u64) -> Duration {
    Duration::from_secs(3600 * hours)
}

/// A refusal of a range.
fn refusal(subclass: Option<&'static str>, max_blocks: Option<u64>) -> Verdict {
    Verdict {
        class: Class::RangeLimit,
        subclass,
        retry_other_endpoint: true,
        counts_against_endpoint: false,
        retry_after: None,
        suggested_range: Some(SuggestedRange {
            max_blocks,
            ..SuggestedRange::default()
        }),
        fingerprint: None,
    }
}

const HEAD: Option<u64> = Some(1000);

// M09, M10: the second call goes elsewhere first
#[test]
fn missing_history_raises_the_oldest_block_of_its_kind() {
    let (mut learned, now) = learned();
    assert_eq!(learned.keeps(Data::State, 10, HEAD, now), Holds::Unknown);
    learned.on_missing(Data::State, 10, HEAD, now);
    assert_eq!(learned.oldest(Data::State, HEAD, now), Some(11));
    assert_eq!(learned.keeps(Data::State, 10, HEAD, now), Holds::No);
    assert_eq!(learned.keeps(Data::State, 11, HEAD, now), Holds::Unknown);
    learned.on_missing(Data::State, 500, HEAD, now);
    learned.on_missing(Data::State, 200, HEAD, now);
    assert_eq!(learned.oldest(Data::State, HEAD, now), Some(501));
    assert_eq!(learned.oldest(Data::Receipts, HEAD, now), None);
    let call = Need::of(lookup("eth_call"), r#"[{"to":"0x1"},"0xa"]"#);
    assert_eq!(learned.serves(&call, HEAD, now), Holds::No);
    let receipts = Need::of(lookup("eth_getBlockReceipts"), r#"["0xa"]"#);
    assert_eq!(learned.serves(&receipts, HEAD, now), Holds::Unknown);
}

// lessons A2: what only rises has a way down
#[test]
fn the_oldest_block_comes_down_by_time_and_by_an_answer() {
    let (mut learned, now) = learned();
    learned.on_missing(Data::State, 500, HEAD, now);
    learned.on_kept(Data::State, 300);
    assert_eq!(learned.oldest(Data::State, HEAD, now), Some(300));
    let almost = now + hours(1) - Duration::from_nanos(1);
    assert_eq!(learned.oldest(Data::State, HEAD, almost), Some(300));
    assert_eq!(learned.oldest(Data::State, HEAD, now + hours(1)), None);
}

// M06: noted, no more than that
#[test]
fn what_is_missing_near_the_head_is_a_gap_for_a_minute() {
    let (mut learned, now) = learned();
    learned.on_missing(Data::State, 937, HEAD, now);
    assert_eq!(learned.oldest(Data::State, HEAD, now), None);
    assert_eq!(learned.keeps(Data::State, 937, HEAD, now), Holds::No);
    assert_eq!(learned.keeps(Data::State, 936, HEAD, now), Holds::Unknown);
    assert_eq!(learned.keeps(Data::Blocks, 937, HEAD, now), Holds::Unknown);
    let later = now + Duration::from_secs(60);
    assert_eq!(learned.keeps(Data::State, 937, HEAD, later), Holds::Unknown);
    learned.on_missing(Data::State, 936, HEAD, now);
    assert_eq!(learned.oldest(Data::State, HEAD, now), Some(937));
    // A block beyond the head as well; with no head known it is pruning.
    learned.on_missing(Data::Logs, u64::MAX, HEAD, now);
    assert_eq!(learned.oldest(Data::Logs, HEAD, now), None);
    learned.on_missing(Data::Logs, 7, None, now);
    assert_eq!(learned.oldest(Data::Logs, HEAD, now), Some(8));
}

// M06, M16
#[test]
fn sixteen_gaps_are_noted_and_an_answer_closes_one() {
    let (mut learned, now) = learned();
    for height in 0..16 {
        learned.on_absent(Data::Blocks, height, now);
        learned.on_absent(Data::Blocks, height, now);
    }
    assert!((0..16).all(|height| learned.lacks(Data::Blocks, height, now)));
    learned.on_absent(Data::Blocks, 16, now);
    assert!(!learned.lacks(Data::Blocks, 0, now) && learned.lacks(Data::Blocks, 16, now));
    learned.on_kept(Data::Receipts, 16);
    assert!(learned.lacks(Data::Blocks, 16, now));
    learned.on_kept(Data::Blocks, 16);
    assert!(!learned.lacks(Data::Blocks, 16, now));
}

// semantics section 7 row 4
#[test]
fn capabilities_say_what_is_kept() {
    let (mut learned, now) = learned();
    assert!(learned.wants_capabilities(now));
    let stated = capabilities::parse(
        r#"{"head":{"number":"0x3e8"},"blocks":{"disabled":false,"oldestBlock":"0x64"},
        "state":{"disabled":false,"oldestBlock":"0x369","deleteStrategy":{"type":"window","retentionBlocks":"0x80"}},
        "stateproofs":{"disabled":true}}"#,
    )
    .unwrap();
    learned.on_capabilities(&stated, now);
    assert!(!learned.wants_capabilities(now));
    assert_eq!(learned.keeps(Data::Blocks, 100, HEAD, now), Holds::Yes);
    assert_eq!(learned.keeps(Data::Blocks, 99, HEAD, now), Holds::No);
    assert_eq!(learned.keeps(Data::State, 873, HEAD, now), Holds::Yes);
    // The window has moved on.
    assert_eq!(learned.keeps(Data::State, 873, Some(1001), now), Holds::No);
    assert_eq!(learned.keeps(Data::State, 873, None, now), Holds::Unknown);
    assert_eq!(learned.keeps(Data::Proofs, 1000, HEAD, now), Holds::No);
    assert_eq!(learned.keeps(Data::Logs, 1, HEAD, now), Holds::Unknown);
    // Its answers know better, in both directions.
    learned.on_missing(Data::Blocks, 200, HEAD, now);
    assert_eq!(learned.oldest(Data::Blocks, HEAD, now), Some(201));
    assert_eq!(learned.keeps(Data::Blocks, 201, HEAD, now), Holds::Yes);
    learned.on_kept(Data::Blocks, 50);
    assert_eq!(learned.oldest(Data::Blocks, HEAD, now), Some(50));
    learned.on_kept(Data::Proofs, 999);
    assert_eq!(learned.keeps(Data::Proofs, 999, HEAD, now), Holds::Yes);
    // After an hour it is asked again.
    assert!(learned.wants_capabilities(now + hours(1)));
    let later = now + hours(1);
    assert_eq!(learned.keeps(Data::State, 1, HEAD, later), Holds::Unknown);
}

// semantics section 7 row 4: -32601 is remembered
#[test]
fn an_endpoint_without_capabilities_is_not_asked_at_every_connection() {
    let (mut learned, now) = learned();
    learned.on_no_capabilities(now);
    learned.on_reconnected();
    assert!(!learned.wants_capabilities(now));
    assert!(learned.wants_capabilities(now + hours(1)));
    learned.on_capabilities(&Capabilities::default(), now);
    assert!(!learned.wants_capabilities(now));
    learned.on_reconnected();
    assert!(learned.wants_capabilities(now));
}

// R-1, C03: declared values win
#[test]
fn what_is_declared_is_not_unlearned() {
    let now = start();
    let mut archive = declared(Declared {
        archive: true,
        kept: vec![(Data::State, Kept::Last(1))],
        ..Declared::default()
    });
    archive.on_missing(Data::Logs, 500, HEAD, now);
    assert_eq!(archive.keeps(Data::Logs, 0, HEAD, now), Holds::Yes);
    assert_eq!(archive.keeps(Data::State, 999, HEAD, now), Holds::No);
    assert_eq!(archive.keeps(Data::State, 1000, HEAD, now), Holds::Yes);
    let mut endpoint = declared(Declared {
        largest: vec![(Size::LogRange, 50), (Size::Batch, 10)],
        tags: vec![(Tag::Safe, false), (Tag::Finalized, true)],
        ..Declared::default()
    });
    endpoint.on_accepted(Size::LogRange, 1000, now);
    endpoint.on_refused(Size::Batch, 5, None, now);
    assert_eq!(endpoint.largest(Size::LogRange, now), Some(50));
    assert_eq!(endpoint.takes(Size::LogRange, 51, now), Holds::No);
    assert_eq!(endpoint.takes(Size::Batch, 10, now), Holds::Yes);
    endpoint.on_tag_resolved(Tag::Safe, now);
    endpoint.on_tag_refused(Tag::Finalized, now);
    assert_eq!(endpoint.knows(Tag::Safe, now), Holds::No);
    assert_eq!(endpoint.knows(Tag::Finalized, now), Holds::Yes);
}

// L08, L15, L17
#[test]
fn a_range_limit_is_learned_from_numbers_and_from_width_alone() {
    let (mut learned, now) = learned();
    let row = lookup("eth_getLogs");
    let tagged = Need::of(row, r#"[{"fromBlock":"0x32","toBlock":"latest"}]"#);
    learned.on_range_refused(tagged.span, &refusal(Some("block_span"), Some(100)), now);
    learned.on_range_refused(Some(5), &refusal(Some("result_count"), Some(100)), now);
    let mut other = refusal(Some("block_span"), Some(100));
    other.class = Class::RateLimited;
    learned.on_range_refused(Some(5), &other, now);
    assert_eq!(learned.largest(Size::LogRange, now), None);
    let wide = Need::of(row, r#"[{"fromBlock":"0x0","toBlock":"0x4e20"}]"#);
    learned.on_range_refused(wide.span, &refusal(Some("block_span"), Some(10_000)), now);
    assert_eq!(learned.largest(Size::LogRange, now), Some(10_000));
    assert_eq!(learned.serves(&wide, HEAD, now), Holds::No);
    // Another kind of size is another thing.
    assert_eq!(learned.largest(Size::Batch, now), None);
    learned.on_accepted(Size::LogRange, 20_001, now);
    assert_eq!(learned.largest(Size::LogRange, now), None);
}

// R-44
#[test]
fn the_limit_of_a_batch_is_learned() {
    let (mut learned, now) = learned();
    learned.on_refused(Size::Batch, 100, Some(20), now);
    assert_eq!(learned.largest(Size::Batch, now), Some(20));
    learned.on_refused(Size::Body, 4_000_000, None, now);
    assert_eq!(learned.largest(Size::Body, now), Some(2_000_000));
}

// P15: the second call goes to the other one at once
#[test]
fn a_tag_that_was_refused_is_known_for_an_hour() {
    let (mut learned, now) = learned();
    assert_eq!(learned.knows(Tag::Finalized, now), Holds::Unknown);
    learned.on_tag_refused(Tag::Finalized, now);
    assert_eq!(learned.knows(Tag::Finalized, now), Holds::No);
    assert_eq!(learned.knows(Tag::Safe, now), Holds::Unknown);
    assert_eq!(
        learned.knows(Tag::Finalized, now + hours(1)),
        Holds::Unknown
    );
    learned.on_tag_resolved(Tag::Finalized, now);
    assert_eq!(learned.knows(Tag::Finalized, now), Holds::Yes);
}

#[test]
fn a_need_is_served_where_all_of_it_is() {
    let (mut learned, now) = learned();
    let row = lookup("eth_getLogs");
    let need = Need::of(row, r#"[{"fromBlock":"0x64","toBlock":"0xc7"}]"#);
    assert_eq!(learned.serves(&need, HEAD, now), Holds::Unknown);
    let kept = capabilities::parse(r#"{"logs":{"oldestBlock":"0x64"}}"#).unwrap();
    learned.on_capabilities(&kept, now);
    assert_eq!(learned.serves(&need, HEAD, now), Holds::Unknown);
    learned.on_accepted(Size::LogRange, 100, now);
    assert_eq!(learned.serves(&need, HEAD, now), Holds::Yes);
    learned.on_absent(Data::Logs, 199, now);
    assert_eq!(learned.serves(&need, HEAD, now), Holds::No);
    // What needs nothing is served by anyone.
    let id = Need::of(lookup("eth_chainId"), "[]");
    assert_eq!(learned.serves(&id, HEAD, now), Holds::Yes);
}

#[test]
fn settings_out_of_range_are_named() {
    assert_eq!(LearnSettings::default().check(), Ok(()));
    let zero = Duration::ZERO;
    let forget = LearnSettings {
        forget: zero,
        ..LearnSettings::default()
    };
    assert_eq!(forget.check(), Err("forget"));
    let block = LearnSettings {
        forget_block: zero,
        ..LearnSettings::default()
    };
    assert_eq!(block.check(), Err("forget_block"));
}

proptest! {
    // lessons A6: from any state, an hour of silence forgets everything, and a good answer counts at
    // once
    #[test]
    fn nothing_is_held_against_an_endpoint_for_ever(
        steps in vec((0..8_u8, 0..6_usize, any::<u64>(), 0..4000_u64), 0..60),
        kind in 0..6_usize,
        height in 0..1_000_000_u64,
    ) {
        let (mut learned, mut now) = learned();
        for (step, index, number, seconds) in steps {
            let kind = Data::ALL[index];
            let mut kept = [None; 6];
            kept[index] = Some([Kept::From(number), Kept::Nothing][index % 2]);
            match step {
                0 => learned.on_missing(kind, number, None, now),
                1 => learned.on_absent(kind, number, now),
                2 => learned.on_kept(kind, number),
                3 => learned.on_refused(Size::LogRange, number, Some(number / 2), now),
                4 => learned.on_accepted(Size::LogRange, number, now),
                5 => learned.on_tag_refused(Tag::Safe, now),
                6 => learned.on_capabilities(&Capabilities { head: None, kept }, now),
                _ => now += Duration::from_secs(seconds),
            }
            let largest = learned.largest(Size::LogRange, now);
            prop_assert!(largest.is_none_or(|size| size >= 1));
            let takes = |size| learned.takes(Size::LogRange, size, now);
            prop_assert_ne!(largest.map(takes), Some(Holds::No));
        }
        let kind = Data::ALL[kind];
        let mut good = learned.clone();
        good.on_kept(kind, height);
        prop_assert_ne!(good.keeps(kind, height, Some(height), now), Holds::No);
        good.on_accepted(Size::LogRange, height, now);
        prop_assert_eq!(good.takes(Size::LogRange, height, now), Holds::Yes);

        now += hours(1);
        prop_assert_eq!(learned.keeps(kind, height, Some(height), now), Holds::Unknown);
        prop_assert_eq!(learned.takes(Size::LogRange, u64::MAX, now), Holds::Unknown);
        prop_assert_eq!(learned.largest(Size::LogRange, now), None);
        prop_assert_eq!(learned.knows(Tag::Safe, now), Holds::Unknown);
        prop_assert!(learned.wants_capabilities(now));
    }
}
