//! The types of parameters: where a string is hex, and which members an object may have.
//!
//! Two requests may only be taken for one where every node reads them alike (P-10, hardening B15).
//! So hex case is folded in the places named here and nowhere else, and members are sorted only in
//! objects whose members are all named here. `data/params.csv` gives the shapes of a method's
//! parameters by the words of [`Shape`]'s variants and of the objects below. Everything else is
//! compared as written: `data` and `input` stay two members, because nodes differ on which one wins.

/// The type of one value. An array has the shape of its elements, nested or not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// A string of `0x` and hex digits is read without regard to case: addresses, hashes, topics,
    /// data, quantities. Any other scalar is compared as written.
    Hex,
    /// Compared as written, insignificant blanks apart.
    Json,
    /// A block reference: its value is no part of the body of a key.
    Block,
    /// An object with at most these members, sorted by name.
    Object(&'static [Field]),
    /// An object whose member names are hex themselves, each holding this shape.
    Map(&'static Shape),
}

/// A member that an object may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field {
    /// Its name, in the one spelling that is taken for it.
    pub name: &'static str,
    /// The shape of its value.
    pub shape: Shape,
}

const fn field(name: &'static str, shape: Shape) -> Field {
    Field { name, shape }
}

const fn hex(name: &'static str) -> Field {
    field(name, Shape::Hex)
}

const fn json(name: &'static str) -> Field {
    field(name, Shape::Json)
}

/// `call`: a transaction that is executed but not sent.
pub(crate) const CALL: Shape = Shape::Object(&[
    field("accessList", ACCESS_LIST),
    field("authorizationList", AUTHORIZATIONS),
    hex("blobVersionedHashes"),
    hex("blobs"),
    hex("chainId"),
    hex("commitments"),
    hex("data"),
    hex("from"),
    hex("gas"),
    hex("gasPrice"),
    hex("input"),
    hex("maxFeePerBlobGas"),
    hex("maxFeePerGas"),
    hex("maxPriorityFeePerGas"),
    hex("nonce"),
    hex("proofs"),
    hex("to"),
    hex("type"),
    hex("value"),
]);

const ACCESS_LIST: Shape = Shape::Object(&[hex("address"), hex("storageKeys")]);

const AUTHORIZATIONS: Shape = Shape::Object(&[
    hex("address"),
    hex("chainId"),
    hex("nonce"),
    hex("r"),
    hex("s"),
    hex("v"),
    hex("yParity"),
]);

/// `state`: overrides of accounts by address.
pub(crate) const STATE: Shape = Shape::Map(&Shape::Object(&[
    hex("balance"),
    hex("code"),
    hex("movePrecompileToAddress"),
    hex("nonce"),
    field("state", SLOTS),
    field("stateDiff", SLOTS),
]));

/// `slots`: hex values by hex names.
pub(crate) const SLOTS: Shape = Shape::Map(&Shape::Hex);

/// `header`: overrides of the block that a call runs in.
pub(crate) const HEADER: Shape = Shape::Object(&[
    hex("baseFee"),
    hex("baseFeePerGas"),
    hex("blobBaseFee"),
    hex("coinbase"),
    hex("difficulty"),
    hex("feeRecipient"),
    hex("gasLimit"),
    hex("number"),
    hex("prevRandao"),
    hex("random"),
    hex("time"),
    hex("timestamp"),
    hex("withdrawals"),
]);

/// `bundle`: calls that run one after another.
pub(crate) const BUNDLE: Shape =
    Shape::Object(&[field("blockOverride", HEADER), field("transactions", CALL)]);

/// `context`: the state that a bundle starts from.
pub(crate) const CONTEXT: Shape =
    Shape::Object(&[field("blockNumber", Shape::Block), hex("transactionIndex")]);

/// `simulation`: blocks of calls.
pub(crate) const SIMULATION: Shape = Shape::Object(&[
    field("blockStateCalls", SIMULATED_BLOCKS),
    json("returnFullTransactions"),
    json("traceTransfers"),
    json("validation"),
]);

const SIMULATED_BLOCKS: Shape = Shape::Object(&[
    field("blockOverrides", HEADER),
    field("calls", CALL),
    field("stateOverrides", STATE),
]);

/// `filter`: which logs.
pub(crate) const FILTER: Shape = Shape::Object(&[
    hex("address"),
    field("blockHash", Shape::Block),
    field("fromBlock", Shape::Block),
    field("toBlock", Shape::Block),
    hex("topics"),
]);

/// `trace_filter`: which traces.
pub(crate) const TRACE_FILTER: Shape = Shape::Object(&[
    json("after"),
    json("count"),
    hex("fromAddress"),
    field("fromBlock", Shape::Block),
    json("mode"),
    hex("toAddress"),
    field("toBlock", Shape::Block),
]);

/// `tracer`: how to trace. What a tracer itself is told is opaque.
pub(crate) const TRACER: Shape = Shape::Object(&[
    field("blockOverrides", HEADER),
    json("disableStack"),
    json("disableStorage"),
    json("enableMemory"),
    json("enableReturnData"),
    json("reexec"),
    field("stateOverrides", STATE),
    json("timeout"),
    json("tracer"),
    json("tracerConfig"),
    hex("txIndex"),
]);

/// The shape that a word of `data/params.csv` stands for is the constant of that name in capitals;
/// `hex`, `json` and `block` are the plain ones.
pub(crate) const HEX: Shape = Shape::Hex;
/// See [`HEX`].
pub(crate) const JSON: Shape = Shape::Json;
/// See [`HEX`].
pub(crate) const BLOCK: Shape = Shape::Block;
