//! What a filter tells.

use super::{
    Filter, Home,
    ask::{Asking, Head, only},
    not_found,
    replay::replay,
};
use crate::{Answer, CallOptions, Error, Request, inner::Inner, reads};
use futures_util::future::OptionFuture;
use highwater_core::{
    filter::{Anchor, Kind},
    jsonrpc::Params,
    method::lookup,
};
use std::sync::Arc;

/// What is new since the last poll; `None`: the filter has ended.
pub(super) async fn changes(
    inner: &Arc<Inner>,
    options: &CallOptions,
    filter: &Filter,
) -> Result<Option<Answer>, Error> {
    let asking = Asking::new(inner, options);
    let mut state = filter.state.lock().await;
    let Some(home) = state.home.take() else {
        return match filter.kind {
            Kind::Logs | Kind::Blocks => replay(&asking, filter, &mut state, None).await,
            Kind::Pending => Ok(None),
        };
    };
    if filter.kind == Kind::Pending {
        // What it told to nobody is told to nobody again, whoever asks next.
        state.home = Some(home.clone());
    }
    let began = inner.now().mono;
    let looks = state.trail.looks(began);
    let head: OptionFuture<_> = looks.then(|| asking.head(only(&home.node))).into();
    let (polled, head) = tokio::join!(asking.home("eth_getFilterChanges", &home), head);
    let told = match polled {
        Ok(answer) if !answer.is_error() => answer,
        Err(Error::Closed) => return Err(Error::Closed),
        Ok(_) | Err(_) if filter.kind == Kind::Pending => return Ok(None),
        // It is gone there, or nobody knows what it told: what it would tell is on the chain.
        Ok(_) | Err(_) => {
            let label = Arc::clone(&home.node.label);
            return replay(&asking, filter, &mut state, Some(label)).await;
        }
    };
    state.trail.polled(told.result().unwrap_or_default(), began);
    if let Some(Ok(Some(Head { header, .. }))) = head {
        let anchor = Anchor {
            number: header.number,
            hash: header.hash,
        };
        state.trail.offer(anchor, inner.now().mono);
    }
    state.home = Some(home);
    Ok(Some(told))
}

/// All logs that a filter of logs is about: where it lives, else as the query that it is.
pub(super) async fn logs(
    inner: &Arc<Inner>,
    request: Request<'_>,
    options: CallOptions,
    filter: &Filter,
) -> Result<Answer, Error> {
    if filter.kind != Kind::Logs {
        return Ok(not_found());
    }
    let asking = Asking::new(inner, &options);
    let home: Option<Home> = filter.state.lock().await.home.clone();
    if let Some(home) = home {
        match asking.home("eth_getFilterLogs", &home).await {
            Ok(mut answer) if !answer.is_error() => {
                reads::seen(inner, request, &options, &mut answer);
                return Ok(answer);
            }
            Err(Error::Closed) => return Err(Error::Closed),
            Ok(_) | Err(_) => {}
        }
    }
    let Some(params) = &filter.params else {
        return Ok(not_found());
    };
    let query = Request {
        method: "eth_getLogs",
        descriptor: lookup("eth_getLogs"),
        params: Params::Array(params),
    };
    reads::request(inner, query, asking.options(), None).await
}
