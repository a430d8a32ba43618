//! What an answer means.
//!
//! [`classify`] takes an answer and its circumstances and says which class of the catalogue it has,
//! whether another endpoint may help, whether it counts against the endpoint, how long to wait and
//! which range would pass; `None` is a good answer. It is asked only after the envelope check has
//! refused an answer or the status is not 2xx, so good answers cost nothing here; [`may_hide`] names
//! the few methods whose good results can be failures.
//!
//! The steps: shape of the body (`envelope`), every string in it (`scan`) without what varies
//! (`fold`), one pass of an automaton over all phrases (`matcher`), the first rule that holds
//! (`rules`), then the numbers (`range`, `wait`). At most 64 KiB of text are read, and the work is
//! linear in the body.
//!
//! Text that a caller controls never decides: reverts are recognised by their frame before any other
//! rule, encoded data is not text, and results are not read for words.

mod class;
mod decide;
mod envelope;
mod evidence;
mod extra;
mod fingerprint;
mod fold;
mod in_result;
mod lines;
mod matcher;
mod page;
mod range;
mod request;
mod rules;
mod scan;
mod wait;

pub use class::{Class, SuggestedRange, Verdict};
pub use decide::{Classifier, classify, classify_result, may_hide, phrases};
pub use evidence::{Evidence, HeaderLookup, no_headers};
pub use extra::{ExtraRule, RuleError};
pub use lines::{LineError, line};
pub use wait::{reads_header, retry_after};
