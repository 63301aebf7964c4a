"""Writes tokenizer.json files of many kinds and what Hugging Face's tokenizers (0.23) make of some texts: make_vectors.py FOLDER

FOLDER gets NAME.json and vectors.jsonl, a line for each kind and text: {"file", "text", "ids", "decoded"}. The texts are this file's own.
"""
import json
import pathlib
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

CORPUS = [
    "The quick brown fox jumps over the lazy dog, and the dog sleeps on.",
    "A tile is a small square; tiles cover a roof, and roofs cover houses.",
    "Numbers as 1, 22, 333 and 4444 are words too, aren't they? They're!",
    "Überall über den Dächern schläft der Fuchs; später läuft er über die Straße.",
    "Le café est à côté de l'hôtel, où l'été dure toute l'année.",
    "Быстрая лиса прыгает через ленивую собаку, а собака спит дальше.",
    "東京の空は青い。京都の空も青い。",
    "He said: \"I'll go, I've gone, I'd go, we're going\" and went.",
] * 4
TEXTS = [
    "", " ", "The lazy fox", "  two  blanks ", "tiles\n\n\tand roofs\n", "Straße ÜBER Café", "I'll say they're 12345 tiles!", "собака спит",
    "東京 is 青い", "naïve résumé", "a<|end|>b", "<s>x</s> [MASK] y", "🦙 llama", "e\u0301 é", "don't stop--now...", "ﬁ ligature ① ２", "x\u00a0y\u3000z",
    "The<|end|>  The", "a\u200db\u200cc", "Hello world. This is unseen: qwzx!", "İstanbul ΑΣ", "end ", "\u0000ctrl\u0007", "foo_bar+baz=qux",
]


def trained(model, trainer, **parts):
    tokenizer = Tokenizer(model)
    for name, part in parts.items():
        setattr(tokenizer, name, part)
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def kinds():
    special = AddedToken("<|end|>", special=True)
    gpt2 = trained(models.BPE(), trainers.BpeTrainer(vocab_size=400, special_tokens=[special], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False),
                   pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=False), decoder=decoders.ByteLevel(), post_processor=processors.ByteLevel())
    yield "gpt2", gpt2
    pattern = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    llama3 = trained(models.BPE(ignore_merges=True), trainers.BpeTrainer(vocab_size=380, special_tokens=[special], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False),
                     normalizer=normalizers.NFC(), decoder=decoders.ByteLevel(),
                     pre_tokenizer=pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]))
    llama3.post_processor = processors.TemplateProcessing(single="<|end|> $A", pair="<|end|> $A <|end|> $B:1", special_tokens=[("<|end|>", 0)])
    yield "llama3", llama3
    bert = trained(models.WordPiece(unk_token="[UNK]"), trainers.WordPieceTrainer(vocab_size=220, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False),
                   normalizer=normalizers.BertNormalizer(), pre_tokenizer=pre_tokenizers.BertPreTokenizer(), decoder=decoders.WordPiece())
    bert.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    yield "bert", bert
    cased = trained(models.WordPiece(unk_token="[UNK]"), trainers.WordPieceTrainer(vocab_size=220, special_tokens=["[UNK]"], show_progress=False),
                    normalizer=normalizers.BertNormalizer(lowercase=False), pre_tokenizer=pre_tokenizers.BertPreTokenizer(), decoder=decoders.WordPiece())
    yield "bert_cased", cased
    unigram = trained(models.Unigram(), trainers.UnigramTrainer(vocab_size=180, special_tokens=["<unk>", "<s>", "</s>"], unk_token="<unk>", show_progress=False),
                      normalizer=normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase(), normalizers.Replace(Regex(" {2,}"), " ")]),
                      pre_tokenizer=pre_tokenizers.Metaspace(), decoder=decoders.Metaspace())
    yield "unigram", unigram
    bytes_ = [f"<0x{i:02X}>" for i in range(256)]
    llama = trained(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True), trainers.BpeTrainer(vocab_size=560, special_tokens=["<unk>", "<s>", "</s>"] + bytes_, show_progress=False),
                    normalizer=normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]),
                    decoder=decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]))
    saved = json.loads(llama.to_str())
    saved["added_tokens"] = saved["added_tokens"][:3]  # bytes are tokens of the model alone
    llama = Tokenizer.from_str(json.dumps(saved))
    llama.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)])
    yield "llama", llama
    clip = trained(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>", fuse_unk=False), trainers.BpeTrainer(vocab_size=260, special_tokens=["<unk>"], end_of_word_suffix="</w>", show_progress=False),
                   normalizer=normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase(), normalizers.Strip()]),
                   pre_tokenizer=pre_tokenizers.Whitespace(), decoder=decoders.BPEDecoder("</w>"))
    yield "clip", clip
    words = trained(models.WordLevel(unk_token="<unk>"), trainers.WordLevelTrainer(vocab_size=80, special_tokens=["<unk>"], show_progress=False),
                    normalizer=normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase()]),
                    pre_tokenizer=pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation(), pre_tokenizers.Digits(individual_digits=True)]))
    words.add_tokens([AddedToken("the dog", single_word=True, lstrip=True), AddedToken("fox", normalized=True, rstrip=True)])
    words.post_processor = processors.RobertaProcessing(("<unk>", 0), ("<unk>", 0))
    yield "words", words
    merged = trained(models.BPE(unk_token="<unk>"), trainers.BpeTrainer(vocab_size=200, special_tokens=["<unk>"], show_progress=False),
                     pre_tokenizer=pre_tokenizers.Sequence([pre_tokenizers.Split(" ", "merged_with_next"), pre_tokenizers.Split(Regex("[aeiou]"), "merged_with_previous"),
                                                            pre_tokenizers.Punctuation("contiguous")]), decoder=decoders.Fuse())
    yield "merged", merged


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "vectors.jsonl", "w", encoding="utf-8") as out:
        for name, tokenizer in kinds():
            (folder / f"{name}.json").write_text(tokenizer.to_str(pretty=False), encoding="utf-8")
            for text in TEXTS:
                ids = tokenizer.encode(text).ids
                out.write(json.dumps({"file": name, "text": text, "ids": ids, "decoded": tokenizer.decode(ids)}) + "\n")


if __name__ == "__main__":
    main()
