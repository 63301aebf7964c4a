#include "tegula/text/tokens/tokenizer_files.h"

#include <nlohmann/json.hpp>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/io/file.h"
#include "tegula/io/gguf.h"
#include "tegula/text/lines.h"
#include "tegula/text/tokens/json_tokens.h"
#include "tegula/text/tokens/sentencepiece.h"
#include "tegula/text/tokens/wordpiece.h"

namespace tegula::text {
namespace {

[[noreturn]] void refuse(std::string_view op, std::string_view name, std::string got, std::string expected, std::string advice = "") {
  throw Error({.op = std::string(op),
               .got = std::string(name) + ": " + std::move(got),
               .expected = std::move(expected),
               .advice = std::move(advice)});
}

Merges parse_merges(std::string_view text, std::string_view name) {
  Merges merges;
  std::int64_t number = 0;
  for (const std::string_view line : split_lines(text)) {
    ++number;
    if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos || blank == 0 || blank + 1 == line.size() || line.find(' ', blank + 1) != std::string_view::npos) {
      refuse("merges", name, "line " + std::to_string(number) + ": '" + printable(line.substr(0, 80)) + "'",
             "two tokens with a blank between them");
    }
    merges.emplace_back(line.substr(0, blank), line.substr(blank + 1));
  }
  return merges;
}

/// Token texts from GPT-2's spelling to bytes. Texts not spelled this way stay: added tokens.
void spell_out(std::vector<std::string>& tokens) {
  for (std::string& token : tokens) {
    if (auto bytes = spelled_bytes(token)) token = std::move(*bytes);
  }
}

Tokenizer from_gpt2(std::vector<std::string> tokens, Merges merges, const std::vector<std::string>& special) {
  spell_out(tokens);
  for (auto& [left, right] : merges) {
    if (auto bytes = spelled_bytes(left)) left = std::move(*bytes);
    if (auto bytes = spelled_bytes(right)) right = std::move(*bytes);
  }
  return gpt2_tokenizer(Vocabulary(std::move(tokens)), merges, special);
}

const std::vector<std::string> kGpt2Special = {"<|endoftext|>"};

std::string first_of(const std::string& folder, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const std::string path = folder + "/" + name;
    if (io::is_there(path)) return path;
  }
  return "";
}

Tokenizer read_folder(const std::string& folder) {
  if (const auto path = first_of(folder, {"tokenizer.json"}); !path.empty()) return read_tokenizer(path);
  const std::string vocabulary = first_of(folder, {"vocab.json", "encoder.json"}), merges = first_of(folder, {"merges.txt", "vocab.bpe"});
  if (!vocabulary.empty() && !merges.empty()) return read_gpt2_tokenizer(vocabulary, merges);
  if (const auto path = first_of(folder, {"tokenizer.model", "spiece.model", "vocab.txt"}); !path.empty()) return read_tokenizer(path);
  refuse("read_tokenizer", folder, "a folder without the files of a tokenizer",
         "tokenizer.json, vocab.json with merges.txt, tokenizer.model or vocab.txt");
}

}  // namespace

Tokenizer gpt2_tokenizer(Vocabulary vocabulary, const Merges& merges, const std::vector<std::string>& special) {
  TokenizerParts parts;
  for (const std::string& token : special) {
    if (const auto id = vocabulary.find(token)) parts.added.push_back({.content = token, .id = *id, .special = true});
  }
  parts.model = std::make_shared<Bpe>(std::move(vocabulary), merges);
  parts.splitter = gpt2_splitter();
  return Tokenizer(std::move(parts));
}

Tokenizer parse_gpt2_tokenizer(std::string_view vocabulary, std::string_view merges, std::string_view name) {
  const nlohmann::json json = parse_json(vocabulary, "tokenizer", name);
  return from_gpt2(tokens_of(json, "tokenizer", name), parse_merges(merges, name), kGpt2Special);
}

Tokenizer read_gpt2_tokenizer(const std::string& vocabulary, const std::string& merges) {
  const nlohmann::json json = parse_json(read_text(vocabulary, "tokenizer"), "tokenizer", vocabulary);
  return from_gpt2(tokens_of(json, "tokenizer", vocabulary), parse_merges(read_text(merges, "tokenizer"), merges), kGpt2Special);
}

void write_gpt2_files(const std::string& vocabulary_path, const std::string& merges_path, const Vocabulary& vocabulary,
                      const Merges& merges) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (Id id = 0; id < vocabulary.size(); ++id) json[spell_bytes(vocabulary.token(id))] = id;
  std::string lines = "#version: 0.2\n";
  for (const auto& [left, right] : merges) lines += spell_bytes(left) + " " + spell_bytes(right) + "\n";
  const std::string text = json.dump();
  io::write_atomically(vocabulary_path, std::as_bytes(std::span(text)), "tokenizer");
  io::write_atomically(merges_path, std::as_bytes(std::span(lines)), "tokenizer");
}

void count_pieces(std::string_view text, TextMap<std::int64_t>& counts) {
  const Splitter split = gpt2_splitter();
  Pieces pieces;
  constexpr std::size_t kChunk = 1 << 20;
  while (!text.empty()) {
    std::size_t size = std::min(text.size(), kChunk);
    if (size < text.size()) {
      const std::size_t line = text.rfind('\n', size);  // a line end and the following text stay together
      if (line != std::string_view::npos && line > 0) size = line;
    }
    pieces.clear();
    split({std::string(text.substr(0, size)), true}, pieces);
    for (Piece& piece : pieces) ++counts[std::move(piece.text)];
    text.remove_prefix(size);
  }
}

Tokenizer bert_tokenizer(Vocabulary vocabulary, Case letters) {
  TokenizerParts parts;
  for (const char* token : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
    if (const auto id = vocabulary.find(token)) parts.added.push_back({.content = token, .id = *id, .special = true});
  }
  const auto first = vocabulary.find("[CLS]"), end = vocabulary.find("[SEP]");
  if (first && end) {
    using Kind = TemplateItem::Kind;
    parts.single = {{Kind::Token, *first, 0}, {Kind::First, 0, 0}, {Kind::Token, *end, 0}};
    parts.pair = parts.single;
    parts.pair.insert(parts.pair.end(), {{Kind::Second, 0, 1}, {Kind::Token, *end, 1}});
  }
  parts.model = std::make_shared<WordPiece>(std::move(vocabulary));
  const bool lower = letters == Case::Lower;
  parts.normalizer = bert_normalizer({.strip_accents = lower, .lowercase = lower});
  parts.splitter = bert_splitter();
  parts.decoder = wordpiece_decoder("##", true);
  return Tokenizer(std::move(parts));
}

Tokenizer read_bert_tokenizer(const std::string& vocabulary, Case letters) { return bert_tokenizer(read_vocabulary(vocabulary), letters); }

Tokenizer gguf_tokenizer(const io::GgufMetadata& metadata) {
  const std::string& model = metadata.text("tokenizer.ggml.model");
  std::vector<std::string> tokens = metadata.texts("tokenizer.ggml.tokens");
  const auto kinds = [&]() -> std::vector<std::int64_t> {
    if (!metadata.contains("tokenizer.ggml.token_type")) return std::vector<std::int64_t>(tokens.size(), 1);
    auto list = metadata.integers("tokenizer.ggml.token_type");
    if (list.size() != tokens.size())
      refuse("gguf", metadata.file, std::to_string(list.size()) + " kinds of tokens", "one for each of " + std::to_string(tokens.size()));
    return list;
  }();
  if (model == "gpt2") {
    Merges merges;
    for (const std::string& line : metadata.texts("tokenizer.ggml.merges")) {
      const Merges one = parse_merges(line, metadata.file);
      merges.insert(merges.end(), one.begin(), one.end());
    }
    std::vector<std::string> special = kGpt2Special;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (kinds[i] == static_cast<std::int64_t>(PieceKind::Control)) special.push_back(tokens[i]);
    }
    return from_gpt2(std::move(tokens), std::move(merges), special);
  }
  if (model == "bert") {  // words begin with "▁" there, instead of what is within a word with "##"
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i].starts_with("\u2581")) tokens[i].erase(0, 3);
      else if (kinds[i] == 1 && !(tokens[i].starts_with('[') && tokens[i].ends_with(']'))) tokens[i].insert(0, "##");
    }
    return bert_tokenizer(Vocabulary(std::move(tokens)));
  }
  if (model == "llama") {
    SentencePieceModel pieces;
    pieces.type = SentencePieceModel::Type::Bpe;
    for (const double score : metadata.numbers("tokenizer.ggml.scores")) pieces.scores.push_back(static_cast<float>(score));
    pieces.pieces = std::move(tokens);
    pieces.remove_extra_blanks = false;
    for (const std::int64_t kind : kinds) {
      if (kind < 1 || kind > 6) refuse("gguf", metadata.file, "a token of kind " + std::to_string(kind), "1 to 6");
      pieces.kinds.push_back(static_cast<PieceKind>(kind));
      pieces.byte_fallback = pieces.byte_fallback || pieces.kinds.back() == PieceKind::Byte;
    }
    const auto frame = [&](const char* wanted, const char* key, bool otherwise, Ids& ids) {
      const bool adds = metadata.contains(wanted) ? metadata.truth(wanted) : otherwise;
      if (adds && metadata.contains(key)) ids = {metadata.integer(key)};
    };
    frame("tokenizer.ggml.add_bos_token", "tokenizer.ggml.bos_token_id", true, pieces.before);
    frame("tokenizer.ggml.add_eos_token", "tokenizer.ggml.eos_token_id", false, pieces.after);
    if (metadata.contains("tokenizer.ggml.add_space_prefix")) pieces.dummy_prefix = metadata.truth("tokenizer.ggml.add_space_prefix");
    return make_tokenizer(pieces, "gguf", metadata.file);
  }
  refuse("gguf", metadata.file, "a tokenizer of model '" + printable(model.substr(0, 40)) + "'", "gpt2, bert or llama");
}

Tokenizer read_tokenizer(const std::string& path) {
  if (io::is_folder(path)) return read_folder(path);
  const auto ends = [&](const char* ending) { return std::string_view(path).ends_with(ending); };
  if (ends(".gguf")) return gguf_tokenizer(io::read_gguf_metadata(path));
  if (ends(".model")) return read_sentencepiece(path);
  if (ends(".bin")) return parse_llama2c_tokenizer(io::read_file(path, {.op = "llama2c"}), path);
  if (ends(".json")) return parse_tokenizer_json(read_text(path, "tokenizer.json"), path);
  if (ends(".txt")) return read_bert_tokenizer(path);
  refuse("read_tokenizer", path, "a file of an unknown kind",
         "tokenizer.json, .gguf, .model, .bin (llama2.c), vocab.txt, or a folder with them");
}

}  // namespace tegula::text
