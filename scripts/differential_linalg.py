"""Cases for differential.py: linear algebra and transforms. The driver gives factors as functions that do not depend on signs (tests/differential/linalg.cpp)."""
import math

import torch

from differential_cases import Case, collector

CASES, case_of = collector()

# How a matrix is made: LAPACK's generators have these kinds (dlatms, "LAPACK Working Note 9", 1989), with conditions that the dtype still solves.
KINDS = ["random", "random", "random", "diagonal", "upper", "lower", "condition 2", "ill", "scaled up", "scaled down", "one value apart", "repeated", "defective", "zero rows"]
SQUARE = ["random", "random", "condition 2", "diagonal", "upper", "lower", "ill", "scaled up", "scaled down", "repeated"]


def orthogonal(draw, shape, n):
    return torch.linalg.qr(torch.randn(shape + [n, n], generator=draw.generator, dtype=torch.float64))[0]


def spectrum(draw, k, condition):
    """From 1 down to 1 / condition, by powers."""
    return torch.tensor([condition ** (-i / max(k - 1, 1)) for i in range(k)], dtype=torch.float64)


def with_values(draw, shape, m, n, values):
    k = min(m, n)
    u, v = orthogonal(draw, shape, m), orthogonal(draw, shape, n)
    return u[..., :, :k] @ torch.diag(values) @ v[..., :, :k].mT


def matrix(draw, shape, m, n, kind, dtype):
    """A matrix of that kind, and its condition."""
    k, wide = min(m, n), torch.float64
    plain = torch.randn(shape + [m, n], generator=draw.generator, dtype=wide)
    big = 1e2 if dtype == torch.float32 else 1e5
    if kind == "diagonal":
        x = torch.zeros(shape + [m, n], dtype=wide)
        x.diagonal(dim1=-2, dim2=-1).copy_(torch.linspace(1, 3, k, dtype=wide))
    elif kind == "upper":
        x = plain.triu() / max(n, 1) + torch.eye(m, n, dtype=wide)
    elif kind == "lower":
        x = plain.tril() / max(n, 1) + torch.eye(m, n, dtype=wide)
    elif kind == "condition 2":
        x = with_values(draw, shape, m, n, spectrum(draw, k, 2.0))
    elif kind == "ill":
        x = with_values(draw, shape, m, n, spectrum(draw, k, big))
    elif kind == "one value apart":
        values = torch.ones(k, dtype=wide)
        values[-1:] = 1 / big
        x = with_values(draw, shape, m, n, values)
    elif kind == "scaled up":
        x = with_values(draw, shape, m, n, spectrum(draw, k, 2.0)) * (1e15 if dtype == torch.float32 else 1e120)
    elif kind == "scaled down":
        x = with_values(draw, shape, m, n, spectrum(draw, k, 2.0)) * (1e-15 if dtype == torch.float32 else 1e-120)
    elif kind == "repeated":
        x = with_values(draw, shape, m, n, torch.ones(k, dtype=wide)) if k else plain
    elif kind == "zero rows":
        x = plain.clone()
        x[..., m // 2:, :] = 0
    elif kind == "defective":
        x = torch.zeros(shape + [m, n], dtype=wide)
        x.diagonal(dim1=-2, dim2=-1).fill_(2.0)
        if n > 1:
            x.diagonal(offset=1, dim1=-2, dim2=-1).fill_(1.0)
    else:
        x = plain
    x = x.to(dtype)
    if x.numel() == 0:
        return x, 1.0
    values = torch.linalg.svdvals(x.double())
    worst = float((values[..., 0] / values[..., -1].clamp(min=1e-300)).max()) if values.shape[-1] else 1.0
    return x, max(worst, 1.0)


def symmetric(draw, shape, n, kind, dtype):
    """Symmetric and positive definite, with distinct values unless the kind says otherwise."""
    if kind == "ill":
        values = spectrum(draw, n, 1e2 if dtype == torch.float32 else 1e5)
    elif kind == "repeated":
        values = torch.ones(n, dtype=torch.float64)
    else:
        values = torch.linspace(1, 3, max(n, 1), dtype=torch.float64)[:n]
    q = orthogonal(draw, shape, n)
    x = q @ torch.diag(values) @ q.mT * {"scaled up": 1e4, "scaled down": 1e-4}.get(kind, 1.0)
    x = (x + x.mT) / 2
    return x.to(dtype), float(values.max() / values.min()) if n else 1.0


def batch(draw):
    return draw.choice([[], [], [], [1], [3], [2, 2], [0]])


def size(draw):
    return draw.choice([0, 1, 1, 2, 2, 3, 4, 5, 7, 8, 16, 17, 33])


def precision(draw):
    return draw.choice(["f64", "f64", "f32"])


def torch_type(name):
    return {"f64": torch.float64, "f32": torch.float32}[name]


def order(draw, kind, condition, most=2):
    """Gradients multiply the condition, second ones its square: those of the worst are noise."""
    if kind in ("scaled up", "scaled down"):
        return 0
    return min(most, 1 if condition > 1e3 else 2, draw.choice([0, 1, 2]))


def turning(values):
    """norm / gap. A solver's vectors are those of a matrix that differs by p(n) eps norm(A), and are off by p(n) eps norm(A) / gap, where gap is the distance to the
    nearest other value (Davis and Kahan, 1970; LAPACK Users' Guide, 4.7.1 and 4.9.1). The gradient of value i is v v^T (u v^T of a singular value): off by
    twice that."""
    if values.shape[-1] < 2:
        return 1.0
    gap = values.diff(dim=-1).abs().amin(-1).clamp(min=1e-300)
    return max(1.0, float((values.abs().amax(-1) / gap).max()))


def symmetrize(t):
    """The function of the lower triangle that Tegula's are, with the gradient of both triangles changed together."""
    lower = t.tril()
    return (lower + t.tril(-1).mT).detach() + (t - t.detach() + (t - t.detach()).mT) / 2


@case_of("solve", "inverse", "det", "slogdet", "lu_solve", "matrix_power")
def square(draw, name):
    dtype, kind, n, front = precision(draw), draw.choice(SQUARE), size(draw), batch(draw)
    x, condition = matrix(draw, front, n, n, kind, torch_type(dtype))
    if condition > (1e3 if dtype == "f32" else 1e7):
        kind = "condition 2"
        x, condition = matrix(draw, front, n, n, kind, torch_type(dtype))
    if name in ("det", "matrix_power") and kind.startswith("scaled"):
        x = x / x.abs().max().clamp(min=1e-300) if x.numel() else x
        kind = "random"
    at, factor = order(draw, kind, condition), 16 * max(n, 1) * condition
    if name == "inverse":
        return Case(name, [x], torch.linalg.inv, order=at, factor=factor)
    if name == "det":
        return Case(name, [x], torch.linalg.det, order=at, factor=factor)
    if name == "slogdet":
        return Case(name, [x], lambda t: tuple(torch.linalg.slogdet(t)), order=at, factor=factor)
    if name == "matrix_power":
        power = draw.choice([-2, -1, 0, 1, 2, 3, 5])
        scale = 1.0 if not x.numel() else float(torch.linalg.matrix_norm(x.double(), 2).max()) ** max(power, 1)
        return Case(name, [x], lambda t: torch.linalg.matrix_power(t, power), {"power": power}, order=at, factor=factor ** (abs(power) if power < 0 else 1) * max(scale, 1.0) * 4)
    vector = name == "solve" and not front and draw.chance(0.3)
    b = draw.tensor(front + ([n] if vector else [n, draw.choice([0, 1, 2, 5])]), dtype)
    if name == "lu_solve":
        turn = draw.chance(0.5)
        return Case(name, [x, b], lambda t, u: torch.linalg.solve(t.mT if turn else t, u), {"transposed": turn}, order=at, factor=factor * 4)
    refine = dtype == "f64" and condition < 1e3 and not kind.startswith("scaled") and draw.chance(0.2)
    half = not kind.startswith("scaled") and draw.chance(0.2)
    return Case(name, [x, b], torch.linalg.solve, {"refine": refine, "half": half}, order=at, factor=factor * 4)


@case_of("lu")
def lu(draw, name):
    dtype, kind = precision(draw), draw.choice(["random", "condition 2", "scaled up", "scaled down", "upper"])
    x, condition = matrix(draw, batch(draw), size(draw), size(draw), kind, torch_type(dtype))
    square_one = x.shape[-1] == x.shape[-2]
    return Case(name, [x], lambda t: tuple(torch.linalg.lu(t)), order=order(draw, kind, condition) if square_one and condition < 1e4 else 0,
                factor=64 * max(x.shape[-2:]) * max(min(condition, 1e4), 1.0))


@case_of("cholesky", "cholesky_solve", "eigvalsh", "eigh")
def definite(draw, name):
    dtype, n, front = precision(draw), size(draw), batch(draw)
    kind = draw.choice(["random", "random", "ill", "scaled up", "scaled down", "repeated"])
    x, condition = symmetric(draw, front, n, kind, torch_type(dtype))
    at = order(draw, kind, condition)
    if name == "cholesky":
        return Case(name, [x], lambda t: torch.linalg.cholesky(symmetrize(t)), order=at, factor=32 * max(n, 1) * condition)
    if name == "cholesky_solve":
        b = draw.tensor(front + [n, draw.choice([1, 3])], dtype)
        return Case(name, [x, b], lambda t, u: torch.cholesky_solve(u, torch.linalg.cholesky(symmetrize(t))), order=min(at, 1), factor=64 * max(n, 1) * condition)
    if name == "eigvalsh":  # of equal values the second derivative does not exist
        return Case(name, [x], lambda t: torch.linalg.eigvalsh(symmetrize(t)), order=0 if kind == "repeated" else at, factor=32 * max(n, 1) * max(1.0, float(x.abs().max()) if x.numel() else 1.0),
                    of_gradients=turning(torch.linalg.eigvalsh(x.double())) if x.numel() else 1)

    def outer(values, v):
        return values, (v * torch.sin(values).unsqueeze(-2)) @ v.mT

    gap = 2 / max(n - 1, 1)
    factor = 64 * max(n, 1) * condition / gap * max(1.0, float(x.abs().max()) if x.numel() else 1.0)
    if not front and n and draw.chance(0.3):
        b, _ = symmetric(draw, front, n, "random", torch_type(dtype))

        def pair(t, u):
            l = torch.linalg.cholesky(symmetrize(u))
            inner = torch.linalg.solve_triangular(l, torch.linalg.solve_triangular(l, symmetrize(t), upper=False).mT, upper=False)
            values, v = torch.linalg.eigh((inner + inner.mT) / 2)
            return outer(values, torch.linalg.solve_triangular(l.mT, v, upper=True))
        return Case(name, [x, b], pair, order=0, factor=factor * 16)
    return Case(name, [x], lambda t: outer(*torch.linalg.eigh(symmetrize(t))), order=0 if kind in ("repeated", "ill") else at, factor=factor)


@case_of("qr", "svd", "svdvals", "pinv", "matrix_rank", "lstsq")
def rectangular(draw, name):
    dtype, front = precision(draw), batch(draw)
    m, n = size(draw), size(draw)
    kind = draw.choice(["random", "condition 2", "diagonal", "upper", "ill", "scaled up", "scaled down", "one value apart"] + (["zero rows", "repeated"] if name in ("svdvals", "matrix_rank") else []))
    if name in ("pinv", "lstsq"):
        kind = draw.choice(["random", "condition 2", "diagonal"])
    if name == "lstsq" or (name == "svd" and draw.chance(0.5)):
        m = max(m, n)
    x, condition = matrix(draw, front, m, n, kind, torch_type(dtype))
    k, factor = min(m, n), 64.0 * max(m, n, 1)
    scale = max(1.0, float(x.abs().max())) if x.numel() else 1.0
    distinct = float(torch.linalg.svdvals(x.double()).diff(dim=-1).abs().min()) if k > 1 and x.numel() else 1.0
    if name == "matrix_rank":
        return Case(name, [x], torch.linalg.matrix_rank, lazy=False)
    if name == "svdvals":
        return Case(name, [x], torch.linalg.svdvals, order=order(draw, kind, condition) if k and distinct > 1e-2 else 0, factor=factor * (1 + 1 / max(distinct, 1e-3)),
                    of_gradients=turning(torch.nn.functional.pad(torch.linalg.svdvals(x.double()), (0, 1))) if k and x.numel() else 1)  # 0: what else a tall one could reach
    if name == "qr":
        full = draw.chance(0.3)
        first = torch.linalg.svdvals(x[..., :, :k].double()) if k and x.numel() else torch.ones(1)  # the gradient divides by r of the first k columns
        condition = max(condition, float((first[..., 0] / first[..., -1].clamp(min=1e-300)).max()), scale / max(float(first.min()), 1e-300))

        def fixed(t):
            q, r = torch.linalg.qr(t, mode="complete" if full else "reduced")
            signs = torch.where(r.diagonal(dim1=-2, dim2=-1) < 0, -1.0, 1.0).to(r.dtype)
            return q[..., :, :k] * signs.unsqueeze(-2), r[..., :k, :] * signs.unsqueeze(-1)
        return Case(name, [x], fixed, {"full": full}, order=0 if full or kind == "ill" else order(draw, kind, condition), factor=factor * min(condition, 1e7))
    if name == "svd":
        full = draw.chance(0.2)

        def product(t):
            u, s, vh = torch.linalg.svd(t, full_matrices=False)
            return s, (u * torch.tanh(s).unsqueeze(-2)) @ vh
        return Case(name, [x], product, {"full": full}, order=0 if full or distinct < 1e-2 or condition > 1e2 else order(draw, kind, condition), factor=factor * (4 / min(max(distinct, 1e-4), 1.0)) ** 2)
    if name == "pinv":
        return Case(name, [x], torch.linalg.pinv, order=0 if distinct < 1e-2 or condition > 30 else order(draw, kind, condition), factor=factor * condition ** 2 / min(max(distinct, 1e-3), 1.0))
    b = draw.tensor(front + [m, draw.choice([1, 3])], dtype)
    return Case(name, [x, b], lambda t, u: torch.linalg.pinv(t) @ u if not t.requires_grad else torch.linalg.solve(t.mT @ t, t.mT @ u), order=0 if condition > 30 else order(draw, kind, condition),
                factor=factor * condition ** 3)


@case_of("eig")
def general(draw, name):
    dtype, n = precision(draw), draw.choice([0, 1, 2, 3, 4, 5, 8, 16])
    kind = draw.choice(["random", "random", "upper", "defective", "diagonal", "rotation", "zero"])
    front = batch(draw)
    x = torch.zeros(front + [n, n], dtype=torch_type(dtype)) if kind == "zero" else matrix(draw, front, n, n, kind if kind != "rotation" else "repeated", torch_type(dtype))[0]

    def sums(t):
        powers = [t, t @ t, t @ t @ t]
        pair = lambda p: torch.stack([p.diagonal(dim1=-2, dim2=-1).sum(-1), torch.zeros(p.shape[:-2], dtype=p.dtype)], -1)
        return tuple(pair(p) for p in powers) + (torch.zeros(list(t.shape) + [2], dtype=t.dtype),)
    values = torch.linalg.eigvals(x.double()) if n and x.numel() else torch.zeros(1)
    apart = float((values.unsqueeze(-1) - values.unsqueeze(-2) + torch.eye(n) * 1e9).abs().min()) if n > 1 and x.numel() else 1.0
    size_of = max(1.0, float(values.abs().max()) ** 3) if x.numel() else 1.0
    return Case(name, [x], sums, order=min(draw.choice([0, 1, 2]), 1) if apart > 0.1 and kind in ("random", "upper") else 0,
                factor=256 * max(n, 1) * size_of / (min(apart, 1.0) if kind == "random" else 1.0))


@case_of("triangular_solve")
def triangular(draw, name):
    dtype, n, front = precision(draw), size(draw), batch(draw)
    upper, turned, unit = draw.chance(0.5), draw.chance(0.5), draw.chance(0.3)
    x = torch.randn(front + [n, n], generator=draw.generator, dtype=torch.float64) / max(n, 1) + 2 * torch.eye(n)
    if unit:
        x = x / 2
    b = draw.tensor(front + [n, draw.choice([1, 2, 7])], dtype)

    def reference(t, u):
        t = t.triu() if upper else t.tril()
        return torch.linalg.solve_triangular(t.mT if turned else t, u, upper=upper != turned, unitriangular=unit)
    return Case(name, [x.to(torch_type(dtype)), b], reference, {"upper": upper, "transposed": turned, "unit": unit}, order=draw.choice([0, 1, 2]), factor=64 * max(n, 1))


@case_of("trace", "kron", "matrix_exp", "matrix_norm", "cond")
def measures(draw, name):
    dtype, front = precision(draw), batch(draw)
    n = size(draw)
    m = n if name in ("matrix_exp", "cond") else size(draw)
    x, condition = matrix(draw, front if name != "kron" else [], m, n, draw.choice(["random", "condition 2"]), torch_type(dtype))
    at = draw.choice([0, 1, 2])
    if name == "trace":
        return Case(name, [x], lambda t: t.diagonal(dim1=-2, dim2=-1).sum(-1), order=at, factor=16)
    if name == "kron":
        return Case(name, [x, draw.tensor([draw.size(), draw.size()], dtype)], torch.kron, order=at, factor=16)
    if name == "matrix_exp":
        x = x * draw.choice([0.1, 1.0, 3.0])
        size_of = math.exp(min(float(torch.linalg.matrix_norm(x.double(), 2).max()), 25.0)) if x.numel() else 1.0
        return Case(name, [x], torch.linalg.matrix_exp, order=min(at, 1), factor=64 * max(n, 1) * max(1.0, math.log(size_of) + 1) ** 2)
    norm = draw.choice(["fro", "nuc", "2", "-2", "1", "inf"])
    if name == "cond" and norm == "nuc":
        norm = "fro"
    if min(m, n) == 0:
        norm = "fro"
    own = {"fro": "fro", "nuc": "nuc", "2": 2, "-2": -2, "1": 1, "inf": math.inf}[norm]
    function = torch.linalg.matrix_norm if name == "matrix_norm" else torch.linalg.cond
    if condition > 1e3:
        at = 0
    smooth = norm in ("fro", "1", "inf") and (name == "matrix_norm" or n > 0)
    return Case(name, [x], lambda t: function(t, own), {"norm": norm}, order=min(at, 1 if not smooth else 2) if min(m, n) else 0, factor=256 * max(m, n, 1) * (condition ** 2 if name == "cond" else 1))


def complex_of(t):
    return torch.complex(t[..., 0].contiguous(), t[..., 1].contiguous())


def spread(draw, least=1):
    return max(least, draw.choice([1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 16, 17, 30, 31, 64, 97, 128, 210, 1009]))


@case_of("fft", "ifft", "rfft", "irfft")
def fourier(draw, name):
    dtype = draw.choice(["f64", "f32"])
    count = draw.choice([1, 1, 1, 2, 3, 4])
    shape = draw.choice([[], [2], [3, 1], [0]]) + [spread(draw) if count == 1 else draw.choice([1, 2, 3, 4, 5, 8]) for _ in range(count)]
    axes = [draw.random.randrange(len(shape))] if count == 1 and len(shape) > 1 and 0 not in shape and draw.chance(0.3) else list(range(-count, 0))
    if len(axes) > 1 and draw.chance(0.3):
        draw.random.shuffle(axes)
    axes = [a if a < 0 or draw.chance(0.5) else a - len(shape) for a in axes]
    norm = draw.choice(["backward", "ortho", "forward"])
    attributes, at = {"axes": axes, "norm": norm}, draw.choice([0, 1, 2])
    factor = 64 * math.log2(max(shape + [2])) + 64
    if name == "rfft":
        return Case(name, [draw.tensor(shape, dtype)], lambda t: torch.view_as_real(torch.fft.rfftn(t, dim=axes, norm=norm)), attributes, order=at, factor=factor * 4)
    if name == "irfft":
        length = shape[axes[-1]]
        shape[axes[-1]] = length // 2 + 1
        attributes["size"] = length
        sizes = [shape[a] for a in axes[:-1]] + [length]
        return Case(name, [draw.tensor(shape + [2], dtype)], lambda t: torch.fft.irfftn(complex_of(t), s=sizes, dim=axes, norm=norm), attributes, order=at, factor=factor * 8)
    function = torch.fft.fftn if name == "fft" else torch.fft.ifftn
    return Case(name, [draw.tensor(shape + [2], dtype)], lambda t: torch.view_as_real(function(complex_of(t), dim=axes, norm=norm)), attributes, order=at, factor=factor * 4)


@case_of("stft", "istft")
def pieces(draw, name):
    dtype = draw.choice(["f64", "f32"])
    n = draw.choice([2, 3, 4, 8, 15, 16])
    hop, front, at = draw.random.randint(1, n), draw.choice([[], [2]]), draw.choice([0, 1, 2])
    if name == "stft":
        center = draw.chance(0.5)
        length = max(n, n // 2 + 1) + draw.choice([0, 1, 5, 20])
        window = draw.tensor([n], dtype, 0.1, 1.0)
        return Case(name, [draw.tensor(front + [length], dtype), window],
                    lambda t, w: torch.view_as_real(torch.stft(t, n, hop, n, w, center=center, onesided=True, return_complex=True)),
                    {"size": n, "hop": hop, "center": center}, order=at, factor=256)
    hop = max(1, n // draw.choice([2, 4]))
    frames = draw.choice([2, 3, 5])
    window = draw.tensor([n], dtype, 0.5, 1.0)
    length = hop * (frames - 1)
    return Case(name, [draw.tensor(front + [n // 2 + 1, frames, 2], dtype), window],
                lambda t, w: torch.istft(complex_of(t), n, hop, n, w, center=True, onesided=True, length=length),
                {"size": n, "hop": hop, "center": True, "length": length}, order=min(at, 1), factor=512)


@case_of("window")
def window(draw, name):
    kind, n, periodic = draw.choice(["hann", "hamming", "blackman"]), draw.choice([1, 2, 3, 4, 5, 16, 31, 400]), draw.chance(0.5)
    function = getattr(torch, kind + "_window")
    return Case(name, [], lambda: function(n, periodic=periodic, dtype=torch.float64), {"kind": kind, "size": n, "periodic": periodic}, factor=16, lazy=True)


@case_of("convolve")
def convolve(draw, name):
    dtype, front = draw.choice(["f64", "f32"]), draw.choice([[], [2], [3, 2]])
    a, b = draw.tensor(front + [spread(draw)], dtype), draw.tensor(front + [spread(draw)], dtype)
    n = a.shape[-1] + b.shape[-1] - 1
    return Case(name, [a, b], lambda t, u: torch.fft.irfft(torch.fft.rfft(t, n) * torch.fft.rfft(u, n), n), order=draw.choice([0, 1, 2]), factor=256 * math.log2(n + 2))
