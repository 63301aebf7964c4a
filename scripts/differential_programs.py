"""Cases for differential.py: programs of several public functions, and loops in them. What one function alone gives right may lie wrong for the next."""
import torch
import torch.nn.functional as F

from differential_attention import attention
from differential_cases import Case, collector, order_of

CASES, case_of = collector()


# ---- What a step means in PyTorch: (inputs, attributes) -> one result, or a list of them.
def padded(x, a):
    return F.pad(x[0], [w for pair in reversed(a["widths"]) for w in pair])


def sliced(x, a):
    return x[0][tuple(slice(*one) for one in a["slices"])]


def seen(x, a):
    rest = dict(zip([key for key in ("mask", "bias", "lengths", "start") if a.get(key)], x[3:]))
    return attention(*x[:3], a["causal"], a["window"], a.get("scale"), **rest)[0]


def written(x, a):
    whole, part, place = x
    axis, begin, size = a["axis"], int(place) % x[0].shape[a["axis"]], part.shape[a["axis"]]
    return torch.cat([whole.narrow(axis, 0, begin), part, whole.narrow(axis, begin + size, whole.shape[axis] - begin - size)], axis)


def loop(x, a):
    body, start, stacks = BODIES[a["body"]](x)
    length = stacks[0].shape[0]
    carry, ys = list(start), None
    for t in range(length - 1, -1, -1) if a["reverse"] else range(length):
        carry, now = body(carry, [s[t] for s in stacks])
        ys = ys or [[None] * length for _ in now]
        for all_of, y in zip(ys, now):
            all_of[t] = y
    return [*carry, *[torch.stack(y) for y in ys]]


def rnn(x):
    def body(c, now):
        h = torch.tanh(now[0] @ x[2] + c[0] @ x[3])
        return [h], [h]
    return body, x[:1], x[1:2]


def fading_sum(x):
    def body(c, now):
        s = c[0] * 0.5 + now[0]
        return [s], [s * s, s.sum()]
    return body, x[:1], x[1:2]


def swap(x):
    return lambda c, now: ([c[1], torch.sin(c[0]) + now[0]], [c[0] * c[1]]), x[:2], x[2:3]


def table(x):
    def body(c, now):
        h = torch.tanh(c[1] * 0.3 + x[3][int(c[0])] * now[0])
        return [c[0] + 1, h], [h]
    return body, x[:2], x[2:3]


def buffer(x):
    def body(c, now):
        h = torch.tanh(c[1] + now[0])
        whole = written([c[2], h[None], c[0]], {"axis": 0})
        return [c[0] + 1, h, whole], [(whole * whole).sum()]
    return body, x[:3], x[3:4]


def nested(x):
    def body(c, now):
        s, ys = c[0], []
        for row in now[0]:
            s = torch.sin(s) + row * 0.5
            ys.append(s * row)
        return [s], [torch.stack(ys)]
    return body, x[:1], x[1:2]


def beside(x):
    return lambda c, now: ([c[0]], [torch.softmax(now[0] @ x[2], -1), now[0] + c[0]]), x[:1], x[1:2]


def memory(x):
    def body(c, now):
        y = torch.softmax(c[0] @ x[2].T, -1) @ x[3]
        h = torch.tanh(y + now[0])
        return [h], [y]
    return body, x[:1], x[1:2]


BODIES = {f.__name__: f for f in (rnn, fading_sum, swap, table, buffer, nested, beside, memory)}

MEANING = {
    "tanh": lambda x, a: torch.tanh(x[0]), "sin": lambda x, a: torch.sin(x[0]), "sigmoid": lambda x, a: torch.sigmoid(x[0]),
    "negate": lambda x, a: -x[0], "add": lambda x, a: x[0] + x[1], "subtract": lambda x, a: x[0] - x[1], "multiply": lambda x, a: x[0] * x[1],
    "matmul": lambda x, a: x[0] @ x[1], "sum": lambda x, a: x[0].sum(a["axes"], keepdim=a["keep"]), "mean": lambda x, a: x[0].mean(a["axes"], keepdim=a["keep"]),
    "softmax": lambda x, a: torch.softmax(x[0], a["axis"]), "cumsum": lambda x, a: torch.cumsum(x[0], a["axis"]), "reshape": lambda x, a: x[0].reshape(a["shape"]),
    "permute": lambda x, a: x[0].permute(a["order"]), "expand": lambda x, a: x[0].expand(a["shape"]), "slice": sliced, "flip": lambda x, a: x[0].flip(a["axes"]),
    "select": lambda x, a: x[0].select(a["axis"], a["index"]), "roll": lambda x, a: torch.roll(x[0], a["shifts"], a["axes"]), "pad": padded,
    "concat": lambda x, a: torch.cat(x, a["axis"]), "stack": lambda x, a: torch.stack(x, a["axis"]), "index_select": lambda x, a: torch.index_select(x[0], a["axis"], x[1]),
    "gather": lambda x, a: torch.gather(x[0], a["axis"], x[1]), "scatter_add": lambda x, a: torch.scatter_add(x[0], a["axis"], x[1], x[2]),
    "index_add": lambda x, a: torch.index_add(x[0], a["axis"], x[1], x[2]), "dynamic_slice": lambda x, a: x[0].narrow(a["axis"], int(x[1]) % x[0].shape[a["axis"]], a["size"]),
    "update_slice": written, "layer_norm": lambda x, a: F.layer_norm(x[0], a["shape"]), "scaled_dot_product_attention": seen, "loop": loop,
    "conv2d": lambda x, a: F.conv2d(x[0], x[1], x[2], padding=a["padding"], stride=a["stride"]), "avg_pool2d": lambda x, a: F.avg_pool2d(x[0], a["window"], a["stride"]),
    "interpolate": lambda x, a: F.interpolate(x[0], a["size"], mode=a["mode"]), "einsum": lambda x, a: torch.einsum(a["equation"], *x),
    "grid_sample": lambda x, a: F.grid_sample(x[0], x[1], "bilinear", a["padding"], a["align_corners"]), "linear": lambda x, a: F.linear(*x),
    "unfold": lambda x, a: F.unfold(x[0], a["window"], 1, a["padding"], a["stride"]), "solve": lambda x, a: torch.linalg.solve(x[0], x[1]),
    "inverse": lambda x, a: torch.linalg.inv(x[0]), "pixel_shuffle": lambda x, a: F.pixel_shuffle(x[0], a["r"])}
LINEAR_IN_SIZE = {"sum", "mean", "softmax", "cumsum", "matmul", "layer_norm"}


class Program:
    """Steps as they are drawn, with the values that they have for these inputs."""

    def __init__(self, draw, dtype):
        self.draw, self.dtype = draw, dtype
        self.inputs, self.steps, self.pending = [], [], []

    def input(self, shape, dtype=None, low=-1.0, high=1.0):
        return self.take(self.draw.tensor(shape, dtype or self.dtype, low, high))

    def take(self, tensor):
        assert not self.steps, "inputs come first"
        self.inputs.append(tensor)
        self.pending.append(tensor)
        return len(self.pending) - 1

    def value(self, i):
        return self.pending[i]

    def shape(self, i):
        return list(self.value(i).shape)

    def do(self, op, *taken, **attributes):
        made = MEANING[op]([self.value(i) for i in taken], attributes)
        made = made if isinstance(made, list) else [made]
        self.steps.append({"op": op, "in": list(taken), "a": attributes})
        self.pending += made
        first = len(self.pending) - len(made)
        return first if len(made) == 1 else list(range(first, first + len(made)))

    # ---- Steps that keep what a value is like.
    def smooth(self, i):
        return self.do(self.draw.choice(["tanh", "sin", "sigmoid", "negate"]), i)

    def again(self, i):
        """The same elements, or some of them, seen otherwise."""
        draw, shape = self.draw, self.shape(i)
        rank = len(shape)
        kind = draw.choice(["reshape", "permute", "slice", "flip", "roll", "expand", "pad", "stack"])
        if kind == "reshape":
            cut = draw.random.randint(0, rank)
            return self.do("reshape", i, shape=shape[:cut] + [1] + shape[cut:] if draw.chance(0.5) and rank < 5 else [self.value(i).numel()])
        if kind == "permute" and rank > 1:
            return self.do("permute", i, order=draw.random.sample(range(rank), rank))
        if kind == "slice" and rank:
            slices = []
            for size in shape:
                begin = draw.random.randint(0, max(size - 1, 0))
                slices.append([begin, draw.random.randint(begin + 1, max(size, begin + 1)), draw.choice([1, 1, 2, 3])] if draw.chance(0.6) else [None, None, 1])
            return self.do("slice", i, slices=slices)
        if kind == "flip" and rank:
            return self.do("flip", i, axes=[draw.random.randrange(rank)])
        if kind == "roll" and rank:
            return self.do("roll", i, shifts=[draw.random.randint(-3, 3)], axes=[draw.random.randrange(rank)])
        if kind == "expand" and rank and rank < 5:
            return self.do("expand", i, shape=[draw.choice([1, 2, 3])] + shape)
        if kind == "pad" and rank:
            return self.do("pad", i, widths=[[draw.choice([0, 1]), draw.choice([0, 0, 2])] for _ in shape])
        if kind == "stack" and rank < 5:
            return self.do("stack", i, self.smooth(i), axis=draw.random.randint(0, rank))
        return i

    def mixed(self, i):
        """With something of its shape."""
        return self.do(self.draw.choice(["add", "subtract", "multiply"]), i, self.smooth(i))

    def some(self, i, most=3):
        for _ in range(self.draw.random.randint(0, most)):
            i = self.draw.choice([self.smooth, self.again, self.mixed, lambda x: x])(i)
            if self.value(i).numel() > 20000:
                return i
        return i

    def shaped(self, i, shape):
        """Of this shape, made of the value's elements and zeros."""
        count = 1
        for size in shape:
            count *= size
        have = self.value(i).numel()
        flat = self.do("reshape", i, shape=[have])
        if have < count:
            flat = self.do("pad", flat, widths=[[0, count - have]])
        elif have > count:
            flat = self.do("slice", flat, slices=[[0, count, 1]])
        return self.do("reshape", flat, shape=shape)

    def made(self, shape):
        """A value of this shape: an input as it is, or what views, sums and products make of one."""
        base = self.draw.choice(self.floats)
        i = self.some(base)
        if self.draw.chance(0.4):
            square = self.draw.choice([2, 3, 4])
            one = self.shaped(i, [square, square])
            i = self.do("matmul", one, self.do("permute", one, order=[1, 0]) if self.draw.chance(0.5) else one)
        if self.draw.chance(0.3) and self.shape(i):
            i = self.do("sum", i, axes=[0], keep=self.draw.chance(0.5))
        return self.shaped(i, shape)

    def begin(self, shapes, *indices):
        """All inputs: floats of these shapes, and integers (shape, low, high)."""
        self.floats = [self.input(shape) for shape in shapes]
        return [self.take(torch.randint(low, high + 1, shape, generator=self.draw.generator)) for shape, low, high in indices]

    def case(self, name, outputs, factor=64, order=None):
        """The last values, and some on the way."""
        draw = self.draw
        on_the_way = [i for i in range(len(self.inputs), len(self.pending)) if draw.chance(0.1)]
        outputs = sorted({*outputs, *on_the_way[:3]})
        steps = self.steps

        def reference(*inputs):
            values = list(inputs)
            for step in steps:
                made = MEANING[step["op"]]([values[i] for i in step["in"]], step["a"])
                values += made if isinstance(made, list) else [made]
            return [values[i] for i in outputs]
        terms = max([self.value(i).numel() for step in steps if step["op"] in LINEAR_IN_SIZE for i in step["in"]], default=1)
        largest = max([float(v.abs().max()) for v in self.pending if v.is_floating_point() and v.numel()], default=1.0)
        most = 2 if order is None else order
        return Case(name, self.inputs, reference, {"steps": steps, "outputs": outputs}, order=min(order_of(draw, self.dtype), most),
                    factor=factor * max(1, terms / 1024) * max(1.0, largest))


def shapes_of(draw, count):
    return [draw.shape(1, 3, 1) for _ in range(count)]


@case_of("program.place")
def places(draw, name):
    """Slices written over views of what is computed, and over what was written over."""
    p = Program(draw, draw.choice(["f64", "f32", "f32", "bf16"]))
    rows, columns = draw.choice([2, 3, 4, 8]), draw.choice([1, 3, 4, 16])
    at = p.begin(shapes_of(draw, draw.choice([1, 2, 3])), ([], 0, rows - 1), ([], -rows, -1))
    whole = p.made([rows, columns])
    outputs = []
    for _ in range(draw.random.randint(1, 4)):
        axis = draw.choice([0, 0, 1]) if p.shape(whole)[0] == rows else 0
        place = draw.choice(at) if axis == 0 else at[0]
        if axis == 1 and int(p.value(place)) >= columns:
            axis = 0
        part = p.made([rows, 1] if axis else [1, columns])
        before = whole
        whole = p.do("update_slice", whole, part, place, axis=axis)
        kind = draw.random.random()
        if kind < 0.2:
            outputs.append(p.do("sum", before, axes=[0], keep=False))  # what it was is needed, too
        elif kind < 0.4:
            outputs.append(p.do("dynamic_slice", whole, at[0], axis=0, size=1))
        elif kind < 0.6:
            whole = p.do("tanh", p.shaped(p.again(whole), [rows, columns]))
        elif kind < 0.7:
            turned = p.do("permute", whole, order=[1, 0])
            whole = p.do("permute", turned, order=[1, 0])
        elif kind < 0.8:
            whole = p.do("reshape", p.do("reshape", whole, shape=[rows * columns]), shape=[rows, columns])
        elif kind < 0.9:
            whole = p.do("index_add", whole, p.do("reshape", at[0], shape=[1]), p.made([1, columns]), axis=0)
    return p.case(name, [*outputs, whole])


@case_of("program.loop")
def loops(draw, name):
    """Loops that begin with sums and products, read what is captured, and are read through views."""
    p = Program(draw, draw.choice(["f64", "f64", "f32"]))
    body = draw.choice(sorted(BODIES))
    t, r, f, h, m = draw.choice([1, 2, 3, 5, 9, 17]), draw.choice([1, 2, 4]), draw.choice([1, 3, 8]), draw.choice([1, 4]), draw.choice([1, 3])
    p.begin(shapes_of(draw, draw.choice([1, 2, 3])) + [[t, r, f]])
    zero = p.take(torch.tensor(0)) if body in ("table", "buffer") else None
    x = p.floats[-1] if draw.chance(0.5) else p.made([t, r, f])
    made = p.made
    reverse = draw.chance(0.4)
    taken = {"rnn": lambda: [made([r, h]), x, made([f, h]), made([h, h])], "fading_sum": lambda: [made([r, f]), x], "swap": lambda: [made([r, f]), made([r, f]), x],
             "table": lambda: [zero, made([f]), made([t, f]), made([t, f])], "buffer": lambda: [zero, made([f]), made([t, f]), made([t, f])],
             "nested": lambda: [made([f]), x], "beside": lambda: [made([f]), x, made([f, h])], "memory": lambda: [made([r, f]), x, made([m, f]), made([m, f])]}[body]()
    made_of = p.do("loop", *taken, body=body, reverse=reverse, how=draw.choice(["scan", "scan", "chunks", "by hand"]))
    outputs = [i for i in made_of if p.value(i).is_floating_point()]
    if draw.chance(0.5):
        outputs.append(p.some(draw.choice(outputs)))
    return p.case(name, outputs, factor=256)


@case_of("program.attention")
def attentions(draw, name):
    """Heads made of projections, slices, shared and repeated keys."""
    p = Program(draw, draw.choice(["f64", "f32", "f32"]))
    batch, groups, m, n, d = draw.choice([1, 2]), draw.choice([1, 2]), draw.choice([1, 3, 7, 16]), draw.choice([1, 4, 9, 33]), draw.choice([1, 4, 5, 8])
    heads = groups * draw.choice([1, 2])
    lengths, start = p.begin([[batch, m, heads * d], [batch, n, groups * d], [heads * d, heads * d], *shapes_of(draw, 1)], ([batch], 0, n), ([], 0, n))
    mask = p.take(draw.tensor([batch, 1, m, n], "bool"))
    x, memory_, w = p.floats[:3]
    def split(i, length, count):
        return p.do("permute", p.do("reshape", i, shape=[batch, length, count, d]), order=[0, 2, 1, 3])
    q = split(p.do("matmul", x, w) if draw.chance(0.6) else p.smooth(x), m, heads)
    k = split(p.smooth(memory_), n, groups)
    v = split(memory_, n, groups) if draw.chance(0.5) else p.made([batch, groups, n, d])
    a, more = {"causal": draw.chance(0.5), "window": draw.choice([0, 0, 1, 3])}, []
    for key, chance, make in (("mask", 0.4, lambda: mask), ("bias", 0.3, lambda: p.made([draw.choice([1, batch]), draw.choice([1, heads]), m, n])),
                              ("lengths", 0.4, lambda: lengths), ("start", 0.3, lambda: start)):
        if draw.chance(chance):
            a[key] = True
            more.append(make())
    y = p.do("scaled_dot_product_attention", q, k, v, *more, **a)
    y = p.do("reshape", p.do("permute", y, order=[0, 2, 1, 3]), shape=[batch, m, heads * d])
    if draw.chance(0.5):
        y = p.do("matmul", y, w)
    if draw.chance(0.4):
        y = p.do("layer_norm", p.do("add", y, x), shape=[heads * d])
        return p.case(name, [y], factor=1 << 13 if heads * d < 4 else 512, order=1)
    return p.case(name, [y], factor=256)


@case_of("program.image")
def images(draw, name):
    p = Program(draw, draw.choice(["f64", "f32", "f32"]))
    b, c, h, w = draw.choice([1, 2]), draw.choice([1, 3, 4]), draw.choice([3, 4, 7, 9]), draw.choice([3, 5, 8])
    p.begin([[b, c, h, w], [c, c, 3, 3], [c], *shapes_of(draw, 1)])
    x = p.floats[0] if draw.chance(0.5) else p.made([b, c, h, w])
    outputs, order = [], 2
    for _ in range(draw.random.randint(1, 4)):
        shape = p.shape(x)
        kind = draw.choice(["conv2d", "conv2d", "avg_pool2d", "interpolate", "grid_sample", "unfold", "pixel_shuffle", "smooth", "again"])
        if kind == "conv2d":
            x = p.do("conv2d", x, p.floats[1], p.floats[2], padding=[1, 1], stride=[draw.choice([1, 1, 2])] * 2)
            x = p.do("tanh", x)
        elif kind == "avg_pool2d" and min(shape[2:]) >= 2:
            x = p.do("avg_pool2d", x, window=[2, 2], stride=[draw.choice([1, 2])] * 2)
        elif kind == "interpolate":
            x = p.do("interpolate", x, size=[draw.choice([2, 5, 8]), draw.choice([3, 4, 11])], mode=draw.choice(["bilinear", "bicubic"]))
        elif kind == "grid_sample":
            grid = p.do("sin", p.made([b, draw.choice([2, 4]), draw.choice([1, 3]), 2]))
            exact = p.value(grid).double()
            size = torch.tensor(shape[:1:-1], dtype=torch.float64)
            pixels = ((exact + 1) * size - 1) / 2
            if bool(((pixels - torch.round(pixels)).abs() < 1e-3).any()):
                continue  # where a cell ends
            x, order = p.do("grid_sample", x, grid, padding=draw.choice(["zeros", "border"]), mode="bilinear", align_corners=False), 1
        elif kind == "unfold" and min(shape[2:]) >= 2:
            columns = p.do("unfold", x, window=[2, 2], padding=[1, 0], stride=[1, 2], dilation=[1, 1])
            outputs.append(p.do("sum", columns, axes=[2], keep=False))
        elif kind == "pixel_shuffle" and shape[1] % 4 == 0:
            x = p.do("pixel_shuffle", x, r=2)
            x = p.shaped(x, [b, c, 2 * shape[2], 2 * shape[3]])
        elif kind == "smooth":
            x = p.mixed(x)
        elif kind == "again":
            x = p.shaped(p.again(x), shape)
    return p.case(name, [*outputs, x], factor=256, order=order)


@case_of("program.linear")
def algebra(draw, name):
    """Systems of equations, inverses, sums of products under names."""
    p = Program(draw, draw.choice(["f64", "f64", "f32"]))
    n, m, lead = draw.choice([1, 2, 3, 5, 8]), draw.choice([1, 2, 4]), draw.choice([[], [2], [2, 3]])
    p.begin([lead + [n, n], lead + [n, m], *shapes_of(draw, 2)])
    # Far from singular, with the greatest element of a column anywhere.
    eye = p.inputs[0]
    shift = torch.eye(n, dtype=eye.dtype)[torch.randperm(n, generator=draw.generator)] * (2 * n)
    p.inputs[0] = p.pending[0] = eye + shift
    a = p.floats[0]
    b = p.floats[1] if draw.chance(0.5) else p.made(lead + [n, m])
    outputs = []
    for _ in range(draw.random.randint(1, 3)):
        kind = draw.choice(["solve", "inverse", "einsum", "matmul", "transposed"])
        if kind == "solve":
            b = p.do("solve", a, b)
        elif kind == "inverse":
            one = p.do("inverse", a)
            outputs.append(one)
            b = p.do("matmul", one, b)
        elif kind == "einsum":
            b = p.do("einsum", b, p.made([m, 2]), p.floats[0], equation="...nm,mk,...pn->...pm" if draw.chance(0.5) else "...nm,mk,...np->...pm")
        elif kind == "matmul":
            b = p.do("tanh", p.do("matmul", a, b))
        else:
            order = [*range(len(lead)), len(lead) + 1, len(lead)]
            b = p.do("solve", p.do("permute", a, order=order), b)
    return p.case(name, [*outputs, b], factor=512)


@case_of("program.wide")
def wide(draw, name):
    """Rows of odd lengths, far from each other, in products, reductions and rows of their own."""
    p = Program(draw, draw.choice(["f64", "f32", "f32"]))
    m, k, n = draw.choice([1, 3, 17, 37, 64]), draw.choice([1, 5, 33, 127, 515]), draw.choice([1, 7, 65, 129])
    index, = p.begin([[m, k], [k, n], [m, n]], ([5], 0, m - 1))
    a, b, c = p.floats
    outputs = []
    for _ in range(draw.random.randint(1, 4)):
        kind = draw.choice(["matmul", "slice", "softmax", "sum", "cumsum", "concat", "rows", "norm", "turned"])
        if kind == "matmul":
            c = p.do("tanh", p.do("add", c, p.do("matmul", a, b)))
        elif kind == "slice" and k > 2:
            begin, step = draw.random.randint(0, k // 2), draw.choice([1, 2, 3])
            left = p.do("slice", a, slices=[[None, None, 1], [begin, k, step]])
            right = p.do("slice", b, slices=[[begin, k, step], [None, None, 1]])
            c = p.do("sin", p.do("matmul", left, right))
        elif kind == "softmax":
            c = p.do("softmax", c, axis=draw.choice([0, 1]))
        elif kind == "sum":
            outputs.append(p.do(draw.choice(["sum", "mean"]), p.smooth(a), axes=[draw.choice([0, 1])], keep=draw.chance(0.5)))
        elif kind == "cumsum":
            c = p.do("tanh", p.do("cumsum", c, axis=draw.choice([0, 1])))
        elif kind == "concat":
            both = p.do("concat", c, p.smooth(c), axis=draw.choice([0, 1]))
            outputs.append(p.do("sum", both, axes=[0], keep=False))
        elif kind == "rows":
            c = p.do("index_add", c, index, p.do("index_select", p.smooth(c), index, axis=0), axis=0)
        elif kind == "norm" and k > 3:
            a = p.do("layer_norm", p.smooth(a), shape=[k])
        else:
            c = p.do("permute", p.do("matmul", p.do("permute", b, order=[1, 0]), p.do("permute", a, order=[1, 0])), order=[1, 0])
            c = p.do("sigmoid", c)
    return p.case(name, [*outputs, c], factor=128)
