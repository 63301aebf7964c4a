// Hugging Face's tokenizer.json, part by part: each function below knows one kind of part by the names of the tokenizers library.

#include <nlohmann/json.hpp>

#include "tegula/core/error.h"
#include "tegula/core/json.h"
#include "tegula/core/text.h"
#include "tegula/text/tokens/bpe.h"
#include "tegula/text/tokens/json_tokens.h"
#include "tegula/text/tokens/precompiled.h"
#include "tegula/text/tokens/tokenizer_files.h"
#include "tegula/text/tokens/unigram.h"
#include "tegula/text/tokens/wordpiece.h"

namespace tegula::text {
namespace {

using nlohmann::json;

constexpr int kDeepest = 16;  // parts within parts

/// Reads the members of objects, and throws the errors of one file.
class Reader {
 public:
  explicit Reader(std::string_view name) : name_(name) {}

  [[noreturn]] void refuse(std::string got, std::string expected, std::string advice = "") const {
    throw Error(
        {.op = "tokenizer.json", .got = name_ + ": " + printable(got), .expected = std::move(expected), .advice = std::move(advice)});
  }
  const std::string& name() const { return name_; }

  const json& member(const json& object, const char* key) const {
    static const json kNothing;
    if (!object.is_object()) refuse(shown(object), std::string("an object with \"") + key + "\"");
    const auto found = object.find(key);
    return found == object.end() ? kNothing : *found;
  }
  std::string text(const json& object, const char* key, const char* otherwise = nullptr) const {
    const json& value = member(object, key);
    if (value.is_null() && otherwise) return otherwise;
    if (!value.is_string()) wrong(key, value, "a text");
    return value.get<std::string>();
  }
  bool truth(const json& object, const char* key, bool otherwise) const {
    const json& value = member(object, key);
    if (value.is_null()) return otherwise;
    if (!value.is_boolean()) wrong(key, value, "true or false");
    return value.get<bool>();
  }
  Id number(const json& object, const char* key) const {
    const json& value = member(object, key);
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > (1u << 30)) wrong(key, value, "a whole number from 0 to 2^30");
    return value.get<Id>();
  }
  const json& list(const json& object, const char* key) const {
    const json& value = member(object, key);
    if (!value.is_array()) wrong(key, value, "a list");
    return value;
  }
  [[noreturn]] void unknown(const char* kind, const std::string& type) const {
    refuse(std::string("the ") + kind + " " + type.substr(0, 80), std::string("a ") + kind + " that Tegula knows",
           "docs/text.md lists them; a Normalizer, Splitter or Decoder of your own can take its place");
  }

 private:
  [[noreturn]] void wrong(const char* key, const json& value, const char* expected) const {
    refuse(std::string("\"") + key + "\": " + shown(value), expected);
  }
  std::string name_;
};

class Builder {
 public:
  explicit Builder(std::string_view name) : read_(name) {}

  Tokenizer build(const json& file) {
    byte_level_ = mentions(read_.member(file, "pre_tokenizer"), "ByteLevel") || mentions(read_.member(file, "normalizer"), "ByteLevel") ||
                  mentions(read_.member(file, "decoder"), "ByteLevel");
    TokenizerParts parts;
    parts.model = model(read_.member(file, "model"));
    added(read_.member(file, "added_tokens"), parts);
    parts.normalizer = normalizer(read_.member(file, "normalizer"), 0);
    parts.splitter = splitter(read_.member(file, "pre_tokenizer"), 0);
    frame(read_.member(file, "post_processor"), parts, 0);
    parts.decoder = decoder(read_.member(file, "decoder"), 0);
    if (!parts.decoder && !byte_level_) parts.decoder = wordpiece_decoder("", false);  // blanks between tokens
    return Tokenizer(std::move(parts));
  }

 private:
  /// True if a part, or one within it, is of that type.
  static bool mentions(const json& part, const char* type, int depth = 0) {
    if (depth > kDeepest) return false;
    if (part.is_object()) {
      const auto own = part.find("type");
      if (own != part.end() && *own == type) return true;
      for (const char* list : {"normalizers", "pretokenizers", "decoders"}) {
        if (part.contains(list) && mentions(part[list], type, depth + 1)) return true;
      }
    }
    if (!part.is_array()) return false;
    return std::any_of(part.begin(), part.end(), [&](const json& one) { return mentions(one, type, depth + 1); });
  }

  /// The parts of a "Sequence", each built by `make`.
  template <class T, class F>
  std::vector<T> sequence(const json& part, const char* key, int depth, F make) const {
    if (depth > kDeepest) read_.refuse("parts within parts within parts", "at most " + std::to_string(kDeepest) + " levels");
    std::vector<T> steps;
    for (const json& one : read_.list(part, key)) {
      if (T step = make(one, depth + 1)) steps.push_back(std::move(step));
    }
    return steps;
  }

  Sought sought(const json& part) const {
    const json& pattern = read_.member(part, "pattern");
    if (read_.member(pattern, "String").is_string()) return read_.text(pattern, "String");
    return Pattern(with_oniguruma_words(read_.text(pattern, "Regex")), "tokenizer.json");
  }

  std::string token_text(const json& value) const {
    if (!value.is_string()) read_.refuse(shown(value), "a token, which is text");
    std::string token = value.get<std::string>();
    if (byte_level_) {
      if (auto bytes = spelled_bytes(token)) return std::move(*bytes);
    }
    return token;
  }

  Merges merges(const json& model) const {
    Merges out;
    for (const json& entry : read_.list(model, "merges")) {
      if (entry.is_string()) {
        const auto text = entry.get<std::string>();
        const std::size_t blank = text.find(' ');
        if (blank == std::string::npos) read_.refuse("the merge " + shown(entry), "two tokens with a blank between them");
        out.emplace_back(token_text(text.substr(0, blank)), token_text(text.substr(blank + 1)));
      } else if (entry.is_array() && entry.size() == 2) {
        out.emplace_back(token_text(entry[0]), token_text(entry[1]));
      } else {
        read_.refuse("the merge " + shown(entry), "two tokens");
      }
    }
    return out;
  }

  std::shared_ptr<const TokenModel> model(const json& part) const {
    const json& vocabulary = read_.member(part, "vocab");
    std::string type = read_.text(part, "type", "");
    if (type.empty())
      type = part.contains("merges")                     ? "BPE"
             : vocabulary.is_array()                     ? "Unigram"
             : part.contains("max_input_chars_per_word") ? "WordPiece"
                                                         : "WordLevel";
    if (type == "Unigram") return unigram(part);
    if (byte_level_ && type != "BPE") read_.refuse("bytes (ByteLevel) for a model " + type, "ByteLevel with BPE");
    std::vector<std::string> tokens = tokens_of(vocabulary, "tokenizer.json", read_.name());
    if (type == "WordPiece") {
      const json& longest = read_.member(part, "max_input_chars_per_word");
      return std::make_shared<WordPiece>(
          Vocabulary(std::move(tokens)),
          WordPieceOptions{.unknown = read_.text(part, "unk_token", "[UNK]"),
                           .prefix = read_.text(part, "continuing_subword_prefix", "##"),
                           .longest_word = longest.is_null() ? 100 : read_.number(part, "max_input_chars_per_word")});
    }
    if (type == "WordLevel") return std::make_shared<WholeWords>(Vocabulary(std::move(tokens)), read_.text(part, "unk_token", ""));
    if (type != "BPE") read_.unknown("model", type);
    for (std::string& token : tokens) token = token_text(token);
    return std::make_shared<Bpe>(Vocabulary(std::move(tokens)), merges(part),
                                 BpeOptions{.symbols = byte_level_ ? Symbols::Bytes : Symbols::Characters,
                                            .unknown = read_.text(part, "unk_token", ""),
                                            .fuse_unknown = read_.truth(part, "fuse_unk", false),
                                            .byte_fallback = read_.truth(part, "byte_fallback", false),
                                            .prefix = read_.text(part, "continuing_subword_prefix", ""),
                                            .suffix = read_.text(part, "end_of_word_suffix", ""),
                                            .whole_words_first = read_.truth(part, "ignore_merges", false)});
  }

  std::shared_ptr<const TokenModel> unigram(const json& part) const {
    if (byte_level_) read_.refuse("bytes (ByteLevel) for a model Unigram", "ByteLevel with BPE");
    std::vector<std::string> tokens;
    std::vector<double> scores;
    for (const json& entry : read_.list(part, "vocab")) {
      if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number())
        read_.refuse("the token " + shown(entry), "[\"text\", score]");
      tokens.push_back(entry[0].get<std::string>());
      scores.push_back(entry[1].get<double>());
    }
    UnigramOptions options{.byte_fallback = read_.truth(part, "byte_fallback", false)};
    if (!read_.member(part, "unk_id").is_null()) options.unknown = read_.number(part, "unk_id");
    const std::vector<bool> all(tokens.size(), true);
    return std::make_shared<Unigram>(Vocabulary(std::move(tokens)), std::move(scores), all, options);
  }

  void added(const json& list, TokenizerParts& parts) const {
    if (list.is_null()) return;
    if (!list.is_array()) read_.refuse("\"added_tokens\": " + shown(list), "a list");
    const auto most = 2 * (static_cast<std::size_t>(parts.model->vocabulary().size()) + list.size()) + 1000;
    for (const json& entry : list) {
      const Id id = read_.number(entry, "id");
      if (static_cast<std::size_t>(id) >= most)
        read_.refuse("an added token with the number " + std::to_string(id), "one near the vocabulary's");
      parts.added.push_back({.content = read_.text(entry, "content"),
                             .id = id,
                             .special = read_.truth(entry, "special", false),
                             .normalized = read_.truth(entry, "normalized", true),
                             .single_word = read_.truth(entry, "single_word", false),
                             .strip_left = read_.truth(entry, "lstrip", false),
                             .strip_right = read_.truth(entry, "rstrip", false)});
    }
  }

  Normalizer normalizer(const json& part, int depth) const {
    if (part.is_null()) return {};
    const std::string type = read_.text(part, "type");
    if (type == "Sequence")
      return chain(sequence<Normalizer>(part, "normalizers", depth, [this](const json& one, int below) { return normalizer(one, below); }));
    if (type == "NFC") return to_form(Form::NFC);
    if (type == "NFD") return to_form(Form::NFD);
    if (type == "NFKC") return to_form(Form::NFKC);
    if (type == "NFKD") return to_form(Form::NFKD);
    if (type == "Lowercase") return to_lowercase();
    if (type == "StripAccents") return without_marks();
    if (type == "Strip") return strip(read_.truth(part, "strip_left", true), read_.truth(part, "strip_right", true));
    if (type == "Prepend") return prepend(read_.text(part, "prepend"));
    if (type == "Replace") return replace(sought(part), read_.text(part, "content"));
    if (type == "ByteLevel") return {};  // the vocabulary is bytes already
    if (type == "Precompiled") {
      const auto map = from_base64(read_.text(part, "precompiled_charsmap", ""));
      if (!map) read_.refuse("a precompiled_charsmap that is not base64", "rules of normalisation in base64");
      return precompiled_normalizer(*map, "tokenizer.json", read_.name());
    }
    if (type == "BertNormalizer") {
      const bool lower = read_.truth(part, "lowercase", true);
      return bert_normalizer({.clean = read_.truth(part, "clean_text", true),
                              .chinese = read_.truth(part, "handle_chinese_chars", true),
                              .strip_accents = read_.truth(part, "strip_accents", lower),
                              .lowercase = lower});
    }
    read_.unknown("normalizer", type);
  }

  Delimiter delimiter(const json& part, const char* otherwise) const {
    const std::string text = read_.text(part, "behavior", otherwise);
    if (text == "Removed") return Delimiter::Removed;
    if (text == "Isolated") return Delimiter::Isolated;
    if (text == "MergedWithPrevious") return Delimiter::MergedWithPrevious;
    if (text == "MergedWithNext") return Delimiter::MergedWithNext;
    if (text == "Contiguous") return Delimiter::Contiguous;
    read_.unknown("behavior", text);
  }

  Splitter splitter(const json& part, int depth) const {
    if (part.is_null()) return {};
    const std::string type = read_.text(part, "type");
    if (type == "Sequence")
      return chain(sequence<Splitter>(part, "pretokenizers", depth, [this](const json& one, int below) { return splitter(one, below); }));
    if (type == "ByteLevel") {
      std::vector<Splitter> steps;
      if (read_.truth(part, "add_prefix_space", true)) steps.push_back(blank_in_front());
      if (read_.truth(part, "use_regex", true)) steps.push_back(gpt2_splitter());
      return steps.empty() ? Splitter() : chain(std::move(steps));
    }
    if (type == "BertPreTokenizer") return bert_splitter();
    if (type == "WhitespaceSplit") return split_by(is_space, Delimiter::Removed);
    if (type == "Whitespace") return word_splitter();
    if (type == "Punctuation") return split_by(is_bert_punctuation, delimiter(part, "Isolated"));
    if (type == "Digits")
      return split_by(is_number, read_.truth(part, "individual_digits", false) ? Delimiter::Isolated : Delimiter::Contiguous);
    if (type == "CharDelimiterSplit") return split_by(read_.text(part, "delimiter"), Delimiter::Removed);
    if (type == "Split") return split_by(sought(part), delimiter(part, "Isolated"), read_.truth(part, "invert", false));
    if (type == "Metaspace") {
      return metaspace(read_.text(part, "replacement", "\u2581"), prepending(part), read_.truth(part, "split", true));
    }
    read_.unknown("pre_tokenizer", type);
  }

  PrependMark prepending(const json& part) const {
    const std::string scheme = read_.text(part, "prepend_scheme", read_.truth(part, "add_prefix_space", true) ? "always" : "never");
    if (scheme == "always") return PrependMark::Always;
    if (scheme == "first") return PrependMark::First;
    if (scheme == "never") return PrependMark::Never;
    read_.unknown("prepend_scheme", scheme);
  }

  Template items(const json& list, const json& special) const {
    Template out;
    for (const json& item : list) {
      const json& sequence = read_.member(item, "Sequence");
      if (!sequence.is_null()) {
        const bool second = read_.text(sequence, "id") == "B";
        out.push_back({second ? TemplateItem::Kind::Second : TemplateItem::Kind::First, 0, read_.number(sequence, "type_id")});
        continue;
      }
      const json& token = read_.member(item, "SpecialToken");
      const std::string name = read_.text(token, "id");
      for (const json& id : read_.list(read_.member(special, name.c_str()), "ids")) {
        if (!id.is_number_unsigned() || id.get<std::uint64_t>() > (1u << 30))
          read_.refuse("the number " + shown(id) + " of " + name, "a token's number");
        out.push_back({TemplateItem::Kind::Token, id.get<Id>(), read_.number(token, "type_id")});
      }
    }
    return out;
  }

  Id framing_token(const json& part, const char* key) const {
    const json& value = read_.list(part, key);
    if (value.size() != 2 || !value[1].is_number_unsigned() || value[1].get<std::uint64_t>() > (1u << 30))
      read_.refuse(std::string("\"") + key + "\": " + shown(value), "[\"token\", number]");
    return value[1].get<Id>();
  }

  void frame(const json& part, TokenizerParts& parts, int depth) const {
    if (part.is_null()) return;
    using Kind = TemplateItem::Kind;
    const std::string type = read_.text(part, "type");
    if (type == "Sequence") {
      if (depth > kDeepest) read_.refuse("processors within processors", "at most " + std::to_string(kDeepest) + " levels");
      for (const json& one : read_.list(part, "processors")) frame(one, parts, depth + 1);
    } else if (type == "TemplateProcessing") {
      const json& special = read_.member(part, "special_tokens");
      parts.single = items(read_.list(part, "single"), special);
      parts.pair = items(read_.list(part, "pair"), special);
    } else if (type == "BertProcessing" || type == "RobertaProcessing") {
      const Id first = framing_token(part, "cls"), end = framing_token(part, "sep");
      parts.single = {{Kind::Token, first, 0}, {Kind::First, 0, 0}, {Kind::Token, end, 0}};
      parts.pair = parts.single;
      if (type == "RobertaProcessing")
        parts.pair.insert(parts.pair.end(), {{Kind::Token, end, 0}, {Kind::Second, 0, 0}, {Kind::Token, end, 0}});
      else parts.pair.insert(parts.pair.end(), {{Kind::Second, 0, 1}, {Kind::Token, end, 1}});
    } else if (type != "ByteLevel") {  // which moves offsets only
      read_.unknown("post_processor", type);
    }
  }

  Decoder decoder(const json& part, int depth) const {
    if (part.is_null()) return {};
    const std::string type = read_.text(part, "type");
    if (type == "Sequence")
      return chain(sequence<Decoder>(part, "decoders", depth, [this](const json& one, int below) { return decoder(one, below); }));
    if (type == "ByteLevel") return {};
    if (type == "ByteFallback") return join_bytes();
    if (type == "Fuse") return fuse();
    if (type == "WordPiece") return wordpiece_decoder(read_.text(part, "prefix", "##"), read_.truth(part, "cleanup", true));
    if (type == "BPEDecoder") return suffix_decoder(read_.text(part, "suffix", "</w>"));
    if (type == "Metaspace") return metaspace_decoder(read_.text(part, "replacement", "\u2581"), prepending(part) != PrependMark::Never);
    if (type == "Replace") return replace_in_tokens(sought(part), read_.text(part, "content"));
    if (type == "Strip")
      return strip_tokens(read_.text(part, "content"), static_cast<std::size_t>(read_.number(part, "start")),
                          static_cast<std::size_t>(read_.number(part, "stop")));
    read_.unknown("decoder", type);
  }

  Reader read_;
  bool byte_level_ = false;  // tokens are spelled as GPT-2's are
};

}  // namespace

Tokenizer parse_tokenizer_json(std::string_view text, std::string_view name) {
  const json file = parse_json(text, "tokenizer.json", name);
  return Builder(name).build(file);
}

}  // namespace tegula::text
