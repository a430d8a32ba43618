//! Reading a request body within bounds (hardening A7, B1, B2).
//!
//! The length that a caller states is checked before a byte is read, and the bytes are counted all
//! the same. A body that came with its head in one piece, as nearly all do, is taken as it is:
//! no copy, no timer. Of the content codings only gzip is accepted; `max_body` then bounds the
//! inflated bytes, checked every 64 KiB, and so does a ratio of 100, since no honest request
//! compresses better.
//!
//! What all clients together may have in memory is bounded too. A thousand slow senders of legal
//! bodies would otherwise hold gigabytes (hardening T12). Of every body all but the first 16 KiB
//! count, until its request is answered; past the bound a large body is refused as any call is past
//! a limit of ours, and small ones are served on.

use crate::load::{Gauge, Permit};
use bytes::{Bytes, BytesMut};
use flate2::read::MultiGzDecoder;
use futures_util::FutureExt;
use http::{HeaderMap, header::CONTENT_ENCODING};
use http_body::Body as _;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use std::{io::Read, time::Duration};

/// Bytes inflated between two checks.
const STEP: usize = 64 * 1024;
/// Most inflated bytes per compressed byte.
const MAX_RATIO: usize = 100;

/// Bytes of a body that are not counted: nearly all calls fit, and so cost nothing here.
const FREE: usize = 16 * 1024;

/// Why there is no body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyFault {
    /// Longer than allowed.
    Large,
    /// Not complete in time.
    Slow,
    /// The connection broke.
    Gone,
    /// Not the gzip that it claims to be.
    Garbled,
    /// There are too many large ones already.
    Crowded,
}

/// How a body is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// Not.
    Identity,
    /// gzip.
    Gzip,
}

impl Coding {
    /// `None` for a coding that is not accepted.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut coding = Self::Identity;
        for value in headers.get_all(CONTENT_ENCODING) {
            let value = value.as_bytes().trim_ascii();
            if value.eq_ignore_ascii_case(b"gzip") || value.eq_ignore_ascii_case(b"x-gzip") {
                if coding == Self::Gzip {
                    return None;
                }
                coding = Self::Gzip;
            } else if !(value.is_empty() || value.eq_ignore_ascii_case(b"identity")) {
                return None;
            }
        }
        Some(coding)
    }
}

/// A body, and its share of the memory for bodies.
#[derive(Debug)]
pub(crate) struct Body<'a> {
    /// The bytes, inflated.
    pub(crate) bytes: Bytes,
    _share: Share<'a>,
}

/// A share of the memory for bodies. It grows with its body and ends with it.
#[derive(Debug)]
struct Share<'a> {
    room: &'a Gauge,
    held: Option<Permit<&'a Gauge>>,
}

impl Share<'_> {
    /// Makes it large enough for a body of `len` bytes.
    fn cover(&mut self, len: usize) -> Result<(), BodyFault> {
        let held = self.held.as_ref().map_or(0, Permit::count);
        let missing = len.saturating_sub(FREE).saturating_sub(held);
        if missing == 0 {
            return Ok(());
        }
        let more = Gauge::take(self.room, missing).ok_or(BodyFault::Crowded)?;
        match &mut self.held {
            Some(held) => held.join(more),
            none => *none = Some(more),
        }
        Ok(())
    }
}

/// Reads a body whole. Dropping the future abandons it.
pub(crate) async fn read(
    body: Incoming,
    coding: Coding,
    limit: usize,
    timeout: Duration,
    room: &Gauge,
) -> Result<Body<'_>, BodyFault> {
    let mut share = Share { room, held: None };
    let mut bytes = receive(body, limit, timeout, &mut share).await?;
    if coding == Coding::Gzip {
        bytes = inflate(&bytes, limit)?;
    }
    share.cover(bytes.len())?;
    Ok(Body {
        bytes,
        _share: share,
    })
}

async fn receive(
    mut body: Incoming,
    limit: usize,
    timeout: Duration,
    share: &mut Share<'_>,
) -> Result<Bytes, BodyFault> {
    if body.size_hint().lower() > limit as u64 {
        return Err(BodyFault::Large);
    }
    let Some(first) = body.frame().now_or_never() else {
        return within(timeout, collect(body, None, limit, share)).await;
    };
    let first = match first {
        None => return Ok(Bytes::new()),
        Some(Err(_)) => return Err(BodyFault::Gone),
        Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
    };
    if first.len() > limit {
        return Err(BodyFault::Large);
    }
    if body.is_end_stream() {
        return Ok(first);
    }
    within(timeout, collect(body, Some(first), limit, share)).await
}

async fn within(
    timeout: Duration,
    reading: impl Future<Output = Result<Bytes, BodyFault>>,
) -> Result<Bytes, BodyFault> {
    tokio::time::timeout(timeout, reading)
        .await
        .unwrap_or(Err(BodyFault::Slow))
}

async fn collect(
    mut body: Incoming,
    first: Option<Bytes>,
    limit: usize,
    share: &mut Share<'_>,
) -> Result<Bytes, BodyFault> {
    let mut first = first;
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| BodyFault::Gone)?.into_data() else {
            continue;
        };
        let so_far = first.as_ref().map_or(all.len(), Bytes::len);
        if so_far + data.len() > limit {
            return Err(BodyFault::Large);
        }
        share.cover(so_far + data.len())?;
        match first.take() {
            None if all.is_empty() => first = Some(data),
            None => all.extend_from_slice(&data),
            Some(earlier) => {
                // A stated length is within the limit by now, so it may be trusted for this.
                let rest = usize::try_from(body.size_hint().lower()).unwrap_or(0);
                all.reserve(earlier.len() + data.len() + rest);
                all.extend_from_slice(&earlier);
                all.extend_from_slice(&data);
            }
        }
    }
    Ok(first.unwrap_or_else(|| all.freeze()))
}

/// Every member counts, and nothing may follow the last: what we read must be what another reader
/// of the same bytes reads (hardening B8).
fn inflate(raw: &[u8], limit: usize) -> Result<Bytes, BodyFault> {
    let limit = limit.min(raw.len().saturating_mul(MAX_RATIO));
    let mut decoder = MultiGzDecoder::new(raw);
    let mut out = Vec::new();
    loop {
        let step = STEP.min(limit - out.len() + 1);
        let before = out.len();
        let read = decoder.by_ref().take(step as u64).read_to_end(&mut out);
        if read.is_err() {
            return Err(BodyFault::Garbled);
        }
        if out.len() > limit {
            return Err(BodyFault::Large);
        }
        if out.len() == before {
            return Ok(out.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BodyFault, Coding, inflate};
    use flate2::{Compression, write::GzEncoder};
    use http::{HeaderMap, HeaderValue, header::CONTENT_ENCODING};
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn noise(len: usize) -> Vec<u8> {
        let mut x = 1_u32;
        (0..len)
            .map(|_| {
                x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                x.to_be_bytes()[0]
            })
            .collect()
    }

    // hardening B2
    #[test]
    fn inflates_up_to_the_limit_and_not_a_byte_further() {
        for len in [0, 1, 65_535, 65_536, 65_537, 200_000] {
            let bytes = noise(len);
            let packed = gzip(&bytes);
            assert_eq!(inflate(&packed, len).unwrap(), bytes);
            if len > 0 {
                assert_eq!(inflate(&packed, len - 1), Err(BodyFault::Large));
            }
        }
    }

    // hardening B2
    #[test]
    fn a_bomb_is_refused_by_its_ratio_long_before_the_limit() {
        let packed = gzip(&vec![b' '; 2_000_000]);
        assert!(packed.len() < 100_000);
        assert_eq!(inflate(&packed, usize::MAX), Err(BodyFault::Large));
    }

    #[test]
    fn broken_gzip_is_garbled() {
        let mut packed = gzip(&noise(1000));
        packed.truncate(packed.len() / 2);
        assert_eq!(inflate(&packed, 10_000), Err(BodyFault::Garbled));
        assert_eq!(inflate(b"{}", 10_000), Err(BodyFault::Garbled));
    }

    // hardening B8
    #[test]
    fn members_are_joined_and_nothing_may_follow_them() {
        let one = gzip(b"{\"id\":1,");
        let both = [&one[..], &gzip(b"\"method\":2}")].concat();
        assert_eq!(inflate(&both, 1000).unwrap(), "{\"id\":1,\"method\":2}");
        for tail in [&b"x"[..], b"\0\0\0\0\0\0\0\0", b"{}", &one[..one.len() - 1]] {
            let bytes = [&one[..], tail].concat();
            assert_eq!(inflate(&bytes, 1000), Err(BodyFault::Garbled), "{tail:?}");
        }
    }

    // hardening B2
    #[test]
    fn only_gzip_and_identity_are_accepted() {
        let of = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(CONTENT_ENCODING, HeaderValue::from_str(value).unwrap());
            }
            Coding::of(&headers)
        };
        assert_eq!(of(&[]), Some(Coding::Identity));
        assert_eq!(of(&["GZIP"]), Some(Coding::Gzip));
        assert_eq!(of(&["identity"]), Some(Coding::Identity));
        for refused in [
            &["br"][..],
            &["zstd"],
            &["deflate"],
            &["gzip, gzip"],
            &["gzip", "gzip"],
        ] {
            assert_eq!(of(refused), None, "{refused:?}");
        }
    }
}
