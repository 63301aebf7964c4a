// tokenizer.json of the tokenizers that are trained here.

#include <nlohmann/json.hpp>

#include "tegula/text/tokens/tokenizer_files.h"

namespace tegula::text {
namespace {

using json = nlohmann::ordered_json;

json numbered(const Vocabulary& vocabulary, bool bytes) {
  json out = json::object();
  for (Id id = 0; id < vocabulary.size(); ++id) out[bytes ? spell_bytes(vocabulary.token(id)) : vocabulary.token(id)] = id;
  return out;
}

json file(const Vocabulary& vocabulary, const std::vector<std::string>& special) {
  json added = json::array();
  for (const std::string& token : special) {
    added.push_back({{"id", vocabulary.id(token)},
                     {"content", token},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  }
  return {{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}, {"added_tokens", added}, {"normalizer", nullptr}};
}

void count(const Splitter& split, std::string_view text, TextMap<std::int64_t>& counts) {
  Pieces pieces;
  split({std::string(text), true}, pieces);
  for (Piece& piece : pieces) ++counts[std::move(piece.text)];
}

}  // namespace

std::string bpe_tokenizer_json(const Vocabulary& vocabulary, const Merges& merges, const std::vector<std::string>& special) {
  json out = file(vocabulary, special);
  out["pre_tokenizer"] = {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}, {"use_regex", true}};
  out["post_processor"] = nullptr;
  out["decoder"] = {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}, {"use_regex", true}};
  json pairs = json::array();
  for (const auto& [left, right] : merges) pairs.push_back({spell_bytes(left), spell_bytes(right)});
  // Special tokens are no bytes, and are spelled as they are.
  json tokens = json::object();
  const Vocabulary whole(special);
  for (Id id = 0; id < vocabulary.size(); ++id) {
    const std::string& token = vocabulary.token(id);
    tokens[whole.contains(token) ? token : spell_bytes(token)] = id;
  }
  out["model"] = {{"type", "BPE"},
                  {"dropout", nullptr},
                  {"unk_token", nullptr},
                  {"continuing_subword_prefix", nullptr},
                  {"end_of_word_suffix", nullptr},
                  {"fuse_unk", false},
                  {"byte_fallback", false},
                  {"vocab", tokens},
                  {"merges", pairs}};
  return out.dump();
}

std::string word_tokenizer_json(const Vocabulary& vocabulary, const std::string& unknown, const std::vector<std::string>& special) {
  json out = file(vocabulary, special);
  out["pre_tokenizer"] = {{"type", "Whitespace"}};
  out["post_processor"] = nullptr;
  out["decoder"] = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
  out["model"] = {{"type", "WordLevel"}, {"vocab", numbered(vocabulary, false)}, {"unk_token", unknown}};
  return out.dump();
}

std::string wordpiece_tokenizer_json(const Vocabulary& vocabulary, Case letters) {
  std::vector<std::string> special;
  for (const char* token : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"})
    if (vocabulary.contains(token)) special.emplace_back(token);
  json out = file(vocabulary, special);
  const bool lower = letters == Case::Lower;
  out["normalizer"] = {
      {"type", "BertNormalizer"}, {"clean_text", true}, {"handle_chinese_chars", true}, {"strip_accents", lower}, {"lowercase", lower}};
  out["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  out["post_processor"] = {
      {"type", "BertProcessing"}, {"sep", {"[SEP]", vocabulary.id("[SEP]")}}, {"cls", {"[CLS]", vocabulary.id("[CLS]")}}};
  out["decoder"] = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
  out["model"] = {{"type", "WordPiece"},
                  {"unk_token", "[UNK]"},
                  {"continuing_subword_prefix", "##"},
                  {"max_input_chars_per_word", 100},
                  {"vocab", numbered(vocabulary, false)}};
  return out.dump();
}

void count_words(std::string_view text, TextMap<std::int64_t>& counts) { count(word_splitter(), text, counts); }

void count_bert_words(std::string_view text, Case letters, TextMap<std::int64_t>& counts) {
  const bool lower = letters == Case::Lower;
  count(bert_splitter(), bert_normalizer({.strip_accents = lower, .lowercase = lower})(std::string(text)), counts);
}

}  // namespace tegula::text
