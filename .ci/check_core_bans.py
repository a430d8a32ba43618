#!/usr/bin/env python3
"""Shows that the bans of crates/core/clippy.toml bite.

A misspelt path in that file is only a warning, and clippy would then pass everything. So a scratch
crate uses each banned function under that file, and clippy must refuse each of them. It also checks
that no file of core lifts the lint, tests aside: a test may take one instant as its zero.
"""

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORE = ROOT / "crates" / "core"

# One use of each function that core must not call: no clock, no waiting, no thread, no environment.
USES = {
    "std::time::Instant::now": "let _ = std::time::Instant::now();",
    "std::time::Instant::elapsed": "let _ = t.elapsed();",
    "std::time::Instant::duration_since": "let _ = t.duration_since(t);",
    "std::time::SystemTime::now": "let _ = std::time::SystemTime::now();",
    "std::time::SystemTime::elapsed": "let _ = s.elapsed();",
    "std::thread::sleep": "std::thread::sleep(std::time::Duration::ZERO);",
    "std::thread::spawn": "let _ = std::thread::spawn(|| ());",
    "std::env::var": "let _ = std::env::var(\"X\");",
}


def clippy_refuses():
    """The banned paths that clippy names when all of them are used."""
    body = "\n    ".join(USES.values())
    source = (
        "//! Scratch.\n/// Uses everything.\n"
        f"pub fn all(t: std::time::Instant, s: std::time::SystemTime) {{\n    {body}\n}}\n"
    )
    manifest = '[package]\nname = "scratch"\nedition = "2024"\n[workspace]\n'
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "src").mkdir()
        (folder / "src/lib.rs").write_text(source)
        (folder / "Cargo.toml").write_text(manifest)
        command = ["cargo", "clippy", "--quiet", "--offline", "--", "-D", "clippy::disallowed_methods"]
        env = {**os.environ, "CLIPPY_CONF_DIR": str(CORE), "CARGO_TARGET_DIR": str(folder / "target")}
        run = subprocess.run(command, cwd=folder, env=env, stderr=subprocess.PIPE, text=True)
    return set(re.findall(r"use of a disallowed method `([^`]+)`", run.stderr)), run.stderr


def main():
    refused, said = clippy_refuses()
    faults = [f"clippy lets core use {path}" for path in sorted(USES.keys() - refused)]
    if faults:
        print(said, file=sys.stderr)
    listed = {e["path"] for e in tomllib.loads((CORE / "clippy.toml").read_text())["disallowed-methods"]}
    faults += [f"{path} is banned, but nothing here shows it" for path in sorted(listed - USES.keys())]
    for file in sorted((CORE / "src").rglob("*.rs")):
        # An instant can only be had from the clock, so tests take one as their zero.
        if file.name != "tests.rs" and "disallowed_methods" in file.read_text():
            faults.append(f"{file.relative_to(ROOT)} lifts the bans")
    for fault in faults:
        print(f"error: {fault}", file=sys.stderr)
    if faults:
        return 1
    print(f"{len(refused)} bans of core: clippy refuses each")
    return 0


if __name__ == "__main__":
    sys.exit(main())
