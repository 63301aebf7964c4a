"""bench_loops' training step of an LSTM in PyTorch: ms, and MB at its peak beyond what was there before the net (of the process on the CPU; on a GPU what
PyTorch's pool has reserved). One length a process, as there. On the CPU processor seconds of one thread: 64 wide, batches of 16; on a GPU 256 wide, batches
of 64, tf32. usage: loops_torch.py lstm|cells|graph T, cells being a loop of LSTMCell, graph the same as one CUDA graph."""
import resource
import sys
import time

import torch
from torch import nn

GPU = torch.cuda.is_available()
DEVICE = "cuda" if GPU else "cpu"


class Cells(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.cell = nn.LSTMCell(width, width)

    def forward(self, x):
        state, outputs = None, []
        for t in range(x.shape[0]):
            state = self.cell(x[t], state)
            outputs.append(state[0])
        return torch.stack(outputs)


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.lstm = nn.LSTM(width, width)

    def forward(self, x):
        return self.lstm(x)[0]


def megabytes():
    return torch.cuda.max_memory_reserved() / 1e6 if GPU else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def now():
    if not GPU:
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


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


def main():
    body, length = sys.argv[1], int(sys.argv[2])
    width, batch = (256, 64) if GPU else (64, 16)
    torch.set_num_threads(1)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    x = torch.randn(length, batch, width, device=DEVICE)
    before = megabytes()
    net = (Layer if body == "lstm" else Cells)(width).to(DEVICE)
    sgd = torch.optim.SGD(net.parameters(), lr=1e-3, foreach=True)

    def step():
        sgd.zero_grad(set_to_none=body != "graph")
        net(x).square().mean().backward()
        sgd.step()

    run = in_a_graph(step) if body == "graph" else step
    run(), run()
    runs, times = 1, []
    if GPU:  # as many in a row as take 16 ms
        begin = now()
        run()
        runs = max(1, int(0.016 / (now() - begin)))
    for _ in range(5):
        begin = now()
        for _ in range(runs):
            run()
        times.append((now() - begin) / runs)
    times.sort()
    took = times[2 if GPU else 0]
    print(f"peer loops.{body}.t{length} {1e3 * took:.3f} ms {1e6 * took / length:.3f} us a step {megabytes() - before:.1f} MB")


main()
