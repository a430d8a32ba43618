//! What was sent lately.

use super::*;

// R-35, design/wire: some clients send again by themselves.
#[tokio::test(start_paused = true)]
async fn bytes_that_come_again_within_ten_minutes_and_are_known_are_sent() {
    let a = Fake::new();
    a.on(SEND, Reply::hang());
    let pool = tiered(&[&a], still());
    is_ambiguous(send(&pool, once()).await);
    a.on(SEND, known());
    tokio::time::sleep(s(590)).await;
    is_hash(send(&pool, once()).await);
    // It is remembered from the last time.
    tokio::time::sleep(s(590)).await;
    is_hash(send(&pool, once()).await);
    tokio::time::sleep(s(601)).await;
    assert!(text(send(&pool, once()).await).contains("already known"));
}

// what was proven unsent was not sent by us.
#[tokio::test(start_paused = true)]
async fn bytes_that_never_left_do_not_count_as_sent_before() {
    let a = Fake::new();
    a.on(SEND, Reply::refused());
    let mut settings = still();
    settings.retry.count = RetryCount::Times(0);
    let pool = tiered(&[&a], settings);
    let error = send(&pool, once()).await.unwrap_err();
    assert!(matches!(error, Error::AllEndpointsFailed { .. }), "{error}");
    a.on(SEND, known());
    assert!(text(send(&pool, once()).await).contains("already known"));
}

// two at the same time, in one batch say.
#[tokio::test(start_paused = true)]
async fn the_same_bytes_twice_at_once_are_sent_once_for_both() {
    let a = Fake::new();
    let mut first = true;
    a.answer(SEND, move |_| {
        if std::mem::take(&mut first) {
            accepted().after(ms(50))
        } else {
            known()
        }
    });
    let pool = tiered(&[&a], still());
    let (one, other) = tokio::join!(send(&pool, once()), send(&pool, once()));
    is_hash(one);
    is_hash(other);
}

// the caller leaves, and comes back.
#[tokio::test(start_paused = true)]
async fn a_send_that_was_given_up_counts_as_sent() {
    let a = Fake::new();
    a.on(SEND, Reply::hang());
    let pool = tiered(&[&a], still());
    let given_up = tokio::time::timeout(ms(100), send(&pool, once())).await;
    assert!(given_up.is_err());
    assert_eq!(a.open(), 0);
    a.on(SEND, known());
    is_hash(send(&pool, once()).await);
}
