//! Where the programs are that the tests run.
//!
//! `./test` installs `anvil` and `cast` into `.cache/tools` from the lock file in `compat/tools`.
//! `HIGHWATER_TOOLS` names another folder, either laid out the same way or holding the two
//! programs themselves; `HIGHWATER_BIN` names the gateway's binary. The programs are started
//! directly, never through a wrapper: killing a wrapper leaves the node alive.

use std::{
    env,
    path::{Path, PathBuf},
};

/// The node.
///
/// # Panics
/// When it is not there; the message says what to do.
#[must_use]
pub fn anvil_path() -> PathBuf {
    tool("anvil")
}

/// The command-line client.
///
/// # Panics
/// When it is not there; the message says what to do.
#[must_use]
pub fn cast_path() -> PathBuf {
    tool("cast")
}

/// The binary under test.
///
/// # Panics
/// When it is not there; the message says what to do.
#[must_use]
pub fn highwater_path() -> PathBuf {
    if let Some(path) = env::var_os("HIGHWATER_BIN") {
        let path = PathBuf::from(path);
        assert!(
            path.is_file(),
            "HIGHWATER_BIN is {}, which is not a file",
            path.display()
        );
        return path;
    }
    let target =
        env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let places = [target.join("ci/highwater"), target.join("debug/highwater")];
    let found = places.iter().find(|path| path.is_file());
    found.cloned().unwrap_or_else(|| {
        panic!(
            "no highwater binary at {} or {}: run ./test, or cargo build -p highwater-cli, \
             or set HIGHWATER_BIN",
            places[0].display(),
            places[1].display()
        )
    })
}

fn tool(name: &str) -> PathBuf {
    let folder =
        env::var_os("HIGHWATER_TOOLS").map_or_else(|| root().join(".cache/tools"), PathBuf::from);
    let machine = match env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let packaged = folder.join(format!(
        "node_modules/@foundry-rs/{name}-linux-{machine}/bin/{name}"
    ));
    let plain = folder.join(name);
    [packaged, plain]
        .into_iter()
        .find(|path| path.is_file())
        .unwrap_or_else(|| {
            panic!(
                "no {name} in {}: run ./test once (it installs it), or set HIGHWATER_TOOLS to a \
             folder that has it",
                folder.display()
            )
        })
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("invariant: compat is in the workspace")
}
