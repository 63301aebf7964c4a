#!/usr/bin/env python3
"""Tegula against PyTorch: random calls of the public functions, their values, gradients and second gradients.

  scripts/differential.py --driver build/release/tests/differential --cases 20000 --seed 7 [--only softmax,pow] [--family loop,rnn] [--modes plain,vars]

Each case runs in one of the modes: plain; jit; vars, a jit that reads its inputs from Variables; each of them strided or not: inputs lie transposed, with gaps,
flipped, or in rows far from each other, else mostly dense. PyTorch computes it in f64 from the same values (what jumps:
in the inputs' own dtype); the error allowed is a multiple of the dtype's epsilon and of the largest value. Prints each disagreement with what repeats it,
then what is covered. Without PyTorch it says so and ends with 77; $TEGULA_TORCH_PYTHON names a Python that has it. Intended differences: docs/differences.md.
"""
import argparse
import collections
import json
import os
import subprocess
import sys

try:
    import torch
except ImportError:
    other = os.environ.get("TEGULA_TORCH_PYTHON")
    if other and os.environ.get("TEGULA_TORCH_TRIED") != "1" and os.path.exists(other):
        os.execve(other, [other, *sys.argv], {**os.environ, "TEGULA_TORCH_TRIED": "1"})
    print("skipped: no PyTorch")
    sys.exit(77)

import differential_attention
import differential_images
import differential_linalg
import differential_networks
import differential_programs
import differential_rows
import differential_sequences
import differential_shapes
from differential_cases import ELEMENTWISE, NAMES, TORCH, Draw

CASES = {**ELEMENTWISE, **differential_shapes.CASES, **differential_networks.CASES, **differential_images.CASES, **differential_attention.CASES, **differential_linalg.CASES, **differential_rows.CASES,
         **differential_sequences.CASES, **differential_programs.CASES}
# Functions that hold much between them, and programs of such.
FAMILIES = {
    "attention": ["scaled_dot_product_attention", "masked_softmax", "nn.MultiheadAttention", "nn.TransformerEncoder", "nn.TransformerDecoder", "program.attention",
                  "program.attention"],
    "rnn": ["nn.RNN", "nn.LSTM", "nn.GRU", "nn.RNNCell", "nn.LSTMCell", "nn.GRUCell"],
    "loop": ["scan", "program.loop", "program.loop", "program.loop"],
    "place": ["dynamic_slice", "update_slice", "program.place", "program.place", "program.place"],
    "image": ["interpolate", "grid_sample", "affine_grid", "unfold", "fold", "program.image", "program.image", "program.image"],
    "linear": ["einsum", "matmul", "program.linear", "program.linear", "program.linear"],
    "wide": ["program.wide"],
    "linalg": ["solve", "inverse", "det", "slogdet", "lu", "lu_solve", "cholesky", "cholesky_solve", "triangular_solve", "qr", "lstsq", "eigh", "eigvalsh", "eig", "svd", "svdvals",
               "pinv", "matrix_rank", "matrix_norm", "cond", "trace", "kron", "matrix_power", "matrix_exp"],
    "signal": ["fft", "ifft", "rfft", "irfft", "stft", "istft", "window", "convolve"],
    "rows": ["segment_sum", "segment_mean", "segment_max", "segment_softmax", "segment_take", "sparse_matmul", "sparse_csr", "embedding_bag"],
    "boxes": ["box_iou", "box_convert", "box_area", "clip_boxes", "encode_boxes", "decode_boxes", "nms", "roi_align", "roi_pool", "sigmoid_focal_loss", "dice_loss"],
}
MODES = ["plain", "jit", "vars"]
VIEWS = {"strided": ["transposed", "strided", "flipped", "wide"], "mostly dense": ["dense", "dense", "transposed", "strided", "flipped"]}
EPSILON = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}

# Public functions of tegula.h that have no counterpart here, and why.
NOT_COVERED = {
    "random": "uniform normal truncated_normal exponential randint bernoulli permutation shuffle random_bits multinomial: other numbers by design; tests/ops/random_test.cpp",
    "dropout > 0": "in attention, too; dropout dropout_channels stochastic_depth alpha_dropout: other masks by design; tests/ops/random_test.cpp",
    "round_e4m3": "PyTorch has the dtype, not the shared scale; tests/ops/e4m3_test.cpp",
    "conv2d_with": "compared with conv2d in tests/ops/products/convolution_test.cpp",
    "Lion, LARS, LAMB, LossScaler, CosineLR's warmup, LambdaLR, RuleLR": "not in PyTorch, or functions of the user; tests/optim",
    "jit, grad, checkpoint, custom_function": "modes and machinery: every case runs through grad, two of three through jit",
    "iota": "arange in tests/ops",
    "init": "random; tests/nn/init_test.cpp",
}


def to_hex(x):
    return x.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes().hex() if x.numel() else ""


def from_json(value):
    x = torch.frombuffer(bytearray(bytes.fromhex(value["data"])), dtype=TORCH[value["dtype"]]) if value["data"] else torch.empty(0, dtype=TORCH[value["dtype"]])
    return x.reshape(value["shape"])


def weights_like(x, salt):
    i = torch.arange(x.numel()).reshape(x.shape)
    return (torch.remainder(i * 7 + 3 + salt, 11) - 5).to(x.dtype) * 0.25


def objective(values, salt):
    parts = [(v * weights_like(v, salt + k)).sum().to(torch.float64) for k, v in enumerate(values) if v.is_floating_point()]
    return sum(parts) if parts else None


def gradients(total, targets, again):
    if total is None or not total.requires_grad:
        return [torch.zeros_like(t) for t in targets]
    found = torch.autograd.grad(total, targets, create_graph=again, allow_unused=True)
    return [torch.zeros_like(t) if g is None else g for g, t in zip(found, targets)]


def expected(case, wide):
    """Outputs, first and second gradients by PyTorch."""
    inputs = [x.to(torch.float64).clone() if wide and x.is_floating_point() else x.clone() for x in case.inputs]
    if case.order:
        for i in case.wanted:
            inputs[i].requires_grad_(True)
    outputs = case.reference(*inputs)
    outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    targets = [inputs[i] for i in case.wanted]
    first = gradients(objective(outputs, 0), targets, case.order > 1) if case.order else []
    second = gradients(objective(first, 5), targets, False) if case.order > 1 else []
    return [[x.detach() for x in part] for part in (outputs, first, second)]


def difference(got, want, factor):
    """What is wrong with a tensor, or nothing."""
    if list(got.shape) != list(want.shape):
        return f"shape {list(got.shape)}, expected {list(want.shape)}"
    if not got.is_floating_point():
        wrong = got.to(torch.int64) != want.to(torch.int64) if not want.is_floating_point() else got.to(torch.float64) != want
        if not bool(wrong.any()):
            return ""
        at = tuple(wrong.nonzero()[0].tolist())
        return f"{int(wrong.sum())} elements, first at {at}: {got[at].item()}, expected {want[at].item()}"
    a, b = got.to(torch.float64), want.to(got.dtype).to(torch.float64)
    exact = want.to(torch.float64)
    finite = exact[torch.isfinite(exact)]
    scale = max(1.0, float(finite.abs().max()) if finite.numel() else 1.0)
    allowed = factor * EPSILON[NAMES[got.dtype]] * scale
    same = (a == b) | (torch.isnan(a) & torch.isnan(b)) | ((a - exact).abs() <= allowed)
    near_limit = got.dtype == torch.float16  # rounding decides between the largest half and infinity
    if near_limit:
        same |= torch.isinf(a) & (exact.abs() > 65000) | torch.isinf(b) & (a.abs() > 65000)
    if bool(same.all()):
        return ""
    at = tuple((~same).nonzero()[0].tolist())
    return f"{int((~same).sum())} of {same.numel()} elements, first at {at}: {a[at].item()!r}, expected {exact[at].item()!r} (allowed {allowed:.3g})"


def request(case, mode):
    inputs = [{"dtype": NAMES[x.dtype], "shape": list(x.shape), "view": view, "data": to_hex(x), "wanted": i in case.wanted}
              for i, (x, view) in enumerate(zip(case.inputs, case.views))]
    return {"op": case.op, "mode": mode, "order": case.order, "attributes": case.attributes, "inputs": inputs}


def describe(case, mode, number):
    inputs = ", ".join(f"{NAMES[x.dtype]}{list(x.shape)} {view}" for x, view in zip(case.inputs, case.views))
    return f"case {number}: {case.op}({inputs}) {case.attributes} {mode}, order {case.order}"


def judge(case, answer, counts):
    """What is wrong, or nothing."""
    if "failure" in answer:
        return "threw something else than an Error: " + answer["failure"]
    try:
        wide = not case.native
        outputs, first, second = expected(case, wide)
    except (RuntimeError, NotImplementedError, IndexError, ValueError) as error:
        counts["not by PyTorch"] += 1
        return "" if "error" in answer or True else str(error)
    if "error" in answer:
        if case.refuses:
            counts["refused"] += 1
            return ""
        return "Error: " + answer["error"].splitlines()[0]
    try:  # dtypes are those of PyTorch's own result
        plain = case.reference(*[x.clone() for x in case.inputs])
        dtypes = [x.dtype for x in (plain if isinstance(plain, (list, tuple)) else [plain])]
    except (RuntimeError, NotImplementedError):
        dtypes = None
    got = {part: [from_json(value) for value in answer[part]] for part in ("outputs", "first", "second")}
    if dtypes and [x.dtype for x in got["outputs"]] != dtypes:
        return f"dtypes {[NAMES[x.dtype] for x in got['outputs']]}, expected {[NAMES[d] for d in dtypes]}"
    for part, want, times in (("outputs", outputs, 2), ("first", first, 16), ("second", second, 128)):
        if len(got[part]) != len(want):
            return f"{len(got[part])} {part}, expected {len(want)}"
        for i, (a, b) in enumerate(zip(got[part], want)):
            counts["comparisons"] += 1
            counts[part] += 1
            counts["elements"] += a.numel()
            wrong = difference(a, b, times * case.factor * (1 if part == "outputs" else case.of_gradients))
            if wrong:
                return f"{part}[{i}]: {wrong}"
    return ""


class Driver:
    def __init__(self, path):
        self.path = path
        self.start()

    def start(self):
        self.process = subprocess.Popen([self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        code = self.process.wait()
        self.start()
        return {"failure": f"the driver died with {code}"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", default="build/release/tests/differential")
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="names, separated by commas")
    parser.add_argument("--family", default="", help=f"of {', '.join(FAMILIES)}, separated by commas, or all")
    parser.add_argument("--modes", default="plain,jit,vars,strided", help="which of these are drawn; strided beside one of the others")
    parser.add_argument("--case", type=int, help="this one of the seed alone, with its request printed")
    parser.add_argument("--progress", type=int, help="say how far it is after so many cases each")
    parser.add_argument("--coverage", action="store_true", help="print what is covered, and what not and why")
    options = parser.parse_args()
    torch.set_num_threads(1)
    driver = Driver(options.driver)
    offered = subprocess.run([options.driver, "--list"], capture_output=True, text=True, check=True).stdout.split()
    families = list(FAMILIES) if options.family == "all" else options.family.split(",") if options.family else []
    wanted = [name for family in families for name in FAMILIES[family]] or (options.only.split(",") if options.only else sorted(CASES))
    names = [name for name in wanted if name in CASES and name in offered]
    modes = [mode for mode in MODES if mode in options.modes.split(",")]
    counts, failures = collections.Counter(), collections.Counter()
    for number in [options.case] if options.case is not None else range(options.cases):
        draw = Draw(options.seed * 1_000_003 + number)
        name = names[number % len(names)]
        case = CASES[name](draw, name)
        strided = "strided" in options.modes.split(",") and draw.chance(0.4)
        case.views = [draw.choice(VIEWS["strided" if strided else "mostly dense"]) if x.dim() else "dense" for x in case.inputs]
        mode = "plain" if case.lazy or not case.inputs else draw.choice(modes)
        question = request(case, mode)
        answer = driver.ask(question)
        counts["cases"] += 1
        counts[mode] += 1
        counts["strided"] += strided
        wrong = judge(case, answer, counts)
        if options.case is not None:
            print(json.dumps(question), *case.inputs, json.dumps(answer), *expected(case, not case.native), sep="\n")
        if wrong:
            failures[name] += 1
            if failures[name] <= 3:
                print(f"{describe(case, mode, number)}\n    {wrong}", flush=True)
        if options.progress and counts["cases"] % options.progress == 0:
            print(f"{counts['cases']} cases, {counts['comparisons']} comparisons, {sum(failures.values())} disagreements", file=sys.stderr, flush=True)
    print(", ".join(f"{counts[what]} {what}" for what in ("cases", *MODES, "strided", "comparisons", "elements", "outputs", "first", "second", "refused", "not by PyTorch")))
    print(f"{len(names)} functions of {len(offered)} in the driver" + (f"; without cases: {' '.join(sorted(set(offered) - set(CASES)))}" if set(offered) - set(CASES) else ""))
    if options.coverage:
        print(*names, sep=" ")
        for what, why in NOT_COVERED.items():
            print(f"not covered: {what}: {why}")
    if failures:
        print(f"{sum(failures.values())} disagreements: " + ", ".join(f"{name} {n}" for name, n in failures.most_common()))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
