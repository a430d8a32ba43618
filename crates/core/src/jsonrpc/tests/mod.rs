mod batch;
mod conformance;
mod envelope;
mod properties;
mod reply;
mod write;

use super::{Fault, Id, Limits, Message, RpcError, parse, write_error};

/// What a server says to a body when every good call is answered with its method and its params.
fn answers(body: impl AsRef<[u8]>) -> String {
    answers_within(body, &Limits::default())
}

fn answers_within(body: impl AsRef<[u8]>, limits: &Limits) -> String {
    let refusal = |fault: &Fault<'_>| {
        let mut out = Vec::new();
        let message = fault.kind.to_string();
        write_error(
            &mut out,
            fault.id,
            &RpcError {
                code: fault.kind.code(),
                message: &message,
                data: None,
            },
        );
        String::from_utf8(out).unwrap()
    };
    let answer = |request: &Result<super::Call<'_>, Fault<'_>>| match request {
        Ok(call) => {
            let id = call.id.map_or("none", Id::as_str);
            format!("<{id} {} {:?}>", call.method, call.params)
        }
        Err(fault) => refusal(fault),
    };
    match parse(body.as_ref(), limits) {
        Ok(Message::Single(request)) => answer(&request),
        Ok(Message::Batch(requests)) => {
            format!(
                "[{}]",
                requests.iter().map(answer).collect::<Vec<_>>().join(",")
            )
        }
        Err(fault) => refusal(&fault),
    }
}

fn refused(code: i32, id: &str, text: &str) -> String {
    let text = text.replace('"', "\\\"");
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{text}"}}}}"#)
}

fn parse_error() -> String {
    refused(-32700, "null", "parse error")
}
