//! Options of the routing engine that are out of range or do not fit together.

use super::Bad;
use crate::config::Format::{Toml, Yaml};

pub(super) const FILES: &[Bad] = &[
    Bad {
        name: "numbers out of range",
        format: Toml,
        text: "[chains.ethereum]
race = 17
explore_every = 1
retry_count = 1001
tier_wait = '2h'
retry.budget_ratio = 1.5
score.mix = -0.1
score.slower_step = 0
heads.probe_jitter = 2
breaker.threshold = 0
breaker.failure_rate.window = '900ms'
budget.rps = 0
logs.max_parts = 1
logs.parallel = 65
[[chains.ethereum.endpoints]]
url = 'https://a.example'
tier = 256
weight = 0
rps = 1e7
reset_day = 29
units_per_month = 5
max_log_range = 0
",
        findings: &[
            "2:8 `chains.ethereum.race`: out of range: 0 to 16 is allowed",
            "3:17 `chains.ethereum.explore_every`: out of range: 2 to 1000000 is allowed",
            "4:15 `chains.ethereum.retry_count`: out of range: 0 to 1000 is allowed",
            "5:13 `chains.ethereum.tier_wait`: out of range: 1ms to 1h is allowed",
            "6:22 `chains.ethereum.retry.budget_ratio`: out of range: 0 to 1 is allowed",
            "7:13 `chains.ethereum.score.mix`: out of range: 0 to 1 is allowed",
            "8:21 `chains.ethereum.score.slower_step`: out of range: 0.001 to 1 is allowed",
            "9:22 `chains.ethereum.heads.probe_jitter`: out of range: 0 to 1 is allowed",
            "10:21 `chains.ethereum.breaker.threshold`: out of range: 1 to 1000 is allowed",
            "11:31 `chains.ethereum.breaker.failure_rate.window`: out of range: 1s to 1h is allowed",
            "12:14 `chains.ethereum.budget.rps`: out of range: 0.001 to 1000000 is allowed",
            "13:18 `chains.ethereum.logs.max_parts`: out of range: 2 to 10000 is allowed",
            "14:17 `chains.ethereum.logs.parallel`: out of range: 1 to 64 is allowed",
            "17:8 `chains.ethereum.endpoints[0].tier`: out of range: 0 to 255 is allowed",
            "18:10 `chains.ethereum.endpoints[0].weight`: out of range: 0.000001 to 1000000 is allowed",
            "19:7 `chains.ethereum.endpoints[0].rps`: out of range: 0.001 to 1000000 is allowed",
            "20:13 `chains.ethereum.endpoints[0].reset_day`: out of range: 1 to 28 is allowed",
            "22:17 `chains.ethereum.endpoints[0].max_log_range`: out of range: 1 to 1000000000 is allowed",
        ],
    },
    Bad {
        name: "values of the wrong kind",
        format: Toml,
        text: "[chains.ethereum]
strategy = 'round_robin'
jitter = 'none'
retry_count = 'for ever'
race = 2.5
hedge = 'yes'
score.mix = 'half'
budget = 5
[[chains.ethereum.endpoints]]
url = 'https://a.example'
weight = nan
reset_at = 'noon'
ws_url = 'https://a.example/s3cret-canary'
",
        findings: &[
            "2:12 `chains.ethereum.strategy`: no such strategy: did you mean `round-robin`?",
            "3:10 `chains.ethereum.jitter`: expected `half` or `full`",
            "4:15 `chains.ethereum.retry_count`: expected a whole number or `deadline`",
            "5:8 `chains.ethereum.race`: expected a whole number, found a number with a fraction",
            "6:9 `chains.ethereum.hedge`: expected `true`, `false` or a table, found a string",
            "7:13 `chains.ethereum.score.mix`: expected a number, found a string",
            "8:10 `chains.ethereum.budget`: expected `true`, `false` or a table, found a whole number",
            "11:10 `chains.ethereum.endpoints[0].weight`: expected a finite number",
            "12:12 `chains.ethereum.endpoints[0].reset_at`: expected a time of the day in UTC such as `00:00` or `06:30`",
            "13:10 `chains.ethereum.endpoints[0].ws_url`: not a WebSocket URL: it must begin with ws:// or wss://",
        ],
    },
    Bad {
        name: "options that do not fit together",
        format: Yaml,
        text: "chains:
  ethereum:
    weights: { latency: 1 }
    retry: { cap: 50ms }
    heads: { max_ahead: 3, max_lag: 4 }
    breaker:
      cooldown: 2m
      quota_cooldown: 2h
      quota_max_cooldown: 1h
      exclusion_trial: { first: 7h }
    endpoints:
      - url: https://a.example
keys:
  - name: a
    hash: sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789ABCDEF
    strategy: random
    weights: { error: 2 }
",
        findings: &[
            "3:14 `chains.ethereum.weights`: only `strategy = \"weighted-sum\"` uses them",
            "4:19 `chains.ethereum.retry.cap`: must be at least `base`",
            "5:25 `chains.ethereum.heads.max_ahead`: must be at least `max_lag`",
            "7:17 `chains.ethereum.breaker.cooldown`: must be at most `max_cooldown`, which is `60s` by default",
            "9:27 `chains.ethereum.breaker.quota_max_cooldown`: must be at least `quota_cooldown`",
            "10:33 `chains.ethereum.breaker.exclusion_trial.first`: must be at most `max`, which is `6h` by default",
            "17:14 `keys[0].weights`: only `strategy = \"weighted-sum\"` uses them",
        ],
    },
    Bad {
        name: "a misspelt option of a section of the engine, and one in the wrong place",
        format: Toml,
        text: "[chains.ethereum]
max_lag = 2
lag_weight = 1
[chains.ethereum.breaker]
treshold = 2
failure_rate = { shares = 1 }
[[chains.ethereum.endpoints]]
url = 'https://a.example'
weigth = 3
",
        findings: &[
            "2:1 unknown option `max_lag` in `chains.ethereum`: it belongs in `chains.NAME.heads`",
            "3:1 unknown option `lag_weight` in `chains.ethereum`: it belongs in `chains.NAME.score`",
            "5:1 unknown option `treshold` in `chains.ethereum.breaker`: did you mean `threshold`?",
            "6:18 unknown option `shares` in `chains.ethereum.breaker.failure_rate`: did you mean `share`?",
            "9:1 unknown option `weigth` in `chains.ethereum.endpoints[0]`: did you mean `weight`?",
        ],
    },
];
