#!/usr/bin/env python3
"""bench/results/<machine>.json of a GPU from the logs of a visit.

usage: gpu_results.py MACHINE COMMIT LOG…, with logs of bench_gpu, bench_start, bench_mnist_race, bench_cifar10, bench/peers/cifar10_torch.py and
bench/peers/rows_torch.py. Peers that are not in the logs are those measured on the same kind of card on the days in PEERS_DATE (PyTorch 2.11, Triton 3.6, JAX).
"""
import argparse
import datetime
import json
import pathlib
import re
import statistics

ROOT = pathlib.Path(__file__).resolve().parent.parent
PEERS_DATE = "2026-11-21 and 22"
LINE = re.compile(r"^(\S+)\s+([0-9.]+)\s+(us/step|us|ms|s|GB/s|TFLOP/s|img/s|%)(?:\s+([0-9.]+) of (\w+))?")
PEER = re.compile(r"^peer\.(\S+) (\d+) GB/s (\S+)")
RUN = re.compile(r"^(mnist|cifar10|pytorch),\s+(.*?):\s+([0-9.]+) (ms|s), accuracy ([0-9.]+)")
LEFT_OUT = ("step_", "device_start", "peer.", "column_sum", "mean.", "batch_norm")  # parts of other work
UNITS = {"us/step": "µs", "us": "µs"}
# The best of eager, compiled and graph; milliseconds and microseconds: less is better.
PEERS = {
    "mlp.b64": (27.2, "jax-scan"), "mlp.b1024": (40.2, "jax-scan"), "mnist-cnn.b64": (251, "jax-scan"), "mnist-cnn.b1024": (1004, "jax-scan"),
    "softmax.8192x8192": (1698, "compile"), "softmax.65536x1024": (3913, "compile"), "softmax.4096x32768": (2187, "eager"),
    "layer_norm.plain.8192x8192": (3940, "compile"), "layer_norm.plain.65536x1024": (3891, "compile"),
    "layer_norm.plain.4096x32768": (4131, "compile"),
    "gelu.8192x8192": (3406, "eager"), "layer_norm.backward.16384x4096": (2410, "compile"), "layer_norm.backward.65536x1024": (2759, "compile"),
    "layer_norm.backward.32768x768": (1681, "compile"), "rms_norm.backward.16384x4096": (2846, "compile"),
    "rms_norm.backward.65536x1024": (3100, "compile"), "rms_norm.backward.32768x768": (2141, "compile"),
    "cross_entropy.both.8192x32768": (1544, "compile"), "cross_entropy.both.8192x50304": (1542, "compile"),
    "cross_entropy.both.8192x131072": (1659, "compile"), "adamw.132M": (3439, "fused"), "embedding.backward.65536x768": (0.75, "eager"),
    "resnet50.infer.b1": (0.44, "compile"), "resnet50.infer.b256": (8.6, "compile"), "resnet50.train.b256": (6779, "compile"),
    "gemm.bf16.4096": (739, "cuBLAS"), "gemm.bf16.8192": (790, "cuBLAS"),
}
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


def label(name):
    """The reader's words for a case, with its sizes."""
    for prefix in sorted(LABELS, key=len, reverse=True):
        if name.startswith(prefix):
            return (LABELS[prefix] + " " + name[len(prefix):].strip(".").replace(".", " ")).strip()
    return name


def row_of(name, value, unit, share):
    row = {"name": label(name), "value": value, "unit": UNITS.get(unit, unit), "share": share}
    if unit == "TFLOP/s":
        row["share"] = round(value / PEAK[name.split(".")[1]], 2)
    if name in PEERS:
        peer, how = PEERS[name]
        row["peer"] = f"{peer} ({how})"
        faster = value / peer if unit in ("GB/s", "TFLOP/s", "img/s") else peer / value
        row["ratio"] = round(faster, 2)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("machine")
    parser.add_argument("commit")
    parser.add_argument("logs", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    values, runs = {}, {}
    lines = [line for log in options.logs for line in log.read_text(errors="replace").splitlines()]
    for match in filter(None, map(PEER.match, lines)):  # the best that was measured on any day
        PEERS[match[1]] = max(PEERS.get(match[1], (0, "")), (int(match[2]), match[3]))
    for line in lines:
        if (match := LINE.match(line)) and not match[1].startswith(LEFT_OUT):
            name, value, unit, share, _ = match.groups()
            values.setdefault(name, []).append((float(value), unit, float(share) if share else None))
        elif match := RUN.match(line):
            runs.setdefault(match[1], []).append((float(match[3]), match[4], float(match[5]), match[2]))
    rows = {name: row_of(name, *sorted(measured)[len(measured) // 2]) for name, measured in values.items()}
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
        "versions": {"CUDA": "13.0", "cuDNN": "9.19", "PyTorch": "2.11", "Triton": "3.6", "peers": f"measured {PEERS_DATE}"},
        "commit": options.commit, "rows": list(rows.values()),
    }
    path = ROOT / "bench/results" / (re.sub(r"[^a-z0-9]+", "-", options.machine.lower()).strip("-") + ".json")
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(path, len(rows), "rows")


if __name__ == "__main__":
    main()
