"""Cases for differential.py: attention and the layers made of it."""
import torch
import torch.nn.functional as F
from torch import nn

from differential_cases import Case, order_of

CASES = {}


def case_of(*names):
    def note(function):
        CASES.update({name: function for name in names})
        return function
    return note


def attention(q, k, v, causal, window, scale, mask=None, bias=None, lengths=None, start=None):
    """By its definition: F.scaled_dot_product_attention has neither windows nor lengths nor caches."""
    if q.dim() > 2 and q.shape[-3] != k.shape[-3]:
        k, v = (x.repeat_interleave(q.shape[-3] // k.shape[-3], -3) for x in (k, v))
    s = q @ k.transpose(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if bias is not None:
        s = s + bias
    place, key = torch.arange(s.shape[-2])[:, None], torch.arange(s.shape[-1])[None, :]
    def of_sample(x):
        return x.reshape([*x.shape, *[1] * (s.dim() - x.dim())])
    if start is not None:
        place = place + of_sample(start)
    seen = torch.ones([1] * s.dim(), dtype=torch.bool)
    if causal:
        seen = seen & (key <= place)
    if window:
        seen = seen & ((key - place).abs() < window)
    if lengths is not None:
        seen = seen & (key < of_sample(lengths))
    if mask is not None:
        seen = seen & mask
    seen = seen.expand(s.shape)
    some = seen.any(-1, keepdim=True)
    p = torch.where(some, torch.softmax(torch.where(seen, s, torch.where(some, -torch.inf, 0.0).to(s.dtype)), -1), 0.0)
    sums = torch.logsumexp(torch.where(seen, s, -torch.inf), -1) if bool(some.all()) else None
    return p @ v, sums


@case_of("scaled_dot_product_attention")
def products(draw, name):
    dtype = draw.floats()
    order = order_of(draw, dtype)
    rank = draw.choice([2, 3, 4, 4, 4, 5])
    m, n, d, e = draw.size(1), draw.size(1), draw.size(1), draw.size(1)
    if draw.chance(0.05):
        m, n = draw.choice([(70, 300), (130, 130), (1, 520)])
    groups = draw.choice([1, 2, 3])
    heads = groups * draw.choice([1, 2]) if rank > 2 else 1
    groups = groups if rank > 2 else 1
    lead = [2, 2][:rank - 3] if rank > 3 else []
    def of(count, length, width):
        return [*lead, *([count] if rank > 2 else []), length, width]
    inputs = [draw.tensor(of(heads, m, d), dtype, -2, 2), draw.tensor(of(groups, n, d), dtype, -2, 2), draw.tensor(of(groups, n, e), dtype, -2, 2)]
    a = {"causal": draw.chance(0.4), "window": draw.choice([0, 0, 0, 1, 3])}
    scale = draw.choice([None, None, 0.3])
    if scale:
        a["scale"] = scale
    extras = []
    scores = of(heads, m, n)
    def part():
        shape = [1 if draw.chance(0.4) else size for size in scores]
        return shape[draw.random.randint(0, len(shape)):] if draw.chance(0.3) else shape
    for key, chance, make in (("mask", 0.3, lambda: draw.tensor(part(), "bool")), ("bias", 0.3, lambda: draw.tensor(part(), dtype, -2, 2)),
                              ("lengths", 0.3, lambda: draw.tensor(lead, "i64", 0, n)), ("start", 0.3, lambda: draw.tensor(draw.choice([lead, []]), "i32", 0, n))):
        if draw.chance(chance):
            a[key] = True
            extras.append(key)
            inputs.append(make())
    narrow = dtype in ("f16", "bf16")
    sums = attention(*[x.double() for x in inputs[:3]], a["causal"], a["window"], scale, **dict(zip(extras, inputs[3:])))[1] is not None and not narrow
    a["sums"] = sums
    def reference(q, k, v, *rest):
        y, total = attention(q, k, v, a["causal"], a["window"], scale, **dict(zip(extras, rest)))
        return [y, total] if sums else y
    return Case(name, inputs, reference, a, order=order, factor=64)


def with_parameter_gradients(module, names, given, run):
    """The outputs of run(module) with these parameters, and the gradient of Σ y² by each of them, as the driver has them."""
    weights = {name: w.detach().clone().requires_grad_(True) for name, w in zip(names, given)}
    class Call(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = module
        def forward(self):
            return run(self.inner)
    outputs = torch.func.functional_call(Call(), {"inner." + name: w for name, w in weights.items()}, ())
    outputs = [x for x in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]
    found = torch.autograd.grad((outputs[0] * outputs[0]).sum(), list(weights.values()), retain_graph=True)
    return outputs + [x.detach() for x in found]


def parameters_of(draw, module, dtype):
    names = [name for name, _ in module.named_parameters()]
    return names, [draw.tensor(list(w.shape), dtype, -0.7, 0.7) for _, w in module.named_parameters()]


@case_of("nn.MultiheadAttention")
def multihead(draw, name):
    dtype = draw.choice(["f64", "f32"])
    heads = draw.choice([1, 2, 3])
    width, length, keys, batch = heads * draw.choice([2, 3]), draw.size(1), draw.size(1), draw.choice([1, 2, 3])
    same = draw.chance(0.4)
    kdim, vdim = (width, width) if same or draw.chance(0.5) else (draw.choice([3, 5]), draw.choice([4, width]))
    keys = length if same else keys
    batched, first = draw.chance(0.8), draw.chance(0.5)
    options = {"bias": draw.chance(0.7), "add_bias_kv": draw.chance(0.2), "add_zero_attn": draw.chance(0.2)}
    module = nn.MultiheadAttention(width, heads, kdim=kdim, vdim=vdim, batch_first=first, **options)
    def shape(t, features):
        return [t, features] if not batched else [batch, t, features] if first else [t, batch, features]
    inputs = [draw.tensor(shape(length, width), dtype), draw.tensor(shape(keys, kdim), dtype), draw.tensor(shape(keys, vdim), dtype)]
    a = {"heads": heads, "with_bias": options["bias"], "add_bias_kv": options["add_bias_kv"], "add_zero_attn": options["add_zero_attn"], "batch_first": first,
         "same": same, "average": draw.chance(0.5)}
    extras = []
    if draw.chance(0.3):
        mask = draw.tensor([batch, keys] if batched else [keys], "bool") if draw.chance(0.7) else draw.tensor([batch, keys] if batched else [keys], dtype)
        if mask.dtype == torch.bool:
            mask[..., 0] = False
        extras.append(("key_padding_mask", mask))
    # PyTorch's is_causal is only a hint that attn_mask is causal.
    causal = draw.chance(0.3) and not (extras and extras[0][1].dtype != torch.bool)
    if not causal and draw.chance(0.4) and not (extras and extras[0][1].dtype != torch.bool):
        mask = draw.tensor(draw.choice([[length, keys], [(batch if batched else 1) * heads, length, keys]]), "bool")
        mask[..., 0] = False
        extras.append(("attn_mask", mask))
    a["is_causal"] = causal
    for key, mask in extras:
        a[key] = True
        inputs.append(mask)
    a["names"], given = parameters_of(draw, module, dtype)
    inputs += given
    def reference(q, k, v, *rest):
        masks = dict(zip([key for key, _ in extras], rest))
        if causal:
            masks["attn_mask"] = torch.triu(torch.ones(length, keys, dtype=torch.bool), 1)
        def run(inner):
            inner.to(q.dtype)
            return inner(q, q if same else k, q if same else v, average_attn_weights=a["average"], **masks)
        return with_parameter_gradients(module, a["names"], [w.to(q.dtype) for w in rest[len(extras):]], run)
    return Case(name, inputs, reference, a, wanted=[0] if same else [0, 1, 2], order=draw.choice([0, 1]), factor=256)


@case_of("nn.TransformerEncoder", "nn.TransformerDecoder")
def transformers(draw, name):
    dtype = draw.choice(["f64", "f32"])
    heads = draw.choice([1, 2])
    width, length, keys, batch = heads * 4, draw.size(1), draw.size(1), draw.choice([1, 2, 3])
    first, gelu, norm_first, norm = (draw.chance(0.5) for _ in range(4))
    layers, causal, padding = draw.choice([1, 2]), draw.chance(0.4), draw.chance(0.4)
    a = {"heads": heads, "dim_feedforward": 8, "batch_first": first, "gelu": gelu, "norm_first": norm_first, "norm": norm, "layers": layers, "is_causal": causal,
         "padding": padding}
    decodes = name == "nn.TransformerDecoder"
    kind = nn.TransformerDecoderLayer if decodes else nn.TransformerEncoderLayer
    layer = kind(width, heads, 8, dropout=0.0, activation="gelu" if gelu else "relu", batch_first=first, norm_first=norm_first)
    final = nn.LayerNorm(width) if norm else None
    module = nn.TransformerDecoder(layer, layers, final) if decodes else nn.TransformerEncoder(layer, layers, final, enable_nested_tensor=False)
    module.train()
    def shape(t):
        return [batch, t, width] if first else [t, batch, width]
    inputs = [draw.tensor(shape(length), dtype)] + ([draw.tensor(shape(keys), dtype)] if decodes else [])
    data = len(inputs)
    if padding:
        mask = draw.tensor([batch, keys if decodes else length], "bool")
        mask[:, 0] = False
        inputs.append(mask)
    a["names"], given = parameters_of(draw, module, dtype)
    inputs += given
    def reference(*all_inputs):
        x = all_inputs[:data]
        hidden = torch.triu(torch.ones(length, length, dtype=torch.bool), 1) if causal else None
        pad = all_inputs[data] if padding else None
        def run(inner):
            inner.to(x[0].dtype)
            if decodes:
                return inner(x[0], x[1], tgt_mask=hidden, memory_key_padding_mask=pad)
            return inner(x[0], mask=hidden, src_key_padding_mask=pad)
        return with_parameter_gradients(module, a["names"], [w.to(x[0].dtype) for w in all_inputs[data + padding:]], run)
    return Case(name, inputs, reference, a, wanted=list(range(data)), order=draw.choice([0, 1]), factor=1024)


@case_of("nn.AdaptiveLogSoftmaxWithLoss")
def adaptive_softmax(draw, name):
    dtype = draw.choice(["f64", "f32"])
    features, rows = draw.choice([8, 12, 17]), draw.size(1)
    cutoffs = draw.choice([[3], [2, 5], [1, 4, 9]])
    classes = cutoffs[-1] + draw.choice([1, 2, 7])
    a = {"cutoffs": cutoffs, "classes": classes, "div_value": draw.choice([1.5, 2.0]), "head_bias": draw.chance(0.5)}
    module = nn.AdaptiveLogSoftmaxWithLoss(features, classes, cutoffs, div_value=a["div_value"], head_bias=a["head_bias"])
    labels = torch.randint(0, classes, [rows], generator=draw.generator)
    a["names"], given = parameters_of(draw, module, dtype)
    inputs = [draw.tensor([rows, features], dtype), labels] + given
    def reference(x, label, *weights):
        def run(inner):
            inner.to(x.dtype)
            output, loss = inner(x, label)
            return [output, loss, inner.log_prob(x)]
        return with_parameter_gradients(module, a["names"], [w.to(x.dtype) for w in weights], run)
    return Case(name, inputs, reference, a, wanted=[0], order=draw.choice([0, 1]), factor=256, lazy=True)
