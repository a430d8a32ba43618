//! The Highwater binary.
fn main() {}
