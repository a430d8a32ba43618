//! What holds whatever endpoints say, whenever they say it.

use super::{
    world::{Play, Watch, World},
    *,
};
use crate::{breaker::Stand, rng::Rng, router::MethodList, settings::HedgeSettings};
use proptest::prelude::{ProptestConfig, any, prop, prop_assert_eq, proptest};

const METHODS: [&str; 10] = [
    "eth_call",
    "eth_call",
    "eth_getTransactionReceipt",
    "eth_blockNumber",
    "eth_getLogs",
    "debug_traceCall",
    "eth_sendRawTransaction",
    "eth_newFilter",
    "personal_sign",
    "no_such_method",
];

fn chance(rng: &mut Rng, one_in: usize) -> bool {
    rng.below(one_in) == 0
}

fn one_of<T: Copy>(rng: &mut Rng, all: &[T]) -> T {
    all[rng.below(all.len())]
}

/// Says anything after any time; each endpoint has its moods.
struct Anything {
    rng: Rng,
    moods: Vec<usize>,
}

impl Anything {
    fn took(&mut self) -> Duration {
        let most = one_of(&mut self.rng, &[1, 30, 30, 300, 2000, 20_000]);
        Duration::from_micros(self.rng.below(most * 1000) as u64)
    }

    fn class(&mut self) -> Class {
        one_of(&mut self.rng, &Class::ALL)
    }
}

impl Play for Anything {
    fn call(&mut self, endpoint: EndpointId, _: Duration) -> (Duration, Settled) {
        let took = self.took();
        let rng = &mut self.rng;
        if chance(rng, 40) {
            self.moods[endpoint.index()] = rng.below(4);
        }
        if rng.below(4) >= self.moods[endpoint.index()] {
            let contents = [
                Content::Value,
                Content::Value,
                Content::Zero,
                Content::Null,
                Content::EmptyList,
            ];
            let content = one_of(rng, &contents);
            let height = 100 + rng.below(6) as u64;
            let head = chance(rng, 2).then_some((Source::Number, height));
            return (took, Settled::Result { content, head });
        }
        let mut verdict = of_class(self.class(), None);
        let rng = &mut self.rng;
        if chance(rng, 10) {
            verdict.retry_other_endpoint = chance(rng, 2);
            verdict.counts_against_endpoint = chance(rng, 2);
        }
        verdict.retry_after = chance(rng, 8).then(|| millis(rng.below(70_000) as u64));
        let said = one_of(rng, &[Said::Words, Said::Nothing, Said::Page]);
        let meaning = Meaning::of(&verdict, one_of(rng, &[200, 403, 429, 503]), said);
        if !verdict.retry_other_endpoint && chance(rng, 2) {
            return (took, Settled::Terminal { verdict, meaning });
        }
        let delivery = one_of(
            rng,
            &[Delivery::NotSent, Delivery::MaybeSent, Delivery::Answered],
        );
        let failed = Settled::Failed {
            verdict,
            meaning,
            delivery,
            showable: chance(rng, 2),
        };
        (took, failed)
    }

    fn check(&mut self, _: EndpointId, _: Duration) -> (Duration, Result<u64, Class>) {
        let took = self.took();
        let said = match self.rng.below(20) {
            0 => Ok(5),
            1 => Ok(0),
            2..=4 => Err(self.class()),
            _ => Ok(1),
        };
        (took, said)
    }

    fn head(&mut self, _: EndpointId, _: Duration) -> (Duration, Result<u64, Class>) {
        let took = self.took();
        let said = if chance(&mut self.rng, 3) {
            Err(self.class())
        } else {
            Ok(100)
        };
        (took, said)
    }
}

#[derive(Default)]
struct Seen {
    /// Nobody but ejected ones was there when it began.
    all_ejected: bool,
    sent: usize,
    /// Attempts that are out, or ended in a way that does not prove that they were never sent.
    maybe_sent: usize,
}

/// The laws.
struct Laws {
    most_attempts: u16,
    /// Account of each endpoint, and what an ideal bucket of that account holds.
    accounts: Vec<usize>,
    buckets: Vec<Option<(Rate, f64, Option<Instant>)>>,
    calls: Vec<Seen>,
}

impl Laws {
    fn seen(&mut self, call: usize) -> &mut Seen {
        if self.calls.len() <= call {
            self.calls.resize_with(call + 1, Seen::default);
        }
        &mut self.calls[call]
    }
}

impl Watch for Laws {
    fn begins(&mut self, call: usize, plan: &Plan, router: &mut Router, now: Now) {
        let considered = router.explain(plan, now).considered;
        let is_there = |out: Option<Why>| {
            matches!(
                out,
                None | Some(Why::NoToken | Why::Unchecked | Why::HigherTier)
            )
        };
        self.seen(call).all_ejected = considered.iter().all(|one| !is_there(one.out));
    }

    fn sends(
        &mut self,
        call: usize,
        plan: &Plan,
        endpoint: EndpointId,
        router: &mut Router,
        now: Now,
    ) {
        let view = router.views(now).swap_remove(endpoint.index());
        let seen = self.seen(call);
        // R-19
        assert_eq!(view.identity, Identity::Verified);
        // R-14
        assert!(plan.allowed.as_ref().is_none_or(|a| a.contains(endpoint)));
        assert!(
            view.circuit
                .methods
                .iter()
                .all(|off| off.method != plan.key)
        );
        let lanes = view.circuit.lanes;
        let lane = lanes.iter().find(|(lane, _)| *lane == plan.method.lane);
        match lane.expect("all lanes are there").1.stand {
            Stand::Closed { .. } | Stand::HalfOpen | Stand::Trial => {}
            // R-31
            Stand::Open { .. } => assert!(seen.all_ejected && seen.sent == 0),
            // R-23, R-24
            Stand::Excluded { .. } | Stand::MethodOff { .. } => panic!("{:?}", view.circuit),
        }
        // R-34, R-36
        assert!(plan.is_repeatable() || seen.maybe_sent == 0);
        seen.sent += 1;
        seen.maybe_sent += 1;
    }

    fn settles(&mut self, call: usize, settled: &Settled) {
        if let Settled::Failed {
            delivery: Delivery::NotSent,
            ..
        } = settled
        {
            self.seen(call).maybe_sent -= 1;
        }
    }

    fn spends(&mut self, endpoint: EndpointId, now: Now) {
        // R-26, R-27
        if let Some((rate, held, last)) = &mut self.buckets[self.accounts[endpoint.index()]] {
            let passed = last.map_or(Duration::ZERO, |at| now.mono.saturating_duration_since(at));
            *held = (*held + rate.rps * passed.as_secs_f64()).min(rate.burst);
            assert!(*held > 1.0 - 1e-6, "over the limit");
            *held -= 1.0;
            *last = Some(now.mono);
        }
    }

    fn ends(&mut self, call: usize, plan: &Plan, machine: &Machine, outcome: Outcome, now: Now) {
        // R-30
        assert!(now.mono <= plan.deadline);
        assert!(machine.attempts() <= self.most_attempts, "{machine:?}");
        assert_eq!(usize::from(machine.attempts()), self.seen(call).sent);
        match outcome {
            Outcome::Answered(attempt) | Outcome::Failed(Some(attempt)) => {
                assert!(attempt.0 < machine.attempts());
            }
            // R-33
            Outcome::Failed(None) | Outcome::DeadlineExceeded | Outcome::ChainMismatch => {
                assert!(!machine.reports().is_empty());
            }
            // R-14, R-27
            Outcome::NoEndpoint | Outcome::BudgetExhausted { .. } => {
                assert_eq!(machine.attempts(), 0);
            }
            Outcome::Sent | Outcome::Found(_) | Outcome::Late | Outcome::Ambiguous(_) => {
                panic!("nothing was sent");
            }
        }
    }
}

fn any_setup(rng: &mut Rng, endpoints: usize) -> (Setup, Laws) {
    let gateway = chance(rng, 2);
    let mut setup = if gateway {
        Setup::gateway(endpoints)
    } else {
        Setup::new(endpoints)
    };
    let race = one_of(rng, &[0, 2, 3]);
    let strategies = [
        Strategy::Adaptive,
        Strategy::Adaptive,
        Strategy::LeastLoaded,
        Strategy::RoundRobin,
        Strategy::Shuffle,
        Strategy::WeightedSum(Weights::default()),
    ];
    let strategy = one_of(rng, &strategies);
    let hedge = chance(rng, 2).then(HedgeSettings::default);
    let tier_wait = millis(one_of(rng, &[0, 0, 200, 3000]));
    let enabled = !chance(rng, 6);
    let (verify, probed) = (!chance(rng, 4), chance(rng, 2));
    setup = setup.set(|s| {
        s.race = race;
        s.strategy = strategy;
        s.hedge = hedge;
        s.tier_wait = tier_wait;
        s.breaker.enabled = enabled;
        s.verify_chain_id = verify;
        s.probe = probed.then(Default::default);
    });
    let mut laws = Laws {
        most_attempts: if gateway { 100 } else { 3 + 2 + race },
        accounts: Vec::new(),
        buckets: Vec::new(),
        calls: Vec::new(),
    };
    let mut accounts = Vec::new();
    for index in 0..endpoints {
        if index == 0 || !chance(rng, 4) {
            let rate = chance(rng, 2).then(|| Rate {
                rps: 0.2 + 30.0 * rng.unit(),
                burst: 1.0 + rng.below(20) as f64,
            });
            let budget = Budget {
                rate,
                ..Budget::default()
            };
            accounts.push(Arc::new(Account::new("account", &budget)));
            laws.buckets.push(rate.map(|rate| (rate, rate.burst, None)));
        }
        laws.accounts.push(accounts.len() - 1);
        let profile = &mut setup.profiles[index];
        profile.account = accounts[accounts.len() - 1].clone();
        profile.tier = one_of(rng, &[0, 0, 0, 1, 2]);
        profile.weight = one_of(rng, &[1.0, 1.0, 0.1, 7.0]);
        let denied = one_of(rng, &["", "", "eth_getLogs", "eth_chainId", "debug_*"]);
        if !denied.is_empty() {
            profile.methods = MethodList::new(vec![], vec![denied.to_owned()]);
        }
    }
    (setup, laws)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // R-6, R-14, R-19, R-23 to R-27, R-30, R-31, R-33, R-34, R-36
    #[test]
    fn no_answer_at_any_time_breaks_a_law(
        seed in any::<u64>(),
        endpoints in 1_usize..=6,
        calls in 50_usize..400,
        millis_between in prop::sample::select(vec![0_u64, 1, 20, 200, 2000]),
    ) {
        let mut rng = Rng::new(seed);
        let (setup, laws) = any_setup(&mut rng, endpoints);
        let play = Anything { rng: Rng::new(rng.next_u64()), moods: vec![1; endpoints] };
        let mut world = World::new(setup.seed(seed), play, laws);
        let mut at = Duration::ZERO;
        for _ in 0..calls {
            at += Duration::from_micros(rng.below(2000 * millis_between as usize + 1) as u64);
            let leaves = chance(&mut rng, 10).then(|| at + millis(rng.below(3000) as u64));
            let method = one_of(&mut rng, &METHODS);
            let mut plan = world.plan_at(at, method);
            if chance(&mut rng, 3) {
                plan.need = Need::of(plan.method, r#"[{"to":"0x1"},"0x67"]"#);
            }
            plan.solitary = chance(&mut rng, 10);
            plan.deadline -= millis(rng.below(8900) as u64);
            world.plan(at, plan, leaves);
        }
        world.run();
        // Every call came to its end, and nobody counts as busy any more.
        prop_assert_eq!(world.open_calls(), 0);
        let now = world.now();
        for view in world.router.views(now) {
            prop_assert_eq!(view.in_flight, 0);
        }
    }
}
