#!/usr/bin/env python3
"""The table of passes in docs/design.md is made of the passes' headers: fails unless the page has it and names every printed stage; --write puts it into the page.

The passes and their order are the lists of tegula/compile/pipeline.cpp. A pass's line is the first paragraph of the comment above its declaration; the
second one, which the table leaves out, says why and why in this position.
"""
import re
import sys

from sources import ROOT

PIPELINE = ROOT / "tegula/compile/pipeline.cpp"
PAGE = ROOT / "docs/design.md"
BEGIN, END = "   | pass | does |\n   |---|---|\n", "\n   Stages can be printed"


def entries(text, list_name):
    """(name, printed stage or "") of each entry of a list of passes."""
    body = re.search(rf"constexpr \w+ {list_name}\[\] = \{{\n(.*?)^\}};", text, re.MULTILINE | re.DOTALL)
    if not body:
        raise SystemExit(f"pipeline.cpp has no list {list_name}")
    found = re.split(r'^    \{"(\w+)",', body[1], flags=re.MULTILINE)[1:]
    return [(name, (re.search(r'\},\s+"(\w+)"', rest) or ["", ""])[1]) for name, rest in zip(found[::2], found[1::2])]


def passes(text):
    return entries(text, "kGraphPasses") + [("cut_steady", "cut")] + entries(text, "kGraphPassesOfPlans") + entries(text, "kPlanPasses")


def headers():
    return {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "tegula/compile").rglob("*.h"))}


def described(name, texts):
    """First and second paragraph of the comment above the pass's declaration."""
    for text in texts.values():
        match = re.search(rf"((?:^///.*\n)+)^[\w:<>]+ {name}\(", text, re.MULTILINE)
        if match:
            paragraphs = re.split(r"^///\n", match[1], flags=re.MULTILINE)
            return [" ".join(line[3:].strip() for line in paragraph.splitlines()) for paragraph in paragraphs]
    raise SystemExit(f"no header of tegula/compile declares the pass {name} under a comment")


def table(text):
    texts = headers()
    lines = []
    for name, _ in passes(text):
        what, *why = described(name, texts)
        if not why:
            raise SystemExit(f"the comment of {name} has one paragraph: the second says why, and why in this position")
        lines.append(f"   | `{name}` | {what} |\n")
    return "".join(lines)


def main():
    text, page = PIPELINE.read_text(encoding="utf-8"), PAGE.read_text(encoding="utf-8")
    wanted = table(text)
    before, rest = page.split(BEGIN, 1)
    _, after = rest.split(END, 1)
    if "--write" in sys.argv:
        PAGE.write_text(before + BEGIN + wanted + END + after, encoding="utf-8")
        return 0
    missing = [stage for _, stage in passes(text) if stage and f"`{stage}`" not in page]
    for stage in missing:
        print(f"docs/design.md does not name the printed stage `{stage}`")
    if page != before + BEGIN + wanted + END + after:
        print("docs/design.md: the table of passes is not that of the headers; scripts/check_passes.py --write makes it")
        return 1
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
