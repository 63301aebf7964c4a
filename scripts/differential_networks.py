"""Cases for differential.py: products, convolutions, pooling, normalisation, losses, layers, optimisers and schedules."""
import math

import torch
import torch.nn.functional as F

from differential_cases import Case, collector, order_of

CASES, case_of = collector()
REDUCTION = ["none", "sum", "mean"]


@case_of("matmul", "mm", "bmm", "mv", "dot", "outer", "linear", "addmm", "nn.Linear", "nn.Bilinear")
def products(draw, name):
    dtype = draw.floats()
    order = order_of(draw, dtype)
    m, k, n = draw.size(), draw.size(1), draw.size()
    def t(*shape):
        return draw.tensor(list(shape), dtype, -2, 2)
    if name == "matmul":
        batch = draw.shape(0, 2)
        one = [1 if draw.chance(0.3) else size for size in batch]
        pairs = [([k], [k]), ([m, k], [k]), ([k], [k, n]), ([*batch, m, k], [*one, k, n]), ([m, k], [*batch, k, n])]
        a, b = draw.choice(pairs)
        return Case(name, [t(*a), t(*b)], torch.matmul, order=order, factor=64)
    table = {"mm": ([t(m, k), t(k, n)], torch.mm), "bmm": ([t(3, m, k), t(3, k, n)], torch.bmm), "mv": ([t(m, k), t(k)], torch.mv), "dot": ([t(k), t(k)], torch.dot),
             "outer": ([t(m), t(n)], torch.outer), "linear": ([t(*draw.shape(0, 2), k), t(max(n, 1), k), t(max(n, 1))], F.linear)}
    if name in table:
        return Case(name, *table[name], order=order, factor=64)
    if name == "addmm":
        beta, alpha = draw.choice([0.5, 1, 2]), draw.choice([1, -1.5])
        return Case(name, [draw.choice([t(m, n), t(n), t(1, n)]), t(m, k), t(k, n)], lambda c, a, b: torch.addmm(c, a, b, beta=beta, alpha=alpha),
                    {"beta": beta, "alpha": alpha}, order=order, factor=64)
    if name == "nn.Linear":
        return Case(name, [t(m, k), t(n + 1, k), t(n + 1)], F.linear, wanted=[0], order=order, factor=64, lazy=True)
    return Case(name, [t(m, k), t(m, 3), t(n + 1, k, 3), t(n + 1)], F.bilinear, wanted=[0, 1], order=min(order, 1), factor=64, lazy=True)


@case_of("einsum")
def sums_of_products(draw, name):
    dtype = draw.floats()
    letters = draw.random.sample("abcdefXYZ", draw.random.randint(1, 5))
    sizes = {letter: draw.choice([1, 2, 3, 4, 5]) for letter in letters}
    dots = draw.choice([None, None, [2], [3, 2], []])
    groups, shapes = [], []
    for _ in range(draw.choice([1, 2, 2, 2, 3])):
        mine = [draw.choice(letters) for _ in range(draw.random.randint(0, 3))] if draw.chance(0.1) else draw.random.sample(letters, draw.random.randint(0, min(3, len(letters))))
        repeated = len(set(mine)) < len(mine)
        shape = [1 if draw.chance(0.1) and not repeated else sizes[letter] for letter in mine]
        group = "".join(mine)
        if dots is not None and draw.chance(0.7):
            lead = dots[draw.random.randint(0, len(dots)):]
            at = draw.random.randint(0, len(mine))
            group = group[:at] + "..." + group[at:]
            shape = shape[:at] + [1 if draw.chance(0.2) else size for size in lead] + shape[at:]
        groups.append(group)
        shapes.append(shape)
    used = sorted({letter for group in groups for letter in group if letter != "."})
    equation = ",".join(groups)
    if draw.chance(0.7):
        result = "".join(draw.random.sample(used, draw.random.randint(0, len(used))))
        equation += "->" + ("..." if dots is not None or draw.chance(0.1) else "") + result
    tensors = [draw.tensor(shape, dtype, -2, 2) for shape in shapes]
    return Case(name, tensors, lambda *t: torch.einsum(equation, *t), {"equation": equation}, order=order_of(draw, dtype), factor=128)


@case_of("cosine_similarity", "cdist")
def distances(draw, name):
    dtype = draw.floats()
    order = order_of(draw, dtype)
    if name == "cdist":
        p, batch, d = draw.choice([2.0, 2.0, 1.0, 3.0, "inf", 0.5]), draw.shape(0, 2, 1), draw.size(1)
        a, b = draw.tensor(batch + [draw.size(1), d], dtype, 0.5, 3), draw.tensor(batch + [draw.size(1), d], dtype, -3, -0.5)
        def distance(x, y):  # torch.cdist has few dtypes and derivatives
            return torch.linalg.vector_norm(x.unsqueeze(-2) - y.unsqueeze(-3), float(p), -1)
        return Case(name, [a, b], distance, {"p": p}, order=order if p == 2 else min(order, 1), factor=64)
    shape = draw.shape(1, 3, 1)
    axis = draw.axis(len(shape))
    other = [1 if draw.chance(0.2) and i != axis % len(shape) else size for i, size in enumerate(shape)]
    a, b = draw.tensor(shape, dtype, 0.5, 3), draw.tensor(other, dtype, -3, -0.5)
    return Case(name, [a, b], lambda x, y: F.cosine_similarity(x, y, axis), {"axis": axis}, order=order, factor=64)


@case_of("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "nn.Conv2d", "nn.ConvTranspose2d")
def convolutions(draw, name):
    axes = 2 if name.startswith("nn.") else int(name[-2])
    transposed = "ranspose" in name
    dtype = draw.choice(["f64", "f32", "f32", "f16"])
    order = order_of(draw, dtype)
    pick = lambda items: [draw.choice(items) for _ in range(axes)]
    groups = draw.choice([1, 1, 2, 3])
    inputs, outputs = groups * draw.choice([1, 2, 3]), groups * draw.choice([1, 2])
    window, stride, dilation = pick([1, 2, 3]), pick([1, 1, 2, 3]), pick([1, 1, 2, 3])
    padding = pick([0, 0, 1, 2])
    size = [max(d * (w - 1) + 1 - 2 * p, 1) + draw.choice([0, 1, 2, 4, 5]) for w, d, p in zip(window, dilation, padding)]
    batch = [] if draw.chance(0.2) and not name.startswith("nn.") else [draw.choice([1, 2, 3])]
    attributes = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    x = draw.tensor(batch + [inputs] + size, dtype, -2, 2)
    if transposed:
        weight = draw.tensor([inputs, outputs // groups] + window, dtype, -2, 2)
        extra = [draw.random.randrange(max(s, d)) for s, d in zip(stride, dilation)]
        attributes["output_padding"] = extra
        length = [(n - 1) * s - 2 * p + d * (w - 1) + e + 1 for n, s, p, d, w, e in zip(size, stride, padding, dilation, window, extra)]
        function = getattr(F, f"conv_transpose{axes}d")
        if name.startswith("nn."):
            attributes.update(dilation=[1, 1], groups=1, output_padding=[0, 0])
            weight = draw.tensor([inputs, outputs] + window, dtype, -2, 2)
            length = [(n - 1) * s - 2 * p + w for n, s, p, w in zip(size, stride, padding, window)]
        if min(length) < 1:
            return convolutions(draw, name)
        bias = draw.tensor([weight.shape[1] * attributes["groups"]], dtype)
        call = lambda x, w, b: function(x, w, b, stride, padding, attributes["output_padding"], attributes["groups"], attributes["dilation"])
    else:
        weight, bias = draw.tensor([outputs, inputs // groups] + window, dtype, -2, 2), draw.tensor([outputs], dtype)
        function = getattr(F, f"conv{axes}d")
        if name.startswith("nn."):
            attributes["dilation"] = [1, 1]
        call = lambda x, w, b: function(x, w, b, stride, padding, attributes["dilation"], groups)
    lazy = name.startswith("nn.")
    return Case(name, [x, weight, bias], call, attributes, wanted=[0] if lazy else None, order=order, factor=64, lazy=lazy)


@case_of(*(f"{kind}_pool{axes}d" for kind in ("max", "avg", "adaptive_avg", "adaptive_max") for axes in (1, 2, 3)), "global_avg_pool", "global_max_pool")
def pooling(draw, name):
    dtype = draw.choice(["f64", "f32", "f32", "f16"])
    order = order_of(draw, dtype)
    if name.startswith("global"):
        x = draw.tensor([draw.size(), draw.size(1)] + draw.shape(1, 3, 1), dtype)
        axes = list(range(2, x.dim()))
        return Case(name, [x], (lambda t: t.mean(axes)) if "avg" in name else (lambda t: torch.amax(t, axes)), order=order if "avg" in name else min(order, 1), factor=32)
    axes = int(name[-2])
    x = draw.tensor([draw.choice([1, 2]), draw.choice([1, 2, 3])] + [draw.choice([3, 4, 5, 7, 8]) for _ in range(axes)], dtype)
    if "max" in name:  # without ties: the gradient goes to one of equals
        x = torch.argsort(torch.rand([x.numel()], generator=draw.generator)).reshape(x.shape).to(x.dtype) / 64
    if draw.chance(0.2):
        x = x[0]
    function = getattr(F, name)
    pick = lambda items: [draw.choice(items) for _ in range(axes)]
    if name.startswith("adaptive"):
        output = pick([1, 2, 3])
        return Case(name, [x], lambda t: function(t, output), {"output": output}, order=order if "avg" in name else min(order, 1), factor=16)
    window, stride = pick([1, 2, 3]), pick([1, 2, 3])
    padding = [draw.random.randint(0, w // 2) for w in window]
    attributes = {"window": window, "stride": stride, "padding": padding, "ceil_mode": draw.chance(0.5)}
    if name.startswith("max"):
        return Case(name, [x], lambda t: function(t, window, stride, padding, ceil_mode=attributes["ceil_mode"]), attributes, order=min(order, 1))
    attributes["count_include_pad"] = draw.chance(0.5)
    return Case(name, [x], lambda t: function(t, window, stride, padding, attributes["ceil_mode"], attributes["count_include_pad"]), attributes, order=order, factor=16)


@case_of(*(f"max_{kind}" for kind in ("pool1d_with_indices", "pool2d_with_indices", "pool3d_with_indices", "unpool1d", "unpool2d", "unpool3d")))
def pooling_with_places(draw, name):
    dtype = draw.choice(["f64", "f32", "f16"])
    axes = int(name[name.index("pool") + 4])
    pick = lambda items: [draw.choice(items) for _ in range(axes)]
    x = draw.tensor([draw.choice([1, 2]), draw.choice([1, 2, 3])] + pick([5, 6, 7, 9]), dtype)
    x = torch.argsort(torch.rand([x.numel()], generator=draw.generator)).reshape(x.shape).to(x.dtype) / 64  # without ties
    if draw.chance(0.2):
        x = x[0]
    window = pick([1, 2, 3])
    if "unpool" in name:  # there and back: windows that do not overlap name no place twice
        pool, back, size = getattr(F, f"max_pool{axes}d"), getattr(F, name), x.shape[-axes:]
        def there_and_back(t):
            values, places = pool(t, window, return_indices=True)
            return back(values, places, window, output_size=size)
        return Case(name, [x], there_and_back, {"window": window}, order=1)
    stride, dilation = pick([1, 2, 3]), pick([1, 2])
    padding, ceil = [draw.random.randint(0, w // 2) for w in window], draw.chance(0.3)
    function = getattr(F, name)
    return Case(name, [x], lambda t: list(function(t, window, stride, padding, dilation, ceil)),
                {"window": window, "stride": stride, "padding": padding, "dilation": dilation, "ceil_mode": ceil}, order=1)


@case_of("batch_norm_training", "batch_norm", "layer_norm", "rms_norm", "group_norm", "instance_norm", "local_response_norm", "l2_normalize", "dropout", "maxout",
         "nn.BatchNorm2d", "nn.LayerNorm", "nn.RMSNorm", "nn.GroupNorm", "nn.InstanceNorm2d", "nn.PReLU", "nn.Flatten")
def normalisations(draw, name):
    dtype = draw.floats()
    order = order_of(draw, dtype)
    channels = 2 * draw.random.randint(1, 3)
    spatial = [draw.choice([2, 3, 4, 5]) for _ in range(draw.choice([1, 2, 3]))]
    x = draw.tensor([draw.choice([2, 3, 5]), channels] + spatial, dtype, -3, 3)
    x = x + torch.arange(x.numel(), dtype=torch.float64).reshape(x.shape).sin().to(x.dtype)  # no variance of 0
    w, b = draw.tensor([channels], dtype, 0.5, 2), draw.tensor([channels], dtype)
    lazy = name.startswith("nn.")
    def done(inputs, function, factor=256, **attributes):
        return Case(name, inputs, function, attributes, order=min(order, 1) if lazy else order, wanted=[0] if lazy else None, factor=factor, lazy=lazy)
    if name == "batch_norm_training":
        return done([x, w, b], lambda x, w, b: F.batch_norm(x, None, None, w, b, True, eps=1e-3), eps=1e-3)
    if name == "batch_norm":
        shape = [1, channels] + [1] * len(spatial)
        def with_statistics(x, m, v, w, b):  # F.batch_norm has no gradient for them
            m, v, w, b = (t.reshape(shape) for t in (m, v, w, b))
            return (x - m) * torch.rsqrt(v + 1e-3) * w + b
        return done([x, b, w * w, w, b], with_statistics, eps=1e-3)
    if name in ("layer_norm", "rms_norm", "nn.LayerNorm", "nn.RMSNorm"):
        shape = list(x.shape[-draw.random.randint(1, x.dim() - 1):])
        weight, bias = draw.tensor(shape, dtype, 0.5, 2), draw.tensor(shape, dtype)
        eps = 1e-5 if not lazy or "Layer" in name else 1e-6
        if "ayer" in name:
            return done([x, weight, bias], lambda x, w, b: F.layer_norm(x, shape, w, b, eps), shape=shape)
        return done([x, weight], lambda x, w: F.rms_norm(x, shape, w, eps), shape=shape)
    if name in ("group_norm", "nn.GroupNorm"):
        groups = draw.choice([1, 2, channels])
        return done([x, w, b], lambda x, w, b: F.group_norm(x, groups, w, b), groups=groups)
    if name == "instance_norm":
        return done([x, w, b], lambda x, w, b: F.instance_norm(x, None, None, w, b))
    if name == "nn.InstanceNorm2d":
        return done([x.reshape(x.shape[0], channels, spatial[0], -1)], F.instance_norm)
    if name == "local_response_norm":
        size, alpha = draw.choice([1, 2, 3, 5]), draw.choice([1e-2, 0.5])
        return done([x], lambda t: F.local_response_norm(t, size, alpha, 0.75, 1.5), size=size, alpha=alpha, beta=0.75, k=1.5)
    if name == "l2_normalize":
        axis = draw.axis(x.dim())
        return done([x], lambda t: F.normalize(t, dim=axis), axis=axis)
    if name == "dropout":
        return done([x], lambda t: t * 1, p=0)
    if name == "maxout":
        x = torch.argsort(torch.rand([x.numel()], generator=draw.generator)).reshape(x.shape).to(x.dtype) / 64
        return done([x], lambda t: t.reshape(t.shape[0], channels // 2, 2, *spatial).amax(2), groups=2)
    if name == "nn.PReLU":
        return done([x.float(), w.float()], F.prelu)
    if name == "nn.Flatten":
        return done([x], lambda t: t.flatten(1))
    steps = draw.tensor([3, 4, channels, 3, 2], draw.choice(["f64", "f32"]))
    w, b = w.to(steps.dtype), b.to(steps.dtype)
    momentum = draw.choice([0.1, 0.5, 1.0])
    def trained(x, w, b):
        mean, var = torch.zeros_like(w), torch.ones_like(w)
        out = [F.batch_norm(one, mean, var, w, b, True, momentum) for one in x]
        return out + [F.batch_norm(x[0], mean, var, w, b, False), mean, var]
    return Case(name, [steps, w, b], trained, {"momentum": momentum}, wanted=[], factor=256, lazy=True)


@case_of("mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div", "hinge_loss",
         "cosine_embedding_loss", "triplet_margin_loss")
def losses(draw, name):
    dtype = draw.floats()
    order, how = order_of(draw, dtype), draw.choice(REDUCTION)
    shape = draw.shape(1, 3, 1)
    x, y = draw.tensor(shape, dtype), draw.tensor(shape, dtype)
    attributes = {"reduction": how}
    size = draw.choice([0.5, 1.0, 2.0])
    share = draw.tensor(shape, dtype, 0.05, 0.95)
    sign = torch.where(draw.tensor(shape, "bool"), 1.0, -1.0).to(x.dtype)
    def done(inputs, function, factor=16, **more):
        return Case(name, inputs, function, {**attributes, **more}, order=order, factor=factor)
    if name == "mse_loss":
        return done([x, y], lambda x, y: F.mse_loss(x, y, reduction=how))
    if name == "l1_loss":
        return done([x, y], lambda x, y: F.l1_loss(x, y, reduction=how))
    if name == "huber_loss":
        return done([x, y], lambda x, y: F.huber_loss(x, y, reduction=how, delta=size), delta=size)
    if name == "smooth_l1_loss":
        return done([x, y], lambda x, y: F.smooth_l1_loss(x, y, reduction=how, beta=size), beta=size)
    if name == "hinge_loss":
        mean = {"none": lambda t: t, "sum": torch.sum, "mean": torch.mean}[how]
        return done([x, sign], lambda x, t: mean(F.relu(1 - t * x)))
    if name == "binary_cross_entropy":
        target = draw.tensor(shape, dtype, 0, 1)
        return Case(name, [share, target], lambda x, t: F.binary_cross_entropy(x, t, reduction=how), attributes, wanted=[0], order=min(order, 1), factor=64)
    if name == "binary_cross_entropy_with_logits":
        target = draw.tensor(shape, dtype, 0, 1)
        if draw.chance(0.5):
            weight = draw.tensor(shape[-1:], dtype, 0.5, 3)
            return Case(name, [x, target, weight], lambda x, t, w: F.binary_cross_entropy_with_logits(x, t, reduction=how, pos_weight=w), attributes, wanted=[0],
                        order=order, factor=32)
        return Case(name, [x, target], lambda x, t: F.binary_cross_entropy_with_logits(x, t, reduction=how), attributes, wanted=[0], order=order, factor=32)
    if name == "kl_div":
        log_target, how = draw.chance(0.5), draw.choice(REDUCTION + ["batchmean"])
        attributes["reduction"] = how
        return Case(name, [x, y if log_target else share], lambda x, t: F.kl_div(x, t, reduction=how, log_target=log_target), {**attributes, "log_target": log_target},
                    wanted=[0], order=min(order, 1), factor=16)
    n, d = draw.size(1), draw.size(2)
    a, b, c = (draw.tensor([n, d], dtype, 0.5, 3) for _ in range(3))
    if name == "triplet_margin_loss":
        return Case(name, [a, -b, c], lambda a, p, n: F.triplet_margin_loss(a, p, n, margin=size, reduction=how), {**attributes, "margin": size}, order=min(order, 1), factor=64)
    target = torch.where(draw.tensor([n], "bool"), 1, -1)
    return Case(name, [a, b, target], lambda a, b, t: F.cosine_embedding_loss(a, b, t, margin=0.3, reduction=how), {**attributes, "margin": 0.3}, order=min(order, 1), factor=64)


@case_of("cross_entropy", "nll_loss", "multi_margin_loss")
def class_losses(draw, name):
    dtype = draw.floats()
    order, how = order_of(draw, dtype), draw.choice(REDUCTION)
    n, classes = draw.size(1), draw.size(2)
    more = draw.shape(0, 2, 1) if name != "multi_margin_loss" else []
    scores = draw.tensor([n, classes] + more, dtype, -4, 4)
    labels = torch.randint(0, classes, [n] + more, generator=draw.generator)
    attributes, inputs = {"reduction": how}, [scores, labels]
    if name == "multi_margin_loss":
        return Case(name, inputs, lambda x, l: F.multi_margin_loss(x, l, margin=0.7, reduction=how), {**attributes, "margin": 0.7}, order=min(order, 1), factor=16)
    weight = draw.tensor([classes], dtype, 0.5, 2) if draw.chance(0.4) else None
    inputs += [weight] if weight is not None else []
    smoothing = draw.choice([0, 0, 0.1]) if name == "cross_entropy" else 0
    ignored = -100
    if draw.chance(0.4) and labels.numel() > 1:
        ignored = int(labels.reshape(-1)[0])
        if bool((labels != ignored).any()):
            attributes["ignore_index"] = ignored
        else:
            ignored = -100
    if name == "nll_loss":
        return Case(name, inputs, lambda x, l, w=None: F.nll_loss(x, l, w, reduction=how, ignore_index=ignored), attributes, wanted=[0], order=order, factor=32)
    if draw.chance(0.2):  # probabilities instead of numbers
        target = F.softmax(draw.tensor(scores.shape, "f64"), 1).to(scores.dtype)
        attributes.pop("ignore_index", None)
        return Case(name, [scores, target], lambda x, t: F.cross_entropy(x, t, reduction=how), attributes, wanted=[0], order=order, factor=32)
    attributes["label_smoothing"] = smoothing
    return Case(name, inputs, lambda x, l, w=None: F.cross_entropy(x, l, w, reduction=how, ignore_index=ignored, label_smoothing=smoothing), attributes, wanted=[0],
                order=order, factor=32)


OPTIMIZERS = {
    "SGD": lambda d: {"lr": 0.1, "momentum": (m := d.choice([0, 0.9])), "weight_decay": d.choice([0, 0.1]), **({"nesterov": True} if m and d.chance(0.5) else {"dampening": d.choice([0, 0.3])})},
    "Adam": lambda d: {"lr": 0.05, "weight_decay": d.choice([0, 0.1]), "amsgrad": d.chance(0.5), "eps": d.choice([1e-8, 1e-3])},
    "AdamW": lambda d: {"lr": 0.05, "weight_decay": d.choice([0, 0.1]), "amsgrad": d.chance(0.5)},
    "RMSprop": lambda d: {"lr": 0.05, "alpha": d.choice([0.9, 0.5]), "momentum": d.choice([0, 0.9]), "centered": d.chance(0.5), "weight_decay": d.choice([0, 0.1]), "eps": 1e-3},
    "Adagrad": lambda d: {"lr": 0.1, "lr_decay": d.choice([0, 0.1]), "weight_decay": d.choice([0, 0.1]), "initial_accumulator_value": d.choice([0, 0.5]), "eps": 1e-6},
    "Adafactor": lambda d: {"lr": d.choice([0.05, 0.5]), "weight_decay": d.choice([0, 0.1]), "d": d.choice([1.0, 2.0]), "beta2_decay": d.choice([-0.8, -0.5])},
    "Adadelta": lambda d: {"lr": d.choice([1, 0.5]), "rho": d.choice([0.9, 0.5]), "weight_decay": d.choice([0, 0.1])}}


@case_of(*("optim." + name for name in OPTIMIZERS), "optim.clip_grad_norm", "optim.clip_grad_value")
def optimizers(draw, name):
    dtype = draw.choice(["f64", "f32"])
    shape = draw.shape(0, 2, 1)
    tensors = [draw.tensor(shape, dtype, -2, 2) for _ in range(draw.random.randint(2, 5))]
    if "clip" in name:
        limit = draw.choice([0.1, 1.0, 100.0])
        def clipped(*gradients):
            ps = [torch.nn.Parameter(torch.zeros_like(g)) for g in gradients]
            for p, g in zip(ps, gradients):
                p.grad = g.clone()
            norm = (torch.nn.utils.clip_grad_norm_ if "norm" in name else torch.nn.utils.clip_grad_value_)(ps, limit)
            return [p.grad for p in ps] + ([norm] if "norm" in name else [])
        return Case(name, tensors, clipped, {"limit": limit}, wanted=[], factor=16)
    attributes = OPTIMIZERS[name.removeprefix("optim.")](draw)
    def steps(p, *gradients):
        p = torch.nn.Parameter(p.clone())
        optimizer = getattr(torch.optim, name.removeprefix("optim."))([p], **attributes)
        out = []
        for g in gradients:
            p.grad = g.clone()
            optimizer.step()
            out.append(p.detach().clone())
        return out
    return Case(name, tensors, steps, attributes, wanted=[], factor=2000, lazy=True)


@case_of("optim.EMA", "optim.SWA")
def averages(draw, name):
    shape = draw.shape(0, 2, 1)
    values = [draw.tensor(shape, "f64", -2, 2) for _ in range(draw.random.randint(1, 5))]
    decay = draw.choice([0.5, 0.9, 0.999])
    def averaged(*values):
        class Holder(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.p = torch.nn.Parameter(values[0].clone())
        holder = Holder()
        function = torch.optim.swa_utils.get_ema_avg_fn(decay) if name.endswith("EMA") else None
        average, out = torch.optim.swa_utils.AveragedModel(holder, avg_fn=function), []
        for value in values:
            with torch.no_grad():
                holder.p.copy_(value)
            average.update_parameters(holder)
            out.append(average.module.p.detach().clone())
        return out
    return Case(name, values, averaged, {"decay": decay}, wanted=[], factor=16, lazy=True)


@case_of("nn.WeightNorm", "nn.SpectralNorm")
def reparametrized(draw, name):
    dtype = draw.choice(["f64", "f32"])
    order, n, inputs, outputs = order_of(draw, dtype), draw.size(1), draw.random.randint(2, 7), draw.random.randint(2, 7)
    x, w = draw.tensor([n, inputs], dtype, -2, 2), draw.tensor([outputs, inputs], dtype, 0.5, 2)
    if name == "nn.WeightNorm":
        return Case(name, [x, w, draw.tensor([outputs, 1], dtype)], lambda x, v, g: F.linear(x, torch._weight_norm(v, g, 0)), wanted=[0], order=order, factor=64, lazy=True)
    u, v, iterations = draw.tensor([outputs], dtype, 0.5, 1), draw.tensor([inputs], dtype, 0.5, 1), draw.choice([1, 2, 3])
    def spectral(x, w, u, v):
        layer = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(inputs, outputs, bias=False, dtype=x.dtype), n_power_iterations=iterations)
        norm = layer.parametrizations.weight
        with torch.no_grad():
            norm.original.copy_(w)
            norm[0]._u.copy_(u)
            norm[0]._v.copy_(v)
        first, second = layer(x), layer(x)
        layer.eval()
        return [first, second, layer(x)]
    return Case(name, [x, w, u, v], spectral, {"iterations": iterations}, wanted=[0], order=min(order, 1), factor=128, lazy=True)


@case_of("optim.StepLR", "optim.MultiStepLR", "optim.ExponentialLR", "optim.CosineLR", "optim.CosineRestartsLR", "optim.OneCycleLR", "optim.PlateauLR")
def schedules(draw, name):
    count, total = 20, draw.choice([5, 10, 25])
    torch_schedules = torch.optim.lr_scheduler
    attributes = {"base": 0.5, "count": count}
    def rates(make, n=count, base=0.5):
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=base)
        schedule, out = make(optimizer), []
        for _ in range(n):
            out.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            schedule.step()
        return torch.tensor(out, dtype=torch.float64)
    gamma = draw.choice([0.1, 0.5])
    if name.endswith("MultiStepLR"):
        milestones = sorted(draw.random.sample(range(1, 15), 3))
        return Case(name, [], lambda: rates(lambda o: torch_schedules.MultiStepLR(o, milestones, gamma)), {**attributes, "milestones": milestones, "gamma": gamma}, factor=64)
    if name.endswith("StepLR"):
        return Case(name, [], lambda: rates(lambda o: torch_schedules.StepLR(o, total, gamma)), {**attributes, "step_size": total, "gamma": gamma}, factor=64)
    if name.endswith("ExponentialLR"):
        return Case(name, [], lambda: rates(lambda o: torch_schedules.ExponentialLR(o, gamma)), {**attributes, "gamma": gamma}, factor=64)
    if name.endswith("CosineLR"):  # PyTorch's rises again after T_max
        return Case(name, [], lambda: rates(lambda o: torch_schedules.CosineAnnealingLR(o, total, 0.1), total), {**attributes, "count": total, "total": total, "minimum": 0.1},
                    factor=4096)
    if name.endswith("CosineRestartsLR"):
        times = draw.choice([1, 2, 3])
        return Case(name, [], lambda: rates(lambda o: torch_schedules.CosineAnnealingWarmRestarts(o, total, times, 0.1), 60),
                    {**attributes, "count": 60, "period": total, "multiplier": times, "minimum": 0.1}, factor=4096)
    if name.endswith("OneCycleLR"):
        linear, share = draw.chance(0.5), draw.choice([0.3, 0.5])
        return Case(name, [], lambda: rates(lambda o: torch_schedules.OneCycleLR(o, 0.5, total_steps=total, pct_start=share, cycle_momentum=False,
                                                                                anneal_strategy="linear" if linear else "cos"), total - 1),
                    {"maximum": 0.5, "count": total - 1, "total": total, "pct_start": share, "linear": linear}, factor=4096)
    metrics = draw.tensor([25], "f64", 0, 3)
    if draw.chance(0.4):
        metrics[draw.random.randrange(25)] = draw.choice([math.nan, math.inf, -math.inf])
    options = {"factor": 0.5, "patience": draw.choice([0, 1, 3]), "threshold": draw.choice([1e-4, 0.1]), "cooldown": draw.choice([0, 2]), "min_lr": 0.05}
    goal = draw.choice(["min", "max"])
    def plateau(values):
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
        schedule, out = torch_schedules.ReduceLROnPlateau(optimizer, mode=goal, eps=0, **options), []
        for value in values:
            schedule.step(float(value))
            out.append(optimizer.param_groups[0]["lr"])
        return torch.tensor(out, dtype=torch.float64)
    return Case(name, [metrics], plateau, {**{k: v for k, v in options.items() if k != "min_lr"}, "minimum": 0.05, "max": goal == "max"}, wanted=[], factor=64, lazy=True)
