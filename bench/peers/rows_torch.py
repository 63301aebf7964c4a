"""The row kernels of bench_gpu in PyTorch: eager, and compiled with max-autotune. usage: rows_torch.py [prefix…]

A line for each case, with the faster of the two: `peer.softmax.8192x8192 4034 GB/s max-autotune`. scripts/gpu_results.py takes them.
"""
import sys

import torch
import torch.nn.functional as F

SHAPES = [(8192, 8192), (65536, 1024), (4096, 32768), (16384, 4096)]
LARGE = [(65536, 4096), (32768, 8192)]
BACKWARD = [(16384, 4096), (65536, 1024), (32768, 768)]
SIDE = torch.cuda.Stream()  # where all is run and recorded


def timed(step):
    """Milliseconds of a step: the median of five batches of about 8 ms, each one CUDA graph, so that no host code is timed."""
    torch.cuda.synchronize()
    with torch.cuda.stream(SIDE):
        for _ in range(3):
            step()

    def batch(count):
        graph, times = torch.cuda.CUDAGraph(), []
        with torch.cuda.graph(graph, stream=SIDE):
            for _ in range(count):
                step()
        for _ in range(6):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            graph.replay()
            end.record()
            torch.cuda.synchronize()
            times.append(begin.elapsed_time(end) / count)
        return sorted(times[1:])[2]

    return batch(max(1, int(8 / batch(2))))


def randn(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.float32).bfloat16()


def case(name, moved, function, *arguments, gradient=None):
    if len(sys.argv) > 1 and not any(name.startswith(prefix) for prefix in sys.argv[1:]):
        return
    best = (0, "")
    for mode in ("eager", "max-autotune"):
        torch._dynamo.reset()
        run = function if mode == "eager" else torch.compile(function, dynamic=False, mode="max-autotune-no-cudagraphs")
        if gradient is None:
            with torch.no_grad():
                time = timed(lambda: run(*arguments))
        else:
            with torch.cuda.stream(SIDE):  # gradients run on the stream of their forward pass
                result = run(*arguments)
            time = timed(lambda: torch.autograd.grad(result, arguments, gradient, retain_graph=True))
        best = max(best, (moved / time / 1e6, mode))
    print(f"peer.{name} {best[0]:.0f} GB/s {best[1]}", flush=True)


for rows, columns in SHAPES + LARGE:
    x, w, b = randn(rows, columns), randn(columns), randn(columns)
    at, moved = f"{rows}x{columns}", 4.0 * rows * columns
    case("layer_norm.plain." + at, moved, lambda x: F.layer_norm(x, (columns,)), x)
    case("layer_norm." + at, moved, lambda x, w, b: F.layer_norm(x, (columns,), w, b), x, w, b)
    case("rms_norm." + at, moved, lambda x, w: F.rms_norm(x, (columns,), w), x, w)
    case("softmax." + at, moved, lambda x: F.softmax(x, -1), x)
    if columns == 8192 and rows == 8192:
        case("gelu." + at, moved, F.gelu, x)
        case("gelu_tanh." + at, moved, lambda x: F.gelu(x, approximate="tanh"), x)
for rows, columns in BACKWARD:
    x, w, b, dy = randn(rows, columns), randn(columns), randn(columns), randn(rows, columns)
    for tensor in (x, w, b):
        tensor.requires_grad_()
    at, moved = f".backward.{rows}x{columns}", 6.0 * rows * columns
    case("layer_norm" + at, moved, lambda x, w, b: F.layer_norm(x, (columns,), w, b), x, w, b, gradient=dy)
    case("rms_norm" + at, moved, lambda x, w: F.rms_norm(x, (columns,), w), x, w, gradient=dy)
