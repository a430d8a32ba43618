//! The socket under a connection.
//!
//! Beside moving bytes it notes whether any was written since the last request began: the strongest
//! proof there is that a request was not sent. It also bounds what may come before the head of
//! an answer: the HTTP library skips 1xx heads without end, and an endpoint that sends nothing else
//! would keep a worker busy with them (hardening E2).

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;

/// Most bytes that are read between a request and the head of its answer, the beginning of the body
/// that comes with it included.
const BEFORE_HEAD: usize = 4 << 20;

/// What happened on a connection since [`Trace::clear`].
#[derive(Debug)]
pub(super) struct Trace {
    /// A byte was written.
    wrote: AtomicBool,
    /// So many bytes may still be read.
    room: AtomicUsize,
}

impl Default for Trace {
    fn default() -> Self {
        Self {
            wrote: AtomicBool::new(false),
            room: AtomicUsize::new(usize::MAX),
        }
    }
}

impl Trace {
    /// A request begins.
    pub(super) fn clear(&self) {
        self.wrote.store(false, Ordering::Relaxed);
        self.room.store(BEFORE_HEAD, Ordering::Relaxed);
    }

    /// The head of the answer is there; the body has limits of its own.
    pub(super) fn head_came(&self) {
        self.room.store(usize::MAX, Ordering::Relaxed);
    }

    pub(super) fn wrote(&self) -> bool {
        self.wrote.load(Ordering::Relaxed)
    }

    /// Counts bytes that were read. One task does all this: no read-modify-write is needed.
    fn read(&self, bytes: usize) -> io::Result<()> {
        let room = self.room.load(Ordering::Relaxed);
        let left = room.checked_sub(bytes);
        self.room.store(left.unwrap_or(0), Ordering::Relaxed);
        left.map(|_| ())
            .ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn note(&self, written: &Poll<io::Result<usize>>) {
        if matches!(written, Poll::Ready(Ok(1..))) && !self.wrote() {
            self.wrote.store(true, Ordering::Relaxed);
        }
    }
}

/// A TCP connection that notes whether it was written to.
#[derive(Debug)]
pub(super) struct Tcp {
    pub(super) socket: TcpStream,
    pub(super) trace: Arc<Trace>,
}

/// A connection with or without TLS.
#[derive(Debug)]
pub(super) enum Stream {
    Plain(Tcp),
    Tls(Box<TlsStream<Tcp>>),
}

impl AsyncRead for Tcp {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        ready!(Pin::new(&mut this.socket).poll_read(cx, buf))?;
        Poll::Ready(this.trace.read(buf.filled().len() - before))
    }
}

impl AsyncWrite for Tcp {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.socket).poll_write(cx, buf);
        this.trace.note(&written);
        written
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.socket).poll_write_vectored(cx, bufs);
        this.trace.note(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(cx)
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_read(cx, buf),
            Self::Tls(tls) => Pin::new(tls).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_write(cx, buf),
            Self::Tls(tls) => Pin::new(tls).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_write_vectored(cx, bufs),
            Self::Tls(tls) => Pin::new(tls).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(tcp) => tcp.is_write_vectored(),
            Self::Tls(tls) => tls.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_flush(cx),
            Self::Tls(tls) => Pin::new(tls).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Self::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }
}
