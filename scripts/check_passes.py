#!/usr/bin/env python3
"""The table of passes in docs/design.md has the passes of tegula/compile/pipeline.cpp, in their order, and the printed stages are named below it."""
import re
import sys

from sources import ROOT

# Of the pipeline's functions, what is no pass.
HELPERS = {"done", "show", "to_string", "forced_ladder", "verify_overwritten"}


def body(text, name):
    """The body of a function that begins a line."""
    match = re.search(rf"^[\w:<>]+ {name}\([^{{]*\{{\n(.*?)^\}}", text, re.MULTILINE | re.DOTALL)
    if not match:
        raise SystemExit(f"pipeline.cpp has no function {name}")
    return match[1]


def passes(text):
    """Names of the passes in the order in which a graph goes through them."""
    names = re.findall(r"^  (?:[^\n=]*= |if [^\n]*\) )?(\w+)\((?:graph|plan|device)", body(text, "optimize"), re.MULTILINE)
    names.append("cut_steady")
    names += re.findall(r"^  (?:[^\n=]*= |if [^\n]*\) )?(\w+)\((?:graph|plan)", body(text, "make_plan"), re.MULTILINE)
    return [name for name in names if name not in HELPERS]


def stages(text):
    return re.findall(r"done\([^\n]*\"(\w+)\"\)", text)


def wrong(text, page):
    """What the page has wrong, a sentence each."""
    documented = re.findall(r"^   \| `(\w+)` \|", page, re.MULTILINE)
    wanted = passes(text)
    found = [f"docs/design.md: the table of passes lacks `{name}`" for name in wanted if name not in documented]
    found += [f"docs/design.md: `{name}` is no pass of the pipeline" for name in documented if name not in wanted]
    if not found and documented != wanted:
        place = next(i for i, (a, b) in enumerate(zip(documented, wanted)) if a != b)
        found.append(f"docs/design.md: the table has `{documented[place]}` where the pipeline has `{wanted[place]}`")
    found += [f"docs/design.md does not name the printed stage `{name}`" for name in stages(text) if f"`{name}`" not in page]
    return found


def main():
    text = (ROOT / "tegula/compile/pipeline.cpp").read_text(encoding="utf-8")
    found = wrong(text, (ROOT / "docs/design.md").read_text(encoding="utf-8"))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
