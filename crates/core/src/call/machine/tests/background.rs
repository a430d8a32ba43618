//! A call that nobody waits for: one attempt, and nothing is waited for (P-18).

use super::*;

fn background(bench: &mut Bench) {
    let mut plan = bench.plan("eth_call");
    plan.background = true;
    plan.one_at_a_time = true;
    bench.machine = Machine::new(plan);
}

// P-18, R-32
#[test]
fn has_one_attempt_whatever_comes_of_it() {
    let failures = [
        lost(),
        unsent(),
        timeout(),
        own_error(Class::Overloaded),
        Settled::Result {
            content: Content::Null,
            head: None,
        },
    ];
    for failure in failures {
        let mut bench = Setup::new(3).call("eth_call");
        background(&mut bench);
        bench.sends_to(A, FIRST);
        bench.settle(FIRST, &failure);
        bench.ends();
        assert_eq!(bench.machine.attempts(), 1);
    }
}

// P-18, R-41
#[test]
fn neither_races_nor_hedges() {
    let mut bench = Setup::new(3)
        .race(2)
        .set(|s| s.hedge = Some(crate::settings::HedgeSettings::default()))
        .call("eth_call");
    background(&mut bench);
    bench.sends_to(A, FIRST);
    assert_eq!(bench.waits(), DEADLINE);
}

// P-18, R-27, R-31
#[test]
fn waits_for_nobody() {
    let mut bench = Setup::new(1).budget(A, 1.0, 1.0).call("eth_call");
    bench.asks(A, FIRST, &Settled::VALUE);
    background(&mut bench);
    assert_eq!(bench.ends(), Outcome::Failed(None));
    // Of those that are all ejected none is asked.
    let mut bench = Setup::new(1).call("eth_call");
    bench.history(A, 5, Duration::ZERO, &lost());
    assert!(matches!(bench.out(A, "eth_call", "[]"), Some(Why::Ejected)));
    background(&mut bench);
    assert_eq!(bench.ends(), Outcome::Failed(None));
    bench.next("eth_call");
    bench.sends_to(A, FIRST);
}
