//! The socket of a client connection: TCP with the [`Guard`] on its read side, and signs of life
//! for the connection's watchdog.

use super::guard::Guard;
use highwater::worker::Wire;
use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::Sleep,
};

/// What the watchdog looks at. Written by the socket, without a clock; both live on one thread.
#[derive(Debug, Default)]
pub(crate) struct Signs {
    /// Goes up with every read and write that moved bytes.
    pub(crate) activity: AtomicU32,
    /// The number of the head that is being received.
    pub(crate) head: AtomicU32,
    /// Whether a head has begun and is not complete.
    pub(crate) in_head: AtomicBool,
    /// Whether the client does not take what we write.
    pub(crate) write_blocked: AtomicBool,
    /// A reply was given before the request was read whole: see [`Socket::poll_shutdown`].
    pub(crate) linger: AtomicBool,
}

/// A guarded socket.
#[derive(Debug)]
pub(crate) struct Socket {
    wire: Wire,
    guard: Guard,
    signs: Arc<Signs>,
    farewell: Option<Farewell>,
}

/// The last moments of a connection whose client may still be sending.
#[derive(Debug)]
struct Farewell {
    left: usize,
    until: Pin<Box<Sleep>>,
}

/// Longest time for which a client's remaining bytes are read and dropped.
const LINGER: Duration = Duration::from_secs(2);
/// Most bytes of them.
const LINGER_BYTES: usize = 16 * 1024 * 1024;

impl Socket {
    pub(crate) fn new(stream: TcpStream, signs: Arc<Signs>) -> Self {
        Self {
            wire: Wire::new(stream),
            guard: Guard::default(),
            signs,
            farewell: None,
        }
    }

    /// Notes whether the client takes what we write.
    fn wrote(&self, blocked: bool) {
        if self.signs.write_blocked.load(Relaxed) != blocked {
            self.signs.write_blocked.store(blocked, Relaxed);
        }
        if !blocked {
            self.alive();
        }
    }

    fn alive(&self) {
        let activity = &self.signs.activity;
        // One thread writes it: no read-modify-write needed.
        activity.store(activity.load(Relaxed).wrapping_add(1), Relaxed);
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let this = &mut *self;
        let result = Pin::new(&mut this.wire).poll_read(cx, buf);
        if let (Poll::Ready(Ok(())), Some(new)) = (&result, buf.filled_mut().get_mut(before..))
            && !new.is_empty()
        {
            if let Some(bad) = this.guard.feed(new) {
                new[bad..].fill(0);
                this.signs.linger.store(true, Relaxed);
            }
            this.signs.in_head.store(this.guard.in_head(), Relaxed);
            this.signs.head.store(this.guard.heads(), Relaxed);
            this.alive();
        }
        result
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.wire).poll_write(cx, bytes);
        self.wrote(result.is_pending() || self.wire.is_stuck());
        result
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.wire).poll_write_vectored(cx, bufs);
        self.wrote(result.is_pending() || self.wire.is_stuck());
        result
    }

    fn is_write_vectored(&self) -> bool {
        self.wire.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let was_stuck = self.wire.is_stuck();
        let result = Pin::new(&mut self.wire).poll_flush(cx);
        if was_stuck {
            self.wrote(result.is_pending());
        }
        result
    }

    /// Closes our side. Closing the rest while the client is still sending would make the kernel
    /// reset the connection, and the reset could overtake the reply that says why. So where a
    /// request was not read whole, its rest is read and dropped for a moment.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let farewell = match &mut this.farewell {
            Some(farewell) => farewell,
            none => {
                ready!(Pin::new(&mut this.wire).poll_shutdown(cx))?;
                if !this.signs.linger.load(Relaxed) {
                    return Poll::Ready(Ok(()));
                }
                let until = Box::pin(tokio::time::sleep(LINGER));
                none.insert(Farewell {
                    left: LINGER_BYTES,
                    until,
                })
            }
        };
        let mut scratch = [0; 16 * 1024];
        loop {
            if farewell.left == 0 || farewell.until.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Ok(()));
            }
            let mut buf = ReadBuf::new(&mut scratch);
            let read = ready!(Pin::new(&mut this.wire).poll_read(cx, &mut buf));
            if read.is_err() || buf.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            farewell.left = farewell.left.saturating_sub(buf.filled().len());
        }
    }
}
