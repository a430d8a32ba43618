//! What callers see through answers that no read of theirs asked for: those of filters (L-4).

use super::{Viewers, raise};
use crate::{Answer, CallOptions, Request, driver::text, inner::Inner};
use highwater_core::{answer::Named, floor, method::find};
use std::sync::atomic::Ordering::Relaxed;

/// Whoever gets this answer has seen the blocks that it names (P-9).
pub(crate) fn seen(
    inner: &Inner,
    request: Request<'_>,
    options: &CallOptions,
    answer: &mut Answer,
) {
    let Some(result) = answer.result() else {
        return;
    };
    let found = find(request.descriptor, text(request.params));
    answer.block = floor::seen(&found, &Named::read(request.descriptor, result), None);
    if inner.reads.monotonic.load(Relaxed) {
        let viewers = Viewers::new(&options.viewers, &inner.reads.own, options.min_block);
        raise(inner, &viewers, answer, None, None);
    }
}
