#!/usr/bin/env python3
"""Checks dependencies against deny.toml and the allow-list of highwater-core.

What is compiled comes from `cargo tree`, which resolves features as a build does (`cargo metadata`
also shows optional packages that no build uses); what a package says of itself comes from `cargo
metadata`. Licences and sources: everything compiled, for tests too. Duplicates and bans: what is
shipped, that is, the published crates and the binary without dev-dependencies. A line of a list
that matches nothing is an error too, so the lists stay true.
"""

import json
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORE = "highwater-core"
CORE_LIST = ROOT / ".ci" / "core-dependencies.txt"


def cargo(*args):
    command = ["cargo", *args, "--locked"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout


class Graph:
    """Packages by `name@version`; `compiled` holds all, `shipped` those that users get."""

    def __init__(self, excluded):
        rustc = subprocess.run(["rustc", "-vV"], check=True, stdout=subprocess.PIPE, text=True)
        host = re.search(r"^host: (.*)$", rustc.stdout, re.M).group(1)
        # Without the filter cargo fetches the packages of every other platform as well.
        data = json.loads(cargo("metadata", "--format-version", "1", "--filter-platform", host))
        known = {f"{p['name']}@{p['version']}": p for p in data["packages"]}
        members = set(data["workspace_members"])
        self.members = [p for p in data["packages"] if p["id"] in members]
        self.compiled = {label: known[label] for label in self.tree("--workspace", "-e", "normal,build,dev")}
        without = [word for name in excluded for word in ("--exclude", name)]
        self.shipped = self.tree("--workspace", *without, "-e", "normal,build")

    @staticmethod
    def tree(*args):
        """Labels of everything that `cargo tree` shows."""
        lines = cargo("tree", "--prefix", "none", "--format", "{p}", *args).splitlines()
        words = (line.split() for line in lines if line)
        return {f"{word[0]}@{word[1].removeprefix('v')}" for word in words}


def licence_allowed(expression, allowed):
    """Whether an SPDX expression can be satisfied with allowed licences only."""
    # Old manifests write "/" for OR.
    tokens = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))

    def alternatives():
        value = conjunction()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            other = conjunction()
            value = value or other
        return value

    def conjunction():
        value = single()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            other = single()
            value = value and other
        return value

    def single():
        token = tokens.pop(0)
        if token == "(":
            value = alternatives()
            tokens.pop(0)
            return value
        if tokens and tokens[0] == "WITH":
            tokens.pop(0)
            token = f"{token} WITH {tokens.pop(0)}"
        return token in allowed

    return alternatives()


def check_licences(graph, rules):
    allowed = set(rules["licenses"]["allow"])
    exceptions = {e["crate"]: set(e["allow"]) for e in rules["licenses"].get("exceptions", [])}
    used = set()
    for package in graph.compiled.values():
        expression = package["license"]
        name = package["name"]
        if not expression:
            yield f"{name} names no licence"
        elif not licence_allowed(expression, allowed):
            if licence_allowed(expression, allowed | exceptions.get(name, set())):
                used.add(name)
            else:
                yield f"{name} is under {expression}, which deny.toml does not allow"
    for name in exceptions.keys() - used:
        yield f"deny.toml has a licence exception for {name}, which needs none"


def check_sources(graph, rules):
    registries = {f"registry+{url}" for url in rules["sources"]["allow-registry"]}
    for package in graph.compiled.values():
        source = package["source"]
        inside = source is None and Path(package["manifest_path"]).is_relative_to(ROOT)
        if not inside and source not in registries:
            yield f"{package['name']} comes from {source or package['manifest_path']}"
    for member in graph.members:
        for dependency in member["dependencies"]:
            if dependency["req"] == "*" and not dependency.get("path"):
                yield f"{member['name']} takes any version of {dependency['name']}"


def check_bans(graph, rules):
    banned = {entry["crate"]: entry["reason"] for entry in rules["bans"]["deny"]}
    versions = defaultdict(set)
    for label in graph.shipped:
        name = label.split("@")[0]
        versions[name].add(label)
        if name in banned:
            yield f"{label} is banned: {banned[name]}"
    skipped = {entry["crate"] for entry in rules["bans"]["skip"]}
    used = set()
    for name, labels in sorted(versions.items()):
        if len(labels) > 1:
            used |= labels & skipped
            left = labels - skipped
            if len(left) > 1:
                yield f"{name} is shipped in {len(labels)} versions: {', '.join(sorted(labels))}"
    for label in sorted(skipped - used):
        yield f"deny.toml skips {label}, which is not a duplicate"


def check_core(graph):
    lines = (line.split("#")[0].strip() for line in CORE_LIST.read_text().splitlines())
    allowed = {line for line in lines if line}
    labels = graph.tree("-p", CORE, "-e", "normal,build")
    found = {label.split("@")[0] for label in labels} - {CORE}
    for name in sorted(found - allowed):
        yield f"{CORE} depends on {name}, which {CORE_LIST.relative_to(ROOT)} does not allow"
    for name in sorted(allowed - found):
        yield f"{CORE_LIST.relative_to(ROOT)} allows {name}, which {CORE} does not depend on"


def check_mutants():
    """The faults of the engine that can be switched on are in no build that does not ask for them."""
    lines = cargo("tree", "--workspace", "--prefix", "none", "--format", "{p}|{f}", "-e", "normal,build,dev")
    lines = [line.split("|") for line in lines.splitlines() if line.startswith(f"{CORE} ")]
    if not lines:
        yield f"cargo tree shows no {CORE}"
    for package, features in lines:
        if "mutants" in features:
            yield f"{package.split()[0]} is built with the feature mutants"


def check_this_script():
    """The parts that could say yes to everything."""
    allowed = {"MIT", "ISC"}
    for expression, expected in [
        ("MIT", True),
        ("GPL-3.0", False),
        ("GPL-3.0 OR MIT", True),
        ("GPL-3.0/MIT", True),
        ("MIT AND GPL-3.0", False),
        ("ISC AND (GPL-3.0 OR MIT)", True),
        ("(MIT OR ISC) AND GPL-3.0", False),
        ("MIT WITH LLVM-exception", False),
    ]:
        if licence_allowed(expression, allowed) != expected:
            yield f"this script is wrong about {expression}"


def main():
    rules = tomllib.loads((ROOT / "deny.toml").read_text())
    graph = Graph(rules["graph"]["exclude"])
    faults = [
        *check_this_script(),
        *check_licences(graph, rules),
        *check_sources(graph, rules),
        *check_bans(graph, rules),
        *check_core(graph),
        *check_mutants(),
    ]
    for fault in faults:
        print(f"error: {fault}", file=sys.stderr)
    if faults:
        return 1
    print(f"{len(graph.compiled)} packages compiled, {len(graph.shipped)} shipped: in order")
    return 0


if __name__ == "__main__":
    sys.exit(main())
