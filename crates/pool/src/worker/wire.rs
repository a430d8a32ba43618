//! A TCP connection whose small writes wait for each other.
//!
//! A server's thread handles many requests in a round and then waits for the next ones. Where each of
//! them writes as soon as it can, the kernel's way of a packet and the server's own code push each
//! other out of the processor's caches with every request, and whoever is written to falls asleep
//! between two writes and is woken for each. So a thread that says so ([`in_rounds`]) copies what is
//! small, and writes what has gathered together: when a few are there, and at the latest before it
//! waits ([`write_out`]). Nothing is written later than that, nothing overtakes, and what the other
//! side does not take at once waits as it always did.

use parking_lot::Mutex;
use socket2::SockRef;
use std::{
    cell::{Cell, RefCell},
    io::{self, IoSlice},
    net::Shutdown,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Poll, Waker, ready},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
};

/// So many connections with something to write are written to together.
const MOST_WAITING: usize = 8;
/// Most bytes of one connection that wait.
const MOST_BYTES: usize = 4 << 10;

thread_local! {
    static IN_ROUNDS: Cell<bool> = const { Cell::new(false) };
    static WAITING: RefCell<Vec<Arc<Outbox>>> = const { RefCell::new(Vec::new()) };
}

/// From now on small writes of this thread's [`Wire`]s gather. Whoever says so must have the thread
/// call [`write_out`] whenever it is about to wait, and when it ends.
pub fn in_rounds() {
    IN_ROUNDS.set(true);
}

/// Writes what has gathered on this thread.
pub fn write_out() {
    let mut waiting = WAITING.take();
    for outbox in waiting.drain(..) {
        outbox.write_out();
    }
    // Its room is used again, unless something gathered meanwhile.
    WAITING.with_borrow_mut(|now| {
        if now.is_empty() {
            *now = waiting;
        }
    });
}

/// A TCP connection. Where its thread writes in rounds, a small write is taken at once and reaches the
/// socket with the round; a flush does not wait for that.
#[derive(Debug)]
pub struct Wire {
    read: OwnedReadHalf,
    outbox: Arc<Outbox>,
    gathers: bool,
}

/// The writing side, which a round reaches too.
#[derive(Debug)]
struct Outbox {
    half: OwnedWriteHalf,
    /// The other side did not take what a round wrote, or is gone.
    trouble: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What is to be written before anything else.
    bytes: Vec<u8>,
    /// It waits for its round.
    queued: bool,
    failed: Option<io::Error>,
    /// Whoever wrote last.
    writer: Option<Waker>,
}

impl Wire {
    /// Small writes gather, where the thread writes in rounds.
    #[must_use]
    pub fn new(stream: TcpStream) -> Self {
        let (read, half) = stream.into_split();
        Self {
            read,
            outbox: Arc::new(Outbox {
                half,
                trouble: AtomicBool::new(false),
                state: Mutex::default(),
            }),
            gathers: true,
        }
    }

    /// Whether small writes gather from now on; if not, each goes to the socket at once.
    pub const fn gather(&mut self, gathers: bool) {
        self.gathers = gathers;
    }

    /// The connection itself.
    #[must_use]
    pub fn stream(&self) -> &TcpStream {
        self.read.as_ref()
    }

    /// Whether the other side does not take what was written.
    #[must_use]
    pub fn is_stuck(&self) -> bool {
        self.outbox.trouble.load(Relaxed)
    }

    fn poll_write_slices(
        &self,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outbox = &self.outbox;
        let mut state = outbox.state.lock();
        let total: usize = slices.iter().map(|slice| slice.len()).sum();
        let small = state.bytes.len().saturating_add(total) <= MOST_BYTES;
        if self.gathers && small && total > 0 && IN_ROUNDS.get() && !self.is_stuck() {
            for slice in slices {
                state.bytes.extend_from_slice(slice);
            }
            let known = |writer: &Waker| writer.will_wake(cx.waker());
            if !state.writer.as_ref().is_some_and(known) {
                state.writer = Some(cx.waker().clone());
            }
            let joins = !std::mem::replace(&mut state.queued, true);
            drop(state);
            if joins && gather(outbox) >= MOST_WAITING {
                write_out();
            }
            return Poll::Ready(Ok(total));
        }
        // What came first goes first.
        ready!(outbox.poll_rest(&mut state, cx))?;
        drop(state);
        let stream = self.stream();
        loop {
            match outbox.half.try_write_vectored(slices) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    ready!(stream.poll_write_ready(cx))?;
                }
                written => return Poll::Ready(written),
            }
        }
    }
}

/// One more that waits; how many there are.
fn gather(outbox: &Arc<Outbox>) -> usize {
    WAITING.with_borrow_mut(|waiting| {
        waiting.push(Arc::clone(outbox));
        waiting.len()
    })
}

impl Outbox {
    /// The round has come.
    fn write_out(&self) {
        let mut state = self.state.lock();
        state.queued = false;
        match self.write_rest(&mut state) {
            Ok(()) => return,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => state.failed = Some(error),
        }
        self.trouble.store(true, Relaxed);
        let writer = state.writer.take();
        drop(state);
        if let Some(writer) = writer {
            writer.wake();
        }
    }

    fn write_rest(&self, state: &mut State) -> io::Result<()> {
        while !state.bytes.is_empty() {
            match self.half.try_write(&state.bytes)? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written if written == state.bytes.len() => state.bytes.clear(),
                written => drop(state.bytes.drain(..written)),
            }
        }
        Ok(())
    }

    /// Writes what is left of earlier writes.
    fn poll_rest(&self, state: &mut State, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(failed) = state.failed.take() {
            state.bytes.clear();
            self.trouble.store(false, Relaxed);
            return Poll::Ready(Err(failed));
        }
        loop {
            match self.write_rest(state) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    ready!(self.half.as_ref().poll_write_ready(cx))?;
                }
                written => {
                    self.trouble.store(false, Relaxed);
                    return Poll::Ready(written);
                }
            }
        }
    }

    /// The same, where a round came to nothing.
    fn poll_trouble(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.trouble.load(Relaxed) {
            return Poll::Ready(Ok(()));
        }
        self.poll_rest(&mut self.state.lock(), cx)
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        // Who only reads now still waits for an answer to what he wrote. That it failed, the socket says
        // to him who reads, too.
        if let Poll::Ready(Err(error)) = this.outbox.poll_trouble(cx) {
            tracing::trace!(%error, "a write that had been taken failed");
        }
        Pin::new(&mut this.read).poll_read(cx, buf)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_slices(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_slices(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.outbox.poll_trouble(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.outbox.poll_rest(&mut self.outbox.state.lock(), cx))?;
        Poll::Ready(SockRef::from(self.stream()).shutdown(Shutdown::Write))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    async fn pair() -> (Wire, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (near, far) = tokio::join!(TcpStream::connect(address), listener.accept());
        let near = near.unwrap();
        near.writable().await.unwrap();
        (Wire::new(near), far.unwrap().0)
    }

    async fn brings(far: &mut TcpStream, text: &str) {
        let mut bytes = vec![0; text.len()];
        far.read_exact(&mut bytes).await.unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap(), text);
    }

    /// Nothing has arrived, as the kernel knows.
    fn is_silent(far: &TcpStream) -> bool {
        let peeked = SockRef::from(far).peek(&mut [std::mem::MaybeUninit::uninit()]);
        peeked.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    #[tokio::test]
    async fn a_thread_without_rounds_writes_at_once() {
        let (mut wire, mut far) = pair().await;
        wire.write_all(b"one").await.unwrap();
        brings(&mut far, "one").await;
    }

    #[tokio::test]
    async fn small_writes_wait_for_the_round_and_keep_their_order() {
        in_rounds();
        let (mut wire, mut far) = pair().await;
        wire.write_all(b"one ").await.unwrap();
        wire.write_all(b"two").await.unwrap();
        wire.flush().await.unwrap();
        assert!(is_silent(&far));
        write_out();
        brings(&mut far, "one two").await;
        wire.write_all(b"three ").await.unwrap();
        wire.gather(false);
        wire.write_all(b"four").await.unwrap();
        brings(&mut far, "three four").await;
        write_out();
        assert!(is_silent(&far));
    }

    #[tokio::test]
    async fn a_round_is_over_when_enough_wait() {
        in_rounds();
        let mut pairs = Vec::new();
        for _ in 0..MOST_WAITING {
            pairs.push(pair().await);
        }
        for place in 0..MOST_WAITING {
            assert!(pairs.iter().all(|(_, far)| is_silent(far)));
            pairs[place].0.write_all(b"x").await.unwrap();
        }
        for (_, far) in &mut pairs {
            brings(far, "x").await;
        }
    }

    #[tokio::test]
    async fn nothing_is_lost_with_a_connection_that_is_dropped_or_closed() {
        in_rounds();
        for closes in [true, false] {
            let (mut wire, mut far) = pair().await;
            wire.write_all(b"last words").await.unwrap();
            if closes {
                wire.shutdown().await.unwrap();
            } else {
                drop(wire);
                write_out();
            }
            let mut text = String::new();
            far.read_to_string(&mut text).await.unwrap();
            assert_eq!(text, "last words");
        }
    }

    #[tokio::test]
    async fn what_the_other_side_does_not_take_waits_and_its_writer_is_woken() {
        in_rounds();
        let (mut wire, mut far) = pair().await;
        // The way is full.
        wire.gather(false);
        let full = [7; 64 << 10];
        let mut filled = 0;
        while let Some(Ok(written)) = futures_util::FutureExt::now_or_never(wire.write(&full)) {
            filled += written;
        }
        wire.gather(true);
        let written = poll_fn(|cx| Poll::Ready(Pin::new(&mut wire).poll_write(cx, b"end")));
        assert!(matches!(written.await, Poll::Ready(Ok(3))));
        write_out();
        assert!(wire.is_stuck());
        // Nothing overtakes it, and a flush waits for it.
        let (again, flushed) = poll_fn(|cx| {
            let again = Pin::new(&mut wire).poll_write(cx, b"?");
            Poll::Ready((again, Pin::new(&mut wire).poll_flush(cx)))
        })
        .await;
        assert!(again.is_pending() && flushed.is_pending());
        let reader = tokio::spawn(async move {
            let mut all = vec![0; filled + 3];
            far.read_exact(&mut all).await.unwrap();
            all.split_off(filled)
        });
        wire.flush().await.unwrap();
        assert!(!wire.is_stuck());
        assert_eq!(reader.await.unwrap(), b"end");
    }

    #[tokio::test]
    async fn a_write_that_failed_in_its_round_is_told_to_whoever_writes_next() {
        in_rounds();
        let (mut wire, far) = pair().await;
        SockRef::from(wire.stream())
            .shutdown(Shutdown::Write)
            .unwrap();
        wire.write_all(b"one").await.unwrap();
        write_out();
        assert!(wire.is_stuck());
        let error = wire.write_all(b"two").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        drop(far);
    }
}
