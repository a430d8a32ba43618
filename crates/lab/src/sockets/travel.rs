//! How a body travels: status, headers, framing, coding, gates, cuts and endings.

use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::gate::Gate;
use super::wire::Step;

/// Size of one generated piece of a huge body: 64 KiB.
const PIECE: usize = 64 << 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    Length,
    /// `Content-Length` says this many bytes, whatever follows.
    Claimed(u64),
    Chunked(usize),
    UntilClose,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Keep,
    Close,
    Reset,
}

#[derive(Clone, Debug)]
pub(super) struct Travel {
    pub(super) status: u16,
    pub(super) content_type: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) framing: Framing,
    pub(super) gzip: bool,
    /// Gate passed before the first byte.
    pub(super) held: Option<Gate>,
    /// Gate passed before each piece of so many bytes.
    pub(super) drip: Option<(usize, Gate)>,
    /// Body bytes after which the connection ends.
    pub(super) cut: Option<usize>,
    pub(super) ending: Ending,
    pub(super) silent: bool,
}

impl Travel {
    pub(super) fn plain() -> Self {
        Self {
            status: 200,
            content_type: "application/json".to_owned(),
            headers: Vec::new(),
            framing: Framing::Length,
            gzip: false,
            held: None,
            drip: None,
            cut: None,
            ending: Ending::Keep,
            silent: false,
        }
    }
}

pub(super) fn travel(how: &Travel, body: Bytes) -> Vec<Step> {
    let mut steps: Vec<Step> = how.held.clone().map(Step::Await).into_iter().collect();
    if !how.silent {
        let body = if how.gzip { gzip(&body) } else { body };
        let sent = body.slice(..how.cut.map_or(body.len(), |cut| cut.min(body.len())));
        let (piece, gate) = match &how.drip {
            Some((piece, gate)) => (*piece, Some(gate)),
            None => (usize::MAX, None),
        };
        let head = head(how, body.len() as u64);
        // Without a drip the head and the body are one write, as a real server would make it.
        let mut written = head;
        let whole = how.cut.is_none_or(|cut| cut >= body.len());
        let piece = match how.framing {
            Framing::Chunked(chunk) => piece.min(chunk),
            Framing::Length | Framing::Claimed(_) | Framing::UntilClose => piece,
        };
        let mut rest = sent;
        while !rest.is_empty() {
            let part = rest.split_to(piece.min(rest.len()));
            if let Some(gate) = gate {
                steps.push(Step::Send(std::mem::take(&mut written).into()));
                steps.push(Step::Await(gate.clone()));
            }
            match how.framing {
                Framing::Chunked(_) => {
                    written.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
                    written.extend_from_slice(&part);
                    written.extend_from_slice(b"\r\n");
                }
                Framing::Length | Framing::Claimed(_) | Framing::UntilClose => {
                    written.extend_from_slice(&part);
                }
            }
        }
        if whole && matches!(how.framing, Framing::Chunked(_)) {
            written.extend_from_slice(b"0\r\n\r\n");
        }
        steps.push(Step::Send(written.into()));
    }
    steps.extend(end(how.ending));
    steps
}

fn end(ending: Ending) -> Option<Step> {
    match ending {
        Ending::Keep => None,
        Ending::Close => Some(Step::Close),
        Ending::Reset => Some(Step::Reset),
    }
}

fn head(how: &Travel, length: u64) -> Vec<u8> {
    let reason = reason(how.status);
    let mut head = format!("HTTP/1.1 {} {reason}\r\n", how.status);
    let mut line = |name: &str, value: &str| {
        head.push_str(name);
        head.push_str(": ");
        head.push_str(value);
        head.push_str("\r\n");
    };
    line("content-type", &how.content_type);
    if how.gzip {
        line("content-encoding", "gzip");
    }
    for (name, value) in &how.headers {
        line(name, value);
    }
    match how.framing {
        Framing::Length => line("content-length", &length.to_string()),
        Framing::Claimed(claimed) => line("content-length", &claimed.to_string()),
        Framing::Chunked(_) => line("transfer-encoding", "chunked"),
        Framing::UntilClose => line("connection", "close"),
    }
    head.push_str("\r\n");
    head.into_bytes()
}

pub(super) fn play_huge(how: &Travel, len: u64, id: Option<&str>) -> Vec<Step> {
    let id = id.unwrap_or("null");
    let before = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"0x"#);
    let after = "\"}";
    let filling = len.saturating_sub((before.len() + after.len()) as u64);
    let (pieces, rest) = (filling / PIECE as u64, filling % PIECE as u64);
    let rest = usize::try_from(rest).unwrap_or(0);
    let length = (before.len() + after.len()) as u64 + filling;
    let mut steps: Vec<Step> = how.held.clone().map(Step::Await).into_iter().collect();
    steps.push(Step::Send(head(how, length).into()));
    steps.push(Step::Send(before.into()));
    steps.push(Step::Repeat(vec![b'a'; PIECE].into(), pieces));
    steps.push(Step::Send(vec![b'a'; rest].into()));
    steps.push(Step::Send(Bytes::from_static(after.as_bytes())));
    steps.extend(end(how.ending));
    steps
}

pub(super) fn play_endless(how: &Travel) -> Vec<Step> {
    let how = Travel {
        framing: Framing::Chunked(PIECE),
        ..how.clone()
    };
    let mut chunk = format!("{PIECE:x}\r\n").into_bytes();
    chunk.resize(chunk.len() + PIECE, b' ');
    chunk.extend_from_slice(b"\r\n");
    let mut steps: Vec<Step> = how.held.clone().map(Step::Await).into_iter().collect();
    steps.push(Step::Send(head(&how, 0).into()));
    steps.push(Step::Repeat(chunk.into(), u64::MAX));
    steps
}

/// Gzip of `inflated` zeros.
pub(super) fn bomb(inflated: u64) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let zeros = [b'0'; PIECE];
    let mut left = inflated;
    while left > 0 {
        let piece = usize::try_from(left).map_or(PIECE, |left| left.min(PIECE));
        write_gzip(&mut encoder, &zeros[..piece]);
        left -= piece as u64;
    }
    finish_gzip(encoder)
}

pub(super) fn gzip(body: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    write_gzip(&mut encoder, body);
    finish_gzip(encoder)
}

fn write_gzip(encoder: &mut GzEncoder<Vec<u8>>, bytes: &[u8]) {
    encoder
        .write_all(bytes)
        .expect("invariant: writing to memory cannot fail");
}

fn finish_gzip(encoder: GzEncoder<Vec<u8>>) -> Bytes {
    encoder
        .finish()
        .expect("invariant: writing to memory cannot fail")
        .into()
}

/// The reason phrase of a status, empty where the lab knows none.
pub(super) fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "",
    }
}
