"""bench_linalg's rows in PyTorch: milliseconds a call, f32; on the CPU processor time of one thread, or wall time of
$TEGULA_BENCH_THREADS. usage: linalg_torch.py [PREFIX...]"""
import os
import sys
import time

import torch
from torch import nn

GPU = torch.cuda.is_available()
DEVICE = "cuda" if GPU else "cpu"
THREADS = int(os.environ.get("TEGULA_BENCH_THREADS", "0"))  # 0: processor time of one
if not GPU:
    torch.set_num_threads(max(THREADS, 1))
NODES, EDGES = 10000, 80000


def now():
    if not GPU:
        return time.perf_counter() if THREADS else time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def row(name, f):
    if len(sys.argv) > 1 and not any(name.startswith(prefix) for prefix in sys.argv[1:]):
        return
    for _ in range(2):
        f()
    begin = now()
    f()
    runs = min(max(int(0.1 / max(now() - begin, 1e-6)), 1), 20000)
    times = []
    for _ in range(5):
        begin = now()
        for _ in range(runs):
            f()
        times.append((now() - begin) / runs)
    print(f"{name:44s} {1e3 * sorted(times)[2]:12.3f} ms", flush=True)


def factors(size, shape):
    names = [f"{name}.{size}" for name in ("lu", "cholesky", "solve", "qr", "eigh", "svd")]
    if len(sys.argv) > 1 and not any(name.startswith(prefix) for prefix in sys.argv[1:] for name in names):
        return
    a, b = torch.randn(shape, device=DEVICE), torch.randn(shape, device=DEVICE)
    s = a @ a.mT + shape[-1] * torch.eye(shape[-1], device=DEVICE)
    row(f"lu.{size}", lambda: torch.linalg.lu_factor(a))
    row(f"cholesky.{size}", lambda: torch.linalg.cholesky(s))
    row(f"solve.{size}", lambda: torch.linalg.solve(s, b))
    row(f"qr.{size}", lambda: torch.linalg.qr(a))
    row(f"eigh.{size}", lambda: torch.linalg.eigh(s))
    row(f"svd.{size}", lambda: torch.linalg.svd(a, full_matrices=False))


def transforms():
    real = lambda *shape: torch.randn(shape, device=DEVICE)
    x = real(4096, 4096)
    row("rfft.4096x4096", lambda: torch.fft.rfft(x))
    c = torch.view_as_complex(real(1000, 1000, 2))
    row("fft.1000x1000", lambda: torch.fft.fft(c))
    long = torch.view_as_complex(real(1 << 20, 2))
    row("fft.1048576", lambda: torch.fft.fft(long))
    pictures = real(64, 512, 512)
    row("rfft2.64x512x512", lambda: torch.fft.rfft2(pictures))
    sound, window = real(16, 160000), torch.hann_window(400, device=DEVICE)
    stft = lambda: torch.stft(sound, 400, 160, window=window, return_complex=True)
    row("stft.16x160000", stft)
    row("stft.16x160000.dense", lambda: stft().contiguous())  # as ours gives it: PyTorch's is a view of pieces by frequencies
    row("spectrogram.16x160000", lambda: stft().abs().square())


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.sent, self.received = nn.Linear(64, 64), nn.Linear(64, 64, bias=False)
        self.own, self.update = nn.Linear(64, 64), nn.Linear(64, 64, bias=False)

    def forward(self, h, source, target, counts):
        message = torch.relu(self.sent(h)[source] + self.received(h)[target])
        total = torch.zeros_like(h).index_add_(0, target, message)
        return torch.relu(self.own(h) + self.update(total / counts))


class MessagePassing(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.score = Layer(), Layer(), nn.Linear(64, 10)

    def forward(self, h, *edges):
        return self.score(self.second(self.first(h, *edges), *edges))


def in_a_graph(step):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def message_passing():
    h = torch.randn(NODES, 64, device=DEVICE)
    source, target = (torch.randint(0, NODES, (EDGES,), device=DEVICE) for _ in range(2))
    labels = torch.randint(0, 10, (NODES,), device=DEVICE)
    counts = torch.bincount(target, minlength=NODES).clamp(min=1)[:, None]
    net = MessagePassing().to(DEVICE)
    sgd = torch.optim.SGD(net.parameters(), lr=0.01)

    def step(forward):
        def run():
            sgd.zero_grad(set_to_none=False)
            nn.functional.cross_entropy(forward(h, source, target, counts), labels).backward()
            sgd.step()
        return run

    row("messages.80000x64", step(net))
    try:
        row("messages.80000x64.compiled", step(torch.compile(net)))
    except Exception as error:  # a machine without a compiler
        print(f"compile: {type(error).__name__}", file=sys.stderr)
    if GPU:
        row("messages.80000x64.graph", in_a_graph(step(net)))
    lines, out = torch.randn(EDGES, 64, device=DEVICE), torch.zeros(NODES, 64, device=DEVICE)
    row("segment_sum.80000x64", lambda: out.zero_().index_add_(0, target, lines))


factors("64x1000", (1000, 64, 64))
factors("512", (512, 512))
factors("1024", (1024, 1024))
factors("4096", (4096, 4096))
transforms()
message_passing()
