//! One request and its answer on one HTTP/1.1 connection.
//!
//! Reading begins as soon as the first byte is written: a server may answer early, with 413 or 429,
//! and that is the answer. The connection is kept only when nothing about it is in doubt.

use super::{
    fault::SendErrorKind,
    framing::{Framing, Step},
    head::{Fields, Head, HeadReader},
    http::Repeat,
    link::Link,
    outgoing::{Opening, Outgoing},
};
use ::http::HeaderMap;
use bytes::Bytes;
use std::task::{Context, Poll, ready};

/// A request under way.
pub(super) struct Exchange<'a> {
    link: Link,
    outgoing: Outgoing<'a>,
    writing: Writing,
    head: HeadReader,
    framing: Framing,
    /// Whether the connection may serve another request, as far as is known.
    lasts: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writing {
    UnderWay,
    Done,
    /// The other side takes no more of it. What it says about that may have arrived.
    Broken,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// The connection was dead before anything was written.
    Dead,
    /// Something was written.
    Failed(SendErrorKind),
}

impl<'a> Exchange<'a> {
    #[inline]
    pub(super) fn new(
        mut link: Link,
        opening: &'a Opening,
        body: &'a [u8],
        fields: Fields,
        repeat: Repeat,
    ) -> Self {
        // Of a submission it must be known whether it was written.
        link.begin(repeat == Repeat::Elsewhere);
        Self {
            link,
            outgoing: Outgoing::new(opening, body),
            writing: Writing::UnderWay,
            head: HeadReader::new(fields),
            framing: Framing::UntilClose,
            lasts: false,
        }
    }

    /// Whether a byte of the request was written to the socket.
    pub(super) fn wrote(&self) -> bool {
        self.link.wrote()
    }

    /// Writes the request and reads the head of the answer: its status, its headers, and the length
    /// of the body where it is stated.
    pub(super) fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(u16, HeaderMap, u64), Broken>> {
        // Nobody was asked anything yet, so whatever is there is no answer.
        if !self.link.wrote() && !self.link.is_silent(cx) {
            return Poll::Ready(Err(Broken::Dead));
        }
        self.write(cx);
        if !self.link.wrote() {
            return match self.writing {
                Writing::UnderWay => Poll::Pending,
                Writing::Done | Writing::Broken => Poll::Ready(Err(Broken::Dead)),
            };
        }
        loop {
            let head = self.head.read(self.link.buf());
            if let Some(head) = head.map_err(Broken::Failed)? {
                return Poll::Ready(Ok(self.begin_body(head)));
            }
            let kind = match ready!(self.link.poll_read(cx, 0)) {
                Ok(1..) => continue,
                Ok(0) => HeadReader::cut(self.link.buf()),
                Err(_) => SendErrorKind::Reset,
            };
            return Poll::Ready(Err(Broken::Failed(kind)));
        }
    }

    fn begin_body(&mut self, head: Head) -> (u16, HeaderMap, u64) {
        self.framing = head.framing;
        // An early answer may be followed by whatever the rest of the request is taken for.
        self.lasts = head.lasts && self.writing == Writing::Done;
        (head.status, head.headers, self.framing.expected())
    }

    /// Reads the next piece of the body; `None` at its end.
    pub(super) fn poll_piece(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, SendErrorKind>>> {
        loop {
            match self.framing.step(self.link.buf()) {
                Ok(Step::Piece(piece)) => return Poll::Ready(Some(Ok(piece))),
                Ok(Step::End) => return Poll::Ready(None),
                Ok(Step::More) => {}
                Err(kind) => return Poll::Ready(Some(Err(kind))),
            }
            self.write(cx);
            let read = ready!(self.link.poll_read(cx, self.framing.expected()));
            return match (read, &self.framing) {
                (Ok(1..), _) => continue,
                (Ok(0), Framing::UntilClose) => Poll::Ready(None),
                (Ok(0) | Err(_), _) => Poll::Ready(Some(Err(SendErrorKind::Reset))),
            };
        }
    }

    /// The connection, if it may serve another request. The answer is read to its end.
    pub(super) fn finish(mut self) -> Option<Link> {
        let ended = match self.framing {
            Framing::Length(_) | Framing::Chunked(_) => true,
            Framing::UntilClose => false,
        };
        // Bytes that follow the answer were not asked for.
        if !ended || !self.lasts || !self.link.buf().is_empty() {
            return None;
        }
        self.link.rest();
        Some(self.link)
    }

    #[inline]
    fn write(&mut self, cx: &mut Context<'_>) {
        if self.writing == Writing::UnderWay {
            self.writing = match self.link.poll_write(cx, &mut self.outgoing) {
                Poll::Ready(Ok(())) => Writing::Done,
                Poll::Ready(Err(_)) => Writing::Broken,
                Poll::Pending => Writing::UnderWay,
            };
        }
    }
}
