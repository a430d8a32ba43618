//! Other endpoints at run time (L-10).

use crate::{
    bench::{call, result},
    fake::{Fake, Reply, builder, endpoint, ms, pool, s, still, tiered, with_profiles},
};
use highwater::{
    Endpoint, Error, Event, Pool, SecretUrl,
    core::{
        ChainId,
        breaker::Stand,
        bucket::{Account, Budget, Rate},
        method::Lane,
        probe::ProbeSettings,
        router::{Identity, MethodList, Profile},
        select::Strategy,
        settings::Settings,
    },
    upstream::HttpOptions,
};
use highwater_lab::sockets::ScriptedNode;
use std::sync::{Arc, Mutex, mpsc};
use tokio::time::sleep;

fn node(result: &str) -> Fake {
    let fake = Fake::new();
    fake.on("eth_call", Reply::result(result).after(ms(20)));
    fake
}

fn labels(pool: &Pool) -> Vec<String> {
    let endpoints = pool.snapshot().endpoints.into_iter();
    endpoints.map(|endpoint| endpoint.label).collect()
}

fn lane(pool: &Pool, endpoint: usize) -> Stand {
    let circuit = pool.snapshot().endpoints.swap_remove(endpoint).circuit;
    let lanes = circuit.lanes.into_iter();
    let mut lanes = lanes.filter(|(lane, _)| *lane == Lane::State);
    lanes.next().unwrap().1.stand
}

// L-10
#[tokio::test(start_paused = true)]
async fn keeps_what_was_learned_of_those_that_stay_wherever_they_stand_now() {
    let (failing, good, new) = (node("1"), node("2"), node("3"));
    failing.on("eth_call", Reply::reset());
    let settings = Settings {
        strategy: Strategy::RoundRobin,
        ..still()
    };
    let pool = pool(&[&failing, &good], settings);
    pool.check_all(s(1)).await;
    pool.probe().await;
    while !matches!(lane(&pool, 0), Stand::Open { .. }) {
        result(&pool, "eth_call").await;
    }
    let before = pool.snapshot();
    let list = vec![
        endpoint(&new, "new"),
        endpoint(&good, "b"),
        endpoint(&failing, "a"),
    ];
    pool.replace_endpoints(list, None).unwrap();
    let after = pool.snapshot();
    assert_eq!(labels(&pool), ["new", "b", "a"]);
    assert_eq!(after.reference_head, Some(100));
    for (was, is) in [(0, 2), (1, 1)] {
        let (was, is) = (&before.endpoints[was], &after.endpoints[is]);
        assert_eq!((is.identity, is.latency_ms), (was.identity, was.latency_ms));
        assert_eq!((&is.counters, is.head), (&was.counters, was.head));
        assert_eq!(is.circuit, was.circuit);
    }
    assert_eq!(after.endpoints[0].identity, Identity::Unchecked);
    assert_eq!(after.endpoints[0].counters.sent, 0);
}

// L-10, R-19: quarantine lasts until the URL changes, whatever the label says.
#[tokio::test(start_paused = true)]
async fn a_quarantine_stays_with_the_transport_and_ends_with_it() {
    let (wrong, good) = (node("1"), node("2"));
    wrong.on("eth_chainId", Reply::result("\"0x5\""));
    let pool = pool(&[&wrong, &good], still());
    pool.check_all(s(1)).await;
    wrong.on("eth_chainId", Reply::result("\"0x1\""));
    pool.replace_endpoints(
        vec![endpoint(&good, "b"), endpoint(&wrong, "renamed")],
        None,
    )
    .unwrap();
    let quarantined = Identity::Quarantined { found: ChainId(5) };
    assert_eq!(pool.snapshot().endpoints[1].identity, quarantined);
    let moved = node("3");
    pool.replace_endpoints(vec![endpoint(&moved, "renamed")], None)
        .unwrap();
    assert_eq!(pool.snapshot().endpoints[0].identity, Identity::Unchecked);
    assert_eq!(result(&pool, "eth_call").await, "3");
}

// an exclusion ends with the credential.
#[tokio::test]
async fn an_exclusion_ends_when_the_credential_changes_and_not_before() {
    let node = ScriptedNode::start().await;
    let refused = highwater_lab::sockets::Answer::error(-32000, "invalid api key");
    node.on("eth_call").always(refused);
    let url = |key: &str| {
        let text = format!("http://{}/v2/{key}", node.addr());
        Endpoint::url(SecretUrl::parse(&text).unwrap()).label("keyed")
    };
    let pool = Pool::builder()
        .chain(ChainId(1))
        .settings(still())
        .endpoint(url("old-key-0001"))
        .build()
        .unwrap();
    call(&pool, "eth_call", "[]").await.unwrap();
    let stand = |pool: &Pool| pool.snapshot().endpoints[0].circuit.endpoint.stand;
    assert!(matches!(stand(&pool), Stand::Excluded { .. }));
    pool.replace_endpoints(vec![url("old-key-0001")], None)
        .unwrap();
    assert!(matches!(stand(&pool), Stand::Excluded { .. }));
    pool.replace_endpoints(vec![url("new-key-0002")], None)
        .unwrap();
    assert!(matches!(stand(&pool), Stand::Closed { .. }));
}

// L-10
#[tokio::test]
async fn those_that_stay_keep_their_connections() {
    let node = ScriptedNode::start().await;
    let url = || SecretUrl::parse(&node.url()).unwrap();
    let pool = Pool::builder()
        .chain(ChainId(1))
        .settings(still())
        .endpoint(Endpoint::url(url()).label("a"))
        .http(HttpOptions {
            lanes: 1,
            ..HttpOptions::default()
        })
        .build()
        .unwrap();
    result(&pool, "eth_blockNumber").await;
    pool.replace_endpoints(vec![Endpoint::url(url()).label("b")], None)
        .unwrap();
    result(&pool, "eth_blockNumber").await;
    assert_eq!(
        (
            node.record().connections(),
            node.record().count("eth_chainId")
        ),
        (1, 1)
    );
    let other = ScriptedNode::start().await;
    let elsewhere = Endpoint::url(SecretUrl::parse(&other.url()).unwrap());
    pool.replace_endpoints(vec![elsewhere], None).unwrap();
    // Nobody holds the old one any more.
    node.record().wait_for_open_connections(0).await;
}

// L-10
#[tokio::test(start_paused = true)]
async fn a_call_under_way_is_answered_by_an_endpoint_that_has_left() {
    let (old, new) = (node("1"), node("2"));
    let pool = pool(&[&old], still());
    pool.check_all(s(1)).await;
    let running = tokio::spawn({
        let pool = pool.clone();
        async move { call(&pool, "eth_call", "[]").await.unwrap() }
    });
    sleep(ms(10)).await;
    // It takes the place of the other.
    pool.replace_endpoints(vec![endpoint(&new, "new")], None)
        .unwrap();
    let answer = running.await.unwrap();
    assert_eq!((answer.endpoint(), answer.attempts()), ("a", 1));
    let newcomer = &pool.snapshot().endpoints[0];
    assert_eq!((newcomer.counters.good, newcomer.latency_ms), (0, None));
    assert_eq!(newcomer.identity, Identity::Unchecked);
}

// L-10
#[tokio::test(start_paused = true)]
async fn a_call_under_way_turns_to_the_new_ones_and_names_those_that_failed_it() {
    let (old, new) = (node("1"), node("2"));
    old.on("eth_call", Reply::reset().after(ms(20)));
    let pool = pool(&[&old], still());
    pool.check_all(s(1)).await;
    let run = |pool: &Pool| {
        let pool = pool.clone();
        tokio::spawn(async move { call(&pool, "eth_call", "[]").await })
    };
    let running = run(&pool);
    sleep(ms(10)).await;
    pool.replace_endpoints(vec![endpoint(&new, "new")], None)
        .unwrap();
    let answer = running.await.unwrap().unwrap();
    assert_eq!((answer.endpoint(), answer.attempts()), ("new", 2));
    // What failed at one that has left is no failure of the one in its place.
    assert_eq!(pool.snapshot().endpoints[0].counters.failed.len(), 0);

    new.on("eth_call", Reply::refused().after(ms(20)));
    let running = run(&pool);
    sleep(ms(10)).await;
    pool.replace_endpoints(vec![endpoint(&old, "old again")], None)
        .unwrap();
    let error = running.await.unwrap().unwrap_err();
    let Error::AllEndpointsFailed { attempts } = error else {
        panic!("{error:?}")
    };
    let named: Vec<_> = attempts
        .iter()
        .map(|attempt| attempt.endpoint.as_str())
        .collect();
    assert_eq!(named[..2], ["new", "old again"]);
}

// L-10, R-43: losers too.
#[tokio::test(start_paused = true)]
async fn a_loser_settles_with_its_own_endpoint_and_with_no_other() {
    let (slow, fast, new) = (node("1"), node("2"), node("3"));
    slow.on("eth_call", Reply::result("1").after(ms(500)));
    let pool = pool(&[&slow, &fast], Settings { race: 2, ..still() });
    pool.check_all(s(1)).await;
    let lists: [&dyn Fn() -> Vec<Endpoint>; 2] = [
        // It stays, at another place.
        &|| {
            vec![
                endpoint(&new, "new"),
                endpoint(&fast, "b"),
                endpoint(&slow, "a"),
            ]
        },
        // It leaves.
        &|| vec![endpoint(&new, "new"), endpoint(&fast, "b")],
    ];
    for list in lists {
        result(&pool, "eth_call").await;
        pool.replace_endpoints(list(), None).unwrap();
        sleep(s(1)).await;
    }
    let snapshot = pool.snapshot();
    assert_eq!(snapshot.endpoints[0].latency_ms, None);
    assert!(
        snapshot
            .endpoints
            .iter()
            .all(|endpoint| endpoint.in_flight == 0)
    );
}

// L-10, R-19: a check of one that has left tells nothing about the one in its place.
#[tokio::test(start_paused = true)]
async fn a_check_under_way_belongs_to_its_endpoint() {
    let (wrong, good) = (node("1"), node("2"));
    wrong.on("eth_chainId", Reply::result("\"0x5\"").after(ms(50)));
    let pool = pool(&[&wrong], still());
    let checking = tokio::spawn({
        let pool = pool.clone();
        async move { pool.check_all(s(1)).await }
    });
    sleep(ms(10)).await;
    pool.replace_endpoints(vec![endpoint(&good, "good")], None)
        .unwrap();
    checking.await.unwrap();
    assert_eq!(pool.snapshot().endpoints[0].identity, Identity::Unchecked);
    assert_eq!(result(&pool, "eth_call").await, "2");
}

// L-10, R-26
#[tokio::test(start_paused = true)]
async fn a_budget_goes_on_where_it_is_the_same() {
    let fake = node("1");
    let profile = |rps, name: &str| {
        let rate = Rate { rps, burst: 10.0 };
        let budget = Budget {
            rate: Some(rate),
            ..Budget::default()
        };
        Profile {
            account: Arc::new(Account::new(name, &budget)),
            ..Profile::default()
        }
    };
    let pool = with_profiles(&[&fake], vec![profile(0.001, "")], still())
        .build()
        .unwrap();
    result(&pool, "eth_call").await;
    let tokens = |pool: &Pool| pool.snapshot().endpoints[0].tokens;
    assert_eq!(tokens(&pool), Some(8));
    let with = |profile| vec![endpoint(&fake, "a").profile(profile)];
    pool.replace_endpoints(with(profile(0.001, "")), None)
        .unwrap();
    assert_eq!(tokens(&pool), Some(8));
    pool.replace_endpoints(with(profile(0.002, "")), None)
        .unwrap();
    assert_eq!(tokens(&pool), Some(10));
}

// L-10
#[tokio::test(start_paused = true)]
async fn options_and_profiles_are_the_new_ones() {
    let (one, two) = (node("1"), node("2"));
    let pool = pool(&[&one, &two], still());
    pool.check_all(s(1)).await;
    let only = |label: &str, fake: &Fake, allow: &str| {
        let methods = MethodList::new(vec![allow.into()], vec![]);
        endpoint(fake, label).profile(Profile {
            methods,
            ..Profile::default()
        })
    };
    let list = vec![only("a", &one, "net_version"), only("b", &two, "eth_*")];
    let settings = Settings { race: 2, ..still() };
    pool.replace_endpoints(list, Some(settings)).unwrap();
    for _ in 0..5 {
        assert_eq!(call(&pool, "eth_call", "[]").await.unwrap().endpoint(), "b");
    }
    // A list without `eth_chainId` needs no check, one with it does.
    let identities: Vec<_> = pool
        .snapshot()
        .endpoints
        .iter()
        .map(|e| e.identity)
        .collect();
    assert_eq!(identities, [Identity::Verified, Identity::Verified]);
    // Both may serve again, and race.
    pool.replace_endpoints(vec![endpoint(&one, "a"), endpoint(&two, "b")], None)
        .unwrap();
    pool.check_all(s(1)).await;
    assert_eq!(call(&pool, "eth_call", "[]").await.unwrap().attempts(), 2);
}

//
#[tokio::test(start_paused = true)]
async fn probes_can_be_turned_off_and_on_again() {
    let fake = node("1");
    let probing = Settings {
        probe: Some(ProbeSettings::default()),
        ..still()
    };
    let pool = pool(&[&fake], probing.clone());
    result(&pool, "eth_call").await;
    sleep(s(1)).await;
    assert_eq!(fake.count("eth_blockNumber"), 1);
    let same = || vec![endpoint(&fake, "a")];
    pool.replace_endpoints(same(), Some(still())).unwrap();
    sleep(s(20)).await;
    assert_eq!(fake.count("eth_blockNumber"), 1);
    pool.replace_endpoints(same(), Some(probing)).unwrap();
    sleep(s(1)).await;
    assert_eq!(fake.count("eth_blockNumber"), 2);
}

// L-10
#[tokio::test(start_paused = true)]
async fn a_list_that_is_refused_changes_nothing() {
    let fake = node("1");
    let pool = pool(&[&fake], still());
    let twice = vec![endpoint(&fake, "x"), endpoint(&fake, "x")];
    for (list, field) in [(vec![], "endpoints"), (twice, "label")] {
        assert_eq!(pool.replace_endpoints(list, None).unwrap_err().field, field);
    }
    let mut settings = still();
    settings.breaker.threshold = 0;
    let one = vec![endpoint(&fake, "x")];
    assert_eq!(
        pool.replace_endpoints(one, Some(settings))
            .unwrap_err()
            .field,
        "threshold"
    );
    assert_eq!(labels(&pool), ["a"]);
}

// P-28: what happened before is told in the names of before.
#[tokio::test(start_paused = true)]
async fn events_name_the_endpoint_that_was_there_when_they_happened() {
    let (old, new) = (node("1"), node("2"));
    let (told, heard) = mpsc::channel();
    let told = Mutex::new(told);
    let pool = builder(&[&old], still())
        .on_event(move |event| told.lock().unwrap().send(event.clone()).unwrap())
        .build()
        .unwrap();
    result(&pool, "eth_call").await;
    pool.replace_endpoints(vec![endpoint(&new, "new")], None)
        .unwrap();
    result(&pool, "eth_call").await;
    pool.close();
    let names: Vec<_> = heard
        .iter()
        .map(|event| match event {
            Event::Request { endpoint, .. } => endpoint.label.to_string(),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(names, ["a", "new"]);
}

// L-1
#[tokio::test(start_paused = true)]
async fn a_closed_pool_fails_at_once_and_sends_nothing_while_calls_under_way_finish() {
    let (fake, other) = (node("1"), node("1"));
    fake.on("eth_call", Reply::reset().after(ms(20)));
    let pool = tiered(&[&fake, &other], still());
    // It fails over to an endpoint whose chain nobody knows yet.
    let running = tokio::spawn({
        let pool = pool.clone();
        async move { result(&pool, "eth_call").await }
    });
    sleep(ms(10)).await;
    pool.clone().close();
    let sent = fake.seen().len();
    assert_eq!(
        call(&pool, "eth_call", "[]").await.unwrap_err(),
        Error::Closed
    );
    let new = node("2");
    pool.replace_endpoints(vec![endpoint(&fake, "a"), endpoint(&new, "b")], None)
        .unwrap();
    pool.check_all(s(1)).await;
    pool.probe().await;
    pool.run_probes().await;
    assert_eq!((fake.seen().len(), new.seen().len()), (sent, 0));
    pool.replace_endpoints(vec![endpoint(&fake, "a"), endpoint(&other, "b")], None)
        .unwrap();
    assert_eq!(running.await.unwrap(), "1");
}
