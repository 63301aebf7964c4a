#!/usr/bin/env python3
"""How long a user waits for the compiler: #include <tegula/tegula.h> alone, with the 30-line network, and #include <tegula/tile.h>. The bars are two seconds,
and 2.2 for tiles."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def seconds(compiler, source, folder):
    """Best of three; None when the file does not compile."""
    best = None
    environment = dict(os.environ, CCACHE_DISABLE="1")
    for _ in range(3):
        start = time.perf_counter()
        command = [compiler, "-std=c++20", "-O2", "-I", str(ROOT), "-c", str(source), "-o", str(folder / "out.o")]
        if subprocess.run(command, env=environment).returncode != 0:
            return None
        elapsed = time.perf_counter() - start
        best = elapsed if best is None else min(best, elapsed)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default=os.environ.get("CXX", "c++"))
    parser.add_argument("--report", type=pathlib.Path, help="also write the lines to this file")
    args = parser.parse_args()
    lines, ok = [], True
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        alone = folder / "alone.cpp"
        alone.write_text("#include <tegula/tegula.h>\nint main() {}\n")
        tiles = folder / "tiles.cpp"
        tiles.write_text("#include <tegula/tile.h>\nint main() {}\n")
        for title, source, bar in [
            ("tegula.h alone", alone, 2),
            ("tegula.h + 30-line network", ROOT / "tests/compile_time/network.cpp", 2),
            ("tile.h alone", tiles, 2.2),
        ]:
            time_taken = seconds(args.compiler, source, folder)
            ok &= time_taken is not None
            shown = "does not compile" if time_taken is None else f"{time_taken:.2f} s"
            lines.append(f"compile time, {title}: {shown} (bar: < {bar} s, -O2, best of 3)")
    print("\n".join(lines))
    if args.report:
        args.report.write_text("\n".join(lines) + "\n")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
