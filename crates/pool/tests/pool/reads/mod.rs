//! Reads: pinned, shared, kept, never backwards (P-1 to P-17).

mod cache;
mod down;
mod headers;
mod hot;
mod kept;
mod leave;
mod level;
mod monotone;
mod node;
mod number;
mod pin;
mod points;
mod share;
mod special;
mod wait;
