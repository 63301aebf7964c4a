#!/usr/bin/env python3
"""Six nets of PyTorch with random weights, exported as ONNX, read by Tegula and trained a step: values, gradients and the loss behind the step beside PyTorch's.

ResNet-50, MobileNetV2 and ViT-B/16 of torchvision, BERT-base and GPT-2 of transformers, a U-Net; in f32, normalisations with their running statistics. Both are compared with PyTorch's gradients in f64: a relu
whose argument is rounded to the other side of 0 moves gradients by more than their last bits, in PyTorch as here. Needs the packages torch, torchvision, transformers, onnx, onnxscript and safetensors; without
them it ends with 77 (skipped).
"""
import argparse
import copy
import os
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy
    import onnxscript  # noqa: F401 (torch.onnx needs it)
    import torch
    import torchvision
    import transformers
    from safetensors.numpy import load_file
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)


class Block(torch.nn.Sequential):
    def __init__(self, inputs, outputs):
        layers = []
        for channels in (inputs, outputs):
            layers += [torch.nn.Conv2d(channels, outputs, 3, padding=1, bias=False), torch.nn.BatchNorm2d(outputs), torch.nn.ReLU()]
        super().__init__(*layers)


class UNet(torch.nn.Module):
    """Ronneberger et al., 2015, with three levels and padding."""

    def __init__(self, width=32):
        super().__init__()
        self.down = torch.nn.ModuleList([Block(3, width), Block(width, 2 * width), Block(2 * width, 4 * width)])
        self.up = torch.nn.ModuleList([torch.nn.ConvTranspose2d(4 * width, 2 * width, 2, 2), torch.nn.ConvTranspose2d(2 * width, width, 2, 2)])
        self.join = torch.nn.ModuleList([Block(4 * width, 2 * width), Block(2 * width, width)])
        self.head = torch.nn.Conv2d(width, 4, 1)

    def forward(self, x):
        a = self.down[0](x)
        b = self.down[1](torch.nn.functional.max_pool2d(a, 2))
        c = self.down[2](torch.nn.functional.max_pool2d(b, 2))
        b = self.join[0](torch.cat([self.up[0](c), b], 1))
        return self.head(self.join[1](torch.cat([self.up[1](b), a], 1)))


class First(torch.nn.Module):
    """A model of transformers as a function of its tokens alone."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, tokens):
        return self.net(input_ids=tokens, return_dict=False)[0]


def nets():
    tokens = torch.randint(0, 30000, (2, 24))
    text = dict(attn_implementation="eager")
    return {
        "ResNet-50": (lambda: torchvision.models.resnet50(), torch.randn(2, 3, 96, 96)),
        "MobileNetV2": (lambda: torchvision.models.mobilenet_v2(), torch.randn(2, 3, 96, 96)),
        "ViT-B16": (lambda: torchvision.models.vit_b_16(), torch.randn(1, 3, 224, 224)),
        "BERT-base": (lambda: First(transformers.BertModel(transformers.BertConfig(**text), add_pooling_layer=False)), tokens),
        "GPT-2": (lambda: First(transformers.GPT2LMHeadModel(transformers.GPT2Config(use_cache=False, **text))), tokens),
        "U-Net": (UNet, torch.randn(2, 3, 64, 64)),
    }


def with_statistics(net):
    """Running statistics as after a training, and no parameters of zeros: those of a new net hide what they are used for."""
    for one in net.parameters():
        if not one.any():
            torch.nn.init.normal_(one, 0, 0.02)
    for layer in net.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            layer.running_mean.normal_(0, 0.1)
            layer.running_var.uniform_(0.5, 1.5)


NOISES = 8


def difference(ours, theirs):
    """Relative to the greatest value."""
    if ours.shape != theirs.shape:
        return float("inf")
    scale = max(float(numpy.abs(theirs).max(initial=0)), 1e-6)
    return float(numpy.abs(ours.astype(numpy.float64) - theirs).max(initial=0)) / scale


def gradients_of(net, x, seed):
    """The loss, its value's gradients by name, and the net's result."""
    net.zero_grad()
    y = net(x)
    loss = (y * seed).sum()
    loss.backward()
    return loss.item(), {name: one.grad.numpy().copy() for name, one in net.named_parameters() if one.grad is not None}, y.detach().numpy()


def names_of(net):
    """All names of each parameter: a file may have a shared one (GPT-2's table of tokens is its head, too) under another one, or twice."""
    names = {}
    for name, one in net.named_parameters(remove_duplicate=False):
        names.setdefault(id(one), []).append(name)
    return {all_names[0]: all_names for all_names in names.values()}


def write(place, make, x):
    """Exports a net; returns PyTorch's gradients in f32 and f64, the result in f64, and in both the losses before and behind a step that should lessen it by 0.01."""
    net = make().eval()
    with_statistics(net)
    place.mkdir(parents=True)
    torch.onnx.export(net, (x,), str(place / "model.onnx"), dynamo=True, optimize=False, verbose=False, external_data=False)
    numpy.save(place / "input0.npy", x.numpy())
    with torch.no_grad():
        y = net(x)
        seed = torch.randn_like(y) / y.numel() ** 0.5
    fine = copy.deepcopy(net).double()
    wide = x.double() if x.is_floating_point() else x
    exact_loss, exact, value = gradients_of(fine, wide, seed.double())
    noise = {key: 0.0 for key in exact}  # how far gradients go when weights are rounded otherwise: a relu of a number near 0 falls to the other side
    for _ in range(NOISES):
        other = copy.deepcopy(fine)
        with torch.no_grad():
            for one in other.parameters():
                one *= 1 + 2.0 ** -22 * (2 * torch.rand_like(one) - 1)
        for key, gradient in gradients_of(other, wide, seed.double())[1].items():
            noise[key] = max(noise[key], difference(gradient, exact[key]))
    loss, gradients, _ = gradients_of(net, x, seed)
    rate = 0.01 / sum(float((one.astype(numpy.float64) ** 2).sum()) for one in gradients.values())
    numpy.save(place / "seed.npy", seed.numpy())
    numpy.save(place / "rate.npy", numpy.float32(rate))
    with torch.no_grad():
        for some in (net, fine):
            for one in some.parameters():
                if one.grad is not None:
                    one -= rate * one.grad
        after = (net(x) * seed).sum().item()
        exact_after = (fine(x.double() if x.is_floating_point() else x) * seed.double()).sum().item()
    return gradients, exact, noise, value, ((loss, after), (exact_loss, exact_after)), names_of(net)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--driver", required=True, help="test_onnx")
    parser.add_argument("--only", help="the nets whose names contain this")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tolerance", type=float, default=1e-5, help="of a gradient, relative to its greatest value; or four times what PyTorch's is off, or what noise of two units moves it")
    arguments = parser.parse_args()
    wrong = 0
    torch.manual_seed(arguments.seed)  # of the inputs, too
    for name, (make, x) in nets().items():
        if arguments.only and arguments.only not in name:
            continue
        torch.manual_seed(arguments.seed)
        with tempfile.TemporaryDirectory() as temporary:
            place = Path(temporary) / name
            theirs, exact, noise, value, (losses, exact_losses), names = write(place, make, x)
            subprocess.run([arguments.driver, "--gtest_filter=OnnxGradients.*", "--gtest_brief=1"], check=True,
                           env={**os.environ, "TEGULA_ONNX_GRADIENTS": temporary}, stdout=subprocess.DEVNULL)
            found = load_file(place / "gradients.safetensors")
            ours = {key: sum(found[one] for one in names[key] if one in found) for key in exact if any(one in found for one in names[key])}
            off = {key: difference(ours[key], one) for key, one in exact.items() if key in ours}
            off_there = {key: difference(theirs[key], one) for key, one in exact.items()}
            missing = sorted(set(exact) - set(ours))
            values = difference(numpy.load(place / "output.npy"), value)
            step = numpy.load(place / "loss.npy")
        worst = max(off, key=off.get) if off else "none"
        most, most_there, most_noise = off.get(worst, 0), max(off_there.values()), max(noise.values())
        change = exact_losses[1] - exact_losses[0]
        # The loss of a net whose activations grow is a small sum of great numbers, in f32 in PyTorch as here.
        moved, moved_there = (abs((pair[1] - pair[0]) / change - 1) for pair in (step, losses))
        is_wrong = bool(missing) or not off or most > max(arguments.tolerance, 4 * most_there, most_noise) or values > arguments.tolerance or moved > max(1e-2, 4 * moved_there)
        wrong += is_wrong
        print(f"{name}: {len(off)} gradients off by {most:.1e} ({worst}), PyTorch's by {most_there:.1e}, noise by {most_noise:.1e}; values by {values:.1e}; "
              f"loss {exact_losses[0]:.5f} to {exact_losses[1]:.5f}, PyTorch's {losses[0]:.5f} to {losses[1]:.5f}, here {step[0]:.5f} to {step[1]:.5f}"
              + (f", without {', '.join(missing[:5])} ({len(missing)})" if missing else "") + (": WRONG" if is_wrong else ""), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
