//! `highwater lab`: a scenario on real sockets, with or without the gateway, or in virtual time.

mod fleet;
mod pace;
mod rehearsal;
mod routed;

use crate::{
    arguments::{self, LabArguments},
    exit::Exit,
    live, output,
};
use highwater_lab::scenario::Scenario;
use std::{fmt::Write as _, path::Path};

/// Why it did not begin.
pub(super) enum Refused {
    /// The command line is wrong.
    Usage(String),
    /// The file is wrong; the text names it.
    File(String),
    /// The operating system refused something.
    System(String),
    /// Something else, and how the process ends.
    Ends(Exit, String),
}

pub(crate) fn run(arguments: &LabArguments) -> Exit {
    match play(arguments) {
        Ok(exit) => exit,
        Err(Refused::Usage(problem)) => {
            output::error(&problem);
            Exit::Usage
        }
        Err(Refused::File(problem)) => {
            output::file_error(&problem);
            Exit::Configuration
        }
        Err(Refused::System(problem)) => {
            output::error(&problem);
            Exit::System
        }
        Err(Refused::Ends(exit, problem)) => {
            output::error(&problem);
            exit
        }
    }
}

fn play(arguments: &LabArguments) -> Result<Exit, Refused> {
    let seed = arguments::seed(arguments.seed.as_deref()).map_err(Refused::Usage)?;
    if arguments.virtual_time {
        if arguments.listen.is_some() {
            let problem = "--listen goes with real sockets: in virtual time nothing listens";
            return Err(Refused::Usage(problem.to_owned()));
        }
        if arguments.gateway {
            let problem = "--gateway goes with real sockets: in virtual time there is no gateway";
            return Err(Refused::Usage(problem.to_owned()));
        }
        let scenario = read(&arguments.scenario, seed)?;
        output::print(&rehearsal::run(&scenario, arguments.json));
        return Ok(Exit::Ok);
    }
    let listen = arguments.listen.as_deref().unwrap_or("127.0.0.1:9545");
    let listen = arguments::address("--listen", listen).map_err(Refused::Usage)?;
    let scenario = read(&arguments.scenario, seed)?;
    let above = scenario.nodes.len() - 1;
    if listen.port() != 0 && above > usize::from(u16::MAX - listen.port()) {
        return Err(Refused::Usage(format!(
            "--listen: the other nodes need the {above} ports above: choose a lower one"
        )));
    }
    let runtime = live::runtime().map_err(Refused::System)?;
    if arguments.gateway {
        let file = arguments.scenario.display();
        let onsets = routed::onsets(&scenario)
            .map_err(|problem| Refused::File(format!("{file}: {problem}")))?;
        return runtime.block_on(routed::run(&scenario, &onsets, listen, arguments.json));
    }
    runtime.block_on(fleet::run(&scenario, listen, arguments.json))?;
    Ok(Exit::Ok)
}

fn read(path: &Path, seed: Option<u64>) -> Result<Scenario, Refused> {
    let file = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Refused::File(format!("{file}: cannot read the scenario: {error}")))?;
    Scenario::parse(&text, seed).map_err(|error| {
        let (line, column, message) = (error.line, error.column, error.message);
        Refused::File(format!("{file}:{line}:{column}: {message}"))
    })
}

/// One line for each node: its name, its URL where it has one, and what it will do.
pub(crate) fn nodes(scenario: &Scenario, urls: &[String]) -> String {
    let profiles = || scenario.nodes.iter().map(|(profile, _)| profile);
    let width = profiles().map(|profile| profile.name.chars().count()).max();
    let width = width.unwrap_or_default();
    let mut text = String::new();
    for (index, profile) in profiles().enumerate() {
        let _ = write!(text, "  {:width$}  ", profile.name);
        if let Some(url) = urls.get(index) {
            let _ = write!(text, "{url}  ");
        }
        let _ = writeln!(text, "{profile}");
    }
    text
}
