//! Follows request boundaries on a connection and refuses ambiguous framing (hardening A10).
//!
//! The HTTP parser behind this is tolerant where tolerance is dangerous: it takes a bare LF as a
//! line end and resolves `Transfer-Encoding` beside `Content-Length` in favour of one of them. A
//! proxy in front of us may resolve the same bytes the other way, and then one client's body is
//! another client's request. So every byte passes here first, and a head is refused that has
//!
//! - a line end other than CRLF, or a CR inside a line;
//! - a continuation line (obs-fold);
//! - `Content-Length` twice, or with anything but 1 to 18 digits;
//! - `Transfer-Encoding` twice, or with anything but the single coding `chunked`;
//! - both.
//!
//! [`Guard::feed`] says from which byte on the input is poisoned. The caller overwrites that part
//! with NULs, which no head may contain, so the parser itself answers 400 and closes. Everything
//! before, such as an earlier pipelined request, is still served.
//!
//! The body of a request is skipped by its length. After a chunked request the guard does not
//! look any further: the server closes the connection after the answer to one
//! ([`Guard::follows`] is false then), so no later head is ever read from it.

use memchr::memchr2;

/// Longest line that is kept while it is incomplete. A longer one that sets the length of a body is
/// refused: its end, and with it some digits, would be missing.
const MAX_CARRY: usize = 256;

/// Where a connection stands. Feed it every byte read, in order.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    state: State,
    /// An incomplete line from earlier reads, at most [`MAX_CARRY`] bytes of it.
    carry: Vec<u8>,
    /// The line had more than that.
    cut: bool,
    head: Head,
    heads: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Between requests or in the middle of a line of a head.
    #[default]
    Line,
    /// A CR was read; LF must follow.
    Cr,
    /// So many bytes of a body are still to come.
    Body(u64),
    /// A chunked body, and with it the rest of the connection.
    Rest,
    /// Refused. Nothing more is let through.
    Poisoned,
}

#[derive(Clone, Copy, Debug, Default)]
struct Head {
    /// The request line has been read.
    started: bool,
    length: Option<u64>,
    chunked: bool,
}

impl Guard {
    /// Takes newly read bytes. Returns the offset from which on they must not be let through, if
    /// any.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        // Where the current head begins in these bytes; 0 when it began in earlier ones.
        let mut head_start = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            match self.state {
                State::Poisoned => return Some(at),
                State::Rest => return None,
                State::Body(left) => {
                    let taken =
                        usize::try_from(left).map_or(rest.len(), |left| left.min(rest.len()));
                    at += taken;
                    let left = left - taken as u64;
                    if left == 0 {
                        self.state = State::Line;
                        head_start = at;
                    } else {
                        self.state = State::Body(left);
                    }
                }
                State::Cr => {
                    if rest[0] != b'\n' {
                        return Some(self.poison(head_start));
                    }
                    at += 1;
                    let line = std::mem::take(&mut self.carry);
                    let cut = std::mem::take(&mut self.cut);
                    let ok = !(cut && sets_length(&line)) && self.line(&line);
                    self.carry = line;
                    self.carry.clear();
                    if !ok {
                        return Some(self.poison(head_start));
                    }
                    if !self.head.started {
                        head_start = at;
                    }
                }
                State::Line => match memchr2(b'\r', b'\n', rest) {
                    Some(end) if rest[end] == b'\n' => return Some(self.poison(head_start)),
                    // The whole line is here: no copy.
                    Some(end) if self.carry.is_empty() && rest.get(end + 1) == Some(&b'\n') => {
                        at += end + 2;
                        if !self.line(&rest[..end]) {
                            return Some(self.poison(head_start));
                        }
                        if !self.head.started {
                            head_start = at;
                        }
                    }
                    Some(end) => {
                        self.keep(&rest[..end]);
                        self.state = State::Cr;
                        at += end + 1;
                    }
                    None => {
                        self.keep(rest);
                        at = bytes.len();
                    }
                },
            }
        }
        None
    }

    /// Whether later requests on the connection are followed. False after a chunked one.
    #[cfg(test)]
    pub(crate) fn follows(&self) -> bool {
        self.state != State::Rest
    }

    /// Whether a head has begun and is not complete.
    pub(crate) fn in_head(&self) -> bool {
        match self.state {
            State::Cr => true,
            State::Line => self.head.started || !self.carry.is_empty(),
            State::Body(_) | State::Rest | State::Poisoned => false,
        }
    }

    /// Heads completed so far, wrapping.
    pub(crate) const fn heads(&self) -> u32 {
        self.heads
    }

    fn poison(&mut self, head_start: usize) -> usize {
        self.state = State::Poisoned;
        head_start
    }

    fn keep(&mut self, part: &[u8]) {
        let room = MAX_CARRY.saturating_sub(self.carry.len());
        self.cut |= part.len() > room;
        self.carry.extend_from_slice(&part[..part.len().min(room)]);
    }

    /// Takes one line without its CRLF, and moves on. False refuses the head.
    fn line(&mut self, line: &[u8]) -> bool {
        self.state = State::Line;
        if !self.head.started {
            // Empty lines before a request line are skipped, as the parser does.
            self.head.started = !line.is_empty();
            return true;
        }
        match line.first() {
            None => {
                let head = std::mem::take(&mut self.head);
                self.heads = self.heads.wrapping_add(1);
                self.state = match (head.chunked, head.length) {
                    (true, _) => State::Rest,
                    (false, Some(length)) if length > 0 => State::Body(length),
                    (false, _) => State::Line,
                };
                true
            }
            Some(b' ' | b'\t') => false,
            Some(b'c' | b'C') => match value_of(line, b"content-length") {
                Some(value) => self.content_length(value),
                None => true,
            },
            Some(b't' | b'T') => match value_of(line, b"transfer-encoding") {
                Some(value) => {
                    let legal = value.eq_ignore_ascii_case(b"chunked")
                        && !self.head.chunked
                        && self.head.length.is_none();
                    self.head.chunked = true;
                    legal
                }
                None => true,
            },
            Some(_) => true,
        }
    }

    fn content_length(&mut self, value: &[u8]) -> bool {
        // 18 digits cannot overflow, and no body is that long.
        if self.head.chunked
            || self.head.length.is_some()
            || !(1..=18).contains(&value.len())
            || !value.iter().all(u8::is_ascii_digit)
        {
            return false;
        }
        let length = value
            .iter()
            .fold(0, |n, digit| n * 10 + u64::from(digit - b'0'));
        self.head.length = Some(length);
        true
    }
}

/// Whether a header line says where a body ends.
fn sets_length(line: &[u8]) -> bool {
    value_of(line, b"content-length").is_some() || value_of(line, b"transfer-encoding").is_some()
}

/// The trimmed value of a header line whose name is `name`, in any case.
fn value_of<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (head, rest) = line.split_at_checked(name.len())?;
    if !head.eq_ignore_ascii_case(name) {
        return None;
    }
    // White space before the colon is refused by the parser, but it must not hide the header.
    let value = rest.trim_ascii_start().strip_prefix(b":")?;
    Some(value.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::Guard;

    const GOOD: &[u8] = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12\n45";

    /// Feeds `bytes` whole, and cut in two at every position, and byte by byte. All must agree on
    /// whether they are refused.
    fn refused(bytes: &[u8]) -> bool {
        let whole = Guard::default().feed(bytes).is_some();
        for cut in 0..=bytes.len() {
            let mut guard = Guard::default();
            let (a, b) = bytes.split_at(cut);
            let split = guard.feed(a).is_some() | guard.feed(b).is_some();
            assert_eq!(split, whole, "cut at {cut}");
        }
        let mut guard = Guard::default();
        let single = bytes
            .iter()
            .any(|byte| guard.feed(std::slice::from_ref(byte)).is_some());
        assert_eq!(single, whole, "byte by byte");
        whole
    }

    fn head(lines: &str) -> Vec<u8> {
        format!("POST / HTTP/1.1\r\nHost: a\r\n{lines}\r\n\r\n").into_bytes()
    }

    // hardening A10
    #[test]
    fn lets_ordinary_requests_through_and_ignores_line_feeds_in_bodies() {
        assert!(!refused(GOOD));
        assert!(!refused(
            &[
                GOOD,
                GOOD,
                b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
                GOOD
            ]
            .concat()
        ));
        assert!(!refused(b"\r\n\r\nGET / HTTP/1.1\r\n\r\n"));
    }

    // hardening A10
    #[test]
    fn refuses_every_ambiguous_head() {
        for lines in [
            "Content-Length: 5\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: chunked\r\nContent-Length: 5",
            "transfer-encoding: chunked\r\nCONTENT-LENGTH: 5",
            "Content-Length: 5\r\nContent-Length: 5",
            "Content-Length: 5\r\ncontent-length: 6",
            "Content-Length: 5, 5",
            "Content-Length: +5",
            "Content-Length: -1",
            "Content-Length: 0x5",
            "Content-Length:",
            "Content-Length: 5 5",
            "Content-Length : 5\r\nContent-Length: 6",
            "Content-Length: 9999999999999999999",
            "Transfer-Encoding: gzip, chunked",
            "Transfer-Encoding: identity",
            "Transfer-Encoding: xchunked",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            "X-Folded: a\r\n b",
            "X-Folded: a\r\n\tContent-Length: 5",
            "X-Bare: a\nContent-Length: 5",
            "X-Cr: a\rb",
        ] {
            assert!(refused(&head(lines)), "{lines:?}");
        }
        assert!(refused(b"POST / HTTP/1.1\nHost: a\n\n"));
        assert!(refused(b"\nPOST / HTTP/1.1\r\n\r\n"));
    }

    // hardening A10
    #[test]
    fn a_length_that_is_cut_off_where_a_line_grows_too_long_is_refused_not_believed() {
        // All but the first of the digits lie past what is kept of a line that comes in parts.
        let pad = " ".repeat(super::MAX_CARRY - "Content-Length: ".len() - 1);
        let long = head(&format!("Content-Length: {pad}500"));
        let end = long.len() - "00\r\n\r\n".len();
        let mut guard = Guard::default();
        assert_eq!(guard.feed(&long[..end]), None);
        assert_eq!(guard.feed(&long[end..]), Some(0));
        // Whole, it is what it says, and a long line of another kind is nobody's business.
        assert_eq!(Guard::default().feed(&long), None);
        let other = head(&format!("X-Long: {}", "a".repeat(1000)));
        assert!(!refused(&other));
    }

    // hardening A10
    #[test]
    fn poisons_only_from_the_start_of_the_bad_head() {
        let bad = head("X: a\r\n b");
        let both = [GOOD, &bad].concat();
        assert_eq!(Guard::default().feed(&both), Some(GOOD.len()));
        // The bad head began in an earlier read: everything of this read goes.
        let mut guard = Guard::default();
        let (a, b) = both.split_at(GOOD.len() + 10);
        assert_eq!(guard.feed(a), None);
        assert_eq!(guard.feed(b), Some(0));
        assert_eq!(guard.feed(GOOD), Some(0), "and everything later");
    }

    // hardening A10
    #[test]
    fn stops_following_after_a_chunked_request() {
        let mut guard = Guard::default();
        assert_eq!(guard.feed(&head("Transfer-Encoding: Chunked")), None);
        assert!(!guard.follows());
        assert_eq!(guard.feed(b"5\r\n12\n45\r\n0\r\n\r\n"), None);
    }

    // hardening A6
    #[test]
    fn tells_an_unfinished_head_from_an_idle_connection() {
        let mut guard = Guard::default();
        assert!(!guard.in_head());
        for byte in &GOOD[..GOOD.len() - 5] {
            guard.feed(std::slice::from_ref(byte));
            assert_eq!(guard.in_head(), guard.heads() == 0);
        }
        guard.feed(&GOOD[GOOD.len() - 5..]);
        assert!(!guard.in_head());
        assert_eq!(guard.heads(), 1);
        guard.feed(b"P");
        assert!(guard.in_head());
    }

    // hardening A9
    #[test]
    fn keeps_at_most_a_bounded_part_of_an_endless_line() {
        let mut guard = Guard::default();
        guard.feed(b"GET / HTTP/1.1\r\nX: ");
        for _ in 0..1000 {
            guard.feed(&[b'a'; 1000]);
        }
        assert!(guard.carry.len() <= super::MAX_CARRY);
    }
}
