#!/usr/bin/env python3
"""Writes the tables of results from bench/results/*.json (the format is in docs/benchmarks.md): all of them into docs/results.md, those that
have a peer into the README.

Without arguments it rewrites the pages between their markers; with --check it only says whether they are up to date.
"""
import argparse
import json
import sys

from sources import ROOT

BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"
REQUIRED = ("machine", "date", "versions", "commit", "rows")


def number(value):
    """Three significant digits, without exponents; text as it is; a dash for nothing."""
    if value is None:
        return "–"
    if not isinstance(value, (int, float)):
        return str(value)
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}"


def row_text(row):
    unit = row["unit"]
    with_unit = lambda value: number(value) if value is None or isinstance(value, str) else f"{number(value)} {unit}"
    share = "–" if row.get("share") is None else f"{row['share']:.2f}"
    ratio = "–" if row.get("ratio") is None else f"{row['ratio']:.2f}x"
    cells = [row["name"], with_unit(row["value"]), with_unit(row.get("floor")), share, with_unit(row.get("peer")), ratio]
    return "| " + " | ".join(cells) + " |"


def table(name, result, wanted):
    """One table: a line with machine, date, versions and commit, then a row per measurement that is wanted."""
    missing = [key for key in REQUIRED if key not in result]
    if missing:
        raise SystemExit(f"bench/results/{name}: no {', '.join(missing)}")
    versions = ", ".join(f"{key} {value}" for key, value in result["versions"].items())
    lines = [f"**{result['machine']}**, {result['date']}, commit {result['commit'][:10]}; {versions}", "",
             "| work | Tegula | floor | share of the floor | best peer | against the peer |", "|---|---|---|---|---|---|"]
    return "\n".join(lines + [row_text(row) for row in result["rows"] if wanted(row)])


def has_peer(row):
    return row.get("ratio") is not None


def render(folder, wanted):
    tables = [table(path.name, json.loads(path.read_text(encoding="utf-8")), wanted) for path in sorted(folder.glob("*.json"))]
    return "\n\n".join(tables) if tables else "No results yet."


def splice(page, text):
    """The page with the text between its markers."""
    if BEGIN not in page or END not in page:
        raise SystemExit(f"no {BEGIN} … {END}")
    before, rest = page.split(BEGIN, 1)
    return f"{before}{BEGIN}\n{text}\n{END}{rest.split(END, 1)[1]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    outdated = []
    for page, wanted in {"README.md": has_peer, "docs/results.md": lambda row: True}.items():
        path = ROOT / page
        old = path.read_text(encoding="utf-8")
        new = splice(old, render(ROOT / "bench/results", wanted))
        if args.check and new != old:
            outdated.append(page)
        elif not args.check:
            path.write_text(new, encoding="utf-8")
    if args.check:
        print(f"{', '.join(outdated)}: run scripts/readme_tables.py" if outdated else "the tables are up to date")
    return 1 if outdated else 0


if __name__ == "__main__":
    sys.exit(main())
