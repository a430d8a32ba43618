//! What a good configuration amounts to, in one line without secrets.

use super::Settings;
use std::fmt::Write as _;

impl Settings {
    /// The summary that `highwater check-config` prints.
    #[must_use]
    pub fn summary(&self) -> String {
        let mut text = String::new();
        for (index, chain) in self.chains.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            let id = chain
                .id
                .map_or_else(String::new, |id| format!(" (id {id})"));
            let endpoints = counted(chain.endpoints.len(), "endpoint");
            let _ = write!(text, "{separator}{}{id} with {endpoints}", chain.name);
        }
        let _ = write!(
            text,
            "; {}; RPC on {}",
            counted(self.keys.len(), "key"),
            self.server.listen
        );
        match self.admin.listen {
            Some(listen) => {
                let _ = write!(text, ", admin on {listen}");
            }
            None => text.push_str(", admin off"),
        }
        text
    }
}

fn counted(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}
