//! The table of `cargo run -p highwater-lab --example outage`, held to its bounds.

#[path = "../examples/outage/table.rs"]
mod table;

//
#[test]
fn an_outage_costs_no_more_and_lasts_no_longer_than_promised() {
    let rows = table::rows();
    let broken: Vec<_> = rows.iter().filter(|row| !row.holds()).collect();
    assert!(broken.is_empty(), "\n{}", table::print(&rows));
}
