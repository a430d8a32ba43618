//! Nonces and gas of accounts that have just sent something (semantics §4.2 W5, W6).
//!
//! Who has an account's last transaction is asked first. And nobody is told a pending nonce below one
//! that it was told within the last minute: where an endpoint says less, one other is asked, and the
//! higher of the two counts; where that is still less, what was told before is told again.

use crate::{
    Answer, CallOptions, Error, Payload, Request,
    inner::{Inner, State},
    reads,
};
use bytes::Bytes;
use highwater_core::{
    Address, Now, TxHash, chains,
    jsonrpc::Params,
    judge::quantity,
    method::Descriptor,
    router::EndpointSet,
    senders::{About, At},
};
use std::sync::{Arc, atomic::Ordering};

/// Whether the answers to a method say something of accounts.
pub(crate) fn is_about_accounts(row: &Descriptor) -> bool {
    matches!(
        row.name,
        "eth_getTransactionCount" | "eth_getTransactionReceipt"
    )
}

/// Makes one such call, and learns from its answer.
pub(crate) async fn request(
    inner: &Arc<Inner>,
    request: Request<'_>,
    options: CallOptions,
) -> Result<Answer, Error> {
    if request.descriptor.name == "eth_getTransactionCount" {
        return count(inner, request, options).await;
    }
    let answer = reads::request(inner, request, options, None).await?;
    inner.on_receipt(request.params, &answer);
    Ok(answer)
}

async fn count(
    inner: &Arc<Inner>,
    request: Request<'_>,
    options: CallOptions,
) -> Result<Answer, Error> {
    let about = About::of(request.descriptor, request.params);
    let Some((account, at)) = about.and_then(|about| Some((about.account, about.nonce?))) else {
        return reads::request(inner, request, options, None).await;
    };
    let (caller, began) = (options.caller, inner.now().mono);
    let answer = reads::request(inner, request, options.clone(), None).await?;
    let Some(said) = nonce(&answer) else {
        return Ok(answer);
    };
    let now = inner.now().mono;
    let told = {
        let mut state = inner.lock();
        let resets = state.router.chain().is_some_and(chains::is_development);
        let senders = &mut state.sent.senders;
        match at {
            At::Latest => {
                senders.mined(account, said, now);
                return Ok(answer);
            }
            At::Other => return Ok(answer),
            At::Pending if resets => return Ok(answer),
            At::Pending => {}
        }
        match senders.told(caller, account, now) {
            Some(told) if said < told => told,
            Some(_) | None => {
                senders.tell(caller, account, said, now);
                return Ok(answer);
            }
        }
    };
    let spent = now.saturating_duration_since(began);
    let left = options
        .deadline
        .unwrap_or(inner.deadline)
        .checked_sub(spent);
    let second = match left {
        Some(left) if !left.is_zero() => {
            let options = CallOptions {
                deadline: Some(left),
                ..options
            };
            let again = reads::request(inner, request, options, Some(answer.endpoint()));
            Box::pin(again).await.ok()
        }
        Some(_) | None => None,
    };
    let second = second.and_then(|second| Some((nonce(&second)?, second)));
    let (said, answer) = match second {
        Some((higher, second)) if higher > said => (higher, second),
        Some(_) | None => (said, answer),
    };
    if said >= told {
        inner
            .lock()
            .sent
            .senders
            .tell(caller, account, said, inner.now().mono);
        return Ok(answer);
    }
    let text = format!("\"{told:#x}\"");
    Ok(Answer {
        span: 0..text.len(),
        body: Bytes::from(text),
        ..answer
    })
}

fn nonce(answer: &Answer) -> Option<u64> {
    match answer.payload() {
        Payload::Result(result) => quantity(result),
        Payload::Error(_) => None,
    }
}

impl Inner {
    /// The account that a call is about, where something was sent lately.
    pub(crate) fn about(&self, row: &Descriptor, params: Params<'_>) -> Option<About> {
        if !self.has_sent.load(Ordering::Relaxed) {
            return None;
        }
        About::of(row, params)
    }

    fn on_receipt(&self, params: Params<'_>, answer: &Answer) {
        let Params::Array(params) = params else {
            return;
        };
        if !self.has_sent.load(Ordering::Relaxed) || answer.is_error() || answer.bytes() == b"null"
        {
            return;
        }
        let hash = params.split('"').nth(1).and_then(TxHash::of_hex);
        if let Some(hash) = hash {
            self.lock().sent.senders.has_receipt(hash, self.now().mono);
        }
    }
}

impl State {
    /// Who has the last transaction of an account; `None` where nobody knows.
    pub(crate) fn seen_by(&self, account: Address, now: Now) -> Option<EndpointSet> {
        let seen = self.sent.senders.seen_by(account, now.mono);
        if seen.is_empty() {
            return None;
        }
        let set: EndpointSet = self
            .router
            .ids()
            .filter(|id| seen.contains(&self.node(*id).number))
            .collect();
        (!set.is_empty()).then_some(set)
    }

    /// Everybody but the endpoint with this label.
    pub(crate) fn others(&self, label: &str) -> EndpointSet {
        let ids = self.router.ids();
        ids.filter(|id| *self.node(*id).label != *label).collect()
    }
}
