//! What listeners and snapshots are told of operations (L-5, L-7).

use super::numbered;
use crate::fake::{Reply, builder, ms, still};
use alloy_provider::Provider;
use highwater::{Event, OperationOptions};
use std::sync::{Mutex, mpsc};

// L-5, L-7
#[tokio::test(start_paused = true)]
async fn requests_and_switches_are_told_by_label_and_host() {
    let fakes = numbered(2);
    fakes[0].on("eth_gasPrice", Reply::reset());
    let (told, heard) = mpsc::channel();
    let told = Mutex::new(told);
    let listed: Vec<_> = fakes.iter().collect();
    let pool = builder(&listed, still())
        .on_event(move |event| drop(told.lock().unwrap().send(event.clone())))
        .build()
        .unwrap();
    let got = pool.execute_with_retry(OperationOptions::default(), async |provider| {
        provider.get_gas_price().await
    });
    got.await.unwrap();
    pool.close();
    let events: Vec<_> = heard.iter().collect();
    let requests = events.iter().filter_map(|event| match event {
        Event::Request {
            endpoint, method, ..
        } => Some((endpoint.label.to_string(), *method)),
        _ => None,
    });
    let requests: Vec<_> = requests.collect();
    let expected = [
        ("a".to_owned(), "eth_gasPrice"),
        ("b".to_owned(), "eth_gasPrice"),
    ];
    assert_eq!(requests, expected);
    let switches = events.iter().filter_map(|event| match event {
        Event::OperationSwitch { from, to, .. } => {
            Some((from.label.to_string(), to.label.to_string()))
        }
        _ => None,
    });
    let switches: Vec<_> = switches.collect();
    assert_eq!(switches, [("a".to_owned(), "b".to_owned())]);
}

// L-5
#[tokio::test(start_paused = true)]
async fn a_snapshot_counts_operations_under_way_and_their_requests() {
    let fakes = numbered(1);
    fakes[0].on("eth_gasPrice", Reply::result("\"0x1\"").after(ms(50)));
    let pool = super::pool(&fakes);
    let run = pool.execute_with_retry(OperationOptions::default(), async |provider| {
        provider.get_gas_price().await?;
        let endpoint = pool.snapshot().endpoints.remove(0);
        assert_eq!((endpoint.operations, endpoint.in_flight), (1, 0));
        provider.get_gas_price().await
    });
    run.await.unwrap();
    let endpoint = pool.snapshot().endpoints.remove(0);
    assert_eq!((endpoint.operations, endpoint.in_flight), (0, 0));
    assert_eq!(endpoint.counters.methods["eth_gasPrice"].good, 2);
}
