//! What may be done with a method.
//!
//! | file | what it holds |
//! |---|---|
//! | `descriptor` | one row of the table: every column a typed field |
//! | `table` | the rows, generated at build time from `data/methods.csv`, and the lookups |
//! | `block` | what a block reference says |
//! | `found` | where a request names its blocks |
//! | `pin` | splicing a concrete block into the caller's bytes |
//! | `key` | the identity of a request, for sharing and caching |
//! | `shape` | the types of parameters, so that a key folds case only where a string is hex |

mod block;
mod descriptor;
mod found;
mod hash;
mod key;
mod pin;
pub(crate) mod scan;
mod shape;
mod table;

pub use block::{Block, ObjectForm, Tag};
pub use descriptor::{
    BlockForms, BlockPath, CacheClass, Changes, Coalesce, Descriptor, EmptyIs, Failover,
    Idempotent, Lane, MethodId, Omitted, PinLatest, Racing, RowKind, Sticky, Tier,
};
pub use found::{Found, Reading, Reference, Slot, array_text, find};
pub use key::{Body, KeyForm, Resolve, canonical_key};
pub use pin::{Rewritten, rewrite};
pub use shape::{Field, Shape};
pub use table::{lookup, lookup_folded, rows};
