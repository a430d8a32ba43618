//! One HTTP/1.1 connection, driven by whoever uses it.
//!
//! The usual way is a task per connection, and then every request costs four to five switches
//! between that task and the caller's. Here the caller's own future reads and writes: no task, no
//! switch, and a dropped call takes its connection with it. While it lies unused nobody looks at it.

use super::{outgoing::Outgoing, stream::Stream};
use bytes::BytesMut;
use std::{
    future::Future,
    io::{self, ErrorKind},
    pin::{Pin, pin},
    task::{Context, Poll, Waker, ready},
};
use tokio::{
    io::{AsyncReadExt, AsyncWrite},
    runtime,
    sync::OwnedSemaphorePermit,
    time::Instant,
};

/// Room that is made in the buffer at first, in bytes: more than most answers need.
const FIRST_ROOM: usize = 8 << 10;
/// Room below which more is made.
const LEAST_ROOM: usize = 4 << 10;
/// Most room that is made at once.
const MOST_ROOM: usize = 256 << 10;

/// A connection that is in use or lies idle.
pub(super) struct Link {
    stream: Stream,
    /// What was read and not taken yet. Empty while the connection lies unused.
    pub(super) buf: BytesMut,
    /// How much room is made next.
    room: usize,
    /// Whether the buffer holds much more memory than most answers need.
    grew: bool,
    pub(super) born: Instant,
    pub(super) idle_since: Instant,
    /// A socket answers only to the runtime on which it was opened.
    pub(super) runtime: runtime::Id,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Link {
    pub(super) fn new(
        stream: Stream,
        permit: Option<OwnedSemaphorePermit>,
        runtime: runtime::Id,
    ) -> Self {
        let now = Instant::now();
        Self {
            stream,
            buf: BytesMut::new(),
            room: FIRST_ROOM,
            grew: false,
            born: now,
            idle_since: now,
            runtime,
            _permit: permit,
        }
    }

    /// A request begins.
    pub(super) fn clear(&mut self) {
        self.stream.clear();
    }

    /// Whether a byte of the request was written to the socket.
    pub(super) fn wrote(&self) -> bool {
        self.stream.wrote()
    }

    /// Whether the connection may serve another request. Looks at the socket.
    pub(super) fn is_usable(&mut self) -> bool {
        self.is_silent(&mut Context::from_waker(Waker::noop()))
    }

    /// Whether the other side has neither closed nor said anything, as far as the event loop knows.
    pub(super) fn is_silent(&mut self, cx: &mut Context<'_>) -> bool {
        self.stream.is_silent(cx)
    }

    /// Writes the rest of a request, down to the socket.
    pub(super) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        outgoing: &mut Outgoing<'_>,
    ) -> Poll<io::Result<()>> {
        let mut stream = Pin::new(&mut self.stream);
        while !outgoing.is_written() {
            let (slices, filled) = outgoing.rest();
            let written = stream.as_mut().poll_write_vectored(cx, &slices[..filled]);
            match ready!(written)? {
                0 => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
                bytes => outgoing.advance(bytes),
            }
        }
        stream.poll_flush(cx)
    }

    /// Reads what is there into the buffer and says how much it was; 0 at the end. So many bytes are
    /// certainly `expected`.
    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        expected: u64,
    ) -> Poll<io::Result<usize>> {
        if self.buf.capacity() - self.buf.len() < LEAST_ROOM {
            let expected = usize::try_from(expected).unwrap_or(MOST_ROOM);
            self.buf.reserve(self.room.max(expected.min(MOST_ROOM)));
            self.grew |= self.buf.capacity() > 2 * FIRST_ROOM;
        }
        let room = self.buf.capacity() - self.buf.len();
        let read = ready!(pin!(self.stream.read_buf(&mut self.buf)).poll(cx))?;
        if read == room {
            // A large answer: fewer and larger pieces.
            self.room = (self.room * 2).min(MOST_ROOM);
        }
        Poll::Ready(Ok(read))
    }

    /// The connection lies unused from now on.
    pub(super) fn rest(&mut self) {
        self.idle_since = Instant::now();
        self.room = FIRST_ROOM;
        if self.grew {
            self.grew = false;
            self.buf = BytesMut::new();
        }
    }
}
