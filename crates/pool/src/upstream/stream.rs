//! The socket under a connection.
//!
//! Beside moving bytes it notes whether any was written since the last request began: the strongest
//! proof there is that a request was not sent. Bytes that TLS took and that never reached the
//! socket were not sent.

use crate::worker::Wire;
use std::{
    io::{self, ErrorKind, IoSlice},
    pin::Pin,
    task::{Context, Poll},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;

/// A TCP connection that notes whether it was written to.
#[derive(Debug)]
pub(super) struct Tcp {
    pub(super) wire: Wire,
    wrote: bool,
}

/// A connection with or without TLS.
#[derive(Debug)]
pub(super) enum Stream {
    Plain(Tcp),
    Tls(Box<TlsStream<Tcp>>),
}

impl Stream {
    /// Whether a byte was written, or taken to be written, since [`Stream::begin`].
    pub(super) fn wrote(&self) -> bool {
        match self {
            Self::Plain(tcp) => tcp.wrote,
            Self::Tls(tls) => tls.get_ref().0.wrote,
        }
    }

    /// A request begins; whether it may wait for others that are written together with it.
    pub(super) fn begin(&mut self, gathers: bool) {
        let tcp = match self {
            Self::Plain(tcp) => tcp,
            Self::Tls(tls) => tls.get_mut().0,
        };
        tcp.wrote = false;
        tcp.wire.gather(gathers);
    }

    /// Whether the other side has neither closed nor sent anything, as far as the event loop knows.
    pub(super) fn is_silent(&mut self, cx: &mut Context<'_>) -> bool {
        let mut byte = [0];
        match self {
            // No waker is left behind, and without news from the event loop no system call made.
            Self::Plain(tcp) => {
                let read = tcp.wire.stream().try_read(&mut byte);
                read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
            }
            // What has arrived may be none of the other side's words, a session ticket for one.
            Self::Tls(tls) => Pin::new(tls)
                .poll_read(cx, &mut ReadBuf::new(&mut byte))
                .is_pending(),
        }
    }
}

impl Tcp {
    pub(super) fn new(socket: TcpStream) -> Self {
        let mut wire = Wire::new(socket);
        // Not before a request says that it may.
        wire.gather(false);
        Self { wire, wrote: false }
    }

    fn note(&mut self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        self.wrote |= matches!(written, Poll::Ready(Ok(1..)));
        written
    }
}

impl AsyncRead for Tcp {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().wire).poll_read(cx, buf)
    }
}

impl AsyncWrite for Tcp {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.wire).poll_write(cx, buf);
        this.note(written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.wire).poll_write_vectored(cx, bufs);
        this.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.wire.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().wire).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().wire).poll_shutdown(cx)
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
