//! Rule 1: bodies that are no JSON. The status decides before the words do.

use super::class::Class;
use super::evidence::Evidence;
use super::matcher::Outcome;

/// The verdict of the status, or nothing where words may still decide.
pub(super) fn by_status(ev: &Evidence<'_>, body: &[u8]) -> Option<Outcome> {
    let class = match ev.status {
        429 => Class::RateLimited,
        503 if (ev.headers)("retry-after").is_some() => Class::RateLimited,
        402 => Class::QuotaExhausted,
        413 => Class::PayloadTooLarge,
        401 => Class::Unauthorized,
        408 => Class::Timeout,
        405 | 415 => Class::InvalidRequest,
        204 => Class::MalformedEnvelope,
        300..=399 => return Some(outcome(Class::MalformedEnvelope, Some("redirect"))),
        _ if blocked_for_rate(body) => Class::RateLimited,
        _ if ev.status >= 400 || is_html(body) => {
            return Some(outcome(Class::BadGatewayHtml, kind(ev.status)));
        }
        _ => return None,
    };
    Some(outcome(class, None))
}

pub(super) fn outcome(class: Class, subclass: Option<&'static str>) -> Outcome {
    let (retry, strike) = class.usual_flags();
    Outcome {
        class,
        subclass,
        retry,
        strike,
    }
}

/// Cloudflare's number for "you are being rate limited", whatever status carries it.
fn blocked_for_rate(body: &[u8]) -> bool {
    const MARK: &[u8] = b"error code: 1015";
    body.len() >= MARK.len() && body[..MARK.len()].eq_ignore_ascii_case(MARK)
}

fn kind(status: u16) -> Option<&'static str> {
    match status {
        403 => Some("waf"),
        404 => Some("not_found"),
        // Cloudflare's statuses for an origin that it cannot use.
        520..=527 | 530 => Some("cloudflare_origin"),
        _ => None,
    }
}

/// Whether a body begins like a page.
pub(super) fn is_html(body: &[u8]) -> bool {
    let head = &body[..body.len().min(256)];
    [
        &b"<!doctype"[..],
        b"<html",
        b"<head",
        b"<body",
        b"<title",
        b"<?xml",
        b"<center",
        b"<h1",
        b"<!--",
    ]
    .iter()
    .any(|mark| head.len() >= mark.len() && head[..mark.len()].eq_ignore_ascii_case(mark))
}
