//! One row of the method table.
//!
//! Every column of `data/methods.csv` is a field of its own type, so that a new word in the table is
//! a build error and a forgotten case a type error. The routing rules that read a row
//! (races, hedges, failover), P-4 (blocks), P-10 (sharing), P-13 to P-15 (caching).

use super::shape::Shape;

/// The number of a row, in the order of the table. Aliased methods carry the number of the row
/// whose rules they follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MethodId(pub u16);

/// How a row is matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// By its whole name.
    Exact,
    /// By its name without the final `*`, as a prefix.
    Prefix,
    /// The row `*`: whatever no other row matches.
    Default,
}

/// Which surface a method belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// The standard.
    Core,
    /// Widespread, not standard.
    Common,
    /// An extension of some nodes.
    Extension,
    /// One chain family.
    Chain,
    /// Block builders.
    Builder,
    /// Wallets.
    Wallet,
    /// Account-abstraction bundlers.
    AccountAbstraction,
    /// One vendor.
    Vendor,
    /// Operators only.
    Node,
}

/// Whether repeating a call repeats its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idempotent {
    /// Repeating is free.
    Yes,
    /// Every call has its own effect.
    No,
    /// The same bytes have the same effect, yet each send is a real submission.
    Content,
}

/// What a call changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    /// Nothing: a read.
    Nothing,
    /// A filter kept by the endpoint.
    Filter,
    /// A subscription.
    Subscription,
    /// The public pool of transactions.
    Mempool,
    /// A builder's private pool.
    Builder,
    /// It uses a key that signs.
    Signer,
    /// The node itself.
    Node,
}

/// Whether a call is bound to one endpoint by an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sticky {
    /// Not bound.
    None,
    /// Gives an id that only that endpoint knows.
    Creates,
    /// Must go where the id came from.
    Requires,
    /// Must go where the id came from, and ends it.
    Ends,
    /// Lives and dies with a connection.
    Socket,
}

/// Where one block reference stands in `params`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockPath {
    /// Index into the array.
    pub index: u8,
    /// Member of the object there.
    pub key: Option<&'static str>,
}

/// Which spellings of a block a method takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockForms(u8);

impl BlockForms {
    /// No block at all.
    pub const NONE: Self = Self(0);
    /// `n`: a number.
    pub const NUMBER: Self = Self(1);
    /// `t`: a tag.
    pub const TAG: Self = Self(2);
    /// `h`: a 32-byte hash as a bare string.
    pub const HASH: Self = Self(4);
    /// `o`: an object of EIP-1898.
    pub const OBJECT: Self = Self(8);
    /// `r`: a bound of a range, where the tag `pending` is not allowed.
    pub const RANGE: Self = Self(16);

    /// The set with these letters of the table's column: bits 0 to 4 are `n`, `t`, `h`, `o`, `r`.
    pub(crate) const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Whether every form of `other` is in this set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// What a block reference that the caller left out means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Omitted {
    /// `latest`.
    Latest,
    /// Nodes disagree, so nothing may be filled in.
    Client,
    /// The call is not valid without it.
    Required,
    /// There is no block to leave out.
    NotApplicable,
}

/// Whether the tag `latest` may become a concrete number (P-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinLatest {
    /// Given or implied.
    Yes,
    /// Only when the caller wrote it.
    Given,
    /// Never.
    No,
}

/// Whether a second endpoint may be asked beside the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Racing {
    /// Yes.
    Yes,
    /// Safe, but off unless asked for: the call is heavy.
    Costly,
    /// Never.
    No,
}

/// Whether callers may share one request in flight (P-10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coalesce {
    /// Yes.
    Yes,
    /// Only when both resolve to the same block.
    Pinned,
    /// Never.
    No,
}

/// Whether another endpoint may be asked after a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failover {
    /// Try others.
    Any,
    /// Try others under the write rule.
    SameBytes,
    /// Try others only if the request provably never left.
    Unsent,
    /// Never.
    None,
}

/// How long an answer may be kept (P-13 to P-15).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheClass {
    /// One answer for an endpoint set; the note says when it expires.
    Static,
    /// Content named by a block hash.
    ByHash,
    /// Content named by a block number.
    ByNumber,
    /// Content named by a transaction: kept with the block that the answer names.
    ByTx,
    /// A read at `latest`.
    AtHead,
    /// The log index.
    LogRange,
    /// Not kept.
    Never,
}

/// What an empty answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptyIs {
    /// Zero or empty is a real answer.
    Value,
    /// Null says "not here": weak, never kept, believed only from a holder.
    Absent,
    /// An empty list is believed only from an endpoint that holds every block it is about.
    Suspect,
    /// The method has no empty answer.
    NotApplicable,
}

/// Which books, timeouts and limits a method belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Cheap reads.
    Light,
    /// State reads.
    State,
    /// Range queries.
    Range,
    /// Traces.
    Trace,
    /// Submissions.
    Write,
    /// Subscriptions.
    Stream,
    /// Refused by the gateway unless allowed.
    Denied,
}

/// A row of the method table.
#[derive(Debug, PartialEq)]
pub struct Descriptor {
    /// Its number.
    pub id: MethodId,
    /// The name, a prefix ending in `*`, or `*`.
    pub name: &'static str,
    /// How the row is matched.
    pub kind: RowKind,
    /// The namespace, without the underscore.
    pub ns: &'static str,
    /// See [`Tier`].
    pub tier: Tier,
    /// See [`Idempotent`].
    pub idempotent: Idempotent,
    /// See [`Changes`].
    pub state_changing: Changes,
    /// See [`Sticky`].
    pub sticky: Sticky,
    /// Where the block references stand, in the order of the table.
    pub block_params: &'static [BlockPath],
    /// The wire name is not this row's own: either an alias row (`klay_*`) itself, or an `eth_` row
    /// reached through one.
    pub alias: bool,
    /// See [`BlockForms`].
    pub block_forms: BlockForms,
    /// See [`Omitted`].
    pub omitted_means: Omitted,
    /// See [`PinLatest`].
    pub pin_latest: PinLatest,
    /// Whether endpoints may be raced.
    pub race: Racing,
    /// Whether a slow attempt may be hedged.
    pub hedge: Racing,
    /// See [`Coalesce`].
    pub coalesce: Coalesce,
    /// See [`Failover`].
    pub failover: Failover,
    /// See [`CacheClass`].
    pub cache_class: CacheClass,
    /// See [`EmptyIs`].
    pub empty_is: EmptyIs,
    /// Relative cost; `eth_blockNumber` is 10, `eth_call` 26.
    pub weight: u32,
    /// See [`Lane`].
    pub lane: Lane,
    /// The exceptions, in words.
    pub note: &'static str,
    /// The types of the parameters, where they are known; without them a key is the raw bytes.
    pub params: Option<&'static [Shape]>,
}

impl Descriptor {
    /// Changes nothing and may be repeated.
    #[must_use]
    pub fn is_read(&self) -> bool {
        self.state_changing == Changes::Nothing && self.idempotent == Idempotent::Yes
    }

    /// Whether null may mean "not here": where the table says so, where an empty list is suspect, and
    /// for reads of state, of which null is no value (R-37, semantics §7 row 14).
    #[must_use]
    pub fn null_is_absent(&self) -> bool {
        let empty = match self.empty_is {
            EmptyIs::Absent | EmptyIs::Suspect => true,
            EmptyIs::Value | EmptyIs::NotApplicable => self.lane == Lane::State,
        };
        empty && self.is_read()
    }

    /// A submission: the write rule applies.
    #[must_use]
    pub fn is_write(&self) -> bool {
        self.lane == Lane::Write
    }

    /// Refused by the gateway unless a key allows it.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        self.lane == Lane::Denied
    }

    /// The method names a block somewhere in its parameters.
    #[must_use]
    pub fn has_block(&self) -> bool {
        !self.block_params.is_empty()
    }

    /// An omitted block may be filled in with the pin (P-1, P-4).
    #[must_use]
    pub fn fills_omitted(&self) -> bool {
        self.pin_latest == PinLatest::Yes && self.omitted_means == Omitted::Latest
    }

    /// Bound to the endpoint that gave its id.
    #[must_use]
    pub fn is_sticky(&self) -> bool {
        match self.sticky {
            Sticky::Requires | Sticky::Ends => true,
            Sticky::None | Sticky::Creates | Sticky::Socket => false,
        }
    }

    /// One endpoint and one attempt that may have been sent: never raced, hedged, pinned, shared or
    /// cached. Every method of R-34 is so; other rows may be too.
    #[must_use]
    pub fn is_solitary(&self) -> bool {
        let one_endpoint = match self.failover {
            Failover::Unsent | Failover::None => true,
            Failover::Any | Failover::SameBytes => false,
        };
        one_endpoint
            && self.race == Racing::No
            && self.hedge == Racing::No
            && self.coalesce == Coalesce::No
            && self.cache_class == CacheClass::Never
            && self.pin_latest == PinLatest::No
    }

    /// The block may stand one place early, with the trace types after it: it is located by type.
    #[must_use]
    pub fn block_beside_types(&self) -> bool {
        self.lane == Lane::Trace
            && self.block_params.len() == 1
            && self
                .block_params
                .iter()
                .all(|path| path.index == 2 && path.key.is_none())
    }
}
