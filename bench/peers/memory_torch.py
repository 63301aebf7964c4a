"""What training holds at its peak in PyTorch: bench_memory's nets. usage: memory_torch.py resnet50|mnist-cnn|lstm|lstm-cells SIZE"""
import resource
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn


def mnist_cnn():
    return nn.Sequential(
        nn.Conv2d(1, 12, 3, padding="same"), nn.ReLU(),
        nn.ZeroPad2d((2, 2, 2, 2)), nn.Conv2d(12, 24, 6, stride=2), nn.ReLU(),
        nn.ZeroPad2d((2, 2, 2, 2)), nn.Conv2d(24, 32, 6, stride=2), nn.ReLU(),
        nn.Flatten(), nn.Linear(7 * 7 * 32, 200), nn.ReLU(), nn.Linear(200, 10))


class Recurrent(nn.Module):
    def __init__(self, cells):
        super().__init__()
        self.lstm = nn.LSTMCell(64, 64) if cells else nn.LSTM(64, 64, batch_first=True)
        self.cells = cells

    def forward(self, x):
        if not self.cells:
            return self.lstm(x)[0].mean(1)
        state, outputs = None, []
        for t in range(x.shape[1]):
            state = self.lstm(x[:, t], state)
            outputs.append(state[0])
        return torch.stack(outputs, 1).mean(1)


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main():
    name, size = sys.argv[1], int(sys.argv[2])
    shape = {"resnet50": (size, 3, 224, 224), "mnist-cnn": (size, 1, 28, 28)}.get(name, (16, size, 64))
    if name == "resnet50":
        import torchvision
        make = torchvision.models.resnet50
    else:
        make = mnist_cnn if name == "mnist-cnn" else lambda: Recurrent(name == "lstm-cells")
    before = peak()
    net = make()
    sgd = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)
    x, y = torch.randn(shape), torch.zeros(shape[0], dtype=torch.int64)

    def step():
        loss = F.cross_entropy(net(x), y)
        sgd.zero_grad()
        loss.backward()
        sgd.step()

    step()
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    print(f"{name}.{size} {peak() - before:.1f} MB {1e3 * sorted(times)[2]:.1f} ms")


main()
