//! Rule 6: verdicts on a transaction, only where the request has one.

use super::{Facts, Rule};
use crate::classify::class::Class::{
    AlreadyKnown, Internal, Overloaded, RateLimited, Timeout, TxRejected,
};

const KNOWN: &str = "already known|alreadyknown|known transaction|already imported|\
already exists in|already in mempool|already in the mempool|already in pool|\
already in the pool|already have transaction|transaction already exists|\
tx already exist|same hash|already in the system|tx already in|\
already submitted|duplicate transaction|already pending|already received|\
already been imported|transaction already known|already in cache|\
already queued|already in the tx pool|already in txpool";
const MINED: &str = "already mined|already finalized|already executed|already included|\
already been mined|already in chain|already confirmed|already processed|\
already been included|already in the chain|already in a block|already in block";
const FULL: &str = "pool is full|pool full|txpool is full|txpool full|queue full|queue is full|\
mempool is full|mempool full|pool size|pool overflow|pool at capacity|\
pool is at capacity|pool limit|pool has reached|too many transactions in|\
no space in|pool capacity|discarded outright|pool not enabled|pool disabled|\
pool is disabled";
/// A node that passes transactions on, and could not.
const LOST: &str = "failed to publish transaction|failed to send transaction|forwarding target";
const NONCE_LOW: &str = "nonce too low|nonce is too low|old nonce|nonce has already been used|\
nonce already used|nonce expired|invalid transaction nonce|pool stale|^stale|\
nonce stale|stale nonce|stale transaction|nonce lower|incorrect nonce|\
nonce low|wrong nonce|nonce less than|nonce below|nonce is lower|\
nonce is less|nonce too small|invalid nonce|account nonce mismatch|\
nonce mismatch|nonce used";
const NONCE_HIGH: &str = "nonce too high|nonce is too high|nonce gap|gapped nonce|future nonce|\
nonce too distant|nonce is too distant|nonce too far|nonce ahead|\
nonce greater|nonce is greater|nonce beyond|pool future|nonce higher|\
nonce is higher|nonce too big|nonce too large|nonce has max";
const REPLACE: &str = "own nonce already used|replacement transaction|replacement underpriced|\
replacement not|replacement|could not replace|replace existing|same nonce|\
replace pending|replace an existing|had higher priority|to replace|\
cannot replace";
const FUNDS: &str = "insufficient funds|insufficient balance|insufficient payer balance|\
insufficient sender balance|not enough funds|enough funds|\
exceeds account balance|exceeds the balance|overdraft|balance too low|\
insufficient eth|not enough balance|balance is insufficient|\
insufficient signer balance|failed to pay|insufficient account balance|\
lack of funds|insufficient lamports|insufficient native|\
insufficient gas balance|had insufficient|unable to pay|transaction payment|\
invalid payment";
const BELOW_BASE: &str = "less than block base fee|less than the block base fee|below base fee|\
lower than base fee|fee cap less than|max fee per gas less than|\
less than base fee|less than the base fee|lower than the base fee|\
below the base fee|lower than block base fee|below block base fee|\
base fee exceeds|under the base fee|smaller than base fee";
const TIP_ABOVE: &str = "priority fee per gas higher|tip higher than|priority fee higher|tip above|\
priority fee greater|priority fee per gas greater|priority fee is greater|\
tip greater|priority fee exceeds|max priority fee per gas exceeds|\
tip cap exceeds fee cap|priority fee per gas exceeds|priority is greater";
const FEE_CAP: &str = "exceeds the configured cap|exceeds configured cap|fee cap exceeded|\
exceeds the cap|fee exceeds cap|exceeds fee cap limit|\
exceeds the configured limit";
const CHEAP: &str = "underpriced|price too low|price is too low|gas price below|\
below configured minimum|below minimum|fee too low|gasprice is less|\
gas price less|gas price is less|minimum gas price|priority fee below|\
per gas too low|tip too low|gas tip cap|min gas price|too low to compete|\
tip below|effective priority fee|gas price lower|below the minimum|\
insufficient fee|insufficient gas price|minimum needed|fee is too low|\
gas price is lower|priority fee too low|less than minimum|fee below|\
price below|fee lower than|fee less than|under min";
const INTRINSIC: &str = "intrinsic gas|not enough gas|gas limit too low|gas too low|floor data gas|\
insufficient gas|gas limit is too low|gas floor|floor gas|gas below|\
gas limit below|calldata floor|gas is too low|gas limit is below|\
at least # gas|gas less than";
const GAS_LIMIT: &str = "block gas limit|blocks gas limit|gas limit exceeded|maximum gas|\
gas limit too high|gas limit is too high|exceeds gas limit|gas limit cap|\
gas cap|gas limit exceeds|allowable gas|exceeds block gas|gas limit too large|\
gas limit|exceeds the block|max gas|gas exceeds|gas limit # exceeds|\
too much gas|gas too high|gas too large|gas is beyond|gas beyond";
const SENDER: &str = "invalid sender|sender is contract|not an eoa|resolve sender|sender has code|\
externally owned|deployed code|sender not an|sender is not an eoa|\
sender is not eoa|senders with|from contract|non eoa|sender recovery|\
recover sender";
const SIGNATURE: &str = "invalid signature|signature invalid|v r s|signature verification|\
wrong signature|bad signature|signature recovery|could not recover|ecdsa|\
signature is not|signature is invalid|malleable|signature values|invalid sig";
const CHAIN_ID: &str = "invalid chain id|chain id for signer|wrong chain id|incorrect chain id|\
chain id mismatch|chain id|chainid|wrong chain|different chain|invalid chain|\
incorrect chain|another chain";
const TOO_BIG: &str = "oversized|rlp too long|transaction size|tx size|tx too large|\
transaction too large|exceeds size|size exceeds|encoded transaction|\
transaction is too large|tx is too large|transaction data too|data too large|\
calldata too|calldata size|exceeds max size|transaction too big|pubdata";
const TX_TYPE: &str = "transaction type|tx type|typed transaction|type not supported|tx type not|\
unsupported type|transactions are not supported|eip # transaction|\
transaction not supported|legacy transactions|type # transaction|\
transactions not supported|eip # not";
const DENIED: &str = "black list|blacklist|denylist|deny list|sanction|sdn|prohibited|banned|\
filtered|censor|ofac|restricted address|blocked address|address is blocked|\
sender is blocked|address blocked|denied address|not allowed to send|\
sender not authorized|sender not allowed|not authorized|not permitted|\
account is blocked|sender account not|blocked";

/// With a transaction in the request.
pub(super) const VERDICTS: &[Rule] = &[
    Rule::text(AlreadyKnown, &[MINED])
        .sub("mined")
        .need(Facts::SEND),
    Rule::text(AlreadyKnown, &[KNOWN])
        .sub("in_mempool")
        .need(Facts::SEND),
    // A limit of slots per account in the pool of one node.
    Rule::text(TxRejected, &["account limit", "pooled|slot|blob"])
        .sub("policy")
        .need(Facts::SEND),
    // A limit of one sender at a sequencer: no other endpoint has another answer.
    Rule::text(
        RateLimited,
        &[
            "sender|account|signer|from address|address|per user",
            "too many|rate limit|limit|max|quota",
            "pending|queued|in flight|per sender|per account|transactions|rate|txs",
        ],
    )
    .sub("sequencer_sender")
    .flags(false, false)
    .need(Facts::SEND)
    .none(&[
        "delegat",
        "gas limit",
        "api",
        "pool is full|pool full",
        "requests",
    ]),
    Rule::text(Overloaded, &[FULL])
        .sub("txpool_full")
        .flags(true, false)
        .need(Facts::SEND)
        .none(&[LOST]),
    Rule::text(
        TxRejected,
        &[
            "delegat|set code|setcode|authorization list|authority|auth list|\
# authorization|in flight transaction limit",
        ],
    )
    .sub("delegation")
    .need(Facts::TX),
    Rule::text(TxRejected, &[NONCE_HIGH])
        .sub("nonce_too_high")
        .need(Facts::TX),
    Rule::text(TxRejected, &[REPLACE])
        .sub("replacement_underpriced")
        .need(Facts::SEND),
    Rule::text(TxRejected, &[NONCE_LOW])
        .sub("nonce_too_low")
        .need(Facts::TX),
    Rule::code(TxRejected, &[6])
        .sub("nonce_too_high")
        .need(Facts::SYNC),
    Rule::text(
        TxRejected,
        &["user operation|userop|entry point|entrypoint|paymaster|aa1|aa2|aa3|aa4|aa5|aa9"],
    )
    .sub("user_operation")
    .need(Facts::TX),
    Rule::code(
        TxRejected,
        &[
            -32500, -32501, -32502, -32503, -32504, -32505, -32506, -32507, -32508, -32521,
        ],
    )
    .sub("user_operation"),
    Rule::text(TxRejected, &[FUNDS])
        .sub("insufficient_funds")
        .need(Facts::TX)
        .none(&["payment required|payment is required"]),
    Rule::text(TxRejected, &[FEE_CAP])
        .sub("fee_cap_exceeded")
        .flags(true, false)
        .need(Facts::TX),
    Rule::text(TxRejected, &["blob|sidecar|kzg|versioned hash"])
        .sub("blob")
        .need(Facts::TX),
    Rule::text(TxRejected, &[BELOW_BASE])
        .sub("fee_cap_below_base")
        .need(Facts::TX),
    Rule::text(TxRejected, &[TIP_ABOVE])
        .sub("tip_above_cap")
        .need(Facts::TX),
    Rule::text(TxRejected, &[INTRINSIC])
        .sub("intrinsic_gas")
        .need(Facts::TX)
        .none(&["gas price|gas tip|gas fee|per gas"]),
    Rule::text(TxRejected, &[CHEAP])
        .sub("underpriced")
        .need(Facts::TX),
    Rule::text(
        TxRejected,
        &["init code|initcode|max code size|contract size|code size"],
    )
    .sub("init_code")
    .need(Facts::TX),
    Rule::text(TxRejected, &["out of counters|counters"])
        .sub("counters")
        .need(Facts::TX),
    Rule::text(TxRejected, &[GAS_LIMIT])
        .sub("gas_limit")
        .need(Facts::TX),
    Rule::text(
        TxRejected,
        &[
            "chain id is required|chainid is required|replay protect|unprotected|\
eip # signature|not replay",
        ],
    )
    .sub("replay_protection")
    .need(Facts::SEND),
    Rule::text(TxRejected, &[CHAIN_ID])
        .sub("chain_id")
        .need(Facts::SEND),
    Rule::text(TxRejected, &[SENDER])
        .sub("sender")
        .need(Facts::TX)
        .none(&["rate|limit", "blocked"]),
    Rule::text(TxRejected, &[SIGNATURE])
        .sub("signature")
        .need(Facts::TX),
    Rule::text(TxRejected, &["access list"])
        .sub("access_list")
        .need(Facts::TX),
    Rule::text(TxRejected, &[TX_TYPE])
        .sub("tx_type")
        .need(Facts::TX)
        .none(&["publish|endpoint|method"]),
    Rule::text(TxRejected, &[TOO_BIG])
        .sub("oversized")
        .need(Facts::SEND)
        .none(&["request body"]),
    Rule::text(
        TxRejected,
        &["condition|known account|storage root|timestamp max|block number max"],
    )
    .sub("conditional")
    .need(Facts::SEND)
    .none(&["terms"]),
    // A law or a sequencer's list is the same behind every endpoint; a node's list is its own.
    Rule::text(
        TxRejected,
        &["legally|sdn|sanction|ofac|not authorized to send|whitelist|allowlist"],
    )
    .sub("denied")
    .need(Facts::SEND),
    Rule::text(TxRejected, &[DENIED])
        .sub("denied")
        .flags(true, false)
        .need(Facts::SEND)
        .none(&["ip |api key|apikey|method|origin|key", "rate"]),
    Rule::text(
        Timeout,
        &["timeout|timed out|time out|within the|not included|not mined|wait"],
    )
    .sub("sync_send")
    .flags(false, false)
    .need(Facts::SYNC)
    .with(&[4]),
    Rule::code(Timeout, &[4])
        .sub("sync_send")
        .flags(false, false)
        .need(Facts::SYNC),
    Rule::code(Overloaded, &[5])
        .sub("sync_send")
        .flags(false, false)
        .need(Facts::SYNC),
    Rule::text(TxRejected, &["validation|validate|failed to verify"])
        .sub("validation")
        .need(Facts::SEND)
        .none(&["validation service"]),
    Rule::text(TxRejected, &["policy"])
        .sub("policy")
        .need(Facts::SEND),
    Rule::text(
        TxRejected,
        &[
            "invalid transaction|transaction as invalid|negative value|transaction invalid|\
tx invalid|transaction rejected|tx rejected|rejected transaction|\
transaction was rejected|invalid tx",
        ],
    )
    .need(Facts::SEND),
];

/// What a node says when it takes no transactions, or could not pass one on (semantics §5.1). Verdicts
/// that it quotes were found before; any other reason that it quotes is about one of its targets, and
/// another of them may have taken the transaction.
pub(super) const FORWARDED: &[Rule] = &[
    // Nitro's own words before it looks at the transaction: a proof that it was not taken.
    Rule::text(
        Overloaded,
        &["sequencer temporarily not available|currently not accepting transactions"],
    )
    .sub("sequencer")
    .flags(true, false)
    .need(Facts::SEND),
    Rule::text(Internal, &[LOST])
        .sub("forwarder")
        .need(Facts::SEND),
];

/// The same words where nothing was sent: the node's state is wrong, whatever it says.
pub(super) const ELSEWHERE: &[Rule] = &[
    // A mined transaction had its funds and its nonce: the tracer rebuilt the wrong state.
    Rule::text(
        Internal,
        &[
            "insufficient funds|nonce too low|nonce too high|fee cap less than|\
less than block base fee|intrinsic gas",
        ],
    )
    .need(Facts::TRACE)
    .deny(Facts::TX)
    .flags(true, false),
    Rule::text(
        Internal,
        &[
            "insufficient funds|nonce too low|nonce too high|already known|underpriced|\
intrinsic gas|fee cap less than|less than block base fee",
        ],
    )
    .deny(Facts::TX),
];
