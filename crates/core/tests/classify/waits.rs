use std::time::{Duration, SystemTime};

use highwater_core::classify::{Class, Evidence, classify, retry_after};

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

// R-21: both forms of Retry-After, and what servers make of them.
#[test]
fn reads_retry_after_as_seconds_as_a_date_and_with_a_unit() {
    // Sun, 06 Nov 1994 08:49:37 GMT
    let now = at(784_111_777);
    let cases: [(&str, Option<u64>); 12] = [
        ("30", Some(30_000)),
        ("0", Some(0)),
        ("1.5", Some(1_500)),
        (" 7 ", Some(7_000)),
        ("Sun, 06 Nov 1994 08:49:47 GMT", Some(10_000)),
        ("Sun, 06 Nov 1994 08:49:07 GMT", Some(0)),
        ("10m0s", Some(600_000)),
        ("4ms", Some(4)),
        ("-1", None),
        ("soon", None),
        ("", None),
        ("99999999999999999999", None),
    ];
    for (value, millis) in cases {
        assert_eq!(
            retry_after(value, now),
            millis.map(Duration::from_millis),
            "{value:?}"
        );
    }
}

fn wait(headers: &[(&str, &str)], body: &str, now: u64) -> Option<Duration> {
    let lookup = |name: &str| headers.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
    let evidence = Evidence {
        headers: &lookup,
        wall: at(now),
        ..Evidence::new("eth_call", 429, body.as_bytes())
    };
    let verdict = classify(&evidence).expect("a limit is an error");
    assert_eq!(verdict.class, Class::RateLimited, "{body}");
    verdict.retry_after
}

// R-21: waits in headers of limiters, in data and in words.
#[test]
fn reads_waits_from_headers_data_and_words() {
    let body = |message: &str, data: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32005,"message":"rate limit exceeded{message}","data":{data}}}}}"#
        )
    };
    let plain = body("", "null");
    let ms = |n| Some(Duration::from_millis(n));
    assert_eq!(wait(&[], &plain, 0), None);
    assert_eq!(wait(&[("x-ratelimit-reset", "5")], &plain, 0), ms(5_000));
    // A moment in Unix seconds, and one in milliseconds.
    assert_eq!(
        wait(
            &[("x-ratelimit-reset", "1700000010")],
            &plain,
            1_700_000_000
        ),
        ms(10_000)
    );
    assert_eq!(
        wait(
            &[("ratelimit-reset", "1700000010500")],
            &plain,
            1_700_000_000
        ),
        ms(10_500)
    );
    assert_eq!(
        wait(
            &[("retry-after", "2"), ("x-ratelimit-reset", "5")],
            &plain,
            0
        ),
        ms(2_000)
    );
    assert_eq!(wait(&[], &body(", retry in 10m0s", "null"), 0), ms(600_000));
    assert_eq!(wait(&[], &body(". Try again in 4ms.", "null"), 0), ms(4));
    assert_eq!(
        wait(&[], &body("; try again in 1h2m3.5s", "null"), 0),
        ms(3_723_500)
    );
    assert_eq!(wait(&[], &body(": wait 20 seconds", "null"), 0), ms(20_000));
    assert_eq!(
        wait(&[], &body("", r#"{"rate":{"backoff_seconds":30.5}}"#), 0),
        ms(30_500)
    );
    assert_eq!(
        wait(&[], &body("", r#"{"try_again_in":"707.5ms"}"#), 0),
        ms(708)
    );
    assert_eq!(
        wait(&[], &body("", r#"{"retryAfterMs":"250"}"#), 0),
        ms(250)
    );
    // Numbers that are no waits.
    assert_eq!(
        wait(&[], &body(" (1000 per second)", r#"{"allowed_rps":10}"#), 0),
        None
    );
}
