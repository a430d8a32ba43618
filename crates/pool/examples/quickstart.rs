//! Two endpoints as one: one of them is down, and the call is answered all the same.
//!
//! `cargo run -p highwater --example quickstart` needs no network: the endpoints are the lab's.

use highwater::{
    CallOptions, Payload, Pool, Request,
    core::{jsonrpc::Params, method},
};
use highwater_lab::sockets::{Answer, ScriptedNode};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (down, up) = (ScriptedNode::start().await, ScriptedNode::start().await);
    down.on("eth_gasPrice").always(Answer::close());
    up.on("eth_gasPrice")
        .always(Answer::result("\"0x3b9aca00\""));

    // In a program of yours the URLs are those of your endpoints.
    let pool = Pool::builder()
        .chain("ethereum")
        .endpoint(down.url())
        .endpoint(up.url())
        .build()?;
    let request = Request {
        method: "eth_gasPrice",
        descriptor: method::lookup("eth_gasPrice"),
        params: Params::Array("[]"),
    };
    let answer = pool.request(request, CallOptions::default()).await?;
    match answer.payload() {
        Payload::Result(price) => println!("{} says {price}", answer.endpoint()),
        Payload::Error(error) => println!("{} refuses: {error}", answer.endpoint()),
    }
    assert_eq!(answer.payload(), Payload::Result("\"0x3b9aca00\""));
    pool.close();
    Ok(())
}
