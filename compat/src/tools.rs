//! Where the programs are that the tests run.
//!
//! `./test` installs `anvil`, `cast` and the clients' libraries into `.cache/tools` from the lock
//! files in `compat/tools`. `HIGHWATER_TOOLS` names another folder, either laid out the same way or
//! holding the two programs themselves; libraries that it lacks are taken from `.cache/tools`.
//! `HIGHWATER_BIN` names the gateway's binary. The programs are started directly, never through a
//! wrapper: killing a wrapper leaves the node alive.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::LazyLock,
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

/// The folder whose `node_modules` hold the JavaScript clients.
///
/// # Panics
/// When there is none; the message says what to do.
#[must_use]
pub fn javascript_folder() -> PathBuf {
    folder_with("node_modules/viem/package.json")
}

/// The folder that holds web3.py and what it needs, for `PYTHONPATH`.
///
/// # Panics
/// When there is none; the message says what to do.
#[must_use]
pub fn python_folder() -> PathBuf {
    folder_with("python/web3/__init__.py").join("python")
}

/// The program that runs JavaScript.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn node_path() -> &'static Path {
    static NODE: LazyLock<PathBuf> =
        LazyLock::new(|| interpreter("node", &["-p", "process.execPath"]));
    &NODE
}

/// The program that runs Python.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn python_path() -> &'static Path {
    static PYTHON: LazyLock<PathBuf> =
        LazyLock::new(|| interpreter("python3", &["-c", "import sys; print(sys.executable)"]));
    &PYTHON
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

/// What stands behind a command: version managers put scripts in the way.
fn interpreter(command: &str, ask: &[&str]) -> PathBuf {
    let output = Command::new(command)
        .args(ask)
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("cannot start {command}: {error}; run ./test once"));
    let text = String::from_utf8_lossy(&output.stdout);
    let path = PathBuf::from(text.trim());
    assert!(path.is_file(), "{command} says it is {text:?}");
    path
}

fn folder_with(file: &str) -> PathBuf {
    let given = env::var_os("HIGHWATER_TOOLS").map(PathBuf::from);
    let own = root().join(".cache/tools");
    given
        .into_iter()
        .chain([own.clone()])
        .find(|folder| folder.join(file).is_file())
        .unwrap_or_else(|| {
            panic!(
                "no {file} in {}: run ./test once (it installs it)",
                own.display()
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
