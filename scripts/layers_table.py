#!/usr/bin/env python3
"""Writes the table of docs/layers.md from the headers of tegula/nn: each layer, its sizes, its options with defaults, PyTorch's name.

Without arguments it rewrites the page between its markers; with --check it only says whether the page is up to date.
"""
import argparse
import re
import sys

from sources import ROOT

PAGE = ROOT / "docs" / "layers.md"
BEGIN, END = "<!-- layers:begin -->", "<!-- layers:end -->"
ROOMS = [("Linear layers and tables", "nn/linear.h"), ("Convolution", "nn/convolution.h"), ("Pooling", "nn/pooling.h"),
         ("Normalisation", "nn/normalization.h"), ("Dropout", "nn/dropout.h"), ("Recurrent layers", "nn/sequences/recurrent.h"),
         ("Attention", "nn/sequences/attention.h"), ("Transformer", "nn/sequences/transformer.h"),
         ("Positions", "nn/sequences/positions.h"), ("Adaptive softmax", "nn/sequences/adaptive_softmax.h"),
         ("Images", "nn/images.h"), ("Activations", "nn/activation.h"), ("Around other layers", "nn/weight_norm.h"),
         ("Tables", "nn/preprocessing.h")]
# Options of these stand in the headers of the ops.
OPTIONS_ELSEWHERE = ("ops/products/pooling.h", "ops/images/unfold.h")
# PyTorch's name where it is not the same one in torch.nn.
OTHER_NAMES = {"WeightNorm": "`nn.utils.weight_norm`", "SpectralNorm": "`nn.utils.spectral_norm`", "StochasticDepth": "`torchvision.ops.StochasticDepth`"}
OTHER_NAMES |= {name: "the same; `num_layers` for `.layers`" for name in ("RNN", "LSTM", "GRU")}
OTHER_NAMES |= {name: "the same, without `.layers`, `.dropout` and what follows from several" for name in ("RNNCell", "LSTMCell", "GRUCell")}
OWN = {"AdditiveAttention", "GeneralAttention", "SinusoidalPositions", "LearnedPositions", "Rotary", "Maxout", "StandardScaler", "Imputer", "OneHot"}
TYPE = r"(?:const )?[A-Za-z_][\w:]*(?:<[^;{}()]*>)?[&*]?"


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def classes(text):
    """(name, body) of each class and struct that stands in a namespace."""
    for match in re.finditer(r"^(?:class|struct) (\w+)(?: final)?(?: : [^{;]+)? \{(.*?)^\};", text, re.MULTILINE | re.DOTALL):
        yield match[1], match[2]


def parts(text, separator=","):
    """The text cut at separators that stand in no brackets."""
    found, depth, part = [], 0, ""
    for character in text:
        depth += (character in "(<{") - (character in ")>}")
        if character == separator and depth == 0:
            found.append(part.strip())
            part = ""
        else:
            part += character
    return [part for part in [*found, part.strip()] if part]


def fields(body):
    """(name, default or None) of the data members of an aggregate."""
    found = []
    for line in re.sub(r"[ \t]*\n {3,}(?=\S)", " ", without_comments(body)).split("\n"):
        match = re.fullmatch(rf"\s+({TYPE}) (\w+(?: = [^;]+)?(?:, \w+(?: = [^;,]+)?)*);\s*", line)
        if not match or match[1] in ("using", "return", "static", "friend") or line.strip().startswith(("static", "using", "return")):
            continue
        for one in parts(match[2]):
            name, _, default = one.partition(" = ")
            found.append((name, default or None))
    return found


def arguments(declaration):
    """(type, name, default or None) of the parameters of a constructor."""
    for argument in parts(declaration):
        match = re.fullmatch(rf"({TYPE})\s+(\w+)(?: = (.*))?", " ".join(argument.split()))
        if match:
            yield match[1], match[2], match[3]


def option_text(name, default):
    return f"`.{name} = {default.replace('{}', 'none') if default == '{}' else default}`"


def layers(text, options):
    """(name, sizes, options) of the layers of a header."""
    text = without_comments(text)
    names = {}
    for match in re.finditer(r"^using (\w+) = (\w+)(?:<\d>)?;", text, re.MULTILINE):
        names.setdefault(match[2], []).append(match[1])
    for name, body in classes(text):
        if name.endswith("Options") or "operator()(" not in body:
            continue
        constructors = re.findall(rf"^\s+(?:explicit )?{name}\(((?:[^()]|\([^()]*\))*)\)(?=\s*[;:{{])", body, re.MULTILINE)
        sizes, chosen = [], []
        if constructors:
            for kind, argument, default in arguments(constructors[0]):
                kind = kind.replace("const ", "").rstrip("&*")
                if kind in options:
                    chosen += [(option, value) for option, value in options[kind] if value is not None]
                elif argument != "where" and kind != "Generator":
                    sizes.append(argument if default is None else f"{argument} = {default}")
        else:
            for field, default in fields(body.split("operator()(")[0]):
                kind = re.search(rf"(\w+) {field}\b", body)[1]
                if kind in options:
                    chosen += options[kind]
                elif default is None:
                    sizes.append(field)
                else:
                    chosen.append((field, default))
        yield names.get(name, [name]), sizes, chosen


def pytorch(names):
    if names[0] in OWN:
        return "–"
    return OTHER_NAMES.get(names[0]) or "the same"


def option_structs(text):
    return {name: fields(body) for name, body in classes(text) if name.endswith("Options")}


def table():
    lines = []
    elsewhere = {}
    for header in OPTIONS_ELSEWHERE:
        elsewhere |= option_structs((ROOT / "tegula" / header).read_text(encoding="utf-8"))
    for title, header in ROOMS:
        text = (ROOT / "tegula" / header).read_text(encoding="utf-8")
        rows = list(layers(text, elsewhere | option_structs(text)))
        lines += [f"## {title}", f"`tegula/{header}`", "", "| layer | sizes | options and defaults | PyTorch |", "|---|---|---|---|"]
        for names, sizes, chosen in rows:
            shown = " ".join(option_text(name, default) for name, default in chosen) or "–"
            layer = ", ".join(f"`nn::{name}`" for name in names)
            lines.append(f"| {layer} | {', '.join(f'`{size}`' for size in sizes) or '–'} | {shown} | {pytorch(names)} |")
        lines.append("")
    return "\n".join(lines)


def with_table(page):
    before, rest = page.split(BEGIN)
    return before + BEGIN + "\n" + table() + END + rest.split(END)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    wanted = with_table(page)
    if args.check:
        if page != wanted:
            print("docs/layers.md does not show what the headers have: run scripts/layers_table.py")
            return 1
        return 0
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
