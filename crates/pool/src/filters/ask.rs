//! A request that a call about a filter makes.

use super::Home;
use crate::{
    Answer, CallOptions, Error, Request,
    driver::{FAR, Terms, drive},
    inner::Inner,
    node::Node,
};
use highwater_core::{filter::Header, jsonrpc::Params, learn::Need, method::lookup};
use std::{sync::Arc, time::Instant};

/// The newest block of an endpoint.
pub(super) struct Head {
    pub(super) node: Arc<Node>,
    pub(super) header: Header,
}

/// What all requests of one call share: its caller's wishes, and when it ends.
pub(super) struct Asking<'a> {
    inner: &'a Arc<Inner>,
    options: &'a CallOptions,
    end: Instant,
}

impl<'a> Asking<'a> {
    pub(super) fn new(inner: &'a Arc<Inner>, options: &'a CallOptions) -> Self {
        let deadline = options.deadline.unwrap_or(inner.deadline).min(FAR);
        Self {
            inner,
            options,
            end: inner.now().mono + deadline,
        }
    }

    /// The caller's wishes for the time that is left.
    pub(super) fn options(&self) -> CallOptions {
        let left = self.end.saturating_duration_since(self.inner.now().mono);
        CallOptions {
            deadline: Some(left),
            // Its requests are no elements of the client's batch.
            batch: None,
            ..self.options.clone()
        }
    }

    pub(super) async fn ask(
        &self,
        method: &'static str,
        params: &str,
        terms: Terms,
    ) -> Result<Answer, Error> {
        let row = lookup(method);
        let request = Request {
            method,
            descriptor: row,
            params: Params::Array(params),
        };
        let terms = Terms {
            need: if terms.need == Need::default() {
                Need::of_call(row, params)
            } else {
                terms.need
            },
            ..terms
        };
        // Boxed: such calls are rare, and their futures large.
        Box::pin(drive(self.inner, request, self.options(), terms)).await
    }

    /// A call about the filter where it lives, once.
    pub(super) async fn home(&self, method: &'static str, home: &Home) -> Result<Answer, Error> {
        let params = format!("[{}]", home.id);
        self.ask(method, &params, only(&home.node)).await
    }

    /// The newest block of somebody; `None`: what was answered is none, or whoever answered has left.
    pub(super) async fn head(&self, terms: Terms) -> Result<Option<Head>, Error> {
        let answer = self
            .ask("eth_getBlockByNumber", r#"["latest",false]"#, terms)
            .await?;
        let node = self.inner.lock().node_labelled(answer.endpoint());
        let header = answer.result().and_then(Header::read);
        Ok(node.zip(header).map(|(node, header)| Head { node, header }))
    }

    /// The block at a height on the chain of this endpoint.
    pub(super) async fn block(
        &self,
        number: u64,
        node: &Arc<Node>,
    ) -> Result<Option<Header>, Error> {
        let params = format!(r#"["{number:#x}",false]"#);
        let answer = self
            .ask("eth_getBlockByNumber", &params, only(node))
            .await?;
        let header = answer.result().and_then(Header::read);
        Ok(header.filter(|header| header.number == number))
    }
}

/// This endpoint and no other.
pub(super) fn only(node: &Arc<Node>) -> Terms {
    Terms {
        only: Some(Arc::clone(node)),
        ..Terms::default()
    }
}
