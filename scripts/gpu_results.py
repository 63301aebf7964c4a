#!/usr/bin/env python3
"""bench/results/<machine>.json of a GPU from the logs of a visit.

usage: gpu_results.py MACHINE COMMIT LOG…, with logs of bench_gpu, bench_start, bench_mnist_race, bench_cifar10 and of the visit's peers. A row's peer is the
fastest form in the logs: eager, compiled, in a CUDA graph, Triton, JAX.
"""
import argparse
import datetime
import json
import pathlib
import re
import statistics

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINE = re.compile(r"^(\S+)\s+([0-9.]+)\s+(us/step|us|ms|s|GB/s|TFLOP/s|img/s|%)(?:\s+([0-9.]+) of (\w+))?")
OTHER = re.compile(r"^by \w+\.py (\S+).*?\s([0-9.]+) (us/step|ms|GB/s|TFLOP/s|img/s)")  # ready scripts
PEER = re.compile(r"^peer\.(\S+) (\d+) GB/s (\S+)")
RUN = re.compile(r"^(mnist|cifar10|pytorch),\s+(.*?):\s+([0-9.]+) (ms|s), accuracy ([0-9.]+)")
LEFT_OUT = ("step_", "device_start", "peer.", "column_sum", "mean.", "batch_norm")  # parts of other work
RATES = ("GB/s", "TFLOP/s", "img/s")  # more is better
UNITS = {"us/step": "µs", "us": "µs"}
PEER_CASES = {  # prefix of a peer's case, without its form -> ours
    "mlp128": "mlp", "kerascnn": "mnist-cnn", "softmax": "softmax", "layernorm": "layer_norm.plain", "gelu": "gelu_tanh",
    "layernorm.bwd": "layer_norm.backward", "rmsnorm.bwd": "rms_norm.backward", "cross_entropy.fwd+bwd": "cross_entropy.both", "adamw": "adamw",
    "embedding.bwd": "embedding.backward", "gemm.bf16": "gemm.bf16", "gemm.fp16": "gemm.f16", "gemm.fp32": "gemm.f32",
    "resnet50.train.bf16": "resnet50.train", "resnet50.infer.fp16": "resnet50.infer",
}
FORM = re.compile(r"\.(eager|compile|cudagraph|fused|cublas|triton|scan)(?=\.|$)")
PEAK = {"f32": 60.0, "bf16": 790.0, "f16": 790.0, "fp8": 1979.0}  # TFLOP/s: f32 and fp8 of the data sheet, halves what the power limit sustains

LABELS = {  # prefix of a case -> what a reader sees
    "copy": "copy, read + written", "mlp": "MLP 784-128-10, Adam step, tf32", "mnist-cnn": "mnist-cnn, Adam step, tf32",
    "layer_norm.backward": "layer norm backward, bf16", "rms_norm.backward": "RMS norm backward, bf16", "softmax": "softmax, bf16",
    "layer_norm": "layer norm, weight and bias, bf16", "layer_norm.plain": "layer norm, bf16", "rms_norm": "RMS norm, weight, bf16",
    "gelu_tanh": "GELU (tanh), bf16", "gelu": "GELU, bf16",
    "cross_entropy.both": "cross-entropy forward + backward, bf16", "adamw": "AdamW,", "embedding.backward.one_token": "embedding backward, all tokens equal",
    "embedding.backward": "embedding backward, bf16", "resnet50.infer": "ResNet-50 inference, fp16", "resnet50.train": "ResNet-50 training, bf16", "gemm": "matrix product",
    "first_step": "first step of a process,", "host_per_step": "host code of a replayed step,", "mnist_accuracy": "MNIST test accuracy, mnist-cnn, 5 epochs,",
}


def longest_prefix(table, name):
    """What the table has for the longest beginning of the name that it knows, and the rest; (None, name) without one."""
    known = max((prefix for prefix in table if name.startswith(prefix)), key=len, default=None)
    return (None, name) if known is None else (table[known], name[len(known):])


def label(name):
    """The reader's words for a case, with its sizes."""
    words, rest = longest_prefix(LABELS, name)
    return name if words is None else (words + " " + rest.strip(".").replace(".", " ").replace("_", " ")).strip()


def is_faster(a, b, unit):
    return a > b if unit in RATES else a < b


def peers_of(lines):
    """The fastest form of each case: {our name: (value, form)}."""
    best = {}
    for line in lines:
        if match := PEER.match(line):
            name, value, form, unit = match[1], float(match[2]), match[3], "GB/s"
        elif match := OTHER.match(line):
            full, value, unit = match[1], float(match[2]), match[3]
            found, plain = FORM.search(full), FORM.sub("", full.removeprefix("jax."))
            form = found[1] if found else "cublas" if plain.startswith("gemm.") else "eager"
            if full.startswith("jax."):
                form = "jax-" + form
            ours, rest = longest_prefix(PEER_CASES, plain)
            name = ours and ours + rest
        else:
            continue
        if name and (name not in best or is_faster(value, best[name][0], unit)):
            best[name] = (value, form)
    return best


def row_of(name, value, unit, share, peers):
    row = {"name": label(name), "value": value, "unit": UNITS.get(unit, unit), "share": share}
    if unit == "TFLOP/s":
        row["share"] = round(value / PEAK[name.split(".")[1]], 2)
    if name in peers:
        peer, form = peers[name]
        row["peer"] = f"{peer:.4g} ({form})"
        row["ratio"] = round(value / peer if unit in RATES else peer / value, 2)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("machine")
    parser.add_argument("commit")
    parser.add_argument("logs", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    values, runs = {}, {}
    lines = [line for log in options.logs for line in log.read_text(errors="replace").splitlines()]
    peers = peers_of(lines)
    for line in lines:
        if (match := LINE.match(line)) and not match[1].startswith(LEFT_OUT):
            name, value, unit, share, _ = match.groups()
            values.setdefault(name, []).append((float(value), unit, float(share) if share else None))
        elif match := RUN.match(line):
            runs.setdefault(match[1], []).append((float(match[3]), match[4], float(match[5]), match[2]))
    rows = {name: row_of(name, *sorted(measured)[len(measured) // 2], peers) for name, measured in values.items()}
    for who, label in (("mnist", "MNIST to 99 %, training"), ("cifar10", "CIFAR-10, airbench-style network, training")):
        if who not in runs:
            continue
        times, accuracies = [run[0] for run in runs[who]], [run[2] for run in runs[who]]
        name = f"{label} ({runs[who][0][3].strip()}; accuracy {min(accuracies):.4f} to {max(accuracies):.4f})"
        row = {"name": name, "value": statistics.median(times), "unit": runs[who][0][1], "share": None}
        if who == "cifar10" and "pytorch" in runs:
            peer = statistics.median(run[0] for run in runs["pytorch"])
            reached = [run[2] for run in runs["pytorch"]]
            row["peer"] = f"{peer} (compile, accuracy {min(reached):.4f} to {max(reached):.4f})"
            row["ratio"] = round(peer / row["value"], 2)
        rows[who] = row
    result = {
        "machine": options.machine, "date": datetime.date.today().isoformat(),
        "versions": {"CUDA": "13.0", "cuDNN": "9.19", "PyTorch": "2.11", "Triton": "3.6", "JAX": "0.11"},
        "commit": options.commit, "rows": list(rows.values()),
    }
    path = ROOT / "bench/results" / (re.sub(r"[^a-z0-9]+", "-", options.machine.lower()).strip("-") + ".json")
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(path, len(rows), "rows")


if __name__ == "__main__":
    main()
