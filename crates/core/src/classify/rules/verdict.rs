//! Verdicts: of the EVM, of a person, about the chain, and about the request itself.

use super::{Facts, Rule};
use crate::classify::class::Class::{
    ExecutionRevert, Internal, InvalidParams, InvalidRequest, MethodUnsupported, MissingHistory,
    Overloaded, ParseError, PayloadTooLarge, QuotaExhausted, RateLimited, Timeout, TxRejected,
    Unauthorized, UserRejected, WrongChain,
};

const HALT: &str = "invalid opcode|out of gas|outofgas|stack underflow|stack overflow|stack limit|\
invalid jump|bad jump|bad instruction|invalid code|write protection|\
return data out of bounds|opcode not found|fe opcode|static call|static state|\
call depth|gas uint|create collision|address collision|depth limit|\
undefined instruction|invalid instruction|op code|mem out|out of offset|\
overflow payment|illegal instruction|max code size|create contract size|\
not activated|call not allowed";

/// Rule 3.
pub(super) const FRAMES: &[Rule] = &[
    Rule::text(
        ExecutionRevert,
        &["out of gas|gas exhausted|revert|fail", "precompile"],
    )
    .sub("halt_precompile")
    .flags(true, false)
    .any(Facts::TX)
    .deny(Facts::REVERT_DATA)
    .none(&["execution reverted"]),
    Rule::text(
        ExecutionRevert,
        &[
            "execution reverted|execution revert|revert opcode|transaction reverted|\
tx reverted|call reverted|contract reverted|evm reverted|evm revert|\
processing transaction revert|transaction revert|^reverted|^revert |\
reverted @|reverted with|vm revert|was reverted|has been reverted|\
revert reason|reverted without",
        ],
    )
    .none(&["could not replace"]),
    Rule::text(ExecutionRevert, &[]).need(Facts::REVERT_DATA),
    Rule::text(
        ExecutionRevert,
        &[
            "gas required exceeds allowance|cannot estimate gas|unpredictable gas|\
always fail|gas estimation|estimate gas failed|failed to estimate|\
unable to estimate",
        ],
    )
    .sub("estimate")
    .any(Facts::TX),
    Rule::text(
        ExecutionRevert,
        &[
            "evm error|vm execution error|vm exception|evm exception|execution halted|\
execution failed|halt",
            HALT,
        ],
    )
    .sub("halt"),
    Rule::text(
        ExecutionRevert,
        &["could not be completed due to an exception|invalid operation"],
    )
    .sub("halt")
    .any(Facts::CALL),
    Rule::text(ExecutionRevert, &[HALT])
        .sub("halt")
        .any(Facts::CALL)
        .none(&["nonce", "init code|initcode"]),
    Rule::text(
        ExecutionRevert,
        &["evm error|vm execution error|vm exception|evm exception|evm execution|vm error"],
    ),
];

/// Rule 4.
pub(super) const PERSON: &[Rule] = &[
    Rule::code(UserRejected, &[5750]).sub("upgrade_rejected"),
    Rule::code(UserRejected, &[4100]).sub("account_not_authorized"),
    Rule::code(UserRejected, &[4001, 5000]),
    Rule::text(
        UserRejected,
        &[
            "user rejected|user denied|user declined|user cancel|user refused|\
user disapproved|rejected by user|rejected by the user|denied by user|\
denied by the user|cancelled by user|canceled by user|cancelled by the user|\
canceled by the user|declined by user|declined by the user|\
user did not approve|user closed|user abort|refused by the user|\
refused by user|confirmed by user? no",
        ],
    ),
    Rule::text(
        UserRejected,
        &[
            "rejected|denied|declined|cancel",
            "signature|signing|message|user",
        ],
    )
    .any(Facts::WALLET)
    .none(&["rate", "ip "]),
];

/// Rule 5.
pub(super) const CHAIN: &[Rule] = &[
    Rule::code(WrongChain, &[4902, 5710]).flags(false, false),
    Rule::code(WrongChain, &[4901]),
    Rule::text(
        WrongChain,
        &[
            "chain|network",
            "not in project|project scope|not in scope|not configured|not served|\
not hosted|not provisioned",
        ],
    )
    .deny(Facts::SEND),
    Rule::text(
        WrongChain,
        &[
            "not enabled for|not activated for|not available for",
            "network|mainnet|testnet|chain",
        ],
    )
    .none(&["method|tier|plan"]),
    Rule::text(
        WrongChain,
        &[
            "wrong chain|wrong network|another chain|another network|different chain|\
different network|unrecognized chain|unsupported chain|chain not supported|\
chain is not supported|network not supported|network is not supported|\
unsupported network|unknown chain|unknown network|chain id mismatch|\
chain mismatch|network mismatch|chain not found|network not found|\
incorrect chain|incorrect network|no such chain|invalid chain|invalid network|\
network changed|chain not enabled|network not enabled|\
not enabled for this network|chain id not",
        ],
    )
    .none(&["signer|sender|signature|signed|transaction"])
    .deny(Facts::SEND),
];

/// Texts that blame the request, after everything that may hide behind such words.
pub(super) const REQUEST: &[Rule] = &[
    Rule::text(InvalidRequest, &["json rpc version|rpc version"]),
    // A code about methods over a text about the request, which is well formed: this node could not
    // read it, another one can (scenario X15).
    Rule::text(InvalidRequest, &["invalid request|parse error"])
        .with(&[-32601])
        .flags(true, false),
    // With our id in it the endpoint had read the request: something behind it could not.
    Rule::text(ParseError, &["parse error|invalid json"])
        .need(Facts::ID_ECHOED)
        .flags(true, false),
    Rule::text(
        ParseError,
        &[
            "parse error|parse json|parsing json|invalid json|json parse|malformed json|\
unexpected end of json|failed to parse request|not valid json|json syntax",
        ],
    ),
    Rule::text(
        InvalidRequest,
        &[
            "json rpc version|rpc version|invalid request|malformed request|\
not a valid request|missing method|no method specified|empty request",
        ],
    )
    .none(&["params|parameter|argument"]),
    Rule::text(
        InvalidParams,
        &["invalid argument|invalid params|invalid parameter|cannot unmarshal"],
    )
    .none(&["internal"]),
];

/// The same by words that are found in many a sentence; no sign of anything inside a reason.
pub(super) const VAGUE: &[Rule] = &[
    Rule::text(InvalidParams, &["both", "specified|provided|given|set"]).deny(Facts::SEND),
    Rule::text(
        InvalidParams,
        &[
            "invalid argument|missing value|cannot unmarshal|unable to decode|decode|\
hex string|invalid hex|invalid address|invalid type|is not an object|\
too many arguments|too few arguments|not enough arguments|missing required|\
invalid parameter|invalid params|lower than or equal|must be |must not be|\
too short|argument|is supplied|without specifying|odd length|invalid length|\
invalid block hash|cannot specify both|cant specify|choose one|invalid value|\
expected|unknown field|invalid hash|bad params|wrong number of|invalid data|\
not a valid|is required|invalid topic|invalid block number|missing field|\
deserializ",
        ],
    )
    .none(&["decode body|rpc response", "internal"])
    .deny(Facts::SEND),
    Rule::text(
        InvalidParams,
        &[
            "invalid argument|cannot unmarshal|invalid params|invalid parameter|\
missing value|rlp|decode|decoding|hex string|deserializ",
        ],
    )
    .need(Facts::SEND)
    .none(&["rpc response"]),
];

/// Rule 17: what is left of a code when the text says nothing.
pub(super) const CODES: &[Rule] = &[
    Rule::code(MissingHistory, &[4444]),
    Rule::text(Overloaded, &[]).status(&[503]),
    Rule::text(Unauthorized, &[]).status(&[401, 403]),
    Rule::text(QuotaExhausted, &[]).status(&[402]),
    Rule::text(Timeout, &[]).status(&[408, 504]),
    Rule::text(PayloadTooLarge, &[]).status(&[413]),
    Rule::code(ParseError, &[-32700]),
    Rule::code(MethodUnsupported, &[-32601, -32604]),
    Rule::code(InvalidParams, &[-32602]),
    Rule::code(InvalidRequest, &[-32600, -32006]),
    Rule::code(TxRejected, &[-32003]).need(Facts::SEND),
    Rule::code(ExecutionRevert, &[3, -32015]).any(Facts::TX),
    Rule::code(RateLimited, &[-32005, 429]),
    Rule::code(Internal, &[-32603]),
];
