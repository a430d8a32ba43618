use super::{found, millis, origin};
use highwater_core::{
    ChainId, chains,
    method::{PinLatest, Rewritten, lookup, rows},
    pin::{
        BlockNumber, Head, Pin, PinSettings, PresentState, View, apply, block_number, lower,
        patience, pin,
    },
};
use proptest::prelude::*;
use std::time::Instant;

const VIEW: View = View {
    reference: None,
    max_lag: 2,
    floor: None,
    remembered: false,
    fetched: false,
};

/// Heads by height and age in milliseconds.
fn heads(now: Instant, heads: &[(u64, u64)]) -> Vec<Head> {
    let head = |(height, age): &(u64, u64)| Head {
        height: *height,
        at: now - millis(*age),
    };
    heads.iter().map(head).collect()
}

fn choose(known: &[(u64, u64)], view: &View) -> Pin {
    let now = origin() + millis(100_000);
    pin(
        heads(now, known).into_iter(),
        view,
        &PinSettings::default(),
        now,
    )
}

fn at(reference: u64) -> View {
    View {
        reference: Some(reference),
        ..VIEW
    }
}

// P-2, scenarios P01, P06
#[test]
fn the_pin_is_the_lowest_head_within_max_lag_of_the_highest() {
    assert_eq!(
        choose(&[(102, 0), (101, 0), (90, 0)], &at(101)),
        Pin::At(101)
    );
    assert_eq!(
        choose(&[(102, 0), (101, 0), (100, 0)], &at(102)),
        Pin::At(100)
    );
    assert_eq!(
        choose(&[(103, 0), (101, 0), (100, 0)], &at(103)),
        Pin::At(101)
    );
    assert_eq!(choose(&[(101, 0), (99, 0)], &at(99)), Pin::At(99));
    assert_eq!(choose(&[(100, 0)], &at(100)), Pin::At(100));
}

// P-2, R-16, scenario P09
#[test]
fn a_lone_leader_never_sets_the_pin() {
    assert_eq!(
        choose(&[(100, 0), (101, 0), (900, 0)], &at(101)),
        Pin::At(100)
    );
    assert_eq!(
        choose(&[(100, 0), (100, 0), (900, 0)], &at(100)),
        Pin::At(100)
    );
}

// P-2, scenario P20
#[test]
fn a_head_is_fetched_where_none_is_fresh_and_the_tag_passes_only_where_none_is_trusted() {
    assert_eq!(choose(&[(100, 999), (101, 3000)], &at(101)), Pin::At(100));
    assert_eq!(
        choose(&[(100, 1000), (101, 3000)], &at(101)),
        Pin::FetchHead
    );
    // A fresh head of somebody who lags says nothing of the block that is chosen.
    assert_eq!(choose(&[(100, 0), (200, 1500)], &at(200)), Pin::FetchHead);
    let fetched = View {
        fetched: true,
        ..at(101)
    };
    assert_eq!(choose(&[(100, 1000), (101, 3000)], &fetched), Pin::At(100));
    assert_eq!(choose(&[], &VIEW), Pin::PassThrough);
    let remembered = View {
        remembered: true,
        ..VIEW
    };
    assert_eq!(choose(&[], &remembered), Pin::FetchHead);
    let in_vain = View {
        fetched: true,
        ..remembered
    };
    assert_eq!(choose(&[], &in_vain), Pin::PassThrough);
}

// P-2, P-8, scenarios P07, P17
#[test]
fn the_pin_is_never_below_the_floor() {
    let floor = |floor, reference| View {
        floor: Some(floor),
        ..at(reference)
    };
    assert_eq!(
        choose(&[(102, 0), (101, 0), (100, 0)], &floor(101, 102)),
        Pin::At(101)
    );
    // Only the leader holds what was seen: it may serve that and no more.
    assert_eq!(
        choose(&[(103, 0), (100, 0), (100, 0)], &floor(101, 100)),
        Pin::At(101)
    );
    assert_eq!(
        choose(&[(103, 0), (103, 0)], &floor(105, 103)),
        Pin::Behind { floor: 105 }
    );
    // Nobody was asked lately: somebody may be there by now.
    assert_eq!(choose(&[(103, 1500)], &floor(105, 103)), Pin::FetchHead);
    let fetched = View {
        fetched: true,
        ..floor(105, 103)
    };
    assert_eq!(choose(&[(103, 1500)], &fetched), Pin::Behind { floor: 105 });
    // Without any trusted head nothing can be promised.
    assert_eq!(
        choose(
            &[],
            &View {
                floor: Some(105),
                ..VIEW
            }
        ),
        Pin::PassThrough
    );
    assert_eq!(patience(Some(millis(250)), millis(2000)), millis(250));
    assert_eq!(patience(Some(millis(12_000)), millis(2000)), millis(2000));
    assert_eq!(patience(None, millis(2000)), millis(2000));
}

// P-1, P-4, scenarios P03, P04, P05, M14
#[test]
fn parameters_are_written_anew_only_where_a_pin_changes_them() {
    let sent = |method: &str, params: &str, pin| {
        let mut out = String::new();
        let done = apply(&found(method, params), params, pin, &mut out);
        (done, out)
    };
    let pinned = |text: &str| (Rewritten::Pinned, text.to_owned());
    let call = sent("eth_call", r#"[{"to":"0x1"}]"#, Pin::At(100));
    assert_eq!(call, pinned(r#"[{"to":"0x1"},"0x64"]"#));
    let storage = sent("eth_getStorageAt", r#"["0x1","0x0"]"#, Pin::At(100));
    assert_eq!(storage, pinned(r#"["0x1","0x0","0x64"]"#));
    let object = sent(
        "eth_getBalance",
        r#"["0x1",{"blockNumber":"latest"}]"#,
        Pin::At(100),
    );
    assert_eq!(object, pinned(r#"["0x1",{"blockNumber":"0x64"}]"#));
    let given = sent("eth_estimateGas", r#"[{},"latest"]"#, Pin::At(100));
    assert_eq!(given, pinned(r#"[{},"0x64"]"#));
    for (method, params) in [
        ("eth_estimateGas", "[{}]"),
        ("eth_createAccessList", "[{}]"),
        ("eth_getBalance", r#"["0x1","pending"]"#),
        ("eth_getBalance", r#"["0x1","safe"]"#),
        ("eth_getBlockByNumber", r#"["finalized",false]"#),
        ("eth_getBlockByNumber", r#"["earliest",false]"#),
        ("eth_getBalance", r#"["0x1","0x5"]"#),
        ("eth_chainId", "[]"),
    ] {
        let (done, out) = sent(method, params, Pin::At(100));
        assert_eq!(
            (done, &*out),
            (Rewritten::Unchanged, ""),
            "{method} {params}"
        );
    }
    for pin in [Pin::FetchHead, Pin::PassThrough, Pin::Behind { floor: 7 }] {
        assert_eq!(sent("eth_call", "[{}]", pin).0, Rewritten::Unchanged);
    }
    let inverted = sent("eth_getLogs", r#"[{"fromBlock":"0x65"}]"#, Pin::At(100));
    assert_eq!(inverted.0, Rewritten::Inverted);
}

// P-1
#[test]
fn an_unchanged_request_allocates_nothing() {
    let params = r#"[{"to":"0x0000000000000000000000000000000000000809"},"0x5"]"#;
    let table = PresentState::of(chains::by_id(ChainId(999)));
    let now = origin() + millis(10_000);
    let known = heads(now, &[(100, 0), (101, 0)]);
    let settings = PinSettings::default();
    let counted = allocation_counter::measure(|| {
        let found = found("eth_call", params);
        assert!(table.is_read_by(&found, params));
        let pin = pin(known.iter().copied(), &at(101), &settings, now);
        let mut out = String::new();
        assert_eq!(apply(&found, params, pin, &mut out), Rewritten::Unchanged);
    });
    assert_eq!(counted.count_total, 0);
}

// P-1: only idempotent reads
#[test]
fn only_reads_are_ever_pinned() {
    for row in rows().iter().filter(|row| row.pin_latest != PinLatest::No) {
        assert!(row.is_read(), "{}", row.name);
    }
}

// P-5, scenarios P06, P07
#[test]
fn eth_block_number_is_the_block_that_a_pinned_read_would_use() {
    let now = origin() + millis(100_000);
    let ask = |known: &[(u64, u64)], view: &View, pinning, max_age| {
        let settings = PinSettings::default();
        block_number(
            heads(now, known).into_iter(),
            view,
            pinning,
            max_age,
            &settings,
            now,
        )
    };
    let max_age = Some(millis(2000));
    let fresh = [(101, 0), (100, 500)];
    assert_eq!(ask(&fresh, &at(101), true, None), BlockNumber::Here(100));
    assert_eq!(
        ask(&fresh, &at(101), false, max_age),
        BlockNumber::Here(100)
    );
    assert_eq!(ask(&fresh, &at(101), false, None), BlockNumber::Upstream);
    let older = [(101, 1999), (100, 5000)];
    assert_eq!(ask(&older, &at(101), true, None), BlockNumber::Upstream);
    assert_eq!(ask(&older, &at(101), true, max_age), BlockNumber::Here(100));
    assert_eq!(
        ask(&[(101, 2000)], &at(101), true, max_age),
        BlockNumber::Upstream
    );
    assert_eq!(ask(&[], &VIEW, true, max_age), BlockNumber::Upstream);
    let floor = View {
        floor: Some(105),
        ..at(101)
    };
    assert_eq!(
        ask(&fresh, &floor, true, max_age),
        BlockNumber::Behind { floor: 105 }
    );

    let forward = PinSettings {
        forward_block_number: true,
        ..PinSettings::default()
    };
    let known = heads(now, &fresh).into_iter();
    let upstream = block_number(known, &at(101), true, max_age, &forward, now);
    assert_eq!(upstream, BlockNumber::Upstream);

    assert_eq!(lower(101, Pin::At(100), None), Ok(100));
    assert_eq!(lower(101, Pin::Behind { floor: 105 }, Some(105)), Err(105));
    assert_eq!(lower(101, Pin::PassThrough, None), Ok(101));
    assert_eq!(lower(101, Pin::PassThrough, Some(101)), Ok(101));
    assert_eq!(lower(100, Pin::PassThrough, Some(101)), Err(101));
}

// P-6, scenario C01
#[test]
fn calls_to_present_state_are_known_by_their_address() {
    let of = |id| PresentState::of(chains::by_id(ChainId(id)));
    let reads = |table: &PresentState, method: &str, params: &str| {
        table.is_read_by(&found(method, params), params)
    };
    let call = |low: &str| format!(r#"[{{"data":"0x","to":"0x{low:0>40}"}},"latest"]"#);
    for id in [998, 999] {
        let table = of(id);
        for (low, expected) in [
            ("7ff", false),
            ("800", true),
            ("809", true),
            ("8Ff", true),
            ("900", false),
            ("1000000000000000000000000000000000000809", false),
        ] {
            assert_eq!(
                reads(&table, "eth_call", &call(low)),
                expected,
                "{id} {low}"
            );
        }
        assert!(!reads(&table, "eth_getBalance", &call("809")));
        let twice = call("809").replacen('{', r#"{"to":"0x1","#, 1);
        assert!(!reads(&table, "eth_call", &twice));
        for params in [
            "[]",
            "[1]",
            "[{}]",
            r#"[{"to":null}]"#,
            r#"[{"to":"0x809"}]"#,
            "{}",
        ] {
            assert!(!reads(&table, "eth_call", params), "{params}");
        }
    }
    assert!(!reads(&of(1), "eth_call", &call("809")));
    assert!(!reads(&PresentState::of(None), "eth_call", &call("809")));
    let mut own = PresentState::default();
    own.add([7; 20]..=[7; 20]);
    let params = format!(r#"[{{"to":"0x{}"}}]"#, "07".repeat(20));
    assert!(reads(&own, "eth_call", &params));
    assert_eq!(lookup("eth_call").name, "eth_call");
}

proptest! {
    // P-2, P-3, P-8
    #[test]
    fn a_pin_is_held_by_somebody_and_lies_between_the_floor_and_what_is_confirmed(
        known in prop::collection::vec((90_u64..120, 0_u64..3000), 0..8),
        reference in 90_u64..120,
        floor in prop::option::of(90_u64..120),
        max_lag in 0_u64..5,
        fetched: bool,
    ) {
        let view = View {
            reference: Some(reference),
            max_lag,
            floor,
            remembered: false,
            fetched,
        };
        let highest = known.iter().map(|(height, _)| *height).max();
        match choose(&known, &view) {
            Pin::At(block) => {
                let highest = highest.unwrap();
                prop_assert!(floor.is_none_or(|floor| block >= floor));
                prop_assert!(block <= reference.max(floor.unwrap_or(0)));
                prop_assert!(known.iter().any(|(height, _)| *height >= block));
                prop_assert!(block >= highest.min(reference).saturating_sub(max_lag));
                prop_assert!(fetched || known.iter().any(|(_, age)| *age < 1000));
            }
            Pin::FetchHead => prop_assert!(!fetched && highest.is_some()),
            Pin::PassThrough => prop_assert!(highest.is_none()),
            Pin::Behind { floor: needed } => {
                prop_assert_eq!(Some(needed), floor);
                prop_assert!(highest.unwrap() < needed);
            }
        }
    }
}
