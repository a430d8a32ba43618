use std::sync::Arc;

use super::*;
use crate::{bucket::known, method::lookup, now};
use proptest::prelude::*;

fn origin() -> Now {
    Now {
        mono: now::tests::origin(),
        wall: SystemTime::UNIX_EPOCH + Duration::from_secs(1_709_294_400),
    }
}

fn after(now: Now, passed: Duration) -> Now {
    Now {
        mono: now.mono + passed,
        wall: now.wall + passed,
    }
}

const NOON_TO_MIDNIGHT: Duration = Duration::from_secs(12 * 3_600);

fn learning(rate: Option<Rate>) -> Budget {
    Budget {
        rate,
        ..Budget::default()
    }
}

fn take_all(account: &Account, now: Now) -> u32 {
    let mut taken = 0;
    while taken < 1_000 && account.take(now) {
        taken += 1;
    }
    taken
}

//
#[test]
fn limits_a_known_endpoint_by_its_rate() {
    let now = origin();
    let budget = learning(known("rpc.hyperliquid.xyz", "/evm"));
    let account = Account::new("hyperliquid", &budget);
    assert_eq!(account.tokens(now), Some(3));
    assert_eq!(take_all(&account, now), 3);
    assert!(!account.available(now));
    assert_eq!(account.tokens(now), Some(0));
    assert_eq!(account.wait(now), Duration::from_nanos(666_666_667));
    assert_eq!(take_all(&account, after(now, Duration::from_secs(60))), 3);
}

// R-26 and lesson 36: one account is one bucket, whatever the number of endpoints.
#[test]
fn shares_one_bucket_among_all_who_name_it() {
    let now = origin();
    let one = Arc::new(Account::new("main", &learning(Some(Rate::of(2.0)))));
    let other = Arc::clone(&one);
    assert_eq!(one.name(), "main");
    let taken = (0..10)
        .map(|n| if n % 2 == 0 { &one } else { &other })
        .filter(|account| account.take(now))
        .count();
    assert_eq!(taken, 4);
}

//
#[test]
fn limits_nothing_without_a_rate_or_with_the_budget_off() {
    let now = origin();
    let unlimited = Account::new(
        "a",
        &Budget {
            learn: None,
            ..Budget::default()
        },
    );
    let off = Account::new(
        "b",
        &Budget {
            off: true,
            periods: vec![Period::new(Every::Day, 1)],
            ..learning(Some(Rate::of(1.0)))
        },
    );
    for account in [unlimited, off] {
        for _ in 0..5 {
            account.on_rate_limited(now.mono, now.mono);
            account.spend_units(lookup("eth_call").id, 26, now.wall);
        }
        assert_eq!(account.tokens(now), None);
        assert_eq!(take_all(&account, now), 1_000);
        assert_eq!(account.wait(now), Duration::ZERO);
        assert_eq!(account.burn(now.wall), 0.0);
        assert_eq!(account.view(now).rate, None);
        assert_eq!(account.totals(now.wall)[0].units, 130);
    }
}

//
#[test]
fn has_no_token_until_a_spent_allowance_starts_again() {
    let now = origin();
    let account = Account::new(
        "a",
        &Budget {
            periods: vec![
                Period::new(Every::Day, 100),
                Period::new(Every::Month, 1_000),
            ],
            ..learning(Some(Rate::of(5.0)))
        },
    );
    let call = lookup("eth_call").id;
    account.spend_units(call, 99, now.wall);
    assert_eq!(account.burn(now.wall), 0.99);
    assert!(account.take(now));
    account.spend_units(call, 1, now.wall);
    assert!(!account.take(now));
    assert_eq!(account.tokens(now), Some(0));
    assert_eq!(account.wait(now), NOON_TO_MIDNIGHT);
    let midnight = after(now, NOON_TO_MIDNIGHT);
    assert!(account.available(midnight));
    // The day is new, the month is not.
    assert_eq!(account.burn(midnight.wall), 0.1);
}

//
#[test]
fn keeps_its_totals_across_a_restart() {
    let now = origin();
    let budget = Budget {
        periods: vec![Period::new(Every::Month, 100)],
        ..Budget::default()
    };
    let before = Account::new("a", &budget);
    before.spend_units(lookup("eth_call").id, 100, now.wall);
    let again = Account::new("a", &budget);
    assert!(again.available(now));
    again.restore_totals(&before.totals(now.wall), now.wall);
    assert!(!again.available(now));
    assert_eq!(again.totals(now.wall), before.totals(now.wall));
    // Another pool that shares the account restores it too.
    again.restore_totals(&before.totals(now.wall), now.wall);
    assert_eq!(again.totals(now.wall), before.totals(now.wall));
}

// L-10
#[test]
fn is_like_another_of_the_same_name_that_may_spend_the_same() {
    let rate = |rps| {
        let burst = 10.0;
        learning(Some(Rate { rps, burst }))
    };
    let account = Account::new("a", &rate(1.0));
    assert!(account.is_like(&Account::new("a", &rate(1.0))));
    assert!(!account.is_like(&Account::new("b", &rate(1.0))));
    assert!(!account.is_like(&Account::new("a", &rate(2.0))));
}

//
#[test]
fn obeys_a_learned_limit_where_it_had_none() {
    let now = origin();
    let account = Account::new("a", &learning(None));
    for _ in 0..10 {
        account.take(now);
    }
    for _ in 0..3 {
        assert_eq!(account.tokens(now), None);
        account.on_rate_limited(now.mono, now.mono);
    }
    // 10 in a second: 8 a second from now on, with one token to go on with.
    assert_eq!(account.tokens(now), Some(1));
    assert_eq!(take_all(&account, now), 1);
    assert_eq!(account.wait(now), Duration::from_millis(125));
    assert_eq!(account.view(now).rate, Some(Rate::of(8.0)));
    let hour = after(now, Duration::from_secs(3_600));
    assert_eq!(account.tokens(hour), None);
    assert_eq!(account.view(hour).learned_rps, None);
}

//
#[test]
fn obeys_the_lower_of_the_set_and_the_learned_limit() {
    let now = origin();
    let set = Rate::of(10.0);
    let account = Account::new("a", &learning(Some(set)));
    assert_eq!(take_all(&account, now), 20);
    for _ in 0..4 {
        account.on_rate_limited(now.mono, now.mono);
    }
    // 16 a second learned, halved once.
    let view = account.view(now);
    assert_eq!(view.learned_rps, Some(8.0));
    assert_eq!(
        view.rate,
        Some(Rate {
            rps: 8.0,
            burst: 16.0
        })
    );
    assert_eq!(view.name, "a");
    let grown = after(now, Duration::from_secs(60));
    assert_eq!(account.view(grown).rate, Some(set));
    // Until somebody looks, no more is held than the lower limit holds.
    assert_eq!(take_all(&account, grown), 16);
    assert_eq!(take_all(&account, after(grown, Duration::from_secs(2))), 20);
}

proptest! {
    // hardening D5: whatever is learned, never more than the set rate allows.
    #[test]
    fn never_gives_more_than_the_set_rate_in_any_window(
        rps in 0.5_f64..50.0,
        steps in prop::collection::vec((0_u64..3_000, 0_usize..30, any::<bool>()), 1..60),
    ) {
        let account = Account::new("a", &learning(Some(Rate::of(rps))));
        let mut now = origin();
        let mut given: Vec<Instant> = Vec::new();
        for (passed, wanted, refused) in steps {
            now = after(now, Duration::from_millis(passed));
            let asked = (0..wanted).filter(|_| account.take(now)).count();
            given.extend(std::iter::repeat_n(now.mono, asked));
            prop_assert_eq!(account.available(now), account.wait(now).is_zero());
            prop_assert_eq!(account.available(now), account.tokens(now) != Some(0));
            if refused {
                account.on_rate_limited(now.mono, now.mono);
            }
        }
        for (first, from) in given.iter().enumerate() {
            for (last, to) in given.iter().enumerate().skip(first) {
                let window = to.saturating_duration_since(*from).as_secs_f64();
                let most = Rate::of(rps).burst + rps * window;
                prop_assert!((last - first + 1) as f64 <= most + 1e-6);
            }
        }
    }
}
