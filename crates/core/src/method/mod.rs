//! What may be done with a method.
//!
//! | file | what it holds |
//! |---|---|
//! | `descriptor` | one row of the table: every column a typed field |
//! | `table` | the rows, generated at build time from `data/methods.csv`, and the lookups |
//! | `shape` | the types of parameters, so that a key folds case only where a string is hex |

mod descriptor;
mod hash;
mod shape;
mod table;

pub use descriptor::{
    BlockForms, BlockPath, CacheClass, Changes, Coalesce, Descriptor, EmptyIs, Failover,
    Idempotent, Lane, MethodId, Omitted, PinLatest, Racing, RowKind, Sticky, Tier,
};
pub use shape::{Field, Shape};
pub use table::{lookup, lookup_folded, rows};
