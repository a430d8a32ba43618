//! Filters under ids of ours (L-4).

mod node;
mod owners;
mod replay;
