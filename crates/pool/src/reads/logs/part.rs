//! One request of a log query, and what an error says of its size.

use crate::{
    Answer, Error, Request,
    reads::{
        Call,
        look::{Go, direct, with_buffer},
    },
};
use highwater_core::{
    classify::{self, Class, Evidence, Verdict},
    flight,
    jsonrpc::Params,
    learn::Need,
    logs::Part,
    method::{Resolve, canonical_key, find},
    router::Reader,
};
use std::sync::Arc;

impl Call<'_> {
    /// Asks for the logs of some blocks. The whole range goes as the caller wrote it; a part of it goes
    /// only to who is at the end of the whole (P-23).
    pub(super) async fn ask_part(
        &self,
        go: &Go,
        whole: Part,
        part: Part,
        avoid: Option<Arc<str>>,
    ) -> Result<Answer, Error> {
        let options = self.options.clone();
        if part == whole {
            let call = Call {
                avoid: avoid.or_else(|| self.avoid.clone()),
                options,
                ..*self
            };
            return call.go(go.clone()).await;
        }
        let mut params = String::new();
        self.found
            .with_range(self.params, part.from, part.to, &mut params);
        let row = self.request.descriptor;
        let found = find(row, &params);
        let least_head = go.least_head.max(Some(whole.to));
        let coalesce = self.inner.lock().router.settings().reads.coalesce;
        let shares = coalesce && flight::shares(&found, None);
        let flight = shares.then(|| {
            with_buffer(|buffer| {
                let key = canonical_key(&found, self.request.method, &params, buffer);
                key.seal(&found, &params, Resolve::AsWritten, buffer);
                direct(&self.options, least_head, buffer);
                Arc::from(&**buffer)
            })
        });
        let call = Call {
            request: Request {
                params: Params::Array(&params),
                ..self.request
            },
            params: &params,
            found: &found,
            avoid,
            options,
            ..*self
        };
        let part = Go {
            need: Need::found(row, &found, None),
            // Strictly: what is not known to be there would be cut (P-24).
            pin: go.pin.or(Some(whole.to)),
            least_head,
            flight,
            store: None,
            ..go.clone()
        };
        call.go(part).await
    }

    /// What an error says; `None`: nothing that can be read.
    pub(super) fn verdict(&self, error: &Answer) -> Option<Verdict> {
        let body = [
            &b"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":"[..],
            error.bytes(),
            b"}",
        ]
        .concat();
        let head = self.inner.lock().router.reference_head(self.inner.now());
        let evidence = Evidence {
            params: self.params,
            head,
            request_id: 1,
            ..Evidence::new(self.request.method, 200, &body)
        };
        match self.inner.meanings.rules() {
            Some(rules) => rules.classify(&evidence),
            None => classify::classify(&evidence),
        }
    }

    /// Whether an error says that a block is not known.
    pub(super) fn is_unknown(&self, error: &Answer) -> bool {
        let class = self.verdict(error).map(|verdict| verdict.class);
        matches!(
            class,
            Some(Class::Behind | Class::MissingHistory | Class::ReorgedBlock)
        )
    }

    /// The blocks that a part may have after it was refused for its size; `None`: it was refused for
    /// something else, or cannot be smaller.
    pub(super) fn smaller(&self, ended: &Result<Answer, Error>, part: Part) -> Option<u64> {
        let blocks = part.blocks();
        if blocks < 2 {
            return None;
        }
        let half = blocks.div_ceil(2);
        let verdict = match ended {
            Ok(answer) if answer.is_error() => self.verdict(answer)?,
            Ok(_) => return None,
            Err(Error::AllEndpointsFailed { attempts }) => {
                let mut all = attempts.iter();
                return all.any(|attempt| is_size(attempt.class)).then_some(half);
            }
            Err(_) => return None,
        };
        if !is_size(verdict.class) {
            return None;
        }
        let stated = verdict.suggested_range.and_then(|range| {
            let proposed = range.from.zip(range.to);
            let proposed = proposed.and_then(|(from, to)| to.checked_sub(from)?.checked_add(1));
            proposed.or(range.max_blocks)
        });
        let stated = stated.filter(|stated| (1..blocks).contains(stated));
        let learned = || {
            let now = self.inner.now();
            let state = self.inner.lock();
            let method = self.request.method;
            let allowed = state.router.allowed(method);
            let reader = Reader::new(self.request.descriptor, method, allowed.as_ref());
            let learned = state.router.log_width(&reader, blocks, now);
            learned.filter(|learned| (1..blocks).contains(learned))
        };
        Some(stated.or_else(learned).unwrap_or(half))
    }
}

/// Whether a failure is about how much was asked for.
const fn is_size(class: Class) -> bool {
    matches!(class, Class::RangeLimit | Class::PayloadTooLarge)
}
