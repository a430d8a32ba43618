//! Small faults of the engine that can be switched on, so that the lab can show that it would see
//! them.
//!
//! Only a build with the feature `mutants` has any: without it every question here is answered with
//! no while compiling, and what a fault would do is not in the program. Each thread has its own
//! switch.

/// A fault. The name says what the engine then does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(feature = "mutants"),
    expect(unreachable_pub, reason = "public with the feature")
)]
pub enum Mutant {
    /// A half-open circuit lets everybody try.
    HalfOpenAdmitsAll,
    /// Only the first attempt of a call spends a token.
    RetriesAreFree,
    /// Chain checks, probes and the like spend no token.
    ChecksAreFree,
    /// Buckets fill twice as fast.
    TokensComeTwiceAsFast,
    /// Buckets hold one token more.
    BurstIsOneMore,
    /// Endpoints of another chain serve.
    QuarantineLifted,
    /// Endpoints serve before their chain is known.
    UncheckedServe,
    /// Who lags is preferred, and asked for the newest block too.
    LagAttracts,
    /// The highest head is the reference, whoever says so.
    LoneLeaderLeads,
    /// Errors leave the score alone.
    ErrorsWeighNothing,
    /// Requests count as under way until they run out of their time.
    InFlightStays,
    /// Every call may be hedged.
    SendsAreHedged,
    /// Every call may race.
    SendsRace,
    /// A call moves on although its request may have been taken.
    MaybeSentMovesOn,
    /// Null is an answer like any other.
    NullIsAnAnswer,
    /// Null needs no second endpoint.
    AbsentNeedsNobody,
    /// Open circuits count as closed.
    EjectionIgnored,
    /// Strikes never eject.
    StrikesNeverEject,
    /// Every ejection is as short as the first.
    LadderStandsStill,
    /// Ejections are over at once.
    EjectionsLastNoTime,
    /// A call that may not be repeated may be the trial.
    AnyCallIsATrial,
    /// Stated waits are not obeyed.
    RetryAfterIgnored,
    /// An exhausted quota changes nothing.
    QuotaForgotten,
    /// A refused credential changes nothing.
    RefusalForgotten,
    /// A method that an endpoint does not know is asked there again.
    MissingMethodForgotten,
    /// All tiers are one.
    TiersIgnored,
    /// Probes count as calls, so they never stop.
    ProbesAreActivity,
    /// A call ends one attempt's time after its deadline.
    DeadlineIsLate,
    /// Every retry is allowed.
    RetryBudgetIgnored,
    /// A call has one attempt more.
    OneAttemptMore,
    /// A call has one attempt less.
    OneAttemptLess,
    /// The endpoint that failed is asked again before others.
    SameEndpointAgain,
    /// A higher tier is not tried once attempts are spent.
    NoStepUp,
    /// The first failure ends the call.
    FirstFailureEnds,
    /// A reply with another id is ours.
    ForeignIdAccepted,
    /// A result beside an error is a result.
    BothAccepted,
    /// Weights do not count where they are drawn by.
    WeightsIgnored,
    /// The chain's own error is a reason to ask another endpoint.
    TerminalMovesOn,
    /// The chain's own error is a strike.
    TerminalIsAStrike,
    /// Heads are never probed.
    ProbesNever,
    /// Nobody is ejected for being behind.
    DriftTolerated,
    /// Only the least loaded endpoint is measured.
    NeverExplores,
    /// After a long ejection the chain is not asked again.
    RecheckForgotten,
    /// A half-open circuit lets nobody try.
    NobodyIsTried,
    /// Every read is copied at once.
    HedgesAtOnce,
    /// One more endpoint races.
    RaceIsWider,
    /// Checks go to whoever fails them.
    ChecksHeedNoBreaker,
    /// A head below the block is believed, however old.
    HeadsAreNotReread,
    /// A head that comes late is the newest.
    LateHeadsCount,
    /// A send whose answer was lost goes to another endpoint as if it had not been sent.
    OpenIsUnsent,
    /// A send of which nobody knows ends as one that failed.
    OpenEndsPlainly,
    /// A verdict against a transaction after a lost answer counts as its success.
    RefusalIsSuccess,
    /// Whatever a look-up brings is our transaction.
    AnythingIsFound,
    /// Calls for private endpoints go to all.
    PrivateIsPublic,
    /// Pinned reads go to endpoints that do not hold the block too.
    HoldersIgnored,
    /// A head that nobody confirmed sets the pin.
    LiarSetsPin,
    /// What a caller has seen binds nothing.
    FloorIgnored,
    /// Blocks that answers name are not remembered; only numbers and pins are.
    NamedBlocksBindNothing,
    /// Finality may go back.
    WatermarkIgnored,
    /// Reads at different blocks share one request.
    SharedAcrossPins,
    /// Answers from memory may be behind by any number of blocks.
    StaleServed,
    /// Answers from memory may be of any age.
    AgeIgnored,
    /// An answer kept at another block is served for a number.
    AnyBlockServed,
    /// A block that left the chain takes no answers with it.
    ReorgKeepsAnswers,
    /// Answers are kept and served although as many endpoints deny their block.
    DisputeIgnored,
    /// The log index keeps blocks that left the chain.
    IndexKeepsFork,
    /// The last of several parts of a range is left out.
    LastPartLost,
    /// The parts of a range are put together the wrong way round.
    PartsTurned,
    /// A tail begins one block too early, and is put behind what is there.
    TailOverlaps,
}

#[cfg(feature = "mutants")]
impl Mutant {
    /// All of routing and sending.
    pub const ALL: [Self; 54] = [
        Self::HalfOpenAdmitsAll,
        Self::RetriesAreFree,
        Self::ChecksAreFree,
        Self::TokensComeTwiceAsFast,
        Self::BurstIsOneMore,
        Self::QuarantineLifted,
        Self::UncheckedServe,
        Self::LagAttracts,
        Self::LoneLeaderLeads,
        Self::ErrorsWeighNothing,
        Self::InFlightStays,
        Self::SendsAreHedged,
        Self::SendsRace,
        Self::MaybeSentMovesOn,
        Self::NullIsAnAnswer,
        Self::AbsentNeedsNobody,
        Self::EjectionIgnored,
        Self::StrikesNeverEject,
        Self::LadderStandsStill,
        Self::EjectionsLastNoTime,
        Self::AnyCallIsATrial,
        Self::RetryAfterIgnored,
        Self::QuotaForgotten,
        Self::RefusalForgotten,
        Self::MissingMethodForgotten,
        Self::TiersIgnored,
        Self::ProbesAreActivity,
        Self::DeadlineIsLate,
        Self::RetryBudgetIgnored,
        Self::OneAttemptMore,
        Self::OneAttemptLess,
        Self::SameEndpointAgain,
        Self::NoStepUp,
        Self::FirstFailureEnds,
        Self::ForeignIdAccepted,
        Self::BothAccepted,
        Self::WeightsIgnored,
        Self::TerminalMovesOn,
        Self::TerminalIsAStrike,
        Self::ProbesNever,
        Self::DriftTolerated,
        Self::NeverExplores,
        Self::RecheckForgotten,
        Self::NobodyIsTried,
        Self::HedgesAtOnce,
        Self::RaceIsWider,
        Self::ChecksHeedNoBreaker,
        Self::HeadsAreNotReread,
        Self::LateHeadsCount,
        Self::OpenIsUnsent,
        Self::OpenEndsPlainly,
        Self::RefusalIsSuccess,
        Self::AnythingIsFound,
        Self::PrivateIsPublic,
    ];

    /// Those of reads (P-1 to P-17).
    pub const READS: [Self; 11] = [
        Self::HoldersIgnored,
        Self::LiarSetsPin,
        Self::FloorIgnored,
        Self::NamedBlocksBindNothing,
        Self::WatermarkIgnored,
        Self::SharedAcrossPins,
        Self::StaleServed,
        Self::AgeIgnored,
        Self::AnyBlockServed,
        Self::ReorgKeepsAnswers,
        Self::DisputeIgnored,
    ];

    /// Those of logs (P-21 to P-24).
    pub const LOGS: [Self; 4] = [
        Self::IndexKeepsFork,
        Self::LastPartLost,
        Self::PartsTurned,
        Self::TailOverlaps,
    ];
}

#[cfg(feature = "mutants")]
mod switch {
    use super::Mutant;
    use std::cell::Cell;

    std::thread_local! {
        static ON: Cell<Option<Mutant>> = const { Cell::new(None) };
    }

    /// Switches one fault on for this thread, and any other off.
    pub fn set(mutant: Option<Mutant>) {
        ON.set(mutant);
    }

    pub(crate) fn is(mutant: Mutant) -> bool {
        ON.get() == Some(mutant)
    }
}

#[cfg(feature = "mutants")]
pub(crate) use switch::is;
#[cfg(feature = "mutants")]
pub use switch::set;

/// Whether a fault is switched on.
#[cfg(not(feature = "mutants"))]
pub(crate) const fn is(_: Mutant) -> bool {
    false
}
