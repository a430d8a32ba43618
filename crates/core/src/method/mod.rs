//! What may be done with a method.
//!
//! | file | what it holds |
//! |---|---|
//! | `descriptor` | one row of the table: every column a typed field |
//! | `table` | the rows, generated at build time from `data/methods.csv`, and the lookups |
//! | `block` | where a request names a block, and in which form |
//! | `pin` | splicing a concrete block into the caller's bytes |
//! | `shape` | the types of parameters, so that a key folds case only where a string is hex |

mod block;
mod descriptor;
mod hash;
mod pin;
mod scan;
mod shape;
mod table;

pub use block::{Block, Found, ObjectForm, Reading, Reference, Slot, Tag, array_text, find};
pub use descriptor::{
    BlockForms, BlockPath, CacheClass, Changes, Coalesce, Descriptor, EmptyIs, Failover,
    Idempotent, Lane, MethodId, Omitted, PinLatest, Racing, RowKind, Sticky, Tier,
};
pub use pin::{Rewritten, rewrite};
pub use shape::{Field, Shape};
pub use table::{lookup, lookup_folded, rows};
