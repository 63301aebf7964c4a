#pragma once
// Language models in files that describe themselves: the net, its sizes and its tokenizer; and text from them.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tegula/io/safetensors.h"
#include "tegula/models/text/gpt2.h"
#include "tegula/models/text/llama.h"
#include "tegula/models/text/lstm_language_model.h"
#include "tegula/nn/state.h"
#include "tegula/text/tokens/tokenizer.h"

namespace tegula::models {

struct LanguageModel {
  std::variant<std::unique_ptr<Gpt2>, std::unique_ptr<LstmLanguageModel>, std::unique_ptr<Llama>> net;
  text::Tokenizer tokenizer;
  text::Ids ends = {};  // tokens that end a text, beside the tokenizer's own
  LoadReport report = {};  // of GGUF files and Hugging Face's folders: what had another name or order of axes there

  std::string_view kind() const;  // "gpt2", "lstm", "llama"
  std::int64_t context() const;   // tokens that it can look at; 0: there is no bound
  std::int64_t parameters() const;
};

/// The metadata from which the model can be built again; `tokenizer_json` is the text of a tokenizer.json (text/tokens/tokenizer_texts.h).
io::Metadata describe(const Gpt2& net, const std::string& tokenizer_json);
io::Metadata describe(const LstmLanguageModel& net, const std::string& tokenizer_json);

/// Writes weights and description as safetensors, atomically.
void save_language_model(const std::string& path, const Gpt2& net, const std::string& tokenizer_json);
void save_language_model(const std::string& path, const LstmLanguageModel& net, const std::string& tokenizer_json);

/// A file of save_language_model, or a checkpoint with describe() as metadata; a checkpoint of llama2.c (.bin); a GGUF file
/// (models/text/gguf.h); or a folder of Hugging Face's (models/text/hugging_face.h). `tokenizer`: a file for
/// text::read_tokenizer instead of the one within, which llama2.c's files need. Throws Error when the file holds another model, when its weights do not
/// fit, and when the tokenizer has more tokens than the model.
LanguageModel load_language_model(const std::string& path, const std::string& tokenizer = "");

/// The mean of -log p(label) over all positions: features (…, F) · weight (vocabulary, F) + bias -> scores, for labels (…). Scores of more than
/// 4 GiB, as they are stored, are never in memory as a whole (linear_cross_entropy); the backward pass computes those anew.
Tensor next_token_loss(Arg features, Arg weight, Arg labels, const Tensor& bias = {});

struct WriteOptions {
  std::int64_t tokens = 256;  // at most
  Sampling sampling = {.temperature = 0.8};
  std::vector<std::string> stops = {};  // texts that end the text, and are not part of it
  std::function<void(std::size_t prompt, std::string_view piece)> on_text = {};  // the text as it comes, behind which of the prompts
  Generator* generator = nullptr;
};
struct Written {
  std::string text;  // without the prompt
  std::int64_t prompt_tokens = 0, tokens = 0;
  double prompt_seconds = 0, seconds = 0;  // until the first token, and from there to the last one
  bool finished = false;  // by a stop string or the token that ends texts, not by the length
};

/// Continues prompts, compiled once; the model must outlive it. A model with a full context goes on from the later half of its tokens.
class TextWriter {
 public:
  explicit TextWriter(const LanguageModel& model);
  ~TextWriter();
  /// An empty prompt is a line end where that is a token, as nanoGPT has it, or the token that begins texts. Throws Error for a prompt that is longer
  /// than the context less one.
  Written operator()(const std::string& prompt, const WriteOptions& options = {});
  /// Writes after all prompts together, of any lengths: each step of the model adds a token to all of them. If the likeliest token is taken each text is the one that its prompt
  /// gives alone. Compiles again when the number of prompts changes.
  std::vector<Written> all(const std::vector<std::string>& prompts, const WriteOptions& options = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tegula::models
