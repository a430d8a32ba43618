//! Options of the routing engine: that each arrives, and what must fit together.

use super::{Format, read};
use crate::config::{ChainArgument, ChainSettings, Overrides, Settings, schema::options};
use highwater_core::{
    breaker::{BreakerSettings, FailureRate, Growing},
    bucket::{Budget, Every, LearnSettings as LearnedLimit, Period, Rate},
    cache::CacheSettings,
    chains,
    heads::HeadSettings,
    learn::LearnSettings,
    logs::LogSettings,
    pin::{PinSettings, PresentState},
    probe::ProbeSettings,
    retry_budget::RetryBudgetSettings,
    score::ScoreSettings,
    select::{SelectSettings, Strategy, Weights},
    settings::{self as engine, BatchSettings, HedgeSettings, Jitter, RetryCount, RetrySettings},
    stats::{BookSettings, WindowSettings},
};
use std::time::Duration;

/// Every option of the engine, one a line, none as it is by default.
const FULL: &str = r#"
[server]
region = "eu-west"

[chains.ethereum]
timeout = "4s"
deadline = "8s"
write_timeout = "11s"
verify_chain_id = false
strategy = "weighted-sum"
explore_every = 21
race = 3
retry_count = 4
jitter = "full"
tier_wait = "15ms"
never_repeat = ["My_method", "other_*"]

[chains.ethereum.weights]
latency = 1
error = 2
quota = 3.5
affinity = 0

[chains.ethereum.hedge]
min_delay = "251ms"
tails = 3

[chains.ethereum.retry]
base = "101ms"
cap = "3s"
max_wait = "1s"
budget_ratio = 0.2
budget_per_second = 11
budget_window = "11s"

[chains.ethereum.score]
mix = 0.5
prior = "201ms"
enough_samples = 6
inflight_quadratic = 0.26
error_weight = 9
lag_weight = 2
slope_weight = 0
slower_step = 0.41
faster_step = 0.21
tail_up_step = 0.51
tail_down_step = 0.06
error_step = 0.31
bucket = "31s"
rising = 0.11
rising_buckets = 4

[chains.ethereum.heads]
max_lag = 5
max_lag_time = "3s"
max_ahead = 1001
stale = "31s"
block_time = "11s"
max_drift = 11
max_drift_time = "31s"
drift_window = "61s"
max_reorg = 65
max_reorg_time = "32s"
standstill = "6s"
probe_interval = "5s"
probe_jitter = 0.2
probe_idle = "61s"

[chains.ethereum.breaker]
threshold = 4
cooldown = "6s"
max_cooldown = "61s"
reset_after = "62s"
ramp = "7s"
retry_after_cap = "63s"
trial_lease = "31s"
bare_403 = 5
quota_cooldown = "3m"
quota_max_cooldown = "7h"
quota_reset_cap = "24h"
method_off = "2h"
recheck_after = "64s"

[chains.ethereum.breaker.failure_rate]
share = 0.6
answers = 30
window = "20s"

[chains.ethereum.breaker.exclusion_trial]
first = "16m"
max = "5h"

[chains.ethereum.budget]
rps = 100
burst = 150

[chains.ethereum.budget.learn]
refusals = 4
within = "61s"
share = 0.7
growth = 0.06
step = "11s"
floor = 0.3
forget = "2h"

[chains.ethereum.learn]
forget = "3h"
forget_block = "61s"
near_head = 65

[chains.ethereum.batch]
client = false
window = "3ms"
most = 50

[chains.ethereum.pin]
fresh = "1100ms"
forward_block_number = true
present_state = ["0x0000000000000000000000000000000000000800-0x00000000000000000000000000000000000008fF", "0x00000000000000000000000000000000000000aa"]

[chains.ethereum.cache]
max_stale_blocks = 3
max_age = "5s"
max_bytes = "32MiB"
max_entries = 77
headers = false

[chains.ethereum.logs]
window = 500
split = false
max_parts = 99
parallel = 3

[[chains.ethereum.endpoints]]
label = "a"
url = "https://a.example"
ws_url = "wss://a.example/s3cret-canary"
tier = 1
weight = 2.5
rps = 25
burst = 60
account = "main"
units_per_day = 1000
units_per_month = 20000
reset_at = "06:30"
reset_day = 15
methods = { allow = ["eth_*"], deny = ["eth_getLogs"] }
group = "g"
region = "eu-north"
archive = true
max_log_range = 500
max_batch = 20
price = 0.25

[[chains.ethereum.endpoints]]
label = "b"
url = "https://b.example"
budget = false
"#;

/// What the engine of [`FULL`] is.
fn expected() -> engine::Settings {
    let secs = Duration::from_secs;
    let millis = Duration::from_millis;
    let address = |low: u16| {
        let mut address = [0; 20];
        [address[18], address[19]] = low.to_be_bytes();
        address
    };
    let mut present = PresentState::default();
    present.add(address(0x800)..=address(0x8ff));
    present.add(address(0xaa)..=address(0xaa));
    engine::Settings {
        score: ScoreSettings {
            mix: 0.5,
            prior_ms: 201.0,
            enough_samples: 6,
            inflight_quadratic: 0.26,
            error_weight: 9.0,
            lag_weight: 2.0,
            slope_weight: 0.0,
        },
        learn: LearnSettings {
            forget: secs(3 * 3600),
            forget_block: secs(61),
            near_head: 65,
        },
        batch: BatchSettings {
            client: false,
            window: millis(3),
            most: 50,
        },
        book: BookSettings {
            slower_step: 0.41,
            faster_step: 0.21,
            tail_up_step: 0.51,
            tail_down_step: 0.06,
            error_step: 0.31,
        },
        window: WindowSettings {
            bucket: secs(31),
            rising: 0.11,
            rising_buckets: 4,
        },
        select: SelectSettings { explore_every: 21 },
        strategy: Strategy::WeightedSum(Weights {
            latency: 1.0,
            error: 2.0,
            quota: 3.5,
            affinity: 0.0,
        }),
        breaker: BreakerSettings {
            enabled: true,
            threshold: 4,
            failure_rate: Some(FailureRate {
                share: 0.6,
                answers: 30,
                window: secs(20),
            }),
            cooldown: secs(6),
            max_cooldown: secs(61),
            reset_after: secs(62),
            ramp: secs(7),
            retry_after_cap: secs(63),
            trial_lease: secs(31),
            exclusion_trial: Some(Growing {
                first: secs(16 * 60),
                max: secs(5 * 3600),
            }),
            bare_403: 5,
            quota: Growing {
                first: secs(3 * 60),
                max: secs(7 * 3600),
            },
            quota_reset_cap: secs(24 * 3600),
            method_off: secs(2 * 3600),
            recheck_after: secs(64),
        },
        heads: Some(HeadSettings {
            enabled: true,
            max_lag: 5,
            max_lag_time: secs(3),
            max_ahead: 1001,
            stale: secs(31),
            block_time: Some(secs(11)),
            max_drift: 11,
            max_drift_time: secs(31),
            drift_window: secs(61),
            max_reorg: 65,
            max_reorg_time: secs(32),
            standstill: secs(6),
        }),
        probe: Some(ProbeSettings {
            interval: secs(5),
            jitter: 0.2,
            idle: secs(61),
        }),
        retry: RetrySettings {
            count: RetryCount::Times(4),
            base: millis(101),
            cap: secs(3),
            jitter: Jitter::Full,
            max_wait: secs(1),
        },
        retry_budget: RetryBudgetSettings {
            ratio: 0.2,
            per_second: 11.0,
            window: secs(11),
        },
        hedge: Some(HedgeSettings {
            min_delay: millis(251),
            tails: 3.0,
        }),
        race: 3,
        tier_wait: millis(15),
        verify_chain_id: false,
        reads: engine::ReadSettings {
            pin: Some(PinSettings {
                fresh: millis(1100),
                forward_block_number: true,
            }),
            coalesce: true,
            cache: Some(CacheSettings {
                max_stale_blocks: 3,
                max_age: secs(5),
                entries: 77,
                bytes: 32 << 20,
                headers: false,
            }),
            logs: Some(LogSettings {
                window: 500,
                split: false,
                most_parts: 99,
                parallel: 3,
            }),
            present,
        },
    }
}

pub(super) fn good(text: &str) -> Settings {
    read(Format::Toml, text).unwrap_or_else(|report| panic!("{report}"))
}

/// The one chain of a file, with `text` in its section.
fn chain(text: &str) -> ChainSettings {
    let endpoint = "[[chains.devnet.endpoints]]\nurl = 'http://a.example'\n";
    let settings = good(&format!("[chains.devnet]\nid = 31337\n{text}\n{endpoint}"));
    settings.chains.into_iter().next().unwrap()
}

// G-12
#[test]
fn every_option_of_the_engine_arrives() {
    let settings = good(FULL);
    assert_eq!(settings.server.region.as_deref(), Some("eu-west"));
    let [chain] = &settings.chains[..] else {
        panic!("one chain")
    };
    assert_eq!(chain.engine, expected());
    assert_eq!(chain.timeout, Duration::from_secs(4));
    assert_eq!(chain.deadline, Some(Duration::from_secs(8)));
    assert_eq!(chain.write_timeout, Some(Duration::from_secs(11)));
    assert_eq!(chain.never_repeat, ["my_method", "other_*"]);
    let [a, b] = &chain.endpoints[..] else {
        panic!("two endpoints")
    };
    let ws_url = a.ws_url.as_ref().map(|url| url.expose());
    assert_eq!(ws_url, Some("wss://a.example/s3cret-canary"));
    assert_eq!((a.tier, a.weight), (1, 2.5));
    assert_eq!(a.account.as_deref(), Some("main"));
    assert_eq!(a.methods.allow, ["eth_*"]);
    assert_eq!(a.methods.deny, ["eth_getlogs"]);
    assert_eq!(a.group.as_deref(), Some("g"));
    assert_eq!(a.region.as_deref(), Some("eu-north"));
    assert_eq!((a.archive, a.max_log_range), (true, Some(500)));
    assert_eq!((a.max_batch, a.price), (Some(20), Some(0.25)));
    let learn = Some(LearnedLimit {
        refusals: 4,
        within: Duration::from_secs(61),
        share: 0.7,
        growth: 0.06,
        step: Duration::from_secs(11),
        floor: 0.3,
        forget: Duration::from_secs(7200),
    });
    let period = |every, units| Period {
        every,
        units,
        reset_at: Duration::from_secs(6 * 3600 + 30 * 60),
        reset_day: 15,
    };
    let own = Budget {
        rate: Some(Rate {
            rps: 25.0,
            burst: 60.0,
        }),
        periods: vec![period(Every::Day, 1000), period(Every::Month, 20_000)],
        learn,
        off: false,
    };
    assert_eq!(a.budget, own);
    let common = Budget {
        rate: Some(Rate {
            rps: 100.0,
            burst: 150.0,
        }),
        periods: vec![],
        learn,
        off: true,
    };
    assert_eq!(b.budget, common);
}

// G-12: none of them does nothing.
#[test]
fn without_any_one_option_the_settings_are_others() {
    let whole = format!("{:?}", good(FULL));
    let lines: Vec<&str> = FULL.lines().collect();
    let mut tried = 0;
    for (number, line) in lines.iter().enumerate() {
        if !line.contains(" = ") || line.starts_with("url") {
            continue;
        }
        let mut fewer = lines.clone();
        fewer.remove(number);
        if let Ok(settings) = read(Format::Toml, &fewer.join("\n")) {
            let settings = format!("{settings:?}");
            // A credential is not shown, but that there is one is.
            assert_ne!(settings, whole, "{line}");
        }
        tried += 1;
    }
    assert!(tried > 80, "{tried}");
}

// G-12
#[test]
fn the_file_above_leaves_no_option_of_the_engine_out() {
    // Those that are a section or a flag have a test of their own.
    let elsewhere = [
        "enabled",
        "probes",
        "hedge",
        "breaker",
        "budget",
        "weights",
        "retry",
        "score",
        "heads",
        "learn",
        "failure_rate",
        "exclusion_trial",
        "batch",
        "pin",
        "cache",
        "logs",
        "pin_latest",
        "coalesce",
        "methods",
        "aliases",
        "id",
        "max_reply",
        "writes",
        "broadcast_to",
        "verify_writes",
        "private_writes",
        "private",
        "endpoints",
    ];
    let of_engine = |section: &str| section.starts_with("chains.NAME");
    for option in options().iter().filter(|row| of_engine(row.section)) {
        let said = FULL.contains(&format!("\n{} = ", option.name));
        assert!(
            said || elsewhere.contains(&option.name.as_str()),
            "{option:?}"
        );
    }
}

// P-1, P-10, P-11
#[test]
fn reads_are_pinned_shared_and_kept_unless_that_is_turned_off() {
    let silent = chain("").engine.reads;
    assert_eq!(silent, engine::Settings::gateway().reads);
    assert_eq!(chain("pin_latest = false").engine.reads.pin, None);
    assert_eq!(
        chain("pin_latest = true\ncache = true").engine.reads,
        silent
    );
    assert!(!chain("coalesce = false").engine.reads.coalesce);
    assert_eq!(chain("cache = false").engine.reads.cache, None);
    let off = "[chains.devnet.cache]\nenabled = false\nmax_age = '1s'";
    assert_eq!(chain(off).engine.reads.cache, None);
    assert_eq!(chain("logs = true").engine.reads, silent);
    assert_eq!(chain("logs = false").engine.reads.logs, None);
    let off = "[chains.devnet.logs]\nenabled = false\nwindow = 5";
    assert_eq!(chain(off).engine.reads.logs, None);
}

// R-20, R-23, R-26, R-40
#[test]
fn what_may_be_a_section_may_be_a_flag() {
    let silent = chain("").engine;
    assert_eq!(silent.hedge, None);
    assert_eq!(chain("hedge = false").engine, silent);
    let hedge = Some(HedgeSettings::default());
    assert_eq!(chain("hedge = true").engine.hedge, hedge);
    assert!(silent.breaker.enabled);
    assert_eq!(chain("breaker = true").engine, silent);
    assert!(!chain("breaker = false").engine.breaker.enabled);
    let off = "[chains.devnet.breaker]\nenabled = false";
    assert!(!chain(off).engine.breaker.enabled);
    let rate = |flag| {
        chain(&format!("breaker.failure_rate = {flag}"))
            .engine
            .breaker
    };
    assert_eq!(rate("true"), silent.breaker);
    assert_eq!(rate("false").failure_rate, None);
    let trial = |flag| {
        chain(&format!("breaker.exclusion_trial = {flag}"))
            .engine
            .breaker
    };
    assert_eq!(trial("false"), silent.breaker);
    let growing = trial("true").exclusion_trial.unwrap();
    assert_eq!(growing.first, Duration::from_secs(15 * 60));
    assert_eq!(growing.max, Duration::from_secs(6 * 3600));
    let budget = |text: &str| chain(text).endpoints[0].budget.clone();
    assert_eq!(budget("budget = true"), Budget::default());
    assert!(budget("budget = false").off);
    assert_eq!(budget("budget.learn = false").learn, None);
    assert_eq!(budget("budget.learn = true"), Budget::default());
}

// R-7, R-17
#[test]
fn heads_and_probes_are_turned_off_each_by_itself() {
    let heads = chain("heads.enabled = false").engine;
    assert_eq!(heads.heads, None);
    assert_eq!(heads.probe, Some(ProbeSettings::default()));
    let probes = chain("heads.probes = false").engine;
    assert_eq!(probes.heads, Some(HeadSettings::default()));
    assert_eq!(probes.probe, None);
    let unmoved = chain("").engine.breaker.ramp;
    assert_eq!(probes.breaker.ramp, unmoved);
}

// R-20
#[test]
fn an_endpoint_comes_back_over_one_probe_interval() {
    let ramp = |text: &str| chain(text).engine.breaker.ramp;
    assert_eq!(ramp("heads.probe_interval = '9s'"), Duration::from_secs(9));
    let own = "heads.probe_interval = '9s'\nbreaker.ramp = '2s'";
    assert_eq!(ramp(own), Duration::from_secs(2));
}

// R-30, R-41
#[test]
fn a_gateway_goes_on_until_the_deadline_and_does_not_race() {
    let silent = chain("");
    let mut expected = engine::Settings::gateway();
    expected.heads = Some(HeadSettings::default());
    assert_eq!(silent.engine, expected);
    assert_eq!(silent.engine.retry.count, RetryCount::Deadline);
    assert_eq!(silent.engine.race, 0);
    assert_eq!(silent.timeout, Duration::from_secs(5));
    assert_eq!(chain("retry_count = 'deadline'").engine, silent.engine);
}

// R-7, R-15
#[test]
fn a_known_chain_has_the_numbers_of_its_row_unless_others_are_given() {
    let of = |slug: &str| HeadSettings::of(chains::named(slug));
    let read = |text: &str| good(text).chains[0].engine.heads.clone().unwrap();
    let arbitrum = "[[chains.arbitrum.endpoints]]\nurl = 'http://a.example'\n";
    assert_eq!(read(arbitrum), of("arbitrum"));
    assert_ne!(of("arbitrum"), HeadSettings::default());
    let by_id = "[chains.mine]\nid = 42161\n[[chains.mine.endpoints]]\nurl = 'http://a.example'\n";
    assert_eq!(read(by_id), of("arbitrum"));
    let own = format!("[chains.arbitrum]\nheads.max_lag = 3\n{arbitrum}");
    assert_eq!(read(&own).max_lag, 3);
    assert_eq!(read(&own).stale, of("arbitrum").stale);
    let urls = ["http://a.example".to_owned()];
    let chain: ChainArgument = "arbitrum".parse().unwrap();
    let settings = Settings::from_urls(&urls, Some(&chain), &Overrides::default()).unwrap();
    assert_eq!(settings.chains[0].engine.heads, Some(of("arbitrum")));
}

// R-11
#[test]
fn a_key_has_a_strategy_or_weights_of_its_own() {
    let key = |text: &str| {
        let text = format!(
            "{}[[keys]]\nname = 'a'\nhash = '{}'\n{text}\n",
            super::CHAIN,
            super::HASH
        );
        good(&text).keys[0].strategy
    };
    assert_eq!(key(""), None);
    assert_eq!(key("strategy = 'shuffle'"), Some(Strategy::Shuffle));
    let weights = Weights {
        latency: 1.0,
        ..Weights::default()
    };
    let sum = Some(Strategy::WeightedSum(weights));
    assert_eq!(key("weights = { latency = 1 }"), sum);
    let both = "strategy = 'weighted-sum'\nweights = { latency = 1 }";
    assert_eq!(key(both), sum);
}
