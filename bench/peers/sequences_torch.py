#!/usr/bin/env python3
"""The nets of `tegula train gpt | char-lstm | classify` in PyTorch: the same data, sizes, initial distributions, optimiser and numbers of steps.

  bench/peers/sequences_torch.py gpt input.txt --steps 2000          validation loss in nats per character, tokens per second
  bench/peers/sequences_torch.py lstm input.txt --steps 1000
  bench/peers/sequences_torch.py classify TRAIN --validation DEV --test TEST --net lstm
  bench/peers/sequences_torch.py gpt input.txt --layers 6 --heads 6 --width 384 --context 256 --batch 64 --net-dropout 0.2 --device cuda --precision bf16 --compile
  bench/peers/sequences_torch.py speed lstm|gpt|decode               what bench/sequences.cpp measures, in processor seconds

Other random numbers, so that results agree within what seeds do. docs/sequences.md has them beside each other.
"""
import argparse
import math
import random
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.qkv, self.out, self.dropout = heads, nn.Linear(width, 3 * width), nn.Linear(width, width), nn.Dropout(dropout)

    def forward(self, x, past=None):
        b, t, w = x.shape
        q, k, v = (part.view(b, t, self.heads, w // self.heads).transpose(1, 2) for part in self.qkv(x).split(w, 2))
        if past is not None:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout.p if self.training else 0, is_causal=t > 1)
        return self.dropout(self.out(y.transpose(1, 2).reshape(b, t, w))), (k, v)


class Block(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.norm1, self.norm2, self.attention = nn.LayerNorm(width), nn.LayerNorm(width), Attention(width, heads, dropout)
        self.up, self.down, self.dropout = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), nn.Dropout(dropout)

    def forward(self, x, past=None):
        y, past = self.attention(self.norm1(x), past)
        x = x + y
        return x + self.dropout(self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))), past


class Gpt(nn.Module):
    def __init__(self, vocabulary, width, layers, heads, context, dropout=0.0):
        super().__init__()
        self.tokens, self.places, self.dropout = nn.Embedding(vocabulary, width), nn.Embedding(context, width), nn.Dropout(dropout)
        self.blocks, self.norm = nn.ModuleList(Block(width, heads, dropout) for _ in range(layers)), nn.LayerNorm(width)
        for name, p in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(p)
            elif p.dim() > 1:
                nn.init.normal_(p, 0, 0.02 / (math.sqrt(2 * layers) if "out." in name or "down." in name else 1))

    def forward(self, ids, past=None):
        begin = past[0][0].shape[2] if past else 0
        x, kept = self.dropout(self.tokens(ids) + self.places.weight[begin:begin + ids.shape[1]]), []
        for i, block in enumerate(self.blocks):
            x, one = block(x, past[i] if past else None)
            kept.append(one)
        return self.norm(x) @ self.tokens.weight.T, kept


class Lstm(nn.Module):
    def __init__(self, vocabulary, embedding, hidden, layers):
        super().__init__()
        self.embedding, self.out = nn.Embedding(vocabulary, embedding), nn.Linear(hidden, vocabulary)
        self.lstm = nn.LSTM(embedding, hidden, layers, batch_first=True)

    def forward(self, ids, state=None):
        y, state = self.lstm(self.embedding(ids), state)
        return self.out(y), state


def loss_of(scores, y):
    return F.cross_entropy(scores.flatten(0, 1), y.flatten())


def rate(step, a):
    low = a.lr / 10
    if step < a.warmup:
        return a.lr * (step + 1) / a.warmup
    return low + (a.lr - low) * 0.5 * (1 + math.cos(math.pi * min(1, (step - a.warmup) / max(1, a.steps - a.warmup))))


def adamw(net, a):
    matrices, vectors = [p for p in net.parameters() if p.dim() > 1], [p for p in net.parameters() if p.dim() <= 1]
    groups = [{"params": matrices, "weight_decay": a.decay}, {"params": vectors, "weight_decay": 0}]
    return torch.optim.AdamW(groups, lr=a.lr, betas=(0.9, 0.99), fused=a.device != "cpu")


def language(a):
    text = open(a.file, encoding="utf-8").read()
    letters = {c: i for i, c in enumerate(sorted(set(text)))}
    ids = torch.tensor([letters[c] for c in text], device=a.device)
    cut = len(ids) - len(ids) // 10
    train, test, t = ids[:cut], ids[cut:], a.context
    net = Gpt(len(letters), a.width, a.layers, a.heads, t, a.net_dropout) if a.what == "gpt" else Lstm(len(letters), a.embedding, a.width, a.layers)
    net.to(a.device)
    optimizer, inner, place = adamw(net, a), torch.arange(t, device=a.device), a.device.split(":")[0]
    run = torch.compile(net) if a.compile else net
    precise = lambda: torch.autocast(place, dtype=torch.bfloat16, enabled=a.precision == "bf16")

    def streams(of, batch):
        each = (len(of) - 1) // batch
        return [torch.stack([of[b * each:b * each + each // t * t + 1] for b in range(batch)]), each // t]

    def validation(most):
        """Mean over windows of the validation text, at most so many batches of them."""
        net.eval()
        with torch.no_grad(), precise():
            if a.what == "gpt":
                starts, total = torch.arange(0, (len(test) - 1) // t * t, t, device=a.device), 0.0
                starts = starts[:most * a.batch]
                for some in starts.split(a.batch):
                    scores = (run if len(some) == a.batch else net)(test[some[:, None] + inner])[0]  # the rest is not worth a compilation
                    total += loss_of(scores.float(), test[some[:, None] + inner + 1]).item() * len(some)
                result = total / len(starts)
            else:
                (rows, windows), state, losses = streams(test, a.batch), None, []
                for k in range(0, min(windows, most) * t, t):
                    scores, state = net(rows[:, k:k + t], state)
                    losses.append(loss_of(scores.float(), rows[:, k + 1:k + t + 1]).item())
                result = sum(losses) / len(losses)
        net.train()
        return result

    (rows, windows), state = streams(train, a.batch), None
    recent, since, spent, timed, begin = 0, 0, 0.0, 0, None
    for step in range(a.steps):
        for group in optimizer.param_groups:
            group["lr"] = rate(step, a)
        if a.what == "gpt":
            at = torch.randint(len(train) - t, (a.batch, 1)).to(a.device)
            x, y = train[at + inner], train[at + inner + 1]
            with precise():
                loss = loss_of(run(x)[0].float(), y)
        else:
            k = step % windows * t
            state = None if k == 0 else [s.detach() for s in state]
            with precise():
                scores, state = net(rows[:, k:k + t], state)
                loss = loss_of(scores.float(), rows[:, k + 1:k + t + 1])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        recent, since = recent + loss.detach(), since + 1
        if step == 9 or (step + 1) % a.eval_every == 0 or step + 1 == a.steps:  # the first steps compile
            mean = float(recent) / since
            if begin is not None:
                spent, timed = spent + time.perf_counter() - begin, timed + since
            if step > 9:
                print(f"{step + 1:7d}  {mean:.4f}  {validation(20):.4f}  {timed * a.batch * t / max(spent, 1e-9):.0f} tokens/s", flush=True)
            recent, since, begin = 0, 0, time.perf_counter()
    print(f"{a.what} (PyTorch {torch.__version__}): {sum(p.numel() for p in net.parameters())} parameters, {a.steps} steps: validation loss "
          f"{validation(1 << 30):.4f}, {timed * a.batch * t / max(spent, 1e-9):.0f} tokens/s")


class LstmClassifier(nn.Module):
    def __init__(self, words, classes, a):
        super().__init__()
        self.embedding, self.dropout = nn.Embedding(words, a.width), nn.Dropout(a.dropout)
        self.lstm, self.out = nn.LSTM(a.width, a.hidden, batch_first=True, bidirectional=True), nn.Linear(2 * a.hidden, classes)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(self.dropout(self.embedding(x)), lengths, batch_first=True, enforce_sorted=False)
        h = self.lstm(packed)[1][0]
        return self.out(self.dropout(torch.cat([h[-2], h[-1]], 1)))


class TransformerClassifier(nn.Module):
    def __init__(self, words, classes, a):
        super().__init__()
        self.embedding, self.places = nn.Embedding(words, a.width), nn.Embedding(256, a.width)
        self.dropout, self.out = nn.Dropout(a.dropout), nn.Linear(a.width, classes)
        layer = nn.TransformerEncoderLayer(a.width, a.heads, a.hidden, a.dropout, "gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, a.layers, nn.LayerNorm(a.width), enable_nested_tensor=False)
        for p in self.encoder.parameters():  # layers of their own, not copies of one
            if p.dim() > 1:
                nn.init.xavier_uniform_(p) if p.shape[0] == 3 * a.width else nn.init.kaiming_uniform_(p, math.sqrt(5))

    def forward(self, x, lengths):
        pad = torch.arange(x.shape[1]) >= lengths[:, None]
        y = self.encoder(self.dropout(self.embedding(x) + self.places.weight[:x.shape[1]]), src_key_padding_mask=pad)
        return self.out(self.dropout(y.masked_fill(pad[:, :, None], 0).sum(1) / lengths[:, None]))


def like_lengths(rows, batch):
    """Batches of rows (label, tokens) of like lengths, drawn anew at each call."""
    random.shuffle(rows)
    runs = [sorted(rows[i:i + 100 * batch], key=lambda row: len(row[1])) for i in range(0, len(rows), 100 * batch)]
    batches = [run[i:i + batch] for run in runs for i in range(0, len(run) - batch + 1, batch)]
    random.shuffle(batches)
    return batches


def classify(a):
    def read(path):
        pairs = [line.rstrip("\n").lower().split(" ", 1) for line in open(path, encoding="utf-8", errors="replace") if line.strip()]
        return [(label, text.split()) for label, text in pairs]
    train, dev, test = read(a.file), read(a.validation), read(a.test)
    counts = {}
    for _, words in train:
        for w in words:
            counts[w] = counts.get(w, 0) + 1
    numbers = {w: i + 2 for i, w in enumerate(sorted((w for w in counts if counts[w] >= 2), key=lambda w: (-counts[w], w)))}
    classes = sorted({label for label, _ in train})
    encode = lambda set_: [(classes.index(label), [numbers.get(w, 1) for w in words][:256]) for label, words in set_]
    train, dev, test = encode(train), encode(dev), encode(test)
    net = (LstmClassifier if a.net == "lstm" else TransformerClassifier)(len(numbers) + 2, len(classes), a)
    optimizer = torch.optim.Adam(net.parameters(), lr=a.lr)

    def batch(rows):
        longest = max(len(words) for _, words in rows)
        x = torch.tensor([words + [0] * (longest - len(words)) for _, words in rows])
        return x, torch.tensor([len(words) for _, words in rows]), torch.tensor([label for label, _ in rows])

    def accuracy(of):
        net.eval()
        of = sorted(of, key=lambda row: len(row[1]))
        with torch.no_grad():
            right = sum((net(x, n).argmax(1) == y).sum().item() for x, n, y in (batch(of[i:i + 100]) for i in range(0, len(of), 100)))
        net.train()
        return right / len(of)

    best, since, kept, begin = 0, 0, None, time.perf_counter()
    for epoch in range(a.epochs):
        for rows in like_lengths(train, a.batch):
            x, n, y = batch(rows)
            loss = F.cross_entropy(net(x, n), y)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
        got = accuracy(dev)
        since = 0 if got > best else since + 1
        if got > best:
            best, kept = got, {k: v.clone() for k, v in net.state_dict().items()}
        if since >= 3:
            break
    seconds = time.perf_counter() - begin
    net.load_state_dict(kept)
    print(f"{a.net} classifier (PyTorch {torch.__version__}): {epoch + 1} epochs, {seconds:.0f} s, validation {100 * best:.2f} %, "
          f"test {100 * accuracy(test):.2f} %")


def speed(a):
    def fastest(f, n):
        f(), f(), f()
        times = []
        for _ in range(n):
            begin = time.process_time()
            f()
            times.append(time.process_time() - begin)
        return min(times)
    if a.file == "lstm":
        layer, x = nn.LSTM(256, 256, 2), torch.randn(64, 32, 256, requires_grad=True)
        def step():
            layer.zero_grad(set_to_none=True)
            layer(x)[0].sum().backward()
        print(f"LSTM 2x256 T64 B32 forward+backward: {1e3 * fastest(step, 15):.1f} ms")
    elif a.file == "gpt":
        net = Gpt(65, 128, 4, 4, 64)
        optimizer, x = adamw(net, a), torch.randint(65, (12, 64))
        def step():
            loss = loss_of(net(x)[0], x)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            return loss.item()
        print(f"GPT 4x128 T64 B12 step: {1e3 * fastest(step, 25):.1f} ms")
    else:
        net = Gpt(65, 384, 6, 6, 256).eval()
        def decode():
            scores, past = net(torch.zeros(1, 1, dtype=torch.long))
            for _ in range(200):
                scores, past = net(scores[:, -1:].argmax(2), past)
        with torch.no_grad():
            print(f"GPT 6x384 decoding, 200 tokens: {200 / fastest(decode, 3):.0f} tokens/s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["gpt", "lstm", "classify", "speed"])
    parser.add_argument("file")
    for name, default in (("layers", 0), ("width", 0), ("heads", 4), ("embedding", 64), ("context", 64), ("batch", 0), ("steps", 2000),
                          ("warmup", 100), ("hidden", 128), ("epochs", 20), ("seed", 0), ("threads", 2)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--lr", type=float, default=0)
    parser.add_argument("--dropout", type=float, default=0.5)
    parser.add_argument("--validation")
    parser.add_argument("--test")
    parser.add_argument("--net", default="lstm")
    parser.add_argument("--net-dropout", type=float, default=0.0, help="of the GPT")
    parser.add_argument("--eval-every", type=int, default=250)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="fp32", choices=["fp32", "tf32", "bf16"])
    parser.add_argument("--compile", action="store_true")
    a = parser.parse_args()
    defaults = {"gpt": (4, 128, 12, 1e-3), "lstm": (2, 256, 32, 2e-3), "classify": (2, 128, 32, 1e-3), "speed": (0, 0, 0, 1e-3)}[a.what]
    a.layers, a.width, a.batch, a.lr = a.layers or defaults[0], a.width or defaults[1], a.batch or defaults[2], a.lr or defaults[3]
    a.decay = 0.1 if a.what == "gpt" else 0
    torch.manual_seed(a.seed)
    random.seed(a.seed)
    torch.set_num_threads(a.threads)
    torch.set_float32_matmul_precision("highest" if a.precision == "fp32" else "high")
    {"gpt": language, "lstm": language, "classify": classify, "speed": speed}[a.what](a)


if __name__ == "__main__":
    main()
