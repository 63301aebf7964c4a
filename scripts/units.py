"""Which sources are compiled together: prints `unit source` for each source that need not be alone (cmake/Units.cmake).

What several sources include is read, instantiated and compiled once for all of a unit. Each must mean what it means alone, so no name that one
gives to something of its own (in an anonymous namespace, or static) may be used in another of the unit: a call could take it for an overload
that fits better, without a word. Nor may a function of its own have the name of one in headers that another includes, whose inline code might call it. Alone stay
sources with macros and with `using namespace`. A namespace that only another one knows has no name by which this one calls something else
(`testing` is GoogleTest's where nobody knows of tegula::testing).
"""

import argparse
import functools
import re
from pathlib import Path

MOST = 40000  # bytes of text in a unit

# At the beginning of a line: what a namespace contains. Bodies of functions and classes are indented.
TYPE = re.compile(r"(?:template <.*> )?(?:class|struct|enum class|enum|union|using|namespace) (\w+)")
FUNCTION = re.compile(r"(?:\[\[\w+\]\] |template <.*> )*[\w:<>,&*\s\[\]]*?[ &*]~?(\w+)\(")
VALUE = re.compile(r"[\w:<>,&* ]*[ &*](\w+)(?: = |\{|;|\[)")
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{", re.M)
QUALIFIER = re.compile(r"(?<![\w:])(\w+)::")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
ALONE = re.compile(r"^#define |^using namespace ", re.M)


def declared(text, own_only):
    """(functions, other names) that a text declares; of a source (`own_only`) those that no other source can mean."""
    functions, others, inside = set(), set(), not own_only
    for line in text.splitlines():
        if own_only and line == "namespace {":
            inside = True
        elif own_only and line == "}  // namespace":
            inside = False
        elif line[:1] not in " }/#" and (inside or line.startswith(("static ", "using "))):
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


class Unit:
    def __init__(self):
        self.sources, self.bytes = [], 0
        self.own, self.words = set(), set()
        self.functions, self.in_headers = set(), set()
        self.names = []  # of each source, (namespaces it knows, namespaces or classes it names)


def units(sources, text_of):
    """A list of lists of sources. `text_of(path)` is the text of a source, or of a header as it is included; "" for others' headers."""
    together, known = [], {}
    for source in sources:
        text = text_of(source)
        if ALONE.search(text):
            continue
        functions, others = declared(text, True)
        own, words = functions | others, set(re.findall(r"\w+", text))
        in_headers, spaces = names_in_headers(source, text_of, known)
        names = spaces, set(QUALIFIER.findall(text))
        for unit in together:
            fits = unit.bytes + len(text) <= MOST and not own & unit.words and not words & unit.own
            fits = fits and not functions & unit.in_headers and not in_headers & unit.functions
            if fits and not any((a[0] - b[0]) & b[1] for other in unit.names for a, b in ((names, other), (other, names))):
                break
        else:
            unit = Unit()
            together.append(unit)
        unit.sources.append(source)
        unit.bytes += len(text)
        unit.own |= own
        unit.words |= words
        unit.functions |= functions
        unit.in_headers |= in_headers
        unit.names.append(names)
    return [unit.sources for unit in together if len(unit.sources) > 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, required=True, help="the checkout")
    parser.add_argument("sources", nargs="+")
    args = parser.parse_args()

    @functools.cache
    def text_of(path):
        return (args.root / path).read_text() if (args.root / path).is_file() else ""

    for number, unit in enumerate(units(args.sources, text_of)):
        for source in unit:
            print(number, source)


if __name__ == "__main__":
    main()
