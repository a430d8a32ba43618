#!/usr/bin/env python3
"""Checks on files that no compiler makes: length, names, words, and shared settings.

Looks at what git tracks and at new files it does not ignore, so that a build folder never counts.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# A module is one noun; past this many lines it is two.
MAX_LINES = 600

# Names that say nothing about what is inside.
EMPTY_NAMES = {"utils", "util", "common", "helpers", "helper", "types", "misc"}

# Where somebody's machine shows through. Spelled in parts, or this file would find itself. The
# temporary folder and those of the system are on every machine.
MACHINE = re.compile(r"(?<![\w.~-])/(?:wor[k]|hom[e]|roo[t]|User[s]|mn[t])/[\w.-]")

# Work left for later has no place in a finished change.
LEFT = re.compile(r"\b(?:TOD[O]|FIXM[E]|XX[X]|HAC[K])\b")

# A merge that was not finished.
CONFLICT = re.compile(r"^(?:<{7}|>{7}|={7}$)")

# Data taken over as it was, written by others.
FOREIGN = re.compile(r"(?:^|/)(?:data|fixtures|corpus|seeds|vendor)/|\.(?:lock|csv|jsonl)$|package-lock\.json$")


def tracked():
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=ROOT).stdout
    names = (name.decode() for name in output.split(b"\0") if name)
    return sorted(name for name in names if (ROOT / name).is_file())


def text_of(name):
    try:
        return (ROOT / name).read_text()
    except UnicodeDecodeError:
        return None


def faults_of(name, text):
    path = Path(name)
    lines = text.splitlines()
    if path.suffix == ".rs":
        if len(lines) > MAX_LINES:
            yield f"{name} has {len(lines)} lines; {MAX_LINES} are allowed"
        if EMPTY_NAMES & {path.stem, *path.parts[:-1]}:
            yield f"{name} has a name that says nothing"
    for number, line in enumerate(lines, 1):
        if CONFLICT.match(line):
            yield f"{name}:{number} holds an unfinished merge"
    if FOREIGN.search(name):
        return
    for number, line in enumerate(lines, 1):
        if MACHINE.search(line):
            yield f"{name}:{number} names a path of one machine"
        if LEFT.search(line):
            yield f"{name}:{number} leaves work for later"


def clippy_faults():
    """Clippy reads only the nearest clippy.toml, so core's must repeat all that the shared one says."""
    shared = tomllib.loads((ROOT / "clippy.toml").read_text())
    core = tomllib.loads((ROOT / "crates/core/clippy.toml").read_text())
    banned = {entry["path"] for entry in core["disallowed-methods"]}
    for entry in shared.get("disallowed-methods", []):
        if entry["path"] not in banned:
            yield f"crates/core/clippy.toml lacks the shared ban of {entry['path']}"
    for key, value in shared.items():
        if key != "disallowed-methods" and core.get(key) != value:
            yield f"crates/core/clippy.toml differs from the shared one in {key}"


def check_this_script():
    for name, text, expected in [
        ("a.rs", "x\n" * MAX_LINES, 0),
        ("a.rs", "x\n" * (MAX_LINES + 1), 1),
        ("src/utils.rs", "", 1),
        ("src/util/a.rs", "", 1),
        ("a.md", "see /" + "home/someone/x", 1),
        ("a.md", "see (/" + "root/.cargo)", 1),
        ("a.md", "https://example.org/" + "home/x and ./" + "work/x", 0),
        ("a.rs", "// TO" + "DO: later", 1),
        ("data/a.csv", "TO" + "DO", 0),
        ("data/a.csv", "<" * 7 + " HEAD", 1),
        ("a.md", "=" * 8, 0),
    ]:
        found = list(faults_of(name, text))
        if len(found) != expected:
            yield f"this script is wrong about {name}: {found}"


def main():
    faults = [*check_this_script(), *clippy_faults()]
    names = tracked()
    for name in names:
        text = text_of(name)
        if text is not None:
            faults += faults_of(name, text)
    for fault in faults:
        print(f"error: {fault}", file=sys.stderr)
    if faults:
        return 1
    print(f"{len(names)} files: in order")
    return 0


if __name__ == "__main__":
    sys.exit(main())
