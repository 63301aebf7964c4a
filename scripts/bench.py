#!/usr/bin/env python3
"""Runs the CPU benchmarks and, where they are given, the peers in the same visit; writes bench/results/<machine>.json.

Usage: bench.py [--peers PYTHON SCRIPT | --peer-log FILE] [--log FILE] [--machine NAME]
Peers print lines "name value unit" as our programs do, with a suffix for the way it was run (eager, compile, jax-scan, nchw, nhwc);
each of our cases is compared with the best of them. Names of cases are the same on both sides.
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
BENCH = ROOT / "build/release/bench"
LINE = re.compile(r"^(\S+)\s+([0-9.]+)\s+(us/step|us|ms|s|GB/s|GFLOP/s)(?:\s+([0-9.]+) of (\w+))?")
LABELS = {  # prefix of a case -> what a reader sees
    "copy": "copy, read + written", "sgemm.2048": "sgemm 2048", "chain9": "nine elementwise ops (tanh, sqrt), fused",
    "cheap9": "nine cheap elementwise ops, fused", "softmax": "softmax", "layernorm.bwd": "layer norm backward",
    "layernorm": "layer norm", "cross_entropy.fwdbwd": "cross-entropy forward + backward",
    "mlp784-128-10.train": "MLP 784-128-10, Adam step", "mlp784-16-10.train": "MLP 784-16-10, Adam step",
    "mnist-cnn.train": "mnist-cnn, Adam step", "conv": "convolution",
}


def lines_of(text):
    """(name, value, unit, share, floor) of each case a program printed."""
    return [match.groups() for match in map(LINE.match, text.splitlines()) if match]


def run(command, env=None):
    """The cases a program prints when it is run."""
    return lines_of(subprocess.run(command, capture_output=True, text=True, env=env, check=True).stdout)


def label(name):
    """The reader's words for a case, with its sizes."""
    for prefix in sorted(LABELS, key=len, reverse=True):
        if name.startswith(prefix):
            rest = name[len(prefix):].strip(".").replace(".", " ")
            return f"{LABELS[prefix]}, {rest}" if rest else LABELS[prefix]
    return name


def best_peer(name, unit, peers):
    """(value, how) of the fastest way a peer has for this case."""
    found = [(float(value), key[len(name) + 1:]) for key, value, *_ in peers if key.startswith(name + ".") and "." not in key[len(name) + 1:]]
    conv = re.fullmatch(r"(conv\..*)\.(fwd|bwd)", name)
    if conv:
        found = [(float(value), key.split(".")[-2]) for key, value, *_ in peers if key.startswith(conv[1] + ".") and key.endswith("." + conv[2])]
    if not found:
        return None
    return (min if unit.startswith(("us", "ms", "s")) else max)(found)


def row(name, value, unit, share, floor, peers):
    """One row of the results file."""
    value = float(value)
    time = unit.startswith(("us", "ms"))
    out = {"name": label(name), "value": value, "unit": unit.replace("us", "µs").replace("/step", ""), "share": float(share) if share else None}
    if share:
        out["floor"] = round(value * float(share) if time else value / float(share), 3)
    peer = best_peer(name, unit, peers)
    if peer:
        out["peer"] = f"{peer[0]:g} ({peer[1]})"
        out["ratio"] = round(peer[0] / value if time else value / peer[0], 2)
    return out


def version(command, pattern):
    """The first match of `pattern` in what a program says of itself."""
    try:
        text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        return None
    match = re.search(pattern, text)
    return match[1] if match else None


def main():
    """Runs everything; the file is written last."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", nargs=2, metavar=("PYTHON", "SCRIPT"))
    parser.add_argument("--peer-log", help="what the peers' script printed in this visit, instead of running it")
    parser.add_argument("--log", help="what our programs printed in this visit, instead of running them")
    parser.add_argument("--machine", default=None)
    args = parser.parse_args()
    env = dict(os.environ, OMP_NUM_THREADS="2")
    peers = run([*args.peers, "gemm", "copy", "chain", "rowwise", "small", "conv"], env) if args.peers else []
    if args.peer_log:
        peers = lines_of(pathlib.Path(args.peer_log).read_text(encoding="utf-8"))
    if args.log:
        ours = lines_of(pathlib.Path(args.log).read_text(encoding="utf-8"))
    else:
        ours = [line for program in ("training", "memory_bound", "resnet_layers") for line in run([BENCH / f"bench_{program}"], env)]
    rows = [row(*line, peers) for i, line in enumerate(ours) if line[0] not in {earlier[0] for earlier in ours[:i]}]
    cpu = version(["lscpu"], r"Model name:\s+(.*)") or "unknown"
    family = version(["lscpu"], r"CPU family:\s+(\d+)")
    result = {
        "machine": f"2 cores of an {cpu} (family {family}), 2 threads",
        "date": datetime.date.today().isoformat(),
        "versions": {"gcc": version(["g++", "--version"], r"(\d+\.\d+)\.\d+"), "oneDNN": version(["dpkg", "-s", "libdnnl-dev"], r"Version: ([0-9.]+)"),
                     "PyTorch": "2.11", "JAX": "0.10"} if peers else {"gcc": version(["g++", "--version"], r"(\d+\.\d+)\.\d+")},
        "commit": version(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], r"(\w+)"),
        "rows": rows,
    }
    name = args.machine or re.sub(r"\W+", "-", cpu.lower()).strip("-") + "-cpu"
    path = ROOT / "bench/results" / f"{name}.json"
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for r in rows:
        print(f"{r['name']:60s} {r['value']:12.2f} {r['unit']:8s} share {r['share'] or 0:.2f} ratio {r.get('ratio', 0):.2f}")


if __name__ == "__main__":
    main()
