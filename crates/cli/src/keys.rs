//! `highwater keys`.

use crate::{exit::Exit, output};
use highwater_gateway::config::{KEY_ENTROPY, NewKey};

/// The key on the first line of stdout, then the section for the file; nothing is stored.
pub(crate) fn create(name: &str) -> Exit {
    let mut random = [0; KEY_ENTROPY];
    if let Err(error) = getrandom::fill(&mut random) {
        output::error(&format!(
            "the operating system gives no random numbers: {error}"
        ));
        return Exit::System;
    }
    match NewKey::new(name, random) {
        Ok(key) => {
            output::print(&format!(
                "{}\n\n# The key is stored nowhere: keep it. Put this into the configuration file:\n{}",
                key.expose(),
                key.snippet()
            ));
            Exit::Ok
        }
        Err(problem) => {
            output::error(&format!("NAME: {problem}"));
            Exit::Usage
        }
    }
}
