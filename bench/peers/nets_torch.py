#!/usr/bin/env python3
"""The nets of bench_nets in PyTorch, eager and compiled; on $TEGULA_BENCH_DEVICE, cpu where it is not set, in $TEGULA_BENCH_PRECISION (fp32, tf32, bf16 or fp16), by $TEGULA_BENCH_CLOCK. usage: nets_torch.py [prefix…]

Two lines for each net and mode: `peer.vit.b16.eager.first 0.21 s`, `peer.vit.b16.eager 41.2 ms/step`.
"""
import contextlib
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "2")
import torch
import torch.nn.functional as F
from torch import nn

DEVICE = os.environ.get("TEGULA_BENCH_DEVICE", "cpu")
MODES = os.environ.get("TEGULA_PEER_MODES", "eager compile").split()
torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
torch.manual_seed(0)
PRECISION = os.environ.get("TEGULA_BENCH_PRECISION", "fp32")
torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = PRECISION != "fp32"
CLOCK = time.process_time if os.environ.get("TEGULA_BENCH_CLOCK") == "processor" else time.perf_counter
HALF = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(PRECISION)


def arithmetic():
    return torch.autocast(DEVICE, HALF) if HALF else contextlib.nullcontext()


def conv_block(n, m):
    return nn.Sequential(nn.Conv2d(n, m, 3, padding=1, bias=False), nn.BatchNorm2d(m), nn.ReLU())


class Vit(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches, self.positions = nn.Conv2d(3, 192, 4, 4), nn.Parameter(torch.randn(64, 192) * 0.02)
        layer = nn.TransformerEncoderLayer(192, 3, 768, 0.0, "gelu", batch_first=True, norm_first=True)
        self.blocks, self.head = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False), nn.Linear(192, 10)

    def forward(self, x):
        x = self.patches(x).flatten(2).permute(0, 2, 1)
        return self.head(self.blocks(x + self.positions).mean(1))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.down1, self.down2 = conv_block(3, 24), conv_block(24, 48), conv_block(48, 96)
        self.up2, self.up1 = nn.ConvTranspose2d(96, 48, 2, 2), nn.ConvTranspose2d(48, 24, 2, 2)
        self.join2, self.join1, self.out = conv_block(96, 48), conv_block(48, 24), nn.Conv2d(24, 10, 1)

    def forward(self, x):
        a = self.inner(x)
        b = self.down1(F.max_pool2d(a, 2))
        c = self.down2(F.max_pool2d(b, 2))
        d = self.join2(torch.cat([self.up2(c), b], 1))
        return self.out(self.join1(torch.cat([self.up1(d), a], 1))).mean((2, 3))


def autoencoder():
    return nn.Sequential(nn.Conv2d(3, 32, 4, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 4, 2, 1), nn.ReLU(),
                         nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(32, 3, 4, 2, 1))


def separable(n, m, stride):
    return nn.Sequential(nn.Conv2d(n, n, 3, stride, 1, groups=n, bias=False), nn.BatchNorm2d(n), nn.ReLU(),
                         nn.Conv2d(n, m, 1, bias=False), nn.BatchNorm2d(m), nn.ReLU())


def mobilenet():
    layers, width = [nn.Conv2d(3, 16, 3, 1, 1, bias=False)], 16
    for wide, count in ((32, 3), (64, 4), (128, 6), (256, 4)):
        for i in range(count):
            layers.append(separable(width, wide, 2 if i == 0 and wide > 32 else 1))
            width = wide
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 10))


def odd_mlp():
    return nn.Sequential(nn.Linear(785, 333), nn.ReLU(), nn.Linear(333, 111), nn.ReLU(), nn.Linear(111, 10))


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.up1, self.up2 = nn.Linear(64, 7 * 7 * 64), nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.ConvTranspose2d(32, 1, 4, 2, 1)

    def forward(self, z):
        return torch.tanh(self.up2(F.relu(self.up1(F.relu(self.inner(z).view(-1, 64, 7, 7))))))


def critic():
    return nn.Sequential(nn.Conv2d(1, 32, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(32, 64, 4, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(),
                         nn.Linear(7 * 7 * 64, 1))


def measure(name, step):
    def synchronize():
        if DEVICE != "cpu":
            torch.cuda.synchronize()

    def timed():
        begin = CLOCK()
        step()
        synchronize()
        return CLOCK() - begin

    first = timed()
    for _ in range(3):
        one = timed()
    times = sorted(timed() for _ in range(max(5, min(20000, int((3 if DEVICE == "cpu" else 1) / one)))))
    print(f"peer.{name}.first {first:.3f} s\npeer.{name} {times[len(times) // 2] * 1e3:.3f} ms/step", flush=True)


def train(name, make, shape):
    for mode in MODES:
        torch._dynamo.reset()
        net, x, y = make().to(DEVICE), torch.randn(*shape, device=DEVICE), torch.randint(0, 10, (shape[0],), device=DEVICE)
        run = torch.compile(net) if mode == "compile" else net
        adam = torch.optim.Adam(net.parameters(), lr=1e-3, fused=True)

        def step():
            adam.zero_grad(set_to_none=True)
            with arithmetic():
                out = run(x)
                loss = F.mse_loss(out, x) if out.shape == x.shape else F.cross_entropy(out, y)
            loss.backward()
            adam.step()
            loss.item()

        measure(f"{name}.{mode}", step)


def train_gan(name, batch):
    for mode in MODES:
        torch._dynamo.reset()
        g, c = Generator().to(DEVICE), critic().to(DEVICE)
        x, z = torch.randn(batch, 1, 28, 28, device=DEVICE), torch.randn(batch, 64, device=DEVICE)
        ones, zeros = torch.ones(batch, 1, device=DEVICE), torch.zeros(batch, 1, device=DEVICE)
        make, tell = (torch.compile(g), torch.compile(c)) if mode == "compile" else (g, c)
        adam_g, adam_c = (torch.optim.Adam(net.parameters(), lr=2e-4, fused=True) for net in (g, c))
        loss = F.binary_cross_entropy_with_logits

        def step():
            with arithmetic():
                drawn = make(z)
                told = loss(tell(x), ones) + loss(tell(drawn.detach()), zeros)
                fooled = loss(tell(drawn), ones)
            of_g = torch.autograd.grad(fooled, list(g.parameters()), retain_graph=True)
            adam_c.zero_grad(set_to_none=True)
            told.backward()
            adam_c.step()
            for parameter, gradient in zip(g.parameters(), of_g):
                parameter.grad = gradient
            adam_g.step()
            (told + fooled).item()

        measure(f"{name}.{mode}", step)


def layer(name, f, *shapes):
    """f of the inputs, and all their gradients given that of the result."""
    for mode in MODES:
        torch._dynamo.reset()
        inputs = [(torch.randn(*shape, device=DEVICE) * 0.1).requires_grad_() for shape in shapes]
        run = torch.compile(f) if mode == "compile" else f
        with arithmetic():
            dy = torch.randn_like(run(*inputs))

        def step():
            with arithmetic():
                y = run(*inputs)
            torch.autograd.grad(y, inputs, dy)

        measure(f"{name}.{mode}", step)


def main():
    nets = {"vit.b16": lambda name: train(name, Vit, (16, 3, 32, 32)), "unet.b8": lambda name: train(name, UNet, (8, 3, 64, 64)),
            "autoencoder.b32": lambda name: train(name, autoencoder, (32, 3, 32, 32)),
            "mobilenet.b16": lambda name: train(name, mobilenet, (16, 3, 32, 32)), "gan.b32": lambda name: train_gan(name, 32),
            "layer.transposed.b16": lambda name: layer(name, lambda x, w: F.conv_transpose2d(x, w, None, 2, 1), (16, 64, 16, 16), (64, 32, 4, 4)),
            "layer.depthwise.b16": lambda name: layer(name, lambda x, w: F.conv2d(x, w, None, 1, 1, 1, 64), (16, 64, 32, 32), (64, 1, 3, 3)),
            "layer.grouped.b16": lambda name: layer(name, lambda x, w: F.conv2d(x, w, None, 1, 1, 1, 8), (16, 64, 32, 32), (64, 8, 3, 3)),
            "layer.concat.b16": lambda name: layer(name, lambda a, b: torch.cat([F.relu(a), F.relu(b)], 1), (16, 32, 64, 64), (16, 32, 64, 64)),
            "odd-mlp.b100": lambda name: train(name, odd_mlp, (100, 785))}
    for name, run in nets.items():
        if len(sys.argv) == 1 or any(name.startswith(prefix) for prefix in sys.argv[1:]):
            run(name)


if __name__ == "__main__":
    main()
