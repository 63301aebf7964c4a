#!/usr/bin/env python3
"""No source file over 500 lines: split by idea before that."""
import sys

from sources import ROOT, sources

LIMIT = 500


def main():
    lengths = {path: len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in sources()}
    for path, length in lengths.items():
        if length > LIMIT:
            print(f"{path}: {length} lines, at most {LIMIT}: split it by idea")
    print(f"{len(lengths)} files, {sum(lengths.values())} lines")
    return 1 if any(length > LIMIT for length in lengths.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
