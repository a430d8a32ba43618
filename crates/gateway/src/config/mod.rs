//! The configuration: from a file or from URLs to checked [`Settings`].
//!
//! A file goes through three steps. `document` turns TOML or YAML into one tree with places;
//! `reader` turns the tree into the `model`, where every text that must have a shape gets a type
//! that has it; `check` turns the model into [`Settings`], where what belongs together fits
//! together. Every step notes all that is wrong, and a [`Report`] tells it by line (G-12, H3, H5).
//! URLs on the command line take the same last step, so that a default has one home (G-13).

mod arguments;
mod check;
mod choice;
mod document;
mod environment;
mod field;
mod folder;
mod known;
mod later;
mod load;
mod model;
mod name;
mod new_key;
mod problem;
mod reader;
mod schema;
mod settings;
mod summary;
mod unit;

#[cfg(test)]
mod tests;

pub use arguments::{ArgumentError, ChainArgument, Overrides};
pub use document::Format;
pub use environment::{Environment, process_environment};
pub use load::LoadError;
pub use new_key::{KEY_ENTROPY, NewKey};
pub use problem::{Finding, Report};
pub use schema::{OptionRow, options, options_markdown, schema};
pub use settings::{
    AdminSettings, ChainSettings, EndpointSettings, KeySettings, LogFormat, LogSettings,
    MethodRules, Secret, ServerSettings, Settings, StateSettings, WritePolicy,
};
