#include "tegula/models/text/language_model.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/core/warning.h"
#include "tegula/graph/frame.h"
#include "tegula/io/file.h"
#include "tegula/io/file_kind.h"
#include "tegula/models/description.h"
#include "tegula/models/text/generate.h"
#include "tegula/models/text/gguf.h"
#include "tegula/models/text/hugging_face.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/rows/linear_cross_entropy.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/text/tokens/token_stream.h"
#include "tegula/text/tokens/tokenizer_files.h"

namespace tegula::models {
namespace {

constexpr const char *kTokenizer = "tegula.tokenizer", *kGpt2 = "gpt2", *kLstm = "lstm";
constexpr double kMost = 1 << 24;  // upper bound of any size

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;  // Clang 16 does not deduce it for aggregates

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
  if (!ids.empty()) {
    const std::string read = tokenizer.decode(tokenizer.encode(prompt, text::SpecialTokens::No), text::SpecialTokens::Yes);
    if (read != prompt)
      warn("text.prompt", "TextWriter: the model's tokenizer reads the prompt '" + printable(prompt.substr(0, 80)) + "' as '" +
                              printable(read.substr(0, 80)) + "'");
    return ids;
  }
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
          {key("dropout"), number_text(o.dropout)},
          {key("norm_eps"), number_text(o.norm_eps)},
          {kTokenizer, tokenizer_json}};
}

io::Metadata describe(const LstmLanguageModel& net, const std::string& tokenizer_json) {
  const LstmLanguageModelOptions& o = net.options();
  return {{kModelKey, kLstm},
          {key("vocabulary"), std::to_string(o.vocabulary)},
          {key("embedding"), std::to_string(o.embedding)},
          {key("hidden"), std::to_string(o.hidden)},
          {key("layers"), std::to_string(o.layers)},
          {key("dropout"), number_text(o.dropout)},
          {kTokenizer, tokenizer_json}};
}

void save_language_model(const std::string& path, const Gpt2& net, const std::string& tokenizer_json) {
  save_safetensors(state_dict(net), path, describe(net, tokenizer_json));
}
void save_language_model(const std::string& path, const LstmLanguageModel& net, const std::string& tokenizer_json) {
  save_safetensors(state_dict(net), path, describe(net, tokenizer_json));
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
  if (io::is_folder(path)) return checked(load_hugging_face(path, tokenizer));
  if (path.ends_with(".bin")) {
    if (tokenizer.empty()) {
      throw Error({.op = "load_language_model",
                   .got = path + ", a model without its tokenizer",
                   .expected = "the tokenizer's file beside it",
                   .advice = "--tokenizer tokenizer.bin"});
    }
    return checked({std::make_unique<Llama>(load_llama2c(path)), text::read_tokenizer(tokenizer)});
  }
  if (io::kind_of(io::beginning_of(path, "load_language_model")) == io::FileKind::Gguf) return checked(load_gguf(path, tokenizer));
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

namespace {

/// A text on its way.
struct Writing {
  text::TokenStream stream;
  text::Ids seen;  // the model's input: prompt and tokens; the older half is dropped when the context is full
  Written written;
  bool ended = false;
};

void check_prompt(std::size_t number, const std::vector<std::string>& prompts, std::size_t tokens, std::int64_t context) {
  if (context == 0 || static_cast<std::int64_t>(tokens) < context) return;
  const std::string which =
      prompts.size() == 1 ? "a prompt" : "prompt " + std::to_string(number + 1) + " of " + std::to_string(prompts.size()) + ",";
  throw Error({.op = "TextWriter",
               .got = which + " of " + std::to_string(tokens) + " tokens",
               .expected = "at most " + std::to_string(context - 1) + ": the model's context is " + std::to_string(context),
               .advice = "cut the prompt, or train a model with a longer context"});
}

}  // namespace

struct TextWriter::Impl {
  const LanguageModel& model;
  std::size_t batch = 0;
  std::optional<TextGenerator> decoder;
  std::optional<LstmGenerator> recurrent;

  std::vector<Generated> operator()(const std::vector<text::Ids>& prompts, const GenerateOptions& options) {
    if (prompts.size() != batch) {
      const auto count = static_cast<std::int64_t>(batch = prompts.size());
      std::visit(Overloaded{[&](const std::unique_ptr<LstmLanguageModel>& net) { recurrent.emplace(*net, count); },
                            [&](const auto& net) { decoder.emplace(*net, count); }},
                 model.net);
    }
    return recurrent ? (*recurrent)(prompts, options) : (*decoder)(prompts, options);
  }
};

TextWriter::TextWriter(const LanguageModel& model) : impl_(std::make_unique<Impl>(model)) {}
TextWriter::~TextWriter() = default;

Written TextWriter::operator()(const std::string& prompt, const WriteOptions& options) { return all({prompt}, options)[0]; }

std::vector<Written> TextWriter::all(const std::vector<std::string>& prompts, const WriteOptions& o) {
  const text::Tokenizer& tokenizer = impl_->model.tokenizer;
  const std::int64_t context = impl_->model.context();
  std::vector<Writing> texts;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    text::Ids seen = prompt_tokens(tokenizer, prompts[i]);
    check_prompt(i, prompts, seen.size(), context);
    text::TokenStream stream(tokenizer, o.stops, prompts[i].empty() ? text::Ids() : seen);
    const auto count = static_cast<std::int64_t>(seen.size());
    texts.push_back({.stream = std::move(stream), .seen = std::move(seen), .written = {.prompt_tokens = count}});
  }
  const auto show = [&](std::size_t i, const std::string& piece) {
    texts[i].written.text += piece;
    if (o.on_text && !piece.empty()) o.on_text(i, piece);
  };
  const auto begin = Clock::now();
  text::Ids ends = ends_of(tokenizer);
  ends.insert(ends.end(), impl_->model.ends.begin(), impl_->model.ends.end());
  GenerateOptions options{.sampling = o.sampling,
                          .stop_tokens = std::move(ends),
                          .on_token =
                              [&](std::size_t i, std::int64_t token) {
                                Writing& text = texts[i];
                                if (text.ended) return false;
                                Written& w = text.written;
                                (w.tokens++ == 0 ? w.prompt_seconds : w.seconds) = seconds(begin, Clock::now());
                                show(i, text.stream.push(token));
                                return !text.stream.stopped();
                              },
                          .generator = o.generator};
  // Texts that go on have as many new tokens each. One that is full makes all begin again from what they see, whatever was generated together.
  for (std::int64_t done = 0; done < o.tokens && std::ranges::any_of(texts, [](const Writing& text) { return !text.ended; });) {
    options.max_new_tokens = o.tokens - done;
    std::vector<text::Ids> seen;
    for (const Writing& text : texts) seen.push_back(text.ended ? text::Ids{text.seen.front()} : text.seen);
    const std::vector<Generated> parts = (*impl_)(seen, options);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      Writing& text = texts[i];
      if (text.ended) continue;
      text.ended = text.written.finished = parts[i].finished;
      text.seen.insert(text.seen.end(), parts[i].tokens.begin(), parts[i].tokens.end());
      if (context > 0 && static_cast<std::int64_t>(text.seen.size()) >= context)
        text.seen.erase(text.seen.begin(), text.seen.end() - std::max<std::int64_t>(1, context / 2));
      if (!text.ended) done = text.written.tokens;
    }
  }
  std::vector<Written> all;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    show(i, texts[i].stream.finish());
    Written& w = texts[i].written;
    w.seconds = w.tokens > 1 ? w.seconds - w.prompt_seconds : 0;
    all.push_back(std::move(w));
  }
  return all;
}

}  // namespace tegula::models
