//! What only private endpoints may see.

use super::*;

fn with_private(fakes: &[&Fake], private: &[bool]) -> Pool {
    let profiles = private.iter().zip(0..).map(|(&private, tier)| Profile {
        tier,
        private,
        ..Profile::default()
    });
    let profiles = profiles.collect();
    with_profiles(fakes, profiles, still()).build().unwrap()
}

// R-36, scenario W10
#[tokio::test(start_paused = true)]
async fn w10_private_stays_private() {
    for method in ["eth_sendPrivateTransaction", "eth_sendBundle"] {
        let (a, b) = two();
        a.everything(Some(Reply::refused()));
        b.on(method, accepted());
        let pool = with_private(&[&a, &b], &[true, false]);
        call(&pool, method, "[{}]", failover()).await.unwrap_err();
        assert_eq!(b.sent(), 0);
        // Without a private endpoint there is nobody to ask.
        let open = with_private(&[&b], &[false]);
        let error = call(&open, method, "[{}]", failover()).await.unwrap_err();
        assert_eq!(error, Error::NoEndpoint);
        assert_eq!(b.sent(), 0);
    }
}

// scenario W10: all sends, where that is wanted; their look-ups too.
#[tokio::test(start_paused = true)]
async fn a_private_send_never_leaves_the_private_endpoints() {
    let private = Sends {
        private: true,
        ..failover()
    };
    let (public, a, b) = (Fake::new(), Fake::new(), Fake::new());
    public.on(SEND, accepted());
    a.on(SEND, Reply::reset());
    b.on(SEND, Reply::error(-32603, "Internal error"));
    b.on(LOOK_UP, Reply::result("null"));
    a.on(LOOK_UP, Reply::result("null"));
    let pool = with_private(&[&public, &a, &b], &[false, true, true]);
    is_ambiguous(send(&pool, private).await);
    assert_eq!(public.sent(), 0);
    assert_eq!(sent([&a, &b]), [1, 1]);
    // A public one does not go there while there is another way.
    is_hash(send(&pool, failover()).await);
    assert_eq!(sent([&a, &b]), [1, 1]);
}
