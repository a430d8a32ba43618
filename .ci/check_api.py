#!/usr/bin/env python3
"""Compares the public items of the library with the reviewed list crates/pool/api.txt.

A lint makes every `pub` of the crate reachable from outside, so the items can be read off the source
as rustfmt writes it: no compiler, no network. `--write` writes the list; what changed in it is what a
review has to look at.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "crates/pool/src"
LIST = ROOT / "crates/pool/api.txt"

PUBLIC = re.compile(r"pub (?!\()")
IMPL = re.compile(r"(unsafe )?impl\b")
BODY = re.compile(r"pub (?:enum|trait) ")


def lines_of(text):
    """The lines that matter: no comments, no attributes, no tests."""
    skipping = None
    for line in text.splitlines():
        bare = line.strip()
        indent = len(line) - len(line.lstrip())
        if skipping is not None:
            if bare == "}" and indent == skipping:
                skipping = None
            continue
        if re.match(r"(pub\(\w+\) )?mod tests \{", bare):
            skipping = indent
            continue
        if not bare or bare.startswith(("//", "#[", "#![")):
            continue
        yield indent, bare


def squeeze(text):
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"([(<\[]) | ([)>\]])", lambda m: m.group(1) or m.group(2), text)
    return re.sub(r",([)>\]])", r"\1", text).strip()


def signature(lines, at):
    """The text from a line up to its body or its end, and the place after it."""
    text = ""
    depth = 0
    while at < len(lines):
        bare = lines[at][1]
        at += 1
        text += " " + bare
        depth += bare.count("(") + bare.count("[") - bare.count(")") - bare.count("]")
        if text.startswith(" pub use"):
            if bare.endswith(";"):
                break
            continue
        if depth <= 0 and bare.endswith(("{", ";", "}")):
            break
        if depth <= 0 and bare.endswith(",") and "fn " not in text and "where" not in text:
            break
    text = re.sub(r"(?<!\{)\{$", "", text.strip()).rstrip(";,").strip()
    return squeeze(text), at


def items(text):
    lines = list(lines_of(text))
    # What encloses a line: an impl or a type, by its indent.
    around = []
    at = 0
    while at < len(lines):
        indent, bare = lines[at]
        while around and indent <= around[-1][0]:
            around.pop()
        where = around[-1][1] if around else ""
        if IMPL.match(bare):
            text_, after = signature(lines, at)
            if " for " in text_ and "impl<" not in where:
                yield text_
            around.append((indent, re.sub(r" where .*", "", text_)))
            at = after
        elif PUBLIC.match(bare):
            text_, after = signature(lines, at)
            yield f"{where} :: {text_}" if where else text_
            if re.match(r"pub (struct|enum|trait|mod)\b", text_) and lines[after - 1][1].endswith("{"):
                around.append((indent, " ".join(text_.split()[1:3])))
            at = after
            if BODY.match(bare) and lines[after - 1][1].endswith("{"):
                # Variants and methods are public with their type.
                while at < len(lines) and lines[at][0] > indent:
                    yield f"{around[-1][1]} :: {squeeze(lines[at][1].rstrip(',{'))}"
                    at += 1
        else:
            at += 1


def subject(item):
    """The type that an impl of a trait is for."""
    return re.match(r"[\w:]*?(\w+)(?:[<&\[ ]|$)", item.split(" for ", 1)[1].lstrip("&")).group(1)


def listed():
    out = []
    every = {path: list(items(path.read_text())) for path in sorted(SOURCE.rglob("*.rs"))}
    types = {m.group(1) for found in every.values() for item in found if (m := re.match(r"pub (?:struct|enum) (\w+)", item))}
    # Of a foreign type, or of one of ours that is public.
    foreign = {"RpcCall", "ProviderCall", "TransportError", "PendingTransactionError", "Infallible", "Box"}
    for path, found in every.items():
        name = path.relative_to(SOURCE).as_posix()
        is_impl = lambda item: item.startswith("impl") and " :: " not in item
        found = [item for item in found if not is_impl(item) or subject(item) in types | foreign]
        own = [item for item in found if item.split(" :: ")[-1].strip("}{(), ")]
        if own:
            out += [f"# {name}", *own, ""]
    return "\n".join(out)


def check_this_script():
    text = """
/// Doc.
pub struct One {
    /// Doc.
    pub field: u8,
    hidden: u8,
}
impl One {
    #[must_use]
    pub fn go(
        &self,
        x: u8,
    ) -> u8 {
        1
    }
    pub(crate) fn no() {}
}
pub enum Two {
    A,
    B { x: u8 },
}
mod tests {
    pub fn hidden() {}
}
"""
    expected = [
        "pub struct One",
        "struct One :: pub field: u8",
        "impl One :: pub fn go(&self, x: u8) -> u8",
        "pub enum Two",
        "enum Two :: A",
        "enum Two :: B { x: u8 }",
    ]
    found = list(items(text))
    if found != expected:
        yield f"this script is wrong: {found}"


def main():
    faults = list(check_this_script())
    text = listed()
    if "--write" in sys.argv[1:] and not faults:
        LIST.write_text(text)
        print(f"{LIST.relative_to(ROOT)}: written")
        return 0
    kept = LIST.read_text() if LIST.exists() else ""
    if kept != text:
        before, after = set(kept.splitlines()), set(text.splitlines())
        faults += [f"not in the list: {line}" for line in text.splitlines() if line not in before]
        faults += [f"only in the list: {line}" for line in kept.splitlines() if line not in after]
        faults.append("the public items differ from crates/pool/api.txt: review, then .ci/check_api.py --write")
    for fault in faults:
        print(f"error: {fault}", file=sys.stderr)
    if faults:
        return 1
    print(f"{sum(1 for line in text.splitlines() if line and line[0] != '#')} public items: as reviewed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
