//! Reads: pinned, shared, kept, never backwards (P-1 to P-17).

mod cache;
mod costs;
mod down;
mod headers;
mod kept;
mod lag;
mod leave;
mod level;
mod monotone;
pub(crate) mod node;
mod number;
mod pin;
mod points;
mod share;
mod special;
mod wait;
