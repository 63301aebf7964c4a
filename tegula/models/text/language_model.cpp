#include "tegula/models/text/language_model.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>

#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/models/description.h"
#include "tegula/models/text/generate.h"
#include "tegula/models/text/hugging_face.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/rows/linear_cross_entropy.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/text/tokens/token_stream.h"
#include "tegula/text/tokens/tokenizer_files.h"

namespace tegula::models {
namespace {

constexpr const char *kTokenizer = "tegula.tokenizer", *kGpt2 = "gpt2", *kLstm = "lstm";
constexpr double kMost = 1 << 24;  // of any size

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};

std::string key(const char* name) { return std::string("tegula.") + name; }

std::unique_ptr<Gpt2> gpt2_of(const Description& d, double most_layers) {
  const auto size = [&](const char* name) { return d.whole_number(key(name), kMost, 1); };
  return std::make_unique<Gpt2>(Gpt2Options{.vocabulary = size("vocabulary"),
                                            .width = size("width"),
                                            .layers = d.whole_number(key("layers"), most_layers, 1),
                                            .heads = size("heads"),
                                            .context = size("context"),
                                            .dropout = d.number(key("dropout")),
                                            .norm_eps = d.number(key("norm_eps"))});
}

std::unique_ptr<LstmLanguageModel> lstm_of(const Description& d, double most_layers) {
  const auto size = [&](const char* name) { return d.whole_number(key(name), kMost, 1); };
  return std::make_unique<LstmLanguageModel>(LstmLanguageModelOptions{.vocabulary = size("vocabulary"),
                                                                      .embedding = size("embedding"),
                                                                      .hidden = size("hidden"),
                                                                      .layers = d.whole_number(key("layers"), most_layers, 1),
                                                                      .dropout = d.number(key("dropout"))});
}

std::int64_t vocabulary_of(const LanguageModel& model) {
  return std::visit([](const auto& net) { return net->options().vocabulary; }, model.net);
}

/// Tokens that begin or end a text.
std::vector<text::Id> ends_of(const text::Tokenizer& tokenizer) {
  std::vector<text::Id> ids;
  for (const char* token : {"<|endoftext|>", "</s>", "<s>"}) {
    if (const auto id = tokenizer.find(token); id && tokenizer.is_special(*id)) ids.push_back(*id);
  }
  return ids;
}

text::Ids prompt_tokens(const text::Tokenizer& tokenizer, const std::string& prompt) {
  text::Ids ids = tokenizer.encode(prompt);
  if (!ids.empty()) return ids;
  if (!prompt.empty()) {
    throw Error({.op = "TextWriter",
                 .got = "a prompt without any token of the model's vocabulary",
                 .expected = "text like that which the model was trained on"});
  }
  const auto ends = ends_of(tokenizer);
  return {!ends.empty() ? ends[0] : tokenizer.find("\n").value_or(0)};
}

using Clock = std::chrono::steady_clock;
double seconds(Clock::time_point from, Clock::time_point to) { return std::chrono::duration<double>(to - from).count(); }

}  // namespace

std::string_view LanguageModel::kind() const {
  constexpr std::string_view kNames[] = {kGpt2, kLstm, "llama"};
  return kNames[net.index()];
}
std::int64_t LanguageModel::context() const {
  return std::visit(Overloaded{[](const std::unique_ptr<LstmLanguageModel>&) { return std::int64_t{0}; },
                               [](const auto& one) { return one->options().context; }},
                    net);
}
std::int64_t LanguageModel::parameters() const {
  return std::visit([](const auto& one) { return num_parameters(*one); }, net);
}

io::Metadata describe(const Gpt2& net, const std::string& tokenizer_json) {
  const Gpt2Options& o = net.options();
  return {{kModelKey, kGpt2},
          {key("vocabulary"), std::to_string(o.vocabulary)},
          {key("width"), std::to_string(o.width)},
          {key("layers"), std::to_string(o.layers)},
          {key("heads"), std::to_string(o.heads)},
          {key("context"), std::to_string(o.context)},
          {key("dropout"), text_of(o.dropout)},
          {key("norm_eps"), text_of(o.norm_eps)},
          {kTokenizer, tokenizer_json}};
}

io::Metadata describe(const LstmLanguageModel& net, const std::string& tokenizer_json) {
  const LstmLanguageModelOptions& o = net.options();
  return {{kModelKey, kLstm},
          {key("vocabulary"), std::to_string(o.vocabulary)},
          {key("embedding"), std::to_string(o.embedding)},
          {key("hidden"), std::to_string(o.hidden)},
          {key("layers"), std::to_string(o.layers)},
          {key("dropout"), text_of(o.dropout)},
          {kTokenizer, tokenizer_json}};
}

void save_language_model(const std::string& path, const Gpt2& net, const std::string& tokenizer_json) {
  save_described(path, state_dict(net), describe(net, tokenizer_json));
}
void save_language_model(const std::string& path, const LstmLanguageModel& net, const std::string& tokenizer_json) {
  save_described(path, state_dict(net), describe(net, tokenizer_json));
}

LanguageModel load_language_model(const std::string& path, const std::string& tokenizer) {
  const auto checked = [&](LanguageModel model) {
    if (model.tokenizer.size() > vocabulary_of(model)) {
      throw Error({.op = "load_language_model",
                   .got = path + ": a model of " + std::to_string(vocabulary_of(model)) + " tokens and a tokenizer of " +
                          std::to_string(model.tokenizer.size()),
                   .expected = "the tokenizer that the model was trained with"});
    }
    std::visit([](auto& net) { eval(*net); }, model.net);
    return model;
  };
  if (std::filesystem::is_directory(path)) return checked(load_hugging_face(path, tokenizer));
  if (path.ends_with(".bin")) {
    if (tokenizer.empty()) {
      throw Error({.op = "load_language_model",
                   .got = path + ", a model without its tokenizer",
                   .expected = "the tokenizer's file beside it",
                   .advice = "--tokenizer tokenizer.bin"});
    }
    return checked({std::make_unique<Llama>(load_llama2c(path)), text::read_tokenizer(tokenizer)});
  }
  const io::Safetensors file = io::read_safetensors(path);
  const Description description(file.metadata, path);
  const std::string& kind = description.text(kModelKey);
  if (kind != kGpt2 && kind != kLstm) {
    throw Error({.op = "load_language_model",
                 .got = path + ": the model " + kind.substr(0, 80),
                 .expected = "a language model: gpt2 or lstm",
                 .advice = "tegula train gpt and tegula train char-lstm write such files"});
  }
  const auto read = [&](auto net) -> LanguageModel {
    tegula::load(*net, model_state(file));
    return {std::move(net),
            tokenizer.empty() ? text::parse_tokenizer_json(description.text(kTokenizer), path) : text::read_tokenizer(tokenizer)};
  };
  const auto most_layers = static_cast<double>(file.tensors.size());
  return checked(kind == kGpt2 ? read(gpt2_of(description, most_layers)) : read(lstm_of(description, most_layers)));
}

Tensor next_token_loss(Arg features, Arg weight, Arg labels, const Tensor& bias) {
  const In frame("next_token_loss", features.loc);
  const Tensor w = weight.tensor("next_token_loss"), y = flatten(labels);
  constexpr double kMostBytes = 4.0 * (1 << 30);
  const Tensor x = reshape(features, {-1, w.size(1)});
  const DType stored = is_half(x.dtype()) ? x.dtype() : storage_of(current_precision());
  const double bytes = static_cast<double>(x.size(0) * w.size(0)) * static_cast<double>(size_of(is_half(stored) ? stored : x.dtype()));
  if (bytes > kMostBytes) return linear_cross_entropy(x, w, y, {.bias = bias});
  return cross_entropy(bias.defined() ? linear(x, w, bias) : linear(x, w), y);
}

struct TextWriter::Impl {
  const LanguageModel& model;
  std::optional<TextGenerator> decoder;
  std::optional<LstmGenerator> recurrent;

  explicit Impl(const LanguageModel& of) : model(of) {
    std::visit(Overloaded{[&](const std::unique_ptr<LstmLanguageModel>& net) { recurrent.emplace(*net); },
                          [&](const auto& net) { decoder.emplace(*net); }},
               of.net);
  }
  Generated operator()(const text::Ids& prompt, const GenerateOptions& options) {
    return recurrent ? (*recurrent)(prompt, options) : (*decoder)(prompt, options);
  }
};

TextWriter::TextWriter(const LanguageModel& model) : impl_(std::make_unique<Impl>(model)) {}
TextWriter::~TextWriter() = default;

Written TextWriter::operator()(const std::string& prompt, const WriteOptions& o) {
  const text::Tokenizer& tokenizer = impl_->model.tokenizer;
  const std::int64_t context = impl_->model.context();
  text::Ids seen = prompt_tokens(tokenizer, prompt);
  if (context > 0 && static_cast<std::int64_t>(seen.size()) >= context) {
    throw Error({.op = "TextWriter",
                 .got = "a prompt of " + std::to_string(seen.size()) + " tokens",
                 .expected = "at most " + std::to_string(context - 1) + ": the model's context is " + std::to_string(context),
                 .advice = "cut the prompt, or train a model with a longer context"});
  }
  Written written{.prompt_tokens = static_cast<std::int64_t>(seen.size())};
  text::TokenStream stream(tokenizer, o.stops, prompt.empty() ? text::Ids() : seen);
  const auto show = [&](const std::string& piece) {
    written.text += piece;
    if (o.on_text && !piece.empty()) o.on_text(piece);
  };
  const auto begin = Clock::now();
  auto first = begin;
  text::Ids ends = ends_of(tokenizer);
  ends.insert(ends.end(), impl_->model.ends.begin(), impl_->model.ends.end());
  GenerateOptions options{.sampling = o.sampling,
                          .stop_tokens = std::move(ends),
                          .on_token =
                              [&](std::size_t, std::int64_t token) {
                                if (written.tokens++ == 0) first = Clock::now();
                                show(stream.push(token));
                                return !stream.stopped();
                              },
                          .generator = o.generator};
  while (written.tokens < o.tokens && !written.finished) {
    options.max_new_tokens = o.tokens - written.tokens;
    const Generated part = (*impl_)(seen, options);
    written.finished = part.finished;
    seen.insert(seen.end(), part.tokens.begin(), part.tokens.end());
    if (context > 0 && static_cast<std::int64_t>(seen.size()) >= context)
      seen.erase(seen.begin(), seen.end() - std::max<std::int64_t>(1, context / 2));
  }
  show(stream.finish());
  written.prompt_seconds = seconds(begin, first);
  written.seconds = seconds(first, Clock::now());
  return written;
}

}  // namespace tegula::models
