//! Head probes (R-17).

use crate::{
    bench::{call, result},
    fake::{Fake, Reply, builder, ms, pool, s, still, tiered, with_profiles},
};
use highwater::{
    Pool,
    core::{
        ChainId,
        bucket::{Account, Budget, Rate},
        heads::Source,
        probe::ProbeSettings,
        router::{Identity, MethodList, Profile},
        settings::Settings,
    },
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    runtime::Handle,
    time::{Instant, sleep},
};

/// Probes exactly every 4 s, no races.
fn probing() -> Settings {
    let probe = ProbeSettings {
        jitter: 0.0,
        ..ProbeSettings::default()
    };
    Settings {
        probe: Some(probe),
        ..still()
    }
}

/// An endpoint that answers `eth_gasPrice`, which no probe asks.
fn node() -> Fake {
    let fake = Fake::new();
    fake.on("eth_gasPrice", Reply::result("1"));
    fake
}

async fn use_it(pool: &Pool) {
    assert_eq!(result(pool, "eth_gasPrice").await, "1");
}

/// When an endpoint was asked for its head, counted from `start`.
fn probed(fake: &Fake, start: Instant) -> Vec<Duration> {
    let seen = fake.seen().into_iter();
    let probes = seen.filter(|seen| seen.method == "eth_blockNumber");
    probes.map(|seen| seen.at - start).collect()
}

// R-17
#[tokio::test(start_paused = true)]
async fn the_first_request_starts_them_and_a_minute_without_one_stops_them() {
    let fake = node();
    let pool = pool(&[&fake], probing());
    sleep(s(100)).await;
    assert_eq!(fake.seen().len(), 0, "before any request");
    let start = Instant::now();
    use_it(&pool).await;
    sleep(s(200)).await;
    let first = probed(&fake, start);
    // At once, which is after the chain check that the call shares, and then every 4 s.
    assert!(first[0] <= ms(1), "{first:?}");
    for (tick, at) in (1..).zip(&first[1..]) {
        assert_eq!(*at, s(4 * tick), "{first:?}");
    }
    assert_eq!(first.len(), 15, "{first:?}");
    // The next request starts them again, and an answer from the chain's side is no activity.
    let again = Instant::now();
    use_it(&pool).await;
    sleep(s(1)).await;
    assert_eq!(probed(&fake, again).last(), Some(&Duration::ZERO));
    assert_eq!(probed(&fake, start).len(), 16);
}

// R-17
#[tokio::test(start_paused = true)]
async fn their_pauses_are_jittered() {
    let fake = node();
    let pool = pool(
        &[&fake],
        Settings {
            probe: Some(ProbeSettings::default()),
            ..still()
        },
    );
    let start = Instant::now();
    use_it(&pool).await;
    sleep(s(59)).await;
    let at = probed(&fake, start);
    let pauses: Vec<_> = at.windows(2).map(|two| two[1] - two[0]).collect();
    assert!(
        pauses
            .iter()
            .all(|pause| *pause >= ms(3600) && *pause <= ms(4402)),
        "{pauses:?}"
    );
    assert!(pauses.iter().any(|pause| *pause != pauses[0]), "{pauses:?}");
}

// R-17, R-19
#[tokio::test(start_paused = true)]
async fn the_chain_check_goes_first_and_a_wrong_chain_is_not_probed() {
    let (right, wrong) = (node(), node());
    wrong.on("eth_chainId", Reply::result("\"0x5\""));
    let pool = pool(&[&right, &wrong], probing());
    use_it(&pool).await;
    sleep(s(20)).await;
    assert_eq!(wrong.seen().len(), 1);
    assert_eq!(right.count("eth_chainId"), 1);
    let snapshot = pool.snapshot();
    let quarantined = Identity::Quarantined { found: ChainId(5) };
    assert_eq!(snapshot.endpoints[1].identity, quarantined);
    assert_eq!(snapshot.reference_head, Some(100));
    let head = snapshot.endpoints[0].head.unwrap();
    assert_eq!((head.height, head.source), (Some(100), Some(Source::Probe)));
}

// R-17
#[tokio::test(start_paused = true)]
async fn one_that_hangs_is_asked_once_at_a_time_and_holds_up_nobody() {
    let (good, hung) = (node(), node());
    hung.on("eth_blockNumber", Reply::hang());
    let pool = builder(&[&good, &hung], probing())
        .timeout(s(10))
        .build()
        .unwrap();
    let start = Instant::now();
    use_it(&pool).await;
    sleep(s(30)).await;
    assert_eq!(probed(&good, start).len(), 8);
    // Each ends at its own timeout, and the tick after that asks again, until three of them are
    // strikes that eject it.
    let hangs = probed(&hung, start);
    assert_eq!(hangs, [ms(1), s(12), s(24)]);
    assert_eq!(hung.open(), 1);
    let snapshot = pool.snapshot();
    assert_eq!(snapshot.endpoints[1].latency_ms, None);
    // A probe that fails pushes the tail, one that succeeds touches no latency.
    assert_eq!(snapshot.endpoints[1].tail_ms, Some(10_000.0));
    assert_eq!(
        snapshot.endpoints[0].tail_ms,
        snapshot.endpoints[0].latency_ms
    );
}

// R-17
#[tokio::test(start_paused = true)]
async fn whoever_is_ejected_or_may_not_be_asked_or_is_of_a_higher_tier_is_not_probed() {
    let (good, refusing, unlisted, spare) = (node(), node(), node(), node());
    refusing.on("eth_gasPrice", Reply::error(429, "slow down"));
    refusing.header("retry-after", "30");
    let profile = |tier, methods| Profile {
        tier,
        methods,
        ..Profile::default()
    };
    let profiles = vec![
        profile(0, MethodList::default()),
        profile(0, MethodList::default()),
        profile(
            0,
            MethodList::new(vec!["eth_gasPrice".into(), "eth_chainId".into()], vec![]),
        ),
        profile(1, MethodList::default()),
    ];
    let fakes = [&good, &refusing, &unlisted, &spare];
    let mut settings = probing();
    settings.strategy = highwater::core::select::Strategy::RoundRobin;
    let pool = with_profiles(&fakes, profiles, settings).build().unwrap();
    for _ in 0..3 {
        use_it(&pool).await;
    }
    let before = refusing.count("eth_blockNumber");
    sleep(s(20)).await;
    assert!(good.count("eth_blockNumber") >= 5);
    assert_eq!(refusing.count("eth_blockNumber"), before);
    assert_eq!(unlisted.count("eth_blockNumber"), 0);
    assert_eq!(spare.seen().len(), 0);
}

// R-17: an endpoint of a tier that the timer leaves alone is asked for its chain and its head when
// calls move there, and neither is an attempt.
#[tokio::test(start_paused = true)]
async fn moving_to_a_higher_tier_asks_for_chain_and_head_first_and_spends_no_attempt() {
    let (preferred, spare) = (node(), Fake::at(123));
    spare.on("eth_gasPrice", Reply::result("2"));
    let pool = tiered(&[&preferred, &spare], probing());
    use_it(&pool).await;
    sleep(s(1)).await;
    assert_eq!(spare.seen().len(), 0);
    preferred.everything(Some(Reply::refused()));
    let answer = call(&pool, "eth_gasPrice", "[]").await.unwrap();
    let methods: Vec<_> = spare.seen().into_iter().map(|seen| seen.method).collect();
    assert_eq!(methods, ["eth_chainId", "eth_blockNumber", "eth_gasPrice"]);
    assert_eq!((answer.endpoint(), answer.attempts()), ("b", 2));
    let head = pool.snapshot().endpoints[1].head.unwrap();
    assert_eq!(head.height, Some(123));
    // Not for every call.
    result(&pool, "eth_gasPrice").await;
    assert_eq!(spare.seen().len(), 4);
}

// R-17
#[tokio::test(start_paused = true)]
async fn one_of_a_higher_tier_that_does_not_tell_its_head_serves_all_the_same() {
    let (preferred, spare) = (node(), node());
    spare.on(
        "eth_blockNumber",
        Reply::error(-32601, "the method does not exist"),
    );
    let pool = tiered(&[&preferred, &spare], probing());
    preferred.everything(Some(Reply::refused()));
    use_it(&pool).await;
    use_it(&pool).await;
    assert_eq!(spare.count("eth_gasPrice"), 2);
    assert_eq!(spare.count("eth_blockNumber"), 1);
}

// R-26, R-27
#[tokio::test(start_paused = true)]
async fn they_spend_tokens_and_leave_a_spent_endpoint_alone() {
    let fake = node();
    let rate = Rate {
        rps: 0.01,
        burst: 5.0,
    };
    let budget = Budget {
        rate: Some(rate),
        ..Budget::default()
    };
    let profile = Profile {
        account: Arc::new(Account::new("", &budget)),
        ..Profile::default()
    };
    let pool = with_profiles(&[&fake], vec![profile], probing())
        .build()
        .unwrap();
    use_it(&pool).await;
    sleep(s(50)).await;
    // Chain check, call, head, capabilities, head.
    assert_eq!(fake.seen().len(), 5);
    assert_eq!(pool.snapshot().endpoints[0].tokens, Some(0));
}

// R-17
#[tokio::test(start_paused = true)]
async fn an_inactive_owner_gets_none_and_a_hook_that_panics_counts_as_active() {
    let fake = node();
    let active = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&active);
    let hook = move || told.load(Ordering::SeqCst);
    let pool = builder(&[&fake], probing())
        .is_active(hook)
        .build()
        .unwrap();
    use_it(&pool).await;
    sleep(s(9)).await;
    assert_eq!(fake.count("eth_blockNumber"), 0);
    // `probe` asks regardless.
    pool.probe().await;
    assert_eq!(fake.count("eth_blockNumber"), 1);
    // Told, it need not wait for the tick.
    active.store(true, Ordering::SeqCst);
    pool.became_active();
    sleep(ms(1)).await;
    assert_eq!(fake.count("eth_blockNumber"), 2);
    // Not twice within one interval.
    pool.became_active();
    sleep(ms(1)).await;
    assert_eq!(fake.count("eth_blockNumber"), 2);
    // The idle check runs while inactive too.
    active.store(false, Ordering::SeqCst);
    sleep(s(100)).await;
    active.store(true, Ordering::SeqCst);
    sleep(s(100)).await;
    assert_eq!(fake.count("eth_blockNumber"), 2);

    let other = node();
    let hook = || std::panic::resume_unwind(Box::new("the owner's own affair"));
    let pool = builder(&[&other], probing())
        .is_active(hook)
        .build()
        .unwrap();
    use_it(&pool).await;
    sleep(s(5)).await;
    assert_eq!(other.count("eth_blockNumber"), 2);
}

// R-17
#[tokio::test(start_paused = true)]
async fn becoming_active_is_noticed_at_the_next_tick() {
    let fake = node();
    let active = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&active);
    let hook = move || told.load(Ordering::SeqCst);
    let pool = builder(&[&fake], probing())
        .is_active(hook)
        .build()
        .unwrap();
    let start = Instant::now();
    use_it(&pool).await;
    sleep(s(9)).await;
    active.store(true, Ordering::SeqCst);
    sleep(s(4)).await;
    assert_eq!(probed(&fake, start), [s(12)]);
}

// L-1
#[tokio::test(start_paused = true)]
async fn they_end_with_the_pool_and_hold_it_only_weakly() {
    let tasks = || Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    for close in [false, true] {
        let fake = node();
        let pool = pool(&[&fake], probing());
        use_it(&pool).await;
        fake.on("eth_blockNumber", Reply::hang());
        sleep(s(5)).await;
        assert_eq!((tasks(), fake.open()), (before + 1, 1));
        let asked = fake.seen().len();
        if close {
            pool.close();
        } else {
            drop(pool);
        }
        sleep(ms(1)).await;
        assert_eq!((tasks(), fake.open()), (before, 0), "{close}");
        sleep(s(20)).await;
        assert_eq!(fake.seen().len(), asked);
    }
}

// R-17: one timer, and whoever owns it.
#[tokio::test(start_paused = true)]
async fn an_owner_drives_them_and_no_call_starts_others() {
    let fake = node();
    let pool = pool(&[&fake], probing());
    let before = Handle::current().metrics().num_alive_tasks();
    let owner = tokio::spawn(pool.run_probes());
    use_it(&pool).await;
    sleep(s(5)).await;
    assert_eq!(Handle::current().metrics().num_alive_tasks(), before + 1);
    assert_eq!(fake.count("eth_blockNumber"), 2);
    // It stands still when nobody calls, and the next call wakes it.
    sleep(s(100)).await;
    let standing = fake.count("eth_blockNumber");
    use_it(&pool).await;
    sleep(ms(1)).await;
    assert_eq!(fake.count("eth_blockNumber"), standing + 1);
    // Without an owner the next call starts a task.
    owner.abort();
    owner.await.unwrap_err();
    sleep(s(10)).await;
    assert_eq!(fake.count("eth_blockNumber"), standing + 1);
    use_it(&pool).await;
    sleep(ms(1)).await;
    assert_eq!(fake.count("eth_blockNumber"), standing + 2);
    // An owner that comes later takes over from that task.
    let owner = tokio::spawn(pool.run_probes());
    sleep(s(5)).await;
    assert_eq!(Handle::current().metrics().num_alive_tasks(), before + 1);
    assert_eq!(fake.count("eth_blockNumber"), standing + 3);
    pool.close();
    owner.await.unwrap();
}

// R-17: the task ran on the runtime of the first caller; it is not the only one.
#[test]
fn they_go_on_when_the_runtime_that_drove_them_has_ended() {
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().start_paused(true).build().unwrap()
    };
    let fake = node();
    let pool = pool(&[&fake], probing());
    for round in 1..=3 {
        runtime().block_on(async {
            use_it(&pool).await;
            sleep(ms(10)).await;
        });
        assert_eq!(fake.count("eth_blockNumber"), round);
    }
}

/// What a node says of itself.
const CAPABILITIES: &str = r#"{"head":{"number":"0x65","hash":"0x1"},
    "state":{"disabled":false,"oldestBlock":"0x32"}}"#;

// semantics fact 3
#[tokio::test(start_paused = true)]
async fn what_an_endpoint_keeps_is_asked_once_beside_a_probe_and_again_when_it_is_forgotten() {
    let (telling, silent) = (node(), node());
    telling.on("eth_capabilities", Reply::result(CAPABILITIES));
    let pool = pool(&[&telling, &silent], probing());
    let asked = |fake: &Fake| fake.count("eth_capabilities");
    for _ in 0..60 {
        use_it(&pool).await;
        sleep(s(30)).await;
    }
    assert_eq!((asked(&telling), asked(&silent)), (1, 1));
    for _ in 0..70 {
        use_it(&pool).await;
        sleep(s(30)).await;
    }
    assert_eq!((asked(&telling), asked(&silent)), (2, 2));
    // One that does not know the method has no strike for it.
    let snapshot = pool.snapshot();
    for endpoint in snapshot.endpoints {
        assert_eq!(endpoint.counters.failed.len(), 0);
        assert_eq!(endpoint.circuit.methods.len(), 0);
    }
}

// semantics fact 3, M09
#[tokio::test(start_paused = true)]
async fn what_an_endpoint_keeps_counts_for_the_next_call() {
    let (pruned, archive) = (node(), node());
    pruned.on("eth_capabilities", Reply::result(CAPABILITIES));
    for fake in [&pruned, &archive] {
        fake.on("eth_getBalance", Reply::result("\"0x7\""));
    }
    let pool = pool(&[&pruned, &archive], probing());
    use_it(&pool).await;
    sleep(s(1)).await;
    for _ in 0..10 {
        // Block 10 is below 50.
        call(&pool, "eth_getBalance", r#"["0x00", "0xa"]"#)
            .await
            .unwrap();
    }
    assert_eq!(
        (
            pruned.count("eth_getBalance"),
            archive.count("eth_getBalance")
        ),
        (0, 10)
    );
}

// R-17
#[tokio::test(start_paused = true)]
async fn ticks_are_made_once_however_many_calls_begin_at_once() {
    let fake = node();
    let pool = pool(&[&fake], probing());
    let done = Arc::new(AtomicUsize::new(0));
    for _ in 0..50 {
        let (pool, done) = (pool.clone(), Arc::clone(&done));
        tokio::spawn(async move {
            use_it(&pool).await;
            done.fetch_add(1, Ordering::SeqCst);
        });
    }
    sleep(s(1)).await;
    assert_eq!(done.load(Ordering::SeqCst), 50);
    assert_eq!(
        (fake.count("eth_chainId"), fake.count("eth_blockNumber")),
        (1, 1)
    );
}
