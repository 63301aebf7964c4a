"""Cases for differential.py: ops that move, select, order and reduce elements, and tensors from nothing."""
import math

import torch
import torch.nn.functional as F

from differential_cases import EVERYTHING, FLOATS, INTEGERS, TORCH, Case, collector, order_of

CASES, case_of = collector()


def any_tensor(draw, least_rank=1, most_rank=4, least=0, special=True):
    dtype = draw.choice(EVERYTHING if draw.chance(0.4) else FLOATS)
    return dtype, draw.tensor(draw.shape(least_rank, most_rank, least), dtype, special=special)


@case_of("reshape", "flatten", "permute", "transpose", "swapaxes", "movedim", "squeeze", "unsqueeze", "expand_dims", "expand", "broadcast_to", "slice", "select",
         "flip", "diagonal", "windows", "tril", "triu", "diag", "roll", "repeat", "repeat_interleave", "pad")
def moved(draw, name):
    least = 1 if name in ("select", "windows", "pad", "roll") else 0
    dtype, x = any_tensor(draw, 2, 4, least)
    rank, shape, order = x.dim(), list(x.shape), order_of(draw, dtype)
    if not bool(torch.isfinite(x).all()):
        order = min(order, 1)
    a, b = draw.axis(rank), draw.axis(rank)
    def done(function, **attributes):
        return Case(name, [x], function, attributes, order=order)
    if name == "reshape":
        to = shape[:]
        draw.random.shuffle(to)
        if x.numel() > 0 and draw.chance(0.5):
            to[draw.random.randrange(rank)] = -1
        return done(lambda t: t.reshape(to), shape=to)
    if name == "flatten":
        start, end = sorted([a % rank, b % rank])
        return done(lambda t: torch.flatten(t, start, end), start=start, end=end)
    if name == "permute":
        to = list(range(rank))
        draw.random.shuffle(to)
        return done(lambda t: t.permute(to), order=to)
    if name in ("transpose", "swapaxes"):
        return done(lambda t: t.transpose(a, b), a=a, b=b)
    if name == "movedim":
        return done(lambda t: t.movedim(a, b), a=a, b=b)
    if name == "squeeze":
        axes = draw.axes(rank)
        return done(lambda t: t.squeeze(tuple(axes)) if axes else t.squeeze(), axes=axes)
    if name in ("unsqueeze", "expand_dims"):
        axis = draw.random.randint(-rank - 1, rank)
        return done(lambda t: t.unsqueeze(axis), axis=axis)
    if name in ("expand", "broadcast_to"):
        to = [draw.choice([2, 3]) for _ in range(draw.choice([0, 1]))] + [draw.size() if size == 1 else size for size in shape]
        return done(lambda t: t.expand(to), shape=to)
    if name == "slice":
        slices = [[draw.choice([None, draw.random.randint(-9, 9)]), draw.choice([None, draw.random.randint(-9, 9)]), draw.choice([1, 1, 2, 3, -1, -2])]
                  for _ in range(rank)]
        def numpy_slice(t):
            for axis, (begin, end, step) in enumerate(slices):
                t = t.index_select(axis, torch.tensor(list(range(t.shape[axis]))[slice(begin, end, step)], dtype=torch.int64))
            return t
        return done(numpy_slice, slices=slices)
    if name == "select":
        index = draw.random.randint(-shape[a], shape[a] - 1)
        return done(lambda t: t.select(a, index), axis=a, index=index)
    if name == "flip":
        axes = draw.axes(rank)
        return done(lambda t: t.flip(axes or list(range(rank))), axes=axes)
    if name == "diagonal":
        if a % rank == b % rank:
            a, b = 0, 1
        k = draw.random.randint(-3, 3)
        k = max(-shape[a] + 1, min(shape[b] - 1, k)) if min(shape[a], shape[b]) > 0 else 0
        return done(lambda t: t.diagonal(k, a, b), offset=k, a=a, b=b)
    if name == "windows":
        size, stride = draw.random.randint(1, shape[a]), draw.choice([1, 2, 3])
        return done(lambda t: t.unfold(a, size, stride), axis=a, window=size, stride=stride)
    if name in ("tril", "triu"):
        k = draw.choice([-2, -1, 0, 1, 3, 2**40])
        return done(lambda t: getattr(torch, name)(t, max(-1000, min(1000, k))), k=k)
    if name == "diag":
        x = x.reshape(-1)[:9] if draw.chance(0.5) else x.reshape(shape[0], x.numel() // max(shape[0], 1))
        k = draw.choice([-2, -1, 0, 1, 2]) if x.dim() == 1 else draw.choice([-1, 0, 1]) if min(x.shape) > 1 else 0
        return Case(name, [x], lambda t: torch.diag(t, k), {"k": k}, order=order)
    if name == "roll":
        shifts = [draw.random.randint(-9, 9) for _ in range(rank)]
        return done(lambda t: t.roll(shifts, list(range(rank))), shifts=shifts, axes=list(range(rank)))
    if name == "repeat":
        counts = [draw.choice([1, 2]) for _ in range(draw.choice([0, 1]))] + [draw.choice([0, 1, 1, 2, 3]) for _ in shape]
        return done(lambda t: t.repeat(counts), counts=counts)
    if name == "repeat_interleave":
        count, axis = draw.choice([0, 1, 2, 3]), draw.choice([None, a])
        return done(lambda t: t.repeat_interleave(count, axis), count=count, axis=axis)
    mode = draw.choice(["constant", "constant", "reflect", "replicate", "circular"])
    if mode == "constant":
        widths = [[draw.random.randint(-1, 3) if size > 1 else draw.random.randint(0, 3) for _ in range(2)] for size in shape]
        value = draw.choice([0, 1, 3, 2**53 + 1] if dtype == "i64" else [0, 1, 2]) if dtype in INTEGERS + ["bool"] else draw.choice([0, -1.5, "inf", 2.0])
        flat = [w for pair in reversed(widths) for w in pair]
        number = math.inf if value == "inf" else value
        return done(lambda t: F.pad(t, flat, value=number) if dtype != "i64" else padded(t, flat, number), widths=widths, value=value)
    x = draw.tensor([2, 3, draw.size(2), draw.size(2)], draw.floats())
    widths = [[0, 0], [0, 0]] + [[draw.random.randint(0, min(3, size - 1)) for _ in range(2)] for size in x.shape[2:]]
    flat = [w for pair in reversed(widths[2:]) for w in pair]
    return Case(name, [x], lambda t: F.pad(t, flat, mode=mode), {"widths": widths, "mode": mode}, order=order_of(draw, "f32"))


def padded(t, flat, number):
    """F.pad takes its value as a double; this keeps whole numbers whole."""
    inside = F.pad(torch.ones_like(t, dtype=torch.bool), flat, value=False)
    return torch.where(inside, F.pad(t, flat), torch.tensor(number, dtype=t.dtype))


@case_of("concat", "stack", "split", "chunk", "unbind")
def joined(draw, name):
    dtype, x = any_tensor(draw, 1, 3, 1)
    axis, order = draw.axis(x.dim()), order_of(draw, dtype, 1)
    if name in ("split", "chunk"):
        n = draw.random.randint(1, 5)
        pieces = (lambda t: list(torch.split(t, n, axis))) if name == "split" else (lambda t: list(torch.chunk(t, n, axis)))
        return Case(name, [x], pieces, {"axis": axis, "size" if name == "split" else "count": n}, order=order)
    if name == "unbind":
        return Case(name, [x], lambda t: list(torch.unbind(t, axis)), {"axis": axis}, order=order)
    others = [x]
    for _ in range(draw.random.randint(0, 3)):
        shape = list(x.shape)
        if name == "concat":
            shape[axis] = draw.size()
        others.append(draw.tensor(shape, draw.choice(EVERYTHING) if draw.chance(0.2) else dtype))
    function = torch.cat if name == "concat" else torch.stack
    def joint(*xs):
        kind = xs[0].dtype
        for t in xs:
            kind = torch.promote_types(kind, t.dtype)
        return function([t.to(kind) for t in xs], axis)
    same = all(t.dtype == x.dtype for t in others)
    return Case(name, others, joint, {"axis": axis}, order=order if same else 0)


@case_of("take", "index", "index_select", "gather", "take_along_axis", "scatter", "scatter_add", "index_add", "masked_fill", "one_hot", "embedding", "nn.Embedding")
def indexed(draw, name):
    dtype, x = any_tensor(draw, 1, 3, 1)
    axis, order = draw.axis(x.dim()), order_of(draw, dtype)
    if not bool(torch.isfinite(x).all()):
        order = 0
    length = x.shape[axis]
    def index(shape, length, negative=True):
        return torch.randint(-length if negative and draw.chance(0.5) else 0, length, shape, generator=draw.generator)
    if name in ("embedding", "nn.Embedding"):
        weight = draw.tensor([draw.size(1), draw.size(1)], draw.floats())
        i = index(draw.shape(0, 3), weight.shape[0])
        rows = lambda w, i: w[torch.remainder(i, w.shape[0])]
        if name == "nn.Embedding":
            return Case(name, [i, weight], lambda i, w: rows(w, i), lazy=True, wanted=[])
        if draw.chance(0.5):
            row = draw.random.randint(-weight.shape[0], weight.shape[0] - 1)
            return Case(name, [weight, i], lambda w, i: F.embedding(torch.remainder(i, w.shape[0]), w, padding_idx=row), {"padding": row}, order=1)
        return Case(name, [weight, i], rows, order=order_of(draw, "f32"))
    if name == "one_hot":
        i = index(draw.shape(0, 3), 4, False)
        return Case(name, [i], lambda i: F.one_hot(i, 5), {"classes": 5})
    if name == "masked_fill":
        value = draw.choice([2**53 + 1, 7]) if dtype == "i64" else draw.choice([0, 1, 2])
        return Case(name, [x, draw.tensor(x.shape, "bool")], lambda t, m: t.masked_fill(m, value), {"number2": value}, order=order)
    if name in ("take", "index"):
        i = index(draw.shape(0, 2), length if name == "take" else x.shape[0])
        at = axis if name == "take" else 0
        def taken(t, i):
            flat = torch.remainder(i, t.shape[at]).reshape(-1)
            whole = t.index_select(at, flat)
            return whole.reshape(list(t.shape[:at % t.dim()]) + list(i.shape) + list(t.shape[at % t.dim() + 1:]))
        return Case(name, [x, i], taken, {"axis": at}, order=order)
    if name in ("index_select", "index_add"):
        i = index([draw.size()], length)
        if name == "index_select":
            return Case(name, [x, i], lambda t, i: t.index_select(axis, torch.remainder(i, length)), {"axis": axis}, order=order)
        if dtype == "bool":
            x = x.float()
        shape = list(x.shape)
        shape[axis] = i.numel()
        source = draw.tensor(shape, dtype if dtype != "bool" else "f32")
        return Case(name, [x, i, source], lambda t, i, s: t.index_add(axis, torch.remainder(i, length), s), {"axis": axis}, order=order, factor=16)
    shape = [size if name == "take_along_axis" else draw.random.randint(1, size) for size in x.shape]
    shape[axis] = draw.size()
    if name in ("gather", "take_along_axis"):
        i = index(shape, length)
        return Case(name, [x, i], lambda t, i: torch.gather(t, axis, torch.remainder(i, length)), {"axis": axis}, order=order)
    if dtype == "bool":
        x, dtype = x.float(), "f32"
    if name == "scatter":  # without repeated indices, whose order PyTorch does not define
        shape[axis] = draw.random.randint(0, length)
        i = torch.rand([*shape[:axis % x.dim()], length, *shape[axis % x.dim() + 1:]], generator=draw.generator).argsort(axis).narrow(axis, 0, shape[axis])
        return Case(name, [x, i, draw.tensor(shape, dtype)], lambda t, i, s: t.scatter(axis, i, s), {"axis": axis}, order=order)
    i = index(shape, length)
    return Case(name, [x, i, draw.tensor(shape, dtype)], lambda t, i, s: t.scatter_add(axis, torch.remainder(i, length), s), {"axis": axis}, order=order, factor=16)


def over(function):
    """A PyTorch reduction over a list of axes, which may be empty for all of them."""
    return lambda t, axes, keep: function(t, tuple(axes) if axes else tuple(range(t.dim())), keep)


def one_by_one(function):
    def reduce(t, axes, keep):
        for axis in sorted((a % t.dim() for a in axes) if axes else range(t.dim()), reverse=True):
            t = function(t, axis, True)
        if not keep:
            t = t.squeeze(tuple(a % t.dim() for a in axes) if axes else tuple(range(t.dim()))) if t.dim() else t
        return t
    return reduce


REDUCTIONS = {"sum": over(lambda t, a, k: torch.sum(t, a, k) if a else t.clone()), "mean": over(lambda t, a, k: torch.mean(t, a, k) if a else t.clone()),
              "max": over(lambda t, a, k: torch.amax(t, a, k)), "min": over(lambda t, a, k: torch.amin(t, a, k)),
              "prod": one_by_one(lambda t, a, k: torch.prod(t, a, k)), "any": one_by_one(lambda t, a, k: torch.any(t, a, k)),
              "all": one_by_one(lambda t, a, k: torch.all(t, a, k)), "logsumexp": over(torch.logsumexp),
              "count_nonzero": lambda t, axes, keep: REDUCTIONS["sum"]((t != 0).to(torch.int64), axes, keep)}


@case_of(*REDUCTIONS, "var", "stddev", "norm")
def reduced(draw, name):
    least = 1 if name in ("max", "min", "var", "stddev", "norm", "mean", "logsumexp") else 0
    dtype = draw.floats() if name in ("mean", "logsumexp", "var", "stddev", "norm") else draw.choice(EVERYTHING if draw.chance(0.4) else FLOATS)
    x = draw.tensor(draw.shape(1, 4, least), dtype, -2, 2)
    axes, keep, order = draw.axes(x.dim()), draw.chance(0.5), order_of(draw, dtype)
    if order == 0 and name not in ("var", "stddev", "norm"):
        x = draw.tensor(x.shape, dtype, -2, 2, special=True)
    attributes = {"axes": axes, "keep": keep}
    if name in ("var", "stddev"):
        attributes["correction"] = draw.choice([0, 1])
        function = torch.var if name == "var" else torch.std
        count = math.prod(x.shape[a] for a in (axes or range(x.dim())))
        x = x + torch.arange(x.numel(), dtype=torch.float64).reshape(x.shape).sin().to(x.dtype)  # no variance of 0
        return Case(name, [x], lambda t: function(t, axes or None, correction=attributes["correction"], keepdim=keep), attributes,
                    order=order if count > 2 and name == "var" or count > 4 else 0, factor=32)
    if name == "norm":
        p = draw.choice([2, 2, 1, 3, "inf", "-inf", 0, 0.5])
        attributes["p"] = p
        x = torch.where(x.abs() < 0.1, torch.ones_like(x), x)
        return Case(name, [x], lambda t: torch.linalg.vector_norm(t, float(p), axes or None, keep), attributes, order=min(order, 1), factor=32)
    integers = dtype not in FLOATS and name in ("sum", "prod")
    function = REDUCTIONS[name]
    if integers:
        return Case(name, [x], lambda t: function(t.to(torch.int64), axes, keep), attributes)
    if name in ("any", "all"):
        return Case(name, [x], lambda t: function(t != 0, axes, keep), attributes)
    if name in ("max", "min"):
        order = min(order, 1)
    return Case(name, [x], lambda t: function(t, axes, keep), attributes, order=order, factor=32)


@case_of("argmax", "argmin", "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "softmax", "log_softmax", "softmin", "sort", "argsort", "topk", "kthvalue",
         "median", "searchsorted", "bucketize")
def along(draw, name):
    floats_only = name in ("softmax", "log_softmax", "softmin", "logcumsumexp", "cumprod")
    dtype = draw.floats() if floats_only or draw.chance(0.6) else draw.choice(INTEGERS)
    x = draw.tensor(draw.shape(1, 3, 1), dtype, *((-2, 2) if name == "cumprod" else (-5, 5)))
    if name in ("topk", "kthvalue"):  # without ties: which of them is named is not defined
        x = torch.argsort(torch.rand(x.shape, generator=draw.generator), -1).to(x.dtype) + torch.zeros_like(x)
    axis, order = draw.axis(x.dim()), order_of(draw, dtype)
    if name in ("topk", "kthvalue"):
        axis = -1
    length = x.shape[axis]
    wide = lambda t: t if t.is_floating_point() else t.to(torch.int64)
    if name in ("argmax", "argmin"):
        at, keep = draw.choice([None, axis]), draw.chance(0.5)
        sign = 1 if name == "argmax" else -1
        if dtype == "u8":
            x, dtype = x.to(torch.int32), "i32"
        def first(t):  # the first of equals, as documented
            s = t * sign
            flat = s.reshape(-1) if at is None else s
            found = (flat == flat.amax(-1 if at is None else at, True)).to(torch.int32).argmax(-1 if at is None else at, keep)
            return found.reshape([1] * t.dim()) if at is None and keep else found.reshape([]) if at is None else found
        return Case(name, [x], first, {"axis": at, "keep": keep})
    if name in ("cumsum", "cumprod"):
        return Case(name, [x], lambda t: getattr(torch, name)(wide(t), axis), {"axis": axis}, order=order, factor=128)
    if name in ("cummax", "cummin"):
        return Case(name, [x], lambda t: getattr(torch, name)(t, axis).values, {"axis": axis}, order=0)
    if name == "logcumsumexp":
        return Case(name, [x], lambda t: torch.logcumsumexp(t, axis), {"axis": axis}, order=order, factor=32)
    if floats_only:
        function = {"softmax": F.softmax, "log_softmax": F.log_softmax, "softmin": F.softmin}[name]
        return Case(name, [x], lambda t: function(t, axis), {"axis": axis}, order=order, factor=16)
    down = draw.chance(0.5)
    if name in ("sort", "argsort"):
        def ordered(t):
            values, indices = torch.sort(t, dim=axis, descending=down, stable=True)
            return [values, indices] if name == "sort" else indices
        return Case(name, [x], ordered, {"axis": axis, "descending": down}, order=order)
    if name == "topk":
        k = draw.random.randint(1, length)
        return Case(name, [x], lambda t: torch.topk(t, k, axis, largest=down, sorted=True).values, {"axis": axis, "k": k, "descending": down}, order=order)
    if name == "kthvalue":
        k = draw.random.randint(1, length)
        return Case(name, [x], lambda t: torch.kthvalue(t, k, axis).values, {"axis": axis, "k": k}, order=order)
    if name == "median":
        keep = draw.chance(0.5)
        return Case(name, [x], lambda t: torch.median(t, axis, keep).values, {"axis": axis, "keep": keep}, order=0)
    right = draw.chance(0.5)
    if name == "searchsorted" and draw.chance(0.4):  # a line for each row
        values = draw.tensor(list(x.shape[:-1]) + [draw.size()], dtype, -6, 6)
        return Case(name, [torch.sort(x).values, values], lambda s, v: torch.searchsorted(s, v, right=right), {"right": right})
    line = torch.sort(x.reshape(-1)).values
    if name == "bucketize":
        return Case(name, [draw.tensor(draw.shape(1, 2), dtype, -6, 6), line], lambda v, s: torch.bucketize(v, s, right=right), {"right": right})
    return Case(name, [line, draw.tensor(draw.shape(1, 2), dtype, -6, 6)], lambda s, v: torch.searchsorted(s, v, right=right), {"right": right})


@case_of("quantile", "bincount")
def counted(draw, name):
    if name == "bincount":
        values = draw.tensor([draw.size()], draw.choice(INTEGERS), 0, 9)
        length = int(values.max()) + 1 + draw.choice([0, 3]) if values.numel() else 4
        if draw.chance(0.5):
            return Case(name, [values], lambda v: torch.bincount(v, minlength=length), {"length": length})
        weights = draw.tensor([values.numel()], draw.floats())
        sums = lambda v, w: torch.zeros(length, dtype=w.dtype).index_add(0, v.to(torch.int64), w)
        return Case(name, [values, weights], sums, {"length": length}, order=order_of(draw, "f32"), factor=16)
    dtype = draw.choice(["f64", "f32"])
    x = draw.tensor(draw.shape(1, 3, 1), dtype)
    x = x + torch.arange(x.numel(), dtype=torch.float64).reshape(x.shape).sin().to(x.dtype) * 1e-2  # no ties: which gets the gradient is open
    q = draw.choice([0.0, 1.0, 0.5, 0.3, [0.1, 0.9], [0.25, 0.5, 1.0]])
    attributes = {"q": q, "axis": draw.choice([None, draw.axis(x.dim())]), "keep": draw.chance(0.5), "method": draw.choice(["linear", "linear", "lower", "higher", "midpoint", "nearest"])}
    def quantiles(t):
        return torch.quantile(t, torch.tensor(q, dtype=t.dtype), attributes["axis"], attributes["keep"], interpolation=attributes["method"])
    return Case(name, [x], quantiles, attributes, order=min(order_of(draw, dtype), 1), factor=16)


@case_of("zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "arange", "linspace", "eye")
def made(draw, name):
    dtype, shape = draw.choice(FLOATS + INTEGERS), draw.shape()
    kind = TORCH[dtype]
    number = draw.choice([0, 1, 3] + ([2**53 + 1, 2**63 - 1] if dtype == "i64" else []))
    attributes = {"shape": shape, "dtype": dtype}
    if name in ("zeros", "ones"):
        return Case(name, [], lambda: getattr(torch, name)(shape, dtype=kind), attributes, native=True)
    if name == "full":
        return Case(name, [], lambda: torch.full(shape, number, dtype=kind), {**attributes, "number0": number}, native=True)
    if name in ("zeros_like", "ones_like"):
        return Case(name, [draw.tensor(shape, dtype)], getattr(torch, name), native=True)
    if name == "full_like":
        return Case(name, [draw.tensor(shape, dtype)], lambda t: torch.full_like(t, number), {"number1": number}, native=True)
    if name == "eye":
        rows, columns = draw.size(), draw.size()
        return Case(name, [], lambda: torch.eye(rows, columns, dtype=kind), {"rows": rows, "columns": columns, "dtype": dtype}, native=True)
    if name == "linspace":
        kind = TORCH[dtype := draw.choice(["f64", "f32"])]
        count = draw.size()
        return Case(name, [], lambda: torch.linspace(-1.5, 4, count, dtype=kind), {"begin": -1.5, "end": 4.0, "count": count, "dtype": dtype}, native=True, factor=4)
    dtype = draw.choice(["i64", "i64", "f64", "i32"])
    begin, step, count = draw.choice([0, -5, 7] + ([2**53 + 1] if dtype == "i64" else [])), draw.choice([1, 2, -3]), draw.size()
    end = begin + step * count
    return Case(name, [], lambda: torch.arange(begin, end, step, dtype=TORCH[dtype]), {"begin": begin, "end": end, "step": step, "dtype": dtype}, native=True)
