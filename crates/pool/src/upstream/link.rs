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
    /// Boxed, since a link moves from hand to hand with every request.
    wire: Box<Wire>,
    pub(super) born: Instant,
    pub(super) idle_since: Instant,
    /// A socket answers only to the runtime on which it was opened.
    pub(super) runtime: runtime::Id,
}

struct Wire {
    stream: Stream,
    buf: BytesMut,
    /// How much room is made next.
    room: usize,
    /// Whether the buffer holds much more memory than most answers need.
    grew: bool,
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
            wire: Box::new(Wire {
                stream,
                buf: BytesMut::new(),
                room: FIRST_ROOM,
                grew: false,
                _permit: permit,
            }),
            born: now,
            idle_since: now,
            runtime,
        }
    }

    /// What was read and not taken yet. Empty while the connection lies unused.
    pub(super) const fn buf(&mut self) -> &mut BytesMut {
        &mut self.wire.buf
    }

    /// A request begins; whether it may wait for others that are written together with it.
    pub(super) fn begin(&mut self, gathers: bool) {
        self.wire.stream.begin(gathers);
    }

    /// Whether a byte of the request was written to the socket.
    pub(super) fn wrote(&self) -> bool {
        self.wire.stream.wrote()
    }

    /// Whether the connection may serve another request. Looks at the socket.
    pub(super) fn is_usable(&mut self) -> bool {
        self.is_silent(&mut Context::from_waker(Waker::noop()))
    }

    /// Whether the other side has neither closed nor said anything, as far as the event loop knows.
    pub(super) fn is_silent(&mut self, cx: &mut Context<'_>) -> bool {
        self.wire.stream.is_silent(cx)
    }

    /// Writes the rest of a request, down to the socket.
    pub(super) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        outgoing: &mut Outgoing<'_>,
    ) -> Poll<io::Result<()>> {
        let mut stream = Pin::new(&mut self.wire.stream);
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
        let wire = &mut *self.wire;
        if wire.buf.capacity() - wire.buf.len() < LEAST_ROOM {
            let expected = usize::try_from(expected).unwrap_or(MOST_ROOM);
            wire.buf.reserve(wire.room.max(expected.min(MOST_ROOM)));
            wire.grew |= wire.buf.capacity() > 2 * FIRST_ROOM;
        }
        let room = wire.buf.capacity() - wire.buf.len();
        let read = ready!(pin!(wire.stream.read_buf(&mut wire.buf)).poll(cx))?;
        if read == room {
            // A large answer: fewer and larger pieces.
            wire.room = (wire.room * 2).min(MOST_ROOM);
        }
        Poll::Ready(Ok(read))
    }

    /// The connection lies unused from now on.
    pub(super) fn rest(&mut self) {
        self.idle_since = Instant::now();
        self.wire.room = FIRST_ROOM;
        if self.wire.grew {
            self.wire.grew = false;
            self.wire.buf = BytesMut::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use tokio::{
        io::AsyncWriteExt,
        net::{TcpListener, TcpStream},
    };

    async fn pair() -> (Link, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (near, far) = tokio::join!(TcpStream::connect(address), listener.accept());
        let stream = Stream::Plain(Stream::wire(near.unwrap()));
        let link = Link::new(stream, None, runtime::Handle::current().id());
        (link, far.unwrap().0)
    }

    #[tokio::test]
    async fn gives_memory_back_after_a_large_answer_and_keeps_the_buffer_after_a_small_one() {
        let (mut link, mut far) = pair().await;
        far.write_all(b"small").await.unwrap();
        poll_fn(|cx| link.poll_read(cx, 0)).await.unwrap();
        drop(link.buf().split());
        link.rest();
        assert!(link.buf().capacity() > LEAST_ROOM);
        for expected in [0, 1 << 30] {
            let flood = tokio::spawn(async move {
                far.write_all(&vec![0; 1 << 20]).await.unwrap();
                far
            });
            let mut left = 1 << 20;
            let mut largest = 0;
            while left > 0 {
                left -= poll_fn(|cx| link.poll_read(cx, expected)).await.unwrap();
                largest = largest.max(link.buf().capacity());
                drop(link.buf().split());
            }
            assert!(largest <= 2 * MOST_ROOM);
            far = flood.await.unwrap();
            link.rest();
            assert_eq!((link.buf().capacity(), link.wire.room), (0, FIRST_ROOM));
        }
    }

    #[tokio::test]
    async fn is_usable_until_the_other_side_closes_or_speaks() {
        for speaks in [true, false] {
            let (mut link, mut far) = pair().await;
            assert!(link.is_usable() && !link.wrote());
            if speaks {
                far.write_all(b"unasked").await.unwrap();
            } else {
                drop(far);
            }
            let Stream::Plain(wire) = &link.wire.stream else {
                panic!("not plain")
            };
            wire.stream().readable().await.unwrap();
            assert!(!link.is_usable());
        }
    }
}
