#!/usr/bin/env python3
"""Random ONNX models beside onnxruntime: single operators, and small networks of them.

Writes cases as ONNX's backend suite has them (model.onnx, test_data_set_0/{input,output}_N.pb) whose results onnxruntime gives, and lets test_onnx run them, plainly and
in a jit-ed function. Needs the packages onnx and onnxruntime; without them it ends with 77 (skipped).
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

OPSET = 21
TYPES = {"f32": (TensorProto.FLOAT, numpy.float32), "f64": (TensorProto.DOUBLE, numpy.float64), "i64": (TensorProto.INT64, numpy.int64),
         "i32": (TensorProto.INT32, numpy.int32), "i8": (TensorProto.INT8, numpy.int8), "u8": (TensorProto.UINT8, numpy.uint8),
         "bool": (TensorProto.BOOL, numpy.bool_)}


class Case:
    """A model under construction: inputs with values, constants, nodes."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.numpy = numpy.random.default_rng(seed)
        self.inputs, self.constants, self.nodes, self.outputs = {}, {}, [], []

    def pick(self, *choices):
        return self.random.choice(choices)

    def shape(self, rank, low=1, high=6):
        return [self.random.randint(low, high) for _ in range(rank)]

    def values(self, shape, dtype="f32", low=-2.0, high=2.0):
        kind = TYPES[dtype][1]
        if dtype == "bool":
            return self.numpy.integers(0, 2, shape).astype(kind)
        if dtype in ("f32", "f64"):
            return self.numpy.uniform(low, high, shape).astype(kind)
        return self.numpy.integers(int(low) if dtype[0] != "u" else max(int(low), 0), int(high) + 1, shape).astype(kind)

    def input(self, shape, dtype="f32", low=-2.0, high=2.0):
        name = f"x{len(self.inputs)}"
        self.inputs[name] = self.values(shape, dtype, low, high)
        return name

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants[name] = numpy.asarray(value)
        return name

    def add(self, kind, inputs, results=1, **attributes):
        names = [f"t{len(self.nodes)}_{i}" for i in range(results)]
        self.nodes.append(helper.make_node(kind, inputs, names, f"{kind}_{len(self.nodes)}", **attributes))
        self.outputs = names
        return names[0]

    def model(self):
        kinds = {kind: number for number, kind in TYPES.values()}
        inputs = [helper.make_tensor_value_info(n, kinds[v.dtype.type], v.shape) for n, v in self.inputs.items()]
        constants = [numpy_helper.from_array(v, n) for n, v in self.constants.items()]
        outputs = [onnx.ValueInfoProto(name=n) for n in self.outputs]
        graph = helper.make_graph(self.nodes, "graph", inputs, outputs, constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
        return onnx.shape_inference.infer_shapes(model)


UNARY = {"Abs": 2, "Neg": 2, "Exp": 2, "Log": 0, "Sqrt": 0, "Sin": 2, "Cos": 2, "Tan": 1, "Tanh": 2, "Sigmoid": 4, "Relu": 2, "Floor": 5, "Ceil": 5, "Round": 5, "Erf": 2,
         "Softplus": 5, "Softsign": 3, "Elu": 3, "Selu": 3, "Celu": 3, "LeakyRelu": 3, "HardSigmoid": 5, "HardSwish": 5, "Mish": 4, "Gelu": 4, "Sign": 2, "Reciprocal": 0,
         "Atan": 2, "Sinh": 2, "Asinh": 3, "ThresholdedRelu": 3, "Identity": 2}


def unary(c):
    kind = c.pick(*UNARY)
    low, high = (0.1, 3) if UNARY[kind] == 0 else (-UNARY[kind], UNARY[kind])
    c.add(kind, [c.input(c.shape(c.random.randint(0, 4)), "f32", low, high)])


def binary(c):
    dtype = c.pick("f32", "f32", "i32", "i64")
    shape = c.shape(c.random.randint(1, 4))
    other = [1 if c.random.random() < 0.3 else n for n in shape][c.random.randint(0, len(shape) - 1):]
    a, b = c.input(shape, dtype, -9, 9), c.input(other, dtype, 1, 9)
    kind = c.pick("Add", "Sub", "Mul", "Div", "Max", "Min", "Greater", "Less", "Equal", "LessOrEqual", "Mod")
    c.add(kind, [a, b], **({"fmod": 1} if kind == "Mod" and dtype == "f32" else {}))


def reduction(c):
    shape = c.shape(c.random.randint(1, 4))
    axes = sorted(c.random.sample(range(len(shape)), c.random.randint(1, len(shape))))
    kind = c.pick("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceSumSquare")
    c.add(kind, [c.input(shape), c.constant(numpy.array(axes, numpy.int64))], keepdims=c.pick(0, 1))


def softmax(c):
    shape = c.shape(c.random.randint(1, 4))
    c.add(c.pick("Softmax", "LogSoftmax", "Hardmax"), [c.input(shape)], axis=c.random.randint(-len(shape), len(shape) - 1))


def window(c, axes, transposed=False):
    size = c.shape(axes, 1, 3)
    out = {"kernel_shape": size, "strides": c.shape(axes, 1, 3)}
    if c.random.random() < 0.3 and not transposed:
        out["auto_pad"] = c.pick("SAME_UPPER", "SAME_LOWER", "VALID")
    else:
        out["pads"] = [c.random.randint(0, (n - 1) // 2) for n in size * 2]
    return out


def convolution(c):
    axes, groups = c.random.randint(1, 3), c.pick(1, 1, 2)
    i, o = groups * c.random.randint(1, 3), groups * c.random.randint(1, 3)
    options = window(c, axes)
    if "auto_pad" not in options:
        options["dilations"] = c.shape(axes, 1, 2)
    x = c.input([c.random.randint(1, 2), i] + c.shape(axes, 5, 9))
    weights = [c.constant(c.values([o, i // groups] + options["kernel_shape"]))]
    if c.random.random() < 0.5:
        weights.append(c.constant(c.values([o])))
    c.add("Conv", [x] + weights, group=groups, **options)


def transposed(c):
    axes = c.random.randint(1, 2)
    options = window(c, axes, True)
    i, o = c.random.randint(1, 3), c.random.randint(1, 3)
    options["output_padding"] = [c.random.randint(0, n - 1) for n in options["strides"]]
    c.add("ConvTranspose", [c.input([1, i] + c.shape(axes, 3, 6)), c.constant(c.values([i, o] + options["kernel_shape"]))], **options)


def pooling(c):
    axes = c.random.randint(1, 3)
    options = window(c, axes)
    kind = c.pick("MaxPool", "MaxPool", "AveragePool", "LpPool")
    if "auto_pad" not in options and kind != "LpPool":
        options["ceil_mode"] = c.pick(0, 1)
    if kind == "AveragePool":
        options["count_include_pad"] = c.pick(0, 1)
    if "auto_pad" not in options and c.random.random() < 0.4:
        options["dilations"] = c.shape(axes, 1, 2)
        options["pads"] = [c.random.randint(0, n - 1) for n in options["kernel_shape"] * 2]  # more than half a window, too
    if kind == "MaxPool" and c.random.random() < 0.3:
        options["storage_order"] = c.pick(0, 1)
    dtype = c.pick("f32", "f32", "f32", "i8", "u8") if kind == "MaxPool" else "f32"
    c.add(kind, [c.input([c.pick(1, 2), 2] + c.shape(axes, 5, 9), dtype)], 2 if kind == "MaxPool" and c.random.random() < 0.4 else 1, **options)


def columns(c):
    axes = c.random.randint(1, 3)
    image, block = c.shape(axes, 3, 6), c.shape(axes, 1, 3)
    strides, pads = [c.random.randint(1, 2) for _ in range(axes)], [c.random.randint(0, 1) for _ in range(2 * axes)]
    dilations = [c.random.randint(1, 2) if axes == 2 else 1 for _ in range(axes)]  # else onnxruntime 1.32 does not see them
    places = [(image[i] + pads[i] + pads[axes + i] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1 for i in range(axes)]
    if min(places) < 1:
        dilations, places = [1] * axes, [(image[i] + pads[i] + pads[axes + i] - block[i]) // strides[i] + 1 for i in range(axes)]
    x = c.input([c.pick(1, 2), 2 * int(numpy.prod(block)), int(numpy.prod(places))])
    sizes = [c.constant(numpy.array(one, numpy.int64)) for one in (image, block)]
    c.add("Col2Im", [x, *sizes], strides=strides, pads=pads, dilations=dilations)


def resize(c):
    mode = c.pick("nearest", "linear", "cubic")
    options = {"mode": mode, "coordinate_transformation_mode": c.pick("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")}
    if mode == "nearest":
        options["nearest_mode"] = c.pick("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    x = c.input([1, 2] + c.shape(2, 3, 7))
    sizes = numpy.array(list(c.inputs[x].shape[:2]) + c.shape(2, 2, 12), numpy.int64)
    # A place that is an element's own (4.5 * 7 / 9 - 0.5 = 3) falls below it in onnxruntime's f32; floor and ceil then take the neighbour. The reference evaluator does not.
    if options.get("nearest_mode") in ("floor", "ceil") and options["coordinate_transformation_mode"].endswith("half_pixel"):
        for old, new in zip(c.inputs[x].shape[2:], sizes[2:]):
            if any(((2 * i + 1) * old - new) % (2 * int(new)) == 0 for i in range(int(new))) and old % new and new % old:
                options["nearest_mode"] = "round_prefer_floor"
    c.add("Resize", [x, "", "", c.constant(sizes)], **options)


def movement(c):
    shape = c.shape(c.random.randint(1, 4), 2, 6)
    x, rank = c.input(shape, c.pick("f32", "i64")), len(shape)
    kind = c.pick("Transpose", "Slice", "Pad", "Concat", "Split", "Tile", "Gather", "GatherElements", "ScatterElements", "Flatten", "CumSum", "Expand")
    axis = c.random.randint(0, rank - 1)
    if kind == "Transpose":
        c.add(kind, [x], perm=c.random.sample(range(rank), rank))
    elif kind == "Slice":
        step = c.pick(1, 2, -1, -2)
        ends = [c.random.randint(-8, 8), c.random.randint(-8, 8)]
        c.add(kind, [x] + [c.constant(numpy.array([n], numpy.int64)) for n in (*ends, axis, step)])
    elif kind == "Pad":
        pads = numpy.array(c.shape(2 * rank, 0, 1), numpy.int64)
        c.add(kind, [x, c.constant(pads)], mode=c.pick("constant", "edge", "reflect"))
    elif kind == "Concat":
        c.add(kind, [x, x], axis=axis)
    elif kind == "Split":
        c.add(kind, [x], min(2, shape[axis]), axis=axis, num_outputs=min(2, shape[axis]))
    elif kind == "Tile":
        c.add(kind, [x, c.constant(numpy.array(c.shape(rank, 1, 3), numpy.int64))])
    elif kind == "Gather":
        c.add(kind, [x, c.input(c.shape(c.random.randint(0, 2)), "i64", -shape[axis], shape[axis] - 1)], axis=axis)
    elif kind == "GatherElements":
        c.add(kind, [x, c.input(shape, "i64", -shape[axis], shape[axis] - 1)], axis=axis)
    elif kind == "ScatterElements":
        index = c.input(shape, "i64")
        c.inputs[index] = numpy.argsort(c.numpy.random(shape), axis).astype(numpy.int64)
        c.add(kind, [x, index, c.input(shape, {"float32": "f32", "int64": "i64"}[c.inputs[x].dtype.name])], axis=axis, reduction=c.pick("none", "add", "mul", "max", "min"))
    elif kind == "CumSum":
        c.add(kind, [x, c.constant(numpy.array(axis, numpy.int64))], exclusive=c.pick(0, 1), reverse=c.pick(0, 1))
    elif kind == "Expand":
        c.add(kind, [x, c.constant(numpy.array([2] + shape, numpy.int64))])
    else:
        c.add(kind, [x], axis=c.random.randint(0, rank))


def product(c):
    m, k, n = c.shape(3)
    if c.random.random() < 0.5:
        front = c.shape(c.random.randint(0, 2), 1, 3)
        c.add("MatMul", [c.input(front + [m, k]), c.input(front + [k, n])])
    else:
        a, b = c.pick(0, 1), c.pick(0, 1)
        c.add("Gemm", [c.input([k, m] if a else [m, k]), c.input([n, k] if b else [k, n]), c.input(c.pick([n], [1, n], [m, 1], [m, n]))],
              transA=a, transB=b, alpha=c.pick(1.0, 0.5), beta=c.pick(1.0, 2.0))


def normalization(c):
    x = c.input([2, 4] + c.shape(c.random.randint(1, 2), 2, 5))
    channels = [c.constant(c.values([4])) for _ in range(2)]
    kind = c.pick("BatchNormalization", "InstanceNormalization", "LayerNormalization", "LRN")
    if kind == "BatchNormalization":
        c.add(kind, [x] + channels + [c.constant(c.values([4])), c.constant(c.values([4], "f32", 0.5, 2))], epsilon=c.pick(1e-5, 1e-3))
    elif kind == "InstanceNormalization":
        c.add(kind, [x] + channels)
    elif kind == "LRN":
        c.add(kind, [x], size=c.pick(1, 3, 5))
    else:
        last = c.inputs[x].shape[-1]
        c.add(kind, [x, c.constant(c.values([last])), c.constant(c.values([last]))])


def recurrent(c):
    kind = c.pick("RNN", "GRU", "LSTM")
    gates, t, b, i, h = {"RNN": 1, "GRU": 3, "LSTM": 4}[kind], *c.shape(4, 1, 4)
    direction = c.pick("forward", "reverse", "bidirectional")
    d = 2 if direction == "bidirectional" else 1
    weights = [c.constant(c.values(s, "f32", -1, 1)) for s in ([d, gates * h, i], [d, gates * h, h], [d, 2 * gates * h])]
    options = {"linear_before_reset": c.pick(0, 1)} if kind == "GRU" else {}
    if c.random.random() < 0.3:
        options["clip"] = 0.5
    x = [c.input([t, b, i])] + weights
    if c.random.random() < 0.6:
        x.append(c.input([b], "i32", 1, t) if c.random.random() < 0.7 else "")
        x.append(c.input([d, b, h]))
        if kind == "LSTM":
            x += [c.input([d, b, h])] + ([c.constant(c.values([d, 3 * h]))] if c.random.random() < 0.5 else [])
    c.add(kind, x, 3 if kind == "LSTM" else 2, hidden_size=h, direction=direction, **options)


def lookup(c):
    shape = c.shape(c.random.randint(2, 4), 2, 5)
    rank, x = len(shape), c.input(shape)
    kind = c.pick("GatherND", "ScatterND", "OneHot", "ReverseSequence", "Trilu", "Where", "DepthToSpace", "SpaceToDepth", "Einsum", "NonZero", "Compress", "Unique")
    if kind in ("GatherND", "ScatterND"):
        k = c.random.randint(1, rank)
        index = numpy.stack([c.numpy.integers(-n, n, 4) for n in shape[:k]], 1)
        if kind == "GatherND":
            return c.add(kind, [x, c.constant(index)])
        index = numpy.unique(index % numpy.array(shape[:k]), axis=0)
        return c.add(kind, [x, c.constant(index), c.input([len(index)] + shape[k:])], reduction=c.pick("none", "add", "mul", "max", "min"))
    if kind == "OneHot":
        return c.add(kind, [c.input(shape, "i64", -6, 6), c.constant(numpy.int64(5)), c.constant(numpy.array([2, 7], numpy.float32))], axis=c.random.randint(-rank - 1, rank))
    if kind == "ReverseSequence":
        return c.add(kind, [x, c.input([shape[1]], "i64", 1, shape[0])])
    if kind == "Trilu":
        return c.add(kind, [x, c.constant(numpy.int64(c.random.randint(-3, 3)))], upper=c.pick(0, 1))
    if kind == "Where":
        return c.add(kind, [c.input(shape[1:], "bool"), x, c.input([1] * rank)])
    if kind in ("DepthToSpace", "SpaceToDepth"):
        return c.add(kind, [c.input([2, 8, 4, 6])], blocksize=2, **({"mode": c.pick("DCR", "CRD")} if kind == "DepthToSpace" else {}))
    if kind == "Einsum":
        return c.add(kind, [c.input([2, 3, 4]), c.input([2, 4, 5])], equation=c.pick("bij,bjk->bik", "bij,bjk->ki", "...ij,...jk", "bij,bjk->b"))
    if kind == "NonZero":
        return c.add(kind, [c.input(shape, "i64", 0, 1)])
    if kind == "Compress":
        return c.add(kind, [x, c.constant(c.values([shape[0]], "bool"))], axis=0)
    return c.add(kind, [c.input([8], "i64", 0, 4)], 4, sorted=c.pick(0, 1))


def sampling(c):
    n, h, w = 2, *c.shape(2, 3, 6)
    mode = c.pick("linear", "nearest", "cubic")
    c.add("GridSample", [c.input([n, 2, h, w]), c.input([n, 4, 3, 2], "f32", -1.3, 1.3)], mode=mode, padding_mode=c.pick("zeros", "border", "reflection"),
          align_corners=c.pick(0, 1))


def quantized(c):
    kind = c.pick("u8", "i8")
    scale, zero = c.constant(numpy.float32(c.random.uniform(0.01, 0.1))), c.constant(numpy.array(c.random.randint(0, 5), TYPES[kind][1]))
    q = c.add("QuantizeLinear", [c.input(c.shape(3)), scale, zero])
    if c.random.random() < 0.5:
        c.add("DequantizeLinear", [q, scale, zero])


def cast(c):
    c.add("Cast", [c.input(c.shape(2), c.pick("f32", "i64", "i32", "bool"), 0, 100)], to=TYPES[c.pick("f32", "f64", "i64", "i32", "u8", "bool")][0])


def order(c):
    shape = c.shape(c.random.randint(1, 3), 2, 6)
    axis = c.random.randint(0, len(shape) - 1)
    if c.random.random() < 0.5:
        c.add("TopK", [c.input(shape), c.constant(numpy.array([c.random.randint(1, shape[axis])], numpy.int64))], 2, axis=axis, largest=c.pick(0, 1))
    else:
        c.add(c.pick("ArgMax", "ArgMin"), [c.input(shape, "f32")], axis=axis, keepdims=c.pick(0, 1), select_last_index=c.pick(0, 1))


def network(c):
    """A small net of images: convolutions, normalisations, residuals, pools, a head."""
    channels = c.random.randint(2, 4)
    x = c.input([c.random.randint(1, 2), channels, 8, 8])
    for _ in range(c.random.randint(2, 6)):
        step = c.pick("conv", "residual", "norm", "activation", "pool", "resize", "gate", "concat", "shape")
        if step in ("conv", "residual"):
            y = c.add("Conv", [x, c.constant(c.values([channels, channels, 3, 3], "f32", -0.5, 0.5)), c.constant(c.values([channels]))], pads=[1, 1, 1, 1])
            x = c.add("Add", [x, c.add("Relu", [y])]) if step == "residual" else y
        elif step == "norm":
            x = c.add("BatchNormalization", [x] + [c.constant(c.values([channels], "f32", 0.5, 1.5)) for _ in range(4)])
        elif step == "activation":
            x = c.add(c.pick("Relu", "Sigmoid", "Tanh", "HardSwish", "LeakyRelu"), [x])
        elif step == "pool":
            x = c.add(c.pick("MaxPool", "AveragePool"), [x], kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        elif step == "resize":
            x = c.add("AveragePool", [c.add("Resize", [x, "", c.constant(numpy.array([1, 1, 2, 2], numpy.float32))], mode="nearest")], kernel_shape=[2, 2], strides=[2, 2])
        elif step == "gate":
            x = c.add("Mul", [x, c.add("Sigmoid", [c.add("GlobalAveragePool", [x])])])
        elif step == "concat":
            both = c.add("Concat", [x, x], axis=1)
            x = c.add("Conv", [both, c.constant(c.values([channels, 2 * channels, 1, 1], "f32", -0.5, 0.5))])
        else:
            batch = c.add("Gather", [c.add("Shape", [x]), c.constant(numpy.array([0], numpy.int64))])
            rest = c.constant(numpy.array([channels, 8, 8], numpy.int64))
            x = c.add("Reshape", [c.add("Transpose", [x], perm=[0, 1, 3, 2]), c.add("Concat", [batch, rest], axis=0)])
    flat = c.add("Flatten", [c.add("GlobalAveragePool", [x])])
    c.add("Softmax", [c.add("Gemm", [flat, c.constant(c.values([3, channels])), c.constant(c.values([3]))], transB=1)])


FAMILIES = (unary, unary, binary, binary, reduction, softmax, convolution, transposed, pooling, pooling, columns, resize, movement, movement, product, normalization, recurrent, quantized,
            cast, order, lookup, lookup, sampling)


def write(folder, case):
    """The case with onnxruntime's results; False where onnxruntime does not take it."""
    model = case.model()
    try:
        options = onnxruntime.SessionOptions()
        options.log_severity_level, options.intra_op_num_threads = 4, 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        results = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"]).run(None, case.inputs)
    except Exception:  # noqa: BLE001: its own errors have many types
        return False
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(model, folder / "model.onnx")
    for kind, values in (("input", case.inputs.values()), ("output", results)):
        for i, value in enumerate(values):
            (data / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(numpy.asarray(value)).SerializeToString())
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--driver", required=True, help="the program test_onnx")
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--networks", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        written = 0
        for i in range(options.cases + options.networks):
            seed = options.seed * 1_000_003 + i
            case = Case(seed)
            # The family is drawn apart from the case: of one seed both would begin with the same number.
            (random.Random(f"family {seed}").choice(FAMILIES) if i < options.cases else network)(case)
            written += write(Path(folder) / f"{seed}_{case.nodes[-1].op_type}", case)
        environment = os.environ | {"TEGULA_ONNX_CASES": folder}
        ran = subprocess.run([options.driver, "--gtest_filter=Suite.CasesOfAFolder*", "--gtest_brief=1"], env=environment)
        print(f"{written} models of {options.cases + options.networks}; onnxruntime refuses the others")
    return ran.returncode


if __name__ == "__main__":
    sys.exit(main())
