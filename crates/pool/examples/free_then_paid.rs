//! Free endpoints within their limits first, a paid one where they cannot serve.
//!
//! `cargo run -p highwater --example free_then_paid`

use alloy_provider::Provider;
use highwater::{
    Endpoint, Pool, SecretUrl,
    core::{
        bucket::{Account, Budget, Rate},
        router::Profile,
        settings::{ReadSettings, Settings},
    },
};
use highwater_lab::sockets::{Answer, ScriptedNode};
use std::sync::Arc;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (free, paid) = (ScriptedNode::start().await, ScriptedNode::start().await);
    for node in [&free, &paid] {
        node.on("eth_gasPrice").always(Answer::result("\"0x1\""));
    }
    // Five requests at once, the chain check among them, and then one in a hundred seconds.
    let budget = Budget {
        rate: Some(Rate {
            rps: 0.01,
            burst: 5.0,
        }),
        ..Budget::default()
    };
    let first = Profile {
        tier: 0,
        account: Arc::new(Account::new("free", &budget)),
        ..Profile::default()
    };
    let second = Profile {
        tier: 1,
        ..Profile::default()
    };
    let endpoint = |node: &ScriptedNode, label: &str, profile| {
        let url = SecretUrl::parse(&node.url())?;
        Ok::<_, String>(Endpoint::url(url).label(label).profile(profile))
    };
    let pool = Pool::builder()
        .chain(1)
        .endpoint(endpoint(&free, "free", first)?)
        .endpoint(endpoint(&paid, "paid", second)?)
        // Answers from memory would hide who is asked.
        .settings(Settings {
            probe: None,
            reads: ReadSettings::off(),
            ..Settings::default()
        })
        .build()?;
    let provider = pool.provider::<alloy_network::Ethereum>();
    for _ in 0..10 {
        provider.get_gas_price().await?;
    }
    let asked = |node: &ScriptedNode| node.record().count("eth_gasPrice");
    println!("free {}, paid {}", asked(&free), asked(&paid));
    assert_eq!((asked(&free), asked(&paid)), (4, 6));
    Ok(())
}
