#!/usr/bin/env python3
"""Compares the generated kernels that docs/*.md explains with the golden files they come from.

The ```cuda golden=NAME blocks of a page, one after another, are tests/golden/NAME. --update puts the golden file's text into the blocks:
each begins where its first line (numbers and hashes apart) is found again, so the explanations stay where they belong.
"""
import argparse
import difflib
import re
import sys

from sources import ROOT

FENCE = re.compile(r"^```cuda golden=(\S+)\n(.*?)^```[ ]*$", re.MULTILINE | re.DOTALL)


def pages():
    return sorted((ROOT / "docs").glob("*.md"))


def blocks_of(text):
    """{golden file: its blocks, as matches}"""
    found = {}
    for match in FENCE.finditer(text):
        found.setdefault(match[1], []).append(match)
    return found


def golden(name):
    return (ROOT / "tests" / "golden" / name).read_text(encoding="utf-8").rstrip("\n") + "\n"


def difference(shown, expected):
    lines = difflib.unified_diff(shown.splitlines(), expected.splitlines(), "the page", "the golden file", lineterm="", n=1)
    return "\n".join(list(lines)[:30])


def shape_of(line):
    """What stays of a line when numbers change: its first words without them."""
    return re.sub(r"[0-9a-f]{16}|\d+", "#", line).split()[:3]


def split(text, firsts):
    """`text` cut where lines like `firsts` begin; None when one of them is not found."""
    lines, cuts = text.splitlines(keepends=True), [0]
    for first in firsts[1:]:
        at = next((i for i in range(cuts[-1] + 1, len(lines)) if shape_of(lines[i]) == shape_of(first)), None)
        if at is None:
            return None
        cuts.append(at)
    return ["".join(lines[a:b]) for a, b in zip(cuts, cuts[1:] + [len(lines)])]


def updated(text):
    """The page with the blocks of today, and the names of the files for which that did not work."""
    failed = []
    for name, matches in blocks_of(text).items():
        parts = split(golden(name), [match[2].splitlines()[0] if match[2] else "" for match in matches])
        if parts is None:
            failed.append(name)
            continue
        for match, part in zip(reversed(matches), reversed(parts)):
            text = text[: match.start(2)] + part + text[match.end(2) :]
    return text, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true")
    args = parser.parse_args()
    wrong = 0
    for page in pages():
        text = page.read_text(encoding="utf-8")
        if args.update:
            text, failed = updated(text)
            page.write_text(text, encoding="utf-8")
            for name in failed:
                print(f"{page.name}: the blocks of {name} begin with lines that are gone: put its text there by hand")
        for name, matches in blocks_of(text).items():
            shown = "".join(match[2] for match in matches)
            if shown == golden(name):
                continue
            wrong += 1
            print(f"{page.name} shows another {name} (scripts/check_kernels.py --update):\n{difference(shown, golden(name))}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
