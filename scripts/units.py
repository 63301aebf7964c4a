"""Which sources are compiled together: prints `unit source` for each source that need not be alone (cmake/Units.cmake).

What several sources include is read, instantiated and compiled once for all of a unit. Each must mean what it means alone, so no name that one
gives to something of its own (in an anonymous namespace, or static) may be used in another of the unit: a call could take it for an overload
that fits better, without a word. Nor may a function of its own have the name of one in headers that another includes, whose inline code might call it. Sources
with `using namespace` share a unit with those that open the same namespaces, and all their functions and namespaces count as their own. Alone stay sources with macros.
A namespace that only another one knows has no name by which this one calls something else (`testing` is GoogleTest's where nobody knows of tegula::testing).
"""

import argparse
import functools
import json
import re
from pathlib import Path

MOST = 40000  # bytes of text in a unit
MOST_KEPT = 50000  # of one that is there already and grows

# At the beginning of a line: what a namespace contains. Bodies of functions and classes are indented.
TYPE = re.compile(r"(?:template <.*> )?(?:class|struct|enum class|enum|union|using|namespace) (\w+)")
FUNCTION = re.compile(r"(?:\[\[\w+\]\] |template <.*> )*[\w:<>,&*\s\[\]]*?[ &*]~?(\w+)\(")
VALUE = re.compile(r"[\w:<>,&* ]*[ &*](\w+)(?: = |\{|;|\[)")
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{", re.M)
QUALIFIER = re.compile(r"(?<![\w:])(\w+)::")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
ALONE = re.compile(r"^#define ", re.M)
OPENED = re.compile(r"^using namespace ([\w:]+);", re.M)


def declared(text, own_only):
    """(functions, other names) that a text declares; of a source (`own_only`) those that no other source can mean."""
    functions, others, inside = set(), set(), not own_only
    for line in text.splitlines():
        if own_only and line == "namespace {":
            inside = True
        elif own_only and line == "}  // namespace":
            inside = False
        elif line[:1] not in " }/#" and not line.startswith("using namespace ") and (inside or line.startswith(("static ", "using "))):
            for pattern, names in ((TYPE, others), (FUNCTION, functions), (VALUE, others)):
                if match := pattern.match(line):
                    names.add(match[1])
                    break
    return functions, others


def spaces_in(text):
    """The namespaces within others that a text opens: `b` of `namespace a::b {`."""
    return {part for name in NAMESPACE.findall(text) for part in name.split("::")[1:]}


def names_in_headers(source, text_of, known):
    """(functions, namespaces) that the headers of the project declare which `source` includes, directly or not. `known` remembers them by header."""
    names, met, stack = set(), set(), [source]
    spaces = spaces_in(text_of(source))
    while stack:
        for header in INCLUDE.findall(text_of(stack.pop())):
            if header not in met and text_of(header):
                met.add(header)
                stack.append(header)
                if header not in known:
                    known[header] = declared(text_of(header), False)[0], spaces_in(text_of(header))
                names |= known[header][0]
                spaces |= known[header][1]
    return names, spaces


class Source:
    """What decides about the units that a source fits into."""

    def __init__(self, path, text_of, known):
        self.path, text = path, text_of(path)
        self.opened = set(OPENED.findall(text))
        self.functions, others = declared(text, True)
        if self.opened:
            self.functions |= declared(text, False)[0]
            others |= {name.split("::")[0] for name in NAMESPACE.findall(text)} - {"tegula"}  # it may open others within
        self.own, self.words, self.bytes = self.functions | others, set(re.findall(r"\w+", text)), len(text)
        self.in_headers, spaces = names_in_headers(path, text_of, known)
        self.names = spaces, set(QUALIFIER.findall(text))  # namespaces it knows, namespaces or classes it names


class Unit:
    def __init__(self):
        self.sources, self.bytes, self.opened = [], 0, set()
        self.own, self.words = set(), set()
        self.functions, self.in_headers = set(), set()
        self.names = []  # of each source

    def takes(self, source, most):
        if self.bytes + source.bytes > most or source.own & self.words or source.words & self.own:
            return False
        if self.sources and source.opened != self.opened:
            return False
        if source.functions & self.in_headers or source.in_headers & self.functions:
            return False
        pairs = [pair for other in self.names for pair in ((source.names, other), (other, source.names))]
        return not any((a[0] - b[0]) & b[1] for a, b in pairs)

    def add(self, source):
        self.sources.append(source.path)
        self.opened = source.opened
        self.bytes += source.bytes
        self.own |= source.own
        self.words |= source.words
        self.functions |= source.functions
        self.in_headers |= source.in_headers
        self.names.append(source.names)


def units(sources, text_of, before=None):
    """The sources of each unit, by its number. `text_of(path)` is the text of a source, or of a header as it is included; "" for others' headers.

    `before`: the units of an earlier time. A source stays in its unit while it fits, so that an edit compiles one unit again, not all.
    """
    known = {}
    left = {source: Source(source, text_of, known) for source in sources if not ALONE.search(text_of(source))}
    together = {}
    for number, kept in (before or {}).items():
        together[number] = Unit()
        for source in kept:
            if source in left and together[number].takes(left[source], MOST_KEPT):
                together[number].add(left.pop(source))
    for source in left.values():
        for unit in together.values():
            if unit.takes(source, MOST):
                break
        else:
            unit = together[max(together, default=-1) + 1] = Unit()
        unit.add(source)
    return {number: unit.sources for number, unit in together.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, required=True, help="the checkout")
    parser.add_argument("--kept", type=Path, help="the units of the build tree: read where the file is there, and written")
    parser.add_argument("sources", nargs="+")
    args = parser.parse_args()

    @functools.cache
    def text_of(path):
        return (args.root / path).read_text() if (args.root / path).is_file() else ""

    before = json.loads(args.kept.read_text()) if args.kept and args.kept.is_file() else {}
    found = units(args.sources, text_of, {int(number): sources for number, sources in before.items()})
    if args.kept:
        args.kept.write_text(json.dumps(found, indent=1))
    for number, unit in found.items():
        for source in unit if len(unit) > 1 else []:
            print(number, source)


if __name__ == "__main__":
    main()
