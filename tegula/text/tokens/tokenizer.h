#pragma once
// Text to token numbers and back: normalise, cut, look up, frame. One class for GPT-2's, BERT's, Llama's and other tokenizers, which differ
// in their parts (tokenizer_files.h reads them).

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/text/tokens/decoder.h"
#include "tegula/text/tokens/model.h"
#include "tegula/text/tokens/splitter.h"

namespace tegula::text {

/// A token that text is searched for before anything else happens to it.
struct AddedToken {
  std::string content;
  Id id = 0;
  bool special = false;  // left out by decode
  bool normalized = false;  // sought in the normalised text
  bool single_word = false;  // not within a word
  bool strip_left = false, strip_right = false;  // with the white space beside it
  std::string form = {};  // how the normalised text has it; empty: as the content is normalised by itself
};

/// An item of the frame around tokens: a token of its own, or the tokens of the first or second text.
struct TemplateItem {
  enum class Kind : std::uint8_t { Token, First, Second } kind = Kind::First;
  Id id = 0;  // of the token
  Id type = 0;  // BERT's token_type_ids
};
using Template = std::vector<TemplateItem>;

struct TokenizerParts {
  std::shared_ptr<const TokenModel> model;
  Normalizer normalizer = {};  // not given: text stays unchanged
  Splitter splitter = {};  // not given: the text is one piece
  Decoder decoder = {};  // not given: tokens are put together
  Template single = {}, pair = {};  // empty: no frame
  std::vector<AddedToken> added = {};
};

/// Put the frame's tokens ([CLS], <s>, …) around a text; show special tokens in decode.
enum class SpecialTokens : std::uint8_t { No, Yes };

struct Encoding {
  Ids ids;
  Ids types;  // 0 for the first text and 1 for the second, as the frame says
};

/// Copies share the parts. May be used by several threads at once.
class Tokenizer {
 public:
  /// Throws Error without a model, or with a number in `added` or a frame that is negative.
  explicit Tokenizer(TokenizerParts parts);

  Ids encode(std::string_view text, SpecialTokens special = SpecialTokens::Yes) const;
  /// Two texts in one frame, as BERT takes a pair of sentences. Without a frame for pairs the second follows the first.
  Encoding encode_pair(std::string_view first, std::string_view second) const;
  std::vector<Ids> encode(std::span<const std::string> texts, SpecialTokens special = SpecialTokens::Yes) const;

  /// The text of tokens. Byte-level tokens give their bytes, which need not be whole characters. Throws Error for a number that is no token's.
  std::string decode(std::span<const Id> ids, SpecialTokens special = SpecialTokens::No) const;

  /// Numbers are below this: vocabulary and added tokens.
  Id size() const;
  /// The number of a token, added ones first; nothing when there is none.
  std::optional<Id> find(std::string_view token) const;
  /// The id that find gives; throws Error if the token is unknown.
  Id id(std::string_view token) const;
  /// The token's entry in the vocabulary; of byte-level ones the bytes. Throws Error for a number that is no token's.
  const std::string& token(Id id) const;
  bool is_special(Id id) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace tegula::text
