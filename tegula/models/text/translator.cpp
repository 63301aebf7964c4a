#include "tegula/models/text/translator.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "tegula/core/error.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/text/token_sets.h"
#include "tegula/text/tokens/tokenizer_files.h"

namespace tegula::models {
namespace {

constexpr const char* kTransformer = "translation-transformer";
constexpr const char* kLstm = "translation-lstm";
constexpr std::int64_t kMost = 1 << 24;

std::int64_t vocabulary_of(const auto& net, bool source) {
  return source ? net.options().source_vocabulary : net.options().target_vocabulary;
}

std::int64_t context_of(const Transformer& net) { return net.options().context; }
std::int64_t context_of(const Seq2Seq&) { return kMost; }

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \n"), last = text.find_last_not_of(" \n");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

std::vector<std::string> readable(const text::Tokenizer& tokenizer, std::span<const std::int64_t> tokens) {
  std::vector<std::string> out;
  for (const std::int64_t token : tokens) out.push_back(text::replace_invalid(tokenizer.token(token)));
  return out;
}

}  // namespace

const std::vector<std::string>& translation_tokens() {
  static const std::vector<std::string> tokens{"<pad>", "<s>", "</s>", "<unk>"};
  return tokens;
}

/// The compiled functions, by width.
struct Translator::Generators {
  using Translate = std::function<std::vector<Generated>(const std::vector<std::vector<std::int64_t>>&)>;
  struct Compiled {
    TranslateOptions options;
    std::int64_t batch = 0;
    Translate translate;
  };
  std::map<std::int64_t, Compiled> of_width;
};

Translator::Translator(std::unique_ptr<Net> net, std::string source, std::string target)
    : net_(std::move(net)),
      source_json_(std::move(source)),
      target_json_(std::move(target)),
      source_(text::parse_tokenizer_json(source_json_, "the source's tokenizer")),
      target_(text::parse_tokenizer_json(target_json_, "the target's tokenizer")),
      generators_(std::make_shared<Generators>()) {
  check();
}

Translator::Translator(Transformer net, std::string source, std::string target)
    : Translator(std::make_unique<Net>(std::move(net)), std::move(source), std::move(target)) {}
Translator::Translator(Seq2Seq net, std::string source, std::string target)
    : Translator(std::make_unique<Net>(std::move(net)), std::move(source), std::move(target)) {}

void Translator::check() const {
  for (const bool source : {true, false}) {
    const text::Tokenizer& tokenizer = source ? source_ : target_;
    const std::string which = source ? "source" : "target";
    for (std::size_t i = 0; i < translation_tokens().size(); ++i) {
      const auto id = tokenizer.find(translation_tokens()[i]);
      if (id != static_cast<std::int64_t>(i) && (i != kUnknown || id))
        throw Error({.op = "Translator",
                     .got = "a " + which + " tokenizer without " + translation_tokens()[i] + " as token " + std::to_string(i),
                     .expected = "<pad>, <s>, </s> and, if there is one, <unk> as its first tokens"});
    }
    const std::int64_t wanted = std::visit([&](const auto& net) { return vocabulary_of(net, source); }, *net_);
    if (tokenizer.size() != wanted)
      throw Error({.op = "Translator",
                   .got = "a " + which + " tokenizer of " + std::to_string(tokenizer.size()) + " tokens",
                   .expected = std::to_string(wanted) + ", the net's vocabulary"});
  }
}

Tensor Translator::operator()(const Tensor& source, const Tensor& target, const Tensor& lengths) const {
  return std::visit([&](const auto& net) { return net(source, target, lengths); }, *net_);
}

void Translator::visit(nn::Visitor& visitor, const nn::Path& path) {
  std::visit([&](auto& net) { nn::visit(net, visitor, path); }, *net_);
}

std::vector<std::int64_t> Translator::encode_source(std::string_view text) const {
  std::vector<std::int64_t> ids = source_.encode(text, text::SpecialTokens::No);
  ids.push_back(kEnd);
  return ids;
}
std::vector<std::int64_t> Translator::encode_target(std::string_view text) const { return target_.encode(text, text::SpecialTokens::No); }
std::string Translator::decode_target(std::span<const std::int64_t> tokens) const {
  return text::replace_invalid(trimmed(target_.decode(tokens)));
}
std::vector<std::string> Translator::source_tokens(std::span<const std::int64_t> tokens) const { return readable(source_, tokens); }
std::vector<std::string> Translator::target_tokens(std::span<const std::int64_t> tokens) const { return readable(target_, tokens); }

std::int64_t Translator::context() const {
  return std::visit([](const auto& net) { return context_of(net); }, *net_);
}

std::vector<TextTranslation> Translator::translate(std::span<const std::string> texts, const TranslationOptions& options) {
  std::vector<TextTranslation> out(texts.size());
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    out[i].source = encode_source(texts[i]);
    if (out[i].source.size() > 1) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return out[i].source.size(); });
  const std::int64_t context = this->context();
  const std::int64_t batch = std::clamp<std::int64_t>(static_cast<std::int64_t>(order.size()), 1, options.batch);
  const auto generator = [&](std::int64_t width) -> Generators::Translate& {
    const std::int64_t most = options.max_new_tokens > 0 ? options.max_new_tokens : 2 * width + 10;
    const TranslateOptions wanted{.beams = options.beams,
                                  .max_new_tokens = std::min(most, context - 1),
                                  .length_penalty = options.length_penalty,
                                  .begin = kBegin,
                                  .end = kEnd};
    Generators::Compiled& compiled = generators_->of_width[width];
    if (compiled.translate && compiled.batch == batch && compiled.options == wanted) return compiled.translate;
    const auto make = [&](const auto& net) -> Generators::Translate {
      using Generator =
          std::conditional_t<std::is_same_v<std::decay_t<decltype(net)>, Transformer>, TranslationGenerator, Seq2SeqGenerator>;
      return [made = std::make_shared<Generator>(net, batch, width, wanted)](const auto& sources) { return (*made)(sources); };
    };
    compiled = {wanted, batch, std::visit(make, *net_)};
    return compiled.translate;
  };
  const auto width_of = [&](std::size_t i) { return text::ladder_width(static_cast<std::int64_t>(out[order[i]].source.size())); };
  // Sources of one width together: how long a translation may become is that of its own source, whatever stands beside it.
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    std::vector<std::vector<std::int64_t>> sources;
    for (; end < std::min(order.size(), begin + static_cast<std::size_t>(batch)) && width_of(end) == width_of(begin); ++end)
      sources.push_back(out[order[end]].source);
    const auto longest = static_cast<std::int64_t>(sources.back().size());
    if (longest > context)
      throw Error({.op = "Translator",
                   .got = "a source of " + std::to_string(longest) + " tokens",
                   .expected = "at most the net's context of " + std::to_string(context),
                   .advice = "translate sentence by sentence"});
    const auto translated = generator(std::min(width_of(begin), context))(sources);
    for (std::size_t i = begin; i < end; ++i) {
      out[order[i]].target = translated[i - begin].tokens;
      out[order[i]].score = translated[i - begin].score;
      out[order[i]].text = decode_target(translated[i - begin].tokens);
    }
  }
  return out;
}

Tensor Translator::attention(const TextTranslation& translation) const {
  const auto row = [](const std::vector<std::int64_t>& ids) { return tensor(ids, {1, static_cast<std::int64_t>(ids.size())}); };
  std::vector<std::int64_t> target{kBegin};
  target.insert(target.end(), translation.target.begin(), translation.target.end());
  return select(std::visit([&](const auto& net) { return net.attention(row(translation.source), row(target)); }, *net_), 0, 0);
}

ModelDescription Translator::describe() const {
  ModelDescription out;
  out.texts = {{"source_tokenizer", source_json_}, {"target_tokenizer", target_json_}};
  const auto put = [&](const char* name, auto value) { out.numbers[name] = static_cast<double>(value); };
  if (const auto* net = std::get_if<Transformer>(net_.get())) {
    const TransformerOptions& o = net->options();
    out.kind = kTransformer;
    put("width", o.width), put("heads", o.heads), put("hidden", o.hidden);
    put("encoder_layers", o.encoder_layers), put("decoder_layers", o.decoder_layers), put("context", o.context);
    put("dropout", o.dropout), put("norm_first", o.norm_first), put("tied", o.tied);
  } else {
    const Seq2SeqOptions& o = std::get<Seq2Seq>(*net_).options();
    out.kind = kLstm;
    put("embedding", o.embedding), put("hidden", o.hidden), put("layers", o.layers);
    put("dropout", o.dropout), put("alignment", o.alignment), put("tied", o.tied);
  }
  return out;
}

void Translator::save(const std::string& path) const {
  write_model_file(path, describe(), std::visit([](const auto& net) { return state_dict(net); }, *net_));
}

Translator Translator::load(const std::string& path) {
  const ModelFile file = read_model_file(path);
  const ModelDescription& d = file.description;
  if (d.kind != kTransformer && d.kind != kLstm)
    throw Error({.op = "Translator::load",
                 .got = path + ": a model of kind " + d.kind,
                 .expected = std::string(kTransformer) + " or " + kLstm,
                 .advice = "tegula train translate makes them"});
  const std::string &source = d.text("source_tokenizer", path), &target = d.text("target_tokenizer", path);
  const std::int64_t source_size = text::parse_tokenizer_json(source, path).size(),
                     target_size = text::parse_tokenizer_json(target, path).size();
  const auto whole = [&](const char* name, std::int64_t least, std::int64_t most) { return d.whole(name, least, most, path); };
  const auto tied = static_cast<Tied>(whole("tied", 0, 2));
  const double dropout = d.number("dropout", 0, 0.99, path);
  constexpr std::int64_t kLayers = 1000, kWide = 1 << 16;
  Translator out = [&] {
    if (d.kind == kTransformer) {
      return Translator(Transformer({.source_vocabulary = source_size,
                                     .target_vocabulary = target_size,
                                     .width = whole("width", 1, kWide),
                                     .heads = whole("heads", 1, kWide),
                                     .hidden = whole("hidden", 1, kWide),
                                     .encoder_layers = whole("encoder_layers", 1, kLayers),
                                     .decoder_layers = whole("decoder_layers", 1, kLayers),
                                     .context = whole("context", 2, kMost),
                                     .dropout = dropout,
                                     .norm_first = whole("norm_first", 0, 1) == 1,
                                     .tied = tied}),
                        source, target);
    }
    return Translator(Seq2Seq({.source_vocabulary = source_size,
                               .target_vocabulary = target_size,
                               .embedding = whole("embedding", 1, kWide),
                               .hidden = whole("hidden", 1, kWide),
                               .layers = whole("layers", 1, kLayers),
                               .dropout = dropout,
                               .alignment = static_cast<Alignment>(whole("alignment", 0, 2)),
                               .tied = tied}),
                      source, target);
  }();
  std::visit([&](auto& net) { tegula::load(net, file.state), eval(net); }, *out.net_);
  return out;
}

}  // namespace tegula::models
