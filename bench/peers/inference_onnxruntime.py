#!/usr/bin/env python3
"""The nets of bench_inference in onnxruntime, with the same weights: what they answer is compared, then both are timed in turn, a slice each, so that a machine
that others use disturbs both alike. What is reported is processor time of a process, medians of slices, and the ratio (above 1: Tegula is faster), the median of those of
neighbours. Needs numpy, onnx and onnxruntime. usage: inference_onnxruntime.py BENCH_INFERENCE [--rounds N] [--seconds S] [net…]
"""
import argparse
import json
import os
import pathlib
import statistics
import struct
import subprocess
import tempfile
import time

os.environ["OMP_NUM_THREADS"] = "1"
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

DTYPES = {"F32": np.float32, "I64": np.int64}
NETS = ["mlp", "digits", "mobilenet_v2", "resnet50", "bert_base"]


def read_safetensors(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    out = {}
    for name, at in json.loads(data[8 : 8 + length]).items():
        if name != "__metadata__":
            begin, end = at["data_offsets"]
            out[name] = np.frombuffer(data[8 + length + begin : 8 + length + end], DTYPES[at["dtype"]]).reshape(at["shape"])
    return out


class Graph:
    """ONNX nodes over named weights; each word gives the name of its result."""

    def __init__(self, state):
        self.state, self.nodes, self.weights, self.count = state, [], {}, 0

    def weight(self, name):
        self.weights[name] = self.state[name]
        return name

    def constant(self, value):
        name = f"constant{len(self.weights)}"
        self.weights[name] = value
        return name

    def __call__(self, kind, *inputs, **attributes):
        self.count += 1
        name = f"value{self.count}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def linear(self, x, name):
        return self("Gemm", x, self.weight(name + ".weight"), self.weight(name + ".bias"), transB=1)

    def dense(self, x, name):
        """The same over more than two axes: exporters write the transposed weight."""
        return self("Add", self("MatMul", x, self.constant(np.ascontiguousarray(self.state[name + ".weight"].T))), self.weight(name + ".bias"))

    def convolution(self, x, name, norm, stride=1, groups=1):
        """With the norm behind it in the weight, as exporters write it."""
        weight = self.state[name + ".weight"]
        bias = self.state.get(name + ".bias")
        if norm:
            scale = self.state[norm + ".weight"] / np.sqrt(self.state[norm + ".running_var"] + np.float32(1e-5))
            weight = weight * scale[:, None, None, None]
            bias = self.state[norm + ".bias"] - self.state[norm + ".running_mean"] * scale
        pad, size = weight.shape[2] // 2, list(weight.shape[2:])
        return self("Conv", x, self.constant(weight), self.constant(bias), kernel_shape=size, strides=[stride] * 2, pads=[pad] * 4, group=groups)

    def pool(self, x, size, stride, pad=0):
        return self("MaxPool", x, kernel_shape=[size] * 2, strides=[stride] * 2, pads=[pad] * 4)

    def relu6(self, x):
        return self("Clip", x, self.constant(np.float32(0)), self.constant(np.float32(6)))

    def norm(self, x, name):
        return self("LayerNormalization", x, self.weight(name + ".weight"), self.weight(name + ".bias"), axis=-1, epsilon=1e-12)


def mlp(g, x):
    return g.linear(g("Relu", g.linear(g("Relu", g.linear(x, "first")), "second")), "last")


def digits(g, x):
    for name in ("conv1", "conv2"):
        x = g.pool(g("Relu", g.convolution(x, name, None)), 2, 2)
    return g.linear(g("Relu", g.linear(g("Flatten", x), "dense")), "head")


def mobilenet_v2(g, x):
    x = g.relu6(g.convolution(x, "conv1", "bn1", stride=2))
    stages = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    width, number = 32, 0
    for factor, out, count, stride in stages:
        for i in range(count):
            at, y = f"blocks.{number}.", x
            if factor != 1:
                y = g.relu6(g.convolution(y, at + "wider.0", at + "wider.1"))
            step = stride if i == 0 else 1
            y = g.relu6(g.convolution(y, at + "depthwise", at + "norm1", stride=step, groups=width * factor))
            y = g.convolution(y, at + "narrower", at + "norm2")
            x = g("Add", x, y) if step == 1 and width == out else y
            width, number = out, number + 1
    x = g("GlobalAveragePool", g.relu6(g.convolution(x, "conv2", "bn2")))
    return g.linear(g("Flatten", x), "fc")


def resnet50(g, x):
    x = g.pool(g("Relu", g.convolution(x, "conv1", "bn1", stride=2)), 3, 2, 1)
    for stage, count in enumerate((3, 4, 6, 3)):
        for i in range(count):
            at, stride = f"layer{stage + 1}.{i}.", 2 if i == 0 and stage > 0 else 1
            y = g("Relu", g.convolution(x, at + "conv1", at + "bn1"))
            y = g("Relu", g.convolution(y, at + "conv2", at + "bn2", stride=stride))
            y = g.convolution(y, at + "conv3", at + "bn3")
            if i == 0:
                x = g.convolution(x, at + "downsample.0", at + "downsample.1", stride=stride)
            x = g("Relu", g("Add", y, x))
    return g.linear(g("Flatten", g("GlobalAveragePool", x)), "fc")


def bert_base(g, x):
    length, heads, width = 128, 12, 768
    places = g.constant(np.ascontiguousarray(g.state["embeddings.position_embeddings.weight"][None, :length]))
    kind = g.constant(np.ascontiguousarray(g.state["embeddings.token_type_embeddings.weight"][0]))
    words = g("Gather", g.weight("embeddings.word_embeddings.weight"), x)
    x = g.norm(g("Add", g("Add", words, places), kind), "embeddings.LayerNorm")
    by_head = g.constant(np.array([1, length, heads, width // heads], np.int64))
    whole = g.constant(np.array([1, length, width], np.int64))
    for layer in range(12):
        at = f"encoder.layer.{layer}."
        q, k, v = (
            g("Transpose", g("Reshape", g.dense(x, at + "attention.self." + name), by_head), perm=order)
            for name, order in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3]))
        )
        scores = g("Div", g("MatMul", q, k), g.constant(np.float32((width // heads) ** 0.5)))
        y = g("MatMul", g("Softmax", scores, axis=-1), v)
        y = g("Reshape", g("Transpose", y, perm=[0, 2, 1, 3]), whole)
        x = g.norm(g("Add", g.dense(y, at + "attention.output.dense"), x), at + "attention.output.LayerNorm")
        y = g.dense(x, at + "intermediate.dense")
        cdf = g("Add", g("Erf", g("Div", y, g.constant(np.float32(2**0.5)))), g.constant(np.float32(1)))
        y = g("Mul", g("Mul", y, cdf), g.constant(np.float32(0.5)))
        x = g.norm(g("Add", g.dense(y, at + "output.dense"), x), at + "output.LayerNorm")
    return x


def session(name, state, folder):
    g = Graph(state)
    result = globals()[name](g, "input")
    kind = TensorProto.INT64 if state["input"].dtype == np.int64 else TensorProto.FLOAT
    graph = helper.make_graph(
        g.nodes,
        name,
        [helper.make_tensor_value_info("input", kind, state["input"].shape)],
        [helper.make_tensor_value_info(result, TensorProto.FLOAT, state["output"].shape)],
        [numpy_helper.from_array(np.ascontiguousarray(value), key) for key, value in g.weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = folder / (name + ".onnx")
    onnx.save(model, path)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def seconds_of_call(run, seconds):
    """As in bench/inference.cpp."""

    def sample(calls):
        begin = time.process_time_ns()
        for _ in range(calls):
            run()
        return (time.process_time_ns() - begin) * 1e-9 / calls

    run()
    calls = int(min(max(2e-4 / sample(1), 1), 1000))
    times, spent = [], 0.0
    while spent < seconds or len(times) < 3:
        times.append(sample(calls))
        spent += times[-1] * calls
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bench")
    parser.add_argument("nets", nargs="*", default=NETS)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as at:
        folder = pathlib.Path(at)
        subprocess.run([options.bench, "write", at], check=True)
        served = subprocess.Popen([options.bench, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        print(f"onnxruntime {onnxruntime.__version__}, one thread, {options.rounds} slices of {options.seconds} s of each in turn", flush=True)
        for name in options.nets or NETS:
            state = read_safetensors(folder / (name + ".safetensors"))
            theirs = session(name, state, folder)
            feed = {"input": state["input"]}
            answer = theirs.run(None, feed)[0]
            error = np.abs(answer - state["output"]).max() / np.abs(answer).max()
            assert error < 1e-4, f"{name}: answers differ by {error} of the largest"
            pairs = []
            for _ in range(options.rounds + 1):
                served.stdin.write(f"{name} {options.seconds}\n")
                served.stdin.flush()
                ours = float(served.stdout.readline())
                pairs.append((ours, seconds_of_call(lambda: theirs.run(None, feed), options.seconds)))
            ours, peer = (statistics.median(times) * 1e3 for times in zip(*pairs[1:]))
            ratio = statistics.median(b / a for a, b in pairs[1:])
            print(f"{name:14s} tegula {ours:9.4f} ms  onnxruntime {peer:9.4f} ms  ratio {ratio:5.2f}  difference {error:.1e}", flush=True)
        served.stdin.close()
        served.wait()


if __name__ == "__main__":
    main()
