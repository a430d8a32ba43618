//! Logs: on stderr, one constant message per event with its data in fields, never a body, a
//! parameter, a URL or an address of a client (G-7).

mod lines;

use self::lines::Lines;
use crate::config::{LogFormat, LogSettings};
use std::io::{IsTerminal, stderr};
use tracing_subscriber::EnvFilter;

/// Starts logging for the whole process. Does nothing where somebody else already did.
pub(crate) fn init(settings: &LogSettings) {
    let filter = EnvFilter::builder().parse_lossy(&settings.level);
    let text = match settings.format {
        LogFormat::Text => true,
        LogFormat::Json => false,
        LogFormat::Auto => stderr().is_terminal(),
    };
    let colour = text && stderr().is_terminal();
    let lines = move || Lines::new(stderr(), colour);
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(lines);
    let _ = if text {
        builder.with_ansi(colour).try_init()
    } else {
        builder.json().flatten_event(true).try_init()
    };
}
