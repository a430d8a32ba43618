//! A TCP connection whose small writes wait for each other.
//!
//! A server's thread handles many requests in a row. Where each of them writes as soon as it can, the
//! kernel's way of a packet and the server's own code push each other out of the processor's caches with
//! every request, and whoever is written to falls asleep between two writes and is woken for each. So
//! on a thread with [`Rounds`] what is small is copied, and what has gathered is written together: when a
//! few connections have something, and at the latest when the tasks have run that were ready before the
//! first of them wrote. Nothing overtakes, and what the other side does not take at once waits as it
//! always did.

use parking_lot::Mutex;
use socket2::SockRef;
use std::{
    cell::RefCell,
    convert::Infallible,
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
    static ROUND: RefCell<Round> = const { RefCell::new(Round { writer: None, waiting: Vec::new() }) };
}

/// What has gathered on a thread.
struct Round {
    /// Writes it out. `None`: nothing gathers here.
    writer: Option<Waker>,
    waiting: Vec<Arc<Outbox>>,
}

/// Has small writes of this thread's [`Wire`]s gather for as long as it exists, and writes them. It never
/// ends. A server spawns one on each of its runtimes of one thread; it is to be polled on no other.
#[derive(Debug, Default)]
#[must_use = "a future does nothing unless it is polled"]
pub struct Rounds(());

impl Rounds {
    /// Nothing gathers before it is polled.
    pub const fn new() -> Self {
        Self(())
    }
}

impl Future for Rounds {
    type Output = Infallible;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Infallible> {
        ROUND.with_borrow_mut(|round| {
            let known = |writer: &Waker| writer.will_wake(cx.waker());
            if !round.writer.as_ref().is_some_and(known) {
                round.writer = Some(cx.waker().clone());
            }
        });
        write_out();
        Poll::Pending
    }
}

impl Drop for Rounds {
    fn drop(&mut self) {
        // A thread that ends may have lost its round already.
        let _ = ROUND.try_with(|round| round.borrow_mut().writer = None);
        write_out();
    }
}

/// Writes what has gathered on this thread.
fn write_out() {
    let taken = ROUND.try_with(|round| std::mem::take(&mut round.borrow_mut().waiting));
    let Ok(mut waiting) = taken else { return };
    for outbox in waiting.drain(..) {
        outbox.write_out();
    }
    // Its room is used again, unless something gathered meanwhile.
    ROUND.with_borrow_mut(|round| {
        if round.waiting.is_empty() {
            round.waiting = waiting;
        }
    });
}

/// Whether what is written on this thread gathers.
fn in_rounds() -> bool {
    ROUND.with_borrow(|round| round.writer.is_some())
}

/// One more has something to write.
fn gather(outbox: &Arc<Outbox>) {
    let waiting = ROUND.with_borrow_mut(|round| {
        round.waiting.push(Arc::clone(outbox));
        if let (1, Some(writer)) = (round.waiting.len(), &round.writer) {
            writer.wake_by_ref();
        }
        round.waiting.len()
    });
    if waiting >= MOST_WAITING {
        write_out();
    }
}

/// A TCP connection. Where its thread writes in rounds, a small write is taken at once and reaches the
/// socket with the round; a flush does not wait for that.
#[derive(Debug)]
pub struct Wire {
    read: OwnedReadHalf,
    outbox: Arc<Outbox>,
    gathers: bool,
    wrote: bool,
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
            wrote: false,
        }
    }

    /// Something new begins: whether its small writes gather, or each goes to the socket at once. From
    /// here on counts what [`Wire::wrote`] says.
    pub const fn begin(&mut self, gathers: bool) {
        self.gathers = gathers;
        self.wrote = false;
    }

    /// Whether a byte was written, or taken to be written, since [`Wire::begin`].
    #[must_use]
    pub const fn wrote(&self) -> bool {
        self.wrote
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
        if self.gathers && small && total > 0 && in_rounds() && !self.is_stuck() {
            for slice in slices {
                state.bytes.extend_from_slice(slice);
            }
            let known = |writer: &Waker| writer.will_wake(cx.waker());
            if !state.writer.as_ref().is_some_and(known) {
                state.writer = Some(cx.waker().clone());
            }
            let joins = !std::mem::replace(&mut state.queued, true);
            drop(state);
            if joins {
                gather(outbox);
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
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = this.poll_write_slices(cx, bufs);
        this.wrote |= matches!(written, Poll::Ready(Ok(1..)));
        written
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
    use std::{future::poll_fn, sync::atomic::AtomicUsize, task::Wake};
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

    /// Has writes gather on this thread, and hands over what writes them.
    fn rounds() -> Pin<Box<Rounds>> {
        let mut rounds = Box::pin(Rounds::new());
        assert!(turn(&mut rounds).is_pending());
        rounds
    }

    fn turn(rounds: &mut Pin<Box<Rounds>>) -> Poll<Infallible> {
        rounds
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
    }

    /// Counts how often it is woken.
    #[derive(Default)]
    struct Bell(AtomicUsize);

    impl Wake for Bell {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Relaxed);
        }
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
        let mut rounds = rounds();
        let (mut wire, mut far) = pair().await;
        wire.write_all(b"one ").await.unwrap();
        wire.write_all(b"two").await.unwrap();
        wire.flush().await.unwrap();
        assert!(is_silent(&far) && wire.wrote());
        assert!(turn(&mut rounds).is_pending());
        brings(&mut far, "one two").await;
        wire.write_all(b"three ").await.unwrap();
        wire.begin(false);
        assert!(!wire.wrote());
        wire.write_all(b"four").await.unwrap();
        brings(&mut far, "three four").await;
        assert!(turn(&mut rounds).is_pending());
        assert!(is_silent(&far));
        // Without rounds nothing waits any more, and what has waited is written.
        wire.begin(true);
        wire.write_all(b"five ").await.unwrap();
        drop(rounds);
        wire.write_all(b"six").await.unwrap();
        brings(&mut far, "five six").await;
    }

    #[tokio::test]
    async fn the_first_to_wait_calls_for_a_round() {
        let bell = Arc::new(Bell::default());
        let waker = Waker::from(Arc::clone(&bell));
        let mut rounds = Box::pin(Rounds::new());
        let mut cx = Context::from_waker(&waker);
        assert!(rounds.as_mut().poll(&mut cx).is_pending());
        let (mut one, _far) = pair().await;
        let (mut two, _away) = pair().await;
        for (times, wire) in [(1, &mut one), (1, &mut two)] {
            wire.write_all(b"x").await.unwrap();
            assert_eq!(bell.0.load(Relaxed), times);
        }
        assert!(rounds.as_mut().poll(&mut cx).is_pending());
        one.write_all(b"x").await.unwrap();
        assert_eq!(bell.0.load(Relaxed), 2);
    }

    #[tokio::test]
    async fn a_task_writes_what_others_of_its_thread_left() {
        let task = tokio::spawn(Rounds::new());
        tokio::task::yield_now().await;
        let (mut wire, mut far) = pair().await;
        wire.write_all(b"one").await.unwrap();
        assert!(is_silent(&far));
        brings(&mut far, "one").await;
        task.abort();
    }

    #[tokio::test]
    async fn a_round_is_over_when_enough_wait() {
        let _rounds = rounds();
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
        let mut rounds = rounds();
        for closes in [true, false] {
            let (mut wire, mut far) = pair().await;
            wire.write_all(b"last words").await.unwrap();
            if closes {
                wire.shutdown().await.unwrap();
            } else {
                drop(wire);
                assert!(turn(&mut rounds).is_pending());
            }
            let mut text = String::new();
            far.read_to_string(&mut text).await.unwrap();
            assert_eq!(text, "last words");
        }
    }

    #[tokio::test]
    async fn what_the_other_side_does_not_take_waits_and_its_writer_is_woken() {
        let mut rounds = rounds();
        let (mut wire, mut far) = pair().await;
        // The way is full.
        wire.begin(false);
        let full = [7; 64 << 10];
        let mut filled = 0;
        while let Some(Ok(written)) = futures_util::FutureExt::now_or_never(wire.write(&full)) {
            filled += written;
        }
        wire.begin(true);
        let bell = Arc::new(Bell::default());
        let waker = Waker::from(Arc::clone(&bell));
        let written = Pin::new(&mut wire).poll_write(&mut Context::from_waker(&waker), b"end");
        assert!(matches!(written, Poll::Ready(Ok(3))));
        assert!(!wire.is_stuck() && bell.0.load(Relaxed) == 0);
        assert!(turn(&mut rounds).is_pending());
        assert!(wire.is_stuck() && bell.0.load(Relaxed) == 1);
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
        let mut rounds = rounds();
        let (mut wire, far) = pair().await;
        SockRef::from(wire.stream())
            .shutdown(Shutdown::Write)
            .unwrap();
        wire.write_all(b"one").await.unwrap();
        assert!(turn(&mut rounds).is_pending());
        assert!(wire.is_stuck());
        let error = wire.write_all(b"two").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        drop(far);
    }
}
