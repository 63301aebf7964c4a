#!/usr/bin/env python3
"""The ONNX models that Tegula writes, beside onnxruntime: every layer, every model and every declared case of the ops.

Lets the drivers (test_onnx, test_property) write their models with arguments and results into a folder ($TEGULA_ONNX_SAVED), has onnx.checker look at each with
its types and shapes, and runs it in onnxruntime. Needs the packages onnx and onnxruntime; without them it ends with 77 (skipped).
"""
import argparse
import collections
import os
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy
    import onnx
    import onnxruntime
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

# What onnxruntime has no kernel for on the CPU: the model is as ONNX says, and is checked as such.
NO_KERNEL = "NOT_IMPLEMENTED"


def arrays(folder, stem):
    found = sorted(folder.glob(f"{stem}[0-9]*.npy"), key=lambda path: int(path.stem[len(stem):]))
    return [numpy.load(path) for path in found]


def difference(got, expected):
    """Relative to the greatest value; None where shapes or kinds differ."""
    if got.shape != expected.shape:
        return None
    a, b = got.astype(numpy.float64), expected.astype(numpy.float64)
    same = (a == b) | (numpy.isnan(a) & numpy.isnan(b))
    if same.all():
        return 0.0
    if not (numpy.isfinite(a[~same]) & numpy.isfinite(b[~same])).all():
        return float("inf")
    finite = numpy.abs(b[numpy.isfinite(b)])
    return float(numpy.abs(a[~same] - b[~same]).max() / max(1e-3, finite.max() if finite.size else 0))


def run(folder, tolerance):
    """(kind of the outcome, words)."""
    path = folder / "model.onnx"
    model = onnx.load(path)
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as error:  # pylint: disable=broad-exception-caught
        return "refused by onnx.checker", str(error)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        inputs = dict(zip([one.name for one in session.get_inputs()], arrays(folder, "input")))
        types = {one.name: one.type for one in session.get_inputs()}
        if any(kind == "tensor(bfloat16)" for kind in types.values()):
            return "no kernel", "bf16 arguments, which NumPy has not"
        got = session.run(None, inputs)
    except Exception as error:  # pylint: disable=broad-exception-caught
        return ("no kernel" if NO_KERNEL in str(error) else "refused by onnxruntime"), str(error)
    half = any(one.dtype == numpy.float16 for one in got)
    for i, (ours, theirs) in enumerate(zip(arrays(folder, "output"), got)):
        off = difference(theirs, ours)
        if off is None:
            return "another shape", f"result {i}: {theirs.shape}, expected {ours.shape}"
        if not off <= (2e-2 if half else tolerance):
            return "other values", f"result {i}: {off:.3g}"
    return "equal", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--driver", action="append", required=True, help="a test program that writes models; may come twice")
    parser.add_argument("--filter", default="OnnxSave*:OnnxInt4*:OnnxFiles.EveryDeclaredCase*", help="its tests")
    parser.add_argument("--folder", help="where the models are left [a temporary folder]")
    parser.add_argument("--tolerance", type=float, default=1e-5)
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(arguments.folder or temporary)
        for driver in arguments.driver:
            subprocess.run([Path(driver).resolve(), f"--gtest_filter={arguments.filter}", "--gtest_brief=1"], check=True, cwd=temporary,
                           env={**os.environ, "TEGULA_ONNX_SAVED": str(folder.resolve())}, stdout=subprocess.DEVNULL)
        outcomes = collections.Counter()
        wrong = 0
        for case in sorted(path.parent for path in folder.glob("*/model.onnx")):
            kind, words = run(case, arguments.tolerance)
            outcomes[kind] += 1
            wrong += kind not in ("equal", "no kernel")
            if kind not in ("equal", "no kernel") or (arguments.verbose and words):
                print(f"{case.name}: {kind}: {words[:400]}")
    print(", ".join(f"{count} {kind}" for kind, count in sorted(outcomes.items())))
    if not outcomes["equal"]:
        print("no model was written")
        return 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
