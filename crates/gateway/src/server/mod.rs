//! The RPC listener: from a connection to a JSON-RPC message and back.

pub(crate) mod body;
pub(crate) mod connection;
pub(crate) mod cors;
pub(crate) mod encode;
pub(crate) mod guard;
pub(crate) mod host;
pub(crate) mod http;
pub(crate) mod io;
pub(crate) mod listener;
mod rare;
mod reply;
pub(crate) mod route;
pub(crate) mod wishes;
