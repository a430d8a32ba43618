//! Several endpoints at once.

use super::*;

// R-35, scenario W16
#[test]
fn w16_a_broadcast_goes_to_all_at_once_and_the_first_success_counts() {
    let mut bench = Setup::new(4).checked().call("eth_call");
    bench.send_raw(write(Policy::Broadcast(3)));
    let sent = [bench.sends().0, bench.sends().0, bench.sends().0];
    assert_eq!(sent, [A, B, C]);
    bench.settle(FIRST, &terminal(Class::AlreadyKnown));
    bench.settle(THIRD, &unsent());
    assert_eq!(bench.waits(), DEADLINE);
    bench.accepts(SECOND);
    assert_eq!(bench.ends(), Outcome::Answered(SECOND));
}

// R-35, scenario W17
#[test]
fn w17_a_broadcast_that_only_meets_known_ones_ends_with_the_first_as_it_came() {
    let mut bench = Setup::new(2).checked().call("eth_call");
    bench.send_raw(write(Policy::Broadcast(2)));
    bench.sends_to(A, FIRST);
    bench.sends_to(B, SECOND);
    bench.settle(SECOND, &terminal(Class::AlreadyKnown));
    bench.settle(FIRST, &terminal(Class::AlreadyKnown));
    assert_eq!(bench.ends(), Outcome::Answered(FIRST));
}

//
#[test]
fn the_others_of_a_broadcast_run_on_after_the_first_success() {
    let mut bench = Setup::new(2).checked().call("eth_call");
    bench.send_raw(write(Policy::Broadcast(2)));
    bench.sends_to(A, FIRST);
    bench.sends_to(B, SECOND);
    bench.accepts(FIRST);
    assert_eq!(bench.ends(), Outcome::Answered(FIRST));
    assert!(bench.machine.may_have_sent());
    let left = bench.machine.leftovers();
    let left: Vec<_> = left.iter().map(|(t, l)| (t.endpoint(), *l)).collect();
    assert_eq!(left, [(B, Leftover::Finish)]);
}

//
#[test]
fn a_cold_broadcast_waits_for_checks_but_not_long() {
    let mut bench = Setup::new(3).unchecked().call("eth_call");
    bench.send_raw(write(Policy::Broadcast(3)));
    let mut warmed = [bench.warms(), bench.warms(), bench.warms()];
    warmed.sort_unstable();
    assert_eq!(warmed, [A, B, C]);
    bench.waits_between(millis(1), millis(10));
    bench.passes(A);
    bench.passes(B);
    // C hangs.
    let now = bench.now();
    bench.router.begin_check(C, now);
    for _ in 0..50 {
        match bench.poll() {
            Action::WaitUntil(at) => bench.pass(at.saturating_duration_since(bench.now().mono)),
            Action::Send { endpoint, .. } => {
                assert_eq!(endpoint, A);
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(bench.passed, millis(500));
    bench.sends_to(B, SECOND);
    assert_eq!(bench.waits(), DEADLINE - millis(500));
}

// a broadcast narrows to those who may be asked.
#[test]
fn a_broadcast_with_one_endpoint_to_ask_is_one_send() {
    let mut bench = Setup::new(2)
        .checked()
        .budget(B, 0.001, 1.0)
        .call("eth_call");
    bench.send_raw(write(Policy::Broadcast(2)));
    bench.sends_to(A, FIRST);
    assert_eq!(bench.waits(), DEADLINE);
}

//
#[test]
fn a_broadcast_tries_a_lane_beside_the_others() {
    let mut bench = Setup::new(3).checked().call("eth_call");
    opens_the_lane(&mut bench, A);
    bench.pass(seconds(30));
    bench.send_raw(write(Policy::Broadcast(2)));
    let sent = [bench.sends().0, bench.sends().0, bench.sends().0];
    assert_eq!(sent, [B, C, A]);
}
