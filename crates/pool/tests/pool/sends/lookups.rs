//! Transactions whose fate is open: who is waited for, and who is asked after them.

use super::*;

// a look-up is a read; what brings no answer is asked of somebody else.
#[tokio::test(start_paused = true)]
async fn a_look_up_that_is_lost_is_made_at_somebody_else() {
    for lost in [
        Reply::reset(),
        Reply::refused(),
        Reply::error(-32601, "the method does not exist"),
        Reply::body(502, "bad gateway"),
    ] {
        let (a, b, c) = (Fake::new(), Fake::new(), Fake::new());
        a.on(SEND, Reply::reset());
        b.on(SEND, Reply::error(-32000, NONCE));
        c.on(LOOK_UP, lost);
        for fake in [&a, &b] {
            fake.on(LOOK_UP, stored());
        }
        let pool = tiered(&[&a, &b, &c], still());
        is_hash(send(&pool, failover()).await);
        assert_eq!(c.count(LOOK_UP), 1);
        assert_eq!(a.count(LOOK_UP) + b.count(LOOK_UP), 1);
        assert_eq!(c.count(SEND), 0);
    }
}

// once it can be reached again, within three seconds.
#[tokio::test(start_paused = true)]
async fn a_pool_of_one_is_looked_up_until_it_answers() {
    let a = Fake::new();
    a.on(SEND, Reply::reset());
    let mut asked = 0;
    a.answer(LOOK_UP, move |_| {
        asked += 1;
        if asked < 3 { Reply::reset() } else { stored() }
    });
    let pool = tiered(&[&a], still());
    let start = Instant::now();
    is_hash(send(&pool, failover()).await);
    assert!(start.elapsed() < s(1), "{:?}", start.elapsed());
    assert_eq!((a.count(SEND), a.count(LOOK_UP)), (1, 3));
}

// a lost request goes on to an endpoint that was dead, as soon as it may be asked.
#[tokio::test(start_paused = true)]
async fn an_open_send_waits_for_whoever_was_ejected() {
    for (sends, reached) in [(failover(), 1), (once(), 0)] {
        let (a, b) = two();
        let mut settings = still();
        settings.breaker.cooldown = ms(500);
        let pool = tiered(&[&b, &a], settings);
        a.on("eth_gasPrice", Reply::result("\"0x1\""));
        b.everything(Some(Reply::refused()));
        for _ in 0..3 {
            call(&pool, "eth_gasPrice", "[]", once()).await.unwrap();
        }
        b.everything(None);
        a.on(SEND, Reply::reset());
        b.on(SEND, accepted());
        let start = Instant::now();
        let ended = send(&pool, sends).await;
        assert_eq!(sent([&a, &b]), [1, reached]);
        if reached == 1 {
            is_hash(ended);
            assert_eq!(start.elapsed().as_millis() / 100, 5);
        } else {
            is_ambiguous(ended);
        }
        assert_eq!(a.count(LOOK_UP) + b.count(LOOK_UP), 0);
    }
}
