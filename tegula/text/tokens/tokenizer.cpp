#include "tegula/text/tokens/tokenizer.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "tegula/core/error.h"

namespace tegula::text {
namespace {

bool is_word_character(char32_t code) { return is_letter(code) || is_number(code) || is_mark(code) || code == '_'; }

/// The character that ends at byte `at`.
std::optional<char32_t> character_before(std::string_view text, std::size_t at) {
  if (at == 0) return {};
  std::size_t begin = at - 1;
  while (begin > 0 && at - begin < 4 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
  return front_character(text.substr(begin)).code;
}

/// Finds added tokens in text, the longest at each position.
class Finder {
 public:
  void add(std::string content, const AddedToken& token) {
    if (content.empty()) return;
    auto& list = of_first_byte_[static_cast<unsigned char>(content[0])];
    list.emplace_back(std::move(content), token);
    std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
    empty_ = false;
  }

  /// Calls between(text) and found(token) from the left to the right. Texts may be empty.
  template <class Between, class Found>
  void split(std::string_view text, Between&& between, Found&& found) const {
    std::size_t kept = 0;
    for (std::size_t at = 0; !empty_ && at < text.size();) {
      const auto* entry = token_at(text, at);
      if (!entry) {
        ++at;
        continue;
      }
      const auto& [content, token] = *entry;
      std::size_t begin = at, end = at + content.size();
      while (token.strip_left && begin > kept && is_space_at(text, begin)) begin -= space_before(text, begin);
      while (token.strip_right && end < text.size() && is_space(front_character(text.substr(end)).code))
        end += front_character(text.substr(end)).bytes;
      between(text.substr(kept, begin - kept));
      found(token);
      at = kept = end;
    }
    between(text.substr(kept));
  }

 private:
  using Entry = std::pair<std::string, AddedToken>;

  static bool is_space_at(std::string_view text, std::size_t at) {
    const auto code = character_before(text, at);
    return code && is_space(*code);
  }
  static std::size_t space_before(std::string_view text, std::size_t at) {
    std::size_t size = 1;
    while (size < at && size < 4 && (static_cast<unsigned char>(text[at - size]) & 0xC0) == 0x80) ++size;
    return size;
  }

  const Entry* token_at(std::string_view text, std::size_t at) const {
    for (const Entry& entry : of_first_byte_[static_cast<unsigned char>(text[at])]) {
      if (!text.substr(at).starts_with(entry.first)) continue;
      if (entry.second.single_word) {
        const std::size_t end = at + entry.first.size();
        const auto before = character_before(text, at);
        if (before && is_word_character(*before)) continue;
        if (end < text.size() && is_word_character(front_character(text.substr(end)).code)) continue;
      }
      return &entry;
    }
    return nullptr;
  }

  std::array<std::vector<Entry>, 256> of_first_byte_;
  bool empty_ = true;
};

}  // namespace

struct Tokenizer::State {
  TokenizerParts parts;
  Finder raw, normalized;
  std::map<Id, AddedToken> added;
  TextMap<Id> added_ids;
  Id size = 0;

  std::string normalize(std::string_view text) const { return parts.normalizer ? parts.normalizer(std::string(text)) : std::string(text); }

  void encode_plain(std::string_view text, bool first, Ids& out) const {
    if (text.empty()) return;
    if (!parts.splitter) {
      parts.model->encode(text, out);
      return;
    }
    Pieces pieces;
    parts.splitter({std::string(text), first}, pieces);
    for (const Piece& piece : pieces) {
      if (!piece.text.empty()) parts.model->encode(piece.text, out);
    }
  }

  void encode(std::string_view text, Ids& out) const {
    bool first = true;
    raw.split(
        text,
        [&](std::string_view between) {
          if (between.empty()) return;
          normalized.split(
              normalize(between),
              [&](std::string_view plain) {
                encode_plain(plain, first, out);
                first = first && plain.empty();
              },
              [&](const AddedToken& token) {
                out.push_back(token.id);
                first = false;
              });
        },
        [&](const AddedToken& token) {
          out.push_back(token.id);
          first = false;
        });
  }

  const std::string& token(Id id) const {
    const auto found = added.find(id);
    return found != added.end() ? found->second.content : parts.model->vocabulary().token(id);
  }
};

Tokenizer::Tokenizer(TokenizerParts parts) {
  if (!parts.model) throw Error({.op = "Tokenizer", .got = "no model", .expected = "TokenizerParts with one"});
  auto state = std::make_shared<State>();
  state->parts = std::move(parts);
  state->size = state->parts.model->vocabulary().size();
  for (const AddedToken& token : state->parts.added) {
    if (token.id < 0) {
      throw Error({.op = "Tokenizer", .got = "the number " + std::to_string(token.id) + " of an added token", .expected = "0 or more"});
    }
    if (token.normalized) state->normalized.add(token.form.empty() ? state->normalize(token.content) : token.form, token);
    else state->raw.add(token.content, token);
    state->added[token.id] = token;
    state->added_ids.emplace(token.content, token.id);
    state->size = std::max(state->size, token.id + 1);
  }
  for (const Template* frame : {&state->parts.single, &state->parts.pair}) {
    for (const TemplateItem& item : *frame) {
      if (item.kind == TemplateItem::Kind::Token) state->token(item.id);
    }
  }
  state_ = std::move(state);
}

Ids Tokenizer::encode(std::string_view text, SpecialTokens special) const {
  Ids out;
  if (special == SpecialTokens::No || state_->parts.single.empty()) {
    state_->encode(text, out);
    return out;
  }
  for (const TemplateItem& item : state_->parts.single) {
    if (item.kind == TemplateItem::Kind::Token) out.push_back(item.id);
    else if (item.kind == TemplateItem::Kind::First) state_->encode(text, out);
  }
  return out;
}

Encoding Tokenizer::encode_pair(std::string_view first, std::string_view second) const {
  static const Template kPlain{{.kind = TemplateItem::Kind::First}, {.kind = TemplateItem::Kind::Second, .type = 1}};
  Encoding out;
  for (const TemplateItem& item : state_->parts.pair.empty() ? kPlain : state_->parts.pair) {
    if (item.kind == TemplateItem::Kind::Token) out.ids.push_back(item.id);
    else state_->encode(item.kind == TemplateItem::Kind::First ? first : second, out.ids);
    out.types.resize(out.ids.size(), item.type);
  }
  return out;
}

std::vector<Ids> Tokenizer::encode(std::span<const std::string> texts, SpecialTokens special) const {
  std::vector<Ids> out;
  out.reserve(texts.size());
  for (const std::string& text : texts) out.push_back(encode(text, special));
  return out;
}

std::string Tokenizer::decode(std::span<const Id> ids, SpecialTokens special) const {
  Tokens tokens;
  for (const Id id : ids) {
    if (special == SpecialTokens::Yes || !is_special(id)) tokens.push_back(token(id));
  }
  if (state_->parts.decoder) tokens = state_->parts.decoder(std::move(tokens));
  std::string out;
  for (const std::string& token : tokens) out += token;
  return out;
}

Id Tokenizer::size() const { return state_->size; }

std::optional<Id> Tokenizer::find(std::string_view token) const {
  const auto found = state_->added_ids.find(token);
  if (found != state_->added_ids.end()) return found->second;
  return state_->parts.model->vocabulary().find(token);
}

Id Tokenizer::id(std::string_view token) const {
  const auto found = find(token);
  return found ? *found : state_->parts.model->vocabulary().id(token);
}

const std::string& Tokenizer::token(Id id) const { return state_->token(id); }

bool Tokenizer::is_special(Id id) const {
  const auto found = state_->added.find(id);
  return found != state_->added.end() && found->second.special;
}

}  // namespace tegula::text
