//! What endpoints get wrong, and what a client is to see of it.
//!
//! Sent to a client as they are, many of these break it: an `"error":null` beside a result, an id in
//! quotes, an answer without an id or a version, a revert under HTTP 400, a batch that lacks a member.

use highwater_compat::CELL_REASON;
use highwater_lab::sockets::{Answer, ReplyId, ScriptedNode};
use serde_json::{Value, json};

/// What a client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Balance,
    Call,
    Batch,
}

/// What a client sees of an endpoint that is alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sees {
    /// The answer: what is wrong is put right.
    Answer,
    /// An error with this code, in place of the answer or of one member of the batch.
    Error(i64),
    /// A revert, which had this code.
    Revert { code: i64, decoded: Decoded },
}

/// The reason that viem, ethers and web3.py show, and whether they show the data.
pub(crate) type Decoded = [(Option<&'static str>, bool); 3];

/// One kind of wrong.
pub(crate) struct Fault {
    /// Also the name of a chain.
    pub(crate) name: &'static str,
    pub(crate) operation: Operation,
    pub(crate) play: fn(&ScriptedNode),
    pub(crate) sees: Sees,
}

/// What good endpoints answer to `eth_getBalance`.
pub(crate) const BALANCE: u64 = 42;

const RESULT: &str = "\"0x2a\"";

/// A result that must never be seen.
const WRONG: &str = "\"0xbad\"";

const ALL_FAILED: Sees = Sees::Error(-32_011);
const LIMITED: Sees = Sees::Error(-32_005);
const INTERNAL: Sees = Sees::Error(-32_603);

const FRAMED: &str = "execution reverted: the cell is locked";
const BARE: Option<&str> = Some("execution reverted");

fn balance(node: &ScriptedNode, answer: Answer) {
    node.on("eth_getBalance").always(answer);
}

fn limit() -> Answer {
    Answer::error(-32_005, "rate limit exceeded")
}

fn revert(node: &ScriptedNode, status: u16, error: &Value) {
    let answer = Answer::error_json(error.to_string()).status(status);
    node.on("eth_call").always(answer);
}

/// `Error(string)` of the contract's reason.
fn data() -> String {
    let reason: String = CELL_REASON
        .bytes()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!(
        "0x08c379a0{:064x}{:064x}{reason:0<64}",
        32,
        CELL_REASON.len()
    )
}

/// Answers batches with a body of its own, which carries the first member's id.
fn batch(node: &ScriptedNode, status: u16, element: &'static str) {
    node.on_batch().with(move |first| {
        let id = first.id.as_deref().unwrap_or("null");
        let body = format!("[{{\"jsonrpc\":\"2.0\",\"id\":{id},{element}}}]");
        Answer::body(status, body)
    });
}

/// All of them.
pub(crate) fn all() -> Vec<Fault> {
    [balances(), reverts(), batches()]
        .into_iter()
        .flatten()
        .collect()
}

fn balances() -> Vec<Fault> {
    let case = |name, sees, play| Fault {
        name,
        operation: Operation::Balance,
        play,
        sees,
    };
    vec![
        case("null-error", Sees::Answer, |node| {
            balance(node, Answer::both(RESULT, "null"));
        }),
        case("id-in-quotes", Sees::Answer, |node| {
            balance(node, Answer::result(RESULT).with_id(ReplyId::AsString));
        }),
        case("no-version", Sees::Answer, |node| {
            node.on("eth_getBalance").with(|call| {
                let id = call.id.as_deref().unwrap_or("null");
                Answer::body(200, format!("{{\"id\":{id},\"result\":{RESULT}}}"))
            });
        }),
        case("plain-text", Sees::Answer, |node| {
            balance(node, Answer::result(RESULT).content_type("text/plain"));
        }),
        case("no-id", ALL_FAILED, |node| {
            balance(node, Answer::result(WRONG).with_id(ReplyId::Missing));
        }),
        case("other-id", ALL_FAILED, |node| {
            balance(
                node,
                Answer::result(WRONG).with_id(ReplyId::Raw("987654321".to_owned())),
            );
        }),
        case("neither", ALL_FAILED, |node| {
            balance(node, Answer::neither());
        }),
        case("empty", ALL_FAILED, |node| balance(node, Answer::omitted())),
        case("error-in-text", INTERNAL, |node| {
            balance(node, Answer::error_json("\"no\""));
        }),
        case("limit", LIMITED, |node| balance(node, limit())),
        case("limit-429", LIMITED, |node| {
            balance(node, limit().status(429).header("retry-after", "1"));
        }),
        case("limit-429-text", ALL_FAILED, |node| {
            balance(
                node,
                Answer::body(429, "slow down").content_type("text/plain"),
            );
        }),
        case("limit-429-date", ALL_FAILED, |node| {
            let date = "Wed, 21 Oct 2099 07:28:00 GMT";
            balance(node, Answer::body(429, "").header("retry-after", date));
        }),
        case("internal-503", INTERNAL, |node| {
            balance(node, Answer::error(-32_603, "internal error").status(503));
        }),
        case("text-500", ALL_FAILED, |node| {
            balance(node, Answer::body(500, "oops").content_type("text/plain"));
        }),
        case("page-200", ALL_FAILED, |node| {
            balance(node, Answer::html(200, "<html>sign in</html>"));
        }),
        case("page-502", ALL_FAILED, |node| {
            balance(node, Answer::html(502, "<html>bad gateway</html>"));
        }),
    ]
}

/// Reverts are answers: they are passed on byte for byte, under HTTP 200.
fn reverts() -> Vec<Fault> {
    let case = |name, code, decoded, play| Fault {
        name,
        operation: Operation::Call,
        play,
        sees: Sees::Revert { code, decoded },
    };
    let reason = Some(CELL_REASON);
    let framed = Some(FRAMED);
    vec![
        case(
            "revert-400",
            3,
            [(reason, true), (reason, true), (framed, true)],
            |node| {
                revert(
                    node,
                    400,
                    &json!({"code": 3, "message": FRAMED, "data": data()}),
                );
            },
        ),
        case(
            "revert-32000",
            -32_000,
            [(reason, true), (reason, true), (BARE, true)],
            |node| {
                revert(
                    node,
                    200,
                    &json!({"code": -32_000, "message": "execution reverted", "data": data()}),
                );
            },
        ),
        // viem and web3.py show the message, and web3.py puts its own words before it.
        case(
            "revert-nested",
            -32_603,
            [
                (framed, false),
                (reason, true),
                (
                    Some("execution reverted: execution reverted: the cell is locked"),
                    false,
                ),
            ],
            |node| {
                let inner = json!({"code": 3, "message": FRAMED, "data": data()});
                revert(
                    node,
                    200,
                    &json!({"code": -32_603, "message": FRAMED, "data": {"originalError": inner}}),
                );
            },
        ),
        case(
            "revert-bare",
            3,
            [(BARE, false), (None, false), (BARE, false)],
            |node| {
                revert(
                    node,
                    200,
                    &json!({"code": 3, "message": "execution reverted"}),
                );
            },
        ),
        case(
            "revert-bare-32000",
            -32_000,
            [(None, false), (None, false), (BARE, false)],
            |node| {
                revert(
                    node,
                    200,
                    &json!({"code": -32_000, "message": "execution reverted"}),
                );
            },
        ),
    ]
}

/// A client may batch in front of an endpoint that cannot.
fn batches() -> Vec<Fault> {
    let case = |name, sees, play| Fault {
        name,
        operation: Operation::Batch,
        play,
        sees,
    };
    vec![
        case("batch-reversed", Sees::Answer, |node| {
            node.reverse_batches(true);
        }),
        case("batch-lacks-members", Sees::Answer, |node| {
            batch(node, 200, "\"result\":\"0xbad\"");
        }),
        case("batch-one-object", Sees::Answer, |node| {
            node.on_batch()
                .always(Answer::error(-32_600, "batches are off"));
        }),
        case("batch-one-error", Sees::Answer, |node| {
            batch(
                node,
                200,
                "\"error\":{\"code\":-32600,\"message\":\"batches are off\"}",
            );
        }),
        case("batch-429", Sees::Answer, |node| {
            batch(
                node,
                429,
                "\"error\":{\"code\":-32005,\"message\":\"rate limit exceeded\"}",
            );
        }),
        case("batch-member-limited", LIMITED, |node| {
            balance(node, limit());
        }),
    ]
}
