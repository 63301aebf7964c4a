#pragma once
// A translator from text to text: a net, the tokenizers of both languages, and the file that holds them.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "tegula/models/model_file.h"
#include "tegula/models/text/seq2seq.h"
#include "tegula/models/text/transformer.h"
#include "tegula/text/tokens/tokenizer.h"

namespace tegula::models {

/// Numbers of the tokens that every tokenizer of a translator begins with.
inline constexpr std::int64_t kPadding = 0, kBegin = 1, kEnd = 2, kUnknown = 3;
/// "<pad>", "<s>", "</s>", "<unk>".
const std::vector<std::string>& translation_tokens();

struct TranslationOptions {
  std::int64_t beams = 5;
  double length_penalty = 1;
  std::int64_t batch = 32;
  std::int64_t max_new_tokens = 0;  // of each target; 0: twice the source's and ten more
};

/// A source with its best target.
struct TextTranslation {
  std::string text;
  double score = 0;  // log-probability / length^penalty
  std::vector<std::int64_t> source, target;  // tokens; the source ends with kEnd, the target has no frame
};

class Translator {
 public:
  /// `source` and `target`: tokenizer.json texts whose first tokens are translation_tokens(). Throws Error where their sizes are not the net's
  /// vocabularies.
  Translator(Transformer net, std::string source, std::string target);
  Translator(Seq2Seq net, std::string source, std::string target);

  /// Source tokens (N, S), target tokens (N, T), lengths of the sources (N) -> scores (N, T, vocabulary).
  Tensor operator()(const Tensor& source, const Tensor& target, const Tensor& lengths) const;
  void visit(nn::Visitor& visitor, const nn::Path& path);

  /// The tokens of a source, with kEnd behind; of a target, without a frame.
  std::vector<std::int64_t> encode_source(std::string_view text) const;
  std::vector<std::int64_t> encode_target(std::string_view text) const;
  std::string decode_target(std::span<const std::int64_t> tokens) const;

  /// The translations in the order of `texts`, computed in batches of sources of similar length. Functions compiled for a width stay until the next call with other options.
  /// An empty text stays empty. A source longer than the net's context is an Error. The net must be in evaluation mode.
  std::vector<TextTranslation> translate(std::span<const std::string> texts, const TranslationOptions& options = {});
  /// The attention of each target token, and of the end, over the source: (target + 1, source).
  Tensor attention(const TextTranslation& translation) const;
  /// The tokens as people read them.
  std::vector<std::string> source_tokens(std::span<const std::int64_t> tokens) const;
  std::vector<std::string> target_tokens(std::span<const std::int64_t> tokens) const;

  /// "translation-transformer" or "translation-lstm", options and tokenizers.
  ModelDescription describe() const;
  void save(const std::string& path) const;
  /// Throws Error for a file of another kind, options that make no sense, tokenizers that are broken, and weights of other shapes.
  static Translator load(const std::string& path);

 private:
  struct Generators;
  using Net = std::variant<Transformer, Seq2Seq>;
  Translator(std::unique_ptr<Net> net, std::string source, std::string target);
  void check() const;
  std::int64_t context() const;
  std::unique_ptr<Net> net_;  // stays in place: the compiled functions refer to it
  std::string source_json_, target_json_;
  text::Tokenizer source_, target_;
  std::shared_ptr<Generators> generators_;
};

}  // namespace tegula::models
