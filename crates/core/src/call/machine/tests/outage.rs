//! What a call costs while everything fails.

use super::{
    world::{Nobody, Play, World},
    *,
};
use crate::rng::Rng;

/// Everybody answers 429 to everything, or to everything but chain checks.
struct Refuses {
    latency: Duration,
    checks_pass: bool,
    rng: Rng,
}

impl Refuses {
    fn took(&mut self) -> Duration {
        self.latency.mul_f64(0.5 + self.rng.unit())
    }
}

impl Play for Refuses {
    fn call(&mut self, _: EndpointId, _: Duration) -> (Duration, Settled) {
        (self.took(), own_error(Class::RateLimited))
    }

    fn check(&mut self, _: EndpointId, _: Duration) -> (Duration, Result<u64, Class>) {
        let said = if self.checks_pass {
            Ok(1)
        } else {
            Err(Class::RateLimited)
        };
        (self.took(), said)
    }
}

type Make = fn() -> Setup;

/// Made anew for each run: accounts remember.
const SETUPS: [(&str, Make); 4] = [
    ("library", || Setup::new(3).unchecked().adaptive().race(2)),
    ("library without races", || {
        Setup::new(3).unchecked().adaptive()
    }),
    ("gateway", || Setup::gateway(3).unchecked().adaptive()),
    ("gateway with hedges", || {
        let setup = Setup::gateway(3).unchecked().adaptive();
        setup.set(|s| s.hedge = Some(Default::default()))
    }),
];

fn cost(setup: Setup, latency: u64, checks_pass: bool, seed: u64, at_once: bool) -> u32 {
    let play = Refuses {
        latency: millis(latency),
        checks_pass,
        rng: Rng::new(seed),
    };
    let mut world = World::new(setup.seed(seed), play, Nobody);
    if at_once {
        for _ in 0..10 {
            world.call_at(Duration::ZERO, "eth_call");
        }
        world.run();
    } else {
        world.one_after_the_other("eth_call", 10);
    }
    assert!(world.outcomes.iter().all(|outcome| outcome.is_some()));
    world.total()
}

/// The most that ten calls cost over some seeds.
fn most(setup: Make, latency: u64, checks_pass: bool, at_once: bool) -> u32 {
    (0..20)
        .map(|seed| cost(setup(), latency, checks_pass, seed, at_once))
        .max()
        .unwrap_or(0)
}

// The ten retries a second are paced: calls that each take a tenth of a second and more may
// use more of them.
#[test]
fn ten_calls_to_three_endpoints_that_answer_429_cost_seventeen_requests_at_most() {
    for (name, setup) in SETUPS {
        for (at_once, checks_pass, slowest) in [
            (false, false, 200),
            (false, true, 20),
            (true, false, 1000),
            (true, true, 100),
        ] {
            for latency in [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] {
                if latency <= slowest {
                    let most = most(setup, latency, checks_pass, at_once);
                    assert!(
                        most <= 17,
                        "{name}, at once: {at_once}, checks pass: {checks_pass}, {latency} ms: {most}"
                    );
                }
            }
        }
    }
}

/// A dies while calls are on their way to it, the others serve.
struct OneDies {
    rng: Rng,
}

impl Play for OneDies {
    fn call(&mut self, endpoint: EndpointId, at: Duration) -> (Duration, Settled) {
        let took = millis(5 + self.rng.below(20) as u64);
        if endpoint == A && at + took >= seconds(1) {
            (seconds(1).saturating_sub(at).max(millis(1)), lost())
        } else {
            (took, Settled::VALUE)
        }
    }
}

//
#[test]
fn no_call_is_lost_when_one_endpoint_dies_under_load() {
    for (name, setup) in SETUPS {
        for seed in 0..5 {
            let play = OneDies {
                rng: Rng::new(seed),
            };
            let mut world = World::new(setup().seed(seed), play, Nobody);
            for call in 0..3000 {
                world.call_at(millis(call), "eth_call");
            }
            world.run();
            let answered = |o: &&Option<Outcome>| matches!(o, Some(Outcome::Answered(_)));
            let count = world.outcomes.iter().filter(answered).count();
            assert_eq!(count, 3000, "{name}");
        }
    }
}

// and none where it is dead before the first
#[test]
fn no_call_of_a_cold_burst_is_lost_where_one_endpoint_is_dead() {
    struct OneIsDead(Rng);
    impl Play for OneIsDead {
        fn call(&mut self, endpoint: EndpointId, _: Duration) -> (Duration, Settled) {
            let took = millis(1 + self.0.below(30) as u64);
            if endpoint == A {
                (took, own_error(Class::RateLimited))
            } else {
                (took, Settled::VALUE)
            }
        }
    }
    for (name, setup) in SETUPS {
        for seed in 0..20 {
            let play = OneIsDead(Rng::new(seed));
            let mut world = World::new(setup().seed(seed), play, Nobody);
            for _ in 0..100 {
                world.call_at(Duration::ZERO, "eth_call");
            }
            world.run();
            let answered = |o: &&Option<Outcome>| matches!(o, Some(Outcome::Answered(_)));
            let count = world.outcomes.iter().filter(answered).count();
            assert_eq!(count, 100, "{name}");
        }
    }
}
