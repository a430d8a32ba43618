//! Options of a transport and of a call.

use crate::fake::{Fake, Reply, ms, pool, still};
use alloy_network::Ethereum;
use alloy_primitives::Address;
use alloy_provider::{Provider, ProviderCall};
use alloy_rpc_client::RpcClient;
use highwater::{CallOptions, Error, Pool, PoolCallExt};
use highwater_lab::sockets::{Answer, ScriptedNode};
use http::{HeaderValue, header};

fn within(time: std::time::Duration) -> CallOptions {
    CallOptions {
        deadline: Some(time),
        ..CallOptions::default()
    }
}

// L-2
#[tokio::test(start_paused = true)]
async fn a_transport_has_options_of_its_own_and_a_call_has_others() {
    let fake = Fake::new();
    fake.on("eth_gasPrice", Reply::result("\"0x1\"").after(ms(500)));
    let pool = pool(&[&fake], still());
    let hasty = RpcClient::new(pool.with(within(ms(100))), false);
    let error = hasty.request_noparams::<String>("eth_gasPrice");
    let error = error.await.unwrap_err();
    assert!(Error::from_transport(&error).is_some());
    let patient = hasty.request_noparams::<String>("eth_gasPrice");
    let patient = patient.pool(within(ms(2000)));
    assert_eq!(patient.await.unwrap(), "0x1");
}

// L-2
#[tokio::test(start_paused = true)]
async fn a_providers_call_takes_options_where_it_is_a_request() {
    let fake = Fake::new();
    fake.on("eth_getBalance", Reply::result("\"0x1\"").after(ms(500)));
    let provider = pool(&[&fake], still()).provider::<Ethereum>();
    let client = provider.client();
    let params = (Address::ZERO, "latest");
    let call = client.request::<_, String>("eth_getBalance", params);
    let call = ProviderCall::from(call);
    let call = call.pool(within(ms(100))).unwrap();
    call.await.unwrap_err();
    let ready: ProviderCall<(), u64> = ProviderCall::ready(Ok(1));
    assert!(ready.pool(within(ms(100))).is_err());
}

// L-2: a credential that is meant for one endpoint would be told to another one.
#[tokio::test]
async fn headers_of_a_request_reach_no_endpoint() {
    let node = ScriptedNode::start().await;
    node.on("eth_gasPrice").always(Answer::result("\"0x1\""));
    let pool = Pool::builder().chain(1).endpoint(node.url());
    let client = RpcClient::new(pool.build().unwrap().transport(), false);
    let call = client.request_noparams::<String>("eth_gasPrice");
    let call = call.map_meta(|mut meta| {
        let secret = HeaderValue::from_static("Bearer secret");
        meta.headers_mut().insert(header::AUTHORIZATION, secret);
        meta
    });
    assert_eq!(call.await.unwrap(), "0x1");
    let requests = node.record().requests();
    let asked = requests
        .iter()
        .find(|one| one.calls[0].method == "eth_gasPrice");
    assert!(asked.unwrap().http.header("content-type").is_some());
    assert!(
        requests
            .iter()
            .all(|one| one.http.header("authorization").is_none())
    );
}
