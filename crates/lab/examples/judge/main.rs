//! The engine under thousands of generated scenarios of two hundred calls each.
//!
//! `cargo run --profile ci -p highwater-lab --example judge [-- COUNT [FIRST]]`: ten thousand from seed
//! 0 on unless told otherwise. A scenario that breaks a promise is shrunk, printed, and written to a
//! file in `target/judge`; then the command fails.

mod run;

use std::path::Path;
use std::{env, process};

fn main() {
    let numbers: Result<Vec<u64>, _> = env::args().skip(1).map(|text| text.parse()).collect();
    let (count, first) = match numbers.as_deref() {
        Ok([]) => (10_000, 0),
        Ok([count]) => (*count, 0),
        Ok([count, first]) => (*count, *first),
        Ok(_) | Err(_) => {
            eprintln!("usage: judge [COUNT [FIRST]]");
            process::exit(2);
        }
    };
    let verdict = run::run(first, count, Path::new("target/judge"));
    print!("{}", verdict.print());
    if !verdict.failures.is_empty() {
        process::exit(1);
    }
}
