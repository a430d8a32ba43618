//! Black-box tests of the built `highwater` binary with real nodes and real clients.
//!
//! The library is only what the tests stand on: finding the tools, running processes that cannot
//! outlive the test, several `anvil` nodes as one chain, programs written with other
//! clients' libraries, a plain HTTP client, a tap between client and gateway, lines between
//! gateway and node that break, and an endpoint that holds its answers. It uses the standard library
//! alone, so that nothing under test is used to test it.
//!
//! Addresses: every test process works on a loopback address of its own (`127.x.y.z`, made from
//! its process id) and numbers its ports itself. No port is ever picked at random and given back,
//! so a node can be killed and started again at the address it had, whatever runs beside it.

mod address;
mod anvil;
mod cast;
mod cell;
mod chain;
mod client;
mod gateway;
mod held;
mod http;
mod lines;
mod process;
mod tap;
mod tools;

pub use address::fresh_address;
pub use anvil::{ACCOUNT, Anvil, CHAIN_ID, KEY, SECOND_ACCOUNT, SECOND_KEY};
pub use cast::Cast;
pub use cell::{CELL_CREATION, CELL_REASON, CELL_RUNTIME, CHANGED_TOPIC, FAIL, GET, SET};
pub use chain::{Chain, Disk};
pub use client::{Client, Library, Read, Shown};
pub use gateway::{Exit, Gateway};
pub use held::Held;
pub use http::{Answer, Http};
pub use lines::{Lines, Mishap, Sends};
pub use process::Process;
pub use tap::Tap;
pub use tools::{
    anvil_path, cast_path, highwater_path, javascript_folder, node_path, python_folder, python_path,
};
