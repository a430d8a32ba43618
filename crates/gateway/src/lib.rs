//! Highwater as a server.
//!
//! A client that talks to a bare node talks to it unchanged. Every call, whatever door it comes
//! through, takes one path: parse, policy, dispatch, respond.
//!
//! | module | what it holds |
//! |---|---|
//! | [`config`] | the configuration, checked |
//! | `runtime`, `startup`, `shutdown` | threads, the way up, the way down |
//! | `server` | connections, HTTP, host and origin rules, bodies, paths |
//! | `auth`, `policy` | who is asking, and what they may call |
//! | `dispatch`, `batch`, `notify`, `local` | one call, many calls, calls without answer, calls without endpoint |
//! | `respond` | the only place where an error becomes bytes |
//! | `health`, `admin` | for operators |

mod admin;
mod auth;
mod batch;
pub mod config;
mod descriptors;
mod detached;
mod dispatch;
mod endpoints;
mod error;
mod health;
mod kept;
mod load;
mod local;
mod policy;
mod respond;
mod runtime;
mod server;
mod sessions;
mod shutdown;
mod startup;
mod state;
mod telemetry;
mod times;

pub use config::Settings;
pub use error::ServeError;
pub use runtime::{Gateway, Running};
