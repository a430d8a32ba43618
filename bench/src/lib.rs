//! Benchmarks of Highwater; see `benches/`.
