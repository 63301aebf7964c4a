"""Cases for differential.py: sums by rows, sparse matrices, boxes, losses of masks."""
import math

import torch

from differential_cases import Case, collector, order_of
from differential_linalg import torch_type

try:
    import torchvision
except ImportError:
    torchvision = None

CASES, case_of = collector()


@case_of("segment_sum", "segment_mean", "segment_max", "segment_softmax", "segment_take")
def segments(draw, name):
    dtype, rows, count = draw.floats(), draw.choice([1, 2, 5, 40]), draw.choice([0, 1, 2, 7, 100])
    index = torch.randint(0, rows, [count], generator=draw.generator)
    tail = draw.shape(0, 2, 1)
    taken = name == "segment_take"
    x = draw.tensor(([rows] if taken else [count]) + tail, dtype)
    if name in ("segment_max",):  # equal ones share a gradient; PyTorch's do as well
        x = (x + torch.linspace(0, 0.5, max(x.numel(), 1), dtype=torch.float64)[:x.numel()].reshape(x.shape)).to(x.dtype)

    def onto(t):
        return index.reshape([-1] + [1] * (t.dim() - 1)).expand_as(t)

    def total(t):
        return torch.zeros([rows] + list(t.shape[1:]), dtype=t.dtype).index_add(0, index, t)

    def reference(t, given):
        if taken:
            return t[index]
        if name == "segment_sum":
            return total(t)
        if name == "segment_mean":
            counts = torch.bincount(index, minlength=rows).clamp(min=1).to(t.dtype)
            return total(t) / counts.reshape([-1] + [1] * (t.dim() - 1))
        most = torch.full([rows] + list(t.shape[1:]), -math.inf, dtype=t.dtype).scatter_reduce(0, onto(t), t, "amax", include_self=True)
        if name == "segment_max":
            return most
        e = torch.exp(t - most.detach()[index])
        return e / total(e)[index]
    return Case(name, [x, index], reference, {"rows": rows}, order=min(order_of(draw, dtype), 1 if name == "segment_max" else 2), factor=64 + count,
                wanted=[0])


@case_of("sparse_matmul", "sparse_csr")
def sparse(draw, name):
    dtype, rows, columns, count = draw.choice(["f64", "f32"]), draw.choice([1, 3, 17]), draw.choice([1, 4, 9]), draw.choice([0, 1, 5, 60])
    row, column = (torch.randint(0, most, [count], generator=draw.generator) for most in (rows, columns))
    if name == "sparse_csr":
        row = row.sort().values
    values, b = draw.tensor([count], dtype), draw.tensor([columns] + draw.choice([[], [1], [3], [33]]), dtype)
    dense = lambda v: torch.zeros([rows, columns], dtype=v.dtype).index_put((row, column), v, accumulate=True)
    first = torch.cat([torch.zeros(1, dtype=torch.int64), torch.bincount(row, minlength=rows).cumsum(0)]) if name == "sparse_csr" else row
    return Case(name, [first, column, values, b], lambda r, c, v, u: dense(v) @ u, {"rows": rows, "columns": columns}, order=draw.choice([0, 1, 2]), factor=64, wanted=[2, 3])


@case_of("embedding_bag")
def bags(draw, name):
    dtype, rows, count, groups = draw.choice(["f64", "f32"]), draw.choice([1, 5, 40]), draw.choice([0, 1, 9, 60]), draw.choice([1, 2, 7])
    indices = torch.randint(0, rows, [count], generator=draw.generator)
    cuts = torch.randint(0, count + 1, [groups - 1], generator=draw.generator).sort().values
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), cuts, torch.tensor([count])])
    added = draw.chance(0.5)
    weight = draw.tensor([rows, draw.choice([1, 3, 64])], dtype)

    def reference(i, o, w):
        counts = (o[1:] - o[:-1])
        bag = torch.repeat_interleave(torch.arange(groups), counts)
        total = torch.zeros([groups, w.shape[1]], dtype=w.dtype).index_add(0, bag, w[i])
        return total if added else total / counts.clamp(min=1).to(w.dtype).unsqueeze(-1)
    return Case(name, [indices, offsets, weight], reference, {"sum": added}, order=draw.choice([0, 1, 2]), factor=64, wanted=[2])


def boxes(draw, count, dtype, most=20.0):
    corner = torch.rand([count, 2], generator=draw.generator, dtype=torch.float64) * most
    extent = torch.rand([count, 2], generator=draw.generator, dtype=torch.float64) * most / 2 + 0.5
    return torch.cat([corner, corner + extent], -1).to(torch_type(dtype))


def distance(a, b):
    """distance_box_iou without the 1e-7 that it adds to the diagonal."""
    a_, b_ = a[:, None], b[None]
    corner = torch.maximum(a_[..., 2:], b_[..., 2:]) - torch.minimum(a_[..., :2], b_[..., :2])
    between = (a_[..., :2] + a_[..., 2:] - b_[..., :2] - b_[..., 2:]) / 2
    return torchvision.ops.box_iou(a, b) - (between ** 2).sum(-1) / (corner ** 2).sum(-1)


@case_of("box_iou", "box_convert", "box_area", "clip_boxes", "encode_boxes", "decode_boxes")
def geometry(draw, name):
    dtype, n, at = draw.choice(["f64", "f32"]), draw.choice([0, 1, 2, 9]), draw.choice([0, 1])
    x = boxes(draw, n, dtype)
    if name == "box_iou":
        kind = draw.choice(["iou", "giou", "diou", "ciou"])
        y = boxes(draw, draw.choice([0, 1, 5]), dtype)
        function = {"iou": torchvision.ops.box_iou, "giou": torchvision.ops.generalized_box_iou, "diou": distance, "ciou": torchvision.ops.complete_box_iou}[kind]
        return Case(name, [x, y], function, {"kind": kind}, order=0 if kind == "ciou" else at, factor=2e9 if kind == "ciou" and dtype == "f64" else 256)  # it adds 1e-7 to a diagonal, and its weight has a gradient
    if name == "box_convert":
        source, target = (draw.choice(["xyxy", "xywh", "cxcywh"]) for _ in range(2))
        return Case(name, [x], lambda t: torchvision.ops.box_convert(t, source, target), {"from": source, "to": target}, order=at, factor=16)
    if name == "box_area":
        return Case(name, [x], torchvision.ops.box_area, order=at, factor=16)
    if name == "clip_boxes":
        return Case(name, [x], lambda t: torchvision.ops.clip_boxes_to_image(t, (13, 17)), {"height": 13, "width": 17}, order=at, factor=4)
    coder = torchvision.models.detection._utils.BoxCoder((10.0, 10.0, 5.0, 5.0))
    y = boxes(draw, n, dtype)
    if name == "encode_boxes":
        return Case(name, [x, y], coder.encode_single, order=at, factor=256)
    codes = draw.tensor([n, 4], dtype)
    return Case(name, [codes, y], lambda c, b: coder.decode_single(c, b), order=at, factor=256)


@case_of("nms")
def suppressed(draw, name):
    n, most, limit = draw.choice([0, 1, 2, 10, 40]), draw.choice([1, 4, 50]), draw.choice([0.1, 0.3, 0.5, 0.7])
    x, scores = boxes(draw, n, "f32"), torch.rand([n], generator=draw.generator)
    classes = [torch.randint(0, 3, [n], generator=draw.generator)] if draw.chance(0.4) else []

    def reference(b, s, *c):
        b, s = b.float(), s.float()
        kept = torchvision.ops.batched_nms(b, s, c[0], limit) if c else torchvision.ops.nms(b, s, limit)
        index = torch.full([most], -1, dtype=torch.int64)
        index[:min(most, len(kept))] = kept[:most]
        return index, torch.tensor(min(most, len(kept)))
    return Case(name, [x, scores] + classes, reference, {"iou": limit, "most": most}, native=True)


@case_of("roi_align", "roi_pool")
def regions(draw, name):
    dtype = draw.choice(["f64", "f32"])
    n, count = draw.choice([1, 2]), draw.choice([0, 1, 3])
    x = draw.tensor([n, draw.choice([1, 2]), draw.choice([4, 7, 9]), draw.choice([4, 7, 9])], dtype)
    images = torch.randint(0, n, [count], generator=draw.generator)
    scale, height, width = draw.choice([1.0, 0.5]), draw.choice([1, 2, 3]), draw.choice([1, 2, 3])
    where = boxes(draw, count, dtype, 8.0)
    attributes = {"scale": scale, "height": height, "width": width}
    joined = lambda b, i: torch.cat([i.to(b.dtype).unsqueeze(-1), b], -1)
    if name == "roi_pool":
        x = (x.double() + torch.linspace(0, 0.3, x.numel(), dtype=torch.float64).reshape(x.shape)).to(x.dtype)  # no ties
        return Case(name, [x, where, images], lambda t, b, i: torchvision.ops.roi_pool(t, joined(b, i), (height, width), scale), attributes, order=draw.choice([0, 1]), factor=64, wanted=[0])
    attributes |= {"samples": draw.choice([1, 2, 3]), "aligned": draw.chance(0.5)}
    return Case(name, [x, where, images],
                lambda t, b, i: torchvision.ops.roi_align(t, joined(b, i), (height, width), scale, attributes["samples"], attributes["aligned"]),
                attributes, order=draw.choice([0, 1]), factor=512, wanted=[0])


@case_of("sigmoid_focal_loss", "dice_loss")
def mask_losses(draw, name):
    dtype, how = draw.choice(["f64", "f32"]), draw.choice(["none", "mean", "sum"])
    shape = [draw.choice([1, 2, 5])] + draw.shape(1, 3, 1)
    if name == "dice_loss":
        smooth = draw.choice([1.0, 0.5])

        def dice(p, t):
            p, t = p.flatten(1), t.flatten(1)
            each = 1 - (2 * (p * t).sum(1) + smooth) / (p.sum(1) + t.sum(1) + smooth)
            return each if how == "none" else getattr(each, how)()
        return Case(name, [draw.tensor(shape, dtype, 0.0, 1.0), draw.tensor(shape, dtype, 0.0, 1.0)], dice, {"smooth": smooth, "reduction": how}, order=draw.choice([0, 1, 2]), factor=64)
    alpha, gamma = draw.choice([-1.0, 0.25, 0.5]), draw.choice([0.0, 1.0, 2.0])
    target = draw.tensor(shape, dtype, 0.0, 1.0)
    return Case(name, [draw.tensor(shape, dtype), target], lambda x, t: torchvision.ops.sigmoid_focal_loss(x, t, alpha, gamma, how), {"alpha": alpha, "gamma": gamma, "reduction": how},
                order=draw.choice([0, 1, 2]), factor=64, wanted=[0])


if torchvision is None:
    for missing in ("box_iou", "box_convert", "box_area", "clip_boxes", "encode_boxes", "decode_boxes", "nms", "roi_align", "roi_pool", "sigmoid_focal_loss"):
        CASES.pop(missing)
