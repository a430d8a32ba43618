//! One HTTP/1.1 connection, driven by whoever uses it.
//!
//! The usual way is a task per connection, and then every request costs four to five switches
//! between that task and the caller's. Here the caller's own future polls the connection: no task,
//! no switch, and a dropped call takes its connection with it. Wake-ups that the connection and the
//! response channels cause *while* they are being polled only make the loop go round again; those
//! that come from the socket wake the caller.

use super::{
    fault::SendErrorKind,
    stream::{Stream, Trace},
};
use bytes::Bytes;
use futures_util::task::AtomicWaker;
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};
use tokio::{runtime, sync::OwnedSemaphorePermit, time::Instant};

/// Most rounds before the caller's other work gets its turn.
const ROUNDS: usize = 8;

type Wire = http1::Connection<TokioIo<Stream>, Full<Bytes>>;

/// A connection that is in use or lies idle.
pub(super) struct Link {
    pub(super) sender: http1::SendRequest<Full<Bytes>>,
    connection: Option<Box<Wire>>,
    pub(super) trace: Arc<Trace>,
    relay: Arc<Relay>,
    waker: Waker,
    pub(super) born: Instant,
    pub(super) idle_since: Instant,
    /// A socket answers only to the runtime on which it was opened.
    pub(super) runtime: runtime::Id,
    pub(super) _permit: Option<OwnedSemaphorePermit>,
}

impl Link {
    pub(super) async fn new(
        stream: Stream,
        trace: Arc<Trace>,
        permit: Option<OwnedSemaphorePermit>,
        runtime: runtime::Id,
    ) -> Result<Self, SendErrorKind> {
        let handshake = http1::Builder::new().handshake(TokioIo::new(stream)).await;
        let (sender, connection) = handshake.map_err(|error| SendErrorKind::of(&error))?;
        let relay = Arc::new(Relay::default());
        let now = Instant::now();
        Ok(Self {
            sender,
            connection: Some(Box::new(connection)),
            trace,
            waker: Waker::from(Arc::clone(&relay)),
            relay,
            born: now,
            idle_since: now,
            runtime,
            _permit: permit,
        })
    }

    /// Polls `step`, which waits for something that the connection may have brought already, and only
    /// where it has not, the connection: looking at the socket costs more than a look at the step.
    pub(super) fn drive_once_empty<T>(
        &mut self,
        cx: &mut Context<'_>,
        mut step: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        match step(&mut Context::from_waker(&self.waker)) {
            Poll::Ready(value) => Poll::Ready(value),
            Poll::Pending => self.drive(cx, step),
        }
    }

    /// Polls the connection and then `step`, which waits for something that the connection brings.
    pub(super) fn drive<T>(
        &mut self,
        cx: &mut Context<'_>,
        mut step: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        self.relay.outside.register(cx.waker());
        let mut inside = Context::from_waker(&self.waker);
        for _ in 0..ROUNDS {
            self.relay.begin();
            turn(&mut self.connection, &mut inside);
            let stepped = step(&mut inside);
            let again = self.relay.end();
            if stepped.is_ready() {
                return stepped;
            }
            if !again {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Whether the connection may serve another request. Looks at the socket.
    pub(super) fn is_usable(&mut self) -> bool {
        turn(
            &mut self.connection,
            &mut Context::from_waker(Waker::noop()),
        );
        self.connection.is_some() && self.sender.is_ready()
    }

    /// Whether the connection may serve another request, as far as is known without looking.
    pub(super) fn is_free(&self) -> bool {
        self.connection.is_some() && self.sender.is_ready()
    }
}

fn turn(connection: &mut Option<Box<Wire>>, cx: &mut Context<'_>) {
    if let Some(wire) = connection
        && Pin::new(&mut **wire).poll(cx).is_ready()
    {
        // Its error, if any, has gone to the request that it broke. Dropping it hands a request that
        // it had not begun back to the caller.
        *connection = None;
    }
}

/// Passes wake-ups on, unless they come from inside.
#[derive(Default)]
struct Relay {
    outside: AtomicWaker,
    polling: AtomicBool,
    woken: AtomicBool,
}

impl Relay {
    fn begin(&self) {
        self.polling.store(true, Ordering::SeqCst);
        self.woken.store(false, Ordering::SeqCst);
    }

    /// Ends a round; says whether something woke meanwhile. A wake-up that comes later finds
    /// `polling` false and goes outside, so none is lost.
    fn end(&self) -> bool {
        self.polling.store(false, Ordering::SeqCst);
        self.woken.swap(false, Ordering::SeqCst)
    }
}

impl Wake for Relay {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::SeqCst);
        if !self.polling.load(Ordering::SeqCst) {
            self.outside.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn keeps_wake_ups_from_inside_and_passes_those_from_outside_on() {
        let count = Arc::new(Count::default());
        let relay = Arc::new(Relay::default());
        let waker = Waker::from(Arc::clone(&relay));
        relay.outside.register(&Waker::from(Arc::clone(&count)));
        relay.begin();
        waker.wake_by_ref();
        assert!(relay.end());
        assert_eq!(count.0.load(Ordering::SeqCst), 0);
        relay.begin();
        assert!(!relay.end());
        waker.wake_by_ref();
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
    }
}
