//! What an outage costs, and how soon it is over: one table, from the engine in virtual time.
//!
//! `cargo run --profile ci -p highwater-lab --example outage`. It fails where a figure is out of its
//! bounds; the test `outage` runs the same table.

mod table;

use std::process;

fn main() {
    let rows = table::rows();
    print!("{}", table::print(&rows));
    if !rows.iter().all(table::Row::holds) {
        process::exit(1);
    }
}
