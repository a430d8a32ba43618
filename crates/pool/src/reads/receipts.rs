//! Receipts of a block: an empty list is asked for once more before it is believed (rule `suspect`).

use super::{Call, look::Go};
use crate::{Answer, Error, answer::Origin};
use highwater_core::{learn::Data, logs::count, method::EmptyIs, router::Reader};
use std::sync::Arc;

impl Call<'_> {
    /// Whether the call is for the receipts of a whole block.
    pub(super) fn is_receipts(&self) -> bool {
        let row = self.request.descriptor;
        row.empty_is == EmptyIs::Suspect && Data::of(row) == Some(Data::Receipts)
    }

    /// Nodes that have the block and not yet, or no longer, its receipts answer an empty list: another
    /// one is asked, where there is one, and what it has is the answer.
    pub(super) async fn receipts(&self, go: Go) -> Result<Answer, Error> {
        let mut first = self.go(go.clone()).await?;
        let length = |answer: &Answer| answer.result().and_then(count);
        if length(&first) != Some(0) || first.origin == Origin::Cache || self.is_alone() {
            return Ok(first);
        }
        let again = Call {
            avoid: Some(Arc::clone(&first.endpoint)),
            options: self.options.clone(),
            ..*self
        };
        if let Ok(mut second) = again.go(go).await {
            let attempts = second.attempts.saturating_add(first.attempts);
            if length(&second) > Some(0) {
                second.attempts = attempts;
                return Ok(second);
            }
            first.attempts = attempts;
        }
        Ok(first)
    }

    /// Whether nobody else may be asked.
    fn is_alone(&self) -> bool {
        let now = self.inner.now();
        let state = self.inner.lock();
        let method = self.request.method;
        let allowed = state.router.allowed(method);
        let reader = Reader::new(self.request.descriptor, method, allowed.as_ref());
        state.router.servers_of(&reader, now) < 2
    }
}
