//! Several scripted nodes of one chain behind one gateway.

use crate::site::{Client, Response, balance, settings};
use highwater_core::settings::RetryCount;
use highwater_gateway::{
    Gateway, Running, Settings,
    config::{ChainSettings, EndpointSettings},
};
use highwater_lab::sockets::{Answer, ScriptedNode};
use serde_json::Value;
use std::net::SocketAddr;

/// A weight that makes a node the first choice, whatever its latency.
pub(crate) const HEAVY: f64 = 1e6;

/// A gateway with an admin listener before some nodes, all of one chain.
pub(crate) struct Fleet<const N: usize> {
    pub(crate) nodes: [ScriptedNode; N],
    pub(crate) gateway: Running,
}

impl<const N: usize> Fleet<N> {
    /// Starts with changed settings of the chain.
    pub(crate) async fn with(change: impl FnOnce(&mut ChainSettings)) -> Self {
        Self::with_settings(|settings| change(&mut settings.chains[0])).await
    }

    pub(crate) async fn with_settings(change: impl FnOnce(&mut Settings)) -> Self {
        let mut nodes = Vec::new();
        for _ in 0..N {
            nodes.push(ScriptedNode::start().await);
        }
        let urls: Vec<String> = nodes.iter().map(ScriptedNode::url).collect();
        let mut settings = settings(&[("ethereum", Some(1), &urls)]);
        settings.admin.listen = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
        change(&mut settings);
        let gateway = Gateway::start(settings).await.unwrap();
        let nodes = nodes.try_into().unwrap_or_else(|_| unreachable!());
        Self { nodes, gateway }
    }

    pub(crate) async fn post(&self, body: &str) -> Response {
        let mut client = Client::connect(self.gateway.addr).await;
        client.post("/ethereum", &[], body.as_bytes()).await
    }

    /// One call of `eth_getBalance`.
    pub(crate) async fn balance(&self) -> Response {
        self.post(&balance(1)).await
    }

    /// Some calls of `eth_getBalance`, all answered.
    pub(crate) async fn balances(&self, count: usize) {
        for _ in 0..count {
            let answer = self.balance().await;
            assert!(answer.json().get("error").is_none(), "{}", answer.text());
        }
    }

    /// How many calls of a method each node got.
    pub(crate) fn counts(&self, method: &str) -> [usize; N] {
        let mut nodes = self.nodes.iter();
        std::array::from_fn(|_| nodes.next().map_or(0, |node| node.record().count(method)))
    }

    /// How many calls of `eth_getBalance` each node got.
    pub(crate) fn heard(&self) -> [usize; N] {
        self.counts("eth_getBalance")
    }

    /// What the admin listener says.
    pub(crate) async fn admin(&self, target: &str) -> Value {
        let mut client = Client::connect(self.gateway.admin_addr.unwrap()).await;
        let response = client.get(target).await;
        assert_eq!(response.status, 200, "{target}: {}", response.text());
        response.json()
    }

    /// Everything about an endpoint.
    pub(crate) async fn endpoint(&self, at: usize) -> Value {
        self.admin("/api/endpoints").await["chains"][0]["endpoints"][at].clone()
    }

    /// What a call of a method would meet.
    pub(crate) async fn explain(&self, method: &str) -> Value {
        self.admin(&format!("/api/explain?method={method}")).await["now"].clone()
    }
}

/// Makes an endpoint the first choice.
pub(crate) fn prefer(endpoint: &mut EndpointSettings) {
    endpoint.weight = HEAVY;
}

/// So many attempts after the first.
pub(crate) const fn retries(chain: &mut ChainSettings, count: u16) {
    chain.engine.retry.count = RetryCount::Times(count);
}

/// An answer that is the endpoint's fault.
pub(crate) fn fault() -> Answer {
    Answer::body(500, "")
}
