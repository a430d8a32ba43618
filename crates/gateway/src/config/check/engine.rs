//! The options of a chain into the settings of its routing engine.
//!
//! Everything starts from the engine's own defaults for a gateway and what the chain table says;
//! ranges are checked option by option, and then what must fit together.

use super::overlay::{HOUR, Overlay, YEAR};
use crate::config::{
    field::Field,
    model::{self, engine},
    reader::Pass,
};
use highwater_core::{
    breaker::{BreakerSettings, EXCLUSION_TRIALS, FailureRate, Growing},
    chains::Chain,
    heads::HeadSettings,
    learn::LearnSettings,
    probe::ProbeSettings,
    select::{Strategy, Weights},
    settings::{BatchSettings, HedgeSettings, Settings},
};
use std::time::Duration;

/// Most endpoints in a race.
const RACERS: u64 = 16;
const SECOND: Duration = Duration::from_secs(1);
/// Range of weights and factors.
const WEIGHTS: std::ops::RangeInclusive<f64> = 0.0..=1_000.0;
/// Range of shares that may be nothing.
const SHARES: std::ops::RangeInclusive<f64> = 0.0..=1.0;
/// Range of shares that may not.
const STEPS: std::ops::RangeInclusive<f64> = 0.001..=1.0;
/// Any number of blocks.
const BLOCKS: std::ops::RangeInclusive<u64> = 0..=1_000_000_000;

/// The engine of a chain whose section says nothing.
pub(in crate::config) fn defaults(chain: Option<&Chain>) -> Settings {
    let mut settings = Settings::gateway();
    settings.heads = Some(HeadSettings::of(chain));
    settings
}

/// The engine of a chain; problems go to the pass.
pub(super) fn check(
    section: &str,
    raw: &model::Chain,
    chain: Option<&Chain>,
    pass: &Pass<'_>,
) -> Settings {
    let mut settings = defaults(chain);
    let mut own = Overlay::new(pass, section.to_owned());
    own.count("race", &raw.race, &mut settings.race, 0..=RACERS);
    own.count(
        "explore_every",
        &raw.explore_every,
        &mut settings.select.explore_every,
        2..=1_000_000,
    );
    own.period("tier_wait", &raw.tier_wait, &mut settings.tier_wait, HOUR);
    Overlay::flag(&raw.verify_chain_id, &mut settings.verify_chain_id);
    if let Some((retries, _)) = raw.retry_count.get() {
        settings.retry.count = retries.0;
    }
    if let Some((jitter, _)) = raw.jitter.get() {
        settings.retry.jitter = jitter.0;
    }
    let stated = raw.strategy.get().map(|(strategy, _)| strategy.0);
    settings.strategy = stated.unwrap_or(settings.strategy);
    weights(section, &raw.weights, &mut settings.strategy, pass);
    hedge(section, raw, &mut settings, pass);
    let at = |name: &str| Overlay::new(pass, format!("{section}.{name}"));
    if let Some((raw, _)) = raw.retry.get() {
        retry(at("retry"), raw, &mut settings);
    }
    if let Some((raw, _)) = raw.score.get() {
        score(at("score"), raw, &mut settings);
    }
    if let Some((raw, _)) = raw.learn.get() {
        learn(at("learn"), raw, &mut settings.learn);
    }
    if let Some((raw, _)) = raw.batch.get() {
        batch(at("batch"), raw, &mut settings.batch);
    }
    if let Some((raw, _)) = raw.heads.get() {
        heads(at("heads"), raw, &mut settings);
    }
    reads(section, raw, &mut settings, pass);
    if let Some(probe) = &settings.probe {
        settings.breaker.ramp = probe.interval;
    }
    if let Some((raw, _)) = raw.breaker.get() {
        match raw.on() {
            Some(raw) => breaker(section, &raw, &mut settings.breaker, pass),
            None => settings.breaker.enabled = false,
        }
    }
    settings
}

/// Pinning, sharing, caching. Without heads nothing is pinned or kept (P-1, P-11).
fn reads(section: &str, raw: &model::Chain, settings: &mut Settings, pass: &Pass<'_>) {
    let heads = settings.heads.is_some();
    let at = |name: &str| Overlay::new(pass, format!("{section}.{name}"));
    Overlay::flag(&raw.coalesce, &mut settings.reads.coalesce);
    let mut pins = settings.reads.pin.is_some();
    Overlay::flag(&raw.pin_latest, &mut pins);
    if let Some((raw, span)) = raw.pin.get() {
        let mut own = at("pin");
        if let Some(pin) = &mut settings.reads.pin {
            own.period("fresh", &raw.fresh, &mut pin.fresh, HOUR);
            Overlay::flag(&raw.forward_block_number, &mut pin.forward_block_number);
        }
        for (addresses, _) in raw.present_state.elements() {
            settings.reads.present.add(addresses.0.clone());
        }
        if !pins {
            let note = format!("`{section}.pin`: it has no effect with `pin_latest = false`");
            pass.note(span.start..span.start, note);
        }
    }
    if let Some((stated, span)) = raw.pin_latest.get()
        && *stated
        && !heads
    {
        let note = format!("`{section}.pin_latest`: heads are off, so nothing can be pinned");
        pass.note(span, note);
    }
    settings.reads.pin = settings.reads.pin.filter(|_| pins);
    let Some((raw, span)) = raw.cache.get() else {
        return;
    };
    let section_of_cache = raw.on();
    let enabled = section_of_cache
        .as_ref()
        .is_some_and(|raw| raw.enabled.get().is_none_or(|(enabled, _)| *enabled));
    let Some(raw) = section_of_cache.filter(|_| enabled) else {
        settings.reads.cache = None;
        return;
    };
    if !heads {
        let note = format!("`{section}.cache`: heads are off, so nothing is answered from memory");
        pass.note(span.start..span.start, note);
    }
    let mut own = at("cache");
    let cache = settings.reads.cache.get_or_insert_default();
    let stale = &mut cache.max_stale_blocks;
    own.count("max_stale_blocks", &raw.max_stale_blocks, stale, 0..=1000);
    own.period("max_age", &raw.max_age, &mut cache.max_age, HOUR);
    let mut entries = cache.entries as u64;
    own.count(
        "max_entries",
        &raw.max_entries,
        &mut entries,
        1..=100_000_000,
    );
    cache.entries = usize::try_from(entries).unwrap_or(usize::MAX);
    own.size(
        "max_bytes",
        &raw.max_bytes,
        &mut cache.bytes,
        (64 << 10)..=(1 << 40),
    );
    Overlay::flag(&raw.headers, &mut cache.headers);
    own.count("hot_keys", &raw.hot_keys, &mut cache.hot_keys, 0..=64);
    if let Some((interval, _)) = raw.refresh_interval.get() {
        cache.refresh = interval.0;
    }
}

/// Weights count under `weighted-sum` alone.
fn weights(section: &str, raw: &Field<engine::Weights>, strategy: &mut Strategy, pass: &Pass<'_>) {
    let Some((raw, span)) = raw.get() else { return };
    match strategy {
        Strategy::WeightedSum(weights) => {
            read_weights(&format!("{section}.weights"), raw, weights, pass);
        }
        Strategy::Adaptive
        | Strategy::RoundRobin
        | Strategy::Random
        | Strategy::Weighted
        | Strategy::LeastLoaded
        | Strategy::Shuffle => pass.note(
            span.start..span.start,
            format!("`{section}.weights`: only `strategy = \"weighted-sum\"` uses them"),
        ),
    }
}

/// The strategy of a key: its own, or `weighted-sum` where it has weights.
pub(super) fn strategy_of_key(
    section: &str,
    key: &model::Key,
    pass: &Pass<'_>,
) -> Option<Strategy> {
    let stated = key.strategy.get().map(|(strategy, _)| strategy.0);
    let has_weights = !key.weights.is_absent();
    let by_weights = has_weights.then(|| Strategy::WeightedSum(Weights::default()));
    let mut strategy = stated.or(by_weights)?;
    weights(section, &key.weights, &mut strategy, pass);
    Some(strategy)
}

fn read_weights(section: &str, raw: &engine::Weights, weights: &mut Weights, pass: &Pass<'_>) {
    let mut at = Overlay::new(pass, section.to_owned());
    for (name, field, target) in [
        ("latency", &raw.latency, &mut weights.latency),
        ("error", &raw.error, &mut weights.error),
        ("quota", &raw.quota, &mut weights.quota),
        ("affinity", &raw.affinity, &mut weights.affinity),
    ] {
        at.number(name, field, target, WEIGHTS);
    }
}

fn hedge(section: &str, raw: &model::Chain, settings: &mut Settings, pass: &Pass<'_>) {
    let raw = raw.hedge.get().and_then(|(switch, _)| switch.on());
    settings.hedge = raw.map(|raw| {
        let mut hedge = HedgeSettings::default();
        let mut at = Overlay::new(pass, format!("{section}.hedge"));
        at.period("min_delay", &raw.min_delay, &mut hedge.min_delay, HOUR);
        at.number("tails", &raw.tails, &mut hedge.tails, WEIGHTS);
        hedge
    });
}

fn retry(mut at: Overlay<'_>, raw: &engine::Retry, settings: &mut Settings) {
    let retry = &mut settings.retry;
    at.period("base", &raw.base, &mut retry.base, HOUR);
    at.period("cap", &raw.cap, &mut retry.cap, HOUR);
    at.at_least("cap", "base", retry.cap >= retry.base, "`2s`");
    at.period("max_wait", &raw.max_wait, &mut retry.max_wait, HOUR);
    let budget = &mut settings.retry_budget;
    at.number("budget_ratio", &raw.budget_ratio, &mut budget.ratio, SHARES);
    at.number(
        "budget_per_second",
        &raw.budget_per_second,
        &mut budget.per_second,
        0.0..=1e6,
    );
    at.period_in(
        "budget_window",
        &raw.budget_window,
        &mut budget.window,
        SECOND..=HOUR,
    );
}

fn score(mut at: Overlay<'_>, raw: &engine::Score, settings: &mut Settings) {
    let score = &mut settings.score;
    at.number("mix", &raw.mix, &mut score.mix, SHARES);
    let mut prior = Duration::from_secs_f64(score.prior_ms / 1e3);
    at.period("prior", &raw.prior, &mut prior, HOUR);
    score.prior_ms = prior.as_secs_f64() * 1e3;
    at.count(
        "enough_samples",
        &raw.enough_samples,
        &mut score.enough_samples,
        1..=1_000,
    );
    for (name, field, target) in [
        (
            "inflight_quadratic",
            &raw.inflight_quadratic,
            &mut score.inflight_quadratic,
        ),
        ("error_weight", &raw.error_weight, &mut score.error_weight),
        ("lag_weight", &raw.lag_weight, &mut score.lag_weight),
        ("slope_weight", &raw.slope_weight, &mut score.slope_weight),
    ] {
        at.number(name, field, target, WEIGHTS);
    }
    let book = &mut settings.book;
    for (name, field, target) in [
        ("slower_step", &raw.slower_step, &mut book.slower_step),
        ("faster_step", &raw.faster_step, &mut book.faster_step),
        ("tail_up_step", &raw.tail_up_step, &mut book.tail_up_step),
        (
            "tail_down_step",
            &raw.tail_down_step,
            &mut book.tail_down_step,
        ),
        ("error_step", &raw.error_step, &mut book.error_step),
    ] {
        at.number(name, field, target, STEPS);
    }
    let window = &mut settings.window;
    at.period_in("bucket", &raw.bucket, &mut window.bucket, SECOND..=HOUR);
    at.number("rising", &raw.rising, &mut window.rising, 0.0..=100.0);
    at.count(
        "rising_buckets",
        &raw.rising_buckets,
        &mut window.rising_buckets,
        1..=9,
    );
}

fn learn(mut at: Overlay<'_>, raw: &engine::Learn, learn: &mut LearnSettings) {
    at.period("forget", &raw.forget, &mut learn.forget, YEAR);
    at.period(
        "forget_block",
        &raw.forget_block,
        &mut learn.forget_block,
        YEAR,
    );
    at.count("near_head", &raw.near_head, &mut learn.near_head, BLOCKS);
}

fn batch(mut at: Overlay<'_>, raw: &engine::Batch, batch: &mut BatchSettings) {
    Overlay::flag(&raw.client, &mut batch.client);
    at.period("window", &raw.window, &mut batch.window, SECOND);
    at.count("most", &raw.most, &mut batch.most, 1..=1000);
}

fn heads(mut at: Overlay<'_>, raw: &engine::Heads, settings: &mut Settings) {
    if let Some(heads) = &mut settings.heads {
        for (name, field, target) in [
            ("max_lag", &raw.max_lag, &mut heads.max_lag),
            ("max_ahead", &raw.max_ahead, &mut heads.max_ahead),
            ("max_drift", &raw.max_drift, &mut heads.max_drift),
            ("max_reorg", &raw.max_reorg, &mut heads.max_reorg),
        ] {
            at.count(name, field, target, BLOCKS);
        }
        for (name, field, target) in [
            ("max_lag_time", &raw.max_lag_time, &mut heads.max_lag_time),
            ("stale", &raw.stale, &mut heads.stale),
            (
                "max_drift_time",
                &raw.max_drift_time,
                &mut heads.max_drift_time,
            ),
            ("drift_window", &raw.drift_window, &mut heads.drift_window),
            (
                "max_reorg_time",
                &raw.max_reorg_time,
                &mut heads.max_reorg_time,
            ),
            ("standstill", &raw.standstill, &mut heads.standstill),
        ] {
            at.period(name, field, target, HOUR);
        }
        if !raw.block_time.is_absent() {
            let mut time = Duration::ZERO;
            at.period("block_time", &raw.block_time, &mut time, HOUR);
            heads.block_time = Some(time).filter(|time| !time.is_zero());
        }
        let level = heads.max_ahead >= heads.max_lag;
        at.at_least("max_ahead", "max_lag", level, heads.max_ahead);
    }
    let mut enabled = true;
    Overlay::flag(&raw.enabled, &mut enabled);
    if !enabled {
        settings.heads = None;
    }
    let mut probe = ProbeSettings::default();
    at.period(
        "probe_interval",
        &raw.probe_interval,
        &mut probe.interval,
        HOUR,
    );
    at.number("probe_jitter", &raw.probe_jitter, &mut probe.jitter, SHARES);
    at.period("probe_idle", &raw.probe_idle, &mut probe.idle, HOUR);
    let mut probes = true;
    Overlay::flag(&raw.probes, &mut probes);
    settings.probe = probes.then_some(probe);
}

fn breaker(section: &str, raw: &engine::Breaker, breaker: &mut BreakerSettings, pass: &Pass<'_>) {
    let mut at = Overlay::new(pass, format!("{section}.breaker"));
    Overlay::flag(&raw.enabled, &mut breaker.enabled);
    for (name, field, target) in [
        ("threshold", &raw.threshold, &mut breaker.threshold),
        ("bare_403", &raw.bare_403, &mut breaker.bare_403),
    ] {
        at.count(name, field, target, 1..=1_000);
    }
    for (name, field, target, longest) in [
        ("cooldown", &raw.cooldown, &mut breaker.cooldown, HOUR),
        (
            "max_cooldown",
            &raw.max_cooldown,
            &mut breaker.max_cooldown,
            YEAR,
        ),
        (
            "reset_after",
            &raw.reset_after,
            &mut breaker.reset_after,
            YEAR,
        ),
        ("ramp", &raw.ramp, &mut breaker.ramp, HOUR),
        (
            "retry_after_cap",
            &raw.retry_after_cap,
            &mut breaker.retry_after_cap,
            YEAR,
        ),
        (
            "trial_lease",
            &raw.trial_lease,
            &mut breaker.trial_lease,
            HOUR,
        ),
        (
            "quota_cooldown",
            &raw.quota_cooldown,
            &mut breaker.quota.first,
            YEAR,
        ),
        (
            "quota_max_cooldown",
            &raw.quota_max_cooldown,
            &mut breaker.quota.max,
            YEAR,
        ),
        (
            "quota_reset_cap",
            &raw.quota_reset_cap,
            &mut breaker.quota_reset_cap,
            YEAR,
        ),
        ("method_off", &raw.method_off, &mut breaker.method_off, YEAR),
        (
            "recheck_after",
            &raw.recheck_after,
            &mut breaker.recheck_after,
            YEAR,
        ),
    ] {
        at.period(name, field, target, longest);
    }
    let fits = breaker.max_cooldown >= breaker.cooldown;
    at.at_least("max_cooldown", "cooldown", fits, "`60s`");
    let fits = breaker.quota.max >= breaker.quota.first;
    at.at_least("quota_max_cooldown", "quota_cooldown", fits, "`6h`");
    if let Some((switch, _)) = raw.failure_rate.get() {
        let at = Overlay::new(pass, format!("{section}.breaker.failure_rate"));
        breaker.failure_rate = switch.on().map(|raw| failure_rate(at, &raw));
    }
    if let Some((switch, _)) = raw.exclusion_trial.get() {
        let at = Overlay::new(pass, format!("{section}.breaker.exclusion_trial"));
        breaker.exclusion_trial = switch.on().map(|raw| exclusion_trial(at, &raw));
    }
}

fn failure_rate(mut at: Overlay<'_>, raw: &engine::FailureRate) -> FailureRate {
    let mut rate = FailureRate::default();
    at.number("share", &raw.share, &mut rate.share, STEPS);
    at.count("answers", &raw.answers, &mut rate.answers, 1..=1_000_000);
    at.period_in("window", &raw.window, &mut rate.window, SECOND..=HOUR);
    rate
}

fn exclusion_trial(mut at: Overlay<'_>, raw: &engine::ExclusionTrial) -> Growing {
    let mut trial = EXCLUSION_TRIALS;
    at.period("first", &raw.first, &mut trial.first, YEAR);
    at.period("max", &raw.max, &mut trial.max, YEAR);
    at.at_least("max", "first", trial.max >= trial.first, "`6h`");
    trial
}
