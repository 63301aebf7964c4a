"""Cases for differential.py: recurrent layers, loops, slices at computed places, losses over many classes."""
import torch
import torch.nn.functional as F
from torch import nn

from differential_cases import Case, EVERYTHING, collector, order_of

CASES, case_of = collector()


def run_with(module, given, run, dtype):
    """The outputs of run(module) with these parameters, and the gradient of Σ y² by each of them, as the driver has them."""
    module.to(dtype)
    weights = list(module.parameters())
    with torch.no_grad():
        for w, value in zip(weights, given):
            w.copy_(value)
    outputs = list(run(module))
    found = torch.autograd.grad((outputs[0] * outputs[0]).sum(), weights, retain_graph=True, allow_unused=True)
    return outputs + [torch.zeros_like(w) if g is None else g.detach() for g, w in zip(found, weights)]


def parameters_of(draw, module, dtype):
    names = [name for name, _ in module.named_parameters()]
    return names, [draw.tensor(list(w.shape), dtype, -0.7, 0.7) for _, w in module.named_parameters()]


@case_of("nn.RNN", "nn.LSTM", "nn.GRU")
def recurrent(draw, name):
    dtype = draw.choice(["f64", "f32"])
    features, hidden, length, batch = draw.choice([1, 2, 5]), draw.choice([1, 3, 4]), draw.choice([1, 2, 3, 7, 16]), draw.choice([1, 2, 3])
    layers, both = draw.choice([1, 1, 2]), draw.chance(0.4)
    options = {"num_layers": layers, "bias": draw.chance(0.7), "batch_first": draw.chance(0.5), "bidirectional": both}
    lstm = name == "nn.LSTM"
    projected = draw.choice([1, 2]) if lstm and hidden > 2 and draw.chance(0.3) else 0
    relu = name == "nn.RNN" and draw.chance(0.5)
    if projected:
        options["proj_size"] = projected
    if relu:
        options["nonlinearity"] = "relu"
    module = getattr(nn, name[3:])(features, hidden, **options)
    batched = draw.chance(0.85)
    first = options["batch_first"]
    shape = [length, features] if not batched else [batch, length, features] if first else [length, batch, features]
    inputs = [draw.tensor(shape, dtype)]
    a = {"hidden": hidden, "layers": layers, "with_bias": options["bias"], "batch_first": first, "bidirectional": both, "relu": relu, "proj_size": projected}
    count = layers * (2 if both else 1)
    given = draw.chance(0.5)
    def state(width):
        return draw.tensor([count, batch, width] if batched else [count, width], dtype, -0.9, 0.9)
    if given:
        a["h"] = True
        inputs.append(state(projected or hidden))
        if lstm:
            a["c"] = True
            inputs.append(state(hidden))
    wanted = list(range(len(inputs)))
    limited = batched and draw.chance(0.3)
    if limited:
        a["lengths"] = True
        inputs.append(torch.randint(1, length + 1, [batch], generator=draw.generator))
    a["names"], weights = parameters_of(draw, module, dtype)
    data = len(inputs)
    inputs += weights
    def reference(x, *rest):
        states = rest[:data - 1 - limited]
        h = None if not given else tuple(states) if lstm else states[0]
        def run(inner):
            if not limited:
                y, last = inner(x, h)
            else:
                packed = nn.utils.rnn.pack_padded_sequence(x, rest[data - 2], batch_first=first, enforce_sorted=False)
                y, last = inner(packed, h)
                y, _ = nn.utils.rnn.pad_packed_sequence(y, batch_first=first, total_length=length)
            return [y, *last] if lstm else [y, last]
        return run_with(module, rest[data - 1:], run, x.dtype)
    return Case(name, inputs, reference, a, wanted=wanted, order=draw.choice([0, 1, 1, 2]) if not relu else draw.choice([0, 1]), factor=512)


@case_of("nn.RNNCell", "nn.LSTMCell", "nn.GRUCell")
def cells(draw, name):
    dtype = draw.choice(["f64", "f32"])
    features, hidden, batch = draw.choice([1, 2, 5]), draw.choice([1, 3, 4]), draw.choice([1, 2, 3])
    relu, bias, given, lstm = name == "nn.RNNCell" and draw.chance(0.5), draw.chance(0.7), draw.chance(0.7), name == "nn.LSTMCell"
    module = getattr(nn, name[3:])(features, hidden, bias=bias, **({"nonlinearity": "relu"} if relu else {}))
    inputs = [draw.tensor([batch, features], dtype)]
    inputs += [draw.tensor([batch, hidden], dtype, -0.9, 0.9) for _ in range((2 if lstm else 1) if given else 0)]
    data = len(inputs)
    a = {"hidden": hidden, "with_bias": bias, "relu": relu, "h": given}
    a["names"], weights = parameters_of(draw, module, dtype)
    def reference(x, *rest):
        h = None if not given else tuple(rest[:2]) if lstm else rest[0]
        def run(inner):
            y = inner(x, h)
            return y if lstm else [y]
        return run_with(module, rest[data - 1:], run, x.dtype)
    return Case(name, inputs + weights, reference, a, wanted=list(range(data)), order=draw.choice([0, 1]) if relu else draw.choice([0, 1, 2]), factor=256)


@case_of("scan")
def loops(draw, name):
    dtype = draw.floats()
    length, rows, features, width = draw.choice([1, 2, 3, 5, 9]), draw.choice([1, 2, 4]), draw.choice([1, 3]), draw.choice([1, 2, 4])
    a = {"reverse": draw.chance(0.5), "chunks": draw.chance(0.4)}
    inputs = [draw.tensor([length, rows, features], dtype, -1, 1), draw.tensor([rows, width], dtype, -1, 1),
              draw.tensor([features, 2 * width], dtype, -0.8, 0.8), draw.tensor([width, 2 * width], dtype, -0.8, 0.8)]
    def reference(xs, h, w, u):
        ys, sums = [None] * length, [None] * length
        for t in range(length - 1, -1, -1) if a["reverse"] else range(length):
            one, two = (xs[t] @ w + h @ u).chunk(2, 1)
            sums[t] = (two * h).sum()
            h = one.tanh() * two.sigmoid() + h * 0.5
            ys[t] = h
        return [h, torch.stack(ys), torch.stack(sums)]
    return Case(name, inputs, reference, a, order=order_of(draw, dtype), factor=512)


@case_of("dynamic_slice", "update_slice")
def computed_places(draw, name):
    dtype = draw.choice(EVERYTHING)
    shape = draw.shape(1, 4, 1)
    axis = draw.axis(len(shape))
    whole = shape[axis]
    size = draw.random.randint(1, whole)
    at = draw.random.randint(0, whole - size)
    place = torch.tensor(at - whole if draw.chance(0.3) and at < whole else at, dtype=draw.choice([torch.int64, torch.int32]))
    x = draw.tensor(shape, dtype)
    if name == "dynamic_slice":
        return Case(name, [x, place], lambda t, p: t.narrow(axis, int(p) % whole, size), {"axis": axis, "size": size}, order=order_of(draw, dtype))
    part = list(shape)
    part[axis] = size
    def reference(t, s, p):
        begin = int(p) % whole
        return torch.cat([t.narrow(axis, 0, begin), s, t.narrow(axis, begin + size, whole - begin - size)], axis)
    return Case(name, [x, draw.tensor(part, dtype), place], reference, {"axis": axis}, order=order_of(draw, dtype))


@case_of("linear_cross_entropy")
def many_classes(draw, name):
    dtype = draw.choice(["f64", "f32"])
    lead, features, classes = draw.shape(0, 2, 1), draw.choice([1, 3, 8]), draw.choice([2, 3, 7, 10])
    how = draw.choice(["none", "sum", "mean"])
    a = {"reduction": how, "chunk": draw.choice([1, 2, 3, 4096])}
    labels = torch.randint(0, classes, lead, generator=draw.generator)
    ignored = draw.chance(0.4)
    if ignored:
        a["ignore_index"] = draw.choice([0, 1, -100])
        labels = torch.where(torch.rand(lead, generator=draw.generator) < 0.3, a["ignore_index"], labels)
    inputs = [draw.tensor(lead + [features], dtype, -2, 2), draw.tensor([classes, features], dtype, -2, 2), labels]
    if draw.chance(0.5):
        inputs.append(draw.tensor([classes], dtype))
    def reference(x, w, label, b=None):
        scores = F.linear(x, w, b).reshape(-1, classes)
        loss = F.cross_entropy(scores, label.reshape(-1), reduction=how, **({"ignore_index": a["ignore_index"]} if ignored else {}))
        return loss.reshape(label.shape) if how == "none" else loss
    return Case(name, inputs, reference, a, order=draw.choice([0, 1, 2]), factor=256)


@case_of("var_mean")
def both_moments(draw, name):
    dtype = draw.floats()
    shape = draw.shape(0, 4, 1)
    axes = draw.axes(len(shape))
    correction, keep = draw.choice([0, 1, 1]), draw.chance(0.5)
    count = 1
    for axis in axes or range(len(shape)):
        count *= shape[axis]
    if count <= correction:
        correction = 0
    a = {"axes": axes, "correction": correction, "keep": keep}
    return Case(name, [draw.tensor(shape, dtype)], lambda t: torch.var_mean(t, axes or None, correction=correction, keepdim=keep), a, order=order_of(draw, dtype),
                factor=64)


@case_of("masked_softmax")
def seen_weights(draw, name):
    dtype = draw.floats()
    lead, m, n = draw.shape(0, 2, 1), draw.size(1), draw.size(1)
    a, inputs = {}, [draw.tensor([*lead, m, n], dtype)]
    if draw.chance(0.6):
        a["mask"] = True
        inputs.append(draw.tensor([1 if draw.chance(0.3) else s for s in [*lead, m, n]], "bool"))
    if draw.chance(0.5):
        a["lengths"] = True
        inputs.append(draw.tensor(lead, "i64", 0, n))
    def reference(x, *rest):
        seen = torch.ones(x.shape, dtype=torch.bool)
        for extra in rest:
            seen = seen & (extra if extra.dtype == torch.bool else torch.arange(n) < extra.reshape([*extra.shape, 1, 1]))
        some = seen.any(-1, keepdim=True)
        return torch.where(some, torch.softmax(torch.where(seen, x, torch.where(some, -torch.inf, 0.0).to(x.dtype)), -1), 0.0)
    return Case(name, inputs, reference, a, order=order_of(draw, dtype), factor=64)
