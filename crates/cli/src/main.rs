//! The Highwater binary.

use std::io;
use std::process::ExitCode;
use std::time::SystemTime;

use clap::{Parser, Subcommand};

mod classify;

/// Many Ethereum JSON-RPC endpoints, behaving like one good node.
#[derive(Parser)]
#[command(name = "highwater", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Classify answers of endpoints: JSON lines on stdin, JSON lines on stdout.
    ///
    /// Each line is an object with http_status and body, and where known headers, method,
    /// request_params, context and id. Exit code 0: all lines classified; 2: some lines were no such
    /// objects (each is named on stderr, the others are classified); 71: reading or writing failed.
    Classify,
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Classify => {
            let output = io::BufWriter::new(io::stdout().lock());
            ExitCode::from(classify::run(
                io::stdin().lock(),
                output,
                io::stderr(),
                SystemTime::now(),
            ))
        }
    }
}
