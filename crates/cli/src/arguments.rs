//! The command line.
//!
//! Values are taken as text and read by us, so that no message of the parser quotes one: any of
//! them may be a URL with a key in it.

use crate::exit;
use clap::{Args, Parser, Subcommand};
use std::{net::SocketAddr, path::PathBuf};

/// Many Ethereum JSON-RPC endpoints, behaving like one good node.
#[derive(Debug, Parser)]
#[command(name = "highwater", version, after_help = exit::TABLE, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve endpoints as one, given by URLs or by a configuration file
    #[command(after_help = exit::TABLE)]
    Serve(ServeArguments),
    /// Six nodes that fail on cue behind the gateway, under load: what callers notice of it
    #[command(after_help = exit::TABLE)]
    Demo(DemoArguments),
    /// Simulated nodes that behave as a scenario says, on sockets or in virtual time
    #[command(after_help = exit::TABLE)]
    Lab(LabArguments),
    /// Check a configuration file and say what it amounts to
    CheckConfig {
        /// A TOML file, or YAML by its ending
        file: PathBuf,
    },
    /// Classify answers of endpoints: JSON lines on stdin, JSON lines on stdout
    #[command(after_help = exit::TABLE)]
    Classify,
    /// Say why calls go where they go: every endpoint's score, or why it is out
    #[command(after_help = exit::TABLE)]
    Explain(ExplainArguments),
    /// Print the JSON schema of the configuration file
    Schema,
    /// API keys of the gateway
    #[command(disable_help_subcommand = true)]
    Keys {
        #[command(subcommand)]
        command: KeysCommand,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Make a key and print it with the section for the configuration file
    Create {
        /// Name of the key in logs and metrics
        name: String,
    },
}

#[derive(Args)]
pub(crate) struct ServeArguments {
    /// Configuration file, instead of URLs
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Address of the RPC listener, instead of the file's or 127.0.0.1:4545
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    /// Address of the admin listener or `off`, instead of the file's or 127.0.0.1:4546
    #[arg(long, value_name = "ADDR|off")]
    pub(crate) admin_listen: Option<String>,
    /// The chain of the URLs, instead of asking the endpoints
    #[arg(long, value_name = "NAME_OR_ID")]
    pub(crate) chain: Option<String>,
    /// Exit with 69 when no endpoint answers at start
    #[arg(long)]
    pub(crate) require_ready: bool,
    /// Endpoints
    #[arg(value_name = "URL")]
    pub(crate) urls: Vec<String>,
}

#[derive(Args, Default)]
pub(crate) struct ExplainArguments {
    /// Admin listener of the gateway, instead of http://127.0.0.1:4546
    #[arg(long, value_name = "URL")]
    pub(crate) admin: Option<String>,
    /// Its token, instead of the environment variable HIGHWATER_ADMIN_TOKEN
    #[arg(long, value_name = "TOKEN")]
    pub(crate) token: Option<String>,
    /// Print the answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Parameters of the call as a JSON array: which blocks it needs depends on them
    #[arg(long, value_name = "JSON")]
    pub(crate) params: Option<String>,
    /// The chain, by name, alias or id; may be left out where there is one only
    #[arg(value_name = "CHAIN")]
    pub(crate) chain: Option<String>,
    /// The method; without one only the last decisions are shown
    #[arg(value_name = "METHOD")]
    pub(crate) method: Option<String>,
}

impl std::fmt::Debug for ExplainArguments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExplainArguments")
            .field("chain", &self.chain)
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

#[derive(Args, Debug)]
pub(crate) struct DemoArguments {
    /// Address of the gateway, instead of 127.0.0.1:4545; its admin listener is one port above
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    /// Another run of bad luck, instead of 1
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<String>,
    /// How long it lasts, instead of 20s
    #[arg(long = "for", value_name = "DURATION")]
    pub(crate) lasts: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct LabArguments {
    /// The scenario, a TOML file
    #[arg(value_name = "SCENARIO.toml")]
    pub(crate) scenario: PathBuf,
    /// Address of the first node, instead of 127.0.0.1:9545; the others are on the ports above it,
    /// with port 0 each on a free one
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    /// With the gateway before the nodes and the scenario's load through it, and a verdict
    #[arg(long)]
    pub(crate) gateway: bool,
    /// In virtual time, with simulated clients and no sockets
    #[arg(long = "virtual")]
    pub(crate) virtual_time: bool,
    /// Instead of the file's seed
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<String>,
    /// For programs: one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Reads the value of a flag that takes an address; the problem does not repeat it.
pub(crate) fn address(flag: &str, text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| format!("{flag}: expected an IP address and a port, such as 127.0.0.1:4545"))
}

/// Reads the value of `--seed`.
pub(crate) fn seed(text: Option<&str>) -> Result<Option<u64>, String> {
    text.map(str::parse)
        .transpose()
        .map_err(|_| "--seed: expected a whole number from 0 to 2^64 - 1".to_owned())
}

impl std::fmt::Debug for ServeArguments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServeArguments")
            .field("urls", &self.urls.len())
            .finish_non_exhaustive()
    }
}
