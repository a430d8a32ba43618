//! What is shown: snapshots, explanations, decisions, totals (R-2, R-25, R-28).

use crate::{
    bench::{call, quiet, result},
    fake::{Fake, Reply, builder, ms, pool, s, still, tiered, with_profiles},
};
use highwater::{
    Endpoint, MethodCounters, Pool, SecretUrl, Totals,
    core::{
        ChainId,
        breaker::{Reason, Stand},
        bucket::{Account, Budget, Every, Period, Rate},
        classify::Class,
        heads::Standing,
        method::Lane,
        router::{Identity, MethodList, Profile, Why},
    },
};
use std::{sync::Arc, time::Duration};
use tokio::time::{advance, sleep};

fn node(result: &str) -> Fake {
    let fake = Fake::new();
    fake.on("eth_call", Reply::result(result).after(ms(20)));
    fake
}

// R-25, P-28
#[tokio::test(start_paused = true)]
async fn a_snapshot_shows_state_streaks_cooldown_reason_tokens_and_counters() {
    let (failing, good) = (node("1"), node("2"));
    failing.on("eth_call", Reply::reset());
    let rate = Rate {
        rps: 1.0,
        burst: 10.0,
    };
    let budget = Budget {
        rate: Some(rate),
        ..Budget::default()
    };
    let profiles = vec![
        Profile {
            weight: 3.0,
            account: Arc::new(Account::new("main", &budget)),
            ..Profile::default()
        },
        Profile {
            tier: 1,
            ..Profile::default()
        },
    ];
    let pool = with_profiles(&[&failing, &good], profiles, still())
        .build()
        .unwrap();
    for _ in 0..2 {
        result(&pool, "eth_call").await;
    }
    let lane = |pool: &Pool| {
        let circuit = pool.snapshot().endpoints.remove(0).circuit;
        let found = circuit
            .lanes
            .into_iter()
            .find(|(lane, _)| *lane == Lane::State);
        found.unwrap().1
    };
    assert_eq!(lane(&pool).strikes, 2);
    result(&pool, "eth_call").await;
    advance(s(2)).await;
    let gate = lane(&pool);
    assert!(
        matches!(
            gate.stand,
            Stand::Open {
                reason: Reason::Failures,
                ..
            }
        ),
        "{gate:?}"
    );
    assert!(gate.left > s(2) && gate.left < s(3), "{:?}", gate.left);
    let snapshot = pool.snapshot();
    assert_eq!(snapshot.chain, Some(ChainId(1)));
    let [a, b] = &snapshot.endpoints[..] else {
        panic!("{snapshot:?}")
    };
    assert_eq!(
        (a.label.as_str(), a.host.as_str(), a.tier, a.weight),
        ("a", "", 0, 3.0)
    );
    assert_eq!(
        (a.identity, a.account.name.as_str()),
        (Identity::Verified, "main")
    );
    // Ten tokens; a check, three calls; two seconds.
    assert_eq!((a.tokens, b.tokens), (Some(8), None));
    assert_eq!(a.counters.failed.get(Class::Internal.name()), Some(&3));
    let calls = MethodCounters {
        sent: 3,
        good: 0,
        failed: 3,
    };
    assert_eq!(a.counters.methods.get("eth_call"), Some(&calls));
    let checks = MethodCounters {
        sent: 1,
        good: 1,
        failed: 0,
    };
    assert_eq!(a.counters.methods.get("eth_chainId"), Some(&checks));
    assert_eq!((b.counters.sent, b.counters.good), (4, 4));
    assert_eq!(b.latency_ms, Some(20.0));
    assert_eq!(b.error, 0.0);
}

// R-25
#[tokio::test(start_paused = true)]
async fn a_snapshot_shows_heads_and_who_lags() {
    let (one, two, late) = (Fake::at(100), Fake::at(100), Fake::at(60));
    let pool = pool(&[&one, &two, &late], still());
    let snapshot = pool.probe().await;
    assert_eq!(snapshot.reference_head, Some(100));
    let head = snapshot.endpoints[2].head.unwrap();
    assert_eq!(
        (head.height, head.standing),
        (Some(60), Standing::Behind { lag: 40 })
    );
    let excess = 40 - snapshot.max_lag.unwrap();
    assert_eq!(snapshot.endpoints[2].excess_lag, Some(excess));
    assert_eq!(snapshot.endpoints[0].excess_lag, None);
}

// R-2
#[tokio::test(start_paused = true)]
async fn nothing_that_is_shown_names_a_url() {
    let url = "https://user:password1@node.example:8443/v2/secret-key-7?token=secret-token";
    let endpoint = Endpoint::url(SecretUrl::parse(url).unwrap());
    let pool = Pool::builder()
        .settings(quiet(1))
        .endpoint(endpoint)
        .build()
        .unwrap();
    let explanation = pool.explain("eth_call", None);
    let shown = format!(
        "{:?} {explanation:?} {pool:?} {:?}",
        pool.snapshot(),
        pool.totals()
    );
    for part in ["secret", "password1", "8443", "user", "https"] {
        assert!(!shown.contains(part), "{part} in {shown}");
    }
    assert_eq!(pool.snapshot().endpoints[0].host, "node.example");
}

// R-5, R-14
#[tokio::test(start_paused = true)]
async fn an_explanation_says_of_every_endpoint_its_score_or_why_it_is_out() {
    let (good, wrong, denied, spare) = (node("1"), node("2"), node("3"), node("4"));
    wrong.on("eth_chainId", Reply::result("\"0x5\""));
    let deny = |names: &[&str]| {
        MethodList::new(vec![], names.iter().map(|&name| name.to_owned()).collect())
    };
    let profiles = vec![
        Profile {
            weight: 2.0,
            ..Profile::default()
        },
        Profile::default(),
        Profile {
            methods: deny(&["eth_call"]),
            ..Profile::default()
        },
        Profile {
            tier: 1,
            ..Profile::default()
        },
    ];
    let fakes = [&good, &wrong, &denied, &spare];
    let pool = with_profiles(&fakes, profiles, still()).build().unwrap();
    pool.check_all(s(1)).await;
    result(&pool, "eth_call").await;
    let explanation = pool.explain("eth_call", None);
    assert_eq!(
        (explanation.method, explanation.strategy),
        ("eth_call", "adaptive")
    );
    let outs: Vec<_> = explanation.considered.iter().map(|one| one.out).collect();
    let expected = [
        None,
        Some(Why::Quarantined),
        Some(Why::MethodList),
        Some(Why::HigherTier),
    ];
    assert_eq!(outs, expected);
    assert_eq!(&*explanation.considered[3].endpoint.label, "d");
    let parts = explanation.considered[0].parts;
    assert_eq!(
        (parts.weight, parts.load, parts.lag, parts.errors),
        (2.0, 1.0, 1.0, 1.0)
    );
    assert!(
        (parts.total - parts.service_ms / 2.0).abs() < 1e-9,
        "{parts:?}"
    );
    assert!(!Why::Quarantined.words().is_empty());
}

// R-24, holder rule
#[tokio::test(start_paused = true)]
async fn an_explanation_with_parameters_says_who_holds_the_block() {
    let (low, high) = (Fake::at(100), Fake::at(120));
    let pool = pool(&[&low, &high], still());
    pool.probe().await;
    let outs = |params: Option<&str>| {
        let explanation = pool.explain("eth_getBalance", params);
        let outs = explanation.considered.into_iter().map(|one| one.out);
        outs.collect::<Vec<_>>()
    };
    assert_eq!(
        outs(Some(r#"["0x00","0x78"]"#)),
        [Some(Why::DoesNotHold), None]
    );
    assert_eq!(outs(None), [None, None]);
}

// R-25
#[tokio::test(start_paused = true)]
async fn the_last_decisions_are_kept_one_a_second_for_each_method() {
    let (one, two) = (node("1"), node("2"));
    one.on("eth_gasPrice", Reply::result("1"));
    let pool = tiered(&[&one, &two], still());
    for _ in 0..30 {
        result(&pool, "eth_call").await;
        sleep(ms(480)).await;
    }
    result(&pool, "eth_gasPrice").await;
    let decisions = pool.decisions(Some("eth_call"));
    assert_eq!(decisions.len(), 8);
    for pair in decisions.windows(2) {
        assert!(pair[0].age >= pair[1].age + s(1), "{pair:?}");
        assert_eq!(&*pair[0].chosen.label, "a");
        assert_eq!(pair[0].explanation.considered[1].out, Some(Why::HigherTier));
    }
    assert_eq!(pool.decisions(None).len(), 9);
    assert_eq!(pool.decisions(Some("eth_getLogs")), []);
}

/// An endpoint that may spend so many compute units a day.
fn allowance(name: &str, units: u64) -> Profile {
    let budget = Budget {
        periods: vec![Period::new(Every::Day, units)],
        ..Budget::default()
    };
    Profile {
        account: Arc::new(Account::new(name, &budget)),
        ..Profile::default()
    }
}

// R-28
#[tokio::test(start_paused = true)]
async fn totals_are_kept_across_a_restart_by_account_and_by_label() {
    let (one, two) = (node("1"), node("2"));
    let profiles = || vec![allowance("main", 1000), allowance("", 1000)];
    let before = with_profiles(&[&one, &two], profiles(), still())
        .build()
        .unwrap();
    before.check_all(s(1)).await;
    for _ in 0..10 {
        result(&before, "eth_call").await;
    }
    let spent = |pool: &Pool| -> Vec<u64> {
        let endpoints = pool.snapshot().endpoints.into_iter();
        let days = endpoints.map(|endpoint| {
            let spent = endpoint.account.spent.into_iter();
            spent
                .filter(|spent| spent.every == Every::Day)
                .map(|spent| spent.units)
                .sum()
        });
        days.collect()
    };
    let stored = before.totals().to_json();
    assert!(
        stored.contains("\"main\"") && stored.contains("\"b\""),
        "{stored}"
    );
    assert!(!stored.contains("\"a\""), "{stored}");
    let restored = Totals::from_json(&stored).unwrap();
    let after = with_profiles(&[&one, &two], profiles(), still())
        .restore_totals(restored)
        .build()
        .unwrap();
    assert_eq!(spent(&after), spent(&before));
    assert_eq!(after.totals(), before.totals());
}

// R-28: two pools that share an account restore it once.
#[tokio::test(start_paused = true)]
async fn a_shared_account_takes_its_totals_in_once() {
    let one = node("1");
    let spend = with_profiles(&[&one], vec![allowance("main", 1000)], still());
    let spend = spend.build().unwrap();
    result(&spend, "eth_call").await;
    let stored = spend.totals();
    let profile = allowance("main", 1000);
    let pools: Vec<_> = (0..2)
        .map(|_| {
            with_profiles(&[&one], vec![profile.clone()], still())
                .restore_totals(stored.clone())
                .build()
                .unwrap()
        })
        .collect();
    assert_eq!(pools[1].totals(), stored);
}

// R-27, R-28
#[tokio::test(start_paused = true)]
async fn an_allowance_that_was_spent_before_the_restart_is_spent() {
    let fake = node("1");
    let spend = with_profiles(&[&fake], vec![allowance("", 1000)], still());
    let spend = spend.build().unwrap();
    result(&spend, "eth_call").await;
    let stored = spend.totals();
    let again = with_profiles(&[&fake], vec![allowance("", 20)], still())
        .restore_totals(stored)
        .build()
        .unwrap();
    let error = call(&again, "eth_call", "[]").await.unwrap_err();
    let highwater::Error::BudgetExhausted { endpoints, wait } = error else {
        panic!("{error:?}")
    };
    assert_eq!(endpoints, ["a"]);
    assert!(wait <= Duration::from_secs(86_400));
}

#[test]
fn names_the_routing_option_that_is_out_of_range() {
    let fake = Fake::new();
    let mut settings = still();
    settings.breaker.threshold = 0;
    assert_eq!(
        builder(&[&fake], settings).build().unwrap_err().field,
        "threshold"
    );
    for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let profile = Profile {
            weight,
            ..Profile::default()
        };
        let builder = with_profiles(&[&fake], vec![profile], still());
        assert_eq!(builder.build().unwrap_err().field, "weight");
    }
}
