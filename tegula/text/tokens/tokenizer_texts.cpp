#include "tegula/text/tokens/tokenizer_texts.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "tegula/core/error.h"
#include "tegula/io/file.h"
#include "tegula/text/lines.h"
#include "tegula/text/tokens/json_tokens.h"
#include "tegula/text/tokens/tokenizer_files.h"
#include "tegula/text/unicode.h"

namespace tegula::text {
namespace {

using Json = nlohmann::ordered_json;

/// The names that Hugging Face's library wants to find, whether they hold something or not.
std::string text_of(Json model, Json normalizer, Json splitter, Json decoder, Json added = Json::array()) {
  const Json file{{"version", "1.0"},
                  {"truncation", nullptr},
                  {"padding", nullptr},
                  {"added_tokens", std::move(added)},
                  {"normalizer", std::move(normalizer)},
                  {"pre_tokenizer", std::move(splitter)},
                  {"post_processor", nullptr},
                  {"decoder", std::move(decoder)},
                  {"model", std::move(model)}};
  return file.dump();
}

Json byte_level(bool adds_blank) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", adds_blank}, {"trim_offsets", true}, {"use_regex", true}};
}

Json numbered(const std::vector<std::string>& tokens) {
  Json out = Json::object();
  for (std::size_t i = 0; i < tokens.size(); ++i) out[tokens[i]] = i;
  return out;
}

std::string first_of(const std::filesystem::path& folder, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (io::is_there(folder / name)) return (folder / name).string();
  }
  return "";
}

std::string gpt2_json(const std::string& vocabulary_path, const std::string& merges_path) {
  const nlohmann::json vocabulary = parse_json(read_text(vocabulary_path, "tokenizer"), "tokenizer", vocabulary_path);
  Json merges = Json::array(), added = Json::array();
  const std::string lines = read_text(merges_path, "tokenizer");
  for (const std::string_view line : split_lines(lines)) {
    if (!line.empty() && !line.starts_with("#version")) merges.push_back(std::string(line));
  }
  constexpr const char* kEnd = "<|endoftext|>";
  if (vocabulary.is_object() && vocabulary.contains(kEnd)) {
    added.push_back({{"id", vocabulary[kEnd]},
                     {"content", kEnd},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  }
  return text_of({{"type", "BPE"}, {"vocab", vocabulary}, {"merges", std::move(merges)}}, nullptr, byte_level(false), byte_level(true),
                 std::move(added));
}

}  // namespace

std::string characters_json(std::string_view text) {
  if (text.empty()) throw Error({.op = "characters_json", .got = "an empty text", .expected = "characters"});
  if (const std::size_t valid = valid_bytes(text); valid != text.size()) {
    throw Error({.op = "characters_json",
                 .got = "a text that is no UTF-8 from byte " + std::to_string(valid) + " on",
                 .expected = "characters in UTF-8",
                 .advice = "convert the text, or take a tokenizer of bytes (tegula train bpe)"});
  }
  std::set<std::string, std::less<>> characters;
  for_each_character(text, [&](char32_t, std::string_view bytes) {
    if (!characters.contains(bytes)) characters.emplace(bytes);
  });
  return text_of({{"type", "BPE"}, {"vocab", numbered({characters.begin(), characters.end()})}, {"merges", Json::array()}}, nullptr,
                 nullptr, {{"type", "Fuse"}});
}

std::string words_json(const Vocabulary& words, const std::string& unknown) {
  if (!words.contains(unknown)) {
    throw Error({.op = "words_json",
                 .got = "'" + unknown + "' for unknown words, which the vocabulary lacks",
                 .expected = "a token of the vocabulary"});
  }
  return text_of({{"type", "WordLevel"}, {"vocab", numbered(words.tokens())}, {"unk_token", unknown}}, {{"type", "Lowercase"}},
                 {{"type", "WhitespaceSplit"}}, nullptr);
}

std::string read_tokenizer_json(const std::string& path) {
  std::string text;
  if (!io::is_folder(path)) {
    if (!path.ends_with(".json")) {
      throw Error({.op = "read_tokenizer_json",
                   .got = path + ", a file of another kind",
                   .expected = "tokenizer.json, or a folder with it or with vocab.json and merges.txt",
                   .advice = "tegula train bpe writes such a folder"});
    }
    text = read_text(path, "tokenizer.json");
  } else if (const std::string file = first_of(path, {"tokenizer.json"}); !file.empty()) {
    text = read_text(file, "tokenizer.json");
  } else {
    const std::string vocabulary = first_of(path, {"vocab.json", "encoder.json"}), merges = first_of(path, {"merges.txt", "vocab.bpe"});
    if (vocabulary.empty() || merges.empty()) {
      throw Error({.op = "read_tokenizer_json",
                   .got = path + ", a folder without the files of a tokenizer",
                   .expected = "tokenizer.json, or vocab.json with merges.txt"});
    }
    text = gpt2_json(vocabulary, merges);
  }
  static_cast<void>(parse_tokenizer_json(text, path));  // reports its errors now
  return text;
}

}  // namespace tegula::text
