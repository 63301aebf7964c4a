#!/usr/bin/env python3
"""The nets of `tegula train bert` in PyTorch: same first weights and tokenizer (read from our model file), samples, masks, schedule and optimiser; other random numbers.

  tegula train bert books.txt --epochs 0 --out first.safetensors …
  python3 bench/peers/bert_torch.py masked first.safetensors books.txt --validation other.txt --epochs 10 --batch 256 --length 128 --lr 7e-4 --out torch.safetensors
  python3 bench/peers/bert_torch.py classify torch.safetensors train.txt --validation dev.txt --test test.txt --epochs 4 --lr 1e-4 [--scratch]
"""
import argparse
import json
import math
import os
import random
import sys
import time
import unicodedata

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from sequences_torch import like_lengths
from translation_torch import ladder, read_model, write_model



class WordPiece:
    """BERT's tokenizer in lower case."""

    def __init__(self, text):
        self.ids = json.loads(text)["model"]["vocab"]
        self.known = {}

    def word(self, word):
        if word not in self.known:
            out, begin = [], 0
            while begin < len(word):
                end = len(word)
                while end > begin and ("##" if begin else "") + word[begin:end] not in self.ids:
                    end -= 1
                if end == begin or len(word) > 100:
                    out = [self.ids["[UNK]"]]
                    break
                out.append(self.ids[("##" if begin else "") + word[begin:end]])
                begin = end
            self.known[word] = out
        return self.known[word]

    def encode(self, text):
        text = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(c) != "Mn")
        out = []
        for part in text.split():
            if part not in self.known:
                self.known[part] = [i for word in self.split(part) for i in self.word(word)]
            out += self.known[part]
        return out

    @staticmethod
    def split(part):
        """At punctuation: symbols of ASCII, and what Unicode calls so."""
        words, current = [], ""
        for c in part:
            if unicodedata.category(c).startswith("P") or (ord(c) < 128 and not c.isalnum()):
                words += [current, c] if current else [c]
                current = ""
            else:
                current += c
        return words + [current] if current else words


class Named(nn.Module):
    """Parts by the names that a file has."""

    def __init__(self, **parts):
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part)


class Layer(nn.Module):
    def __init__(self, width, heads, hidden, dropout, eps):
        super().__init__()
        self.heads, self.dropout = heads, nn.Dropout(dropout)
        norm = lambda: nn.LayerNorm(width, eps)
        own = Named(query=nn.Linear(width, width), key=nn.Linear(width, width), value=nn.Linear(width, width))
        self.attention = Named(output=Named(dense=nn.Linear(width, width), LayerNorm=norm()))
        self.attention.add_module("self", own)
        self.intermediate = Named(dense=nn.Linear(width, hidden))
        self.output = Named(dense=nn.Linear(hidden, width), LayerNorm=norm())

    def forward(self, x, mask):
        b, t, w = x.shape
        own = self.attention.get_submodule("self")
        heads = lambda y: y.view(b, t, self.heads, w // self.heads).transpose(1, 2)
        y = F.scaled_dot_product_attention(heads(own.query(x)), heads(own.key(x)), heads(own.value(x)), attn_mask=mask,
                                           dropout_p=self.dropout.p if self.training else 0)
        out = self.attention.output
        x = out.LayerNorm(x + self.dropout(out.dense(y.transpose(1, 2).reshape(b, t, w))))
        return self.output.LayerNorm(x + self.dropout(self.output.dense(F.gelu(self.intermediate.dense(x)))))


class Bert(nn.Module):
    """With the head for masked tokens (classes == 0), or for classes."""

    def __init__(self, o, classes=0):
        super().__init__()
        width, eps = int(o["width"]), o["norm_eps"]
        self.embeddings = Named(word_embeddings=nn.Embedding(int(o["vocabulary"]), width), position_embeddings=nn.Embedding(int(o["context"]), width),
                                token_type_embeddings=nn.Embedding(int(o["types"]), width), LayerNorm=nn.LayerNorm(width, eps))
        self.encoder = Named(layer=nn.ModuleList(Layer(width, int(o["heads"]), int(o["hidden"]), o["dropout"], eps) for _ in range(int(o["layers"]))))
        self.dropout = nn.Dropout(o["dropout"])
        if classes:
            self.pooler, self.classifier = Named(dense=nn.Linear(width, width)), nn.Linear(width, classes)
        else:
            self.transform = Named(dense=nn.Linear(width, width), LayerNorm=nn.LayerNorm(width, eps))
            self.bias = nn.Parameter(torch.zeros(int(o["vocabulary"])))
        for name, p in self.named_parameters():
            if p.dim() > 1:
                nn.init.normal_(p, 0, 0.02)
            elif "LayerNorm" not in name:
                nn.init.zeros_(p)

    def forward(self, tokens, places=None, lengths=None):
        e = self.embeddings
        x = self.dropout(e.LayerNorm(e.word_embeddings(tokens) + e.position_embeddings.weight[:tokens.shape[1]] + e.token_type_embeddings.weight[0]))
        mask = None if lengths is None else (torch.arange(tokens.shape[1], device=tokens.device) < lengths[:, None])[:, None, None]
        for layer in self.encoder.layer:
            x = layer(x, mask)
        if places is None:
            return self.classifier(self.dropout(torch.tanh(self.pooler.dense(x[:, 0]))))
        x = x.gather(1, places[:, :, None].expand(-1, -1, x.shape[2]))
        return F.linear(self.transform.LayerNorm(F.gelu(self.transform.dense(x))), e.word_embeddings.weight, self.bias)


OURS = (("embeddings.", "bert.embeddings."), ("encoder.", "bert.encoder."), ("pooler.", "bert.pooler."), ("transform.", "cls.predictions.transform."),
        ("bias", "cls.predictions.bias"))


def name_in_file(name):
    for own, ours in OURS:
        if name.startswith(own):
            return ours + name[len(own):]
    return name


def schedule(step, lr, steps):
    """CosineLR with a tenth of warmup."""
    warmup = steps // 10
    return lr * (step + 1) / warmup if step < warmup else lr * 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, steps - warmup)))


def samples(ids, a, rows, vocabulary, special):
    """Tokens, places, and what stood there, masked as text::MaskedTokens does: of a matrix of pieces (rows, length - 2)."""
    first, end, mask = special
    pieces = ids[rows]
    count = max(1, int(0.15 * (a.length - 2) + 0.5))
    places = torch.rand(pieces.shape, device=a.device).topk(count, 1).indices.sort(1).values
    labels, chance = pieces.gather(1, places), torch.rand(places.shape, device=a.device)
    other = torch.randint(mask + 1, vocabulary, places.shape, device=a.device)
    pieces = pieces.scatter(1, places, torch.where(chance < 0.8, mask, torch.where(chance < 0.9, other, labels)))
    frame = lambda token: torch.full((len(rows), 1), token, device=a.device)
    return torch.cat([frame(first), pieces, frame(end)], 1), places + 1, labels


def masked(a, tensors, meta, options, tokenizer, precise):
    net = Bert(options).to(a.device)
    net.load_state_dict({name: tensors[name_in_file(name)] for name in net.state_dict()})
    special = [tokenizer.ids[name] for name in ("[CLS]", "[SEP]", "[MASK]")]

    def pieces(paths):
        ids = tokenizer.encode("\n".join(open(path, encoding="utf-8").read() for path in paths))
        count = len(ids) // (a.length - 2)
        return torch.tensor(ids[:count * (a.length - 2)], device=a.device).view(count, -1)
    train, test = pieces(a.files), pieces([a.validation]) if a.validation else None
    run = torch.compile(net) if a.compile else net
    optimizer = torch.optim.AdamW(net.parameters(), lr=a.lr, weight_decay=0.01, fused=a.device != "cpu")
    per_epoch = len(train) // a.batch
    steps, step = a.epochs * per_epoch, 0

    def loss_of(module, rows, of):
        tokens, places, labels = samples(of, a, rows, len(tokenizer.ids), special)
        with precise():
            scores = module(tokens, places)
        scores = scores.float()
        return F.cross_entropy(scores.flatten(0, 1), labels.flatten()), (scores.argmax(2) == labels).float().mean()
    print(f"{sum(p.numel() for p in net.parameters())} parameters, {len(train)} samples, {steps} steps", flush=True)
    for epoch in range(a.epochs):
        begin, total, right = time.time(), 0, 0
        for rows in torch.randperm(len(train), device=a.device)[:per_epoch * a.batch].split(a.batch):
            for group in optimizer.param_groups:
                group["lr"] = schedule(step, a.lr, steps)
            loss, hit = loss_of(run, rows, train)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            total, right, step = total + loss.detach(), right + hit, step + 1
        line = f"{epoch + 1:5d}  train {float(total) / per_epoch:.4f} {100 * float(right) / per_epoch:.2f} %  {time.time() - begin:.1f} s"
        if test is not None:
            net.eval()
            with torch.no_grad():
                results = [torch.stack(loss_of(net, rows, test)) * len(rows) for rows in torch.arange(len(test), device=a.device).split(a.batch)]
            loss, hit = (sum(results) / len(test)).tolist()
            line += f"  validation {loss:.4f} {100 * hit:.2f} %"
            net.train()
        print(line, flush=True)
    write_model(a.out, {name_in_file(name): value for name, value in net.state_dict().items()}, meta)


def classify(a, tensors, options, tokenizer, precise):
    def read(path):
        both = [line.split(" ", 1) for line in open(path, encoding="utf-8", errors="replace").read().split("\n") if line]
        first, end = tokenizer.ids["[CLS]"], tokenizer.ids["[SEP]"]
        return [(int(label), ([first] + tokenizer.encode(text))[:a.length - 1] + [end]) for label, text in both]
    train, dev, test = read(a.files[0]), read(a.validation), read(a.test)
    net = Bert(options, 1 + max(label for label, _ in train)).to(a.device)
    if not a.scratch:
        net.load_state_dict({name: tensors[name_in_file(name)] for name in net.state_dict() if name.startswith(("embeddings.", "encoder."))}, strict=False)
    optimizer = torch.optim.AdamW(net.parameters(), lr=a.lr, weight_decay=0.01)

    def batch(rows):
        width = ladder(max(len(ids) for _, ids in rows))
        return (torch.tensor([ids + [0] * (width - len(ids)) for _, ids in rows], device=a.device),
                torch.tensor([len(ids) for _, ids in rows], device=a.device), torch.tensor([label for label, _ in rows], device=a.device))

    def accuracy(of):
        net.eval()
        of = sorted(of, key=lambda row: len(row[1]))
        with torch.no_grad(), precise():
            right = sum((net(x, lengths=n).argmax(1) == y).sum() for x, n, y in (batch(of[i:i + a.batch]) for i in range(0, len(of), a.batch)))
        net.train()
        return 100 * int(right) / len(of)
    step, best, kept, steps = 0, -1, None, a.epochs * (len(train) // a.batch)
    for epoch in range(a.epochs):
        for rows in like_lengths(train, a.batch):
            for group in optimizer.param_groups:
                group["lr"] = schedule(step, a.lr, steps)
            x, n, y = batch(rows)
            with precise():
                scores = net(x, lengths=n)
            loss = F.cross_entropy(scores.float(), y)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            step += 1
        got = accuracy(dev)
        if got > best:
            best, kept = got, {k: v.clone() for k, v in net.state_dict().items()}
    net.load_state_dict(kept)
    print(f"best validation accuracy {best:.2f} %\ntest accuracy {accuracy(test):.2f} % of {len(test)} texts")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["masked", "classify"])
    parser.add_argument("first")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--validation")
    parser.add_argument("--test")
    parser.add_argument("--out", default="torch.safetensors")
    parser.add_argument("--scratch", action="store_true")
    for name, default in (("epochs", 3), ("batch", 32), ("length", 64), ("seed", 0), ("threads", 2)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="fp32", choices=["fp32", "tf32", "bf16"])
    parser.add_argument("--compile", action="store_true")
    a = parser.parse_args()
    torch.manual_seed(a.seed)
    random.seed(a.seed)
    torch.set_num_threads(a.threads)
    torch.set_float32_matmul_precision("highest" if a.precision == "fp32" else "high")
    tensors, meta = read_model(a.first)
    options = {k[len("tegula.number."):]: float(v) for k, v in meta.items() if k.startswith("tegula.number.")}
    tokenizer = WordPiece(meta["tegula.text.tokenizer"])
    precise = lambda: torch.autocast(a.device.split(":")[0], dtype=torch.bfloat16, enabled=a.precision == "bf16")
    masked(a, tensors, meta, options, tokenizer, precise) if a.what == "masked" else classify(a, tensors, options, tokenizer, precise)


main()
