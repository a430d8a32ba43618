//! A client that signs a transaction, knows its hash, and sends it: the same of four libraries.

use alloy::{
    eips::eip2718::Encodable2718,
    network::TransactionBuilder,
    primitives::{Address, U256},
    providers::{Provider, ProviderBuilder, SendableTx},
    rpc::types::TransactionRequest,
    signers::local::PrivateKeySigner,
    transports::TransportError,
};
use highwater_compat::{CHAIN_ID, Client, KEY, Library};
use serde_json::{Value, json};
use std::{future::Future, pin::Pin};
use tokio::runtime::Runtime;

/// What a client knows of a transaction that it sent.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    /// The hash, computed by the client itself.
    pub(crate) hash: String,
    pub(crate) told: Told,
}

/// What a client was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// That it was sent, with this hash.
    Hash(String),
    /// That it may have been sent, with this hash.
    Ambiguous(String),
    /// Anything else.
    Failure(String),
}

type Pending<'a> = Pin<Box<dyn Future<Output = Sent> + 'a>>;

pub(crate) enum Sender {
    Program {
        client: Client,
        url: String,
    },
    Alloy {
        runtime: Runtime,
        send: Box<dyn Fn(TransactionRequest) -> Pending<'static>>,
    },
}

impl Sender {
    /// A program written with a library, without the library's retries.
    pub(crate) fn program(library: Library, url: String) -> Self {
        let client = Client::start(library);
        Self::Program { client, url }
    }

    /// alloy, which counts the account's transactions itself.
    pub(crate) fn alloy(url: &str) -> Self {
        let key: PrivateKeySigner = KEY.parse().expect("a key");
        let url = url.parse().expect("a URL");
        let provider = ProviderBuilder::new().wallet(key).connect_http(url);
        let send = move |request| -> Pending<'static> {
            let provider = provider.clone();
            Box::pin(async move {
                let filled = provider.fill(request).await.expect("filled");
                let SendableTx::Envelope(signed) = filled else {
                    panic!("{filled:?} is not signed");
                };
                let sent = provider.send_raw_transaction(&signed.encoded_2718()).await;
                Sent {
                    hash: signed.tx_hash().to_string(),
                    told: match sent {
                        Ok(sent) => Told::Hash(sent.tx_hash().to_string()),
                        Err(error) => Told::of_alloy(&error),
                    },
                }
            })
        };
        Self::Alloy {
            runtime: Runtime::new().expect("a runtime"),
            send: Box::new(send),
        }
    }

    /// Signs and sends a transfer from the first account.
    pub(crate) fn transfer(&mut self, to: &str, value: u64) -> Sent {
        match self {
            Self::Program { client, url } => {
                let answer = client.ask(&json!({
                    "op": "transfer", "url": url, "chain": CHAIN_ID, "retries": false,
                    "key": KEY, "to": to, "value": value,
                }));
                let answer = answer.unwrap_or_else(|error| panic!("transfer {value}: {error:?}"));
                Sent {
                    hash: text(&answer["hash"]),
                    told: Told::of_program(&answer["sent"]),
                }
            }
            Self::Alloy { runtime, send } => {
                let to: Address = to.parse().expect("an address");
                let request = TransactionRequest::default()
                    .with_to(to)
                    .with_value(U256::from(value));
                runtime.block_on(send(request))
            }
        }
    }
}

impl Told {
    fn of_program(sent: &Value) -> Self {
        let error = &sent["error"];
        match (&sent["ok"], &error["ambiguous"]) {
            (Value::String(hash), _) => Self::Hash(hash.clone()),
            (_, Value::String(hash)) => Self::Ambiguous(hash.clone()),
            (_, _) => Self::Failure(error.to_string()),
        }
    }

    fn of_alloy(error: &TransportError) -> Self {
        let answered = error.as_error_resp();
        let data = answered.and_then(|payload| payload.try_data_as::<Value>()?.ok());
        match data {
            Some(data) if data["reason"] == "ambiguous" => Self::Ambiguous(text(&data["hash"])),
            Some(_) | None => Self::Failure(error.to_string()),
        }
    }
}

fn text(value: &Value) -> String {
    let text = value.as_str();
    text.unwrap_or_else(|| panic!("{value} is no text"))
        .to_owned()
}
