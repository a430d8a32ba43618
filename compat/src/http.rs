//! A plain HTTP/1.1 client: one connection, kept alive, no retry and no cleverness, so that every
//! fault of the other side is seen by the test. And the reading of requests, for what plays the
//! other side.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

/// A call may take this long before the test calls it lost.
const PATIENCE: Duration = Duration::from_secs(60);

/// One connection to one server.
#[derive(Debug)]
pub struct Http {
    to: SocketAddr,
    stream: Option<BufReader<TcpStream>>,
    connections: usize,
}

/// A whole HTTP answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The body, as it came.
    pub body: Vec<u8>,
    /// What the header `X-Highwater-Cache` says, where there is one.
    pub cache: Option<String>,
}

impl Answer {
    /// The body as text, for messages and comparisons.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Http {
    /// A client of `to`; connects on first use.
    #[must_use]
    pub const fn new(to: SocketAddr) -> Self {
        Self {
            to,
            stream: None,
            connections: 0,
        }
    }

    /// How many connections were opened so far.
    #[must_use]
    pub const fn connections(&self) -> usize {
        self.connections
    }

    /// Posts `body` as JSON to `/`.
    ///
    /// # Errors
    /// Whatever the socket says, and an answer that is not HTTP. Nothing is sent twice.
    pub fn post(&mut self, body: &str) -> io::Result<Answer> {
        let head = format!(
            "POST / HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n",
            self.to,
            body.len()
        );
        self.exchange(&[head.as_bytes(), body.as_bytes()].concat())
    }

    /// Gets `path`.
    ///
    /// # Errors
    /// As [`post`](Self::post).
    pub fn get(&mut self, path: &str) -> io::Result<Answer> {
        let head = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.to);
        self.exchange(head.as_bytes())
    }

    fn exchange(&mut self, request: &[u8]) -> io::Result<Answer> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => self.connect()?,
        };
        stream.get_mut().write_all(request)?;
        let (answer, keep) = read_answer(&mut stream)?;
        if keep {
            self.stream = Some(stream);
        }
        Ok(answer)
    }

    fn connect(&mut self) -> io::Result<BufReader<TcpStream>> {
        let stream = TcpStream::connect_timeout(&self.to, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        self.connections += 1;
        Ok(BufReader::new(stream))
    }
}

/// A whole HTTP request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// The path it is for.
    pub(crate) target: String,
    /// Its body, without framing.
    pub(crate) body: Vec<u8>,
    /// All of it, as it came.
    pub(crate) bytes: Vec<u8>,
}

/// Reads one request; `None` when the client has closed the connection.
pub(crate) fn read_request(stream: &mut impl BufRead) -> io::Result<Option<Request>> {
    if stream.fill_buf()?.is_empty() {
        return Ok(None);
    }
    let mut stream = Copied {
        from: stream,
        bytes: Vec::new(),
    };
    let line = read_line(&mut stream)?;
    let target = line
        .split(' ')
        .nth(1)
        .ok_or_else(|| bad(&format!("request line {line:?}")))?
        .to_owned();
    let Head {
        length, chunked, ..
    } = read_head(&mut stream)?;
    let body = if chunked {
        read_chunks(&mut stream)?
    } else {
        read_exactly(&mut stream, length.unwrap_or(0))?
    };
    Ok(Some(Request {
        target,
        body,
        bytes: stream.bytes,
    }))
}

/// A reader that keeps what was read.
struct Copied<'a, R> {
    from: &'a mut R,
    bytes: Vec<u8>,
}

impl<R: BufRead> Read for Copied<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.from.read(into)?;
        self.bytes.extend_from_slice(&into[..length]);
        Ok(length)
    }
}

impl<R: BufRead> BufRead for Copied<'_, R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.from.fill_buf()
    }

    fn consume(&mut self, length: usize) {
        // The buffer is filled, or there would be nothing to consume: this reads nothing.
        if let Ok(buffer) = self.from.fill_buf() {
            self.bytes.extend_from_slice(&buffer[..length]);
        }
        self.from.consume(length);
    }
}

/// What the headers say about the body.
struct Head {
    length: Option<usize>,
    chunked: bool,
    keep: bool,
    cache: Option<String>,
}

fn read_answer(stream: &mut impl BufRead) -> io::Result<(Answer, bool)> {
    let status_line = read_line(stream)?;
    let status = status_line
        .strip_prefix("HTTP/1.1 ")
        .and_then(|rest| rest.get(..3))
        .and_then(|code| code.parse().ok())
        .ok_or_else(|| bad(&format!("status line {status_line:?}")))?;
    let Head {
        length,
        chunked,
        keep,
        cache,
    } = read_head(stream)?;
    let body = match (chunked, length) {
        (true, None) => read_chunks(stream)?,
        (false, Some(length)) => read_exactly(stream, length)?,
        (false, None) if status == 204 => Vec::new(),
        (true, Some(_)) | (false, None) => return Err(bad("framing of the body")),
    };
    let answer = Answer {
        status,
        body,
        cache,
    };
    Ok((answer, keep))
}

fn read_head(stream: &mut impl BufRead) -> io::Result<Head> {
    let mut head = Head {
        length: None,
        chunked: false,
        keep: true,
        cache: None,
    };
    loop {
        let line = read_line(stream)?;
        if line.is_empty() {
            return Ok(head);
        }
        let (name, value) = line
            .split_once(':')
            .ok_or_else(|| bad("header without a colon"))?;
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => {
                head.length = Some(value.parse::<usize>().map_err(|_| bad("content-length"))?);
            }
            "transfer-encoding" => head.chunked = value.eq_ignore_ascii_case("chunked"),
            "x-highwater-cache" => head.cache = Some(value.to_owned()),
            "connection" => head.keep = !value.eq_ignore_ascii_case("close"),
            _ => {}
        }
    }
}

fn read_chunks(stream: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = read_line(stream)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| bad("chunk size"))?;
        if size == 0 {
            while !read_line(stream)?.is_empty() {}
            return Ok(body);
        }
        body.extend(read_exactly(stream, size)?);
        if !read_line(stream)?.is_empty() {
            return Err(bad("end of a chunk"));
        }
    }
}

fn read_exactly(stream: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok(body)
}

fn read_line(stream: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "closed before the answer",
        ));
    }
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> io::Result<(Answer, bool)> {
        read_answer(&mut text.as_bytes())
    }

    #[test]
    fn reads_both_framings_and_the_wish_to_close() {
        let whole = read("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
        assert_eq!(
            whole,
            (
                Answer {
                    status: 200,
                    body: b"ok".to_vec(),
                    cache: None,
                },
                true
            )
        );
        let parts = read(
            "HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n\
                  2\r\nok\r\n1;x=y\r\n!\r\n0\r\n\r\n",
        )
        .unwrap();
        assert_eq!(
            parts,
            (
                Answer {
                    status: 503,
                    body: b"ok!".to_vec(),
                    cache: None,
                },
                false
            )
        );
    }

    #[test]
    fn reads_requests_of_both_framings_one_after_the_other_and_keeps_their_bytes() {
        let first = "POST /x HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}";
        let second =
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n[\r\n1\r\n]\r\n0\r\n\r\n";
        let both = format!("{first}{second}");
        let mut stream = both.as_bytes();
        let request = |target: &str, body: &str, bytes: &str| Request {
            target: target.to_owned(),
            body: body.as_bytes().to_vec(),
            bytes: bytes.as_bytes().to_vec(),
        };
        let read = read_request(&mut stream).unwrap();
        assert_eq!(read, Some(request("/x", "{}", first)));
        let read = read_request(&mut stream).unwrap();
        assert_eq!(read, Some(request("/", "[]", second)));
        assert_eq!(read_request(&mut stream).unwrap(), None);
        assert!(read_request(&mut &first.as_bytes()[..first.len() - 1]).is_err());
    }

    #[test]
    fn a_cut_or_unframed_answer_is_an_error() {
        assert!(read("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok").is_err());
        assert!(read("HTTP/1.1 200 OK\r\n\r\nok").is_err());
        assert!(read("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n").is_err());
        assert!(read("").is_err());
    }
}
