//! HTTP/1.1 by hand: one request in, scripted bytes out.
//!
//! A server library would mend what the lab wants broken: it would complete a truncated body,
//! refuse a wrong length, close politely instead of resetting. So requests are read with a bare
//! header parser and answers are lists of [`Step`]s that are played to the socket as they stand.

use std::io;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::gate::Gate;

/// Most bytes of one request, headers and body: 64 MiB. The lab is a test tool, but not a trap.
const MAX_REQUEST: usize = 64 << 20;
/// Most headers of one request.
const MAX_HEADERS: usize = 96;

/// One HTTP request as it came.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    /// `POST`, `GET`, …
    pub method: String,
    /// The request target, query included.
    pub target: String,
    /// Names in lower case, in the order sent.
    pub headers: Vec<(String, String)>,
    /// The body, transfer coding removed.
    pub body: Bytes,
}

impl HttpRequest {
    /// The first value of a header; `name` in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}

/// One HTTP answer, as far as a caller needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HttpAnswer {
    pub(super) status: u16,
    /// The body, transfer coding removed.
    pub(super) body: Bytes,
    /// Whether the connection can carry another request.
    pub(super) kept: bool,
}

/// One thing done to the socket.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Write these bytes.
    Send(Bytes),
    /// Write these bytes this many times; `u64::MAX` never ends.
    Repeat(Bytes, u64),
    /// Wait for a test.
    Await(Gate),
    /// Wait for the clock; only simulated nodes with a latency do.
    Pause(Duration),
    /// Wait until the client leaves.
    Silence,
    /// Close the connection in order.
    Close,
    /// Close the connection with a TCP reset: unread and unsent bytes are lost.
    Reset,
}

/// How playing an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Played {
    /// All written; the connection can carry another request.
    Kept,
    /// The script closed the connection.
    Closed,
    /// The client went away before the script was over.
    Abandoned,
}

/// A connection with what was read ahead of the current request.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    ahead: BytesMut,
}

impl Connection {
    /// Wraps an accepted socket.
    #[must_use]
    pub(super) fn new(stream: TcpStream) -> Self {
        // Without it a drip of small writes would wait for the peer's delayed acknowledgements.
        let _ = stream.set_nodelay(true);
        Self {
            stream,
            ahead: BytesMut::new(),
        }
    }

    /// Closes with a TCP reset.
    pub(super) fn reset(self) {
        let _ = self.stream.set_zero_linger();
    }

    /// Reads one request; `None` when the client closed between requests.
    ///
    /// # Errors
    ///
    /// I/O errors, and `InvalidData` for bytes that are no HTTP/1.x request.
    pub(super) async fn read_request(&mut self) -> io::Result<Option<HttpRequest>> {
        let (mut request, framing) = loop {
            if let Some(head) = parse_head(&mut self.ahead)? {
                break head;
            }
            if !self.read_more().await? {
                return if self.ahead.is_empty() {
                    Ok(None)
                } else {
                    Err(io::ErrorKind::UnexpectedEof.into())
                };
            }
        };
        request.body = match framing {
            Framing::Length(length) => self.read_exactly(length).await?,
            Framing::Chunked => self.read_chunks().await?,
        };
        Ok(Some(request))
    }

    /// Writes bytes as they stand.
    ///
    /// # Errors
    ///
    /// I/O errors.
    pub(super) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// Reads one answer.
    ///
    /// # Errors
    ///
    /// I/O errors, `UnexpectedEof` when the connection ends before the answer, and `InvalidData`
    /// for bytes that are no HTTP/1.x answer of known length.
    pub(super) async fn read_answer(&mut self) -> io::Result<HttpAnswer> {
        let (mut answer, framing) = loop {
            if let Some(head) = parse_answer_head(&mut self.ahead)? {
                break head;
            }
            if !self.read_more().await? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        };
        answer.body = match framing {
            Framing::Length(length) => self.read_exactly(length).await?,
            Framing::Chunked => self.read_chunks().await?,
        };
        Ok(answer)
    }

    /// Plays an answer.
    pub(super) async fn play(&mut self, steps: &[Step]) -> Played {
        for step in steps {
            match step {
                Step::Send(bytes) => {
                    if self.stream.write_all(bytes).await.is_err() {
                        return Played::Abandoned;
                    }
                }
                Step::Repeat(bytes, times) => {
                    for _ in 0..*times {
                        if self.stream.write_all(bytes).await.is_err() {
                            return Played::Abandoned;
                        }
                    }
                }
                Step::Await(gate) => {
                    tokio::select! {
                        () = gate.pass() => {}
                        () = gone(&self.stream) => return Played::Abandoned,
                    }
                }
                Step::Pause(duration) => {
                    tokio::select! {
                        () = tokio::time::sleep(*duration) => {}
                        () = gone(&self.stream) => return Played::Abandoned,
                    }
                }
                Step::Silence => {
                    gone(&self.stream).await;
                    return Played::Abandoned;
                }
                Step::Close => {
                    let _ = self.stream.shutdown().await;
                    return Played::Closed;
                }
                Step::Reset => {
                    let _ = self.stream.set_zero_linger();
                    return Played::Closed;
                }
            }
        }
        Played::Kept
    }

    async fn read_more(&mut self) -> io::Result<bool> {
        if self.ahead.len() > MAX_REQUEST {
            return Err(invalid("request larger than the lab accepts"));
        }
        Ok(self.stream.read_buf(&mut self.ahead).await? > 0)
    }

    async fn read_exactly(&mut self, length: usize) -> io::Result<Bytes> {
        if length > MAX_REQUEST {
            return Err(invalid("request larger than the lab accepts"));
        }
        while self.ahead.len() < length {
            if !self.read_more().await? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(self.ahead.split_to(length).freeze())
    }

    async fn read_chunks(&mut self) -> io::Result<Bytes> {
        let mut body = BytesMut::new();
        loop {
            let (skip, size) = loop {
                match httparse::parse_chunk_size(&self.ahead) {
                    Ok(httparse::Status::Complete(found)) => break found,
                    Ok(httparse::Status::Partial) => {
                        if !self.read_more().await? {
                            return Err(io::ErrorKind::UnexpectedEof.into());
                        }
                    }
                    Err(_) => return Err(invalid("bad chunk size")),
                }
            };
            self.ahead.advance(skip);
            let size = usize::try_from(size).map_err(|_| invalid("bad chunk size"))?;
            if size.saturating_add(body.len()) > MAX_REQUEST {
                return Err(invalid("request larger than the lab accepts"));
            }
            let chunk = self.read_exactly(size + 2).await?;
            if size == 0 {
                return Ok(body.freeze());
            }
            body.extend_from_slice(&chunk[..size]);
        }
    }
}

enum Framing {
    Length(usize),
    Chunked,
}

fn parse_head(ahead: &mut BytesMut) -> io::Result<Option<(HttpRequest, Framing)>> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let end = match parsed.parse(ahead) {
        Ok(httparse::Status::Complete(end)) => end,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err(invalid("not an HTTP/1.x request")),
    };
    let (kept, framing) = read_headers(parsed.headers)?;
    let framing = framing.unwrap_or(Framing::Length(0));
    let request = HttpRequest {
        method: parsed.method.unwrap_or_default().to_owned(),
        target: parsed.path.unwrap_or_default().to_owned(),
        headers: kept,
        body: Bytes::new(),
    };
    ahead.advance(end);
    Ok(Some((request, framing)))
}

fn parse_answer_head(ahead: &mut BytesMut) -> io::Result<Option<(HttpAnswer, Framing)>> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Response::new(&mut headers);
    let end = match parsed.parse(ahead) {
        Ok(httparse::Status::Complete(end)) => end,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err(invalid("not an HTTP/1.x answer")),
    };
    let (headers, framing) = read_headers(parsed.headers)?;
    let closes = |(name, value): &(String, String)| name == "connection" && value.contains("close");
    let answer = HttpAnswer {
        status: parsed.code.unwrap_or_default(),
        body: Bytes::new(),
        kept: !headers.iter().any(closes),
    };
    ahead.advance(end);
    let framing = framing.ok_or_else(|| invalid("an answer of unknown length"))?;
    Ok(Some((answer, framing)))
}

type Headers = Vec<(String, String)>;

/// Headers with names in lower case, and how the body is framed if they say so.
fn read_headers(headers: &[httparse::Header<'_>]) -> io::Result<(Headers, Option<Framing>)> {
    let mut framing = None;
    let mut kept = Vec::with_capacity(headers.len());
    for header in headers {
        let name = header.name.to_ascii_lowercase();
        let value = String::from_utf8_lossy(header.value).into_owned();
        if name == "transfer-encoding" && value.eq_ignore_ascii_case("chunked") {
            framing = Some(Framing::Chunked);
        } else if name == "content-length" && !matches!(framing, Some(Framing::Chunked)) {
            let length = value.trim().parse();
            framing = Some(Framing::Length(
                length.map_err(|_| invalid("bad content-length"))?,
            ));
        }
        kept.push((name, value));
    }
    Ok((kept, framing))
}

/// Resolves when the peer has closed or reset. Bytes of a next request do not count as leaving.
async fn gone(stream: &TcpStream) {
    let mut byte = [0_u8; 1];
    match stream.peek(&mut byte).await {
        Ok(0) | Err(_) => {}
        // Whether it leaves later cannot be seen behind unread bytes; the write will tell.
        Ok(_) => std::future::pending().await,
    }
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
