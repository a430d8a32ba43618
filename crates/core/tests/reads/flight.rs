use super::{found, millis, origin};
use highwater_core::flight::{FlightId, Flights, Joined, Left, patience, shares};
use proptest::prelude::*;
use std::{
    collections::{BTreeMap, hash_map::RandomState},
    time::Instant,
};

type Table = Flights<String, RandomState>;

fn table() -> Table {
    Flights::new(RandomState::new())
}

fn join(table: &mut Table, key: &str, now: Instant) -> Joined {
    table.join(key, || (key.to_owned(), ()), now)
}

// P-10
#[test]
fn callers_of_one_key_share_a_flight_and_it_goes_when_it_settles() {
    let (mut table, now) = (table(), origin());
    let Joined::Lead(id) = join(&mut table, "a", now) else {
        panic!("the first leads")
    };
    assert_eq!(join(&mut table, "a", now), Joined::Follow(id));
    let other = join(&mut table, "b", now);
    assert!(matches!(other, Joined::Lead(other) if other != id));
    assert_eq!(table.waiters(), 3);
    assert_eq!(table.settle("a", id), 2);
    assert_eq!(table.waiters(), 1);
    assert_eq!(table.settle("a", id), 0);
    assert_eq!(table.leave("a", id), Left::Settled);
    assert!(matches!(join(&mut table, "a", now), Joined::Lead(next) if next != id));
    assert_eq!(table.len(), 2);
}

// P-10, lessons C29
#[test]
fn a_leader_that_goes_leaves_nothing_stuck_and_the_last_to_go_ends_the_request() {
    let (mut table, now) = (table(), origin());
    let id = join(&mut table, "a", now).id();
    join(&mut table, "a", now);
    assert_eq!(table.leave("a", id), Left::Others(1));
    assert_eq!(join(&mut table, "a", now), Joined::Follow(id));
    assert_eq!(table.leave("a", id), Left::Others(1));
    assert_eq!(table.leave("a", id), Left::Nobody);
    assert!(table.is_empty());
    assert!(matches!(join(&mut table, "a", now), Joined::Lead(_)));
}

// P-10
#[test]
fn a_caller_waits_one_timeout_and_a_grace_from_the_last_news() {
    assert_eq!(patience(millis(400)), millis(800));
    assert_eq!(patience(millis(5000)), millis(6000));
    let (mut table, start) = (table(), origin());
    let id = join(&mut table, "a", start).id();
    let ends = |table: &Table| table.patience_ends("a", id, millis(5000));
    assert_eq!(ends(&table), Some(start + millis(6000)));
    table.news("a", id, start + millis(4000));
    assert_eq!(ends(&table), Some(start + millis(10_000)));
    // News do not go back.
    table.news("a", id, start);
    assert_eq!(ends(&table), Some(start + millis(10_000)));
    table.settle("a", id);
    assert_eq!(ends(&table), None);
}

// P-10
#[test]
fn an_old_flight_is_not_joined_again_and_keeps_those_who_wait() {
    let (mut table, start) = (table(), origin());
    let old = join(&mut table, "a", start).id();
    for _ in 0..2 {
        join(&mut table, "a", start);
    }
    let later = start + millis(6000);
    let (left, joined) = table.restart("a", old, || ("a".to_owned(), ()), later);
    assert_eq!(left, Left::Others(2));
    let Joined::Lead(new) = joined else {
        panic!("a flight of its own")
    };
    assert_eq!(join(&mut table, "a", later), Joined::Follow(new));
    // The next to lose patience shares the new one.
    let (left, joined) = table.restart("a", old, || ("a".to_owned(), ()), later);
    assert_eq!((left, joined), (Left::Others(1), Joined::Follow(new)));
    // The last of the old one is answered by it.
    table.news("a", old, later);
    assert_eq!(
        table.patience_ends("a", old, millis(1000)),
        Some(later + millis(2000))
    );
    assert_eq!(table.settle("a", old), 1);
    assert_eq!(table.settle("a", new), 3);
    assert!(table.is_empty());
}

// P-10, scenario X14
#[test]
fn only_reads_of_one_certain_block_are_shared() {
    for (method, params, pin, shared) in [
        (
            "eth_getTransactionCount",
            r#"["0x1","pending"]"#,
            Some(100),
            false,
        ),
        (
            "eth_getTransactionCount",
            r#"["0x1","latest"]"#,
            Some(100),
            true,
        ),
        ("eth_getTransactionCount", r#"["0x1"]"#, Some(100), true),
        (
            "eth_getTransactionCount",
            r#"["0x1","latest"]"#,
            None,
            false,
        ),
        ("eth_getBalance", r#"["0x1","0x64"]"#, None, true),
        ("eth_getBalance", r#"["0x1","safe"]"#, Some(100), false),
        (
            "eth_getBlockByNumber",
            r#"["finalized",false]"#,
            Some(100),
            false,
        ),
        ("eth_estimateGas", "[{}]", Some(100), false),
        ("eth_estimateGas", r#"[{},"latest"]"#, Some(100), true),
        (
            "eth_getLogs",
            r#"[{"fromBlock":"0x1","toBlock":"0x2"}]"#,
            None,
            true,
        ),
        ("eth_getLogs", r#"[{"fromBlock":"0x1"}]"#, Some(100), true),
        ("eth_getLogs", r#"[{"fromBlock":"0x1"}]"#, None, false),
        ("eth_getLogs", r#"[{"fromBlock":"0xff"}]"#, Some(100), false),
        ("eth_chainId", "[]", None, true),
        ("eth_gasPrice", "[]", None, true),
        ("debug_traceTransaction", r#"["0x1"]"#, None, true),
        ("zks_estimateFee", "[{}]", Some(100), false),
        ("eth_sendRawTransaction", r#"["0x1"]"#, None, false),
        ("eth_getFilterChanges", r#"["0x1"]"#, None, false),
        ("eth_subscribe", r#"["newHeads"]"#, None, false),
        (
            "eth_call",
            r#"[{},{"blockNumber":"0x1","x":1}]"#,
            Some(100),
            false,
        ),
        ("no_such", "[]", None, false),
    ] {
        assert_eq!(
            shares(&found(method, params), pin),
            shared,
            "{method} {params} {pin:?}"
        );
    }
    let hash = super::hash(7);
    let by_hash = format!(r#"[{{"blockHash":"{hash}"}}]"#);
    assert!(shares(&found("eth_getLogs", &by_hash), None));
    let state = format!(r#"["0x1",{{"blockHash":"{hash}"}}]"#);
    assert!(shares(&found("eth_getBalance", &state), None));
}

proptest! {
    // P-10: whoever joins leaves by one of the ways, and then nothing is left
    #[test]
    fn the_table_never_leaks(steps in prop::collection::vec((0_u8..4, 0_usize..3, any::<usize>()), 0..200)) {
        let (mut table, now) = (table(), origin());
        let keys = ["a", "b", "c"];
        // Who waits for what, by the test's own count.
        let mut waiting: Vec<(&str, FlightId)> = Vec::new();
        let mut retired: Vec<FlightId> = Vec::new();
        for (step, key, who) in steps {
            let key = keys[key];
            match step {
                0 => {
                    let joined = join(&mut table, key, now);
                    let id = joined.id();
                    prop_assert!(!retired.contains(&id));
                    let known = waiting.contains(&(key, id));
                    prop_assert_eq!(known, matches!(joined, Joined::Follow(_)));
                    waiting.push((key, id));
                }
                1 if !waiting.is_empty() => {
                    let (key, id) = waiting.swap_remove(who % waiting.len());
                    let others = waiting.iter().filter(|one| one.1 == id).count();
                    match table.leave(key, id) {
                        Left::Others(n) => prop_assert_eq!(n as usize, others),
                        Left::Nobody => {
                            prop_assert_eq!(others, 0);
                            retired.push(id);
                        }
                        Left::Settled => prop_assert!(false, "nobody settled it"),
                    }
                }
                2 if !waiting.is_empty() => {
                    let index = who % waiting.len();
                    let (key, old) = waiting[index];
                    let (left, joined) = table.restart(key, old, || (key.to_owned(), ()), now);
                    prop_assert!(left != Left::Settled);
                    prop_assert!(joined.id() != old && !retired.contains(&joined.id()));
                    retired.push(old);
                    waiting[index] = (key, joined.id());
                }
                3 if !waiting.is_empty() => {
                    let (key, id) = waiting[who % waiting.len()];
                    let before = waiting.len();
                    waiting.retain(|one| one.1 != id);
                    prop_assert_eq!(table.settle(key, id) as usize, before - waiting.len());
                    retired.push(id);
                }
                _ => {}
            }
            let mut flights: BTreeMap<FlightId, ()> = BTreeMap::new();
            flights.extend(waiting.iter().map(|one| (one.1, ())));
            prop_assert_eq!(table.len(), flights.len());
        }
        for (key, id) in waiting {
            prop_assert!(table.leave(key, id) != Left::Settled);
        }
        prop_assert!(table.is_empty());
    }
}
