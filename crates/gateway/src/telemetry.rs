//! Logs: on stderr, one constant message per event with its data in fields, never a body, a
//! parameter, a URL or an address of a client (G-7).

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
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(stderr);
    let _ = if text {
        builder.with_ansi(stderr().is_terminal()).try_init()
    } else {
        builder.json().flatten_event(true).try_init()
    };
}
