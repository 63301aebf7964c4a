"""Cases for differential.py: what is drawn for every public function, and what PyTorch calls it."""
import math
import random

import torch
import torch.nn.functional as F

FLOATS = ["f64", "f32", "f16", "bf16"]
INTEGERS = ["i64", "i32", "i16", "i8", "u8"]
EVERYTHING = FLOATS + INTEGERS + ["bool"]
TORCH = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64, "i32": torch.int32,
         "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool}
NAMES = {value: key for key, value in TORCH.items()}


class Case:
    """One call. `reference` gets the inputs as PyTorch tensors. exact: no float arithmetic to round, so compared to the bit."""

    def __init__(self, op, inputs, reference, attributes=None, wanted=None, order=0, factor=1, native=False, refuses=False, lazy=False, of_gradients=1):
        self.op, self.inputs, self.reference, self.attributes = op, inputs, reference, attributes or {}
        floats = [i for i, x in enumerate(inputs) if x.is_floating_point()]
        self.wanted = floats if wanted is None else [i for i in wanted if i in floats]
        self.order = order if self.wanted else 0
        self.factor = factor  # error allowed, times that of an elementwise op
        self.of_gradients = of_gradients  # and of its gradients, times that: their condition, where it is another than the values'
        self.native = native  # PyTorch computes in the inputs' dtype, not in f64: what jumps where rounding decides
        self.refuses = refuses  # Tegula may refuse it
        self.lazy = lazy  # never in a jit: it creates state
        self.views = []


class Draw:
    """Random tensors; everything comes from one seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.generator = torch.Generator().manual_seed(seed)

    def choice(self, items):
        return self.random.choice(items)

    def chance(self, p):
        return self.random.random() < p

    def size(self, least=0):
        return max(least, self.choice([0, 1, 1, 2, 3, 3, 4, 5, 7, 8, 16, 17, 33]))

    def shape(self, least_rank=0, most_rank=4, least=0):
        rank = self.random.randint(least_rank, most_rank)
        return [self.size(least) if rank < 3 else max(least, self.choice([0, 1, 2, 2, 3, 4, 5, 7])) for _ in range(rank)]

    def floats(self):
        return self.choice(["f64", "f32", "f32", "f16", "bf16"])

    def tensor(self, shape, dtype, low=-3.0, high=3.0, special=False):
        kind = TORCH[dtype]
        if dtype == "bool":
            return torch.rand(shape, generator=self.generator) < 0.5
        if not kind.is_floating_point:
            low, high = math.ceil(max(low, 0) if dtype == "u8" else low), math.floor(high)
            return torch.randint(low, high + 1, shape, generator=self.generator).to(kind)
        x = torch.rand(shape, generator=self.generator, dtype=torch.float64) * (high - low) + low
        if self.chance(0.3):  # ties, zeros, kinks
            x = torch.round(x).clamp(math.ceil(low), math.floor(high)) if math.ceil(low) <= math.floor(high) else x
        if special and x.numel() > 0 and self.chance(0.3):
            flat = x.view(-1)
            for value in (math.nan, math.inf, -math.inf, 0.0, -0.0):
                if self.chance(0.5):
                    flat[self.random.randrange(flat.numel())] = value
        return x.to(kind)

    def broadcast_pair(self):
        """Two shapes that broadcast against each other."""
        whole = self.shape(0, 4)
        def part():
            shape = [1 if self.chance(0.25) else size for size in whole]
            return shape[self.random.randint(0, len(shape)):] if self.chance(0.3) else shape
        return (whole, part()) if self.chance(0.5) else (part(), whole)

    def axis(self, rank):
        return self.random.randint(-rank, rank - 1)

    def axes(self, rank):
        return [] if self.chance(0.3) or rank == 0 else [a - (rank if self.chance(0.4) else 0) for a in sorted(self.random.sample(range(rank), self.random.randint(1, rank)))]


def collector():
    """Cases by name, and the decorator that adds a function as the case of some names."""
    cases = {}

    def case_of(*names):
        def note(function):
            cases.update({name: function for name in names})
            return function
        return note
    return cases, case_of


def order_of(draw, dtype, most=2):
    return 0 if dtype not in FLOATS else min(most, 1 if dtype in ("f16", "bf16") else draw.choice([0, 1, 2]))


# ---- Elementwise. name: (torch function, low, high, dtypes, highest order)
SMOOTH = {
    "exp": (torch.exp, -3, 3), "exp2": (torch.exp2, -3, 3), "expm1": (torch.expm1, -3, 3), "log": (torch.log, 0.1, 5), "log2": (torch.log2, 0.1, 5),
    "log10": (torch.log10, 0.1, 5), "log1p": (torch.log1p, -0.8, 5), "sqrt": (torch.sqrt, 0.1, 5), "rsqrt": (torch.rsqrt, 0.1, 5), "sin": (torch.sin, -6, 6),
    "cos": (torch.cos, -6, 6), "tan": (torch.tan, -1.2, 1.2), "asin": (torch.asin, -0.9, 0.9), "acos": (torch.acos, -0.9, 0.9), "atan": (torch.atan, -4, 4),
    "sinh": (torch.sinh, -3, 3), "cosh": (torch.cosh, -3, 3), "tanh": (torch.tanh, -4, 4), "asinh": (torch.asinh, -5, 5), "acosh": (torch.acosh, 1.2, 6),
    "atanh": (torch.atanh, -0.9, 0.9), "deg2rad": (torch.deg2rad, -200, 200), "rad2deg": (torch.rad2deg, -3, 3), "erf": (torch.erf, -3, 3),
    "erfc": (torch.erfc, -3, 3), "erfinv": (torch.erfinv, -0.9, 0.9), "lgamma": (torch.lgamma, 0.5, 6), "digamma": (torch.digamma, 0.5, 6),
    "sigmoid": (torch.sigmoid, -6, 6), "logit": (torch.logit, 0.05, 0.95), "reciprocal": (torch.reciprocal, 0.5, 4),
    "negate": (torch.neg, -5, 5), "square": (torch.square, -5, 5), "abs": (torch.abs, -5, 5), "sign": (torch.sign, -5, 5),
    "floor": (torch.floor, -5, 5), "ceil": (torch.ceil, -5, 5), "round": (torch.round, -5, 5), "trunc": (torch.trunc, -5, 5), "frac": (torch.frac, -5, 5),
    "relu": (F.relu, -3, 3), "relu6": (F.relu6, -3, 9), "selu": (F.selu, -3, 3), "softsign": (F.softsign, -3, 3), "swish": (F.silu, -5, 5), "silu": (F.silu, -5, 5),
    "mish": (F.mish, -5, 5), "log_sigmoid": (F.logsigmoid, -5, 5), "tanhshrink": (F.tanhshrink, -3, 3), "hardsigmoid": (lambda t: F.relu6(t + 3) / 6, -5, 5),
    "hardswish": (F.hardswish, -5, 5)}
CLASSIFIED = {"isnan": torch.isnan, "isinf": torch.isinf, "isfinite": torch.isfinite}
INTEGER_UNARY = {"negate", "square", "abs", "sign", "floor", "ceil", "round", "trunc", "relu"}
DEFAULTS = {"LeakyReLU": F.leaky_relu, "ELU": F.elu, "CELU": F.celu, "GELU": F.gelu, "Softplus": F.softplus, "Hardtanh": F.hardtanh, "Hardshrink": F.hardshrink,
            "Softshrink": F.softshrink}
LAYERS = {"ReLU": "relu", "ReLU6": "relu6", "SELU": "selu", "SiLU": "silu", "Mish": "mish", "Tanh": "tanh", "Sigmoid": "sigmoid", "LogSigmoid": "log_sigmoid",
          "Softsign": "softsign", "Tanhshrink": "tanhshrink", "Hardsigmoid": "hardsigmoid", "Hardswish": "hardswish"}
BINARY = {"add": torch.add, "subtract": torch.sub, "multiply": torch.mul, "divide": torch.true_divide, "minimum": torch.minimum, "maximum": torch.maximum,
          "hypot": torch.hypot, "atan2": torch.atan2, "equal": torch.eq, "not_equal": torch.ne, "less": torch.lt, "less_equal": torch.le,
          "greater": torch.gt, "greater_equal": torch.ge, "logical_and": torch.logical_and, "logical_or": torch.logical_or, "logical_xor": torch.logical_xor}
QUOTIENTS = {"floor_divide": torch.floor_divide, "remainder": torch.remainder, "fmod": torch.fmod}
BITS = {"bitwise_and": torch.bitwise_and, "bitwise_or": torch.bitwise_or, "bitwise_xor": torch.bitwise_xor, "left_shift": torch.bitwise_left_shift,
        "right_shift": torch.bitwise_right_shift}


def unary(draw, name):
    function, low, high = SMOOTH[name]
    dtype = draw.choice(INTEGERS) if name in INTEGER_UNARY and draw.chance(0.2) else draw.floats()
    order = order_of(draw, dtype, {"digamma": 0, "lgamma": 1}.get(name, 2))  # PyTorch's trigamma has nine digits
    x = draw.tensor(draw.shape(), dtype, low, high, special=order == 0 and name != "hardswish")
    if order == 2 and name == "selu":
        x = torch.where(x == 0, torch.ones_like(x), x)  # what the second derivative is at a kink is a convention
    return Case(name, [x], function, order=order, factor=4)


def classified(draw, name):
    return Case(name, [draw.tensor(draw.shape(), draw.choice(EVERYTHING), special=True)], CLASSIFIED[name])


def number_for(draw, dtype):
    """A plain number beside a tensor."""
    if draw.chance(0.5) and dtype in INTEGERS + ["bool"]:
        return draw.choice([0, 1, 2, -3, 100, 2**53 + 1, 2**62 + 1] if dtype == "i64" else [0, 1, 2, 3])
    return draw.choice([0.5, -1.5, 2.0, 3, -2, 1])


def binary(draw, name):
    a, b = draw.broadcast_pair()
    dtypes = [draw.choice(EVERYTHING if draw.chance(0.3) else FLOATS)] * 2
    if draw.chance(0.3):
        dtypes[1] = draw.choice(EVERYTHING)
    if name in ("hypot", "atan2") or name == "divide":
        dtypes = [d if d in FLOATS else "f32" for d in dtypes]
    order = order_of(draw, dtypes[0]) if dtypes[0] == dtypes[1] and name not in ("equal", "not_equal") else 0
    divisor = name in ("divide", "atan2", "hypot")
    x = draw.tensor(a, dtypes[0], special=order == 0)
    y = draw.tensor(b, dtypes[1], *((0.5, 3) if divisor and order else (-3, 3)), special=order == 0)
    refuses = name == "subtract" and "bool" in dtypes
    if draw.chance(0.25) and name not in ("hypot", "atan2", "minimum", "maximum"):
        number = number_for(draw, dtypes[0])
        if name.startswith("logical"):
            return Case(name, [x], lambda t: BINARY[name](t, torch.tensor(number)), {"number1": number})
        return Case(name, [x], lambda t: BINARY[name](t, number), {"number1": number}, order=order, refuses=refuses or dtypes[0] == "bool")
    return Case(name, [x, y], BINARY[name], order=order, factor=4, refuses=refuses)


def quotient(draw, name):
    a, b = draw.broadcast_pair()
    dtype = draw.choice(FLOATS + INTEGERS)
    x = draw.tensor(a, dtype, -20, 20, special=True)
    y = draw.tensor(b, dtype, -7, 7, special=True)
    if dtype in INTEGERS:
        y = torch.where(y == 0, torch.ones_like(y), y)
    return Case(name, [x, y], QUOTIENTS[name], native=True, factor=4)


def bits(draw, name):
    a, b = draw.broadcast_pair()
    dtype = draw.choice(INTEGERS if "shift" in name else INTEGERS + ["bool"])
    x = draw.tensor(a, dtype, -100, 100)
    return Case(name, [x, draw.tensor(b, dtype, 0, 6) if "shift" in name else draw.tensor(b, dtype, -100, 100)], BITS[name])


def power(draw, _):
    a, b = draw.broadcast_pair()
    if draw.chance(0.3):
        dtype = draw.choice(INTEGERS)
        return Case("pow", [draw.tensor(a, dtype, -5, 5), draw.tensor(b, dtype, 0, 100)], torch.pow)
    dtype = draw.floats()
    order = order_of(draw, dtype)
    if draw.chance(0.4):
        exponent = draw.choice([0.5, -0.5, -1.0, 2, 3, 4, 1.5, 0, 1, -2.0])
        x = draw.tensor(a, dtype, 0.3, 3)
        return Case("pow", [x], lambda t: torch.pow(t, exponent), {"number1": exponent}, order=order, factor=16)
    x, y = draw.tensor(a, dtype, 0.3, 3, special=order == 0), draw.tensor(b, dtype, -2, 2, special=order == 0)
    return Case("pow", [x, y], torch.pow, order=order, factor=16)


def clamped(draw, name):
    dtype = draw.choice(FLOATS + INTEGERS)
    x = draw.tensor(draw.shape(), dtype, -9, 9, special=True)
    low, high = (draw.choice([-2, 0, 1]), draw.choice([1, 3, 2**62 + 1])) if dtype in INTEGERS else (draw.choice([-2.0, 0.5, -1]), draw.choice([0.5, 3, 2.5]))
    if dtype in INTEGERS and dtype != "i64":
        high = min(high, 3)
        low = max(low, 0) if dtype == "u8" else low
    order = 0 if dtype in INTEGERS or not bool(torch.isfinite(x).all()) else order_of(draw, dtype)
    if name == "clamp_min":
        return Case(name, [x], lambda t: torch.clamp(t, min=low), {"number1": low}, order=order)
    if name == "clamp_max":
        return Case(name, [x], lambda t: torch.clamp(t, max=high), {"number1": high}, order=order)
    return Case(name, [x], lambda t: torch.clamp(t, low, high), {"number1": low, "number2": high}, order=order)


def with_options(draw, name):
    dtype = draw.floats()
    order = order_of(draw, dtype)
    x = draw.tensor(draw.shape(), dtype, -4, 4)
    if order == 2:
        x = torch.where(x == 0, torch.ones_like(x), x)
    s = draw.choice([0.01, 0.5, 1.0, 2.0])
    table = {"leaky_relu": (lambda t: F.leaky_relu(t, s), {"slope": s}), "elu": (lambda t: F.elu(t, s), {"alpha": s}), "celu": (lambda t: F.celu(t, s), {"alpha": s}),
             "hardshrink": (lambda t: F.hardshrink(t, s), {"lambda": s}), "softshrink": (lambda t: F.softshrink(t, s), {"lambda": s}),
             "hardtanh": (lambda t: F.hardtanh(t, -s, s), {"low": -s, "high": s}), "threshold": (lambda t: F.threshold(t, s, -1.5), {"bound": s, "value": -1.5}),
             "softplus": (lambda t: F.softplus(t, s, 3), {"beta": s, "threshold": 3})}
    if name == "gelu":
        tanh = draw.chance(0.5)
        return Case(name, [x], lambda t: F.gelu(t, approximate="tanh" if tanh else "none"), {"tanh": tanh}, order=order, factor=8)
    function, attributes = table[name]
    return Case(name, [x], function, attributes, order=order, factor=4)


def three(draw, name):
    a, b = draw.broadcast_pair()
    dtype = draw.floats()
    order = order_of(draw, dtype)
    if name == "lerp":
        return Case(name, [draw.tensor(a, dtype), draw.tensor(b, dtype), draw.tensor(b, dtype, 0, 1)], torch.lerp, order=order, factor=8)
    if name == "multiply_add":
        return Case(name, [draw.tensor(a, dtype), draw.tensor(b, dtype), draw.tensor(b, dtype)], lambda x, y, z: x * y + z, order=order, factor=8)
    if name == "xlogy":
        return Case(name, [draw.tensor(a, dtype, 0, 3), draw.tensor(b, dtype, 0.2, 3)], torch.xlogy, order=order, factor=4)
    if name == "isclose":
        return Case(name, [draw.tensor(a, dtype, special=True), draw.tensor(b, dtype, special=True)],
                    lambda x, y: torch.isclose(x, y, rtol=0.125, atol=0.5), {"relative": 0.125, "absolute": 0.5}, native=dtype in ("f16", "bf16"))
    if name == "nan_to_num":
        return Case(name, [draw.tensor(a, dtype, special=True)], torch.nan_to_num, native=True)
    if name == "prelu":
        x = draw.tensor([draw.size(), draw.size(1), *draw.shape(0, 2)], dtype)
        x = torch.where(x == 0, torch.ones_like(x), x) if order == 2 else x
        return Case(name, [x, draw.tensor([draw.choice([1, x.shape[1]])], dtype, 0, 1)], F.prelu, order=order, factor=8)
    if name == "cast":
        x, to = draw.tensor(a, draw.choice(EVERYTHING), 0, 100), draw.choice(EVERYTHING)
        return Case(name, [x], lambda t: t.to(TORCH[to]), {"dtype": to}, native=True, order=1 if to in ("f64", "f32") and NAMES[x.dtype] in ("f64", "f32") else 0)
    # where: nothing of what is not chosen may leak
    mask = draw.tensor(a, "bool")
    x, y = draw.tensor(b, draw.choice(EVERYTHING), special=True), draw.tensor(a, draw.choice(EVERYTHING), special=True)
    return Case("where", [mask, x, y], torch.where, order=1 if x.dtype == y.dtype == torch.float32 else 0)


ELEMENTWISE = {**{name: unary for name in SMOOTH}, **{name: classified for name in CLASSIFIED}, **{name: binary for name in BINARY},
               **{name: quotient for name in QUOTIENTS}, **{name: bits for name in BITS}, "pow": power,
               **{name: clamped for name in ("clamp", "clamp_min", "clamp_max")},
               **{name: with_options for name in ("leaky_relu", "elu", "celu", "hardshrink", "softshrink", "hardtanh", "threshold", "softplus", "gelu")},
               **{name: three for name in ("lerp", "multiply_add", "xlogy", "isclose", "nan_to_num", "prelu", "cast", "where")}}


def logical_not(draw, name):
    return Case(name, [draw.tensor(draw.shape(), draw.choice(EVERYTHING), special=True)], torch.logical_not)


def bitwise_not(draw, name):
    return Case(name, [draw.tensor(draw.shape(), draw.choice(INTEGERS + ["bool"]))], torch.bitwise_not)


def activation_layer(draw, name):
    case = unary(draw, LAYERS[name.removeprefix("nn.")])
    case.op, case.lazy = name, True
    return case


def layer_with_defaults(draw, name):
    dtype = draw.floats()
    return Case(name, [draw.tensor(draw.shape(), dtype, -4, 4)], DEFAULTS[name.removeprefix("nn.")], order=order_of(draw, dtype, 1), factor=8, lazy=True)


ELEMENTWISE.update({**{"nn." + name: layer_with_defaults for name in DEFAULTS}, "logical_not": logical_not, "bitwise_not": bitwise_not, **{"nn." + name: activation_layer for name in LAYERS}})
