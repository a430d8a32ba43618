use super::*;
use crate::{score::ScoreSettings, stats::BookSettings};
use proptest::prelude::*;

const TIMEOUT: Duration = Duration::from_secs(10);

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seconds)
}

fn id(method: &str) -> MethodId {
    lookup(method).id
}

fn books(fill: impl FnOnce(&mut Books)) -> Books {
    let mut books = Books::new(BookSettings::default());
    books.at(at(0));
    fill(&mut books);
    books
}

/// What comes back of a text for one endpoint, `a`, and how many books are dropped.
fn restored(text: &str, wall: SystemTime) -> (Books, usize) {
    let scores = Scores::from_json(text).unwrap();
    let place = |label: &str| (label == "a").then_some(EndpointId(0));
    let (admitted, dropped) = scores.admitted(place, TIMEOUT, wall);
    let mut books = Books::new(BookSettings::default());
    for (_, method, book) in admitted {
        assert!(books.restore(method, book));
    }
    (books, dropped)
}

fn text_of(books: &Books, wall: SystemTime) -> String {
    Scores::of([("a", books)], wall).to_json()
}

/// A text with these books of `a`, saved now.
fn text_with(books: &str) -> String {
    let saved_at = millis(at(0));
    format!(r#"{{"version":1,"savedAt":{saved_at},"books":{{"a":{books}}}}}"#)
}

fn book_of(latency: &str, tail: &str, error: &str, samples: &str, seconds: i64) -> String {
    let measured_at = 1_700_000_000_000 + seconds * 1_000;
    format!(
        r#"{{"latencyMs":{latency},"tailMs":{tail},"error":{error},"samples":{samples},"measuredAt":{measured_at}}}"#
    )
}

// P-25
#[test]
fn writes_the_books_by_label_and_method_with_a_star_for_all() {
    let books = books(|books| {
        books.record_success(id("eth_call"), 40.0);
        books.record_failure(id("eth_getLogs"));
    });
    assert_eq!(
        text_of(&books, at(3)),
        concat!(
            r#"{"version":1,"savedAt":1700000003000,"books":{"a":{"#,
            r#""*":{"latencyMs":40.0,"tailMs":40.0,"error":0.3,"samples":[1,1,2],"measuredAt":1700000000000},"#,
            r#""eth_call":{"latencyMs":40.0,"tailMs":40.0,"error":0.0,"samples":[1,1,1],"measuredAt":1700000000000},"#,
            r#""eth_getLogs":{"latencyMs":0.0,"tailMs":0.0,"error":0.3,"samples":[0,0,1],"measuredAt":1700000000000}"#,
            "}}}"
        )
    );
}

// P-25
#[test]
fn a_book_counts_as_at_most_two_samples_and_as_none_for_a_hedge() {
    let measured = books(|books| {
        for _ in 0..50 {
            books.record_success(id("eth_call"), 40.0);
        }
    });
    let (back, dropped) = restored(&text_of(&measured, at(1)), at(2));
    assert_eq!(dropped, 0);
    let blended = back.blend(id("eth_call"), &ScoreSettings::default());
    // Two samples of five, then two of five of the endpoint's, then 200 ms.
    assert_eq!(
        blended.latency_ms,
        0.4 * 40.0 + 0.6 * (0.4 * 40.0 + 0.6 * 200.0)
    );
    assert_eq!(blended.samples, 0);
    assert_eq!(back.method(id("eth_call")).unwrap().weights(), [2, 2, 2]);
}

// P-25
#[test]
fn the_first_sample_of_a_call_replaces_a_book_and_a_probe_does_not() {
    type Teach = fn(&mut Books);
    let slow = books(|books| {
        books.record_success(id("eth_call"), 4_000.0);
        books.record_timeout(id("eth_call"), 9_000.0);
    });
    let text = text_of(&slow, at(1));
    let samples: [(Teach, [u32; 3]); 4] = [
        (
            |books| books.record_success(id("eth_call"), 30.0),
            [1, 1, 1],
        ),
        (|books| books.record_failure(id("eth_call")), [0, 0, 1]),
        (|books| books.record_error_free(id("eth_call")), [0, 0, 1]),
        (
            |books| books.record_timeout(id("eth_call"), 100.0),
            [0, 1, 1],
        ),
    ];
    for (teach, weights) in samples {
        let (mut back, _) = restored(&text, at(2));
        let mut fresh = Books::new(BookSettings::default());
        teach(&mut back);
        teach(&mut fresh);
        for book in [back.global(), back.method(id("eth_call")).unwrap()] {
            assert_eq!(book.weights(), weights);
        }
        assert_eq!(back.global(), fresh.global());
        assert_eq!(back.method(id("eth_call")), fresh.method(id("eth_call")));
    }
    let (mut back, _) = restored(&text, at(2));
    let before = *back.global();
    back.cool();
    back.push_tail(10_000.0);
    let after = back.global();
    assert!(after.is_restored() && after.error() < before.error());
    assert!(after.tail_ms() > before.tail_ms());
    assert_eq!(after.latency_ms(), before.latency_ms());
    // A method that was not called keeps what was stored.
    let (mut back, _) = restored(&text, at(2));
    back.record_success(id("eth_getLogs"), 10.0);
    assert!(back.method(id("eth_call")).unwrap().is_restored());
    assert!(!back.global().is_restored());
}

// P-25
#[test]
fn fills_only_an_empty_book() {
    let stored = books(|books| {
        books.record_success(id("eth_call"), 4_000.0);
        books.record_success(id("eth_getLogs"), 5_000.0);
    });
    let scores = Scores::of([("a", &stored)], at(1));
    let (admitted, _) = scores.admitted(|_| Some(EndpointId(0)), TIMEOUT, at(2));
    let mut live = books(|books| books.record_success(id("eth_call"), 30.0));
    let put: Vec<_> = admitted
        .into_iter()
        .map(|(_, method, book)| live.restore(method, book))
        .collect();
    assert_eq!(put, [false, false, true]);
    assert_eq!(live.global().latency_ms(), Some(30.0));
    assert_eq!(
        live.method(id("eth_getLogs")).unwrap().latency_ms(),
        Some(5_000.0)
    );
}

// P-25
#[test]
fn keeps_the_time_at_which_a_book_was_measured_when_it_is_saved_again() {
    let measured = books(|books| books.record_success(id("eth_call"), 40.0));
    let (again, _) = restored(&text_of(&measured, at(0)), at(3_000));
    let text = text_of(&again, at(3_000));
    assert!(text.contains(r#""measuredAt":1700000000000"#), "{text}");
    assert!(text.contains(r#""savedAt":1700003000000"#), "{text}");
    // So it is forgotten an hour after it was measured, however often it was saved.
    let (late, dropped) = restored(&text, at(3_601));
    assert_eq!((late.methods().count(), dropped), (0, 2));
}

// P-26
#[test]
fn reads_one_version_one_form_and_256_kib() {
    let text = text_with("{}");
    assert!(Scores::from_json(&text).is_ok());
    for (odd, expected) in [
        (String::new(), ScoresError::Malformed),
        ("[]".into(), ScoresError::Malformed),
        ("NaN".into(), ScoresError::Malformed),
        (text.replace(":1,", ":2,"), ScoresError::Version),
        (text.replace(":1,", ":0,"), ScoresError::Version),
        (
            text.replace(":1,", ":18446744073709551615,"),
            ScoresError::Version,
        ),
        (text.replace(":1,", ":\"1\","), ScoresError::Malformed),
        (text.replace(":1,", ":-1,"), ScoresError::Malformed),
        (text.replace("savedAt", "saved"), ScoresError::Malformed),
        (text.replace("books", "book"), ScoresError::Malformed),
        (
            format!("{text}{}", " ".repeat(MOST_BYTES)),
            ScoresError::TooLarge,
        ),
        (
            format!(
                r#"{{"version":1,"savedAt":0,"books":{}"#,
                "[".repeat(100_000)
            ),
            ScoresError::Malformed,
        ),
    ] {
        let found = Scores::from_json(&odd).unwrap_err();
        assert_eq!(found, expected, "{odd:.60}");
    }
}

// P-26
#[test]
fn drops_what_cannot_be_believed_and_keeps_the_rest() {
    let fine = book_of("40", "50", "0.1", "[9,9,9]", 0);
    for (name, book) in [
        ("eth_call", "null".to_owned()),
        ("eth_call", "[]".to_owned()),
        ("eth_call", "{}".to_owned()),
        ("eth_call", book_of("1e999", "50", "0", "[1,1,1]", 0)),
        ("eth_call", book_of("null", "50", "0", "[1,1,1]", 0)),
        (
            "eth_call",
            book_of("NaN", "50", "0", "[1,1,1]", 0).replace("NaN", "\"NaN\""),
        ),
        ("eth_call", book_of("40", "50", "0", "[1,1]", 0)),
        ("eth_call", book_of("40", "50", "0", "[0,0,0]", 0)),
        ("eth_call", book_of("40", "50", "0", "[1,1,-1]", 0)),
        ("eth_call", book_of("40", "50", "0", "[1,1,4294967296]", 0)),
        ("eth_call", book_of("40", "50", "0", "[1,1,1]", -3_601)),
        ("eth_call", book_of("40", "50", "0", "[1,1,1]", 61)),
        ("eth_call", fine.replace("tailMs", "tail")),
        ("eth_call", fine.replace("measuredAt", "at")),
        // Odd names: none of the table's.
        ("ETH_CALL", fine.clone()),
        ("", fine.clone()),
        ("trace_nothing_we_know", fine.clone()),
        ("eth_call\\u0000", fine.clone()),
    ] {
        let text = text_with(&format!(r#"{{"*":{fine},"{name}":{book}}}"#));
        let (back, dropped) = restored(&text, at(0));
        assert_eq!((back.methods().count(), dropped), (0, 1), "{name} {book}");
        assert_eq!(back.global().latency_ms(), Some(40.0));
    }
    // Unknown labels, and what is no endpoint's books at all.
    let text = text_with(&format!(r#"{{"*":{fine}}},"b":{{"*":{fine}}},"c":7"#));
    let (back, dropped) = restored(&text, at(0));
    assert_eq!((back.global().latency_ms(), dropped), (Some(40.0), 2));
}

// P-26
#[test]
fn drops_everything_that_was_saved_too_long_ago_or_in_the_future() {
    let text = text_with(&format!(
        r#"{{"*":{}}}"#,
        book_of("4", "5", "0", "[1,1,1]", 0)
    ));
    for (seconds, books) in [(0, 1), (3_600, 1), (3_601, 0)] {
        let (back, dropped) = restored(&text, at(seconds));
        let known = back.global().latency_ms().is_some();
        assert_eq!(
            (usize::from(known), dropped),
            (books, 1 - books),
            "{seconds}"
        );
    }
    let early = |seconds| at(0) - Duration::from_secs(seconds);
    assert_eq!(restored(&text, early(60)).1, 0);
    assert_eq!(restored(&text, early(61)).1, 1);
    let ahead = text.replace(r#""savedAt":17"#, r#""savedAt":99"#);
    assert_eq!(restored(&ahead, at(0)).1, 1);
}

// P-26
#[test]
fn clamps_latencies_to_the_timeout_and_errors_to_one() {
    let odd = book_of("1e30", "-5", "7", "[3,3,3]", 0);
    let (back, _) = restored(&text_with(&format!(r#"{{"*":{odd}}}"#)), at(0));
    assert_eq!(back.global().values(), [10_000.0, 0.0, 1.0]);
    let odd = book_of("-1", "2e4", "-0.5", "[3,3,3]", 0);
    let (back, _) = restored(&text_with(&format!(r#"{{"*":{odd}}}"#)), at(0));
    assert_eq!(back.global().values(), [0.0, 10_000.0, 0.0]);
}

// P-26
#[test]
fn reads_at_most_32_books_of_an_endpoint() {
    let fine = book_of("40", "50", "0", "[1,1,1]", 0);
    let rows = crate::method::rows().iter();
    let names: Vec<_> = rows
        .map(|row| row.name)
        .filter(|name| *name != "*")
        .collect();
    let named = names[..40].iter().map(|name| format!(r#""{name}":{fine}"#));
    let named: Vec<_> = named.collect();
    let text = text_with(&format!(r#"{{{},"*":{fine}}}"#, named.join(",")));
    let (back, dropped) = restored(&text, at(0));
    assert_eq!((back.methods().count(), dropped), (31, 9));
    // The one over all methods is always among them.
    assert!(back.global().is_restored());
}

// P-25, P-26
#[test]
fn writes_no_more_than_it_reads() {
    let methods = crate::method::rows();
    let full = books(|books| {
        for row in methods {
            books.record_timeout(row.id, 86_400_000.0 / 3.0);
            books.record_success(row.id, 86_400_000.0 / 7.0);
        }
        books.record_success(id("eth_getTransactionReceipt"), 1.0);
    });
    let scores = Scores::of([("a", &full)], at(0));
    let of_a = &scores.books["a"];
    assert_eq!(of_a.len(), MOST_BOOKS);
    // The most used method before all others.
    assert!(of_a.contains_key("*") && of_a.contains_key("eth_getTransactionReceipt"));
    for (count, longest) in [(100, 3), (1_000, 40), (5_000, 100)] {
        let labels = (0..count).map(|n| format!("{n}{}", "\u{1}".repeat(longest)));
        let labels: Vec<_> = labels.collect();
        let text = Scores::of(labels.iter().map(|label| (&**label, &full)), at(0)).to_json();
        assert!(text.len() <= MOST_BYTES, "{count}: {}", text.len());
        assert!(text.len() > MOST_BYTES / 2, "{count}: {}", text.len());
        assert!(Scores::from_json(&text).is_ok());
    }
    // Each endpoint has its book over all methods before any has a second one.
    let labels: Vec<_> = (0..1_000).map(|n| n.to_string()).collect();
    let scores = Scores::of(labels.iter().map(|label| (&**label, &full)), at(0));
    assert_eq!(scores.books.len(), 1_000);
}

/// Whatever is stored, the books are legal, and two honest samples decide.
fn is_harmless(scores: &Scores, wall: SystemTime) -> Result<(), TestCaseError> {
    let place = |label: &str| (label.len() < 3).then_some(EndpointId(0));
    let (admitted, _) = scores.admitted(place, TIMEOUT, wall);
    for (_, method, book) in admitted {
        let [latency, tail, error] = book.values();
        prop_assert!((0.0..=10_000.0).contains(&latency) && (0.0..=10_000.0).contains(&tail));
        prop_assert!((0.0..=1.0).contains(&error));
        prop_assert!(book.weights().iter().all(|samples| *samples <= 2));
        let method_id = method.unwrap_or(id("eth_call"));
        let mut books = Books::new(BookSettings::default());
        let mut fresh = books.clone();
        books.restore(method, book);
        let blended = books.blend(method_id, &ScoreSettings::default());
        prop_assert!(blended.latency_ms.is_finite() && blended.tail_ms.is_finite());
        prop_assert_eq!(blended.samples, 0);
        // From any state, the first honest answer converges.
        books.record_success(method_id, 25.0);
        fresh.record_success(method_id, 25.0);
        let settings = ScoreSettings::default();
        prop_assert_eq!(
            books.blend(method_id, &settings),
            fresh.blend(method_id, &settings)
        );
    }
    Ok(())
}

fn any_number() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<f64>().prop_map(|n| n.to_string()),
        any::<i64>().prop_map(|n| n.to_string()),
        Just("1e999".to_owned()),
        Just("-0.0".to_owned()),
        Just("null".to_owned()),
    ]
}

fn any_book() -> impl Strategy<Value = String> {
    (
        any_number(),
        any_number(),
        any_number(),
        any::<[u32; 3]>(),
        prop_oneof![Just(1_700_000_000_000_u64), any::<u64>()],
    )
        .prop_map(|(latency, tail, error, samples, at)| {
            format!(
                r#"{{"latencyMs":{latency},"tailMs":{tail},"error":{error},"samples":{samples:?},"measuredAt":{at}}}"#
            )
        })
}

proptest! {
    // P-26: no bytes panic
    #[test]
    fn any_text_restores_to_something_legal(text in ".{0,200}", bytes in any::<Vec<u8>>()) {
        for text in [&*text, &*String::from_utf8_lossy(&bytes)] {
            if let Ok(scores) = Scores::from_json(text) {
                is_harmless(&scores, at(0))?;
            }
        }
    }

    // P-26
    #[test]
    fn any_books_restore_to_something_legal(
        books in prop::collection::vec((prop_oneof!["\\*", Just("eth_call".to_owned()), "[a-z_]{0,12}"], any_book()), 0..8),
        saved_at in prop_oneof![Just(1_700_000_000_000_u64), any::<u64>()],
        cut in any::<prop::sample::Index>(),
    ) {
        let members: Vec<_> = books.iter().map(|(name, book)| format!(r#""{name}":{book}"#)).collect();
        let text = format!(
            r#"{{"version":1,"savedAt":{saved_at},"books":{{"a":{{{}}}}}}}"#,
            members.join(",")
        );
        let scores = Scores::from_json(&text);
        prop_assert!(scores.is_ok());
        if let Ok(scores) = scores {
            is_harmless(&scores, at(0))?;
            // What is made of it can be read again.
            prop_assert!(Scores::from_json(&scores.to_json()).is_ok());
        }
        // Cut anywhere, as by a crash of somebody else's writer.
        let cut = cut.index(text.len());
        prop_assert!(Scores::from_json(&text[..cut]).is_err());
    }
}
