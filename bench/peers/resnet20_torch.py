"""tegula train resnet20's network and training in PyTorch on the CPU: the same images, changes, Adam, one-cycle schedule and smoothed labels.
usage: resnet20_torch.py DIR [limit [epochs [batch [threads]]]], DIR with CIFAR-10's binary files (scripts/cifar10_from_jpegs.py makes them)"""
import glob
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FOLDER = sys.argv[1]
LIMIT, EPOCHS, BATCH, THREADS = (list(map(int, sys.argv[2:])) + [4000, 4, 64, 2][len(sys.argv) - 2:])
RATE = 1e-2


def load(names):
    data = np.concatenate([np.fromfile(name, np.uint8).reshape(-1, 3073) for name in names])[:LIMIT]
    return torch.tensor(data[:, 1:].reshape(-1, 3, 32, 32)).float() / 255, torch.tensor(data[:, 0]).long()


class Block(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(cin, cout, 3, cout // cin, 1, bias=False), nn.BatchNorm2d(cout)
        self.conv2, self.bn2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False), nn.BatchNorm2d(cout)
        self.more = cout - cin

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        if self.more:
            x = F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.more // 2, self.more // 2))
        return F.relu(y + x)


def net():
    stage = lambda a, b: nn.Sequential(Block(a, b), Block(b, b), Block(b, b))
    return nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), stage(16, 16), stage(16, 32), stage(32, 64), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def changed(x):
    padded = F.pad(x, (4, 4, 4, 4))
    out = torch.empty_like(x)
    for i in range(len(x)):
        top, left = torch.randint(0, 9, (2,)).tolist()
        one = padded[i, :, top:top + 32, left:left + 32]
        out[i] = one.flip(-1) if torch.rand(()) < 0.5 else one
    return out


torch.set_num_threads(THREADS)
torch.manual_seed(0)
train, labels = load(sorted(glob.glob(f"{FOLDER}/data_batch_*.bin")))
test, answers = load([f"{FOLDER}/test_batch.bin"])
mean, deviation = (torch.tensor(x).view(3, 1, 1) for x in ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))
model = net()
adam = torch.optim.Adam(model.parameters(), lr=RATE)
steps = len(train) // BATCH
schedule = torch.optim.lr_scheduler.OneCycleLR(adam, RATE, total_steps=EPOCHS * steps, pct_start=0.2, cycle_momentum=False)
for epoch in range(EPOCHS):
    begin, cpu, total = time.perf_counter(), time.process_time(), 0.0
    model.train()
    order = torch.randperm(len(train))
    for i in range(steps):
        rows = order[i * BATCH:(i + 1) * BATCH]
        scores = model((changed(train[rows]) - mean) / deviation)
        loss = F.cross_entropy(scores, labels[rows], label_smoothing=0.1)
        adam.zero_grad()
        loss.backward()
        adam.step()
        schedule.step()
        total += F.cross_entropy(scores.detach(), labels[rows]).item()
    seconds, used = time.perf_counter() - begin, time.process_time() - cpu
    model.eval()
    with torch.no_grad():
        scores = torch.cat([model((x - mean) / deviation) for x in test.split(500)])
    right = (scores.argmax(1) == answers).float().mean().item()
    print(f"epoch {epoch + 1}: train loss {total / steps:.4f}, test loss {F.cross_entropy(scores, answers).item():.4f}, {100 * right:.2f} % right, {seconds:.1f} s, {used:.1f} s of CPU", flush=True)
