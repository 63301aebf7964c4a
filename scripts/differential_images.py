"""Cases for differential.py: windows as columns, resizing, sampling at places."""
import torch
import torch.nn.functional as F

from differential_cases import EVERYTHING, Case, collector, order_of

CASES, case_of = collector()


@case_of("unfold", "fold", "pixel_shuffle", "pixel_unshuffle")
def windows(draw, name):
    dtype = draw.floats()
    order = order_of(draw, dtype)
    if name.startswith("pixel"):
        r, (h, w) = draw.choice([1, 2, 3]), (draw.size(1), draw.choice([1, 2, 3]))
        kind = draw.choice(EVERYTHING)
        shape = draw.shape(0, 2, 1) + ([2 * r * r, h, w] if name == "pixel_shuffle" else [2, h * r, w * r])
        return Case(name, [draw.tensor(shape, kind)], lambda t: getattr(F, name)(t, r), {"r": r}, order=order_of(draw, kind))
    pick = lambda items: [draw.choice(items) for _ in range(2)]
    window, stride, dilation, padding = pick([1, 2, 3]), pick([1, 1, 2, 3]), pick([1, 1, 2]), pick([0, 0, 1, 2])
    image = [max(d * (w - 1) + 1 - 2 * p, 1) + draw.choice([0, 1, 2, 5]) for w, d, p in zip(window, dilation, padding)]
    attributes = {"window": window, "stride": stride, "dilation": dilation, "padding": padding, "output": image}
    batch, channels = [] if draw.chance(0.2) else [draw.choice([1, 2, 3])], draw.choice([1, 2, 3])
    if name == "unfold":
        return Case(name, [draw.tensor(batch + [channels] + image, dtype)], lambda t: F.unfold(t, window, dilation, padding, stride), attributes, order=order, factor=32)
    places = [(n + 2 * p - d * (w - 1) - 1) // s + 1 for n, p, d, w, s in zip(image, padding, dilation, window, stride)]
    x = draw.tensor(batch + [channels * window[0] * window[1], places[0] * places[1]], dtype)
    return Case(name, [x], lambda t: F.fold(t, image, window, dilation, padding, stride), attributes, order=order, factor=32)


MODES = {1: ["nearest", "nearest-exact", "linear", "area"], 2: ["nearest", "nearest-exact", "bilinear", "bilinear", "bicubic", "bicubic", "area"],
         3: ["nearest", "nearest-exact", "trilinear", "area"]}


@case_of("interpolate")
def resized(draw, name):
    axes = draw.choice([1, 2, 2, 2, 3])
    mode, dtype = draw.choice(MODES[axes]), draw.choice(["f64", "f32", "f32", "f16", "bf16"])
    sizes = [1, 2, 3, 4, 5, 7, 8, 16] if axes < 3 else [1, 2, 3, 5]
    shape = [draw.choice([1, 2]), draw.choice([1, 3])] + [draw.choice(sizes) for _ in range(axes)]
    options = {"mode": mode}
    smooth = mode.endswith("linear") or mode == "bicubic"
    if smooth and draw.chance(0.3):
        options["align_corners"] = True
    if axes == 2 and smooth and draw.chance(0.5):
        options["antialias"] = True
    given = dict(options)
    if draw.chance(0.5):
        size = [draw.choice(sizes + [11, 41]) for _ in range(axes)]
        options["size"] = given["size"] = size
    else:
        factors = [draw.choice([1.0, 2.0, 3.0, 0.5, 1.3, 0.7, 2.6, 1 / 3]) for _ in range(axes)]
        factors = [f if int(n * f) > 0 else 2.0 for n, f in zip(shape[2:], factors)]
        if draw.chance(0.3) and all(int(n * factors[0]) > 0 for n in shape[2:]):
            factors = factors[:1] * axes
        options["scale_factor"] = given["scale_factor"] = factors
    outputs = options.get("size") or [int(n * f) for n, f in zip(shape[2:], options["scale_factor"])]
    scales = [n / out for n, out in zip(shape[2:], outputs)] if "size" in options else [1 / f for f in options["scale_factor"]]
    if mode.startswith("nearest"):  # where rounding decides between two, or PyTorch's kernels differ
        half = 0.5 if mode == "nearest-exact" else 0
        tie = any(abs((o + half) * scale - round((o + half) * scale)) < 1e-9 for scale, out in zip(scales, outputs) for o in range(1, out) if half or "size" not in options)
        if tie or any(out in (n, 2 * n) and n != out * scale for n, out, scale in zip(shape[2:], outputs, scales)):
            options["mode"] = given["mode"] = "nearest"
            options["size"] = given["size"] = [n * draw.choice([1, 2, 3]) for n in shape[2:]]
            options.pop("scale_factor", None), given.pop("scale_factor", None)
    if options.get("antialias") and (outputs[1] == 1 or any(n == out and scale != 1 for n, out, scale in zip(shape[2:], outputs, scales))):
        # PyTorch repeats the first row where a line is one pixel wide; and its gradient is another function's where the factor keeps the size
        options.pop("antialias"), given.pop("antialias")
    if mode == "bicubic" and outputs == shape[2:] and "size" not in options:  # PyTorch's gradient is that of a copy
        options["scale_factor"] = given["scale_factor"] = [2.0, 2.0]
    x = draw.tensor(shape, dtype)
    return Case(name, [x], lambda t: F.interpolate(t, **given), options, order=min(order_of(draw, dtype), 2 if mode != "area" else 1), factor=32)


@case_of("grid_sample", "affine_grid")
def sampled(draw, name):
    dtype, axes = draw.choice(["f64", "f32"]), draw.choice([2, 2, 3])
    corners = draw.chance(0.5)
    order = min(order_of(draw, dtype), 1)  # PyTorch's second derivative is for some of the cases only
    n, image = draw.choice([0, 1, 2, 3]), [draw.choice([1, 2, 3, 4, 7]) for _ in range(axes)]
    if name == "affine_grid":
        shape = [max(n, 1), 2] + image
        return Case(name, [draw.tensor([max(n, 1), axes, axes + 1], dtype)], lambda t: F.affine_grid(t, shape, corners), {"size": shape, "align_corners": corners},
                    order=order_of(draw, dtype), factor=16)
    padding, mode = draw.choice(["zeros", "border", "reflection"]), draw.choice(["bilinear", "bilinear", "nearest", "bicubic"] if axes == 2 else ["bilinear", "nearest"])
    x = draw.tensor([n, draw.choice([1, 2, 5])] + image, dtype)
    # Away from the places where a cell ends: which side they are on is rounding.
    pixels = torch.floor(torch.rand([n] + [draw.choice([1, 2, 3, 5]) for _ in range(axes)] + [axes], generator=draw.generator, dtype=torch.float64) * 3 * max(image) - max(image))
    pixels = pixels + 0.1 + 0.3 * torch.rand(pixels.shape, generator=draw.generator, dtype=torch.float64)
    size = torch.tensor(image[::-1], dtype=torch.float64)
    grid = 2 * pixels / (size - 1) - 1 if corners else (2 * pixels + 1) / size - 1
    grid = torch.where(torch.isfinite(grid), grid, torch.zeros_like(grid)).to(x.dtype)
    return Case(name, [x, grid], lambda t, g: F.grid_sample(t, g, mode, padding, corners), {"mode": mode, "padding": padding, "align_corners": corners},
                order=order, factor=512)
