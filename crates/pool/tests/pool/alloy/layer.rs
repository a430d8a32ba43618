//! The pool before another transport.

use crate::fake::{Fake, Reply, pool, still};
use alloy_json_rpc::{RequestPacket, Response, ResponsePacket, ResponsePayload};
use alloy_rpc_client::ClientBuilder;
use alloy_transport::{TransportError, TransportFut};
use serde_json::value::RawValue;
use std::{
    sync::{Arc, Mutex},
    task::{Context, Poll},
};
use tower_service::Service;

/// Answers everything, and remembers the methods.
#[derive(Clone, Default)]
struct Below(Arc<Mutex<Vec<String>>>);

impl Service<RequestPacket> for Below {
    type Response = ResponsePacket;
    type Error = TransportError;
    type Future = TransportFut<'static>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, packet: RequestPacket) -> TransportFut<'static> {
        let one = packet.as_single().unwrap();
        self.0.lock().unwrap().push(one.method().to_owned());
        let response = Response {
            id: one.id().clone(),
            payload: ResponsePayload::Success(RawValue::from_string("\"0x5\"".into()).unwrap()),
        };
        Box::pin(std::future::ready(Ok(ResponsePacket::Single(response))))
    }
}

// L-2
#[tokio::test(start_paused = true)]
async fn subscriptions_go_below_and_all_else_to_the_pool() {
    let fake = Fake::new();
    fake.on("eth_gasPrice", Reply::result("\"0x7\""));
    let pool = pool(&[&fake], still());
    let below = Below::default();
    let client = ClientBuilder::default()
        .layer(pool.layer())
        .transport(below.clone(), true);
    let price = client.request_noparams::<String>("eth_gasPrice");
    assert_eq!(price.await.unwrap(), "0x7");
    let id = client.request::<_, String>("eth_subscribe", ("newHeads",));
    assert_eq!(id.await.unwrap(), "0x5");
    let mut batch = client.new_batch();
    let price = batch.add_call::<_, String>("eth_gasPrice", &()).unwrap();
    let gone = batch.add_call::<_, String>("eth_unsubscribe", &("0x5",));
    batch.await.unwrap();
    assert_eq!(price.await.unwrap(), "0x7");
    assert_eq!(gone.unwrap().await.unwrap(), "0x5");
    assert_eq!(
        *below.0.lock().unwrap(),
        ["eth_subscribe", "eth_unsubscribe"]
    );
    assert_eq!(fake.count("eth_gasPrice"), 2);
}
