//! Rules 7, 8, 12 to 16: what the service offers, to whom, how much of it, and how well it is.

use super::words::{ABSENT, GATE, OVER, REFUSED, REQUEST_BODY};
use super::{Facts, Rule};
use crate::classify::class::Class::{
    BadGatewayHtml, FilterNotFound, Internal, InvalidRequest, MethodBlocked, MethodUnsupported,
    Overloaded, PayloadTooLarge, QuotaExhausted, RateLimited, SubscriptionUnsupported, Syncing,
    Timeout, Unauthorized,
};

const NO_METHOD: &str = "method not found|method does not exist|method doesnt exist|\
method not supported|unsupported method|unknown method|method not implemented|\
method is not supported|no such method|invalid method|not implemented|\
method not available|method is not available|does not exist is not available|\
unrecognized method|method unknown|rpc method is not|is not supported|\
not supported|unsupported|unimplemented|not handled";

/// Rule 7.
pub(super) const FILTERS: &[Rule] = &[
    Rule::text(
        FilterNotFound,
        &[
            "subscription",
            "not found|unknown|no such|not exist|doesnt exist|invalid|expired",
        ],
    )
    .sub("subscription")
    .need(Facts::FILTER)
    .any(Facts::SUBSCRIBE),
    Rule::text(
        FilterNotFound,
        &[
            "filter",
            "not found|unknown|no such|not exist|doesnt exist|invalid|expired|not exists|\
removed",
        ],
    )
    .need(Facts::FILTER),
    Rule::text(
        SubscriptionUnsupported,
        &[
            "subscription|subscriptions|subscribe",
            "too many|max|limit|exceed|reached",
        ],
    )
    .sub("limit")
    .need(Facts::SUBSCRIBE),
    Rule::text(
        SubscriptionUnsupported,
        &[
            "notifications|subscription|subscriptions|subscribe|websocket|not found|\
not exist|not available|unsupported|not supported|pubsub",
        ],
    )
    .need(Facts::SUBSCRIBE),
    Rule::code(SubscriptionUnsupported, &[-32601]).need(Facts::SUBSCRIBE),
];

const NOW: &str = "per second|per minute|throughput|cups|rate limit|too many requests|\
requests per|concurrent|second|sec |rps";

/// Rule 8.
pub(super) const QUOTA: &[Rule] = &[
    Rule::text(
        QuotaExhausted,
        &[
            "daily|per day|a day|today|# hours|#h limit",
            "limit|quota|usage|consumed|exceed|reached|exhaust|request",
        ],
    )
    .sub("daily")
    .none(&["per second"]),
    Rule::text(
        QuotaExhausted,
        &[
            "past due|invoice|unpaid|overdue|payment method|billing issue|credit card|\
outstanding balance|payment failed",
        ],
    )
    .sub("billing"),
    Rule::text(
        QuotaExhausted,
        &[
            "payment is required|payment required|monthly|per month|this month|quota|\
out of credit|credits|credit limit|insufficient credit|no credits|prepaid|\
subscription expired|plan expired|trial|monthly limit|included usage|\
allowance|capacity limit",
        ],
    )
    .none(&[NOW, "range|block"]),
    Rule::text(
        QuotaExhausted,
        &[
            "usage limit|call limit|capacity exceeded|request limit|requests limit|\
plan limit|capacity|allotment|compute units|limit",
            "plan|upgrade|subscription|exhaust|for your account",
        ],
    )
    .none(&[
        NOW,
        "range|blocks|timeout|method|archive|batch|response|size|logs|response|debug|\
trace|subscriptions",
    ]),
    Rule::text(QuotaExhausted, &[]).status(&[402]),
];

/// Rule 12.
pub(super) const METHODS: &[Rule] = &[
    Rule::text(
        MethodUnsupported,
        &[
            "block tag|tag |safe|finalized|pending|commitment|block parameter|\
block identifier",
            "not supported|unsupported|malformed|unknown|not recognized|invalid|is not a",
        ],
    )
    .sub("block_tag")
    .need(Facts::TAG),
    Rule::text(
        MethodUnsupported,
        &[
            "hex string without # prefix|hex string without @ prefix|malformed block|\
without #x prefix|hex string without",
        ],
    )
    .sub("block_tag")
    .need(Facts::TAG),
    Rule::text(
        MethodUnsupported,
        &[
            "expected block number|block number or|block hash object|block id|\
cannot unmarshal object|expected a string|blocknumberorhash|untagged enum",
        ],
    )
    .sub("param_form")
    .deny(Facts::SEND),
    Rule::text(
        MethodBlocked,
        &[
            "unlock|signing|personal",
            "http|forbidden",
            "forbidden|not allowed|disabled|denied",
        ],
    ),
    Rule::text(
        MethodBlocked,
        &[
            "method|methods|namespace|module|api is|debug and|trace|debug_|trace_|rpc call|\
endpoint|rpc api|this call|this request",
            GATE,
        ],
    )
    .none(&[
        "api key not found|api key invalid|rate limit|origin|ip ",
        "does not exist is not available",
        "chain",
        "batch",
    ]),
    Rule::text(
        MethodUnsupported,
        &["too large to fit|invalid length|expected"],
    )
    .sub("param_form")
    .need(Facts::BY_HASH)
    .deny(Facts::TX.and(Facts::LOGS)),
    Rule::text(
        MethodBlocked,
        &[
            "publishing|publish",
            "not supported|unsupported|not allowed|disabled",
        ],
    )
    .need(Facts::SEND),
    Rule::text(
        MethodUnsupported,
        &[
            "endpoint|this node|this rpc",
            "not supported|unsupported|not implemented",
        ],
    ),
    Rule::text(MethodUnsupported, &[NO_METHOD]).none(&["transaction", "version", "chain", "batch"]),
    Rule::text(MethodUnsupported, &["method", ABSENT]).none(&["params|argument|parameter"]),
];

/// Rule 13.
pub(super) const SIZES: &[Rule] = &[
    Rule::text(InvalidRequest, &["empty batch|batch is empty|batch empty"]),
    Rule::text(PayloadTooLarge, &["response", OVER])
        .sub("batch_response")
        .need(Facts::BATCH),
    Rule::text(PayloadTooLarge, &["batch", "response", OVER]).sub("batch_response"),
    Rule::text(
        PayloadTooLarge,
        &[
            "batch",
            "not permitted|exceed|too large|too many|too big|max|limit|at most|up to|\
not allowed|not supported|disabled|more than|size|number of|too long|\
not enabled",
        ],
    )
    .sub("batch"),
    Rule::text(
        PayloadTooLarge,
        &[
            "return data|returndata|returned result|result of length|return size|\
returned data",
            OVER,
        ],
    )
    .sub("return_data"),
    Rule::text(PayloadTooLarge, &[REQUEST_BODY, OVER]).none(&["per second|requests per|rate"]),
    Rule::text(
        PayloadTooLarge,
        &[
            "response size|response is too|response too|response body|response exceed|\
response length|result too|result is too|result size|response limit|\
response larger|oversized response|oversized request|request is too|\
request too|exceeded max limit|too large response|too big|entity too",
        ],
    )
    .none(&["per second|requests per"]),
];

/// Rule 14.
pub(super) const RATE: &[Rule] = &[
    Rule::text(
        Overloaded,
        &["max concurrent|maximum concurrent|concurrency limit|concurrency exceeded"],
    ),
    Rule::text(
        Overloaded,
        &[
            "pool acquire|acquire connection|acquire a connection|pending acquire|\
pool exhausted|connection pool",
        ],
    ),
    Rule::text(
        Internal,
        &["handshake|dial tcp|connect timeout|connect timed out"],
    )
    .sub("upstream_connect"),
    Rule::text(
        Overloaded,
        &[
            "cant route|cannot route|no route to|not route|suitable provider|no suitable|\
suitable upstream",
        ],
    )
    .sub("no_upstream")
    .flags(true, false),
    Rule::text(
        Timeout,
        &[
            "timeout|timed out|time out|deadline exceeded|took too long|time limit|\
execution aborted",
            "limit|plan|tier|upgrade|exceed|max",
        ],
    ),
    Rule::text(
        Overloaded,
        &[
            "over capacity|connection pool|pool queue|worker|connections|queue|at capacity|\
no capacity|backlog",
            "full|busy|exhaust|limit|max|capacity|too many|exceed|timed out",
        ],
    )
    .none(&["requests per|rate limit|too many connections"]),
    Rule::text(
        RateLimited,
        &[
            "rate limit|ratelimit|rate limited|too many requests|many requests|\
request rate|requests per|per second|throttl|request limit|requests limit|\
concurrent requests|concurrent connection|slow down|cups|compute units|\
throughput|usage limit|limit exceeded|exceeded limit|exceeds limit|rps |qps |\
limit reached|max limit|call rate|reached the limit|reached your|\
exceeded your|exceeded the limit|over rate|too fast|too frequent|api limit|\
calls per|rate exceeded|limit has been reached|limit hit|request count|\
too many calls|too many connections|backoff|back off|query limit|rate cap",
        ],
    ),
    Rule::code(RateLimited, &[429, -32029]),
    Rule::text(RateLimited, &[]).status(&[429]),
];

/// Rule 15.
pub(super) const PAGES: &[Rule] = &[
    Rule::text(
        Timeout,
        &["gateway timeout|gateway time out|# gateway time"],
    ),
    Rule::text(BadGatewayHtml, &["^# not found|^# page not found"])
        .number(404)
        .sub("not_found"),
    Rule::text(BadGatewayHtml, &["error code #", "error code #"])
        .number(1015)
        .sub("waf"),
    Rule::text(
        BadGatewayHtml,
        &[
            "< doctype|< html|< head|< title|< body|bad gateway|^# service unavailable|\
^# service temporarily|character < |token < |unexpected < |text html|\
^# internal server",
        ],
    ),
];

/// Rule 16, first half.
pub(super) const STATE: &[Rule] = &[
    // proxyd's answer while its consensus group has no agreed status, source: proxyd `rpc.go`.
    Rule::text(
        Syncing,
        &[
            "optimism_syncstatus|sync status",
            "not available|unavailable",
        ],
    ),
    Rule::text(
        Syncing,
        &[
            "syncing|not synced|not in sync|initial sync|sync in progress|synchroniz|\
catching up|not fully synced|bootstrap|is starting|starting up|initializing|\
warming up|snap sync|out of sync|node is not ready|not ready|still sync|\
beacon sync",
        ],
    )
    .none(&["upstream"]),
    Rule::text(
        Timeout,
        &[
            "timeout|timed out|time out|deadline exceeded|took too long|execution aborted|\
context cancel|request cancel|gave up|maximum time|time limit|too slow|\
was cancel|been cancel|operation cancel|query cancel|aborted due",
        ],
    ),
    Rule::text(
        Internal,
        &[
            "dial tcp|connection refused|no such host|connection reset|econnrefused|\
econnreset|broken pipe|socket hang up|fetch failed|failed to connect|\
connect error|decode body|low level protocol|disconnected|certificate|\
network error|getaddrinfo|enotfound|status code|bad response|\
error sending request|eof|connection closed|connection error|transport error|\
cannot connect|could not connect|unable to connect|no route to host|\
tls handshake|response from upstream|invalid response",
        ],
    )
    .sub("upstream_connect"),
    Rule::text(Overloaded, &["currently healthy|is healthy|are healthy"]),
    Rule::text(
        Overloaded,
        &[
            "no server|no backend|no available|no healthy|no upstream|no nodes|no node|\
no provider|no matched|no matching|no endpoint|no working|no rpc|all upstream|\
no live|backend is currently|backends are|upstreams are|no active|\
upstream unavailable|upstreams unavailable|upstream not available|\
upstream is unavailable|backend unavailable|backend not available",
        ],
    )
    .sub("no_upstream"),
    // Of a send it does not say whether the sequencer has it.
    Rule::text(Overloaded, &["sequencer"])
        .sub("sequencer_fault")
        .flags(true, false)
        .need(Facts::SEND)
        .none(&["internal"]),
    Rule::text(Overloaded, &["sequencer"])
        .sub("sequencer")
        .flags(true, false)
        .deny(Facts::SEND)
        .none(&["internal"]),
    Rule::text(
        Overloaded,
        &[
            "over capacity|overload|too busy|busy|too much load|at this time|at the moment|\
right now|high load|heavy load|unavailable|scheduler|shutting down|shutdown|\
maintenance|try again later|out of resources|resource exhausted|no capacity|\
congest|insufficient capacity|temporarily|not accepting|out of memory|capacity",
        ],
    ),
    Rule::text(
        Internal,
        &["consensus|quorum|dispute|disagree|inconsistent"],
    )
    .sub("consensus"),
];

/// Rule 16, second half: keys, origins, addresses.
pub(super) const KEYS: &[Rule] = &[
    Rule::text(
        Unauthorized,
        &["host ", "not allowed|blocked|denied|forbidden"],
    )
    .sub("origin"),
    // An aggregator that names the code of the provider behind it, under a code of its own.
    Rule::text(Unauthorized, &["json rpc code #", "api key|apikey|key"])
        .with(&[0])
        .sub("upstream_key"),
    Rule::text(
        Unauthorized,
        &["origin|referer|referrer|cors|domain|user agent", REFUSED],
    )
    .sub("origin"),
    Rule::text(
        Unauthorized,
        &[
            "ip |ip address|ips|your address|remote address|country|region",
            REFUSED,
        ],
    )
    .sub("ip"),
    Rule::text(
        Unauthorized,
        &[
            "upstream|provider",
            "unauthorized|api key|authenticat|forbidden|invalid key",
        ],
    )
    .sub("upstream_key"),
    Rule::text(
        Unauthorized,
        &[
            "token is invalid|token invalid|token expired|token is expired|token not found|\
api key|apikey|access token|access key|unauthorized|unauthorised|\
unauthenticated|authenticat|authoriz|invalid key|project id|invalid token|\
missing key|jwt|suspended|forbidden|access denied|permission denied|\
not allowed to access|tenant|user key|userkey|invalid project|inactive|\
deactivated|key not|key is|key has|account disabled|account is|\
access is denied|invalid app|app not|invalid credential|credential|license|\
api token|auth token|secret|permission",
        ],
    ),
    Rule::text(
        Internal,
        &[
            "relay|panic|nil pointer|index|internal server error|internal error|\
rpc error code|failed processing|unexpected error|something went wrong|\
server error|unknown error|node error|runtime error|database|corrupt|leveldb|\
rocksdb|mdbx|not processed|failure",
        ],
    ),
];
