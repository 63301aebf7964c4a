#!/usr/bin/env python3
"""Writes the tables of results from bench/results/*.json (the format is in docs/benchmarks.md): all of them into docs/results.md, ten rows
(FRONT_PAGE) into the README.

Without arguments it rewrites the pages between their markers; with --check it only says whether they are up to date.
"""
import argparse
import json
import sys

from sources import ROOT

BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"
REQUIRED = ("machine", "date", "versions", "commit", "rows")

# The rows of the README: what a newcomer would ask for, one of each kind, a level or a lost one of each machine among them.
FRONT_PAGE = {
    "amd-epyc-zen5-2-cores.json": ["MLP 784-128-10, Adam step, b64", "mnist-cnn, Adam step, b64", "convolution, 256x14 256 3x3s1 fwd"],
    "nvidia-h200.json": ["mnist-cnn, Adam step, tf32 b64", "softmax, bf16 8192x8192", "layer norm, weight and bias, bf16 65536x1024",
                         "cross-entropy forward + backward, bf16 8192x50304", "matrix product bf16 4096", "ResNet-50 training, bf16 b256",
                         "ResNet-50 inference, fp16 b1"],
}


def number(value):
    """Three significant digits, without exponents; text as it is; a dash for nothing."""
    if value is None:
        return "–"
    if not isinstance(value, (int, float)):
        return str(value)
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}"


def with_unit(value, unit):
    return number(value) if value is None or isinstance(value, str) else f"{number(value)} {unit}"


def row_text(row):
    unit = row["unit"]
    share = "–" if row.get("share") is None else f"{row['share']:.2f}"
    ratio = "–" if row.get("ratio") is None else f"{row['ratio']:.2f}x"
    cells = [row["name"], with_unit(row["value"], unit), with_unit(row.get("floor"), unit), share, with_unit(row.get("peer"), unit), ratio]
    return "| " + " | ".join(cells) + " |"


def checked(name, result):
    """The result, which has all that a table is headed by."""
    missing = [key for key in REQUIRED if key not in result]
    if missing:
        raise SystemExit(f"bench/results/{name}: no {', '.join(missing)}")
    return result


def table(name, result):
    """One table: a line with machine, date, versions and commit, then a row per measurement."""
    checked(name, result)
    versions = ", ".join(f"{key} {value}" for key, value in result["versions"].items())
    lines = [f"**{result['machine']}**, {result['date']}, commit {result['commit'][:10]}; {versions}", "",
             "| work | Tegula | floor | share of the floor | best peer | against the peer |", "|---|---|---|---|---|---|"]
    return "\n".join(lines + [row_text(row) for row in result["rows"]])


def front_page(results, wanted=FRONT_PAGE):
    """One table of the rows that the README shows, by machine; a row that is no longer measured is an error."""
    lines = ["| work | machine | Tegula | best peer | against the peer |", "|---|---|---|---|---|"]
    for file, names in wanted.items():
        if file not in results:
            continue
        result = checked(file, results[file])
        rows = {row["name"]: row for row in result["rows"]}
        for name in names:
            if name not in rows:
                raise SystemExit(f"bench/results/{file}: no row '{name}', which the README shows")
            row = rows[name]
            unit = row["unit"]
            lines.append(f"| {name} | {result['machine']} | {with_unit(row['value'], unit)} | "
                         f"{with_unit(row.get('peer'), unit)} | {row['ratio']:.2f}x |")
    return "\n".join(lines)


def all_results(results):
    return "\n\n".join(table(name, result) for name, result in results.items()) or "No results yet."


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
    results = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "bench/results").glob("*.json"))}
    for page, render in {"README.md": front_page, "docs/results.md": all_results}.items():
        path = ROOT / page
        old = path.read_text(encoding="utf-8")
        new = splice(old, render(results))
        if args.check and new != old:
            outdated.append(page)
        elif not args.check:
            path.write_text(new, encoding="utf-8")
    if args.check:
        print(f"{', '.join(outdated)}: run scripts/readme_tables.py" if outdated else "the tables are up to date")
    return 1 if outdated else 0


if __name__ == "__main__":
    sys.exit(main())
