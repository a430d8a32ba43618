//! A call of one attempt allocates nothing, from its plan to its end, once its endpoint has answered the method.
#![expect(
    clippy::disallowed_methods,
    reason = "an instant can only be had from the clock; it is the zero of these tests"
)]

use allocation_counter::measure;
use highwater_core::{
    ChainId, EndpointId, Now,
    call::{Action, Machine, Outcome, Plan, Settled},
    method,
    router::{MethodList, Profile, Router},
    select::{Strategy, Weights},
    settings::Settings,
};
use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

fn router(strategy: Strategy) -> Router {
    let settings = Settings {
        strategy,
        verify_chain_id: false,
        ..Settings::gateway()
    };
    let profiles = (0..10).map(|n| Profile {
        // One list makes every call look at all of them.
        methods: MethodList::new(vec![], vec![format!("trace_{n}")]),
        ..Profile::default()
    });
    Router::new(Arc::new(settings), Some(ChainId(1)), profiles.collect(), 1)
}

/// A call as the pool makes it.
fn call(router: &mut Router, name: &'static str, only: Option<EndpointId>, start: Now) -> Outcome {
    let row = method::lookup(name);
    router.on_call(start);
    let deadline = start.mono + Duration::from_secs(9);
    let mut plan = Plan::new(row, name, deadline, Duration::from_secs(5));
    plan.allowed = router.allowed(name);
    plan.only = only;
    let mut machine = Machine::new(plan);
    let Action::Send { attempt, .. } = machine.poll(router, start) else {
        panic!("nothing was sent");
    };
    assert!(matches!(machine.poll(router, start), Action::WaitUntil(_)));
    let end = Now {
        mono: start.mono + Duration::from_millis(20),
        ..start
    };
    machine.on_settled(router, attempt, &Settled::VALUE, end);
    match machine.poll(router, end) {
        Action::Finish(outcome) => outcome,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_call_of_one_attempt_allocates_nothing() {
    let now = Now {
        mono: Instant::now(),
        wall: SystemTime::UNIX_EPOCH,
    };
    for strategy in [
        Strategy::Adaptive,
        Strategy::WeightedSum(Weights::default()),
        Strategy::RoundRobin,
        Strategy::Random,
        Strategy::Weighted,
        Strategy::LeastLoaded,
        Strategy::Shuffle,
    ] {
        let mut router = router(strategy);
        for name in ["eth_call", "eth_getLogs", "eth_sendRawTransaction"] {
            // Each endpoint gets its book of the method, and the decision of this second is kept.
            for endpoint in router.ids() {
                call(&mut router, name, Some(endpoint), now);
            }
            let counted = measure(|| {
                for _ in 0..50 {
                    let outcome = call(&mut router, name, None, now);
                    assert!(matches!(outcome, Outcome::Answered(_)));
                }
            });
            assert_eq!(counted.count_total, 0, "{strategy}, {name}");
        }
    }
}
