//! One attempt, from sending to its judged end: alone, or in a body that it shares.

use crate::{
    ask::Ask,
    driver::FAR,
    fold::{Fold, Folded, Item, Windows},
    inner::Inner,
    judge::{Judged, Meanings, judge, judge_failure},
    node::Node,
    upstream::Repeat,
};
use highwater_core::AttemptId;
use smallvec::SmallVec;
use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

/// An attempt that another one may outlive.
pub(crate) type Boxed = Pin<Box<dyn Future<Output = Judged> + Send>>;
pub(crate) type Attempts = SmallVec<[(AttemptId, Boxed); 2]>;

/// The first of several attempts to end; it is taken out.
pub(crate) struct First<'a>(pub(crate) &'a mut Attempts);

impl Future for First<'_> {
    type Output = (AttemptId, Judged);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        for place in 0..self.0.len() {
            if let Poll::Ready(judged) = self.0[place].1.as_mut().poll(context) {
                let (attempt, _) = self.0.remove(place);
                return Poll::Ready((attempt, judged));
            }
        }
        Poll::Pending
    }
}

/// One attempt, from sending to its judged end.
pub(crate) async fn exchange(
    meanings: &Meanings,
    node: &Node,
    ask: &Ask,
    timeout: Duration,
    repeat: Repeat,
) -> Judged {
    match node.wired.send(ask.message(), timeout, repeat).await {
        Ok(raw) => judge(raw, ask, node, meanings),
        Err(error) => judge_failure(error),
    }
}

/// The same, owning what it needs, so that it may outlive its call.
pub(crate) fn send(
    inner: &Arc<Inner>,
    node: Arc<Node>,
    ask: Ask,
    timeout: Duration,
    repeat: Repeat,
    folded: Option<Folded>,
) -> impl Future<Output = Judged> + Send + 'static {
    let meanings = Arc::clone(&inner.meanings);
    async move {
        match folded {
            Some(folded) => folded.await,
            None => exchange(&meanings, &node, &ask, timeout, repeat).await,
        }
    }
}

/// Lets an attempt share a body with others; `None`: it goes alone. Elements of a client's
/// batch that share none still go through it, which bounds how many are under way at once.
pub(crate) fn fold(
    inner: &Arc<Inner>,
    fold: Option<&Fold>,
    node: &Arc<Node>,
    ask: &Ask,
    timeout: Duration,
    most: u16,
) -> Option<Folded> {
    let fold = fold?;
    let lane = ask.question().row.lane;
    let end = tokio::time::Instant::now() + timeout.min(FAR);
    let make = || Item::new(ask.clone(), end);
    let most = usize::from(most);
    match fold {
        Fold::Client(batch) => batch.add(inner, node, lane, most, make),
        Fold::Window(_) if most <= 1 => None,
        Fold::Window(window) => Some(Windows::add(inner, node, lane, most, *window, make())),
    }
}
