#pragma once
// Tokenizers from the files that models come with.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "tegula/text/tokens/bpe.h"
#include "tegula/text/tokens/tokenizer.h"

namespace tegula::io {
struct GgufMetadata;  // tegula/io/gguf.h
}

namespace tegula::text {

/// Any of the files below, recognised by its content: tokenizer.json, .gguf, a SentencePiece .model, llama2.c's .bin, BERT's vocab.txt; or a folder
/// with tokenizer.json, vocab.json (or encoder.json) and merges.txt (or vocab.bpe), or vocab.txt.
/// Throws Error for anything else. All readers throw Error, with the file's name, for files that are truncated or contradict themselves.
Tokenizer read_tokenizer(const std::string& path);

/// GPT-2's: vocab.json (encoder.json), an object of tokens and numbers, and merges.txt (vocab.bpe), two tokens in each line. Tokens are spelled by
/// spell_bytes. "<|endoftext|>", where it is a token, is special.
Tokenizer read_gpt2_tokenizer(const std::string& vocabulary, const std::string& merges);
Tokenizer parse_gpt2_tokenizer(std::string_view vocabulary, std::string_view merges, std::string_view name);
/// A byte-level tokenizer of GPT-2's kind, such as train_bpe gives. `special`: tokens of the vocabulary that text does not become by merging.
Tokenizer gpt2_tokenizer(Vocabulary vocabulary, const Merges& merges, const std::vector<std::string>& special = {});
/// Writes the two files of GPT-2's form; `special` tokens stand in the vocabulary as they are.
void write_gpt2_files(const std::string& vocabulary_path, const std::string& merges_path, const Vocabulary& vocabulary,
                      const Merges& merges);
/// Counts each of GPT-2's pieces in a text, for train_bpe. Adds to `counts`.
void count_pieces(std::string_view text, TextMap<std::int64_t>& counts);

enum class Case : std::uint8_t { Kept, Lower };
/// BERT's vocab.txt, a token in each line. Lower is for the "uncased" models, and takes accents off. Framed by [CLS] and [SEP] where it has them.
Tokenizer read_bert_tokenizer(const std::string& vocabulary, Case letters = Case::Lower);
Tokenizer bert_tokenizer(Vocabulary vocabulary, Case letters = Case::Lower);

/// A SentencePiece model (ModelProto), of type BPE, unigram, word or char. Refused: text normalised by rules of the file's own that are none of
/// SentencePiece's named ones.
Tokenizer read_sentencepiece(const std::string& path);
Tokenizer parse_sentencepiece(std::span<const std::byte> bytes, std::string_view name);

/// The tokenizer in a GGUF file: models gpt2, bert and llama.
Tokenizer gguf_tokenizer(const io::GgufMetadata& metadata);

/// The tokenizer.bin of llama2.c: tokens with scores, for BPE as SentencePiece has it.
Tokenizer parse_llama2c_tokenizer(std::span<const std::byte> bytes, std::string_view name);

// tokenizer.json of tokenizers that were trained here: parse_tokenizer_json and Hugging Face's library read it. `special` tokens are left
// out by decode, and found in texts.
/// Byte-level BPE, with a blank in front of a text that has none (decode gives it, too).
std::string bpe_tokenizer_json(const Vocabulary& vocabulary, const Merges& merges, const std::vector<std::string>& special);
/// Whole words and signs; a word outside of the vocabulary becomes `unknown`, one of the special tokens.
std::string word_tokenizer_json(const Vocabulary& vocabulary, const std::string& unknown, const std::vector<std::string>& special);
/// BERT's: [UNK], and frames of [CLS] and [SEP], which the vocabulary must have.
std::string wordpiece_tokenizer_json(const Vocabulary& vocabulary, Case letters);
/// Counts each word or sign in a text as word_tokenizer_json's tokenizer, or BERT's, cuts it. Adds to `counts`.
void count_words(std::string_view text, TextMap<std::int64_t>& counts);
void count_bert_words(std::string_view text, Case letters, TextMap<std::int64_t>& counts);

/// Hugging Face's tokenizer.json: models BPE, WordPiece, Unigram and WordLevel with their normalisers, pre-tokenizers, post-processors and decoders.
/// Padding and truncation are left to pad(). A part that is not known is an Error with its name.
Tokenizer parse_tokenizer_json(std::string_view text, std::string_view name);

}  // namespace tegula::text
