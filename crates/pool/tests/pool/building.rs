//! What `build` refuses, by name (L-1).

use crate::fake::{Fake, endpoint, ms};
use highwater::{
    Builder, Endpoint, Pool, SecretUrl, Sends,
    core::{
        ChainId,
        router::Profile,
        settings::{HedgeSettings, Settings},
    },
};
use std::time::Duration;

fn good() -> Builder {
    Pool::builder().chain(1).endpoint("https://node.example")
}

fn set(change: impl FnOnce(&mut Settings)) -> Builder {
    let mut settings = Settings::default();
    change(&mut settings);
    good().settings(settings)
}

// L-1
#[test]
fn an_option_out_of_range_is_refused_by_name() {
    assert!(good().build().is_ok());
    let weightless = Profile {
        weight: 0.0,
        ..Profile::default()
    };
    let priced = |price| Profile {
        price: Some(price),
        ..Profile::default()
    };
    let url = || SecretUrl::parse("https://node.example").unwrap();
    let cases: Vec<(&str, Builder)> = vec![
        ("chain", good().chain(0)),
        ("chain", good().chain("atlantis")),
        ("endpoints", Pool::builder().chain(1)),
        ("endpoints", good().endpoint("ftp://node.example")),
        ("label", good().endpoint(Endpoint::url(url()).label(""))),
        (
            "weight",
            good().endpoint(Endpoint::url(url()).profile(weightless)),
        ),
        (
            "price",
            good().endpoint(Endpoint::url(url()).profile(priced(-1.0))),
        ),
        (
            "price",
            good().endpoint(Endpoint::url(url()).profile(priced(f64::NAN))),
        ),
        ("timeout", good().timeout(Duration::ZERO)),
        ("deadline", good().deadline(Duration::from_micros(999))),
        (
            "sends.timeout",
            good().sends(Sends {
                timeout: Some(Duration::ZERO),
                ..Sends::default()
            }),
        ),
        ("max_reply", good().max_reply(0)),
        ("lanes", good().workers(0)),
        ("prior_ms", set(|s| s.score.prior_ms = 0.0)),
        ("threshold", set(|s| s.breaker.threshold = 0)),
        ("base", set(|s| s.retry.base = s.retry.cap + ms(1))),
        ("most", set(|s| s.batch.most = 0)),
        ("ratio", set(|s| s.retry_budget.ratio = 2.0)),
        ("explore_every", set(|s| s.select.explore_every = 1)),
        (
            "tails",
            set(|s| {
                s.hedge = Some(HedgeSettings {
                    tails: -1.0,
                    ..HedgeSettings::default()
                });
            }),
        ),
    ];
    for (field, builder) in cases {
        assert_eq!(builder.build().unwrap_err().field, field);
    }
}

// L-1, R-2
#[test]
fn a_url_that_is_refused_is_not_repeated() {
    let error = good().endpoint("wss://node.example/SECRETKEY1").build();
    let text = error.unwrap_err().to_string();
    assert!(text.starts_with("endpoints: unsupported scheme"), "{text}");
    assert!(!text.contains("SECRETKEY1"));
}

// L-1
#[test]
fn a_chain_has_an_id_or_a_name_and_an_endpoint_is_a_text_or_a_struct() {
    let fake = Fake::new();
    for (builder, chain) in [
        (Pool::builder().chain(10), 10),
        (Pool::builder().chain(ChainId(10)), 10),
        (Pool::builder().chain("Ethereum"), 1),
        (Pool::builder().chain("8453"), 8453),
        (Pool::builder().chain("4242424242"), 4_242_424_242),
    ] {
        let pool = builder
            .endpoint("https://node.example/v2/key")
            .endpoint(String::from("http://node.example:8545"))
            .endpoint(SecretUrl::parse("https://other.example").unwrap())
            .endpoint(endpoint(&fake, "own"))
            .build()
            .unwrap();
        assert_eq!(pool.chain_id(), Some(ChainId(chain)));
        let endpoints = pool.snapshot().endpoints;
        let labels: Vec<_> = endpoints.iter().map(|one| one.label.as_str()).collect();
        let expected = ["node.example", "node.example-2", "other.example", "own"];
        assert_eq!(labels, expected);
    }
    // Nothing was sent: building does no I/O, and needs no runtime.
    assert_eq!(fake.seen().len(), 0);
}
