#!/usr/bin/env python3
"""Measures which lines of highwater-core and of the pool their own tests run, and holds both to a floor.

Only the crates of the workspace are compiled for it, so dependencies are those of every other stage.
Doctests, the gateway's tests and the lab's runs of the engine are not counted. The floors are a little
below what was measured; raise them when the figures have risen.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Least share of lines, in percent.
FLOORS = {"crates/core/src": 97.0, "crates/pool/src": 93.0}
PACKAGES = ["highwater-core", "highwater"]


def output(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT, **options).stdout


def tools():
    host = next(line for line in output("rustc", "-vV").splitlines() if line.startswith("host: "))
    folder = Path(output("rustc", "--print", "sysroot").strip(), "lib/rustlib", host.removeprefix("host: "), "bin")
    if not (folder / "llvm-cov").exists():
        sys.exit("coverage: llvm-cov is missing: rustup component add llvm-tools")
    return folder / "llvm-cov", folder / "llvm-profdata"


def test_binaries(environment):
    packages = [word for name in PACKAGES for word in ("--package", name)]
    command = ["cargo", "test", "--profile", "ci", "--locked", *packages, "--lib", "--tests", "--no-run"]
    lines = output(*command, "--message-format", "json-render-diagnostics", env=environment).splitlines()
    for message in map(json.loads, lines):
        if message["reason"] == "compiler-artifact" and message["executable"] and message["profile"]["test"]:
            yield message["executable"], Path(message["manifest_path"]).parent


def main():
    llvm_cov, llvm_profdata = tools()
    environment = {**os.environ, "RUSTC_WORKSPACE_WRAPPER": str(ROOT / ".ci/covered")}
    with tempfile.TemporaryDirectory() as folder:
        environment["LLVM_PROFILE_FILE"] = f"{folder}/%p-%m.profraw"
        binaries = []
        for binary, package in test_binaries(environment):
            binaries.append(binary)
            subprocess.run([binary, "--quiet"], check=True, cwd=package, env=environment, stdout=subprocess.DEVNULL)
        merged = f"{folder}/all.profdata"
        profiles = sorted(map(str, Path(folder).glob("*.profraw")))
        output(str(llvm_profdata), "merge", "--sparse", "--output", merged, *profiles)
        objects = [word for binary in binaries[1:] for word in ("--object", binary)]
        export = output(
            str(llvm_cov), "export", "--summary-only", f"--instr-profile={merged}", binaries[0], *objects
        )
    failed = False
    for folder, floor in FLOORS.items():
        files = [f for f in json.loads(export)["data"][0]["files"] if f["filename"].startswith(f"{ROOT}/{folder}/")]
        lines = sum(f["summary"]["lines"]["count"] for f in files)
        covered = sum(f["summary"]["lines"]["covered"] for f in files)
        share = 100 * covered / lines if lines else 0.0
        print(f"{folder}: {covered} of {lines} lines, {share:.2f} %; at least {floor} %")
        failed |= share < floor
    if failed:
        sys.exit("coverage: below the floor")


if __name__ == "__main__":
    main()
