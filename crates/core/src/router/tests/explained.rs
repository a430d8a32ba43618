//! Why this endpoint, why now.

use super::*;
use crate::{
    bucket::{Account, Budget, Rate},
    call::{Action, Machine},
    select::{Strategy, Weights},
};

fn outs(stage: &mut Stage, plan: &Plan) -> Vec<Option<Why>> {
    let now = stage.now();
    let considered = stage.router.explain(plan, now).considered;
    considered.into_iter().map(|one| one.out).collect()
}

// R-14, R-19, R-23, R-24, R-27, R-1
#[test]
fn names_why_each_endpoint_is_out() {
    let spent = Budget {
        rate: Some(Rate {
            rps: 0.001,
            burst: 1.0,
        }),
        ..Budget::default()
    };
    let mut nine: Vec<_> = (0..9).map(|_| Profile::default()).collect();
    nine[2].account = Arc::new(Account::new("spent", &spent));
    nine[3].methods = MethodList::new(vec![], vec!["eth_call".to_owned()]);
    nine[6].tier = 1;
    let mut stage = Stage::checking(Settings::default(), nine);
    let now = stage.now();
    let id = |n: u16| EndpointId(n);
    for n in 0..8 {
        let check = stage.router.begin_check(id(n), now).expect("a token");
        let found = if n == 1 { 10 } else { 1 };
        stage.router.on_chain_id(id(n), check, ChainId(found));
    }
    stage.request(id(4), millis(1), &failed(Class::Unauthorized, None));
    for _ in 0..3 {
        stage.request(id(5), millis(1), &failed(Class::Internal, Some("connect")));
    }
    stage.request(id(7), millis(1), &failed(Class::MethodUnsupported, None));
    let mut plan = stage.plan("eth_call");
    plan.allowed = stage.router.allowed("eth_call");
    let expected = [
        None,
        Some(Why::Quarantined),
        Some(Why::NoToken),
        Some(Why::MethodList),
        Some(Why::Excluded),
        Some(Why::Ejected),
        Some(Why::HigherTier),
        Some(Why::MethodOff),
        Some(Why::Unchecked),
    ];
    assert_eq!(outs(&mut stage, &plan), expected);
    plan.only = Some(id(6));
    assert_eq!(outs(&mut stage, &plan)[0], Some(Why::NotThis));
    assert_eq!(outs(&mut stage, &plan)[6], None);
    let words: std::collections::BTreeSet<_> =
        expected.iter().flatten().map(|w| w.words()).collect();
    assert_eq!(words.len(), 8);
}

#[test]
fn names_who_lacks_the_block() {
    let mut stage = Stage::new(3);
    for (endpoint, height) in [(A, 99), (B, 100), (C, 100)] {
        stage.head(endpoint, height);
    }
    let mut plan = stage.plan("eth_call");
    plan.need = Need::of(plan.method, r#"[{"to":"0x1"},"0x64"]"#);
    assert_eq!(
        outs(&mut stage, &plan),
        [Some(Why::DoesNotHold), None, None]
    );
    let now = stage.now();
    let ticket = stage.router.begin(B, AttemptId(0), &plan, TIMEOUT, now);
    stage.router.settle(
        &ticket.expect("a token"),
        &failed(Class::MissingHistory, None),
        now,
    );
    let expected = [Some(Why::DoesNotHold), Some(Why::DoesNotKeep), None];
    assert_eq!(outs(&mut stage, &plan), expected);
}

// R-5, R-10 to R-13
#[test]
fn shows_the_score_and_what_the_strategy_makes_of_it() {
    for strategy in [
        Strategy::Adaptive,
        Strategy::WeightedSum(Weights::default()),
        Strategy::RoundRobin,
        Strategy::Random,
        Strategy::Weighted,
        Strategy::LeastLoaded,
        Strategy::Shuffle,
    ] {
        let settings = Settings {
            strategy,
            ..Settings::default()
        };
        let mut stage = Stage::with(settings, vec![Profile::default(), Profile::default()]);
        for _ in 0..5 {
            stage.request(A, millis(40), &Settled::VALUE);
            stage.request(B, millis(80), &Settled::VALUE);
        }
        for _ in 0..3 {
            stage.request(B, millis(1), &failed(Class::Internal, None));
        }
        let (plan, now) = (stage.plan("eth_call"), stage.now());
        let shown = stage.router.explain(&plan, now);
        assert_eq!(shown.strategy, strategy.name());
        let [a, b] = shown.considered.as_slice() else {
            panic!("{shown:?}");
        };
        assert_eq!(b.out, Some(Why::Ejected));
        assert!(a.parts.total < b.parts.total && b.parts.errors > 1.0);
        assert!(a.value.is_some(), "{strategy}");
        assert_eq!(b.value, None);
    }
}

#[test]
fn explaining_changes_no_choice() {
    let draw = |explained: bool| {
        let settings = Settings {
            strategy: Strategy::RoundRobin,
            race: 0,
            ..Settings::default()
        };
        let mut stage = Stage::with(settings, (0..3).map(|_| Profile::default()).collect());
        let mut order = Vec::new();
        for _ in 0..9 {
            let (plan, now) = (stage.plan("eth_call"), stage.now());
            if explained {
                stage.router.explain(&plan, now);
            }
            let mut machine = Machine::new(plan);
            if let Action::Send { endpoint, .. } = machine.poll(&mut stage.router, now) {
                order.push(endpoint);
            }
        }
        order
    };
    assert_eq!(draw(true), draw(false));
    assert_eq!(draw(true)[..3], [A, B, C]);
}

#[test]
fn keeps_the_last_decisions_one_a_second_for_each_method() {
    let mut stage = Stage::new(2);
    let call = |stage: &mut Stage, method: &str| {
        let (plan, now) = (stage.plan(method), stage.now());
        let mut machine = Machine::new(plan);
        match machine.poll(&mut stage.router, now) {
            Action::Send { endpoint, .. } => endpoint,
            other => panic!("{other:?}"),
        }
    };
    let id = |method| Some(method::lookup(method).id);
    // Raced and not raced.
    for method in ["eth_call", "eth_getLogs"] {
        let chosen = call(&mut stage, method);
        let first: Vec<_> = stage.router.decisions(id(method)).collect();
        assert_eq!((first.len(), first[0].chosen), (1, chosen), "{method}");
        assert_eq!(first[0].explanation.considered.len(), 2);
        for _ in 0..5 {
            stage.pass(millis(100));
            call(&mut stage, method);
        }
        assert_eq!(stage.router.decisions(id(method)).count(), 1);
    }
    for _ in 0..20 {
        stage.pass(seconds(1));
        call(&mut stage, "eth_call");
    }
    let kept: Vec<_> = stage
        .router
        .decisions(id("eth_call"))
        .map(|d| d.at.mono)
        .collect();
    assert_eq!(kept.len(), 8);
    assert!(kept.is_sorted());
    assert_eq!(kept.last(), Some(&stage.now().mono));
    assert_eq!(stage.router.decisions(None).count(), 9);
}
