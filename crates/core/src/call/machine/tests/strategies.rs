//! Who is chosen, as a whole call sees it.

use super::*;
use crate::router::MethodList;

fn count_of(bench: &mut Bench, calls: u32, endpoints: usize) -> Vec<u32> {
    let mut counts = vec![0; endpoints];
    for _ in 0..calls {
        counts[bench
            .one("eth_call", Duration::ZERO, &Settled::VALUE)
            .index()] += 1;
    }
    counts
}

//
#[test]
fn takes_the_better_of_two_that_are_drawn() {
    let mut bench = Setup::new(3).adaptive().call("eth_call");
    for (endpoint, ms) in [(A, 30), (B, 10), (C, 20)] {
        bench.history(endpoint, 50, millis(ms), &Settled::VALUE);
    }
    // The books stay as they are: nothing is settled.
    let mut counts = [0; 3];
    for _ in 0..3000 {
        bench.next("eth_call");
        counts[bench.sends().0.index()] += 1;
        let now = bench.now();
        bench.machine.abandon(&mut bench.router, now);
    }
    // The best is in two of the three pairs, the worst in none that it wins.
    assert_eq!(counts[0], 0);
    assert!((1900..=2100).contains(&counts[1]), "{counts:?}");
}

// failover takes the best that is left
#[test]
fn fails_over_to_the_best_that_is_left() {
    for seed in 0..20 {
        let mut bench = Setup::new(4).adaptive().seed(seed).call("eth_call");
        for (endpoint, ms) in [(A, 40), (B, 10), (C, 30), (D, 20)] {
            bench.history(endpoint, 6, millis(ms), &Settled::VALUE);
        }
        bench.next("eth_call");
        let (first, _) = bench.sends();
        bench.settle(FIRST, &lost());
        let left: Vec<_> = [B, D, C, A].into_iter().filter(|e| *e != first).collect();
        bench.asks(left[0], SECOND, &lost());
        bench.asks(left[1], THIRD, &lost());
    }
}

// ties go to the earlier endpoint
#[test]
fn gives_a_tie_to_the_earlier_endpoint() {
    for seed in 0..20 {
        let mut bench = Setup::new(2).adaptive().seed(seed).call("eth_call");
        bench.sends_to(A, FIRST);
    }
}

// calls under way count
#[test]
fn spreads_calls_that_are_under_way() {
    let mut bench = Setup::new(2).adaptive().call("eth_call");
    for expected in [A, B, A, B] {
        bench.next("eth_call");
        assert_eq!(bench.sends().0, expected);
    }
    assert_eq!(bench.in_flight(), [2, 2]);
}

//
#[test]
fn a_weight_draws_calls() {
    let mut bench = Setup::new(2)
        .adaptive()
        .profile(B, |p| p.weight = 2.0)
        .call("eth_call");
    bench.sends_to(B, FIRST);
}

//
#[test]
fn shuffle_asks_everybody_of_a_tier_once_in_a_fresh_order_and_then_the_next_tier() {
    let mut orders = std::collections::BTreeSet::new();
    for seed in 0..60 {
        let mut bench = Setup::gateway(4)
            .tier(D, 1)
            .seed(seed)
            .set(|s| {
                s.strategy = Strategy::Shuffle;
                s.hedge = Some(Default::default());
                s.race = 2;
            })
            .call("eth_call");
        let mut order = Vec::new();
        for attempt in [FIRST, SECOND, THIRD] {
            let (endpoint, number) = bench.sends();
            assert_eq!(number, attempt);
            assert_eq!(bench.waits(), DEADLINE, "no hedge");
            bench.settle(attempt, &lost());
            order.push(endpoint);
        }
        bench.sends_to(D, FOURTH);
        orders.insert(order.clone());
        order.sort_unstable();
        assert_eq!(order, [A, B, C]);
    }
    assert_eq!(orders.len(), 6);
}

// R-12, through calls: each is measured by a real one, then the fastest is used, and every 20th
// explores
#[test]
fn least_loaded_measures_everybody_and_explores_later() {
    let mut bench = Setup::new(3)
        .set(|s| s.strategy = Strategy::LeastLoaded)
        .call("eth_call");
    let latency = |endpoint: EndpointId| millis([30, 10, 20][endpoint.index()]);
    let mut order = Vec::new();
    for _ in 0..43 {
        bench.next("eth_call");
        let (endpoint, attempt) = bench.sends();
        bench.pass(latency(endpoint));
        bench.settle(attempt, &Settled::VALUE);
        order.push(endpoint);
    }
    assert_eq!(order[..3], [A, B, C]);
    let explored: Vec<_> = order
        .iter()
        .enumerate()
        .skip(3)
        .filter(|(_, e)| **e != B)
        .collect();
    assert_eq!(explored, [(22, &A), (42, &C)]);
}

// retries do not measure, explore or count
#[test]
fn least_loaded_counts_first_attempts_alone() {
    let mut bench = Setup::new(2)
        .set(|s| {
            s.strategy = Strategy::LeastLoaded;
            s.breaker.enabled = false;
        })
        .call("eth_call");
    bench.history(A, 1, millis(10), &Settled::VALUE);
    bench.history(B, 1, millis(50), &Settled::VALUE);
    for call in 1..=20 {
        bench.next("eth_call");
        let (first, _) = bench.sends();
        assert_eq!(first == B, call == 20, "{call}");
        bench.settle(FIRST, &own_error(Class::Overloaded));
        let (second, _) = bench.sends();
        assert_ne!(first, second);
        bench.pass(millis(if second == A { 10 } else { 50 }));
        bench.settle(SECOND, &Settled::VALUE);
    }
}

// a strategy of the caller's own
#[test]
fn a_call_may_bring_its_own_strategy() {
    let mut bench = Setup::new(3).call("eth_call");
    for expected in [A, B, C, A] {
        let mut plan = bench.plan("eth_call");
        plan.strategy = Some(Arc::new(Strategy::RoundRobin));
        bench.begin(plan);
        bench.asks(expected, FIRST, &Settled::VALUE);
    }
}

//
#[test]
fn a_weighted_sum_weighs_latency_errors_quota_and_region() {
    let near = |p: &mut Profile| p.region_distance = 0.0;
    let far = |p: &mut Profile| p.region_distance = 1.0;
    let mut bench = Setup::new(2)
        .profile(A, far)
        .profile(B, near)
        .call("eth_call");
    bench.sends_to(B, FIRST);
    // Latency counts for more.
    bench.settle(FIRST, &Settled::VALUE);
    bench.history(A, 5, millis(10), &Settled::VALUE);
    bench.history(B, 9, millis(100), &Settled::VALUE);
    bench.next("eth_call");
    bench.sends_to(A, FIRST);
}

// R-14, lessons E47: capability first, and nothing left fails at once
#[test]
fn nobody_is_asked_for_what_its_list_leaves_out() {
    let only = |names: &[&str]| {
        MethodList::new(names.iter().map(|&name| name.to_owned()).collect(), vec![])
    };
    let (reads, sends) = (only(&["eth_call"]), only(&["eth_sendRawTransaction"]));
    let mut bench = Setup::new(2)
        .profile(A, |p| p.methods = reads)
        .profile(B, |p| p.methods = sends)
        .call("eth_call");
    bench.asks(A, FIRST, &lost());
    bench.waits();
    bench.next("eth_sendRawTransaction");
    bench.sends_to(B, FIRST);
    bench.next("eth_getLogs");
    assert_eq!(bench.ends(), Outcome::NoEndpoint);
    // A refusal of our own is no sample and no strike.
    let view = bench.view(B);
    assert_eq!((view.error, view.circuit.endpoint.strikes), (0.0, 0));
    assert_eq!(view.counters.failed.len(), 0);
}

// an id that only one endpoint knows
#[test]
fn a_call_for_one_endpoint_goes_to_no_other() {
    let mut bench = Setup::new(2).race(2).call("eth_call");
    let mut plan = bench.plan("eth_call");
    plan.only = Some(B);
    bench.begin(plan);
    bench.asks(B, FIRST, &lost());
    bench.waits_between(millis(50), millis(100));
    bench.asks(B, SECOND, &Settled::VALUE);
    assert_eq!(bench.ends(), Outcome::Answered(SECOND));
}

// the same seed makes the same choices
#[test]
fn a_seed_decides_every_draw() {
    let draw = |seed| {
        let mut bench = Setup::new(3)
            .seed(seed)
            .set(|s| s.strategy = Strategy::Random)
            .call("eth_call");
        (0..50)
            .map(|_| bench.one("eth_call", Duration::ZERO, &Settled::VALUE))
            .collect::<Vec<_>>()
    };
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
    let mut bench = Setup::new(3)
        .set(|s| s.strategy = Strategy::Weighted)
        .profile(C, |p| p.weight = 8.0)
        .call("eth_call");
    let counts = count_of(&mut bench, 1000, 3);
    assert!((750..=850).contains(&counts[2]), "{counts:?}");
}
