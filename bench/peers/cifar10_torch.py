"""bench/cifar10.cpp's network and training in PyTorch: half precision, channels-last, compiled. usage: cifar10_torch.py DIR [epochs [runs]]"""

import sys
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

BATCH, MOMENTUM, SMOOTHING, SHIFT = 1024, 0.85, 0.2, 2
SCALE = 1024 * (1 + 1 / (1 - MOMENTUM))
RATE, DECAY, BIAS_FACTOR = 11.5 / SCALE, 0.0153 * BATCH / SCALE, 64
torch.backends.cudnn.benchmark = True


def load(folder, names):
    data = np.concatenate([np.fromfile(f"{folder}/{name}.bin", np.uint8).reshape(-1, 3073) for name in names])
    images = torch.tensor(data[:, 1:].reshape(-1, 3, 32, 32)).cuda().float() / 255
    mean, deviation = (torch.tensor(x).cuda().view(3, 1, 1) for x in ([0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616]))
    return (images - mean) / deviation, torch.tensor(data[:, 0]).long().cuda()


class Block(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        norm = lambda: nn.BatchNorm2d(cout, eps=1e-12, momentum=0.4)
        self.conv1, self.norm1 = nn.Conv2d(cin, cout, 3, padding=1, bias=False), norm()
        self.conv2, self.norm2 = nn.Conv2d(cout, cout, 3, padding=1, bias=False), norm()
        for conv in (self.conv1, self.conv2):
            nn.init.dirac_(conv.weight.data[: conv.weight.size(1)])
        for bn in (self.norm1, self.norm2):
            bn.weight.requires_grad = False

    def forward(self, x):
        x = F.gelu(self.norm1(F.max_pool2d(self.conv1(x), 2)))
        return F.gelu(self.norm2(self.conv2(x)))


class Net(nn.Module):
    def __init__(self, images):
        super().__init__()
        self.whiten = nn.Conv2d(3, 24, 2)
        patches = images.unfold(2, 2, 1).unfold(3, 2, 1).permute(0, 2, 3, 1, 4, 5).reshape(-1, 12).double()
        values, vectors = torch.linalg.eigh(patches.T @ patches / len(patches))
        filters = (vectors / (values + 5e-4).sqrt()).T.reshape(12, 3, 2, 2).float()
        self.whiten.weight.data = torch.cat([filters, -filters]).to(self.whiten.weight.device)
        self.whiten.weight.requires_grad = False
        self.blocks = nn.Sequential(Block(24, 64), Block(64, 256), Block(256, 256))
        self.head = nn.Linear(256, 10, bias=False)

    def forward(self, x):
        x = self.blocks(F.gelu(self.whiten(x)))
        return self.head(F.max_pool2d(x, 3).flatten(1)) / 9


def triangle(step, total, start=0.2, end=0.07, peak=0.23):
    t = step / total
    return start + (1 - start) * t / peak if t < peak else 1 + (end - 1) * (t - peak) / (1 - peak)


def main():
    folder, epochs, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 8, int(sys.argv[3]) if len(sys.argv) > 3 else 3
    mode = sys.argv[4] if len(sys.argv) > 4 else "default"
    images, labels = load(folder, [f"data_batch_{i}" for i in range(1, 6)])
    test_images, test_labels = load(folder, ["test_batch"])
    padded = F.pad(images, (SHIFT,) * 4, "reflect").half().to(memory_format=torch.channels_last)
    steps = len(images) // BATCH
    net = Net(images).cuda().half().to(memory_format=torch.channels_last)
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.float()
    begin_state = {k: v.clone() for k, v in net.state_dict().items()}
    compiled = torch.compile(net, mode=mode)

    @torch.compile
    def augment(x, samples, flip, down, right):
        grid = torch.arange(32, device="cuda")
        rows = grid.view(1, 32, 1) + down.view(-1, 1, 1)
        columns = torch.where(flip.view(-1, 1, 1), 31 - grid.view(1, 1, 32), grid.view(1, 1, 32)) + right.view(-1, 1, 1)
        picked = x.permute(0, 2, 3, 1)[samples.view(-1, 1, 1), rows, columns]  # (N, 32, 32, 3)
        return picked.permute(0, 3, 1, 2)

    for run in range(runs + 1):
        torch.manual_seed(run)
        net.load_state_dict(begin_state)
        biases = [p for k, p in net.named_parameters() if "norm" in k and p.requires_grad]
        others = [p for k, p in net.named_parameters() if "norm" not in k and p.requires_grad]
        groups = [dict(params=biases, lr=RATE * BIAS_FACTOR, weight_decay=DECAY / (RATE * BIAS_FACTOR)), dict(params=others, lr=RATE, weight_decay=DECAY / RATE)]
        optimiser = torch.optim.SGD(groups, momentum=MOMENTUM, nesterov=True, fused=True)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda s: triangle(s, steps * epochs))
        flips = torch.rand(len(images), device="cuda") < 0.5
        net.train()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for epoch in range(epochs):
            order = torch.randperm(len(images), device="cuda")
            if epoch > 0:
                flips = ~flips
            for i in range(steps):
                samples = order[i * BATCH : (i + 1) * BATCH]
                shifts = torch.randint(0, 2 * SHIFT + 1, (2, BATCH), device="cuda")
                x = augment(padded, samples, flips[samples], shifts[0], shifts[1])
                loss = F.cross_entropy(compiled(x).float(), labels[samples], label_smoothing=SMOOTHING, reduction="sum")
                optimiser.zero_grad(set_to_none=True)
                loss.backward()
                optimiser.step()
                schedule.step()
        torch.cuda.synchronize()
        seconds = time.perf_counter() - begin
        net.eval()
        with torch.no_grad():
            right = sum((net(x.half().to(memory_format=torch.channels_last)).argmax(1) == y).sum().item() for x, y in zip(test_images.split(2000), test_labels.split(2000)))
        print(f"{'compiling,' if run == 0 else 'pytorch,  '} {epochs} epochs: {seconds:8.3f} s, accuracy {right / len(test_images):.4f}", flush=True)


main()
