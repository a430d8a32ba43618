//! From a node's answer to the bytes of an HTTP body, with everything that can go wrong between.

use bytes::Bytes;

use super::dialect::{Miss, RpcError};
use super::exchange::{Carriage, Delivery, Ending, Pace};
use super::fault::{Carries, Says};
use crate::call::Call;

/// An id that no caller uses.
const FOREIGN_ID: &str = "7294617";

/// The replies to one call, usually one.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    objects: Vec<String>,
    /// HTTP status when the call is alone.
    status: u16,
    /// The connection ends instead of this reply.
    lost: bool,
}

/// Makes the reply to a call; `answer` is what the node would honestly say.
pub(super) fn make(
    call: &Call,
    said: Option<Says>,
    answer: impl FnOnce() -> Result<String, Miss>,
) -> Reply {
    let id = call.id.as_deref();
    let mut reply = Reply {
        objects: Vec::new(),
        status: 200,
        lost: false,
    };
    let Some(says) = said else {
        // A notification has no reply.
        if id.is_some() {
            reply.objects.push(object(id, answer()));
        }
        return reply;
    };
    match says {
        Says::Error {
            status,
            code,
            message,
            data,
        } => {
            reply.status = status;
            let error = error_object(id, code, &message, data.as_deref());
            reply.objects.push(error);
        }
        Says::WrongId => reply.objects.push(object(Some(FOREIGN_ID), answer())),
        Says::StringId => {
            let id = id.map(|id| {
                if id.starts_with('"') {
                    id.to_owned()
                } else {
                    format!("\"{id}\"")
                }
            });
            reply.objects.push(object(id.as_deref(), answer()));
        }
        // What the node sees is older; it says it as any other answer.
        Says::Older(_) => reply
            .objects
            .extend(id.map(|id| object(Some(id), answer()))),
        Says::MissingId => reply.objects.push(object(None, answer())),
        Says::Twice => {
            let object = object(id, answer());
            reply.objects = vec![object.clone(), object];
        }
        Says::Omitted => {}
        Says::Both => {
            let result = answer().unwrap_or_else(|_| "null".to_owned());
            let error = r#"{"code":-32000,"message":"partial result"}"#;
            let members = format!(r#""result":{result},"error":{error}"#);
            reply.objects.push(envelope(id, &members));
        }
        Says::Neither => {
            reply.objects.push(envelope(id, ""));
        }
        Says::Null => reply.objects.push(object(id, Err(Miss::Null))),
        Says::LostSend => {
            // The call takes effect; only its answer is lost.
            let _ = answer();
            reply.lost = true;
        }
    }
    reply
}

/// Puts the replies of one request together.
pub(super) fn join(batch: bool, replies: &[Reply]) -> Carriage {
    if replies.iter().any(|reply| reply.lost) {
        return Carriage::Closed;
    }
    let objects: Vec<&str> = replies
        .iter()
        .flat_map(|reply| reply.objects.iter().map(String::as_str))
        .collect();
    if batch {
        return Carriage::Answer(Delivery::json(format!("[{}]", objects.join(","))));
    }
    let body = objects.first().copied().unwrap_or_default().to_owned();
    let mut delivery = Delivery::json(body);
    delivery.status = replies.first().map_or(200, |reply| reply.status);
    Carriage::Answer(delivery)
}

/// Bends an answer on its way.
pub(super) fn shape(carriage: Carriage, faults: &[Carries]) -> Carriage {
    let Carriage::Answer(mut delivery) = carriage else {
        return carriage;
    };
    for fault in faults {
        match fault {
            Carries::ResetBody(after) => delivery.ending = Ending::ResetAfter(*after),
            Carries::Truncate(after) => delivery.ending = Ending::ClosedAfter(*after),
            Carries::Stall { after, pause } => {
                delivery.pace = Pace::Stall {
                    after: *after,
                    pause: *pause,
                };
            }
            Carries::Drip { piece, every } => {
                delivery.pace = Pace::Drip {
                    piece: *piece,
                    every: *every,
                };
            }
            Carries::InvalidJson => {
                let half = delivery.body.len() / 2;
                delivery.body.truncate(half);
            }
            Carries::Huge(bytes) => delivery.body = inflate(&delivery.body, *bytes),
            Carries::Gzip => delivery.gzip = true,
            // These decide before there is an answer to bend.
            Carries::Slow { .. }
            | Carries::Down
            | Carries::Hang
            | Carries::Close
            | Carries::Reset
            | Carries::Page { .. }
            | Carries::RateLimit { .. }
            | Carries::Quota(_) => {}
        }
    }
    Carriage::Answer(delivery)
}

/// The body with white space before its last byte, so that it stays valid JSON.
fn inflate(body: &Bytes, bytes: usize) -> Bytes {
    let Some((last, rest)) = body.split_last() else {
        return body.clone();
    };
    let mut huge = Vec::with_capacity(bytes.max(body.len()));
    huge.extend_from_slice(rest);
    huge.resize(bytes.saturating_sub(1).max(rest.len()), b' ');
    huge.push(*last);
    huge.into()
}

fn object(id: Option<&str>, answer: Result<String, Miss>) -> String {
    match answer {
        Ok(result) => envelope(id, &format!(r#""result":{result}"#)),
        Err(Miss::Null) => envelope(id, r#""result":null"#),
        Err(Miss::Empty) => envelope(id, r#""result":[]"#),
        Err(Miss::Error(RpcError {
            code,
            message,
            data,
        })) => error_object(id, code, &message, data.as_deref()),
    }
}

/// A reply that is an error; without an id it carries a null one, as nodes do.
pub(super) fn error_object(
    id: Option<&str>,
    code: i64,
    message: &str,
    data: Option<&str>,
) -> String {
    let message = serde_json::Value::from(message);
    let data = data
        .map(|data| format!(r#","data":{data}"#))
        .unwrap_or_default();
    let error = format!(r#""error":{{"code":{code},"message":{message}{data}}}"#);
    envelope(Some(id.unwrap_or("null")), &error)
}

fn envelope(id: Option<&str>, members: &str) -> String {
    let id = id.map(|id| format!(r#","id":{id}"#)).unwrap_or_default();
    let comma = if members.is_empty() { "" } else { "," };
    format!(r#"{{"jsonrpc":"2.0"{id}{comma}{members}}}"#)
}
