//! Batches: each member is a call of its own (L-2).

use crate::fake::{Fake, Reply, pool, still, tiered};
use alloy_json_rpc::{Id, Request, RequestPacket, ResponsePacket, SerializedRequest};
use alloy_transport::TransportError;
use highwater::{Error, Pool, core::settings::Settings};
use tower_service::Service;

fn request(id: u64, method: &'static str) -> SerializedRequest {
    let params = ("0x00000000000000000000000000000000000000aa", "latest");
    Request::new(method, Id::Number(id), params)
        .serialize()
        .unwrap()
}

async fn send(pool: &Pool, packet: RequestPacket) -> Result<ResponsePacket, TransportError> {
    pool.transport().call(packet).await
}

fn texts(packet: &ResponsePacket) -> Vec<(Id, String)> {
    let responses = packet.as_batch().unwrap().iter();
    let text = |response: &alloy_json_rpc::Response| match &response.payload {
        alloy_json_rpc::ResponsePayload::Success(result) => result.get().to_owned(),
        alloy_json_rpc::ResponsePayload::Failure(error) => {
            format!("{} {}", error.code, error.message)
        }
    };
    responses.map(|one| (one.id.clone(), text(one))).collect()
}

// L-2
#[tokio::test(start_paused = true)]
async fn members_are_served_by_whoever_can_and_come_back_in_order() {
    let (first, second) = (Fake::new(), Fake::new());
    first.on("eth_getBalance", Reply::result("\"0x1\""));
    first.on("eth_getCode", Reply::reset());
    second.on("eth_getBalance", Reply::result("\"0x1\""));
    second.on("eth_getCode", Reply::result("\"0xfe\""));
    let revert = Reply::error(3, "execution reverted");
    first.on("eth_call", revert.clone());
    second.on("eth_call", revert);
    let pool = tiered(&[&first, &second], still());
    let methods = ["eth_getCode", "eth_getBalance", "eth_call"];
    let batch = methods
        .into_iter()
        .zip([9, 5, 7])
        .map(|(m, id)| request(id, m));
    let answered = send(&pool, batch.collect()).await.unwrap();
    assert_eq!(
        texts(&answered),
        [
            (Id::Number(9), "\"0xfe\"".into()),
            (Id::Number(5), "\"0x1\"".into()),
            (Id::Number(7), "3 execution reverted".into()),
        ]
    );
}

// L-2, P-10, P-11
#[tokio::test(start_paused = true)]
async fn members_share_requests_and_are_answered_from_memory() {
    let fake = Fake::new();
    fake.on("eth_getBalance", Reply::result("\"0x1\""));
    let settings = Settings {
        probe: None,
        race: 0,
        ..Settings::default()
    };
    let pool = pool(&[&fake], settings);
    // A head is known, so the reads can be pinned to it.
    crate::bench::call(&pool, "eth_blockNumber", "[]")
        .await
        .unwrap();
    let batch = || (0..5).map(|id| request(id, "eth_getBalance")).collect();
    for _ in 0..2 {
        let answered = send(&pool, batch()).await.unwrap();
        assert_eq!(texts(&answered).len(), 5);
    }
    assert_eq!(fake.count("eth_getBalance"), 1);
}

// L-2
#[tokio::test(start_paused = true)]
async fn a_batch_of_one_stays_a_batch_and_one_of_none_too() {
    let fake = Fake::new();
    fake.on("eth_getBalance", Reply::result("\"0x1\""));
    let pool = pool(&[&fake], still());
    let one = RequestPacket::Batch(vec![request(1, "eth_getBalance")]);
    let answered = send(&pool, one).await.unwrap();
    assert_eq!(texts(&answered), [(Id::Number(1), "\"0x1\"".into())]);
    let none = send(&pool, RequestPacket::Batch(vec![])).await.unwrap();
    assert_eq!(texts(&none), []);
}

// L-2
#[tokio::test(start_paused = true)]
async fn what_nobody_answered_is_its_members_error_unless_nothing_was_answered() {
    let fake = Fake::new();
    fake.on("eth_getBalance", Reply::result("\"0x1\""));
    fake.on("eth_getCode", Reply::reset());
    let pool = pool(&[&fake], still());
    let batch = ["eth_getCode", "eth_getBalance"];
    let batch = (1..).zip(batch).map(|(id, method)| request(id, method));
    let answered = send(&pool, batch.collect()).await.unwrap();
    assert_eq!(
        texts(&answered),
        [
            (
                Id::Number(1),
                "-32011 all endpoints failed: a internal, a internal, a internal".into()
            ),
            (Id::Number(2), "\"0x1\"".into()),
        ]
    );
    let batch = (1..3).map(|id| request(id, "eth_getCode"));
    let error = send(&pool, batch.collect()).await.unwrap_err();
    assert!(matches!(
        Error::from_transport(&error),
        Some(Error::AllEndpointsFailed { .. })
    ));
}
