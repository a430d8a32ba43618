//! Bounds on what goes on at once.

use crate::site::{Client, Site, balance};
use futures_util::future::select_all;
use highwater_lab::sockets::{Answer, Gate};

#[tokio::test]
async fn past_the_calls_in_flight_the_answer_is_a_quick_429_with_a_way_back() {
    let mut site = Site::with(|s| s.server.max_in_flight = 2).await;
    let gate = Gate::new();
    site.node
        .on("eth_getBalance")
        .always(Answer::result("1").held_by(&gate));
    let mut busy = Vec::new();
    for id in 0..2 {
        let mut client = site.client().await;
        let request = client.request("POST", "/", &[], balance(id).as_bytes());
        client.send(request).await;
        busy.push(client);
    }
    gate.wait_for_held(2).await;
    site.heard();
    let response = site.post(&balance(7)).await;
    assert_eq!(response.row(), (429, -32005));
    assert_eq!(response.header("retry-after"), Some("01"));
    let answer = response.json();
    assert_eq!(answer["id"], 7);
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("rate limit exceeded")
    );
    assert_eq!(answer["error"]["data"]["retryAfterMs"], 1000);
    let response = site.post(&format!("[{},{}]", balance(1), balance(2))).await;
    assert_eq!(response.status, 429);
    let codes: Vec<_> = response
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|a| a["error"]["code"].clone())
        .collect();
    assert_eq!(codes, [-32005, -32005]);
    site.heard_nothing();
    gate.open();
    for mut client in busy {
        assert_eq!(client.response().await.status, 200);
    }
    // The places are free again.
    assert_eq!(site.post(&balance(1)).await.status, 200);
}

// hardening A8
#[tokio::test]
async fn connections_past_the_bound_are_closed_and_others_served_on() {
    let site = Site::with(|s| s.server.max_connections = 3).await;
    let mut kept = Vec::new();
    for _ in 0..3 {
        let mut client = site.client().await;
        assert_eq!(client.get("/healthz").await.status, 200);
        kept.push(client);
    }
    for _ in 0..10 {
        assert!(site.client().await.is_closed().await);
    }
    for client in &mut kept {
        assert_eq!(client.get("/healthz").await.status, 200);
    }
    // A place that is given up is taken by somebody else. Its release is seen by trying.
    kept.pop();
    loop {
        let mut client = Client::connect(site.gateway.addr).await;
        let request = client.request("GET", "/healthz", &[], b"");
        client.send(request).await;
        if client.try_response().await.is_some_and(|r| r.status == 200) {
            break;
        }
    }
}

// hardening T12, A7
#[tokio::test]
async fn large_bodies_have_a_bound_together_and_small_ones_are_served_past_it() {
    const LARGEST: usize = 100_000;
    let mut site = Site::with(|s| s.server.max_body = LARGEST).await;
    // All but the last byte of more bodies than there is room for: 16, and what is not counted.
    let mut senders = Vec::new();
    for _ in 0..25 {
        let mut client = site.client().await;
        let head =
            format!("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {LARGEST}\r\n\r\n");
        client.send(head).await;
        client.send(vec![b' '; LARGEST - 1]).await;
        senders.push(client);
    }
    let responses = senders.iter_mut().map(|client| Box::pin(client.response()));
    let (refused, at, _) = select_all(responses).await;
    assert_eq!(refused.row(), (429, -32005));
    assert_eq!(refused.header("retry-after"), Some("01"));
    assert!(senders[at].is_closed().await);
    assert_eq!(site.post(&balance(1)).await.status, 200);
    assert_eq!(site.heard(), 1);
    // What the others held is free once they have gone; that is seen by trying.
    drop(senders);
    let padded = format!("{}{}", " ".repeat(LARGEST - 1000), balance(2));
    while site.post(&padded).await.status != 200 {}
    assert_eq!(site.heard(), 1);
}
