//! What an outage costs, and how soon it is over: one table, from the engine in virtual time.
//!
//! `cargo run -p highwater-lab --example outage`. The test `outage` holds every line to its bound.

mod table;

fn main() {
    print!("{}", table::print(&table::rows()));
}
