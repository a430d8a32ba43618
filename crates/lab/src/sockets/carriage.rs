//! An answer of a simulated node, as steps on a socket.

use bytes::Bytes;

use super::travel::{gzip, reason};
use super::wire::Step;
use crate::node::{Carriage, Delivery, Ending, Exchange, Pace};

/// The steps that play an exchange.
///
/// A refusal on a connection that is already open becomes a reset: the request was read, so nothing
/// can take that back.
pub(super) fn steps(exchange: &Exchange) -> Vec<Step> {
    let mut steps = vec![Step::Pause(exchange.delay)];
    match &exchange.carriage {
        Carriage::Silence => steps.push(Step::Silence),
        Carriage::Closed => steps.push(Step::Close),
        Carriage::Refused | Carriage::Reset => steps.push(Step::Reset),
        Carriage::Answer(delivery) => answer(delivery, &mut steps),
    }
    steps
}

fn answer(delivery: &Delivery, steps: &mut Vec<Step>) {
    let body = if delivery.gzip {
        gzip(&delivery.body)
    } else {
        delivery.body.clone()
    };
    let (sent, end) = match delivery.ending {
        Ending::Whole => (body.len(), None),
        Ending::ClosedAfter(after) => (after.min(body.len()), Some(Step::Close)),
        Ending::ResetAfter(after) => (after.min(body.len()), Some(Step::Reset)),
    };
    // A cut behind the last byte cuts nothing.
    let end = end.filter(|_| sent < body.len());
    let head = head(delivery, body.len());
    let mut rest = body.slice(..sent);
    match delivery.pace {
        // Head and body are one write, as a real server would make it.
        Pace::AtOnce => steps.push(Step::Send([&head[..], &rest[..]].concat().into())),
        Pace::Stall { after, pause } => {
            let first = rest.split_to(after.min(rest.len()));
            steps.push(Step::Send([&head[..], &first[..]].concat().into()));
            if !rest.is_empty() {
                steps.push(Step::Pause(pause));
                steps.push(Step::Send(rest));
            }
        }
        Pace::Drip { piece, every } => {
            steps.push(Step::Send(head));
            while !rest.is_empty() {
                steps.push(Step::Pause(every));
                steps.push(Step::Send(rest.split_to(piece.clamp(1, rest.len()))));
            }
        }
    }
    steps.extend(end);
}

fn head(delivery: &Delivery, length: usize) -> Bytes {
    let mut head = format!(
        "HTTP/1.1 {} {}\r\ncontent-type: {}\r\ncontent-length: {length}\r\n",
        delivery.status,
        reason(delivery.status),
        delivery.content_type
    );
    if delivery.gzip {
        head.push_str("content-encoding: gzip\r\n");
    }
    for (name, value) in &delivery.headers {
        head.push_str(name);
        head.push_str(": ");
        head.push_str(value);
        head.push_str("\r\n");
    }
    head.push_str("\r\n");
    head.into()
}
