//! Tiers, and what goes before the first call to a higher one.

use super::*;
use crate::router::MethodList;

// R-1, lessons E53
#[test]
fn a_higher_tier_is_asked_only_when_no_lower_one_can_serve() {
    let mut bench = Setup::new(3).tier(A, 1).tier(C, 2).call("eth_call");
    bench.history(A, 9, millis(1), &Settled::VALUE);
    for _ in 0..20 {
        assert_eq!(bench.one("eth_call", millis(800), &Settled::VALUE), B);
    }
    bench.next("eth_call");
    bench.asks(B, FIRST, &lost());
    bench.asks(A, SECOND, &lost());
    bench.sends_to(C, THIRD);
}

//
#[test]
fn ejected_excluded_and_spent_lower_tiers_cannot_serve() {
    for (failure, times) in [(unsent(), 3), (own_error(Class::Unauthorized), 1)] {
        let mut bench = Setup::new(2).tier(B, 1).call("eth_call");
        bench.history(A, times, Duration::ZERO, &failure);
        assert_eq!(bench.one("eth_call", Duration::ZERO, &Settled::VALUE), B);
    }
    let mut bench = Setup::new(2)
        .tier(B, 1)
        .budget(A, 100.0, 1.0)
        .call("eth_call");
    for endpoint in [A, B, B] {
        assert_eq!(
            bench.one("eth_call", Duration::ZERO, &Settled::VALUE),
            endpoint
        );
    }
    bench.pass(millis(10));
    assert_eq!(bench.one("eth_call", Duration::ZERO, &Settled::VALUE), A);
}

//
#[test]
fn waits_for_a_token_of_the_lower_tier_as_long_as_it_is_told() {
    let waits = |rps: f64, millis_of_wait: u64, race: u16| {
        let mut bench = Setup::new(3)
            .tier(B, 1)
            .tier(C, 1)
            .race(race)
            .budget(A, rps, 1.0)
            .set(|s| s.tier_wait = millis(millis_of_wait))
            .call("eth_call");
        bench.history(A, 1, Duration::ZERO, &Settled::VALUE);
        bench.next("eth_call");
        bench
    };
    for race in [0, 2] {
        waits(4.0, 300, race).waits_between(millis(250), millis(250));
        let mut at_once = waits(2.0, 300, race);
        assert_eq!(at_once.sends().0, B);
    }
    // The token went to somebody else: it waits for what is left of its time, and moves up then.
    let mut bench = waits(4.0, 300, 0);
    bench.waits_between(millis(250), millis(250));
    let mut call = bench.beside("eth_call");
    bench.swap(&mut call);
    bench.sends_to(A, FIRST);
    bench.swap(&mut call);
    bench.sends_to(B, FIRST);
    // Nor longer than any call waits.
    let mut bench = waits(0.4, 60_000, 0);
    assert_eq!(bench.sends().0, B);
}

// on moving up, the chain check and one head go first, and spend no attempt
#[test]
fn a_higher_tier_is_checked_and_asked_for_its_head_before_its_first_call() {
    let mut bench = Setup::new(2)
        .tier(B, 1)
        .probed()
        .unchecked()
        .call("eth_call");
    bench.passes(A);
    bench.asks(A, FIRST, &lost());
    assert_eq!(bench.checks(), B);
    bench.passes(B);
    bench.machine.on_check(B, None);
    assert_eq!(
        bench.poll(),
        Action::Head {
            endpoint: B,
            timeout: ATTEMPT
        }
    );
    assert_eq!(bench.waits(), DEADLINE);
    bench.head(B, 100);
    bench.machine.on_head(B);
    bench.asks(B, SECOND, &Settled::VALUE);
    assert_eq!(bench.machine.attempts(), 2);
    // Its head is known now.
    bench.next("eth_call");
    bench.asks(A, FIRST, &lost());
    bench.sends_to(B, SECOND);
}

//
#[test]
fn whatever_comes_of_that_head_the_call_goes_on() {
    let mut bench = Setup::new(3)
        .tier(B, 1)
        .tier(C, 1)
        .probed()
        .call("eth_call");
    bench.asks(A, FIRST, &lost());
    assert!(matches!(bench.poll(), Action::Head { endpoint: B, .. }));
    let now = bench.now();
    let verdict = of_class(Class::Timeout, None);
    let meaning = Meaning::of(&verdict, 200, Said::Words);
    bench
        .router
        .on_probe_failed(B, &verdict, meaning, ATTEMPT, now);
    bench.machine.on_head(B);
    // Once a call for each endpoint.
    bench.sends_to(B, SECOND);
    // Nothing may have been sent at all: it had no token for it.
    let mut bench = Setup::new(2).tier(B, 1).probed().call("eth_call");
    bench.asks(A, FIRST, &lost());
    assert!(matches!(bench.poll(), Action::Head { endpoint: B, .. }));
    bench.machine.on_head(B);
    bench.sends_to(B, SECOND);
}

// the lowest tier is the timer's, and so is everybody whose head is fresh
#[test]
fn nobody_is_asked_for_a_head_who_was_or_cannot_tell() {
    let without = MethodList::new(vec![], vec!["eth_blockNumber".to_owned()]);
    let mut bench = Setup::new(2)
        .tier(A, 3)
        .tier(B, 4)
        .probed()
        .profile(B, |p| p.methods = without)
        .call("eth_call");
    bench.asks(A, FIRST, &lost());
    bench.sends_to(B, SECOND);
    let setup = Setup::new(2).tier(B, 1);
    for setup in [setup.clone(), setup.probed().set(|s| s.heads = None)] {
        let mut bench = setup.call("eth_call");
        bench.asks(A, FIRST, &lost());
        bench.sends_to(B, SECOND);
    }
}

// whoever's head is to be read first does not race
#[test]
fn a_higher_tier_races_once_its_heads_are_known() {
    let mut bench = Setup::new(3)
        .tier(B, 1)
        .tier(C, 1)
        .race(2)
        .probed()
        .call("eth_call");
    bench.history(A, 3, Duration::ZERO, &lost());
    bench.next("eth_call");
    assert!(matches!(bench.poll(), Action::Head { endpoint: B, .. }));
    bench.head(B, 100);
    bench.head(C, 100);
    bench.machine.on_head(B);
    bench.sends_to(B, FIRST);
    bench.next("eth_call");
    bench.sends_to(B, FIRST);
    bench.sends_to(C, SECOND);
}
