//! Going down.

use crate::site::{Client, Site, balance};
use highwater_lab::sockets::{Answer, Gate};
use std::time::Duration;

/// Asks until the answer is this one; every question is a real request.
async fn until_ready_says(site: &Site, status: u16) {
    while site.client().await.get("/readyz").await.status != status {}
}

// hardening H1, H18
#[tokio::test]
async fn during_the_delay_calls_are_served_and_readiness_says_no() {
    let site = Site::with(|s| s.server.drain_delay = Duration::from_secs(3600)).await;
    let mut kept = site.client().await;
    assert_eq!(
        kept.post("/", &[], balance(1).as_bytes())
            .await
            .header("connection"),
        None
    );
    site.gateway.drain();
    until_ready_says(&site, 503).await;
    assert_eq!(site.client().await.get("/healthz").await.status, 200);
    // On a kept connection and on a new one.
    let response = kept.post("/", &[], balance(2).as_bytes()).await;
    assert_eq!(
        (response.status, response.header("connection")),
        (200, Some("close"))
    );
    assert!(kept.is_closed().await);
    let response = site.post(&balance(3)).await;
    assert_eq!(
        (response.status, response.header("connection")),
        (200, Some("close"))
    );
}

// hardening H1
#[tokio::test]
async fn what_is_in_flight_is_finished_and_what_comes_later_is_503() {
    let mut site = Site::new().await;
    let gate = Gate::new();
    site.node
        .on("eth_getBalance")
        .always(Answer::result("1").held_by(&gate));
    let mut busy = site.client().await;
    let request = busy.request("POST", "/", &[], balance(1).as_bytes());
    busy.send(request).await;
    gate.wait_for_held(1).await;
    let mut kept = Vec::new();
    for _ in 0..2 {
        let mut client = site.client().await;
        client.get("/healthz").await;
        kept.push(client);
    }
    let addr = site.gateway.addr;
    site.gateway.drain();
    // The listeners are closed once a connection is refused.
    while tokio::net::TcpStream::connect(addr).await.is_ok() {}
    site.heard();
    let call = format!("[{},{}]", balance(5), balance(6));
    let response = kept[0].post("/", &[], balance(5).as_bytes()).await;
    assert_eq!(response.row(), (503, -32011));
    assert_eq!(response.json()["id"], 5);
    assert_eq!(response.header("connection"), Some("close"));
    let response = kept[1].post("/", &[], call.as_bytes()).await;
    assert_eq!(
        (response.status, response.json().as_array().unwrap().len()),
        (503, 2)
    );
    site.heard_nothing();
    gate.open();
    let response = busy.response().await;
    assert_eq!(
        (response.status, response.json()["result"].clone()),
        (200, 1.into())
    );
    site.gateway.ended().await;
}

// hardening H1
#[tokio::test]
async fn every_call_that_reached_an_endpoint_is_answered_under_load() {
    let mut site = Site::new().await;
    let addr = site.gateway.addr;
    let clients = (0..20).map(|n| {
        tokio::spawn(async move {
            let mut answered = 0;
            loop {
                let Some(mut client) = Client::try_connect(addr).await else {
                    return answered;
                };
                let request = client.request("POST", "/", &[], balance(n).as_bytes());
                client.send(request).await;
                // A connection that the kernel made and nobody accepted any more ends without a
                // byte; one that was accepted ends with an answer.
                match client.try_response().await {
                    Some(response) if response.status == 200 => answered += 1,
                    Some(response) => assert_eq!(response.row(), (503, -32011)),
                    None => {}
                }
            }
        })
    });
    let clients: Vec<_> = clients.collect();
    site.node
        .record()
        .wait_for_calls("eth_getBalance", 200)
        .await;
    site.gateway.drain();
    site.gateway.ended().await;
    let mut answered = 0;
    for client in clients {
        answered += client.await.unwrap();
    }
    assert_eq!(answered, site.node.record().count("eth_getBalance"));
}

// hardening H1: only the change of phase wakes the connection here; its watchdog sleeps half an hour.
#[tokio::test]
async fn idle_connections_end_with_the_drain_and_hold_nothing_up() {
    let mut site = Site::with(|s| {
        s.server.header_timeout = Duration::from_secs(3600);
        s.server.drain_timeout = Duration::from_secs(3600);
    })
    .await;
    let mut idle = site.client().await;
    let response = idle.post("/", &[], balance(1).as_bytes()).await;
    assert_eq!(response.status, 200);
    site.gateway.drain();
    site.gateway.ended().await;
    assert!(idle.is_closed().await);
}

// hardening H1
#[tokio::test]
async fn a_call_that_outlives_the_drain_timeout_is_cut_off() {
    let mut site = Site::with(|s| s.server.drain_timeout = Duration::from_millis(50)).await;
    let gate = Gate::new();
    site.node.on("eth_getBalance").always(Answer::hang(&gate));
    let mut busy = site.client().await;
    let request = busy.request("POST", "/", &[], balance(1).as_bytes());
    busy.send(request).await;
    gate.wait_for_held(1).await;
    site.gateway.drain();
    site.gateway.ended().await;
    assert!(busy.is_closed().await);
}
