#!/usr/bin/env python3
"""The nets of `tegula train translate` in PyTorch: same first weights, tokenizers, pairs, batches, schedule and optimiser. The trained weights go into a
file that `tegula translate` reads, so that one beam search and one BLEU measure both.

  tegula train translate A.de A.en --epochs 0 --out first.safetensors …
  python3 bench/peers/translation_torch.py first.safetensors A.de A.en --validation V.de V.en --epochs 10 --lr 0.002 --out torch.safetensors
"""
import argparse
import ctypes
import gzip
import json
import math
import random
import re
import struct
import time

import torch
import torch.nn.functional as F
from torch import nn

PIECE = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")


def read_model(path):
    """Tensors and metadata of a safetensors file with f32 tensors."""
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    meta = header.pop("__metadata__")
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = torch.frombuffer(bytearray(data[8 + size + begin:8 + size + end]), dtype=torch.float32).reshape(entry["shape"])
    return tensors, meta


def write_model(path, tensors, meta):
    header, blobs, at = {"__metadata__": meta}, [], 0
    for name, tensor in tensors.items():
        kept = tensor.detach().float().cpu().contiguous()
        blob = ctypes.string_at(kept.data_ptr(), kept.nbytes)  # without NumPy, which may be missing
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


class Bpe:
    """Byte-level BPE of a tokenizer.json with add_prefix_space."""

    def __init__(self, text):
        model = json.loads(text)["model"]
        self.ids = model["vocab"]
        self.ranks = {tuple(m if isinstance(m, list) else m.split(" ")): i for i, m in enumerate(model["merges"])}
        printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
        self.spelled = {b: chr(b) for b in printable}
        for b in range(256):
            if b not in self.spelled:
                self.spelled[b] = chr(256 + len(self.spelled) - len(printable))
        self.known = {}

    def piece(self, text):
        if text not in self.known:
            parts = [self.spelled[b] for b in text.encode()]
            while len(parts) > 1:
                rank, at = min((self.ranks.get(pair, math.inf), i) for i, pair in enumerate(zip(parts, parts[1:])))
                if rank == math.inf:
                    break
                left, right, out, i = parts[at], parts[at + 1], [], 0
                while i < len(parts):
                    both = parts[i:i + 2] == [left, right]
                    out.append(left + right if both else parts[i])
                    i += 2 if both else 1
                parts = out
            self.known[text] = [self.ids[p] for p in parts]
        return self.known[text]

    def encode(self, line):
        line = line if line[:1].isspace() else " " + line
        return [i for piece in PIECE.findall(line) for i in self.piece(piece)]


class Transformer(nn.Module):
    def __init__(self, o, source, target):
        super().__init__()
        self.width = width = int(o["width"])
        make = dict(dim_feedforward=int(o["hidden"]), dropout=o["dropout"], batch_first=True, norm_first=True)
        self.target_embedding = nn.Embedding(target, width)
        self.source_embedding = nn.Embedding(source, width) if o["tied"] < 2 else None  # 2: one vocabulary, one table
        self.dropout = nn.Dropout(o["dropout"])
        layer = lambda kind: kind(width, int(o["heads"]), **make)
        self.encoder = nn.TransformerEncoder(layer(nn.TransformerEncoderLayer), int(o["encoder_layers"]), nn.LayerNorm(width), enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(layer(nn.TransformerDecoderLayer), int(o["decoder_layers"]), nn.LayerNorm(width))
        place, k = torch.arange(512.0)[:, None], torch.arange(0, width, 2.0)
        angle = place / 10000 ** (k / width)
        self.register_buffer("places", torch.stack([angle.sin(), angle.cos()], 2).reshape(512, width), persistent=False)

    def forward(self, source, target, lengths):
        embed = lambda table, t: self.dropout(table(t) * math.sqrt(self.width) + self.places[:t.shape[1]])
        hidden = torch.arange(source.shape[1], device=source.device) >= lengths.to(source.device)[:, None]
        memory = self.encoder(embed(self.source_embedding or self.target_embedding, source), src_key_padding_mask=hidden)
        mask = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool, device=target.device).triu(1)
        y = self.decoder(embed(self.target_embedding, target), memory, tgt_mask=mask, tgt_is_causal=True, memory_key_padding_mask=hidden)
        return F.linear(y, self.target_embedding.weight)


class Additive(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.query_layer, self.key_layer = nn.Linear(hidden, hidden), nn.Linear(2 * hidden, hidden)
        self.energy_layer = nn.Linear(hidden, 1, bias=False)


class Seq2Seq(nn.Module):
    def __init__(self, o, source, target):
        super().__init__()
        embedding, hidden = int(o["embedding"]), int(o["hidden"])
        assert o["alignment"] == 0 and o["layers"] == 1, "additive attention, one layer"
        self.target_embedding = nn.Embedding(target, embedding)
        self.source_embedding = nn.Embedding(source, embedding) if o["tied"] < 2 else None
        self.dropout = nn.Dropout(o["dropout"])
        self.encoder = nn.LSTM(embedding, hidden, batch_first=True, bidirectional=True)
        self.bridge_h, self.bridge_c = nn.Linear(2 * hidden, hidden), nn.Linear(2 * hidden, hidden)
        self.additive = Additive(hidden)
        self.decoder = nn.ModuleList([nn.LSTMCell(embedding + 2 * hidden, hidden)])
        self.combine = nn.Linear(3 * hidden + embedding, embedding)

    def forward(self, source, target, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(self.dropout((self.source_embedding or self.target_embedding)(source)), lengths, batch_first=True, enforce_sorted=False)
        packed, (h, c) = self.encoder(packed)
        seen, _ = nn.utils.rnn.pad_packed_sequence(packed, batch_first=True, total_length=source.shape[1])
        hidden = (torch.arange(source.shape[1], device=source.device) >= lengths.to(source.device)[:, None])
        h, c = torch.tanh(self.bridge_h(torch.cat([h[0], h[1]], 1))), self.bridge_c(torch.cat([c[0], c[1]], 1))
        keys, words = self.additive.key_layer(seen), self.dropout(self.target_embedding(target))
        states, contexts = [], []
        for t in range(target.shape[1]):
            e = self.additive.energy_layer(torch.tanh(self.additive.query_layer(h)[:, None] + keys)).squeeze(2)
            context = torch.bmm(e.masked_fill(hidden, -math.inf).softmax(1)[:, None], seen).squeeze(1)
            h, c = self.decoder[0](torch.cat([words[:, t], context], 1), (h, c))
            states.append(h)
            contexts.append(context)
        y = torch.tanh(self.combine(torch.cat([torch.stack(states, 1), torch.stack(contexts, 1), words], 2)))
        return F.linear(self.dropout(y), self.target_embedding.weight)


def ladder(length):
    width = 8
    while width < length:
        width = width // 2 * 3 if width & (width - 1) == 0 else width // 3 * 4
    return width


def lines(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        return file.read().split("\n")[:-1]


def batch_of(pairs, device):
    """The lengths stay on the host, where packing wants them."""
    width = ladder(max(max(len(s), len(t) + 1) for s, t in pairs))
    rows = lambda ids: torch.tensor([i + [0] * (width - len(i)) for i in ids], device=device)
    return rows([s for s, _ in pairs]), rows([[1] + t for _, t in pairs]), rows([t + [2] for _, t in pairs]), torch.tensor([len(s) for s, _ in pairs])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("first")
    parser.add_argument("files", nargs=2)
    parser.add_argument("--validation", nargs=2)
    parser.add_argument("--out", required=True)
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--smoothing", type=float, default=0.1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="fp32", choices=["fp32", "tf32", "bf16"])
    args = parser.parse_args()
    torch.set_float32_matmul_precision("highest" if args.precision == "fp32" else "high")
    precise = lambda: torch.autocast(args.device.split(":")[0], dtype=torch.bfloat16, enabled=args.precision == "bf16")
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    random.seed(args.seed)
    tensors, meta = read_model(args.first)
    options = {k[len("tegula.number."):]: float(v) for k, v in meta.items() if k.startswith("tegula.number.")}
    source, target = Bpe(meta["tegula.text.source_tokenizer"]), Bpe(meta["tegula.text.target_tokenizer"])
    kind = Transformer if meta["tegula.model"] == "translation-transformer" else Seq2Seq
    net = kind(options, len(source.ids), len(target.ids))
    net.load_state_dict(tensors)
    net.to(args.device)

    def pairs_of(files, limit):
        both = list(zip(lines(files[0]), lines(files[1])))
        coded = [(source.encode(a) + [2], target.encode(b)) for a, b in (both[:limit] if limit else both)]
        return [(s, t) for s, t in coded if len(s) > 1 and t and max(len(s), len(t)) <= 100]

    length = lambda pair: max(len(pair[0]), len(pair[1]) + 1)
    train = pairs_of(args.files, args.limit)
    test = sorted(pairs_of(args.validation, 0), key=length) if args.validation else []
    steps = args.epochs * ((len(train) + args.batch - 1) // args.batch)
    warmup = min(max(steps // 10, 1), 4000)
    adam = torch.optim.Adam(net.parameters(), lr=args.lr, betas=(0.9, 0.98), eps=1e-9)
    schedule = torch.optim.lr_scheduler.LambdaLR(adam, lambda i: min((i + 1) / warmup, math.sqrt(warmup / (i + 1))))
    flat = lambda scores, labels, smoothing, reduction="mean": F.cross_entropy(
        scores.flatten(0, 1), labels.flatten(), ignore_index=0, label_smoothing=smoothing, reduction=reduction)

    def validation():
        net.eval()
        total = count = 0
        with torch.no_grad():
            for i in range(0, len(test), args.batch):
                s, t, labels, lengths = batch_of(test[i:i + args.batch], args.device)
                with precise():
                    scores = net(s, t, lengths).float()
                total += flat(scores, labels, 0, "sum").item()
                count += (labels != 0).sum().item()
        net.train()
        return total / max(count, 1)

    print(f"{sum(p.numel() for p in net.parameters())} parameters, {len(train)} pairs, {steps} steps; first validation loss {validation():.6f}", flush=True)
    cpu, best = time.process_time(), math.inf
    for epoch in range(args.epochs):
        random.shuffle(train)
        chunks = []
        for i in range(0, len(train), 100 * args.batch):
            run = sorted(train[i:i + 100 * args.batch], key=length)
            chunks += [run[k:k + args.batch] for k in range(0, len(run), args.batch)]
        random.shuffle(chunks)
        begin, total, count = time.time(), 0.0, 0
        for chunk in chunks:
            s, t, labels, lengths = batch_of(chunk, args.device)
            with precise():
                scores = net(s, t, lengths).float()
            loss = flat(scores, labels, args.smoothing)
            adam.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            adam.step()
            schedule.step()
            with torch.no_grad():
                total, count = total + flat(scores.detach(), labels, 0, "sum"), count + (labels != 0).sum()
        total, count = float(total), int(count)
        seconds, measured = time.time() - begin, validation()
        print(f"{epoch + 1:5d}  train {total / count:.4f}  validation {measured:.4f}  {seconds:.1f} s, {time.process_time() - cpu:.1f} CPU s in all", flush=True)
        if measured < best or not test:  # the best epoch's, as `tegula train translate` keeps it
            best = measured
            write_model(args.out, net.state_dict(), meta)


if __name__ == "__main__":
    main()
