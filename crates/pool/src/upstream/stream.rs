//! The socket under a connection.
//!
//! Beside moving bytes it says whether any was written since the last request began: the strongest
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

/// A connection with or without TLS.
#[derive(Debug)]
pub(super) enum Stream {
    Plain(Wire),
    Tls(Box<TlsStream<Wire>>),
}

impl Stream {
    /// The connection under it. Nothing gathers there before a request says that it may.
    pub(super) fn wire(socket: TcpStream) -> Wire {
        let mut wire = Wire::new(socket);
        wire.begin(false);
        wire
    }

    /// Whether a byte was written, or taken to be written, since [`Stream::begin`].
    pub(super) fn wrote(&self) -> bool {
        match self {
            Self::Plain(wire) => wire.wrote(),
            Self::Tls(tls) => tls.get_ref().0.wrote(),
        }
    }

    /// A request begins; whether it may wait for others that are written together with it.
    pub(super) fn begin(&mut self, gathers: bool) {
        match self {
            Self::Plain(wire) => wire.begin(gathers),
            Self::Tls(tls) => tls.get_mut().0.begin(gathers),
        }
    }

    /// Whether the other side has neither closed nor sent anything, as far as the event loop knows.
    pub(super) fn is_silent(&mut self, cx: &mut Context<'_>) -> bool {
        let mut byte = [0];
        match self {
            // No waker is left behind, and without news from the event loop no system call made.
            Self::Plain(wire) => {
                let read = wire.stream().try_read(&mut byte);
                read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
            }
            // What has arrived may be none of the other side's words, a session ticket for one.
            Self::Tls(tls) => Pin::new(tls)
                .poll_read(cx, &mut ReadBuf::new(&mut byte))
                .is_pending(),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(wire) => Pin::new(wire).poll_read(cx, buf),
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
            Self::Plain(wire) => Pin::new(wire).poll_write(cx, buf),
            Self::Tls(tls) => Pin::new(tls).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(wire) => Pin::new(wire).poll_write_vectored(cx, bufs),
            Self::Tls(tls) => Pin::new(tls).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(wire) => wire.is_write_vectored(),
            Self::Tls(tls) => tls.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(wire) => Pin::new(wire).poll_flush(cx),
            Self::Tls(tls) => Pin::new(tls).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(wire) => Pin::new(wire).poll_shutdown(cx),
            Self::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }
}
