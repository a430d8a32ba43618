//! The one binary of Highwater.
//!
//! A thin shell: arguments in, exit code out. What an argument means is decided in the gateway's
//! `config`; what an exit code means stands in [`exit`] and in `docs/cli.md`, nowhere else.

mod arguments;
mod check_config;
mod classify;
mod demo;
mod exit;
mod explain;
mod figures;
mod keys;
mod lab;
mod ledger;
mod live;
mod output;
mod serve;
mod stage;

use arguments::{Arguments, Command, KeysCommand};
use clap::Parser;
use exit::Exit;
use std::{io, process::ExitCode, time::SystemTime};

// The measured choice for a proxy's many short-lived buffers of all sizes.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return output::clap(&error).into(),
    };
    // A panic has been told on stderr by then.
    std::panic::catch_unwind(|| run(arguments.command))
        .unwrap_or(Exit::Internal)
        .into()
}

fn run(command: Command) -> Exit {
    match command {
        Command::Serve(arguments) => serve::run(arguments),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Lab(arguments) => lab::run(&arguments),
        Command::CheckConfig { file } => check_config::run(&file),
        Command::Classify => {
            let output = io::BufWriter::new(io::stdout().lock());
            classify::run(io::stdin(), output, io::stderr(), SystemTime::now())
        }
        Command::Schema => {
            output::print(&format!("{:#}\n", highwater_gateway::config::schema()));
            Exit::Ok
        }
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Keys {
            command: KeysCommand::Create { name },
        } => keys::create(&name),
    }
}
