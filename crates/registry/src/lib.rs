//! Probes and ranks public endpoint lists, so that free endpoints carry traffic and the paid one is
//! the last resort.
//!
//! The crate exists so that the workspace has its final shape; its first modules (source lists, URL
//! rules, probes, ranking) arrive with the registry itself.
