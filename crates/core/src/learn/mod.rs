//! What is learned about one endpoint beside its health: how far back it keeps data, how much it
//! takes at once, which tags it knows (R-37, `semantics.md` §7 rows 2, 4 and 19).
//!
//! | file | what it holds |
//! |---|---|
//! | `need` | which blocks, data and sizes a request needs |

mod need;

pub use need::{Data, Need};
