//! Several endpoints at once.

use super::*;

// R-35, scenario W16
#[tokio::test(start_paused = true)]
async fn w16_a_broadcast_asks_each_once_and_takes_the_first_success() {
    for warm in [true, false] {
        let (a, b, c) = (Fake::new(), Fake::new(), Fake::new());
        a.on(SEND, known());
        b.on(SEND, accepted().after(ms(20)));
        c.on(SEND, Reply::refused());
        let pool = pool(&[&a, &b, &c], still());
        if warm {
            pool.check_all(s(1)).await;
        }
        is_hash(send(&pool, broadcast(3)).await);
        let asked = [&a, &b, &c].map(|fake| fake.count(SEND));
        assert_eq!(asked, [1, 1, 1], "warm: {warm}");
    }
}

// R-35, scenario W17
#[tokio::test(start_paused = true)]
async fn w17_a_broadcast_that_only_meets_known_ones_ends_as_it_came() {
    let (a, b) = two();
    a.on(SEND, known());
    b.on(SEND, known());
    let pool = pool(&[&a, &b], still());
    assert!(text(send(&pool, broadcast(2)).await).contains("already known"));
    assert_eq!(sent([&a, &b]), [1, 1]);
}

// a broadcast runs on after its first success.
#[tokio::test(start_paused = true)]
async fn the_slower_endpoints_of_a_broadcast_get_their_bytes_too() {
    let (a, b) = two();
    a.on(SEND, accepted());
    b.on(SEND, accepted().after(s(2)));
    let pool = pool(&[&a, &b], still());
    pool.check_all(s(1)).await;
    is_hash(send(&pool, broadcast(2)).await);
    assert_eq!((sent([&a, &b]), b.open()), ([1, 1], 1));
    tokio::time::sleep(s(3)).await;
    assert_eq!(b.open(), 0);
    let good: u64 = pool
        .snapshot()
        .endpoints
        .iter()
        .map(|e| e.counters.good)
        .sum();
    assert_eq!(good, 4);
}
