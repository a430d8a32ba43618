//! A node of the lab as a transport of the caller's own, and what all see.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use highwater::{
    core::call::Delivery,
    upstream::{RawReply, SendError, SendErrorKind, Upstream},
};
use highwater_lab::{
    call::parse_calls,
    history::{Event, History},
    node::{Carriage, Node, Seen},
};
use http::{HeaderMap, HeaderName, HeaderValue};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::{Instant, sleep};

/// What all see: the clock and what happened.
#[derive(Clone)]
pub(crate) struct Witness {
    pub(crate) start: Instant,
    pub(crate) history: Arc<Mutex<History>>,
}

impl Witness {
    /// From now on, nothing yet.
    pub(crate) fn new() -> Self {
        Self {
            start: Instant::now(),
            history: Arc::default(),
        }
    }

    pub(crate) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    pub(crate) fn saw(&self, event: Event) {
        self.history.lock().unwrap().push(event);
    }
}

/// A node and its place among the others.
pub(crate) struct LabNode {
    pub(crate) place: usize,
    pub(crate) node: Arc<Mutex<Node>>,
    pub(crate) witness: Witness,
}

impl Upstream for LabNode {
    fn send(
        &self,
        message: Bytes,
        _timeout: Duration,
    ) -> BoxFuture<'static, Result<RawReply, SendError>> {
        let (place, node, witness) = (self.place, Arc::clone(&self.node), self.witness.clone());
        Box::pin(async move {
            let at = witness.now();
            let exchange = node.lock().unwrap().ask(at, "pool", &message);
            let seen = exchange.seen();
            let (_, calls) = parse_calls(&message);
            if !matches!(seen, Some((_, Seen::Refused))) {
                for call in &calls {
                    witness.saw(Event::Received {
                        at,
                        node: place,
                        id: call.id.clone(),
                        method: call.method.clone(),
                        params: call.params.clone().unwrap_or_else(|| "[]".to_owned()),
                    });
                }
            }
            let Some((after, seen)) = seen else {
                return std::future::pending().await;
            };
            sleep(after).await;
            let failed = |kind, delivery| Err(SendError { kind, delivery });
            match seen {
                Seen::Refused => failed(SendErrorKind::Connect, Delivery::NotSent),
                Seen::Broken => failed(SendErrorKind::Reset, Delivery::MaybeSent),
                Seen::Complete { status, body, .. } => {
                    witness.saw(Event::Served {
                        at: witness.now(),
                        node: place,
                        ids: calls.iter().map(|call| call.id.clone()).collect(),
                        methods: calls.into_iter().map(|call| call.method).collect(),
                        status,
                        body: String::from_utf8_lossy(&body).into_owned(),
                    });
                    Ok(RawReply {
                        status,
                        headers: headers(&exchange.carriage),
                        body,
                    })
                }
            }
        })
    }
}

fn headers(carriage: &Carriage) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Carriage::Answer(delivery) = carriage {
        for (name, value) in &delivery.headers {
            let name = HeaderName::try_from(name.as_str()).unwrap();
            headers.append(name, HeaderValue::try_from(value.as_str()).unwrap());
        }
    }
    headers
}
