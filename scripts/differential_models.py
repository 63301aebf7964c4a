#!/usr/bin/env python3
"""Six nets of Tegula's with random weights in other frameworks: ResNet-50, MobileNetV2, ViT-B/16, BERT-base, GPT-2, a U-Net.

Each is written as ONNX and looked at by onnx.checker and run in onnxruntime, and as a .pt file, which torch.load(weights_only=True) reads into the net of the same name of
torchvision or transformers: the answers are Tegula's to 1e-5 of the greatest one. PyTorch writes its state again, once in the form from before 1.6; Tegula reads it and gives the same answer to the bit.
Needs the packages torch, torchvision, transformers, onnx and onnxruntime; without them it ends with 77 (skipped).
"""
import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy
    import onnx
    import onnxruntime
    import torch
    import torchvision
    import transformers
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)


def twice(inputs, outputs):
    layers = []
    for channels in (inputs, outputs):
        layers += [torch.nn.Conv2d(channels, outputs, 3, padding=1, bias=False), torch.nn.BatchNorm2d(outputs), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers)


class UNet(torch.nn.Module):
    """models::UNet: `depth` times half the size and twice the channels, and back."""

    def __init__(self, width=32, depth=3):
        super().__init__()
        self.down = torch.nn.ModuleList([twice(3 if i == 0 else width << (i - 1), width << i) for i in range(depth + 1)])
        self.up = torch.nn.ModuleList([torch.nn.ConvTranspose2d(width << (i + 1), width << i, 2, 2) for i in reversed(range(depth))])
        self.merge = torch.nn.ModuleList([twice(width << (i + 1), width << i) for i in reversed(range(depth))])
        self.head = torch.nn.Conv2d(width, 2, 1)

    def forward(self, x):
        left = []
        for i, block in enumerate(self.down):
            x = block(x)
            if i + 1 < len(self.down):
                left.append(x)
                x = torch.nn.functional.max_pool2d(x, 2)
        for up, merge in zip(self.up, self.merge):
            x = merge(torch.cat([left.pop(), up(x)], 1))
        return self.head(x)


def twins():
    """By name: the net, and the prefix of its names before ours."""
    text = dict(attn_implementation="eager")
    return {
        "ResNet-50": (torchvision.models.resnet50, ""),
        "MobileNetV2": (torchvision.models.mobilenet_v2, ""),
        "ViT-B16": (torchvision.models.vit_b_16, ""),
        "BERT-base": (lambda: transformers.BertModel(transformers.BertConfig(**text), add_pooling_layer=False), ""),
        "GPT-2": (lambda: transformers.GPT2LMHeadModel(transformers.GPT2Config(use_cache=False, **text)), "transformer."),
        "U-Net": (UNet, ""),
    }


def difference(got, expected):
    """Relative to the greatest value; infinite where shapes differ."""
    if got.shape != expected.shape:
        return float("inf")
    return float(numpy.abs(got.astype(numpy.float64) - expected).max() / numpy.abs(expected).max())


def by_onnxruntime(place, x):
    onnx.checker.check_model(str(place / "model.onnx"), full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(place / "model.onnx", options, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: x})[0]


def by_pytorch(place, make, prefix, x, zip_format):
    state = torch.load(place / "model.pt", weights_only=True)
    net = make().eval()
    report = net.load_state_dict({prefix + name: value for name, value in state.items()}, strict=False)
    # A head that is the table of tokens, and masks, are no names of ours.
    missing = [name for name in report.missing_keys if not name.endswith(("lm_head.weight", "attn.bias", "position_ids"))]
    if missing or report.unexpected_keys:
        raise ValueError(f"missing {missing[:5]}, unexpected {report.unexpected_keys[:5]}")
    with torch.no_grad():
        y = net(torch.from_numpy(x))
    torch.save(net.state_dict(), place / "back.pt", _use_new_zipfile_serialization=zip_format)
    return (y if torch.is_tensor(y) else y[0]).numpy()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--driver", required=True, help="test_onnx")
    parser.add_argument("--tolerance", type=float, default=1e-5)
    arguments = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as temporary:
        def run():
            subprocess.run([arguments.driver, "--gtest_filter=OnnxWholeModels.*", "--gtest_brief=1"], check=True,
                           env={**os.environ, "TEGULA_WHOLE_MODELS": temporary}, stdout=subprocess.DEVNULL)

        run()
        lines = {}
        for i, (name, (make, prefix)) in enumerate(twins().items()):
            place = Path(temporary) / name
            x, ours = numpy.load(place / "input.npy"), numpy.load(place / "output.npy")
            lines[name] = [difference(by_onnxruntime(place, x), ours), difference(by_pytorch(place, make, prefix, x, i % 2 == 0), ours)]
        run()
        for name, (runtime, torchs) in lines.items():
            place = Path(temporary) / name
            back = numpy.array_equal(numpy.load(place / "back.npy"), numpy.load(place / "output.npy"))
            is_wrong = not (runtime <= arguments.tolerance and torchs <= arguments.tolerance and back)
            wrong += is_wrong
            print(f"{name}: onnxruntime's answer is off by {runtime:.1e}, PyTorch's by {torchs:.1e}; back from PyTorch it is {'the same' if back else 'ANOTHER'}"
                  + (": WRONG" if is_wrong else ""), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
