use super::*;
use proptest::prelude::*;
use std::sync::LazyLock;

type Table = HotKeys<String, String>;

const AGE: Duration = Duration::from_secs(2);

/// The same moment all along.
static ORIGIN: LazyLock<Instant> = LazyLock::new(crate::now::tests::origin);

fn origin() -> Instant {
    *ORIGIN
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn after(n: u64) -> Instant {
    origin() + ms(n)
}

fn name(n: u64) -> String {
    format!("key {n}")
}

/// Registers a key that ages with the head.
fn register(table: &mut Table, key: &str, again: bool, now: Instant) -> Option<Place> {
    table.register(key, again, None, now, || {
        (key.to_owned(), key.to_owned(), Ages::WithHead)
    })
}

/// A full table: the key `n` was read `n` ms after the origin.
fn full() -> Table {
    let mut table = Table::new(MOST);
    for n in 0..u64::from(MOST) {
        assert!(register(&mut table, &name(n), false, after(n)).is_some());
    }
    assert!(!table.has_room());
    table
}

fn at_head(now: Instant) -> Moment {
    Moment {
        ticked: false,
        next: now + LEAST_TICK,
        max_age: AGE,
    }
}

fn due(table: &mut Table, moment: &Moment, head: u64) -> Vec<String> {
    let due = table.due(moment, |_| Some(head));
    due.into_iter().map(|due| due.what).collect()
}

// P-18
#[test]
fn a_first_read_is_enough_while_there_is_room_and_a_second_one_displaces_the_longest_unread() {
    let mut table = full();
    assert_eq!(table.len(), 64);
    let late = after(5000);
    assert_eq!(register(&mut table, "once", false, late), None);
    let oldest = table.find("key 0").unwrap();
    let second = table.find("key 1").unwrap();
    assert!(table.touch(oldest, after(4000)));
    let place = register(&mut table, "twice", true, late).unwrap();
    assert_eq!(table.len(), 64);
    assert!(table.touch(oldest, late) && table.touch(place, late));
    // Its place is another key's now.
    assert!(!table.touch(second, late));
    assert_eq!(table.find("key 1"), None);
}

// P-18
#[test]
fn a_key_that_was_just_read_keeps_its_place() {
    let mut table = full();
    // The first was read at the origin.
    let soon = origin() + SETTLED - ms(1);
    assert!(!table.admits(soon));
    assert_eq!(register(&mut table, "twice", true, soon), None);
    assert!(table.admits(origin() + SETTLED));
    // What was found out once is not looked for again, and a read in between changes that.
    let first = table.find("key 0").unwrap();
    table.touch(first, after(900));
    assert!(!table.admits(origin() + SETTLED));
    assert!(table.admits(after(1001)));
    assert!(register(&mut table, "twice", true, after(1001)).is_some());
    assert_eq!(table.find("key 1"), None);
}

// P-18
#[test]
fn a_key_has_one_place() {
    let mut table = Table::new(MOST);
    let place = register(&mut table, "a", false, origin());
    assert_eq!(register(&mut table, "a", true, after(9)), place);
    assert_eq!(table.len(), 1);
    assert_eq!(table.next_idle(), Some(after(9) + IDLE));
}

// P-18
#[test]
fn a_key_that_nobody_reads_leaves_after_thirty_seconds() {
    let mut table = Table::new(MOST);
    let a = register(&mut table, "a", false, origin()).unwrap();
    let b = register(&mut table, "b", false, after(10)).unwrap();
    assert_eq!(table.next_idle(), Some(after(30_000)));
    table.drop_idle(after(29_999));
    assert_eq!(table.len(), 2);
    table.drop_idle(after(30_000));
    assert_eq!((table.len(), table.next_idle()), (1, Some(after(30_010))));
    assert!(!table.touch(a, after(30_000)) && table.touch(b, after(30_000)));
    table.drop_idle(after(60_000));
    assert!(table.is_empty());
    assert_eq!(table.next_idle(), None);
}

// P-18
#[test]
fn a_table_without_places_takes_nobody_and_one_that_shrinks_lets_the_longest_unread_go() {
    let mut table = Table::new(0);
    assert!(!table.has_room() && !table.admits(origin()));
    assert_eq!(register(&mut table, "a", true, origin()), None);
    assert_eq!(table.next_idle(), None);
    let mut table = full();
    table.set_most(2);
    let left = |table: &Table, n: u64| table.find(name(n).as_str()).is_some();
    assert_eq!(table.len(), 2);
    assert!(left(&table, 62) && left(&table, 63));
    table.set_most(200);
    for n in 100..400 {
        register(&mut table, &name(n), false, origin());
    }
    assert_eq!(table.len(), 64);
}

// P-18
#[test]
fn a_key_is_due_once_for_each_head_that_it_is_behind() {
    let (mut table, now) = (Table::new(MOST), origin());
    let place = register(&mut table, "a", false, now).unwrap();
    table.kept(place, Some(100), now);
    assert_eq!(due(&mut table, &at_head(now), 100), [""; 0]);
    assert_eq!(due(&mut table, &at_head(now), 101), ["a"]);
    // Nobody could be asked: it stays due.
    assert_eq!(due(&mut table, &at_head(now), 101), ["a"]);
    table.begun(place, 101);
    assert_eq!(due(&mut table, &at_head(now), 102), [""; 0]);
    table.ended(place);
    // It failed: the old answer stays, and that head is not tried again.
    assert_eq!(due(&mut table, &at_head(now), 101), [""; 0]);
    assert_eq!(due(&mut table, &at_head(now), 102), ["a"]);
    table.begun(place, 102);
    table.ended(place);
    table.kept(place, Some(102), after(1));
    // A caller got ahead of the background.
    table.kept(place, Some(103), after(2));
    assert_eq!(due(&mut table, &at_head(after(2)), 103), [""; 0]);
    assert!(table.due(&at_head(now), |_| None).is_empty());
}

// P-18
#[test]
fn a_key_at_the_new_head_is_due_where_it_would_be_too_old_before_the_next_tick() {
    let mut table = Table::new(MOST);
    let place = register(&mut table, "a", false, origin()).unwrap();
    table.kept(place, Some(101), origin());
    let mut heard = table.clone();
    assert_eq!(due(&mut heard, &at_head(after(999)), 101), [""; 0]);
    // It was looked at for this head.
    assert_eq!(due(&mut heard, &at_head(after(1500)), 101), [""; 0]);
    assert_eq!(due(&mut table, &at_head(after(1000)), 101), ["a"]);
}

// P-18
#[test]
fn a_key_that_came_in_at_this_head_waits_for_the_next() {
    let mut table = Table::new(MOST);
    let make = || ("a".to_owned(), "a".to_owned(), Ages::WithHead);
    let place = table.register("a", false, Some(101), origin(), make);
    table.kept(place.unwrap(), Some(100), origin());
    assert_eq!(due(&mut table, &at_head(origin()), 101), [""; 0]);
    assert_eq!(due(&mut table, &at_head(origin()), 102), ["a"]);
}

// P-18
#[test]
fn present_state_is_due_on_every_tick() {
    let mut table = Table::new(MOST);
    let make = || ("p".to_owned(), "p".to_owned(), Ages::WithTime);
    let place = table.register("p", false, Some(100), origin(), make);
    let place = place.unwrap();
    table.kept(place, None, origin());
    let tick = |now| Moment {
        ticked: true,
        ..at_head(now)
    };
    assert_eq!(due(&mut table, &tick(after(1000)), 100), ["p"]);
    table.begun(place, 100);
    assert_eq!(due(&mut table, &tick(after(1000)), 100), [""; 0]);
    table.ended(place);
    table.kept(place, None, after(1000));
    // A head alone finds it young enough until the next tick.
    assert_eq!(due(&mut table, &at_head(after(1001)), 101), [""; 0]);
    assert_eq!(due(&mut table, &at_head(after(2000)), 102), ["p"]);
}

// P-19
#[test]
fn a_tick_is_a_block_time_and_never_less_than_a_second() {
    let every = |refresh: Refresh, block: Option<u64>| refresh.interval(block.map(ms));
    assert_eq!(every(Refresh::Auto, None), Some(ms(1000)));
    assert_eq!(every(Refresh::Auto, Some(250)), Some(ms(1000)));
    assert_eq!(every(Refresh::Auto, Some(12_000)), Some(ms(12_000)));
    assert_eq!(every(Refresh::Every(ms(5000)), Some(250)), Some(ms(5000)));
    assert_eq!(every(Refresh::Off, Some(250)), None);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Read(u64),
    Kept(u64),
    Pass(u64),
    Head,
    End(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..90_u64).prop_map(Step::Read),
        2 => (0..90_u64).prop_map(Step::Kept),
        1 => (1..4000_u64).prop_map(Step::Pass),
        1 => Just(Step::Head),
        2 => (0..90_u64).prop_map(Step::End),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // P-18, P-20
    #[test]
    fn whatever_is_read_at_most_so_many_keys_are_hot_and_each_is_read_again_once_a_head(
        most in 0..=MOST,
        steps in proptest::collection::vec(step(), 1..200),
    ) {
        let mut table = Table::new(most);
        let (mut now, mut head, mut begun) = (origin(), 1, Vec::new());
        for step in steps {
            match step {
                Step::Read(n) => {
                    let place = register(&mut table, &name(n), n % 2 == 0, now);
                    prop_assert!(place.is_none_or(|place| table.touch(place, now)));
                    prop_assert!(place.is_some() || !table.has_room());
                }
                Step::Kept(n) => {
                    if let Some(place) = table.find(name(n).as_str()) {
                        table.kept(place, Some(head), now);
                    }
                }
                Step::Pass(millis) => {
                    now += ms(millis);
                    table.drop_idle(now);
                    prop_assert!(table.next_idle().is_none_or(|idle| idle > now));
                }
                Step::End(n) => {
                    if let Some(place) = table.find(name(n).as_str()) {
                        table.ended(place);
                    }
                }
                Step::Head => {
                    (head, begun) = (head + 1, Vec::new());
                }
            }
            let due = table.due(&at_head(now), |_| Some(head));
            for Due { place, .. } in due {
                prop_assert!(!begun.contains(&place));
                table.begun(place, head);
                begun.push(place);
            }
            prop_assert!(table.len() <= usize::from(most));
            prop_assert_eq!(table.len(), table.slots.iter().flatten().count());
            prop_assert_eq!(table.is_empty(), table.next_idle().is_none());
        }
    }
}
