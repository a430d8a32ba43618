//! `highwater serve`.

use crate::{
    arguments::{ServeArguments, address},
    exit::Exit,
    output,
};
use highwater_gateway::{
    Gateway,
    config::{ChainArgument, LoadError, Overrides, Settings, process_environment},
};

/// Why there is nothing to serve.
enum Refused {
    Usage(String),
    Configuration(LoadError),
}

pub(crate) fn run(arguments: ServeArguments) -> Exit {
    let settings = match settings(arguments) {
        Ok(settings) => settings,
        Err(Refused::Usage(problem)) => {
            output::error(&problem);
            return Exit::Usage;
        }
        Err(Refused::Configuration(problem)) => {
            output::file_error(&problem);
            return Exit::Configuration;
        }
    };
    match Gateway::serve(settings) {
        Ok(()) => Exit::Ok,
        Err(problem) => {
            output::error(&problem.to_string());
            Exit::NotServing(problem.exit_code())
        }
    }
}

fn settings(arguments: ServeArguments) -> Result<Settings, Refused> {
    let usage = |problem: &str| Err(Refused::Usage(problem.to_owned()));
    let overrides = overrides(&arguments).map_err(Refused::Usage)?;
    let ServeArguments {
        config,
        chain,
        urls,
        ..
    } = arguments;
    if let Some(file) = config {
        if !urls.is_empty() {
            return usage("give either --config or URLs: endpoints of a file stand in the file");
        }
        if chain.is_some() {
            return usage("--chain goes with URLs: chains of a file stand in the file");
        }
        return Settings::load(&file, &process_environment, &overrides)
            .map_err(Refused::Configuration);
    }
    let chain: Option<ChainArgument> = chain
        .map(|chain| chain.parse())
        .transpose()
        .map_err(|problem| Refused::Usage(format!("--chain: {problem}")))?;
    if urls.is_empty() {
        return usage(if chain.is_some() {
            "--chain alone would need the shipped list of endpoints, which this version does not \
             have yet: add endpoint URLs, as in `highwater serve --chain ethereum URL URL`"
        } else {
            "nothing to serve: give endpoint URLs, as in `highwater serve URL URL`, or a file with \
             --config FILE"
        });
    }
    Settings::from_urls(&urls, chain.as_ref(), &overrides)
        .map_err(|problem| Refused::Usage(problem.to_string()))
}

fn overrides(arguments: &ServeArguments) -> Result<Overrides, String> {
    let admin_listen = match arguments.admin_listen.as_deref() {
        None => None,
        Some("off") => Some(None),
        Some(text) => Some(Some(
            address("--admin-listen", text).map_err(|problem| format!("{problem}, or off"))?,
        )),
    };
    Ok(Overrides {
        listen: arguments
            .listen
            .as_deref()
            .map(|text| address("--listen", text))
            .transpose()?,
        admin_listen,
        require_ready: arguments.require_ready,
    })
}
