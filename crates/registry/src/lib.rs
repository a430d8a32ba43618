//! Probes and ranks public endpoint lists.
