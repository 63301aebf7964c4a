#!/usr/bin/env python3
"""Folders of Hugging Face's with random weights: `tegula generate` writes the same tokens as transformers, greedily, for Llama and GPT-2 in several forms.

Each folder has config.json, model.safetensors (or shards of it, or pytorch_model.bin) and a tokenizer.json of byte pairs that is trained on the spot. Where the likeliest token is
hardly likelier than the next one, rounding may choose the other one: the script makes weights whose choices are far apart. Needs the packages torch, transformers,
tokenizers and safetensors; without them it ends with 77 (skipped).
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import tokenizers
    import torch
    import transformers
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

TEXT = ["The quick brown fox jumps over the lazy dog.", "Once upon a time there was a little girl who liked to read.",
        "In the beginning the machine learnt the words, and then the words learnt the machine.", "1234567890 years later, nothing had changed!"] * 20


def tokenizer():
    out = tokenizers.Tokenizer(tokenizers.models.BPE())
    out.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    out.decoder = tokenizers.decoders.ByteLevel()
    out.train_from_iterator(TEXT, tokenizers.trainers.BpeTrainer(vocab_size=400, initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
                                                                 special_tokens=["<|endoftext|>"], show_progress=False))
    return out


def models(size):
    llama = dict(vocab_size=size, hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
                 max_position_embeddings=128, bos_token_id=0, eos_token_id=0)
    scaled = dict(rope_type="llama3", rope_theta=500000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32)
    make_llama = lambda **more: transformers.LlamaForCausalLM(transformers.LlamaConfig(**llama, **more))
    return {
        "llama": (make_llama(), {}),
        "llama, tied, in shards": (make_llama(tie_word_embeddings=True), dict(max_shard_size="100KB")),
        "llama 3.1's positions": (make_llama(rope_parameters=scaled), {}),
        "llama in bf16": (make_llama().to(torch.bfloat16), {}),
        "gpt2": (transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=size, n_embd=64, n_layer=2, n_head=4, n_positions=128, bos_token_id=0,
                                                                      eos_token_id=0)), {}),
        "llama as pytorch_model.bin": (make_llama(), None),
    }


def generated(net, ids, count):
    """The likeliest tokens in turn, and how far the closest choice was apart."""
    margin = float("inf")
    for _ in range(count):
        with torch.no_grad():
            scores = net(torch.tensor([ids])).logits[0, -1].float()
        top = scores.topk(2).values
        margin = min(margin, (top[0] - top[1]).item())
        ids = ids + [scores.argmax().item()]
        if ids[-1] == 0:
            break
    return ids, margin


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tegula", required=True, help="the command line's program")
    parser.add_argument("--tokens", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    words = tokenizer()
    wrong = 0
    for name, (net, options) in models(words.get_vocab_size()).items():
        with torch.no_grad():
            for one in net.parameters():
                if one.dim() > 1:
                    one.mul_(5)  # choices that are far apart
        with tempfile.TemporaryDirectory() as folder:
            net.save_pretrained(folder, **(options or {}))
            if options is None:
                torch.save(net.state_dict(), Path(folder) / "pytorch_model.bin")
                (Path(folder) / "model.safetensors").unlink()
            words.save(str(Path(folder) / "tokenizer.json"))
            oracle = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
            equal, least = 0, float("inf")
            prompts = ["The little fox", "Once upon", "In 1234 the"]
            for prompt in prompts:
                ids, margin = generated(oracle, words.encode(prompt).ids, arguments.tokens)
                expected = words.decode(ids)
                ran = subprocess.run([arguments.tegula, "generate", "--model", folder, "--prompt", prompt, "--temperature", "0", "--tokens",
                                      str(arguments.tokens), "--no-speed"], capture_output=True, check=False)
                got = ran.stdout.decode("utf-8", "replace").removesuffix("\n")
                least = min(least, margin)
                if got == expected:
                    equal += 1
                else:
                    print(f"{name}: {prompt!r}: expected {expected!r}, got {got!r} {ran.stderr.decode()[:300]}")
            wrong += equal < len(prompts)
            print(f"{name}: {equal} of {len(prompts)} texts of {arguments.tokens} tokens are equal; the closest choice was {least:.2g} apart", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
