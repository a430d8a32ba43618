//! Compressing an answer, where it was asked for and pays.
//!
//! Only gzip, only on request, and only from [`MIN`] bytes on; the whole length decides, never the
//! first write. Large answers are compressed away from the worker's thread, which must not stall
//! its other connections.

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http::{HeaderMap, header::ACCEPT_ENCODING};
use std::io::Write;

/// Shortest answer that is compressed, in bytes.
const MIN: usize = 1024;
/// From here on compressing takes about a millisecond and happens elsewhere, in bytes.
const ELSEWHERE: usize = 64 * 1024;

/// Whether a caller takes gzip.
pub(crate) fn wants_gzip(headers: &HeaderMap) -> bool {
    headers
        .get_all(ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .any(|value| {
            value.split(',').any(|coding| {
                let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
                let zero = weight
                    .trim()
                    .strip_prefix("q=")
                    .and_then(|q| q.trim().parse::<f32>().ok())
                    .is_some_and(|q| q <= 0.0);
                name.trim().eq_ignore_ascii_case("gzip") && !zero
            })
        })
}

/// The compressed answer, or `None` where it is not worth it.
pub(crate) async fn gzip(body: &Bytes) -> Option<Bytes> {
    if body.len() < MIN {
        return None;
    }
    let packed = if body.len() < ELSEWHERE {
        pack(body)
    } else {
        let body = body.clone();
        tokio::task::spawn_blocking(move || pack(&body))
            .await
            .ok()?
    };
    (packed.len() < body.len()).then(|| packed.into())
}

fn pack(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::fast());
    // Writing to memory cannot fail; an empty result is discarded as no gain would be.
    if encoder.write_all(body).is_err() {
        return body.to_vec();
    }
    encoder.finish().unwrap_or_else(|_| body.to_vec())
}

#[cfg(test)]
mod tests {
    use super::wants_gzip;
    use http::{HeaderMap, HeaderValue, header::ACCEPT_ENCODING};

    #[test]
    fn gzip_is_used_only_where_it_is_named_and_not_refused() {
        let wants = |value: &str| {
            let value = HeaderValue::from_str(value).unwrap();
            wants_gzip(&HeaderMap::from_iter([(ACCEPT_ENCODING, value)]))
        };
        for value in [
            "gzip",
            "gzip, deflate",
            "br;q=1.0, GZIP;q=0.5, *;q=0.1",
            "deflate,gzip",
        ] {
            assert!(wants(value), "{value}");
        }
        for value in [
            "",
            "br",
            "*",
            "identity",
            "gzip;q=0",
            "gzip;q=0.000, br",
            "xgzip",
        ] {
            assert!(!wants(value), "{value}");
        }
        assert!(!wants_gzip(&HeaderMap::new()));
    }
}
