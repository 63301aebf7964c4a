#!/usr/bin/env python3
"""No source file over 500 lines: split by idea before that. No line of docs over 400 characters, of the pages on benchmarks over 300: one claim a bullet."""
import sys

from sources import ROOT, sources

LIMIT = 500
PAGE_LIMIT, BENCHMARK_LIMIT = 400, 300  # characters of a line


def main():
    lengths = {path: len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in sources()}
    for path, length in lengths.items():
        if length > LIMIT:
            print(f"{path}: {length} lines, at most {LIMIT}: split it by idea")
    wide = []
    for page in sorted((ROOT / "docs").glob("*.md")):
        limit = BENCHMARK_LIMIT if page.name.startswith("benchmarks") else PAGE_LIMIT
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            if len(line) > limit:
                wide.append(f"{page.relative_to(ROOT)}:{number}: {len(line)} characters, at most {limit}: one claim a bullet")
    print("\n".join(wide), end="\n" if wide else "")
    print(f"{len(lengths)} files, {sum(lengths.values())} lines")
    return 1 if wide or any(length > LIMIT for length in lengths.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
