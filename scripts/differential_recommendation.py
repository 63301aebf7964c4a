#!/usr/bin/env python3
"""DLRM, NeuMF and WaveNet beside the same nets in PyTorch, which are written down here as their papers' programs have them, from the same weights and inputs.

`test_models` writes weights, inputs, scores and the weights after a step of SGD; PyTorch computes the same in f64. Scores and loss must agree to 1e-5 of the greatest
score, each parameter's change to 1e-4 of its greatest beside the rounding of the parameter to f32. Needs the package torch; without it the script ends with 77 (skipped)."""
import argparse
import os
from pathlib import Path
import subprocess
import sys
import tempfile

try:
    import numpy
    import torch
    from torch import nn
    from torch.nn import functional
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)


def tower(widths, to_the_end):
    layers = []
    for i, (before, after) in enumerate(zip(widths, widths[1:])):
        layers.append(nn.Linear(before, after))
        if not to_the_end or i + 2 < len(widths):
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


class Dlrm(nn.Module):
    def __init__(self):
        super().__init__()
        self.bot_l = tower([13, 64, 32, 16], False)
        self.emb_l = nn.ModuleList([nn.Embedding(n, 16) for n in (50, 7, 300)])
        self.top_l = tower([16 + 6, 64, 32, 1], True)

    def forward(self, numbers, categories):
        x = self.bot_l(numbers)
        both = torch.stack([x] + [table(categories[:, i]) for i, table in enumerate(self.emb_l)], 1)
        products = torch.bmm(both, both.transpose(1, 2))
        i, j = zip(*[(i, j) for i in range(4) for j in range(i)])  # interact_features of facebookresearch/dlrm
        return self.top_l(torch.cat([x, products[:, list(i), list(j)]], 1)).squeeze(1)


class NeuMf(nn.Module):
    def __init__(self):
        super().__init__()
        self.mf_user, self.mf_item = nn.Embedding(100, 8), nn.Embedding(60, 8)
        self.mlp_user, self.mlp_item = nn.Embedding(100, 32), nn.Embedding(60, 32)
        self.mlp, self.score = tower([64, 32, 16, 8], False), nn.Linear(16, 1)

    def forward(self, users, items):
        deep = self.mlp(torch.cat([self.mlp_user(users), self.mlp_item(items)], -1))
        return self.score(torch.cat([self.mf_user(users) * self.mf_item(items), deep], -1)).squeeze(-1)


class Layer(nn.Module):
    def __init__(self, back):
        super().__init__()
        self.back = back
        self.gates, self.residual, self.skip = nn.Conv1d(16, 32, 2, dilation=back), nn.Conv1d(16, 16, 1), nn.Conv1d(16, 24, 1)

    def forward(self, x):
        filtered, gate = self.gates(functional.pad(x, (self.back, 0))).chunk(2, 1)
        y = torch.tanh(filtered) * torch.sigmoid(gate)
        return x + self.residual(y), self.skip(y)


class WaveNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.input = nn.Embedding(32, 16)
        self.layers = nn.ModuleList([Layer(2**i) for _ in range(2) for i in range(5)])
        self.hidden, self.output = nn.Conv1d(24, 24, 1), nn.Conv1d(24, 32, 1)

    def forward(self, samples):
        x, total = self.input(samples).transpose(1, 2), 0
        for layer in self.layers:
            x, seen = layer(x)
            total = total + seen
        return self.output(functional.relu(self.hidden(functional.relu(total))))


def difference(got, expected):
    """Relative to the greatest value; infinite where shapes differ."""
    got, expected = got.double(), expected.double()
    return float((got - expected).abs().max() / expected.abs().max()) if got.shape == expected.shape else float("inf")


def compared(place, net):
    """How far scores and loss are off, and the parameters' changes; the name of the worst parameter."""
    before, after = (torch.load(place / name, weights_only=True) for name in ("before.pt", "after.pt"))
    net.load_state_dict(before)
    net.double()
    read = lambda name: torch.from_numpy(numpy.load(place / name))
    x = [read(f"x{i}.npy") for i in range(2) if (place / f"x{i}.npy").exists()]
    scores, labels = net(*[one.double() if one.is_floating_point() else one.long() for one in x]), read("labels.npy")
    loss = functional.binary_cross_entropy_with_logits(scores, labels.double()) if labels.is_floating_point() else functional.cross_entropy(scores, labels.long())
    loss.backward()
    changes = {}
    for name, one in net.named_parameters():
        change = 0.5 * (one.grad if one.grad is not None else torch.zeros_like(one))  # what goes nowhere, as the last layer's residual, stays
        off = (after[name].double() - (one.detach() - change)).abs().max()
        changes[name] = float((off - 2**-23 * one.detach().abs().max()).clamp(min=0) / change.abs().max().clamp(min=1e-30))
    worst = max(changes, key=changes.get)
    answers = max(difference(read("scores.npy"), scores.detach()), difference(read("loss.npy").reshape(1), loss.detach().reshape(1)))
    return answers, changes[worst], worst


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--driver", required=True, help="test_models")
    arguments = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as temporary:
        subprocess.run([arguments.driver, "--gtest_filter=PyTorchTwins.*", "--gtest_brief=1"], check=True, env={**os.environ, "TEGULA_TWINS": temporary},
                       stdout=subprocess.DEVNULL)
        for name, net in (("dlrm", Dlrm()), ("neumf", NeuMf()), ("wavenet", WaveNet())):
            answers, changes, worst = compared(Path(temporary) / name, net)
            is_wrong = not (answers <= 1e-5 and changes <= 1e-4)
            wrong += is_wrong
            print(f"{name}: scores and loss are off by {answers:.1e}, a step's changes by {changes:.1e} ({worst})" + (": WRONG" if is_wrong else ""), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
