//! Rules 9 to 11: blocks that are not there yet, not there any more, or too many at once.

use super::words::{ABSENT, ANSWER_SIZE, COMMERCE, HEAD, OVER, PAST, REQUEST_BODY, RESULTS, SPAN};
use super::{Facts, Rule};
use crate::classify::class::Class::{
    Behind, Internal, InvalidParams, MethodUnsupported, MissingHistory, RangeLimit, RateLimited,
    ReorgedBlock, Syncing,
};

const NO_BLOCK: &str = "nonexistent block|non existent block|inexistent block|header not found|\
header for hash not found|unknown block|block not found|unknown header|\
block does not exist|block doesnt exist|no such block|could not find block|\
cannot find block|block hash not found|block number not found|\
block # not found|block @ not found|couldnt find block|block unknown|\
block is not found|block could not be found|blocks specified|\
block is not available|block not available|block unavailable|missing block|\
block hash does not exist|block # is not available|block # not available|\
no block";
const NO_TX: &str = "transaction not found|tx not found|unknown transaction|receipt not found|\
transaction unknown|transaction @ not found|transaction hash not found|\
no transaction|transaction does not exist|tx @ not found|\
transaction receipt not found|not find transaction";
const TIME: &str = "timeout|timed out|time out|took too long|deadline exceeded|too slow|\
time limit|duration|execution aborted";

/// Rule 9: texts that only the request decides.
pub(super) const BY_REQUEST: &[Rule] = &[
    Rule::text(
        ReorgedBlock,
        &[
            "canonical hash|currently canonical|not canonical|canonical chain|reorged|\
non canonical|longer canonical|isnt canonical|noncanonical|been reorg|\
orphaned|not on canonical|not part of the canonical",
        ],
    ),
    // Besu says no more than this about a block that left the chain.
    Rule::text(ReorgedBlock, &["^invalid input"]).need(Facts::CANONICAL),
    Rule::text(
        Internal,
        &["missing|not found", "in db|in database|database|in range"],
    )
    .any(Facts::LOGS)
    .none(&["try"]),
    Rule::text(
        InvalidParams,
        &[
            "begin block|start block|from block|fromblock|start of range|lower bound|\
range start",
            "greater than|higher than|after|larger than|bigger than|above|less than",
            "end block|to block|toblock|end of range|upper bound|range end",
        ],
    )
    .none(&["latest|last|head|earliest", "limit|max"]),
    Rule::text(
        InvalidParams,
        &[
            "invalid block range|invalid range|block range invalid|range is invalid|\
invalid params|invalid input|bad range",
        ],
    )
    .need(Facts::INVERTED),
    Rule::text(Behind, &["invalid block range|invalid range"])
        .any(Facts::LOGS)
        .none(&["max|limit|exceed"]),
    Rule::text(InvalidParams, &["genesis is not traceable"]).need(Facts::GENESIS),
    Rule::text(Behind, &["genesis is not traceable"]),
    Rule::text(
        Syncing,
        &[
            "indexing|tx index|transaction index",
            "progress|not complete|still|building|not finished|not ready|not yet|incomplete",
        ],
    )
    .sub("tx_index")
    .flags(true, false),
    // `pending` is a capability of the node, the other tags are a matter of time.
    Rule::text(MethodUnsupported, &["pending", ABSENT])
        .sub("block_tag")
        .need(Facts::TAG),
    Rule::text(Behind, &["safe|finalized|justified", ABSENT])
        .sub("tag")
        .any(Facts::TAG)
        .none(&["unfinalized", "not supported|unsupported|invalid block tag"]),
    Rule::text(Behind, &[NO_TX])
        .sub("tx_unknown")
        .deny(Facts::SEND),
    Rule::text(Behind, &["not found|not be found|unknown|not exist"])
        .need(Facts::ECHOES_BLOCK)
        .deny(Facts::OLD),
    Rule::text(
        MissingHistory,
        &["not found|not be found|unknown|not exist"],
    )
    .need(Facts::ECHOES_BLOCK.and(Facts::OLD)),
    Rule::text(MissingHistory, &[PRUNED])
        .sub("proof_window")
        .need(Facts::PROOF),
    Rule::text(
        MissingHistory,
        &[
            "block with|header with|requested block|block requested",
            ABSENT,
        ],
    )
    .need(Facts::OLD)
    .none(&["latest|yet|last accepted"]),
    Rule::text(
        MissingHistory,
        &[
            "block with|header with|requested block|block requested",
            "pruned|too old|archive",
        ],
    )
    .none(&["future"]),
    Rule::text(
        Behind,
        &[
            "block with|header with|requested block|block requested",
            ABSENT,
        ],
    )
    .none(&[
        "limit|exceed",
        "state not found|state for|state at|no state|trie|prun",
    ]),
    Rule::text(MissingHistory, &[NO_BLOCK])
        .need(Facts::OLD)
        .none(&["latest|yet|last accepted"]),
    Rule::text(
        MissingHistory,
        &[NO_BLOCK, "pruned|is pruned|too old|archive"],
    )
    .none(&["future"]),
    Rule::text(Behind, &[NO_BLOCK]).none(&[
        "limit|exceed",
        "state not found|state for|state at|no state|trie|prun",
    ]),
    Rule::text(
        RangeLimit,
        &["^limit exceeded|^query limit exceeded|^exceeded limit|^exceeds limit"],
    )
    .need(Facts::RANGED)
    .sub("block_span"),
    Rule::text(RateLimited, &["^limit exceeded"]),
];

/// Rule 10. The number stands in the text or in the data; `range.rs` reads it.
pub(super) const RANGE: &[Rule] = &[
    // What looks like a bound and is the head or the oldest block.
    Rule::text(
        MissingHistory,
        &[
            "before earliest|earliest available|lowest height|first available|\
first retained|oldest available|before the earliest|earliest block|\
pruned block|includes pruned",
        ],
    ),
    Rule::text(Behind, &[PAST, HEAD])
        .any(Facts::LOGS)
        .none(&["max|limit|too large|too wide|too many|at most|up to"]),
    Rule::text(
        RangeLimit,
        &[
            TIME,
            "block range|range|narrow|reduce|smaller|fewer|address filter|limit your|\
limit the|blocks",
        ],
    )
    .sub("query_timeout")
    .any(Facts::LOGS),
    Rule::text(
        RangeLimit,
        &[
            "getlogs|eth_getlogs|log query|log queries|logs query|logs api",
            "disabled|not available|not supported|not allowed|not enabled",
        ],
    )
    .sub("log_query_disabled")
    .any(Facts::LOGS)
    .none(&["method", "range|blocks"]),
    Rule::text(
        RangeLimit,
        &[
            "specify|require|provide|must have|without|missing|need|add|set",
            "address|addresses|contract",
            "your request|filter|logs|query|restriction|range|field",
        ],
    )
    .sub("unfiltered")
    .any(Facts::LOGS)
    .none(&["less number|fewer|too many|max|exceed", "missing value"]),
    Rule::text(
        RangeLimit,
        &[
            OVER,
            "addresses|topics|address count|number of address|filters|search position|\
address list|criteria",
        ],
    )
    .sub("address_count")
    .any(Facts::LOGS)
    .none(&["address filter"]),
    Rule::text(RangeLimit, &["less number of|fewer", "address|topic"])
        .sub("address_count")
        .any(Facts::LOGS),
    Rule::text(
        RangeLimit,
        &[
            "number of requested blocks|requested blocks|number of blocks|\
block range is limited",
        ],
    )
    .sub("block_span")
    .any(Facts::LOGS),
    Rule::text(
        RangeLimit,
        &[
            "more than # result|more than # log|more than # event|more than # entries|\
more than # record|max results|too many results|too many logs|too many events|\
# results|results limit|result limit|limit of # logs|limit of # results|\
limit of # events|logs limit|# logs|too many matching|# events|# matches|\
matched by query",
        ],
    )
    .sub("result_count")
    .any(Facts::LOGS)
    .none(&["block range with|response size", REQUEST_BODY]),
    Rule::text(RangeLimit, &[OVER, ANSWER_SIZE])
        .sub("response_size")
        .any(Facts::LOGS)
        .none(&[
            REQUEST_BODY,
            "requests per|rate limit",
            "block range|blocks range|batch",
        ]),
    Rule::text(RangeLimit, &[OVER, ANSWER_SIZE, "response|result"])
        .sub("response_size")
        .any(Facts::LOGS)
        .none(&[REQUEST_BODY, "requests per|rate limit", "batch"]),
    Rule::text(RangeLimit, &["try with|retry with|should work", "range"])
        .sub("block_span")
        .any(Facts::LOGS),
    // A size without a unit, about the query: its blocks.
    Rule::text(RangeLimit, &["query", OVER, "size #"])
        .sub("block_span")
        .any(Facts::LOGS)
        .none(&[REQUEST_BODY, "response|batch"]),
    Rule::text(RangeLimit, &[OVER, SPAN])
        .sub("block_span")
        .any(Facts::LOGS.and(Facts::BATCH))
        .none(&[
            REQUEST_BODY,
            "requests per|rate limit|per second|too many requests",
        ]),
    Rule::text(RangeLimit, &[OVER, RESULTS])
        .sub("result_count")
        .any(Facts::LOGS)
        .none(&[
            REQUEST_BODY,
            "requests per|rate limit|per second|too many requests|request limit",
            "batch",
        ]),
];

const PRUNED: &str = "data before|load state|version does not exist|pruned|purged|account changes|\
inverted index|pruning|missing trie node|trie node|trie does not|\
historical state|state is not available|state not available|\
no state available|state not found|state unavailable|history unavailable|\
historical data|old data|no longer available|state histor|ancient|lookback|\
state tree|tipset state|ipld could not find|could not find @|historical rpc|\
body is missing|body missing|receipts length|not keep|state root|\
state recreation|state for block|historical block|historical header|\
historical balance|too old|data is not available|data not available|\
outside of the window|old state|out of the retention|retention|\
historical request|historical quer|before the|prior to|archive|\
state is missing|missing state|state at block|state does not exist|\
block state|stateroot";

/// Rule 11, first half.
pub(super) const HISTORY: &[Rule] = &[
    // Filecoin's epochs without a block: a fact of the chain.
    Rule::text(InvalidParams, &["null round"]),
    Rule::text(
        MissingHistory,
        &["archive|historical|history|archival|older than", COMMERCE],
    )
    .sub("archive_gated")
    .deny(Facts::TRACE)
    .none(&["missing trie node|pruned|pruning", "method"]),
    Rule::text(
        MissingHistory,
        &["archive|historical|history|archival|older than", COMMERCE],
    )
    .sub("archive_gated")
    .none(&["missing trie node|pruned|pruning", "method", "debug"]),
    Rule::text(MissingHistory, &["limit|exceed|max", "range|blocks|window"])
        .sub("proof_window")
        .need(Facts::PROOF),
    Rule::text(
        MissingHistory,
        &[
            "proof",
            "window|distance|too far|historical|limit|not available|older",
        ],
    )
    .sub("proof_window"),
    Rule::text(
        MissingHistory,
        &[
            "receipt",
            "pruned|unavailable|not available|missing|mismatch|length|not keep|no longer",
        ],
    )
    .sub("receipts"),
    Rule::code(MissingHistory, &[4444]),
    Rule::text(
        MissingHistory,
        &[
            "no state available|state not found|state not available|state unavailable|\
state is not available",
            "block|#|@|height",
        ],
    )
    .deny(Facts::NEAR_HEAD),
    Rule::text(MissingHistory, &[PRUNED]).none(&["future block", "debug", "parse|argument|param"]),
];

/// Rule 11, second half.
pub(super) const BEHIND: &[Rule] = &[
    // dRPC's number for a block that no provider behind it has reached, source: erpc's normaliser.
    Rule::text(Behind, &["chain exception|chainexception"]).number(40_000),
    Rule::text(Behind, &[PAST, HEAD]).none(&[
        "rate limit|too many|per second|requests|fee|gas|nonce",
        "max",
    ]),
    Rule::text(
        Behind,
        &[
            "future block|too far in the future|in the future|unfinalized|unfinalised|\
lagged|lagging|is behind|fallen behind|not yet|exist yet|not processed|\
processed yet|block is out of range|block out of range|not available yet|\
height is not available|not reached|ahead of|not been produced|not produced|\
expect block number|finalize block|wait for block|not synced to|\
not have block|has not been mined|future|behind the|future height",
        ],
    )
    .none(&[
        "fee|gas|nonce",
        "not yet supported|not yet implemented|yet supported",
    ]),
    Rule::text(Behind, &["height", ABSENT]).none(&["nonce"]),
    Rule::code(Behind, &[-39001]),
    // EIP-1474's own words for a block that a node does not have: they name nothing, so the request
    // decides.
    Rule::text(MissingHistory, &[RESOURCE])
        .with(&[-32001])
        .need(Facts::OLD),
    Rule::text(Behind, &[RESOURCE])
        .with(&[-32001])
        .deny(Facts::SEND),
];

const RESOURCE: &str = "^resource not found|^requested resource not found";
