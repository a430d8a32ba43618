//! Word families that more than one rule uses.

/// More than is allowed.
pub(super) const OVER: &str = "exceed|too large|too wide|too big|too many|too high|too long|too broad|\
too great|limited to|limit to|limit the|limit is|limit of|limit reached|limit|\
at most|up to|no more than|max|more than|greater than|larger than|bigger than|\
longer than|wider than|smaller than|less than|over the|over limit|restrict|\
reduce|narrow|at a time|only query|smaller|shrink|threshold|not supported on|\
beyond the allowed|above the allowed";

/// An extent in blocks.
pub(super) const SPAN: &str = "block range|blocks range|range|block span|span|blocks distance|block distance|\
blocks|block count|# block|number of blocks|block window|block interval|\
block difference|block gap|from block|to block|older than # block";

/// A count of what matched.
pub(super) const RESULTS: &str = "results|result count|result set|logs|log count|log entries|events|entries|\
records|matches|log results|items|rows|# result|# log|count ";

/// The size of an answer.
pub(super) const ANSWER_SIZE: &str = "response size|response is too|response too|response body|response length|\
response exceed|response limit|result size|result too|result is too|\
output size|size of response|response payload|response data|response larger|\
size exceeded|size limit|bytes|# mb|# kb|# mib|# gb|response";

/// The request as bytes, not what it asks for.
pub(super) const REQUEST_BODY: &str = "request body|request entity|request size|request is too|request too|\
requests too|entity too|body too|body size|body exceed|body limit|\
content length|payload|length limit|message too|message size|request length|\
post body|input too|requests size|content too";

/// The end of the chain, as a node sees it.
pub(super) const HEAD: &str = "head|latest|last accepted|current block|current height|tip|best block|\
chain height|blockchain height|last available|last block|latest block|\
current max|highest|last finalized|safe head";

/// Past something.
pub(super) const PAST: &str = "after|beyond|above|ahead|greater than|higher than|newer than|later than|\
exceed|less than or equal|must be less|past|not reached|behind|in the future|\
too far|larger than|bigger than|more than";

/// Not there.
pub(super) const ABSENT: &str = "not found|not be found|notfound|does not exist|doesnt exist|not exist|unknown|\
no such|missing|unavailable|not available|isnt available|cannot find|\
could not find|couldnt find|not exists|not recognized|unrecognized|\
cannot be found|unable to find|failed to get|failed to find|\
no longer available|invalid";

/// Not offered to this caller.
pub(super) const GATE: &str = "not whitelisted|whitelist|allowlist|allow list|not allowed|not permitted|\
not enabled|disabled|not included|not found in allowed|in allowed|not part of|\
your plan|current plan|free plan|free tier|paid|premium|upgrade|\
personal token|restricted|forbidden|blocked|denied|requires a|require a|\
subscription|on this plan|in this plan|tier|not accessible|not authorized|\
no access|blacklist|denylist|not exposed|turned off|switched off|\
not activated|access to|special access|contact|addon|add on|not available on|\
not available for|not available in|not available with";

/// Words of commerce and of accounts.
pub(super) const COMMERCE: &str = "token|plan|tier|upgrade|paid|subscription|premium|addon|add on|contact|\
pricing|free|personal|purchase|enable|account|dedicated|customer|\
not supported|not allowed|access|permission";

/// A kind of refusal by a filter, an address list or a law.
pub(super) const REFUSED: &str = "not allowed|not permitted|blocked|denied|banned|forbidden|not whitelisted|\
whitelist|not authorized|unauthorized|rejected|restricted|not accepted|\
disallowed|blacklist|allowlist|allow list|invalid|not in";
