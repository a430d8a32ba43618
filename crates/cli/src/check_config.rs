//! `highwater check-config FILE`.

use crate::{exit::Exit, output};
use highwater_gateway::config::{Overrides, Settings, process_environment};
use std::path::Path;

pub(crate) fn run(file: &Path) -> Exit {
    match Settings::load(file, &process_environment, &Overrides::default()) {
        Ok(settings) => {
            output::print(&format!("{}: OK: {}\n", file.display(), settings.summary()));
            Exit::Ok
        }
        Err(problem) => {
            output::file_error(&problem);
            Exit::Configuration
        }
    }
}
