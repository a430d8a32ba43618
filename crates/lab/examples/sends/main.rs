//! What becomes of transactions under every policy, where answers are lost and nodes forget.
//!
//! `cargo run --profile ci -p highwater-lab --example sends [-- COUNT [FIRST]]`: a hundred thousand
//! sends under each policy, from seed 0 on, unless told otherwise. A scenario that breaks a promise is
//! shrunk, printed, and written to a file in `target/sends`; then the command fails.

mod run;

use std::path::Path;
use std::{env, process};

fn main() {
    let numbers: Result<Vec<u64>, _> = env::args().skip(1).map(|text| text.parse()).collect();
    let (count, first) = match numbers.as_deref() {
        Ok([]) => (100_000, 0),
        Ok([count]) => (*count, 0),
        Ok([count, first]) => (*count, *first),
        Ok(_) | Err(_) => {
            eprintln!("usage: sends [COUNT [FIRST]]");
            process::exit(2);
        }
    };
    println!("{}", run::HEADING);
    let mut failed = false;
    for policy in &highwater_lab::random::SEND_POLICIES {
        let verdict = run::run(policy, first, count, Path::new("target/sends"));
        print!("{}", verdict.print(policy));
        failed |= !verdict.failures.is_empty();
    }
    if failed {
        process::exit(1);
    }
}
