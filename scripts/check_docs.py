#!/usr/bin/env python3
"""Compiles and runs the C++ of README.md and docs/*.md against an installed Tegula.

A ```cpp block runs when it contains `int main` or is marked ```cpp complete. When the next block is ```text and the words between the
two contain "prints", it is what the program must print; a line may use … for what changes from run to run.
A ```cpp rows block declares what the lines of the next table use: the code in the second cell of each of its rows is a scope of its own, and all of them
are one program that runs (`| `torch.exp(x)` | `exp(x)` |`; in code a bar is written \\|). Cells that begin with a dash are words.
A program that includes tegula/text.h, as the rows of ```cpp rows text do, is linked with tegula::text, one that includes tegula/onnx.h with tegula::onnx; all others with tegula::tegula alone.
A ```cpp block marked file=NAME is written to that name for the later blocks of the page, which may include it.
"""
import argparse
import pathlib
import re
import subprocess
import sys

from sources import ROOT

FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```[ ]*$", re.MULTILINE | re.DOTALL)


TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
WHOLE = re.compile(r"^#include [<\"]tegula/tegula\.h[>\"]", re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")


def rows_program(setup, table, header):
    """The program of a table's second column, which includes tegula/`header`.h: each cell's first code is a scope."""
    scopes = []
    for line in table.splitlines()[2:]:
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) < 2 or cells[1].startswith("—") or not (code := CODE.search(cells[1])):
            continue
        scopes.append("  { " + code[1].replace("\\|", "|").rstrip(";") + "; }")
    body = "\n".join(scopes)
    return f"#include <tegula/{header}.h>\n\n#include <cstdio>\nusing namespace tegula;\n\nint main() {{\n{setup}\n{body}\n}}\n", len(scopes)


class Block:
    def __init__(self, page, line, code, expected):
        self.page, self.line, self.code, self.expected = page, line, code, expected
        self.name = f"{page.stem.lower()}_{line}"
        rooms = [room for room in ("text", "onnx") if f"<tegula/{room}.h>" in code]
        self.library = " ".join(f"tegula::{room}" for room in rooms or ["tegula"])

    def __str__(self):
        return f"{self.page}:{self.line}"


def read_page(page, text):
    """The programs of a page, and {name: contents} of the files it defines."""
    programs, files, previous = [], {}, None
    end = 0
    for match in FENCE.finditer(text):
        words, code = match[1].split(), match[2]
        between, end = text[end : match.start()], match.end()
        line = text.count("\n", 0, match.start()) + 1
        if previous and words[:1] == ["text"] and "prints" in between:
            previous.expected = code
        previous = None
        if words[:1] != ["cpp"]:
            continue
        named = [word[5:] for word in words if word.startswith("file=")]
        if named:
            files[named[0]] = code
        elif "rows" in words:
            table = TABLE.match(text, end + 1)
            program, count = rows_program(code, table[0], "text" if "text" in words else "tegula") if table else ("", 0)
            if count == 0:
                raise SystemExit(f"{page}:{line}: no table with code in its second column follows")
            programs.append(Block(page, line, program, None))
        elif "complete" in words or re.search(r"\bint main\b", code):
            previous = Block(page, line, code, None)
            programs.append(previous)
    return programs, files


def same(printed, expected):
    """Whether the output is what the page shows: trailing blanks do not count, … stands for anything within a line."""
    printed, expected = ([line.rstrip() for line in text.rstrip().splitlines()] for text in (printed, expected))
    return len(printed) == len(expected) and all(
        re.fullmatch(".*".join(map(re.escape, shown.split("…"))), line) for line, shown in zip(printed, expected))


def write_project(folder, pages):
    """One CMake project with one program per block."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "headers.cpp").write_text("// Nothing: its precompiled header is what counts.\n")
    lines = ["cmake_minimum_required(VERSION 3.22)", "project(docs LANGUAGES CXX)", "find_package(tegula REQUIRED COMPONENTS text onnx)",
             "add_library(headers OBJECT headers.cpp)", "target_link_libraries(headers PRIVATE tegula::tegula)",
             "target_precompile_headers(headers PRIVATE <tegula/tegula.h>)"]
    for page, (programs, files) in pages.items():
        page_folder = folder / page.stem
        page_folder.mkdir(exist_ok=True)
        contents = {name: code for name, code in files.items()} | {f"{block.name}.cpp": block.code for block in programs}
        for name, code in contents.items():
            path = page_folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.is_file() or path.read_text(encoding="utf-8") != code:
                path.write_text(code, encoding="utf-8")
        for block in programs:
            lines += [f"add_executable({block.name} {page.stem}/{block.name}.cpp)",
                      f"target_include_directories({block.name} PRIVATE {page.stem})",
                      f"target_link_libraries({block.name} PRIVATE {block.library})"]
            if WHOLE.search(block.code):
                lines.append(f"target_precompile_headers({block.name} REUSE_FROM headers)")
    (folder / "CMakeLists.txt").write_text("\n".join(lines) + "\n")


def run_block(block, build, folder):
    """What is wrong with the block, or None."""
    compiled = subprocess.run(["cmake", "--build", str(build), "--target", block.name], capture_output=True, text=True)
    if compiled.returncode != 0:
        return f"does not compile\n{compiled.stdout}{compiled.stderr}"
    try:
        ran = subprocess.run([str(build / block.name)], cwd=folder, capture_output=True, text=True, timeout=600)
    except subprocess.TimeoutExpired:
        return "runs for more than ten minutes"
    if ran.returncode != 0:
        return f"exits with {ran.returncode}\n{ran.stdout}{ran.stderr}"
    if block.expected is not None and not same(ran.stdout, block.expected):
        return f"prints\n{ran.stdout}but the page shows\n{block.expected}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", required=True, help="where Tegula is installed")
    parser.add_argument("--build", required=True, type=pathlib.Path, help="folder for the programs")
    parser.add_argument("--compiler", default="c++")
    args = parser.parse_args()
    paths = [path.relative_to(ROOT) for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))] if path.is_file()]
    pages = {path: read_page(path, (ROOT / path).read_text(encoding="utf-8")) for path in paths}
    write_project(args.build, pages)
    build = args.build / "build"
    configure = ["cmake", "-G", "Ninja", "-S", str(args.build), "-B", str(build), f"-DCMAKE_PREFIX_PATH={args.prefix}",
                 f"-DCMAKE_CXX_COMPILER={args.compiler}", "-DCMAKE_BUILD_TYPE=Release"]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    failed = 0
    for programs, _ in pages.values():
        for block in programs:
            wrong = run_block(block, build, args.build)
            failed += wrong is not None
            print(f"{block}: {wrong or 'ok'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
