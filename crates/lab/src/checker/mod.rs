//! Reads a history and says which promises were broken.
//!
//! The checker sees what clients saw and what endpoints served, and knows the chain that all of
//! them looked at. It never sees the state of what stands between, so it cannot share its mistakes.
//! A promise binds from answer to call: what a client had been told when it asked is what the
//! answer is held to, and calls in flight at the same time owe each other nothing.

mod course;
mod deserts;
mod known;
mod ledger;
pub mod lists;
mod logs;
mod perfect;
mod promises;
mod question;
mod reading;
mod reads;
mod sends;
mod service;
mod standing;
mod traffic;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::chain::Chain;
use crate::history::History;
pub use course::Course;
use ledger::Ledger;
pub use promises::{Outage, Promises};
pub use reading::Reading;
pub use sends::{Sends, Tally, tally};
pub use standing::{Dead, Pause, Return, Said, Share};

/// A kind of broken promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Breach {
    /// A client saw a head lower than one it had seen before.
    WentBack,
    /// A read was answered from another height than the one asked for.
    WrongHeight,
    /// A read came from a fork that the network did not hold.
    Orphaned,
    /// A read at `latest` was further behind than allowed.
    TooStale,
    /// Logs that the range holds were not in the answer.
    LogsMissing,
    /// A log was in the answer twice.
    LogsDoubled,
    /// Logs were out of order.
    LogsDisordered,
    /// Logs of a block that left the chain were still there.
    LogsKept,
    /// A receipt that a client had seen was gone, though no reorg took it.
    ReceiptVanished,
    /// A request that may reach one endpoint only reached two.
    SentTwice,
    /// An answer carried another id than the call.
    WrongId,
    /// An answer belonged to another question.
    WrongCaller,
    /// An endpoint was asked more than its budget allows.
    OverBudget,
    /// An answer that no endpoint gave.
    Invented,
    /// An answer taken from a reply with another id, or with a result and an error.
    Unsound,
    /// An endpoint got a request after it said that it serves another chain.
    OtherChain,
    /// A call, or all calls of an outage, cost more requests than allowed.
    Amplified,
    /// A read failed though an endpoint was there that fails nobody.
    Unanswered,
    /// Null was given for a value that somebody had, or that nobody else was asked for.
    NullWon,
    /// A call was answered after its deadline.
    Late,
    /// An endpoint got a request before it had said which chain it serves.
    Unchecked,
    /// An endpoint that fails everything got more requests than trials.
    Crowded,
    /// An endpoint got a request before the time was over that it had asked for.
    Hasty,
    /// An endpoint of a higher tier got a request although the lowest tier fails nobody.
    OutOfTier,
    /// An endpoint got more or fewer requests than its standing deserves.
    Misrouted,
    /// An endpoint was asked although nobody had called for a long time.
    Restless,
    /// An endpoint's head was not asked for although calls came.
    Unprobed,
    /// An endpoint that works again got nothing.
    Forgotten,
    /// A call went on although it had its answer.
    AskedOn,
    /// A call went to the same endpoint again before it went to another one.
    AskedAgain,
    /// A sent transaction was called accepted, and no endpoint had taken it.
    FalseSuccess,
    /// A send was told to have failed, and an endpoint had taken the transaction.
    FalseFailure,
    /// A private transaction, or its hash, went to a public endpoint.
    Exposed,
    /// A read at `latest` went out as a tag although heads were known.
    Unpinned,
    /// A newest block was told that nobody had told and that was there.
    Unfounded,
    /// Requests of one call asked for different things.
    OtherPin,
    /// A request that was made of `latest` went to an endpoint that had not told that block.
    NotHeld,
    /// An answer is not what its block holds.
    Untrue,
    /// A call went to a second endpoint beside the first one that may not, or not yet.
    Copied,
}

/// One broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Its kind.
    pub breach: Breach,
    /// When it showed.
    pub at: Duration,
    /// The call, where it is one.
    pub call: Option<u64>,
    /// What was seen and what was due.
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {:?}", self.breach, self.at)?;
        if let Some(call) = self.call {
            write!(f, ", call {call}")?;
        }
        write!(f, ": {}", self.detail)
    }
}

/// Every broken promise of a history, in the order in which they showed.
#[must_use]
pub fn check(history: &History, chain: &Arc<Chain>, promises: &Promises) -> Vec<Violation> {
    let ledger = Ledger::read(history);
    let mut found = Vec::new();
    reads::check(&ledger, chain, promises, &mut found);
    reading::check(&ledger, chain, promises, &mut found);
    logs::check(&ledger, chain, promises, &mut found);
    traffic::check(&ledger, promises, &mut found);
    service::check(&ledger, chain, promises, &mut found);
    known::check(&ledger, chain, promises, &mut found);
    standing::check(&ledger, promises, &mut found);
    course::check(&ledger, promises, &mut found);
    sends::check(&ledger, promises, &mut found);
    found.retain(|violation| !promises.exempt.contains(&violation.breach));
    found.sort_by_key(|violation| (violation.at, violation.call, violation.breach));
    found
}

#[cfg(test)]
mod tests;
