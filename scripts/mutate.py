#!/usr/bin/env python3
"""Changes the code in one place, builds, runs tests, and says whether they noticed; for every mutant of a list, one after another.

usage: scripts/mutate.py BUILD_DIR LIST [NAME…]     (a checkout of your own: sources are changed and put back)

A list holds blocks like this; - and + are the text before and after, which may have several lines:
    == c01 tegula/compile/run/cache.cpp: test_compile test_ops=Cast*:*Sum*
    - a < b
    + a > b
Programs are run in this order, with the tests named behind = or all, until one fails.
"""
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIMEOUT = 600  # seconds for a program: an endless loop was noticed, too


def parse(text):
    """(name, path, [(program, filter)], before, after) of each block."""
    for block in re.split(r"^== ", text, flags=re.M)[1:]:
        head, *lines = block.splitlines()
        name, path, programs = re.fullmatch(r"(\S+) (\S+): (.+)", head).groups()
        before = "\n".join(line[2:] for line in lines if line.startswith("- "))
        after = "\n".join(line[2:] for line in lines if line.startswith("+ "))
        yield name, path, [(program.partition("=")[0], program.partition("=")[2] or "*") for program in programs.split()], before, after


def first_failure(build, programs):
    """What noticed the change: a test's name, or how a program ended; None when nothing did."""
    for program, tests in programs:
        work = build / "work" / program
        work.mkdir(parents=True, exist_ok=True)
        try:
            run = subprocess.run([build / "tests" / program, "--gtest_brief=1", "--gtest_fail_fast", f"--gtest_filter={tests}"], cwd=work,
                                 capture_output=True, text=True, errors="replace", timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            return f"{program}: no end"
        if run.returncode != 0:
            failed = re.search(r"\[  FAILED  \] (\S+)", run.stdout)
            return f"{program}: {failed[1] if failed else f'ends with {run.returncode}'}"
    return None


def try_mutant(build, path, programs, before, after):
    source = ROOT / path
    original = source.read_text(encoding="utf-8")
    if original.count(before) != 1:
        return f"the text is there {original.count(before)} times"
    try:
        source.write_text(original.replace(before, after), encoding="utf-8")
        made = subprocess.run(["nice", "cmake", "--build", build, "--target", *(program for program, _ in programs)], capture_output=True, text=True)
        if made.returncode != 0:
            return "does not build: " + next((line for line in made.stdout.splitlines() if "error" in line), "")
        failure = first_failure(build, programs)
        return f"killed by {failure}" if failure else "SURVIVES"
    finally:
        source.write_text(original, encoding="utf-8")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    survivors = 0
    for name, path, programs, before, after in parse(pathlib.Path(sys.argv[2]).read_text(encoding="utf-8")):
        if len(sys.argv) > 3 and name not in sys.argv[3:]:
            continue
        begin = time.time()
        result = try_mutant(build, path, programs, before, after)
        survivors += result == "SURVIVES"
        print(f"{name} {path}: {result} ({time.time() - begin:.0f} s)", flush=True)
    return survivors


if __name__ == "__main__":
    sys.exit(main())
