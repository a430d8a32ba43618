//! A request on its way to the socket.
//!
//! All of its head but the length of the body is the same in every request and was written when the
//! endpoint was set up. Head, length and body go to the socket from where they lie.

use ::http::HeaderMap;
use std::io::IoSlice;

const BEHIND_LENGTH: &[u8] = b"\r\n\r\n";
/// Room for the longest number of 64 bits.
const LONGEST: usize = 20 + BEHIND_LENGTH.len();

/// The part of a request's head that is always the same.
pub(super) struct Opening(Box<[u8]>);

impl Opening {
    /// `headers` without `content-length`, which ends the head.
    pub(super) fn new(path: &str, authority: &str, headers: &HeaderMap) -> Self {
        let start = format!("POST {path} HTTP/1.1\r\nhost: {authority}\r\n");
        let mut bytes = start.into_bytes();
        for (name, value) in headers {
            let field = [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"];
            bytes.extend_from_slice(&field.concat());
        }
        bytes.extend_from_slice(b"content-length: ");
        Self(bytes.into())
    }
}

/// What of a request is still to be written.
pub(super) struct Outgoing<'a> {
    opening: &'a [u8],
    length: [u8; LONGEST],
    length_end: usize,
    body: &'a [u8],
    written: usize,
}

impl<'a> Outgoing<'a> {
    pub(super) fn new(opening: &'a Opening, body: &'a [u8]) -> Self {
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(body.len()).as_bytes();
        let mut length = [0; LONGEST];
        let length_end = digits.len() + BEHIND_LENGTH.len();
        length[..digits.len()].copy_from_slice(digits);
        length[digits.len()..length_end].copy_from_slice(BEHIND_LENGTH);
        Self {
            opening: &opening.0,
            length,
            length_end,
            body,
            written: 0,
        }
    }

    pub(super) const fn is_written(&self) -> bool {
        self.written == self.opening.len() + self.length_end + self.body.len()
    }

    /// Notes that so many bytes more were written.
    pub(super) const fn advance(&mut self, bytes: usize) {
        self.written += bytes;
    }

    /// What is to be written next, and how many of the slices it fills.
    pub(super) fn rest(&self) -> ([IoSlice<'_>; 3], usize) {
        let mut slices = [IoSlice::new(&[]); 3];
        let mut filled = 0;
        let mut skip = self.written;
        for part in [self.opening, &self.length[..self.length_end], self.body] {
            if skip < part.len() {
                slices[filled] = IoSlice::new(&part[skip..]);
                filled += 1;
            }
            skip = skip.saturating_sub(part.len());
        }
        (slices, filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::http::header;

    #[test]
    fn writes_the_same_request_in_steps_of_any_size() {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, "application/json".parse().unwrap());
        let opening = Opening::new("/v1/key?a=b", "node.example:8545", &headers);
        let expected = "POST /v1/key?a=b HTTP/1.1\r\nhost: node.example:8545\r\n\
                        content-type: application/json\r\ncontent-length: 12\r\n\r\n{\"id\":12345}";
        for step in [1, 2, 3, 50, 1000] {
            let mut outgoing = Outgoing::new(&opening, b"{\"id\":12345}");
            let mut written = Vec::new();
            while !outgoing.is_written() {
                let (slices, filled) = outgoing.rest();
                let all = slices[..filled].iter().flat_map(|slice| slice.iter());
                let taken: Vec<u8> = all.copied().take(step).collect();
                outgoing.advance(taken.len());
                written.extend(taken);
            }
            assert_eq!(String::from_utf8(written).unwrap(), expected);
        }
    }

    #[test]
    fn has_room_for_any_length() {
        assert_eq!(u64::MAX.to_string().len() + BEHIND_LENGTH.len(), LONGEST);
        let opening = Opening::new("/", "h", &HeaderMap::new());
        let empty = Outgoing::new(&opening, b"");
        let (slices, filled) = empty.rest();
        assert_eq!((&*slices[1], filled), (&b"0\r\n\r\n"[..], 2));
    }
}
